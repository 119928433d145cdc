"""`make run` on typical machines: an old Python, no Python, an interrupted installation.

No test uses the package index, because the copy of the Makefile has an empty list of requirements.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.tiers import daily

#: Makes a Python report an old version, because no old Python is installed here.
OLD = "import sys; sys.version_info = (3, 9, 18, 'final', 0)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").touch()
    return tmp_path


def make(
    folder: Path, target: str = ".venv/made.stamp", python: str = sys.executable, **variables: str
):
    """Run make with this Python; variables of an outer make are removed."""
    outside = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MAKE") and name not in ("MFLAGS", "PYTHON")
    }
    return subprocess.run(
        ["make", "-s", target, f"PYTHON={python}"],
        cwd=folder, env=outside | variables, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


def old(folder: Path) -> dict[str, str]:
    """Environment in which every Python reports version 3.9."""
    (folder / "old").mkdir(exist_ok=True)
    (folder / "old" / "sitecustomize.py").write_text(OLD, encoding="utf-8")
    return {"PYTHONPATH": str(folder / "old")}


def test_an_old_python_is_refused_in_one_sentence_and_leaves_nothing(folder):
    done = make(folder, **old(folder))
    assert done.returncode
    sentence, failed = done.stderr.splitlines()
    assert sentence.startswith("dpviz needs Python 3.11 or newer, and ")
    assert " is 3.9: name another one, for example make PYTHON=" in sentence
    assert failed.startswith("make: ")
    assert not (folder / ".venv").exists()


def test_a_python_that_is_not_there_is_refused_in_one_sentence(folder):
    done = make(folder, python="python9.9")
    assert done.returncode
    assert done.stderr.startswith(
        "dpviz needs Python 3.11 or newer, and there is no python9.9: install it, or name another"
    )
    assert not (folder / ".venv").exists()


#: A fake Python that only records its arguments; as an environment, it copies itself.
NOTING = """#!/bin/sh
[ -n "$NOTES" ] && echo "$@" >> "$NOTES"
[ "$2" = venv ] && rm -rf "$4" && mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
exit 0
"""


@pytest.fixture
def python(folder: Path, request: pytest.FixtureRequest) -> str:
    """Python of an outer make: a fake Python, or the real Python, which is slower."""
    if request.param == "real":
        return sys.executable
    path = folder / "stand-in"
    path.write_text(NOTING, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


PYTHONS = daily(("stand-in", "real"), "stand-in".__eq__)


@pytest.mark.parametrize("python", PYTHONS, indirect=True)
def test_an_environment_is_made_anew_where_it_is_old_or_unfinished_and_else_kept(folder, python):
    done = make(folder, python=python)
    assert (done.returncode, done.stderr) == (0, "")
    mine = folder / ".venv" / "mine"
    mine.touch()
    make(folder, python=python)
    assert mine.exists()
    # A folder that was made by hand is used unchanged.
    (folder / ".venv" / "made.stamp").unlink()
    make(folder, python=python)
    assert mine.exists()
    # pip was interrupted.
    (folder / ".venv" / "installing").touch()
    done = make(folder, python=python)
    assert (done.returncode, done.stderr) == (0, "")
    assert not mine.exists()
    assert not (folder / ".venv" / "installing").exists()
    # The Python that made the environment was removed, or was an old version.
    mine.touch()
    inner = folder / ".venv" / "bin" / "python"
    inner.unlink()
    inner.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    inner.chmod(0o755)
    make(folder, python=python)
    assert not mine.exists()


@pytest.mark.parametrize("python", PYTHONS, indirect=True)
def test_an_interrupted_installation_is_noticed(folder, python):
    make(folder, python=python)
    pip = folder / ".venv" / "bin" / "python"
    pip.unlink()
    pip.write_text('#!/bin/sh\n[ "$1" = -m ] && kill -TERM $$\nexit 0\n', encoding="utf-8")
    pip.chmod(0o755)
    assert make(folder, ".venv/run.stamp", python).returncode
    assert (folder / ".venv" / "installing").exists()
    assert not (folder / ".venv" / "run.stamp").exists()


def test_the_newest_python_gets_an_environment_and_few_tests(folder):
    (folder / "tests").mkdir()
    (folder / "tests" / "requirements.txt").touch()
    named = ('"Python :: 3.9",', '"Python :: 3.97",', '"Python :: 3.98",', '"Python :: 3.99",')
    (folder / "pyproject.toml").write_text("\n".join(named), encoding="utf-8")
    # The newest Python is a broken link, as pyenv makes it; the next Python is in pyenv's folder.
    python = folder / "home" / ".pyenv" / "versions" / "3.98.1" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    for path, does in (
        (folder / "bin" / "python3.99", "#!/bin/sh\nexit 127\n"),
        (folder / "bin" / "python3.97", NOTING),
        (python, NOTING),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_text(does, encoding="utf-8")
        path.chmod(0o755)
    notes = folder / "notes"
    outside = {
        "HOME": str(folder / "home"),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "NOTES": str(notes),
    }
    done = make(folder, "newest", **outside)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (folder / ".venv").exists()
    assert "-m venv --clear .venv-3.98\n" in notes.read_text(encoding="utf-8")
    tests = notes.read_text(encoding="utf-8").splitlines()[-1]
    assert tests.startswith("-m pytest ")
    assert " --few 1 " in tests
    assert all((ROOT / one).exists() for one in tests.partition(" --few 1 ")[2].split())
    python.unlink()
    (folder / "bin" / "python3.97").unlink()
    done = make(folder, "newest", **outside)
    assert (done.returncode, done.stderr) == (0, "")
    (sentence,) = done.stdout.splitlines()
    assert sentence.startswith("There is no newer Python here than ")

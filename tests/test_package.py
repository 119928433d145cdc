"""The wheel, installed where there is no checkout: every command works, with the sample sets."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from dpviz.data.samples import sample_names
from tests.support import ROOT
from tests.support.read_only import read_only_checkout

SOURCES = ("dpviz", "sample_data", "LICENSE", "README.md", "pyproject.toml", "requirements.txt")


def call(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel from a copy of its sources."""
    folder = tmp_path_factory.mktemp("sources")
    for name in (*SOURCES, "setup.py"):
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", "built", "."]
    done = call([*pip, *build], folder)
    assert done.returncode == 0, done.stderr
    (built,) = (folder / "built").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """Install it into an environment of its own, which shares all other packages with this one."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    done = call([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], folder)
    assert done.returncode == 0, done.stderr
    site = next((folder / "env" / "lib").glob("python*/site-packages"))
    (site / "shared.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python.parent


def test_it_holds_every_module_and_every_file_beside_them(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    kinds = {path.suffix for path in (ROOT / "dpviz").rglob("*.*")} - {".pyc", ".nbi", ".nbc"}
    assert {".py", ".js", ".css", ".svg", ".json"} <= kinds
    for path in (ROOT / "dpviz").rglob("*.*"):
        if path.is_file() and path.suffix in kinds:
            assert str(path.relative_to(ROOT)) in held
    for path in (ROOT / "sample_data").glob("*.*"):
        assert f"dpviz/sample_data/{path.name}" in held
    assert not [name for name in held if not name.startswith("dpviz")]


COMMANDS = (
    "methods",
    "sample --list",
    "sample checkins --out sample.csv",
    "run spirals --method privthr",
    "run gaussians --method dplloyd --labels labels.csv",
    "sweep incomes --methods privqt,eugkm --epsilons 1 --repeats 2 --grid 8 --out sweep.csv",
    "figures 000-5 --data incomes --repeats 1 --out figures",
    "audit privqt --runs 1000",
    "release incomes --method eugkm --epsilon 1 --budget-file b.db --total 3 --out released",
    "budget b.db",
)

#: One process for all: importing takes longer than most commands.
ALL = """
import json
import sys
import dpviz
from dpviz.command_line import main
for command in sys.argv[1:]:
    assert main([*command.split(), "--json"]) == 0, command
print(json.dumps(dpviz.__file__))
"""


def test_every_command_works_without_a_checkout(installed, tmp_path):
    done = call([str(installed / "python"), "-c", ALL, *COMMANDS], tmp_path)
    assert done.returncode == 0, done.stderr
    *reports, place = map(json.loads, done.stdout.splitlines())
    assert Path(place).is_relative_to(installed.parent)
    assert [one["name"] for one in reports[1]["samples"]] == list(sample_names())
    assert reports[-1]["datasets"][0]["remaining"] == 2


@pytest.mark.parametrize("program", [["dpviz"], ["python", "-m", "dpviz"]])
def test_it_is_a_program(installed, tmp_path, program):
    done = call([str(installed / program[0]), *program[1:], "sample", "--list"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(sample_names())


@pytest.mark.parametrize("method", ["privthr", "dplloyd"])
def test_a_checkout_and_a_home_that_nobody_may_write_are_enough(tmp_path, method):
    run = [sys.executable, "-m", "dpviz", "run", "incomes", "--method", method, "--json"]
    with read_only_checkout(tmp_path) as (_, process):
        done = subprocess.run(run, capture_output=True, text=True, check=False, **process)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["data"]["n"] > 0

"""``make mutants``: plant each mistake in a copy of the project and check that a test fails."""

from __future__ import annotations

import argparse
import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from py_compile import PycInvalidationMode

from tests.mutants.mistakes import MISTAKES, Mistake
from tests.support import ROOT

#: Seconds after which a mistake counts as found, because a run that does not end is a failure.
PATIENCE = 900

_LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "artifacts", ".*_cache")


def main(arguments: list[str]) -> int:
    """Plant the mistakes; return 1 if one of them is not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mistakes; all by default")
    names = parser.parse_args(arguments).names or list(MISTAKES)
    if unknown := set(names) - set(MISTAKES):
        parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(MISTAKES)}")
    alive = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=_LEFT_OUT)
        # Bytecode is used only for a file with the same content, so never for a planted mistake.
        checked = PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(copy / "dpviz", quiet=1, invalidation_mode=checked)
        # Tests look for the papers' data beside the project.
        if (shared := ROOT.parent / "shared").exists():
            (copy.parent / "shared").symlink_to(shared.resolve())
        # A test that fails without a mistake can't find one.
        for tests in dict.fromkeys(MISTAKES[name].tests for name in names):
            if red := _failing(copy, tests):
                print(f"Without a mistake a test is red: {red}")
                return 1
        for name in names:
            begun = time.perf_counter()
            found = planted(copy, MISTAKES[name])
            print(
                f"{name}: {found or 'NOT FOUND'} ({time.perf_counter() - begun:.0f} s)", flush=True
            )
            alive += [] if found else [name]
    print(f"{len(names) - len(alive)} of {len(names)} found.", *alive)
    return int(bool(alive))


def planted(copy: Path, mistake: Mistake) -> str:
    """Name of the test that finds a mistake; empty if no test does."""
    file = copy / "dpviz" / mistake.file
    text = file.read_text(encoding="utf-8")
    assert text.count(mistake.old) == 1
    file.write_text(text.replace(mistake.old, mistake.new), encoding="utf-8")
    try:
        if found := _failing(copy, mistake.tests):
            return found
        found = _failing(copy, mistake.tests, daily=False)
    finally:
        file.write_text(text, encoding="utf-8")
    # A test that fails without the mistake, too, did not find it.
    return f"{found}, make test-all" if found and not _failing(copy, (found,), daily=False) else ""


def _failing(copy: Path, tests: tuple[str, ...], *, daily: bool = True) -> str:
    """Run the tests, or only the tests for every day, until a test fails; return its name."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not exhaustive"] * daily
    command += [f"tests/{test.removeprefix('tests/')}" for test in tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"no end within {PATIENCE} s" if daily else ""
    if done.returncode in (0, 4):  # 4: only a mistake has made this case
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if not lines:
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return lines[-1].split(" - ")[0].split(" ", 1)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

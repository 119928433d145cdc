"""Measure the start: CPU seconds of commands, and compilations of the first run of a method."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import ROOT

#: Short commands, and runs whose code is compiled already.
WARM = (
    "--version",
    "--help",
    "methods",
    "sample --list",
    "run gaussians --method privthr",
    "run gaussians --method twostage",
    "run gaussians --method dprefine",
)

#: Default methods of both families, which compile most.
COLD = ("twostage", "dprefine")

#: Runs a command, and counts the compilations of numba on standard error.
COUNTED = """
import sys
from numba.core import event

class Count(event.Listener):
    compiled = 0
    def on_start(self, one): Count.compiled += 1
    def on_end(self, one): pass

event.register("numba:compile", Count())
from dpviz.__main__ import run
run()
print(Count.compiled, file=sys.stderr)
"""


def measured(command: list[str], cache: Path) -> tuple[float, str]:
    """CPU seconds of a process with an own cache of compiled code, and its last line of errors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stderr.strip().rpartition("\n")[2]


def main() -> None:
    """Print a line for each command: the least of five runs, or of two runs that compile."""
    with TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        for command in WARM:
            runs = [measured(["-m", "dpviz", *command.split()], kept)[0] for _ in range(6)]
            print(f"{command:<32} {min(runs[1:]):5.2f} s")
        for method in COLD:
            command = ["run", "gaussians", "--method", method]
            caches = (Path(folder) / f"{method}{turn}" for turn in range(2))
            least = min(measured(["-m", "dpviz", *command], cache)[0] for cache in caches)
            # Counted apart, because this loads numba before the command begins.
            _, compilations = measured(["-c", COUNTED, *command], Path(folder) / f"{method}+")
            print(f"first run of {method:<19} {least:5.2f} s, {compilations} compilations")

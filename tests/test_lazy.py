"""Large libraries are loaded on first use: a short command is quick, a server takes less memory."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from dpviz.base import lazy
from dpviz.base.lazy import Later, linear_sum_assignment
from dpviz.families import FAMILIES
from tests.support import ROOT
from tests.support.tiers import examples

#: Short commands, and whether they need NumPy, which is half of their time.
COMMANDS = {
    "--version": "",
    "--help": "",
    "methods": "numpy",
    "sample --list": "numpy",
    "run --help": "numpy",
}

#: Libraries whose import must not be at the top of a module, except in :mod:`dpviz.base.lazy`.
LATER = {"pandas", "pyarrow", "scipy"}

#: Libraries that a short command does not load, except NumPy.
LARGE = LATER | {"numpy", "sklearn", "numba", "plotly", "streamlit"}

#: Runs a command, and prints the large libraries that are loaded afterwards.
LOADED = f"""
import sys
sys.argv = sys.argv[:1] + sys.argv[1].split()
from dpviz.__main__ import run
try:
    run()
except SystemExit:
    pass
print("LOADED", *({LARGE!r} & {{*sys.modules}}))
"""


@pytest.mark.parametrize(("command", "needs"), COMMANDS.items())
def test_a_short_command_loads_no_large_library(command: str, needs: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1].split() == ["LOADED", *needs.split()]


#: Runs a command, and prints the threads of all libraries for matrix products.
THREADS = """
import atexit, sys
sys.argv = ["dpviz", "methods"]
from dpviz.__main__ import program

def threads():
    from threadpoolctl import threadpool_info
    print(*("THREADS", *(one["num_threads"] for one in threadpool_info())))

real, atexit.register = atexit.register, lambda leave: (real(leave), real(threads))
program()
"""


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor has one thread")
@pytest.mark.parametrize(
    ("given", "threads"),
    [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2"), ({"OMP_NUM_THREADS": "2"}, "2")],
)
def test_a_command_starts_one_thread_for_matrix_products(
    given: dict[str, str], threads: str
) -> None:
    others = {name: text for name, text in os.environ.items() if "NUM_THREADS" not in name}
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        cwd=ROOT, env=others | given, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == f"THREADS {threads}"


def test_no_module_loads_them_when_it_is_imported() -> None:
    found = []
    for path in (ROOT / "dpviz").rglob("*.py"):
        for one in ast.parse(path.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in one.names] if isinstance(one, ast.Import) else []
            names += [one.module or ""] if isinstance(one, ast.ImportFrom) else []
            found += [(path.name, name) for name in names if name.partition(".")[0] in LATER]
    assert not found, "import them from dpviz.base.lazy"


#: Draws a curve as a page does.
CURVE = """
import sys
from dpviz.experiments.curve import Curve, curve_plan
from dpviz.experiments.sweep import subject_of_sample
from dpviz.families import FAMILIES
family = FAMILIES[sys.argv[1]]
config = family.config(method=family.first, **({"grid": 8} if family.finds_number else {}))
curve = Curve(curve_plan(subject_of_sample("tiny8"), config, "epsilon"))
curve.fill(cancelled=lambda: False, most=1)
assert curve.points
assert not {"pandas", "pyarrow", "sklearn", "plotly"} & {*sys.modules}
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_curve_loads_no_library_of_tables(family: str) -> None:
    subprocess.run([sys.executable, "-c", CURVE, family], cwd=ROOT, check=True)


#: Runs a method with all scores; prints which slow libraries are loaded afterwards, and which parts
#: of NumPy are still placeholders.
SCORED = """
import sys
sys.argv = ["dpviz", "run", "tiny8", "--method", sys.argv[1]]
from dpviz.__main__ import run
run()
import numpy
from dpviz.base.lazy import Later
slow = {"numba.np.arrayobj", "scipy.optimize", "scipy.linalg", "numpy.f2py", "numpy.testing"}
print("LOADED", *(slow & {*sys.modules}), *(p for p in vars(numpy).values() if type(p) is Later))
"""


@pytest.mark.parametrize("method", ["privthr", "twostage", "dprefine"])
def test_a_scored_run_with_compiled_code_loads_no_compiler(method: str) -> None:
    """Numba's compiler also loads scipy.linalg; only the first run of a method needs it."""
    command = [sys.executable, "-c", SCORED, method]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED"


@examples(50)
@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 7), st.booleans())
def test_matching_is_scipys(seed: int, rows: int, columns: int, maximize: bool) -> None:
    table = np.random.default_rng(seed).integers(0, 5, (rows, columns))
    expected = optimize.linear_sum_assignment(table, maximize=maximize)
    np.testing.assert_array_equal(linear_sum_assignment(table, maximize=maximize), expected)


def test_matching_takes_scipys_package_if_the_file_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lazy.PathFinder, "find_spec", lambda *_: None)
    assert lazy._matcher.__wrapped__() is optimize.linear_sum_assignment


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that takes a moment to load, with a part that it does not import."""
    package = tmp_path / "slow_package"
    package.mkdir()
    (package / "__init__.py").write_text("import time\ntime.sleep(0.2)\nlast = 1\n")
    (package / "part.py").write_text("import slow_package\nnumber = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "slow_package"
    for name in ("slow_package", "slow_package.part"):
        sys.modules.pop(name, None)


def test_a_use_loads_a_library_and_its_parts(slow: str) -> None:
    package, part = Later(slow), Later(f"{slow}.part")
    assert slow not in sys.modules
    assert package.last == 1
    assert f"{slow}.part" not in sys.modules
    assert package.part is sys.modules[f"{slow}.part"]
    assert part.number == 2
    with pytest.raises(AttributeError, match="slow_package has no nothing"):
        _ = package.nothing


def test_threads_wait_until_a_library_is_complete(slow: str) -> None:
    package = Later(slow)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: package.last, range(8))) == [1] * 8

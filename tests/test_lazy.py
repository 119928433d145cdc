"""Large libraries are loaded on first use, so that short commands are quick."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from dpviz.base.lazy import LARGE, load_on_use
from tests.support import ROOT

COMMANDS = ("--version", "--help", "methods", "sample --list", "run --help")

#: Runs a command, and prints the large libraries that are loaded afterwards.
LOADED = f"""
import sys
sys.argv = sys.argv[:1] + sys.argv[1].split()
from dpviz.__main__ import run
try:
    run()
except SystemExit:
    pass
print("LOADED", *(
    name for name, module in sys.modules.items()
    if name in {("sklearn", "numba", "plotly", "streamlit", *LARGE)!r}
    and type(module).__name__ != "_Unloaded"
))
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_short_command_loads_no_large_library(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "LOADED"


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that takes a moment to load, with a part; both load on use."""
    package = tmp_path / "slow_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import time\ntime.sleep(0.2)\nfrom . import part\nlast = 1\n"
    )
    (package / "part.py").write_text("import slow_package\nnumber = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    load_on_use("slow_package", "slow_package.part")
    yield "slow_package"
    for name in ("slow_package", "slow_package.part"):
        sys.modules.pop(name, None)


def test_an_import_loads_nothing_and_a_use_loads_all(slow: str) -> None:
    for name in (slow, f"{slow}.part", slow):
        module = import_module(name)
        assert not {"last", "number"} & set(vars(module))
    assert import_module(f"{slow}.part").number == 2
    assert "last" not in vars(import_module(slow))
    assert import_module(slow).last == 1
    assert import_module(slow).part is import_module(f"{slow}.part")
    with pytest.raises(AttributeError, match="nothing"):
        _ = import_module(slow).nothing


def test_threads_wait_until_a_library_is_complete(slow: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: import_module(slow).last, range(8))) == [1] * 8


def test_a_loaded_library_stays(slow: str) -> None:
    module = import_module(slow)
    assert module.last == 1
    load_on_use(slow)
    assert import_module(slow) is module

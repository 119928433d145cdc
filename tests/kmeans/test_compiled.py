"""Compiled code is cached where possible; a missing folder and damaged files are not errors."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dpviz.kmeans import kernels

POINTS = np.random.default_rng(0).random((50, 2))
CENTERS = POINTS[:3].copy()


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A copy of the kernels, whose machine code is stored next to it."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")
    return Path(shutil.copy(kernels.__file__, tmp_path / "copied_kernels.py"))


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("copied_kernels", path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def labels(loaded: ModuleType) -> list[int]:
    found = np.zeros(len(POINTS), dtype=np.int64)
    squares, table = np.zeros(len(POINTS)), np.empty((0, 4))
    loaded.assign(POINTS, CENTERS, *loaded.rooms(2), found, squares, squares, table)
    return found.tolist()


EXPECTED = np.linalg.norm(POINTS[:, None] - CENTERS, axis=2).argmin(axis=1).tolist()


def kept(path: Path, ending: str) -> Path:
    (file,) = (path.parent / "__pycache__").glob(f"*assign*.{ending}")
    return file


def test_machine_code_is_kept(module):
    assert labels(load(module)) == EXPECTED
    again = load(module)
    assert labels(again) == EXPECTED
    assert sum(again.assign.stats.cache_hits.values()) == 1
    assert sum(again.assign.stats.cache_misses.values()) == 0


def test_without_a_folder_to_write_it_is_compiled_all_the_same(module, monkeypatch):
    # Even root cannot make folders below a file.
    (module.parent / "__pycache__").touch()
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(module))
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(module / "none"))
    assert labels(load(module)) == EXPECTED


def test_a_folder_that_fills_up_or_goes_is_no_fault(module):
    loaded = load(module)
    shutil.rmtree(module.parent / "__pycache__")
    (module.parent / "__pycache__").touch()
    assert labels(loaded) == EXPECTED


DAMAGES = {
    "empty": lambda content: b"",
    "torn": lambda content: content[: len(content) // 2],
    "garbage": lambda content: b"\x00\xffgarbage" * 100,
    "another pickle": lambda content: b"\x80\x04N.",
}


@pytest.mark.daily("another pickle-nbi")
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_compiled_anew_and_replaced(module, ending, damage):
    assert labels(load(module)) == EXPECTED
    file = kept(module, ending)
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    loaded = load(module)
    assert labels(loaded) == EXPECTED
    assert sum(loaded.assign.stats.cache_misses.values()) == 1
    healed = load(module)
    assert labels(healed) == EXPECTED
    assert sum(healed.assign.stats.cache_hits.values()) == 1

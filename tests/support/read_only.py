"""A read-only checkout, and processes that can't write to it, even as root."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

PARTS = ("app.py", "dpviz", "pages", "sample_data", ".streamlit")
_DROP_FROM_BOUNDING_SET, _OVERRIDE_MODES = 24, 1


def obey_modes() -> None:
    """If this process is root, drop the capability to ignore file modes, for the next program."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, _OVERRIDE_MODES, 0, 0, 0)


@contextmanager
def read_only_checkout(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Copy the program into a folder, without compiled code, and make the folder read-only.

    Yields the checkout, and arguments of ``subprocess`` for a process whose home folder is inside,
    so that it can't write anywhere.
    """
    checkout = folder / "checkout"
    checkout.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(
                ROOT / part, checkout / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / part, checkout / part)
    within = [checkout, *checkout.rglob("*")]
    unset = dict.fromkeys(("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR"), "")
    process = {
        "env": {**os.environ, **unset, "HOME": str(checkout), "PYTHONPATH": str(checkout)},
        "cwd": checkout,
        "preexec_fn": obey_modes,
    }
    for path in within:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        writes = [sys.executable, "-c", "open('probe', 'w')"]
        if not subprocess.run(writes, capture_output=True, check=False, **process).returncode:
            pytest.skip("on this system everybody may write everywhere")
        yield checkout, process
        assert sorted(checkout.rglob("*")) == sorted(within[1:])
    finally:
        for path in within:
            path.chmod(0o755)

"""Parts of records for tests of engines, and work on them; cluster workers import this module."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpviz.base.errors import InputError

#: Number of records that a part reads together.
CHUNK = 300

#: np.load parses a Python literal. The parser of Python 3.11 has one depth counter for all threads.
#: So if a garbage collection lets another thread parse, this thread raises "AST constructor
#: recursion depth mismatch".
_ONE_PARSER = threading.Lock()


@dataclass(frozen=True)
class Numbers:
    """A part that reads a .npy file; a test can make the reader wait, and kill it."""

    path: str
    told: str | None = None

    @property
    def title(self) -> str:
        return Path(self.path).name

    def chunks(self) -> Iterator[tuple[np.ndarray, int]]:
        if self.told:
            hold(Path(self.told))
        with _ONE_PARSER:
            values = np.load(self.path)
        for begin in range(0, len(values), CHUNK):
            yield np.ascontiguousarray(values[begin : begin + CHUNK]), 0

    def check(self) -> None:
        pass


def hold(place: Path) -> None:
    """Write the reader's process id, and wait for a file "go"; later readers do not wait."""
    try:
        (place / "reader").open("x").write(str(os.getpid()))
    except FileExistsError:
        return
    until = time.monotonic() + 20
    while not (place / "go").exists() and time.monotonic() < until:
        time.sleep(0.02)


def reader(place: Path) -> int:
    """Wait until a process reads a part; return its id."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if (place / "reader").exists() and (text := (place / "reader").read_text()):
            return int(text)
        time.sleep(0.02)
    raise AssertionError("nobody reads")


def both(part: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, whose sum is the same in any order, and floats, whose sum is not the same."""
    values = np.concatenate([chunk for chunk, _ in part.chunks()])
    return np.array([len(values), os.getpid() * 0]), values.sum(axis=0)


def changed(part: Numbers) -> tuple[np.ndarray]:
    if part.path.endswith("3.npy"):
        raise InputError(f"{part.title} has changed since it was opened: open the data again.")
    return both(part)[:1]


def write_parts(folder: Path, number: int, told: Path | None = None) -> list[Numbers]:
    """Files whose sums depend on the order; the reader of the second file waits."""
    generator = np.random.default_rng(number)
    return stored_parts(
        folder,
        [
            generator.normal(size=(50, 2)) * 10.0 ** generator.integers(-8, 8, size=(50, 1))
            for _ in range(number)
        ],
        told,
    )


def stored_parts(folder: Path, tables: list[np.ndarray], told: Path | None = None) -> list[Numbers]:
    """Tables as files; the reader of the second file waits."""
    parts = []
    for place, values in enumerate(tables):
        np.save(folder / f"part{place}.npy", values)
        held = str(told) if told and place == 1 else None
        parts.append(Numbers(str(folder / f"part{place}.npy"), held))
    return parts


def killing(
    place: Path, process: int | None = None, by: int = signal.SIGKILL
) -> Callable[[], bool]:
    """Never cancels, but kills the waiting reader (or ``process``), and stores that it did so."""

    def ask() -> bool:
        if (place / "reader").exists() and not (place / "killed").exists():
            os.kill(process or reader(place), by)
            (place / "killed").touch()
        return False

    return ask

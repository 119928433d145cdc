"""The table of a sweep on disk, and a journal of finished rows that no kill can spoil."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pandas as pd

from dpviz.data.table import shown
from dpviz.errors import InputError

#: Scores of a row by name.
Scores = dict[str, float]


@dataclass(frozen=True)
class Store:
    """The table on disk, and the journal of finished rows beside it.

    Parameters
    ----------
    out
        The table, .csv or .parquet by its ending.
    """

    out: Path

    @classmethod
    def at(cls, out: Path) -> Store:
        """Store at a path, or InputError where none can be."""
        if out.suffix not in (".csv", ".parquet"):
            raise InputError(f'out = "{out}": name a file that ends in .csv or .parquet.')
        try:
            if out.is_dir():
                raise InputError(f'out = "{out}" is a folder: name a file in it.')
            if not out.resolve().parent.is_dir():
                raise InputError(f'out = "{out}": that folder does not exist; create it first.')
        except OSError as error:
            raise InputError(
                f"out = {shown(out)} can't be a file ({error.strerror}): name another one."
            ) from None
        return cls(out)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other sweeps off the files while one is at work; the system lets go at its end."""
        lock = self.out.with_name(self.out.name + ".lock")
        try:
            with lock.open("ab") as file:
                _lock(file, self.out)
                yield
                lock.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f'"{lock}" can\'t be written ({error.strerror}): choose another file.'
            ) from None

    def check_own(self) -> None:
        """Refuse a file that no sweep wrote: it would be lost."""
        if self.out.exists():
            self._written(())

    @property
    def journal(self) -> Path:
        """One row a line, until the table is whole."""
        return self.out.with_name(self.out.name + ".journal")

    def rows(self, names: Sequence[str]) -> dict[str, Scores]:
        """Rows of an earlier sweep, with their scores among these names."""
        return self._written(names) | self._journaled()

    def start(self, done: Mapping[str, Scores], *, anew: bool) -> None:
        """Begin a journal that holds the rows taken over and nothing else.

        Raises
        ------
        InputError
            Where a file is there already that no sweep wrote.
        """
        if anew:
            self.check_own()
            # Old rows must not come back when the new sweep is killed and taken up again.
            self.out.unlink(missing_ok=True)
        # Atomically, and not by appending: a torn last line would spoil the next one.
        self._replace(self.journal, lambda path: path.write_bytes(_lines(done)))

    def add(self, rows: Mapping[str, Scores]) -> None:
        """Put finished rows on disk."""
        try:
            with self.journal.open("ab") as file:
                file.write(_lines(rows))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f'"{self.journal}" can\'t be written ({error.strerror}): make room, then go on '
                "with resume."
            ) from None

    def finish(self, table: pd.DataFrame) -> None:
        """Write the table at once and whole; then the journal has done its duty."""
        write = table.to_parquet if self.out.suffix == ".parquet" else table.to_csv
        if len(table):
            self._replace(self.out, lambda path: write(path, index=False))
        self.journal.unlink(missing_ok=True)

    def _journaled(self) -> dict[str, Scores]:
        """Rows of the journal; a line that was torn by a kill, or spoilt since, is none."""
        if not self.journal.exists():
            return {}
        try:
            *lines, _torn = self.journal.read_bytes().split(b"\n")
        except OSError as error:
            raise InputError(
                f'"{self.journal}" can\'t be read ({error.strerror}): remove it, or start anew '
                "without resume."
            ) from None
        return dict(entry for entry in map(_entry, lines) if entry)

    def _written(self, names: Sequence[str]) -> dict[str, Scores]:
        """Rows of the table."""
        if not self.out.exists():
            return {}
        try:
            if self.out.suffix == ".parquet":
                table = pd.read_parquet(self.out)
            else:
                # As text: Python's own reading of a number gives back the very bits written.
                table = pd.read_csv(self.out, dtype=str, keep_default_na=False).replace("", "nan")
            present = [name for name in names if name in table.columns]
            scores = table[present].map(float).to_dict("records")
            return dict(zip(table["run"], scores, strict=True))
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f'"{self.out}" is there already and no table of a sweep ({error}): choose another '
                "file, so that it is not lost."
            ) from None

    def _replace(self, path: Path, write: Callable[[Path], object]) -> None:
        """Write a file beside and put it in place at once: a kill leaves the old or the new."""
        beside = path.with_name(path.name + ".part")
        try:
            write(beside)
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise InputError(f'"{path}" can\'t be written ({error}): choose another.') from None


def _entry(line: bytes) -> tuple[str, Scores] | None:
    """Row of a line of the journal, or None where it holds none."""
    try:
        entry = json.loads(line)
        return str(entry["run"]), dict(entry["scores"])
    except (ValueError, KeyError, TypeError):
        return None


def _lock(file: BinaryIO, out: Path) -> None:
    """Lock a file for this process alone, where the system can."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f'out = "{out}" is being written by another sweep: name another.'
        ) from None


def _lines(rows: Mapping[str, Scores]) -> bytes:
    """Lines of the journal."""
    entries = ({"run": row, "scores": scores} for row, scores in rows.items())
    return "".join(f"{json.dumps(entry)}\n" for entry in entries).encode()

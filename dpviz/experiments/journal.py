"""The table of a sweep on disk, and a journal of finished rows that no kill can spoil."""

from __future__ import annotations

import hashlib
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
from dpviz.serialize import no_formulas

#: Scores of a row by name.
Scores = dict[str, float]

#: Columns by which a table is known as a sweep's: they tell its rows apart.
KEYS = ("run", "data", "method", "variant", "epsilon", "seed")

#: First bytes of what a sweep writes, by the file's ending: a kill may leave no more of it.
_STARTS = {
    ".csv": ",".join(KEYS).encode(),
    ".parquet": b"PAR1",
    ".journal": b'{"run": "',
}


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
                if file.seek(0, os.SEEK_END):  # ours are empty
                    raise _foreign(lock)
                try:
                    yield
                finally:
                    lock.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f'"{lock}" can\'t be written ({error.strerror}): choose another file.'
            ) from None

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
            Where a file is there already that no sweep wrote, or, anew, finished rows of an
            interrupted one: they would be lost.
        """
        for path in (self.out, self.journal):
            _check_beside(path)
        if anew:
            self._written(())
            self._check_finished()
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
        as_csv = no_formulas(table).to_csv
        write = table.to_parquet if self.out.suffix == ".parquet" else as_csv
        if len(table):
            self._replace(self.out, lambda path: write(path, index=False))
        self.journal.unlink(missing_ok=True)

    def _check_finished(self) -> None:
        """Refuse to begin where an interrupted sweep left rows."""
        rows = len(self._journaled())
        if rows:
            raise InputError(
                f'"{self.journal}" holds {rows:,} finished row{"" if rows == 1 else "s"} of an '
                "interrupted sweep: go on with --resume, or remove it."
            )

    def _journaled(self) -> dict[str, Scores]:
        """Rows of the journal; a line that was torn by a kill, or spoilt since, is none."""
        try:
            content = self.journal.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable(self.journal, error) from None
        *lines, torn = content.split(b"\n")
        # Killed inside its first line a journal has no other.
        if not any(map(_is_line, lines)) and (lines or not _begins(torn, _STARTS[".journal"])):
            raise _foreign(self.journal)
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
            _check_keys(table)
            present = [name for name in names if name in table.columns]
            scores = table[present].map(float).to_dict("records")
            return dict(zip(table["run"], scores, strict=True))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f'"{self.out}" is there already and no table of a sweep ({shown(error, 80)}): '
                "choose another file, so that it is not lost."
            ) from None

    def _replace(self, path: Path, write: Callable[[Path], object]) -> None:
        """Write a file beside and put it in place at once: a kill leaves the old or the new."""
        beside = _beside(path)
        try:
            write(beside)
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(beside, path)
        except OSError as error:
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise InputError(
                f'"{path}" can\'t be written ({error.strerror or error}): choose another.'
            ) from None


def _beside(path: Path) -> Path:
    """File that is written first, to be put in place when it is whole."""
    return path.with_name(path.name + ".part")


def _begins(content: bytes, start: bytes) -> bool:
    """Tell whether content begins as given, or is a torn piece of that beginning."""
    return start.startswith(content[: len(start)])


def _check_beside(path: Path) -> None:
    """Refuse to write over a file that is no leftover of a killed sweep."""
    beside, start = _beside(path), _STARTS[path.suffix]
    try:
        with beside.open("rb") as file:
            ours = _begins(file.read(len(start)), start)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(beside, error) from None
    if not ours or (path.suffix == ".parquet" and not _may_be_ours(beside)):
        raise _foreign(beside)


def _may_be_ours(path: Path) -> bool:
    """Tell whether a Parquet file has the columns of a sweep, or is torn before it names any."""
    import pyarrow.parquet as pq

    try:
        return set(KEYS) <= set(pq.read_schema(path).names)
    except (OSError, ValueError):
        return True


def _check_keys(table: pd.DataFrame) -> None:
    """Raise ValueError where a table lacks what tells the rows of a sweep apart."""
    missing = [name for name in KEYS if name not in table.columns]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")


def _foreign(path: Path) -> InputError:
    """Error on a file that would be lost."""
    return InputError(
        f'"{path}" is there already and not of a sweep: move it, or choose another file, so that '
        "it is not lost."
    )


def _unreadable(path: Path, error: OSError) -> InputError:
    """Error on a file where the sweep's own would be."""
    return InputError(
        f'"{path}" can\'t be read ({error.strerror}): remove it, or choose another file.'
    )


def _is_line(line: bytes) -> bool:
    """Tell whether a line has the form of an entry, be it spoilt or of an earlier version."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and {"run", "scores"} <= entry.keys()


def _entry(line: bytes) -> tuple[str, Scores] | None:
    """Row of a line of the journal, or None where it holds none that can be trusted."""
    try:
        entry = json.loads(line)
        row, scores = entry["run"], entry["scores"]
        trusted = entry["check"] == _check(row, scores)
        real = isinstance(row, str) and all(isinstance(one, float) for one in scores.values())
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return (row, scores) if trusted and real else None


def _check(row: str, scores: Scores) -> str:
    """Checksum of a row: a changed digit is another result, and must not pass for one."""
    return hashlib.blake2b(json.dumps([row, scores]).encode(), digest_size=4).hexdigest()


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
    return b"".join(_line(row, scores) for row, scores in rows.items())


def _line(row: str, scores: Scores) -> bytes:
    """Line of one row."""
    scores = {name: float(score) for name, score in scores.items()}
    entry = {"run": row, "scores": scores, "check": _check(row, scores)}
    return f"{json.dumps(entry)}\n".encode()

"""The table of a sweep on disk, and a journal of finished rows that survives a killed process.

The journal is a SQLite file with one transaction per finished part; its lock ends with the process.
After a kill, SQLite's own file (``.journal-journal``) may remain beside it and belongs to it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpviz.base.errors import InputError, reason, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.replace import replacing
from dpviz.base.serialize import no_formulas

Scores = dict[str, float]

#: Columns that identify the rows of a sweep. A table with all of these columns is from a sweep.
KEYS = ("run", "data", "method", "variant", "epsilon", "seed")

#: Identifies a journal among SQLite files ("dpsw").
APPLICATION = 0x64707377

#: Scores are stored as bytes (float64, little-endian), because SQLite has no NaN.
_COLUMNS = "(run TEXT PRIMARY KEY, names TEXT, scores BLOB)"


@dataclass(frozen=True)
class Store:
    """The table on disk (.csv or .parquet), and the open journal of finished rows."""

    out: Path
    connection: sqlite3.Connection

    @classmethod
    @contextmanager
    def held(cls, out: Path) -> Iterator[Store]:
        """Open the store at a path, lock it for one sweep, and remove an empty journal at the end.

        Raises InputError, here or in the ``with`` block, if a file can't be written, another sweep
        uses the store, or the journal is not from a sweep.
        """
        _check_out(out)
        journal = _beside(out, "journal")
        try:
            with suppress(FileNotFoundError):
                found = journal.lstat()
                # SQLite treats a file of one byte as empty.
                if not stat.S_ISREG(found.st_mode) or found.st_size == 1:
                    raise _foreign(journal)
            # Wait half a second, because another sweep may be about to end, or to fail at its
            # start. The path is absolute, because some builds of SQLite read "file:..." as a URI.
            with closing(sqlite3.connect(journal.absolute(), timeout=0.5)) as connection:
                store = cls(out, connection)
                # A power failure must not undo a finished part; a sync takes little time.
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN EXCLUSIVE")
                # Set this after BEGIN; otherwise sweeps that start together might all be refused.
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                application = store._number("PRAGMA application_id")
                begun = application or store._number("PRAGMA schema_version")
                if begun and application != APPLICATION:
                    raise _foreign(journal)
                # Always write the ID: this fails if the file was removed before it was locked.
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"CREATE TABLE IF NOT EXISTS finished {_COLUMNS} WITHOUT ROWID")
                connection.commit()
                try:
                    yield store
                finally:
                    if not store._number("SELECT count(*) FROM finished"):
                        journal.unlink(missing_ok=True)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(out, journal, error) from None

    def rows(self, names: Sequence[str]) -> dict[str, Scores]:
        """Return the rows of an earlier sweep, with the scores whose names are in ``names``."""
        rows = self._written(names)
        for row, known, scores in self.connection.execute("SELECT * FROM finished"):
            values = struct.unpack(f"<{len(scores) // 8}d", scores)
            rows[row] = dict(zip(known.split(), values, strict=True))
        return rows

    def start(self, done: Mapping[str, Scores], *, anew: bool) -> None:
        """Put the reused rows into the journal.

        Raises InputError if a file of this name is not from a sweep or, with ``anew``, if finished
        rows of an interrupted sweep would be lost.
        """
        part = _beside(self.out, "part")
        if os.path.lexists(part) and not self._number("PRAGMA user_version"):
            raise _foreign(part)
        if anew:
            self._written(())
            rows = self._number("SELECT count(*) FROM finished")
            if rows:
                raise InputError(
                    f'"{_beside(self.out, "journal")}" holds {rows:,} finished '
                    f"row{'' if rows == 1 else 's'} of an interrupted sweep: go on with --resume, "
                    "or remove it."
                )
            # Old rows must not return when the new sweep is killed and resumed.
            self.out.unlink(missing_ok=True)
        self.add(done)

    def add(self, rows: Mapping[str, Scores]) -> None:
        """Write finished rows to disk in one transaction."""
        entries = [
            (row, " ".join(scores), struct.pack(f"<{len(scores)}d", *scores.values()))
            for row, scores in rows.items()
        ]
        with self.connection:
            self.connection.executemany("REPLACE INTO finished VALUES (?, ?, ?)", entries)

    def finish(self, table: pd.DataFrame) -> None:
        """Write the whole table in one step, and remove the journal."""
        if table.empty:
            return
        # If a kill leaves a ".part" file, this number shows that a sweep wrote that file.
        self.connection.execute("PRAGMA user_version = 1")
        with replacing(self.out, _beside(self.out, "part")) as file:
            if self.out.suffix == ".parquet":
                table.to_parquet(file, index=False)
            else:
                no_formulas(table).to_csv(file, index=False, mode="wb")
        # Remove the journal while it is locked: later, another sweep may use this name.
        _beside(self.out, "journal").unlink(missing_ok=True)

    def _number(self, query: str) -> int:
        return int(self.connection.execute(query).fetchone()[0])

    def _written(self, names: Sequence[str]) -> dict[str, Scores]:
        if not self.out.exists():
            return {}
        try:
            with self.out.open("rb") as file:  # pandas does not accept names that are not UTF-8
                if self.out.suffix == ".parquet":
                    table = pd.read_parquet(file)
                else:
                    # Read numbers as text: Python's parser returns exactly what was written.
                    table = pd.read_csv(file, dtype=str, keep_default_na=False).replace("", "nan")
            missing = [name for name in KEYS if name not in table.columns]
            if missing:
                raise ValueError(f"it has no column {missing[0]}")
            present = [name for name in names if name in table.columns]
            scores = table[present].map(float).to_dict("records")
            return dict(zip(table["run"], scores, strict=True))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f'"{self.out}" already exists and is not a table of a sweep ({shown(error, 80)}): '
                "choose another file, so that it is not lost."
            ) from None


def _beside(out: Path, ending: str) -> Path:
    return out.with_name(f"{out.name}.{ending}")


def _check_out(out: Path) -> None:
    if out.suffix not in (".csv", ".parquet"):
        raise InputError(f'out = "{out}": name a file that ends in .csv or .parquet.')
    try:
        if out.is_dir():
            raise InputError(f'out = "{out}" is a folder: name a file in it.')
        with suppress(FileNotFoundError):
            out.stat()  # Fails for circular links; ``resolve`` fails only in some Python versions.
        if not out.resolve().parent.is_dir():
            raise InputError(f'out = "{out}": that folder does not exist; create it first.')
    except OSError as error:
        raise InputError(
            f"out = {shown(out)} can't be a file ({reason(error)}): name another file."
        ) from None


def _foreign(path: Path) -> InputError:
    return InputError(
        f'"{path}" already exists and is not from a sweep of this version: move it, or choose '
        "another file, so that it is not lost."
    )


def _unusable(out: Path, journal: Path, error: OSError | sqlite3.Error) -> InputError:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_NOTADB:
        return _foreign(journal)
    # The other sweep may have removed its journal just now.
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY_DBMOVED):
        return InputError(f'out = "{out}" is being written by another sweep: name another file.')
    path = out if isinstance(error, OSError) else journal
    return InputError(
        f'"{path}" can\'t be used ({reason(error)}): solve this problem and go on with --resume, '
        "or choose another file."
    )

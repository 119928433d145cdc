"""The lifetime budget of data sources: one SQLite file that every release debits first.

A source is named by its owner, never by a hash of its content: one record more would open a new
budget. A release debits, draws, publishes and then marks its entry. What is debited stays
debited: a crash on the way loses budget, never privacy.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

from dpviz.errors import InputError, PrivacyRefusal, check_number

State = Literal["debited", "released"]

#: Epsilon is kept as a whole number of these parts of 1, so that sums are exact: ten times 0.1
#: is 1. A debit rounds down to them, and that is what the release may spend.
PARTS = 10**12

#: Seconds to wait for other processes; a debit takes milliseconds.
PATIENCE = 60.0

#: Tells our files from other programs' databases ("dpvb").
_APPLICATION, _VERSION = 0x64707662, 1

_LONGEST_NAME, _LONGEST_WHAT = 200, 100_000

#: Characters that show nothing: two names that look alike must not be two sources.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)

_SCHEMA = (
    """CREATE TABLE sources (
        id TEXT PRIMARY KEY NOT NULL CHECK (typeof(id) = 'text'),
        name TEXT NOT NULL CHECK (typeof(name) = 'text'),
        total INTEGER NOT NULL CHECK (typeof(total) = 'integer' AND total > 0),
        created TEXT NOT NULL CHECK (typeof(created) = 'text'))""",
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        source TEXT NOT NULL REFERENCES sources (id),
        epsilon INTEGER NOT NULL CHECK (typeof(epsilon) = 'integer' AND epsilon > 0),
        what TEXT NOT NULL CHECK (typeof(what) = 'text'),
        state TEXT NOT NULL CHECK (state IN ('debited', 'released')),
        time TEXT NOT NULL CHECK (typeof(time) = 'text'))""",
    "CREATE INDEX entries_of_source ON entries (source)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)

#: What SQLite's error codes mean to a person.
_REASONS = {
    sqlite3.SQLITE_BUSY: "is held by another program: try again when that is done",
    sqlite3.SQLITE_CANTOPEN: (
        "can't be opened: its folder has to exist, and both have to be writable"
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged: restore it from a backup, and count all that was released since as spent"
    ),
    sqlite3.SQLITE_FULL: "can't be written: the disk is full",
    sqlite3.SQLITE_IOERR: "can't be read or written: check the disk and its free space",
    sqlite3.SQLITE_NOTADB: "is no budget file: name another one, or a new one",
    sqlite3.SQLITE_PERM: "can't be written: check its rights",
    sqlite3.SQLITE_READONLY: "can't be written: check its rights and those of its folder",
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One debit.

    Parameters
    ----------
    id
        Number in the file.
    source
        Whose budget was debited.
    epsilon
        What was granted: the epsilon that the release runs with. It may lie below what was
        asked for by less than 1e-12.
    what
        Method and public parameters.
    state
        ``"debited"``, or ``"released"`` once the release was published.
    time
        Of the debit, UTC, ISO 8601.
    """

    id: int
    source: str
    epsilon: float
    what: dict[str, Any]
    state: State
    time: str


@dataclass(frozen=True, kw_only=True)
class Account:
    """Lifetime budget of one source, in units of epsilon, with its entries in order."""

    id: str
    total: float
    spent: float
    remaining: float
    entries: tuple[Entry, ...]


class Budget:
    """Lifetime budgets in one file; safe between threads and processes of one machine.

    Every call opens the file anew, so it sees what others spent. While another process has it
    open, the newest entries may be in the file beside it that ends in ``-wal``: a copy needs
    both. SQLite's locks do not hold on network folders.

    Parameters
    ----------
    path
        The file. The first source that is opened creates it.

    Raises
    ------
    InputError
        From every call, where the file can't be used, in one sentence.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if "\0" in os.fspath(path) or not os.fspath(path):
            raise InputError("the name of the budget file is empty or has a zero byte in it.")
        self.path = Path(path)

    def open(self, source: str, total: float | None = None) -> Account:
        """Return the account of a source; its first use sets the total, once and for all.

        Parameters
        ----------
        source
            Name that the owner gives the data source; the same name for all its versions.
        total
            Lifetime epsilon; None where the source is known.

        Raises
        ------
        PrivacyRefusal
            Where the source has another total.
        """
        asked = None if total is None else _parts("total", total)
        with self._transaction(create=asked is not None) as connection:
            return _account(connection, self._opened(connection, source, asked))

    def find(self, source: str) -> Account | None:
        """Return the account of a source; None where it has none, or there is no file yet."""
        key = _key(source)
        if not self.exists():
            return None
        with self._transaction() as connection:
            return None if _total(connection, key) is None else _account(connection, key)

    def exists(self) -> bool:
        """Whether the file is there; raises InputError where that can't be told."""
        try:
            return self.path.exists()
        except OSError as error:
            raise InputError(f"{self} can't be opened ({error.strerror}).") from None

    def debit(
        self,
        source: str,
        epsilon: float,
        what: Mapping[str, Any],
        *,
        total: float | None = None,
        alike: Sequence[str] = (),
    ) -> Entry:
        """Take epsilon off a source's budget, durably, before anything is drawn.

        Parameters
        ----------
        source
            Whose budget.
        epsilon
            From 0.000001 to 1,000,000.
        what
            Method and public parameters, plain values; nothing read off the data.
        total
            As for :meth:`open`: a new source is opened with its first debit, or not at all.
        alike
            Names in ``what`` that must say the same in all entries of a source: epsilons of
            different neighbours or privacy units don't add up.

        Returns
        -------
        Entry
            Its epsilon is the one to run with.

        Raises
        ------
        PrivacyRefusal
            Where less remains; it tells how much.
        """
        asked, text = _parts("epsilon", epsilon), _json(what)
        opening = None if total is None else _parts("total", total)
        with self._transaction(create=opening is not None) as connection:
            key = self._opened(connection, source, opening)
            _check_alike(_account(connection, key), what, alike)
            whole = _total(connection, key) or 0
            left = whole - _spent(connection, key)
            if asked > left:
                raise PrivacyRefusal(
                    f"epsilon = {_shown(asked)} is more than what is left: {_shown(left)} of the "
                    f'lifetime budget {_shown(whole)} of source "{_display(connection, key)}".'
                )
            row = connection.execute(
                "INSERT INTO entries (source, epsilon, what, state, time) "
                "VALUES (?, ?, ?, 'debited', ?) RETURNING *",
                (key, asked, text, _now()),
            ).fetchone()
            return _entry(row, _display(connection, key))

    def _opened(self, connection: sqlite3.Connection, source: str, asked: int | None) -> str:
        """Key of a source that has a total, given now or before."""
        key, name = _key(source), _name(source)
        known = _total(connection, key)
        if known is None and asked is None:
            raise InputError(f'source "{name}" has no lifetime budget in {self}: give its total.')
        if known is None:
            connection.execute(
                "INSERT INTO sources VALUES (?, ?, ?, ?)", (key, name, asked, _now())
            )
        elif asked not in (None, known):
            raise PrivacyRefusal(
                f'source "{_display(connection, key)}" has a lifetime budget of {_shown(known)}, '
                f"which stays: a total of {_shown(asked or 0)} is refused."
            )
        return key

    def mark(self, entry: Entry, state: State = "released") -> Entry:
        """Note that the release of an entry was published; the budget stays spent either way."""
        if state not in get_args(State):
            raise InputError(f'state = "{state}" is unknown: choose debited or released.')
        with self._transaction() as connection:
            found = connection.execute(
                "UPDATE entries SET state = ? WHERE id = ? AND source = ?",
                (state, entry.id, _key(entry.source)),
            )
            if not found.rowcount:
                raise InputError(f'{self} has no entry {entry.id} of source "{entry.source}".')
        return replace(entry, state=state)

    def datasets(self) -> list[Account]:
        """Accounts of all sources, in the order in which they were opened."""
        with self._transaction() as connection:
            names = connection.execute("SELECT id FROM sources ORDER BY rowid").fetchall()
            return [_account(connection, name) for (name,) in names]

    def __str__(self) -> str:
        """``budget file "..."``, a long path by its end."""
        path = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(self.path))
        return f'budget file "{path if len(path) <= 80 else "..." + path[-77:]}"'

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction on a connection of its own: all of it is on the disk, or nothing is."""
        connection = self._connected(create)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            # Fails while others are at work in a new file; the older mode is as safe.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            self._check(connection)
            yield connection
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise InputError(self._sentence(error)) from None
        except (_DamagedError, UnicodeDecodeError):
            raise InputError(f"{self} {_REASONS[sqlite3.SQLITE_CORRUPT]}.") from None
        finally:
            # Without COMMIT this takes the transaction back.
            connection.close()

    def _connected(self, create: bool) -> sqlite3.Connection:
        """Open the file; create it only where a source gets its total."""
        try:
            if self.path.is_dir():
                raise InputError(f"{self} is a folder: name a file in it.")
            if not create and not self.path.exists():
                raise InputError(f"{self} does not exist: check the path.")
            uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
            return sqlite3.connect(uri, timeout=PATIENCE, isolation_level=None, uri=True)
        except (OSError, UnicodeEncodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error.reason
            raise InputError(f"{self} can't be opened ({reason}): check its path.") from None
        except sqlite3.Error as error:
            raise InputError(self._sentence(error)) from None

    def _check(self, connection: sqlite3.Connection) -> None:
        """Make the tables in an empty file; refuse files that are not ours or damaged."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application or tables:
                raise InputError(f"{self} {_REASONS[sqlite3.SQLITE_NOTADB]}.")
            for statement in _SCHEMA:
                connection.execute(statement)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise InputError(f"{self} was written by a newer version of this program: update it.")
        # Spends that a damaged page hides would be spent again.
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise _DamagedError

    def _sentence(self, error: sqlite3.Error) -> str:
        """What SQLite's error means to a person."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        reason = _REASONS.get(code & 0xFF, f"can't be used ({error}): check it")
        return f"{self} {reason}."


class _DamagedError(Exception):
    """What the file holds is nothing that this module wrote."""


def _check_alike(account: Account, what: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse an entry that can't be added to the others of its source."""
    for entry in account.entries:
        for name in names:
            before = entry.what.get(name)
            if before not in (None, what[name]):
                raise PrivacyRefusal(
                    f'{name} = {what[name]} is refused: earlier releases of source "{account.id}" '
                    f"have {name} = {before}, and budgets of both don't add up; keep to that."
                )


def _account(connection: sqlite3.Connection, key: str) -> Account:
    """Account of a known source."""
    total, spent = _total(connection, key), _spent(connection, key)
    rows = connection.execute("SELECT * FROM entries WHERE source = ? ORDER BY id", (key,))
    if total is None or spent > total:
        raise _DamagedError
    name = _display(connection, key)
    return Account(
        id=name,
        total=total / PARTS,
        spent=spent / PARTS,
        remaining=(total - spent) / PARTS,
        entries=tuple(_entry(row, name) for row in rows),
    )


def _total(connection: sqlite3.Connection, key: str) -> int | None:
    """Parts of epsilon that a source has for its life, None where it is unknown."""
    row = connection.execute("SELECT total FROM sources WHERE id = ?", (key,)).fetchone()
    return None if row is None else int(row[0])


def _display(connection: sqlite3.Connection, key: str) -> str:
    """Name of a known source as it was first typed."""
    row = connection.execute("SELECT name FROM sources WHERE id = ?", (key,)).fetchone()
    return str(row[0])


def _spent(connection: sqlite3.Connection, key: str) -> int:
    """Parts of epsilon debited from a source, released or not."""
    found = connection.execute(
        "SELECT coalesce(sum(epsilon), 0) FROM entries WHERE source = ?", (key,)
    ).fetchone()
    return int(found[0])


def _entry(row: tuple[Any, ...], name: str) -> Entry:
    """Entry of a row of the table."""
    number, _, parts, text, state, time = row
    try:
        what = json.loads(text)
    except ValueError:
        raise _DamagedError from None
    if not isinstance(what, dict):
        raise _DamagedError
    return Entry(id=number, source=name, epsilon=parts / PARTS, what=what, state=state, time=time)


def _key(source: object) -> str:
    """What two spellings of one name have in common: a slip must not open another budget."""
    return " ".join(unicodedata.normalize("NFKC", _name(source)).casefold().split())


def _name(source: object) -> str:
    """Return the name of a source without what can't be seen, or raise InputError."""
    if not isinstance(source, str):
        raise InputError(f"source = {source!r} is no text: give the data source a name.")
    name = unicodedata.normalize("NFC", source).strip()
    if _UNSEEN.search(name):
        raise InputError(
            f"source = {name[:40]!a} has characters in it that can't be seen: type it anew."
        )
    if not name or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise InputError(
            f"source = {name[:40]!a} can't name a data source: give 1 to {_LONGEST_NAME} "
            "characters that can be printed."
        )
    return name


def _parts(name: str, value: object) -> int:
    """Return epsilon in whole parts, rounded down, or raise InputError."""
    number = check_number(name, value)
    if not 1e-6 <= number <= 1e6:  # also where it is not a number
        raise InputError(
            f"{name} = {number:g} is no usable privacy budget: give a number from 0.000001 to "
            "1,000,000."
        )
    # The decimal that was typed, not the binary fraction beside it.
    return int(Decimal(repr(number)) * PARTS)


def _shown(parts: int) -> str:
    """Parts of epsilon as an exact decimal."""
    return f"{(Decimal(parts) / PARTS).normalize():f}"


def _json(what: Mapping[str, Any]) -> str:
    """Return public parameters as JSON, or raise InputError."""
    try:
        text = json.dumps(dict(what), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError("what = ... must hold plain values alone, as JSON knows them.") from None
    if len(text) > _LONGEST_WHAT:
        raise InputError(
            f"what = ... has {len(text):,} characters as JSON: keep it below {_LONGEST_WHAT:,}."
        )
    return text


def _now() -> str:
    """Time in UTC to the second, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")

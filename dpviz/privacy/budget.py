"""The lifetime budget of data sources: one SQLite file that every release debits first.

A source is named by its owner, never by a hash of its content: one record more would open a new
budget. A release debits, draws, publishes and then marks its entry. What is debited stays
debited: a crash on the way loses budget, never privacy.

Epsilon is counted in whole micro-epsilon, 1e-6, from the debit to the sum: what is granted is
asked for rounded down, and the release runs with that. The numbers that leave this module are the
decimals of those whole numbers, which a float holds apart, so nothing is lost on the way back.

The file holds a log whose records are never changed. Each has a hash that covers the one before
it, so a record that was edited, forged, moved or taken out is noticed; and the newest hash is
noted in the folder of this user (:func:`dpviz.home.home`), so an older or rewritten copy of the
file is noticed too. Not noticed is who starts a new file, or puts back both the file and the note
or takes the note away: whoever may write both is trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import secrets
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from dpviz.errors import InputError, PrivacyRefusal, check_number
from dpviz.home import home, home_folder, tighten
from dpviz.privacy import names

State = Literal["debited", "released"]

#: Micro-epsilon in an epsilon of 1.
MICRO = 10**6

#: Seconds to wait for other processes; a debit takes milliseconds.
PATIENCE = 60.0

#: Tells our files from other programs' databases ("dpvb"). Version 1 had a table of sources and
#: one of entries, in parts of 1e-12.
_APPLICATION, _VERSION = 0x64707662, 2

_OLD_PARTS = 10**6  # of version 1, in one micro-epsilon

_LONGEST_WHAT = 100_000

#: What is noted of a file: how many records it has, and the hash of the newest.
_NOTE = re.compile(rb"([1-9]\d{0,17}) ([0-9a-f]{64})\n")

_SCHEMA = (
    """CREATE TABLE log (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        source TEXT NOT NULL,
        amount INTEGER NOT NULL,
        text TEXT NOT NULL,
        time TEXT NOT NULL,
        hash TEXT NOT NULL)""",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)

#: The way out where a file can't be believed.
_NEWEST = (
    "put its newest copy back, or name a new file and give each source no more than it had left"
)

_RECORDS = "SELECT number, kind, source, amount, text, time, hash FROM log ORDER BY number"

#: What SQLite's error codes mean to a person.
_REASONS = {
    sqlite3.SQLITE_BUSY: "is held by another program: try again when that is done",
    sqlite3.SQLITE_CANTOPEN: (
        "can't be opened: its folder has to exist, and both have to be writable"
    ),
    sqlite3.SQLITE_CORRUPT: f"is damaged: {_NEWEST}",
    sqlite3.SQLITE_FULL: "can't be written: the disk is full",
    sqlite3.SQLITE_IOERR: "can't be read or written: check the disk and its free space",
    sqlite3.SQLITE_NOTADB: "is no budget file: name another one, or a new one",
    sqlite3.SQLITE_PERM: "can't be written: check its rights",
    sqlite3.SQLITE_READONLY: "can't be written: check its rights and those of its folder",
}

#: Held while a file is made: closing that handle takes all locks of this process off the file, so
#: no other thread may have opened it yet.
_making = threading.Lock()


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
        asked for by less than 1e-6.
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

    def check(self, epsilon: float) -> None:
        """Raise PrivacyRefusal where less than this epsilon remains; it tells how much."""
        if _micro("epsilon", epsilon) > round(self.remaining * MICRO):
            raise PrivacyRefusal(
                f"epsilon = {decimal(epsilon)} is more than what is left: "
                f"{decimal(self.remaining)} of the lifetime budget {decimal(self.total)} of source "
                f'"{self.id}".'
            )


def granted(epsilon: float) -> float:
    """What a debit grants of an epsilon: whole micro-epsilon, rounded down.

    Raises
    ------
    InputError
        Where it does not lie from 0.000001 to 1,000,000.
    """
    return _micro("epsilon", epsilon) / MICRO


def decimal(epsilon: float) -> str:
    """Epsilon for people: all its digits, and no exponent."""
    return f"{Decimal(repr(float(epsilon))).normalize():f}"


class Budget:
    """Lifetime budgets in one file; safe between threads and processes of one machine.

    Every call opens the file anew, so it sees what others spent. Between two calls the file is
    whole by itself. SQLite's locks do not hold on network folders. Only its user may read it.

    Parameters
    ----------
    path
        The file. The first source that is opened creates it.

    Attributes
    ----------
    unnoted
        Why the newest record could not be noted in this user's folder, in one sentence; empty
        where it was. An older copy of the file would not be noticed then; releases go on.

    Raises
    ------
    InputError
        From every call, where the file can't be used, in one sentence.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if "\0" in os.fspath(path) or not os.fspath(path):
            raise InputError("the name of the budget file is empty or has a zero byte in it.")
        self.path = Path(path)
        self.unnoted = ""

    def open(self, source: str, total: float | None = None) -> Account:
        """Return the account of a source; its first use sets the total, once and for all.

        Parameters
        ----------
        source
            Name that the owner gives the data source; the same name for all its versions.
        total
            Lifetime epsilon, rounded down to whole micro-epsilon; None where the source is known.

        Raises
        ------
        PrivacyRefusal
            Where the source has another total.
        """
        asked = None if total is None else _micro("total", total)
        with self._transaction(create=asked is not None) as log:
            return self._opened(log, source, asked)

    def find(self, source: str) -> Account | None:
        """Return the account of a source; None where it has none, or there is no file yet.

        Raises InputError where it has none and could not get one under this name.
        """
        if not self.exists():
            names.check_new(source)
            return None
        with self._transaction() as log:
            return log.find(source)

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
            From 0.000001 to 1,000,000; rounded down to whole micro-epsilon.
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
        asked, text = _micro("epsilon", epsilon), _json(what)
        opening = None if total is None else _micro("total", total)
        with self._transaction(create=opening is not None) as log:
            account = self._opened(log, source, opening)
            _check_alike(account, what, alike)
            account.check(epsilon)
            log.append("debited", account.id, asked, text)
            entry = log.entries[-1]
        return entry

    def _opened(self, log: _Log, source: str, asked: int | None) -> Account:
        """Account of a source that has a total, given now or before."""
        account = log.find(source)
        if account is None and asked is None:
            name = names.cleaned(source)
            raise InputError(f'source "{name}" has no lifetime budget in {self}: give its total.')
        if account is None:
            log.append("opened", names.cleaned(source), asked or 0)
            return log.account(names.cleaned(source))
        if asked is not None and asked != log.totals[account.id]:
            raise PrivacyRefusal(
                f'source "{account.id}" has a lifetime budget of {decimal(account.total)}, '
                f"which stays: a total of {decimal(asked / MICRO)} is refused."
            )
        return account

    def mark(self, entry: Entry) -> Entry:
        """Note that the release of an entry was published."""
        with self._transaction() as log:
            number, source = entry.id, names.cleaned(entry.source)
            if not (1 <= number <= len(log.entries) and log.entries[number - 1].source == source):
                raise InputError(f'{self} has no entry {number} of source "{source}".')
            if log.entries[number - 1].state != "released":
                log.append("released", source, number)
        return replace(entry, state="released")

    def datasets(self) -> list[Account]:
        """Accounts of all sources, in the order in which they were opened."""
        with self._transaction() as log:
            return [log.account(name) for name in log.totals]

    def __str__(self) -> str:
        """``budget file "..."``, a long path by its end."""
        path = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(self.path))
        return f'budget file "{path if len(path) <= 80 else "..." + path[-77:]}"'

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[_Log]:
        """One transaction on a connection of its own: all of it is on the disk, or nothing is.

        With ``create`` a file that is missing or empty is made.
        """
        try:
            place = self._place(create=create)
            # Without COMMIT closing takes the transaction back.
            with closing(_connected(place.path)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                log = self._read(connection, create=create)
                noted = self._compare(log)
                yield log
                self._check_place(place)
                connection.execute("COMMIT")
                # What was debited is lost where the file was swapped meanwhile, and nothing drawn.
                self._check_place(place)
            if len(log.hashes) > noted:
                self._note(log)
        except sqlite3.Error as error:
            raise InputError(self._sentence(error)) from None
        except (_DamagedError, UnicodeDecodeError) as error:
            found = str(error) if isinstance(error, _DamagedError) else "is damaged"
            raise InputError(f"{self} {found}: {_NEWEST}.") from None

    def _place(self, *, create: bool) -> _Place:
        """Where the file really is, made where it is wanted; refused where it has another name.

        SQLite keeps the journal beside the name that a file is opened by. Under another name it
        is not found after a crash, and played back later, over debits made meanwhile.
        """
        try:
            with _making:
                if create:
                    _make(self.path.resolve())
                place = _Place.of(self.path)
        except FileNotFoundError:
            reason = (
                _REASONS[sqlite3.SQLITE_CANTOPEN] if create else "does not exist: check the path"
            )
        except PermissionError:
            reason = _REASONS[sqlite3.SQLITE_CANTOPEN]
        except (OSError, RuntimeError, UnicodeEncodeError) as error:
            said = getattr(error, "strerror", None) or getattr(error, "reason", None) or error
            reason = f"can't be opened ({said}): check its path"
        else:
            reason = place.refusal
            if not reason:
                tighten(place.path)
                return place
        raise InputError(f"{self} {reason}.")

    def _check_place(self, place: _Place) -> None:
        """Refuse to go on where the file got another name, or the name another file."""
        with suppress(OSError, RuntimeError):
            if _Place.of(self.path) == place:
                return
        raise InputError(
            f"{self} was moved, replaced or linked while it was in use: see that it has one name; "
            "what was asked for may be debited all the same."
        )

    def _read(self, connection: sqlite3.Connection, *, create: bool) -> _Log:
        """Log of the file, verified; refuse files that are not ours or damaged."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != _APPLICATION:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application or tables:
                raise InputError(f"{self} {_REASONS[sqlite3.SQLITE_NOTADB]}.")
            return _Log.begun(connection, secrets.token_hex(16)) if create else _Log(connection)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (1, _VERSION):
            raise InputError(f"{self} was written by a newer version of this program: update it.")
        # Spends that a damaged page hides would be spent again.
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise _DamagedError("is damaged")
        return _taken_over(connection) if version == 1 else _Log.read(connection)

    def _compare(self, log: _Log) -> int:
        """Number of records that were noted of the file; refuse it where it has not all of them."""
        self.unnoted = ""
        if not log.hashes:
            return 0
        try:
            found = _NOTE.fullmatch(_note_of(log).read_bytes())
        except FileNotFoundError:
            return 0
        except (InputError, OSError) as error:
            self._can_not_note(error)
            return 0
        if found is None:  # A crash of the system left half a note: better a new one.
            return 0
        noted = int(found[1])
        if log.hashes[noted - 1 : noted] != [found[2].decode()]:
            raise _DamagedError("is an older or a changed copy, without what was last noted of it")
        return noted

    def _note(self, log: _Log) -> None:
        """Note the newest record, for the next look at the file.

        Only what is debited already is noted, so that a crash in between locks nobody out. Two
        processes may note in the wrong order: what comes next sets it right.
        """
        part = None
        try:
            note = _note_of(log)
            # Only its user may read a file of this kind.
            handle, part = tempfile.mkstemp(dir=home_folder(note.parent.name))
            with open(handle, "wb") as file:
                file.write(b"%d %s\n" % (len(log.hashes), log.hashes[-1].encode()))
            os.replace(part, note)
        except (InputError, OSError) as error:
            self._can_not_note(error)
            if part is not None:
                with suppress(OSError):
                    os.unlink(part)

    def _can_not_note(self, error: Exception) -> None:
        """Say what is not noticed, and why."""
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        self.unnoted = (
            f"an older copy of {self} would not be noticed, since its newest record can't be noted "
            f"({reason})."
        )

    def _sentence(self, error: sqlite3.Error) -> str:
        """What SQLite's error means to a person."""
        reason = _REASONS.get(_code(error), f"can't be used ({error}): check it")
        return f"{self} {reason}."


class _DamagedError(Exception):
    """What the file holds is not what this module wrote; says so, to follow the file's name."""


@dataclass(frozen=True)
class _Place:
    """A file by its one real name, and what tells it from another one under that name."""

    path: Path
    device: int
    number: int
    links: int
    mode: int

    @classmethod
    def of(cls, path: Path) -> _Place:
        """Place of a file, whatever links lead to it; raises OSError or RuntimeError."""
        real = path.resolve(strict=True)
        found = real.stat()
        kind = stat.S_IFMT(found.st_mode)
        return cls(real, found.st_dev, found.st_ino, found.st_nlink, kind)

    @property
    def refusal(self) -> str:
        """Why this is no place for a budget; empty where it is one."""
        if stat.S_ISDIR(self.mode):
            return "is a folder: name a file in it"
        if not stat.S_ISREG(self.mode):
            return "is no file that can be kept: name another one"
        if self.links > 1:
            return (
                f"has {self.links} names (hard links), of which no other may be left: remove them"
            )
        if _is_mounted(self.path):
            return "is mounted without its folder, where its journal has to be: mount that"
        return ""


def _is_mounted(path: Path) -> bool:
    """Whether a file is a mount of its own (a bind mount of one file)."""
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return os.path.ismount(path)
    place = os.fsencode(path)
    for byte in b"\\ \t\n#":  # As the system writes them there; the first before the others.
        place = place.replace(bytes([byte]), b"\\%03o" % byte)
    return any(mount.split()[4:5] in ([place], [place.replace(b"\\043", b"#")]) for mount in mounts)


def _make(path: Path) -> None:
    """Make an empty file that only its user may read, unless there is one."""
    with suppress(FileExistsError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with suppress(OSError):  # A umask may have taken the owner's rights too.
                os.chmod(path, 0o600)
        finally:
            os.close(handle)


def _connected(path: Path) -> sqlite3.Connection:
    """Open a file so that it is whole by itself between transactions, and each is on the disk.

    A write-ahead log, as version 1 had it, keeps the newest entries in another file, which a
    copy may lack. What it holds is taken over as soon as no other program has the file open.
    """
    uri, until = f"{path.as_uri()}?mode=rw", time.monotonic() + PATIENCE
    while True:
        connection = sqlite3.connect(uri, timeout=PATIENCE, isolation_level=None, uri=True)
        try:
            connection.execute("PRAGMA journal_mode = DELETE")
            # With FULL the end of the journal may be lost with the power, and the debit with it.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
            return connection
        except sqlite3.Error as error:
            connection.close()  # Else all who wait for the file wait for each other.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(random.uniform(0, 0.2))


def _code(error: sqlite3.Error) -> int:
    """SQLite's code of an error; some are raised without one, by what is read."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) & 0xFF


@dataclass
class _Log:
    """Records of a file, and what they add up to.

    A record is a number from 1, a kind, a source, an amount, a text, a time, and the hash of all
    these and of the record before. Kinds: ``file`` (the first: a text of its own), ``opened``
    (a source with a total), ``debited`` (epsilon, parameters) and ``released`` (of which debit).
    """

    connection: sqlite3.Connection
    hashes: list[str] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def begun(cls, connection: sqlite3.Connection, text: str, moment: str | None = None) -> _Log:
        """Begin the log of a file, which the text tells from others."""
        for statement in _SCHEMA:
            connection.execute(statement)
        log = cls(connection)
        log.append("file", "", 0, text, moment)
        return log

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> _Log:
        """Read all records; raises _DamagedError where they are not those that were written."""
        log = cls(connection)
        for number, *record, found in connection.execute(_RECORDS):
            try:
                if (number, found) != (len(log.hashes) + 1, log._hash(record)):
                    raise ValueError
                log._take(*record)
            except (ValueError, TypeError, LookupError, RecursionError):
                raise _DamagedError(
                    f"was changed by another program, at record {len(log.hashes) + 1}"
                ) from None
            log.hashes.append(found)
        made = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'log'").fetchone()
        if made != (len(log.hashes),):
            raise _DamagedError(f"was changed by another program, after record {len(log.hashes)}")
        return log

    def append(
        self, kind: str, source: str, amount: int, text: str = "", moment: str | None = None
    ) -> None:
        """Write a record."""
        record = (kind, source, amount, text, moment or _now())
        found = self._hash(record)
        self._take(*record)
        self.hashes.append(found)
        self.connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", (len(self.hashes), *record, found)
        )

    def _hash(self, record: Sequence[Any]) -> str:
        """Hash of the next record."""
        before = self.hashes[-1] if self.hashes else ""
        text = json.dumps([before, len(self.hashes) + 1, *record])
        return hashlib.sha256(text.encode()).hexdigest()

    def _take(self, kind: str, source: str, amount: int, text: str, time: str) -> None:
        """Add a record up; raises ValueError or LookupError where it can't follow the others."""
        if kind == "opened" and source not in self.totals and amount > 0:
            self.totals[source], self.spent[source] = amount, 0
        elif kind == "debited" and 0 < amount <= self.totals[source] - self.spent[source]:
            self.spent[source] += amount
            self.entries.append(
                Entry(
                    id=len(self.entries) + 1,
                    source=source,
                    epsilon=amount / MICRO,
                    what=dict(json.loads(text)),
                    state="debited",
                    time=time,
                )
            )
        elif kind == "released" and self.entries[amount - 1].source == source:
            self.entries[amount - 1] = replace(self.entries[amount - 1], state="released")
        elif kind != "file" or self.hashes:
            raise ValueError

    def find(self, source: str) -> Account | None:
        """Account of a source; None where it has none, and could get one under this name."""
        key = names.key(source)
        for name in self.totals:
            if names.key(name) == key:
                return self.account(name)
        names.check_new(source, self.totals)
        return None

    def account(self, name: str) -> Account:
        """Account of a source by its name as it was first typed."""
        total, spent = self.totals[name], self.spent[name]
        return Account(
            id=name,
            total=total / MICRO,
            spent=spent / MICRO,
            remaining=(total - spent) / MICRO,
            entries=tuple(entry for entry in self.entries if entry.source == name),
        )


def _taken_over(connection: sqlite3.Connection) -> _Log:
    """Make a log of what version 1 wrote, in its finer parts; no budget comes back by rounding.

    The spends of a source are rounded up as they add up, its total down; where that would be
    less than was spent already, it is what was spent. What remains is so never more than it was.
    """
    try:
        sources = connection.execute(
            "SELECT id, name, total, created FROM sources ORDER BY rowid"
        ).fetchall()
        entries = connection.execute(
            "SELECT id, source, epsilon, what, state, time FROM entries ORDER BY id"
        ).fetchall()
        made = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'")
        # Rows were never taken out.
        if [row[0] for row in entries] != list(range(1, (made.fetchone() or (0,))[0] + 1)):
            raise ValueError
        spent = dict.fromkeys((key for key, *_ in sources), 0)
        micro = []
        for _, key, parts, *_ in entries:
            before, spent[key] = spent[key], spent[key] + parts
            micro.append(_rounded_up(spent[key]) - _rounded_up(before))
        # Named by its beginning: an older copy, taken over later, is so known to be one.
        text = f"version 1: {json.dumps(sources[0])}" if sources else secrets.token_hex(16)
        for table in ("entries", "sources"):
            connection.execute(f"DROP TABLE {table}")
        log = _Log.begun(connection, text, sources[0][3] if sources else None)
        for key, name, total, created in sources:
            if not 0 <= spent[key] <= total:
                raise ValueError
            whole = max(total // _OLD_PARTS, _rounded_up(spent[key]))
            log.append("opened", name, whole, moment=created)
        shown_names = {key: name for key, name, *_ in sources}
        for (number, key, _, text, state, moment), amount in zip(entries, micro, strict=True):
            log.append("debited", shown_names[key], amount, text, moment)
            if state == "released":
                log.append("released", shown_names[key], number, moment=moment)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise _DamagedError("is damaged") from None
    return log


def _rounded_up(parts: int) -> int:
    """Parts of version 1 in whole micro-epsilon."""
    return -(-parts // _OLD_PARTS)


def _note_of(log: _Log) -> Path:
    """Where the newest record of a file is noted; raises InputError where this user has no home."""
    return home() / "heads" / log.hashes[0]


def _check_alike(account: Account, what: Mapping[str, Any], alike: Sequence[str]) -> None:
    """Refuse an entry that can't be added to the others of its source."""
    for entry in account.entries:
        for name in alike:
            before = entry.what.get(name)
            if before not in (None, what[name]):
                raise PrivacyRefusal(
                    f'{name} = {what[name]} is refused: earlier releases of source "{account.id}" '
                    f"have {name} = {before}, and budgets of both don't add up; keep to that."
                )


def _micro(name: str, value: object) -> int:
    """Return epsilon in whole micro-epsilon, rounded down, or raise InputError."""
    number = check_number(name, value)
    if not 1e-6 <= number <= 1e6:  # also where it is not a number
        raise InputError(
            f"{name} = {number:g} is no usable privacy budget: give a number from 0.000001 to "
            "1,000,000."
        )
    # The decimal that was typed, not the binary fraction beside it.
    return int(Decimal(repr(number)) * MICRO)


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

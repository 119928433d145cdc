"""The lifetime budget of data sources: one SQLite file that every release debits first.

A source is named by its owner, never by a hash of its content: one record more would open a new
budget. A release debits, draws, publishes and then marks its entry. What is debited stays
debited: a crash on the way loses budget, never privacy.

The file holds a log whose records are never changed. Each has a hash that covers the one before
it, so a record that was edited, forged, moved or taken out is noticed. The newest hash is noted
in the folder of this user (:func:`dpviz.home.home`), so an older copy of the file is noticed too,
and one whose hashes were all made anew. What can't be noticed: a new file in place of the old one,
an older file whose note was put back or removed with it, an older file on another computer or in
the hands of another user. Whoever may write to both file and note is trusted.
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import sqlite3
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpviz.errors import InputError, PrivacyRefusal
from dpviz.home import home_folder, tighten
from dpviz.privacy import names
from dpviz.privacy.budget_log import (
    APPLICATION,
    MICRO,
    VERSION,
    Account,
    DamagedError,
    Entry,
    Log,
    decimal,
    micro,
    take_over,
)

if sys.platform != "win32":
    import fcntl

#: Seconds to wait for other processes; a debit takes milliseconds.
PATIENCE = 60.0

_LONGEST_WHAT = 100_000

#: What is noted of a file: how many records it has, and the hash of the newest.
_NOTE = re.compile(rb"([1-9]\d{0,17}) ([0-9a-f]{64})\n")

#: The way out where a file can't be believed.
_NEWEST = (
    "put its newest copy back, or name a new file and give each source no more than it had left"
)

#: What a failure after a debit may leave behind.
_LOST = "what was asked for may be debited all the same"

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
        asked = None if total is None else micro("total", total)
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
        asked, text = micro("epsilon", epsilon), _json(what)
        opening = None if total is None else micro("total", total)
        with self._transaction(create=opening is not None) as log:
            account = self._opened(log, source, opening)
            _check_alike(account, what, alike)
            account.check(epsilon)
            log.append("debited", account.id, asked, text)
            entry = log.entries[-1]
        return entry

    def _opened(self, log: Log, source: str, asked: int | None) -> Account:
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
    def _transaction(self, *, create: bool = False) -> Iterator[Log]:
        """One transaction on a connection of its own: all of it is on the disk, or nothing is.

        With ``create`` a file that is missing or empty is made.
        """
        try:
            place = self._place(create=create)
            # Without COMMIT closing takes the transaction back.
            with closing(_connected(place.path)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                log = self._read(connection, create=create)
                self._note(log)
                yield log
                self._check_place(place)
                connection.execute("COMMIT")
                # What was debited is lost where the file was swapped meanwhile, and nothing drawn.
                self._check_place(place)
        except sqlite3.Error as error:
            raise InputError(self._sentence(error)) from None
        except (DamagedError, UnicodeDecodeError) as error:
            found = str(error) if isinstance(error, DamagedError) else "is damaged"
            raise InputError(f"{self} {found}: {_NEWEST}.") from None
        if len(log.hashes) > log.stored:
            # Where two copies of the file were written to at once, one of them ends here.
            try:
                with self._transaction():
                    pass
            except InputError as error:
                raise InputError(f"{str(error).rstrip('.')}; {_LOST}.") from None

    def _place(self, *, create: bool) -> _Place:
        """Where the file really is, made where it is wanted; refused where it has another name.

        SQLite keeps the journal beside the name that a file is opened by. Under another name it
        is not found after a crash, and played back later, over debits made meanwhile.
        """
        try:
            with _making:
                if create:
                    self.path.parent.resolve(strict=True)  # "none/.." would name one that is there.
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
            f"{_LOST}."
        )

    def _read(self, connection: sqlite3.Connection, *, create: bool) -> Log:
        """Log of the file, verified; begun where it is empty and one is wanted."""
        version = self._version(connection)
        if version is None:
            return Log.begun(connection, secrets.token_hex(16)) if create else Log(connection)
        if version < VERSION:
            take_over(connection)
            # By itself: it stands whatever becomes of what was asked for.
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
        return Log.read(connection)

    def _version(self, connection: sqlite3.Connection) -> int | None:
        """Version of the file, None of an empty one; refuse files that are not ours or damaged."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application or tables:
                raise InputError(f"{self} {_REASONS[sqlite3.SQLITE_NOTADB]}.")
            return None
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (1, VERSION):
            raise InputError(f"{self} was written by a newer version of this program: update it.")
        # Spends that a damaged page hides would be spent again.
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise DamagedError("is damaged")
        return int(version)

    def _note(self, log: Log) -> None:
        """Note the newest record; refuse a file that lacks the one that was noted last."""
        self.unnoted = ""
        if not log.stored:  # Only what is written is noted: a crash now must lock nobody out.
            return
        newest = (len(log.hashes), log.hashes[-1])
        try:
            note = home_folder("heads") / log.hashes[0]
            with _alone(note.parent):
                noted = _noted(note)
                if noted is not None and log.hashes[noted[0] - 1 : noted[0]] != [noted[1]]:
                    raise DamagedError("is an older or a changed copy, without what was noted last")
                if noted != newest:
                    _write_note(note, *newest)
        except (InputError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error).rstrip(".")
            self.unnoted = (
                f"an older copy of {self} would not be noticed, since its newest record can't be "
                f"noted ({reason})."
            )

    def _sentence(self, error: sqlite3.Error) -> str:
        """What SQLite's error means to a person."""
        reason = _REASONS.get(_code(error), f"can't be used ({error}): check it")
        return f"{self} {reason}."


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
        return cls(real, found.st_dev, found.st_ino, found.st_nlink, stat.S_IFMT(found.st_mode))

    @property
    def refusal(self) -> str:
        """Why this is no place for a budget; empty where it is one."""
        if stat.S_ISDIR(self.mode):
            return "is a folder: name a file in it"
        if not stat.S_ISREG(self.mode):
            return "is no file that can be kept: name another one"
        if self.links > 1:
            return f"has {self.links} names (hard links): remove all but one"
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
        path.touch(mode=0o600, exist_ok=False)
        with suppress(OSError):  # A umask may have taken the owner's rights too.
            path.chmod(0o600)


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
            connection.close()  # Left open, it would lock out the others who wait.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(random.uniform(0, 0.2))


def _code(error: sqlite3.Error) -> int:
    """SQLite's code of an error; some are raised without one, by what is read."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) & 0xFF


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Have no other process note anything meanwhile, where the system has locks for that."""
    if sys.platform == "win32":
        yield
        return
    handle, until = os.open(folder, os.O_RDONLY), time.monotonic() + PATIENCE
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise
            time.sleep(0.01)
        yield
    finally:
        os.close(handle)


def _noted(note: Path) -> tuple[int, str] | None:
    """Number and hash of the newest record that was noted; raises OSError."""
    try:
        found = _NOTE.fullmatch(note.read_bytes())
    except FileNotFoundError:
        return None
    # A crash of the system may leave half a note: better a new one.
    return None if found is None else (int(found[1]), found[2].decode())


def _write_note(note: Path, number: int, newest: str) -> None:
    """Write a note whole or not at all; raises OSError."""
    handle, part = tempfile.mkstemp(dir=note.parent)
    try:
        with open(handle, "wb") as file:
            os.chmod(part, 0o600)
            file.write(b"%d %s\n" % (number, newest.encode()))
        os.replace(part, note)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


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

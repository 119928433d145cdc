"""The lifetime budget of data sources: one SQLite file, which stores a debit before each release.

The owner names each source, because a hash of the content would change with one more record and
open a new budget. Each debit stores which files are read. Later, another source can't use these
files, even if they are renamed or copied (:meth:`Log.owner`). The content of a file is stored as a
code with a key of this user's folder, so the budget file says nothing about it without the key. A
debit is final: a crash after it loses budget, never privacy.

Records never change, and each hash covers the previous record, so an edited, forged, moved or
deleted record is detected. A note in this user's folder (:func:`dpviz.base.home.home_folder`) has
the newest hash, so an older copy or a file with recomputed hashes is detected, too. Not detected: a
new file that replaces the old one; an older file if its note was also restored or removed, or if
another computer or user has it; the same data under another name in a changed file, in a copied
folder, in a newly packed file, or in memory. Anyone who can write both file and note is trusted.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpviz.base.errors import InputError, PrivacyRefusal, reason, shown
from dpviz.base.home import home_folder, tighten
from dpviz.privacy import names
from dpviz.privacy.budget_log import (
    APPLICATION,
    MICRO,
    NONCE,
    ORIGINS,
    VERSION,
    Account,
    DamagedError,
    Entry,
    Log,
    decimal,
    micro,
)
from dpviz.privacy.origin import Origin, mark

if sys.platform != "win32":
    import fcntl

#: Seconds to wait for other processes; one debit takes milliseconds.
PATIENCE = 60.0

_LONGEST_WHAT = 100_000

#: Format of the note about a file: its number of records, and the hash of the newest record.
_NOTE = re.compile(rb"([1-9]\d{0,17}) ([0-9a-f]{64})\n")

#: Bytes of the key that hides contents.
_KEY = 32

#: Advice to the user if a file can't be trusted.
_NEWEST = (
    "restore its newest copy, or name a new file and give each source at most its remaining budget"
)

#: Possible state after a failure that follows a debit.
_LOST = "the requested epsilon may be debited nevertheless"

#: Meaning of SQLite's error codes for users.
_REASONS = {
    sqlite3.SQLITE_BUSY: "is locked by another program: try again when that program has finished",
    sqlite3.SQLITE_CANTOPEN: (
        "can't be opened: its folder has to exist, and file and folder have to be writable"
    ),
    sqlite3.SQLITE_CORRUPT: f"is damaged: {_NEWEST}",
    sqlite3.SQLITE_FULL: "can't be written: the disk is full",
    sqlite3.SQLITE_IOERR: "can't be read or written: check the disk and its free space",
    sqlite3.SQLITE_NOTADB: "is not a budget file: name another file, or a new file",
    sqlite3.SQLITE_PERM: "can't be written: check its permissions",
    sqlite3.SQLITE_READONLY: "can't be written: check permissions of file and folder",
}

#: Lock while a file is created, because closing its handle releases this process's locks on it.
_making = threading.Lock()


class Budget:
    """Lifetime budgets in one file; safe for several threads and processes of one machine.

    Every call reopens the file, and raises InputError if the file can't be used. The first source
    creates the file, and only its user may read it. SQLite's locks fail on network folders.
    ``unnoted`` says why an older copy of the file, or a copy of released data, would not be
    detected (no note or no key in this user's folder); otherwise it is empty. Releases continue.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if "\0" in os.fspath(path) or not os.fspath(path):
            raise InputError("the name of the budget file is empty or has a zero byte in it.")
        self.path = Path(path)
        self.unnoted = self._found_none = ""
        #: Newest record that this object wrote.
        self._written: tuple[int, str] | None = None

    def open(self, source: str, total: float | None = None) -> Account:
        """Return the account of a source; the first call sets its total permanently.

        ``total`` is rounded down to whole micro-epsilon; None if the source exists. Raises
        PrivacyRefusal if the source has another total.
        """
        asked = None if total is None else micro("total", total)
        with self._transaction(create=asked is not None) as log:
            return self._opened(log, source, asked)

    def find(self, source: str) -> Account | None:
        """Return the account of a source, or None if it is new; InputError for a bad name."""
        if not self.exists():
            names.check_new(source)
            return None
        with self._transaction() as log:
            return log.find(source)

    def owner(
        self, origins: Sequence[Origin], source: str | None = None, proposed: str | None = None
    ) -> str | None:
        """Source for which some of these files were read before; errors as in :meth:`Log.owner`."""
        if not origins or not self.exists():
            return None
        with self._transaction() as log:
            return log.owner(_kept(origins), source, proposed)

    def exists(self) -> bool:
        """Whether the file exists; raise InputError if that can't be determined."""
        try:
            return self.path.exists()
        except OSError as error:
            raise InputError(f"{self} can't be opened ({reason(error)}): check its path.") from None

    def debit(
        self,
        source: str,
        epsilon: float,
        what: Mapping[str, Any],
        *,
        total: float | None = None,
        alike: Sequence[str] = (),
        origins: Sequence[Origin] = (),
    ) -> Entry:
        """Debit epsilon from a source's budget and write it to disk, before any noise is drawn.

        Returns the entry; the release must run with the entry's epsilon, which is rounded down to
        whole micro-epsilon. ``what`` has public plain values, nothing derived from the data. Values
        named in ``alike`` must be equal in all entries of a source, because epsilons for different
        neighbours don't add up. A new source (``total`` as for :meth:`open`) and its first debit
        are written together or not at all; then the ``origins`` belong to the source. Raises
        PrivacyRefusal if less remains or the files belong to another source.
        """
        # Each entry has a random text. Without it, two copies of the file with the same debit in
        # one second would have the same hash, and the note would match both copies.
        asked = micro("epsilon", epsilon)
        _json(what)  # check before a file is created
        opening = None if total is None else micro("total", total)
        with self._transaction(create=opening is not None) as log:
            origins = _kept(origins)
            log.owner(origins, source)
            account = self._opened(log, source, opening)
            _check_alike(account, what, alike)
            account.check(epsilon)
            new = [one for one in origins if one not in log.origins]
            log.append("debited", account.id, asked, _json(what, new))
        return log.entries[-1]

    def _opened(self, log: Log, source: str, asked: int | None) -> Account:
        account, name = log.find(source), names.cleaned(source)
        if account is None and asked is None:
            raise InputError(f'source "{name}" has no lifetime budget in {self}: give its total.')
        if account is None:
            log.append("opened", name, asked or 0)
            return log.account(name)
        if asked is not None and asked != log.totals[account.id]:
            raise PrivacyRefusal(
                f'source "{account.id}" has a lifetime budget of {decimal(account.total)}, '
                f"which can't change: a total of {decimal(asked / MICRO)} is refused."
            )
        return account

    def mark(self, entry: Entry) -> Entry:
        """Record that the release of an entry was published."""
        with self._transaction() as log:
            number, source = entry.id, names.cleaned(entry.source)
            if not (1 <= number <= len(log.entries) and log.entries[number - 1].source == source):
                raise InputError(
                    f'{self} has no entry {number} of source "{source}": name another entry.'
                )
            if log.entries[number - 1].state != "released":
                log.append("released", source, number)
        return replace(entry, state="released")

    def datasets(self) -> list[Account]:
        """Accounts of all sources, in the order in which they were opened."""
        with self._transaction() as log:
            return [log.account(name) for name in log.totals]

    def __str__(self) -> str:
        """``budget file "..."``; for a long path, only its end."""
        path = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(self.path))
        return f'budget file "{path if len(path) <= 80 else "..." + path[-77:]}"'

    @contextmanager
    def _transaction(self, *, create: bool = False) -> Iterator[Log]:
        """One transaction on a separate connection: it writes all records to disk, or no record."""
        try:
            place = self._place(create=create)
            # Without COMMIT, closing rolls the transaction back.
            with closing(_connected(place.path)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                log = self._read(connection, create=create)
                self._note(log)
                self.unnoted = self.unnoted or _lost(log)
                yield log
                self._check_place(place)
                connection.execute("COMMIT")
                if len(log.hashes) > log.stored:
                    self._written = log.newest
                # If the file was replaced meanwhile, the debit is lost, but no noise was drawn.
                self._check_place(place)
        except sqlite3.Error as error:
            problem = _REASONS.get(_code(error), f"can't be used ({reason(error)}): check it")
            raise InputError(f"{self} {problem}.") from None
        except (DamagedError, UnicodeDecodeError) as error:
            found = str(error) if isinstance(error, DamagedError) else "is damaged"
            raise InputError(f"{self} {found}: {_NEWEST}.") from None
        if len(log.hashes) > log.stored:
            # If two copies were written at the same time, one of the two calls fails here.
            try:
                with self._transaction():
                    pass
            except InputError as error:
                raise InputError(f"{str(error).rstrip('.')}; {_LOST}.") from None

    def _place(self, *, create: bool) -> _Place:
        """Real path of the file, created on request; refuse a file that has a second name."""
        # SQLite derives the journal's name from the name with which the file was opened. Under
        # another name, it misses the journal of a crash, and later overwrites newer debits.
        try:
            with _making:
                if create:
                    # This call fails for "none/..", which would resolve to an existing folder.
                    self.path.parent.resolve(strict=True)
                    _make(self.path.resolve())
                place = _Place.of(self.path)
        except FileNotFoundError:
            problem = (
                _REASONS[sqlite3.SQLITE_CANTOPEN] if create else "does not exist: check the path"
            )
        except PermissionError:
            problem = _REASONS[sqlite3.SQLITE_CANTOPEN]
        except (OSError, RuntimeError, UnicodeEncodeError) as error:
            problem = f"can't be opened ({reason(error)}): check its path"
        else:
            problem = place.refusal
            if not problem:
                tighten(place.path)
                return place
        raise InputError(f"{self} {problem}.")

    def _check_place(self, place: _Place) -> None:
        with suppress(OSError, RuntimeError):
            if _Place.of(self.path) == place:
                return
        raise InputError(
            f"{self} was moved, replaced or linked while it was in use: give it only one name; "
            f"{_LOST}."
        )

    def _read(self, connection: sqlite3.Connection, *, create: bool) -> Log:
        if self._is_ours(connection):
            return Log.read(connection)
        return Log.begun(connection, secrets.token_hex(16)) if create else Log(connection)

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if application or tables:
                raise InputError(f"{self} {_REASONS[sqlite3.SQLITE_NOTADB]}.")
            return False
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise InputError(f"{self} was written by a newer version of dpviz: update dpviz.")
        if version != VERSION:
            raise InputError(f"{self} has no version that this program reads: {_NEWEST}.")
        # A damaged page may hide debits, and then this budget could be spent again.
        if connection.execute("PRAGMA quick_check").fetchall() != [("ok",)]:
            raise DamagedError("is damaged")
        return True

    def _note(self, log: Log) -> None:
        """Write the newest record to the note; refuse a file that lacks the noted record."""
        self.unnoted = self._found_none
        # Note only records on the disk: otherwise nobody could use the file after a crash here.
        if not log.stored:
            return
        try:
            note = home_folder("heads") / log.hashes[0]
            with _alone(note.parent):
                noted = _noted(note)
                if noted is None and not (self._written and log.has(self._written)):
                    self.unnoted = self._found_none = (
                        f"{self} has no note in {shown(note.parent, 80)}, so it may "
                        "be an older copy: set DPVIZ_HOME to the folder with its note, or check "
                        "that no entry is missing."
                    )
                    return
                if noted is not None and not log.has(noted):
                    raise DamagedError("is an older or a changed copy without the last noted entry")
                if noted != log.newest:
                    number, newest = log.newest
                    _write(note, b"%d %s\n" % (number, newest.encode()))
        except (InputError, OSError) as error:
            self.unnoted = (
                f"an older copy of {self} would not be noticed, since its newest record can't be "
                f"noted ({reason(error)})."
            )


@dataclass(frozen=True)
class _Place:
    path: Path
    device: int
    number: int
    links: int
    mode: int

    @classmethod
    def of(cls, path: Path) -> _Place:
        """Resolve links and return the real file; raises OSError or RuntimeError."""
        real = path.resolve(strict=True)
        found = real.stat()
        return cls(real, found.st_dev, found.st_ino, found.st_nlink, stat.S_IFMT(found.st_mode))

    @property
    def refusal(self) -> str:
        """Reason why this file is not suitable for a budget; empty if it is suitable."""
        if stat.S_ISDIR(self.mode):
            return "is a folder: name a file in it"
        if not stat.S_ISREG(self.mode):
            return "is not a regular file: name another file"
        if self.links > 1:
            return f"has {self.links} names (hard links): remove all but one"
        if _is_mounted(self.path):
            return "is mounted without its folder, where its journal has to be: mount the folder"
        return ""


def _is_mounted(path: Path) -> bool:
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return os.path.ismount(path)
    place = os.fsencode(path)
    # The system writes these bytes as octal codes; the backslash must be replaced first.
    for byte in b"\\ \t\n#":
        place = place.replace(bytes([byte]), b"\\%03o" % byte)
    return any(mount.split()[4:5] in ([place], [place.replace(b"\\043", b"#")]) for mount in mounts)


def _make(path: Path) -> None:
    with suppress(FileExistsError):
        path.touch(mode=0o600, exist_ok=False)
        with suppress(OSError):  # A umask may have removed the owner's rights, too.
            path.chmod(0o600)


def _connected(path: Path) -> sqlite3.Connection:
    """Open a file that is complete between transactions and is written to disk at each commit."""
    uri, until = f"{path.as_uri()}?mode=rw", time.monotonic() + PATIENCE
    while True:
        connection = sqlite3.connect(uri, timeout=PATIENCE, isolation_level=None, uri=True)
        try:
            # A write-ahead log would keep the newest entries in a second file, which a copy may
            # lack.
            connection.execute("PRAGMA journal_mode = DELETE")
            # With FULL, a power failure may lose the end of the journal and so the debit.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
            return connection
        except BaseException as error:
            connection.close()  # An open connection would block other processes that wait.
            busy = isinstance(error, sqlite3.Error) and _code(error) == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > until:
                raise
        time.sleep(random.uniform(0, 0.2))


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)) & 0xFF


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Prevent other processes from writing notes during the block, if the system has file locks."""
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
    try:
        found = _NOTE.fullmatch(note.read_bytes())
    except FileNotFoundError:
        return None
    # A system crash may leave an incomplete note, which is then replaced.
    return None if found is None else (int(found[1]), found[2].decode())


def _kept(origins: Sequence[Origin]) -> list[Origin]:
    """Origins as a budget file stores them; without contents if their key can't be read or made."""
    kept = [one for one in origins if not one.is_content]
    with suppress(InputError, OSError):
        kept += [one.keyed(_key()) for one in origins if one.is_content]
    return kept


def _lost(log: Log) -> str:
    known = [one.number for one in log.origins if one.is_content]
    with suppress(InputError, OSError):
        if not known or all(one.endswith(mark(_key())) for one in known):
            return ""
    return (
        "copies of files that were released before would not be noticed, since the key of their "
        "contents is not in the folder keys: set DPVIZ_HOME to the folder that has it."
    )


def _key() -> bytes:
    path = home_folder("keys") / "contents"
    with _alone(path.parent):
        with suppress(FileNotFoundError):
            if len(known := path.read_bytes()) == _KEY:
                return known
        _write(path, secrets.token_bytes(_KEY))
        return path.read_bytes()


def _write(path: Path, content: bytes) -> None:
    handle, part = tempfile.mkstemp(dir=path.parent)
    try:
        with open(handle, "wb") as file:
            os.chmod(part, 0o600)
            file.write(content)
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def _check_alike(account: Account, what: Mapping[str, Any], alike: Sequence[str]) -> None:
    """Refuse an entry if its epsilon can't be added to the epsilons of the source's entries."""
    for entry in account.entries:
        for name in alike:
            before = entry.what.get(name)
            if before not in (None, what[name]):
                way_out = "use the same value"
                # Users can't give a number any more, because columns now have names.
                if name == "unit_column" and str(before).isdigit():
                    left = decimal(account.remaining)
                    way_out = (
                        "an older version stored the number of that column; if it is the same "
                        f"column, name a new source, with a total of at most {left}, which is left "
                        "here"
                    )
                raise PrivacyRefusal(
                    f'{name} = {what[name]} is refused: earlier releases of source "{account.id}" '
                    f"have {name} = {before}, and budgets for two values don't add up; {way_out}."
                )


def _json(what: Mapping[str, Any], origins: Iterable[Origin] = ()) -> str:
    try:
        text = json.dumps({**what, NONCE: secrets.token_hex(16)}, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InputError("what = ... may contain only values that JSON has.") from None
    if len(text) > _LONGEST_WHAT:
        raise InputError(
            f"what = ... has {len(text):,} characters as JSON: keep it below {_LONGEST_WHAT:,}."
        )
    files = [[one.path, one.number] for one in origins]
    return json.dumps({**json.loads(text), ORIGINS: files}, allow_nan=False) if files else text

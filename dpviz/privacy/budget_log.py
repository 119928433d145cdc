"""Content of a budget file: sources, debits, and the log of records that stores both.

Debits are integers in micro-epsilon (1e-6), rounded down, and the release runs with the granted
epsilon. Functions return debits as decimal fractions, for which a float has enough digits.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from dpviz.base.errors import InputError, PrivacyRefusal, check_number, listed, shown
from dpviz.privacy import names
from dpviz.privacy.origin import Origin

State = Literal["debited", "released"]

#: Micro-epsilon in an epsilon of 1.
MICRO = 10**6

#: Distinguishes our files from other programs' databases ("dpvb").
APPLICATION, VERSION = 0x64707662, 2

_SCHEMA = (
    """CREATE TABLE log (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        kind TEXT NOT NULL,
        source TEXT NOT NULL,
        amount INTEGER NOT NULL,
        text TEXT NOT NULL,
        time TEXT NOT NULL,
        hash TEXT NOT NULL)""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)

#: Key in the stored parameters of a debit: its value is a random text that no other debit has.
NONCE = "nonce"

#: Key in the stored parameters of a debit: its value lists [path, number] of each new file.
ORIGINS = "origins"

_RECORDS = "SELECT number, kind, source, amount, text, time, hash FROM log ORDER BY number"


_COPIED = "copy|kopie|copie|copia"

#: Parts that mark a file as a copy: ".x", "x~", "x.bak", "x (1)", "x - Copy".
_COPY = re.compile(
    rf"\A(?:[.~_#$]+|(?:{_COPIED})(?: (?:of|von|de|di))? )|[~#]+\Z"
    r"|[._ -]+(?:bak|backup|old|orig|tmp)\Z|\.sw[op]\Z"
    rf"|[ _-]*\((?:\d+|(?:{_COPIED})(?: \d+)?)\)\Z|[ _-]+(?:{_COPIED})(?:[ _-]*\d+)?\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One debit: number, granted epsilon, method and public parameters, time (UTC, ISO 8601).

    ``state`` is ``"debited"``, or ``"released"`` once the release was published.
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
        """Raise PrivacyRefusal, with the remaining epsilon, if less than this epsilon remains."""
        if micro("epsilon", epsilon) > round(self.remaining * MICRO):
            raise PrivacyRefusal(
                f"epsilon = {decimal(epsilon)} is more than what is left: "
                f"{decimal(self.remaining)} of the lifetime budget {decimal(self.total)} of source "
                f'"{self.id}".'
            )


def granted(epsilon: float) -> float:
    """Epsilon that a debit grants: rounded down to whole micro-epsilon; InputError if invalid."""
    return micro("epsilon", epsilon) / MICRO


def decimal(epsilon: float) -> str:
    """Format epsilon for readers: all digits, no exponent."""
    return f"{Decimal(repr(float(epsilon))).normalize():f}"


def micro(name: str, value: object) -> int:
    """Return epsilon as an integer in micro-epsilon, rounded down, or raise InputError."""
    number = check_number(name, value)
    if not 1e-6 <= number <= 1e6:  # this form of the condition also refuses NaN
        raise InputError(
            f"{name} = {number:g} is not a usable privacy budget: give a number from 0.000001 to "
            "1,000,000."
        )
    # Convert the decimal number that was typed, not the nearest binary fraction.
    return int(Decimal(repr(number)) * MICRO)


class DamagedError(Exception):
    """Raised if this module did not write the content; the message follows the name of the file."""


@dataclass
class Log:
    """Records of a file, and the sums computed from them.

    A record has a number (from 1), a kind, a source, an amount, a text, a time, and a hash of these
    and of the previous record. Kinds: ``file`` (first, with a unique text), ``opened`` (a source
    with its total), ``debited`` (epsilon, parameters, files), ``released`` (number of the debit).
    """

    connection: sqlite3.Connection
    #: Number of records read; later records are new.
    stored: int = 0
    hashes: list[str] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    #: Source for which each file was read, by three keys: file, path, and number (with the file).
    origins: dict[Origin, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, tuple[str, Origin]] = field(default_factory=dict)

    @classmethod
    def begun(cls, connection: sqlite3.Connection, text: str) -> Log:
        """Start the log of a file; the text distinguishes it from other files."""
        for statement in _SCHEMA:
            connection.execute(statement)
        log = cls(connection)
        log.append("file", "", 0, text)
        return log

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Log:
        """Read all records; raise DamagedError if they differ from the written records."""
        log = cls(connection)
        for number, *record, found in connection.execute(_RECORDS):
            try:
                if (number, found) != (len(log.hashes) + 1, log._hash(record)):
                    raise ValueError
                log._take(*record)
            except (ValueError, TypeError, LookupError, RecursionError):
                raise DamagedError(
                    f"was changed by another program, at record {len(log.hashes) + 1}"
                ) from None
            log.hashes.append(found)
        made = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'log'").fetchone()
        if made != (len(log.hashes),):
            raise DamagedError(f"was changed by another program, after record {len(log.hashes)}")
        log.stored = len(log.hashes)
        return log

    @property
    def newest(self) -> tuple[int, str]:
        """Number and hash of the newest record."""
        return len(self.hashes), self.hashes[-1]

    def has(self, record: tuple[int, str]) -> bool:
        """Whether the record with this number has this hash."""
        number, found = record
        return self.hashes[number - 1 : number] == [found]

    def append(self, kind: str, source: str, amount: int, text: str = "") -> None:
        """Write a new record."""
        record = (kind, source, amount, text, _now())
        found = self._hash(record)
        self._take(*record)
        self.hashes.append(found)
        self.connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", (len(self.hashes), *record, found)
        )

    def _hash(self, record: Sequence[Any]) -> str:
        before = self.hashes[-1] if self.hashes else ""
        text = json.dumps([before, len(self.hashes) + 1, *record], allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def _take(self, kind: str, source: str, amount: int, text: str, time: str) -> None:
        """Add a record to the sums; raise ValueError or LookupError if the record is not valid."""
        if kind == "opened" and source not in self.totals and amount > 0:
            self.totals[source], self.spent[source] = amount, 0
        elif kind == "debited" and 0 < amount <= self.totals[source] - self.spent[source]:
            self.spent[source] += amount
            what = dict(json.loads(text))
            what.pop(NONCE, None)
            for path, number in what.pop(ORIGINS, ()):
                one = Origin(path, number)
                self.origins[one] = self.paths[path] = source
                self.numbers[number] = (source, one)
            self.entries.append(
                Entry(
                    id=len(self.entries) + 1,
                    source=source,
                    epsilon=amount / MICRO,
                    what=what,
                    state="debited",
                    time=time,
                )
            )
        elif kind == "released" and self.entries[amount - 1].source == source:
            self.entries[amount - 1] = replace(self.entries[amount - 1], state="released")
        elif kind != "file" or self.hashes:
            raise ValueError

    def find(self, source: str) -> Account | None:
        """Account of a source, or None if it is new; raises InputError if the name is invalid."""
        key = names.key(source)
        for name in self.totals:
            if names.key(name) == key:
                return self.account(name)
        names.check_new(source, self.totals)
        return None

    def owner(
        self, origins: Iterable[Origin], source: str | None = None, proposed: str | None = None
    ) -> str | None:
        """Source for which some of these files were read before; None if all files are new.

        A known file is recognized by its path, by its folder's path, by its content, and by its
        number on the disk. The number survives renaming, but may be reused after a deletion. So it
        counts only if the caller names the source (``proposed``: the name that a new source would
        get). The content counts only then, too: one record decides whether two contents are equal,
        but no record may decide which source is debited. The name of an upload (a path without a
        folder) only leads to a question, because other data may have the same name. Raises
        PrivacyRefusal if the files belong to another source or to several, or if no source is named
        and it is not clear.
        """
        sure: dict[str, Origin] = {}
        doubtful: dict[str, Origin] = {}
        same: dict[str, Origin] = {}
        for one in origins:
            known = self.paths.get(one.path) or self.paths.get(one.folder)
            if known is not None and one.folder:
                sure.setdefault(known, one)
            if one.number in self.numbers and one.number:
                known, before = self.numbers[one.number]
                found = same if one.is_content else sure if before.is_there() else doubtful
                found.setdefault(known, one)
        if len(sure) > 1:
            raise PrivacyRefusal(
                f"the files belong to the sources {listed(sure)}, and one release can't debit "
                "several sources: release the files of each source separately."
            )
        given = None if source is None else names.key(source)
        for name, one in sure.items():
            if given not in (None, names.key(name)):
                is_new = one.path not in self.paths and one.number not in self.numbers
                place = " is in a folder that" if is_new else ""
                raise PrivacyRefusal(
                    f'{shown(one.path or "this file", 120)}{place} was released as source "{name}" '
                    f'before, so source = "{names.cleaned(source)}" would be a second budget for '
                    "it: name that source, or put other data into a new "
                    f"{'folder' if is_new else 'file'}."
                )
        for name, one in doubtful.items():
            if name not in sure and given != names.key(name):
                raise PrivacyRefusal(
                    f"{shown(one.path or 'the file', 120)} has the number on the disk of a file "
                    f'that was released as source "{name}": name that source if these are the '
                    "same data, renamed or changed; otherwise write the data to a new file."
                )
        asked = names.key(proposed) if given is None and proposed else given
        for name in same:
            if name not in sure and asked != names.key(name):
                if sure:
                    raise PrivacyRefusal(
                        f"this file was released as source {listed(sure)}, and its bytes as "
                        f'source "{name}": put these data into a new file, and name source '
                        f'"{name}" for it.'
                    )
                raise PrivacyRefusal(
                    "this file has the same bytes as a file that was released as source "
                    f'"{name}", so another name would be a second budget for them: name that '
                    "source."
                )
        if source is None and not sure:
            for one in origins:
                path = next((path for path in self.paths if _alike(one.path, path)), "")
                if path and (not proposed or names.key(proposed) != names.key(self.paths[path])):
                    name = os.path.basename(path)
                    like = f"is called like {shown(name)} except for a number, a format or the "
                    like += "mark of a copy, and that file"
                    if name == os.path.basename(one.path):
                        like = "has the same name as a file that"
                    raise PrivacyRefusal(
                        f"{shown(one.path, 120)} {like} was released as source "
                        f'"{self.paths[path]}": name that source for copies, parts and '
                        "versions of the same data, otherwise name a new source."
                    )
        return next(iter(sure or doubtful or same), None)

    def account(self, name: str) -> Account:
        """Account of a source; ``name`` is the spelling with which it was opened."""
        total, spent = self.totals[name], self.spent[name]
        return Account(
            id=name,
            total=total / MICRO,
            spent=spent / MICRO,
            remaining=(total - spent) / MICRO,
            entries=tuple(entry for entry in self.entries if entry.source == name),
        )


def _alike(one: str, other: str) -> bool:
    """Whether two paths may be versions of one table; the name of an upload has no folder."""
    if not os.path.dirname(one) or not os.path.dirname(other):
        one, other = os.path.basename(one), os.path.basename(other)
    return bool(one and other) and _kind(one) == _kind(other)


def _kind(path: str) -> str:
    """Key that is equal for all parts, years, formats and copies of one table in a folder."""
    folder, name = os.path.split(path)
    before = ""
    while name != before:
        before, name = name, _COPY.sub("", names.without_format(name)) or name
    return os.path.join(folder, re.sub("[0-9]+", "0", name).casefold())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

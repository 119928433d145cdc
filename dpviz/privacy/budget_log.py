"""What a budget file says: sources, debits, and the chain of records that holds them.

Epsilon is counted in whole micro-epsilon, 1e-6, from the debit to the sum: what is granted is
what was asked for, rounded down, and the release runs with that. The numbers that leave this
module are the decimals of those whole numbers; a float has digits enough for them, so nothing is
lost on the way back.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from dpviz.errors import InputError, PrivacyRefusal, check_number
from dpviz.privacy import names

State = Literal["debited", "released"]

#: Micro-epsilon in an epsilon of 1.
MICRO = 10**6

#: Tells our files from other programs' databases ("dpvb"). Version 1 had a table of sources and
#: one of entries, in parts of 1e-12.
APPLICATION, VERSION = 0x64707662, 2

_OLD_PARTS = 10**6  # of version 1, in one micro-epsilon

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

_RECORDS = "SELECT number, kind, source, amount, text, time, hash FROM log ORDER BY number"


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
        if micro("epsilon", epsilon) > round(self.remaining * MICRO):
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
    return micro("epsilon", epsilon) / MICRO


def decimal(epsilon: float) -> str:
    """Epsilon for people: all its digits, and no exponent."""
    return f"{Decimal(repr(float(epsilon))).normalize():f}"


def micro(name: str, value: object) -> int:
    """Return epsilon in whole micro-epsilon, rounded down, or raise InputError."""
    number = check_number(name, value)
    if not 1e-6 <= number <= 1e6:  # also where it is not a number
        raise InputError(
            f"{name} = {number:g} is no usable privacy budget: give a number from 0.000001 to "
            "1,000,000."
        )
    # The decimal that was typed, not the binary fraction beside it.
    return int(Decimal(repr(number)) * MICRO)


class DamagedError(Exception):
    """What the file holds is not what this module wrote; says so, to follow the file's name."""


@dataclass
class Log:
    """Records of a file, and what they add up to.

    A record is a number from 1, a kind, a source, an amount, a text, a time, and the hash of all
    these and of the record before. Kinds: ``file`` (the first: a text of its own), ``opened``
    (a source with a total), ``debited`` (epsilon, parameters) and ``released`` (of which debit).
    """

    connection: sqlite3.Connection
    #: How many records were read; what is beyond is new.
    stored: int = 0
    hashes: list[str] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    @classmethod
    def begun(cls, connection: sqlite3.Connection, text: str, moment: str | None = None) -> Log:
        """Begin the log of a file, which the text tells from others."""
        for statement in _SCHEMA:
            connection.execute(statement)
        log = cls(connection)
        log.append("file", "", 0, text, moment)
        return log

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> Log:
        """Read all records; raises DamagedError where they are not those that were written."""
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


def take_over(connection: sqlite3.Connection) -> None:
    """Make a log of what version 1 wrote, in its finer parts; no budget comes back by rounding.

    The spends of a source are rounded up as they add up, its total down; where that would be
    less than was spent already, it is what was spent. So no more remains than there was, and
    less by under two micro-epsilon. Raises DamagedError.
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
        amounts = []
        for _, key, parts, *_ in entries:
            before, spent[key] = spent[key], spent[key] + parts
            amounts.append(_rounded_up(spent[key]) - _rounded_up(before))
        # Named by its beginning: an older copy, taken over later, is so known to be one.
        text = f"version 1: {json.dumps(sources[0])}" if sources else secrets.token_hex(16)
        for table in ("entries", "sources"):
            connection.execute(f"DROP TABLE {table}")
        log = Log.begun(connection, text, sources[0][3] if sources else None)
        for key, name, total, created in sources:
            if not 0 <= spent[key] <= total:
                raise ValueError
            whole = max(total // _OLD_PARTS, _rounded_up(spent[key]))
            log.append("opened", name, whole, moment=created)
        typed = {key: name for key, name, *_ in sources}
        for (number, key, _, text, state, moment), amount in zip(entries, amounts, strict=True):
            log.append("debited", typed[key], amount, text, moment)
            if state == "released":
                log.append("released", typed[key], number, moment=moment)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise DamagedError("is damaged") from None


def _rounded_up(parts: int) -> int:
    """Parts of version 1 in whole micro-epsilon."""
    return -(-parts // _OLD_PARTS)


def _now() -> str:
    """Time in UTC to the second, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")

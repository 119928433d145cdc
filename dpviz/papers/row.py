"""One row of the table of the papers: a statement of a paper, our result, and the difference."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

import numpy as np

from dpviz.families import FAMILIES

#: Files of rows, one per paper, and file of measured numbers, which
#: ``python -m tests.benchmarks.papers`` writes.
FILES = sorted(Path(__file__).parent.glob("[0-9]*.toml"))
MEASURED = Path(__file__).with_name("measured.json")

State = Literal["as printed", "close", "differs", "not possible"]

STATES: tuple[State, ...] = get_args(State)

Kind = Literal["algorithm", "theorem", "definition", "setting", "figure", "table", "number"]

#: By chance, two results differ by more than this number of standard errors in 1 of 370 cases.
ERRORS = 3.0

#: A number is close to the printed number if the relative difference is at most this.
CLOSE = 0.1


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: its number in our collection, and its citation."""

    number: str
    short: str
    authors: str
    year: int
    title: str
    venue: str
    note: str = ""


@dataclass(frozen=True)
class Link:
    """A page of the app with its settings: ``Link("compare", {"preset": "000-6"})``."""

    page: str
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """Address relative to another page."""
        # The page of the first family is the start page, which has no path.
        path = "" if self.page == next(iter(FAMILIES)) else self.page
        return f"./{path}?{urlencode(self.query)}" if self.query else f"./{path}"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measured number.

    Parameters
    ----------
    value
        The number.
    sd
        Standard deviation of a single draw; 0 for an exact number; None for a bound that increases
        with the number of runs.
    draws
        Number of draws that the number was computed from.
    how
        Readable data, seeds and settings.
    values
        Values of the draws, if the number is their mean.
    interval
        Ends of the confidence interval, if it can't be computed from the draws.
    """

    value: float
    sd: float | None = 0.0
    draws: int = 1
    how: str = ""
    values: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None

    @classmethod
    def mean(cls, values: Sequence[float], how: str) -> Measured:
        """Mean of draws, with their standard deviation."""
        array = np.asarray(values, dtype=float)
        return cls(
            value=float(array.mean()),
            sd=float(array.std(ddof=1)) if array.size > 1 else 0.0,
            draws=array.size,
            how=how,
            values=tuple(array.tolist()),
        )

    @property
    def error(self) -> float:
        """Standard error of the number."""
        return (self.sd or 0.0) / math.sqrt(self.draws)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The range in which a measured number must be, according to the paper's statement.

    Parameters
    ----------
    low, high
        Ends of the range; if the paper prints a number, both ends are this number.
    averaged
        Number of draws if the paper's number is an average, which has a standard error, too.
    """

    low: float = -math.inf
    high: float = math.inf
    averaged: int = 0

    @property
    def prints_number(self) -> bool:
        """Whether the paper prints a number, not a limit."""
        return self.low == self.high

    def distance(self, found: Measured) -> float:
        """Signed distance of the measured number from the range; 0 inside the range."""
        if found.value < self.low:
            return found.value - self.low
        return max(found.value - self.high, 0.0)

    def tolerance(self, found: Measured) -> float:
        """Distance that chance explains: three standard errors of both numbers together."""
        theirs = 1 / self.averaged if self.averaged else 0.0
        return ERRORS * (found.sd or 0.0) * math.sqrt(theirs + 1 / found.draws)

    def judge(self, found: Measured) -> State:
        """Compare a measured number with the paper.

        A printed number is confirmed if chance explains the distance; it is close if the distance
        is at most a tenth of the number. A limit is confirmed if the measured number is within the
        limit; it is close if chance explains the distance.
        """
        distance = abs(self.distance(found))
        by_chance = distance <= self.tolerance(found) + 1e-9
        if distance == 0 or (self.prints_number and by_chance):
            return "as printed"
        if by_chance or (self.prints_number and distance <= CLOSE * abs(self.low)):
            return "close"
        return "differs"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One statement of a paper and our result: a table of the paper's TOML file.

    Parameters
    ----------
    name
        Unique key: number of the paper and a word.
    place
        Place in the paper.
    kind
        Kind of statement.
    what
        Short name of the subject.
    printed
        The paper's statement, in our words.
    where
        Module, or attribute of a module, that implements it; empty if there is none.
    link
        Page of the app that shows it; in the file ``page?name=value&name=value``.
    claim
        Claim about a number. Its keys in the file are ``number``, or ``at_least`` or ``at_most`` or
        both, and ``averaged``. A row without a claim has its state in ``declared``.
    measure, given
        Function that measures the number, and its arguments. ``chen.bound`` is the function
        ``bound`` in ``tests/benchmarks/papers/chen.py``.
    shown_as
        Format of the measured number; ``value`` is the number.
    slow
        Whether the measurement takes too long for a test.
    why
        One sentence: the reason why the result differs or can't be checked.
    """

    name: str
    place: str
    kind: Kind
    what: str
    printed: str
    where: str = ""
    link: Link | None = None
    claim: Claim | None = None
    measure: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    shown_as: str = ""
    slow: bool = False
    declared: State | None = None
    why: str = ""

    @property
    def paper(self) -> str:
        """Number of the paper."""
        return self.name.partition("-")[0]

    @property
    def measured(self) -> Measured | None:
        """The stored measurement, if the row has one."""
        return stored().get(self.name) if self.claim else None

    @property
    def state(self) -> State:
        """Agreement of the stored measurement with the paper."""
        if self.claim is None:
            return self.declared or "not possible"
        found = self.measured
        return "not possible" if found is None else self.claim.judge(found)

    @property
    def outcome(self) -> str:
        """Readable result."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        text = self.shown_as.format(value=found.value + 0.0)
        return f"{text} ± {found.error:.2g}" if found.sd and self.claim.prints_number else text

    @property
    def difference(self) -> str:
        """Readable distance from the paper's range, with the distance that chance explains."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        distance, tolerance = self.claim.distance(found), self.claim.tolerance(found)
        if not distance:
            return "none"
        return f"{distance:+.3g}" + (f" (chance: {tolerance:.2g})" if tolerance else "")


# -- the files -----------------------------------------------------------------------------

#: Default formats of the number, by the key of the claim.
_SHOWN_AS = {
    "number": "{value:.6g}",
    "at_most": "at most {value:.3g}",
    "at_least": "at least {value:.3g}",
}


def read_paper(file: Path) -> tuple[Paper, list[Row]]:
    """Read a paper and its rows."""
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    paper = Paper(**tables.pop("paper"))
    return paper, [_row(name, table) for name, table in tables.items()]


def _row(name: str, table: dict[str, Any]) -> Row:
    try:
        if "link" in table:
            page, _, query = table["link"].partition("?")
            table["link"] = Link(page, dict(parse_qsl(query)))
        if "claim" in table:
            says = next(one for one in _SHOWN_AS if one in table["claim"])
            table.setdefault("shown_as", _SHOWN_AS[says])
            table["claim"] = _claim(**table["claim"])
        return Row(name=name, **table)
    except (StopIteration, TypeError) as error:
        error.add_note(f"This is in the row {name}.")
        raise


def _claim(
    number: float | None = None,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    averaged: int = 0,
) -> Claim:
    if number is not None:
        at_least = at_most = number
    return Claim(low=at_least, high=at_most, averaged=averaged)


def read_measured(entry: Mapping[str, Any]) -> Measured:
    """Read an entry of the file, which has all draws, or their mean and standard deviation."""
    if "values" in entry:
        return Measured.mean(**entry)
    interval = entry.get("interval")
    return Measured(**{**entry, "interval": tuple(interval) if interval else None})


@cache
def stored() -> dict[str, Measured]:
    """All stored measurements, by the name of the row."""
    if not MEASURED.exists():
        return {}
    entries = json.loads(MEASURED.read_text(encoding="utf-8"))
    return {name: read_measured(entry) for name, entry in entries.items()}

"""One row of the table of the papers: what a paper says, what comes out here, how far apart."""

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

#: The rows, one file a paper, and their measured numbers: ``python -m tests.benchmarks.papers``.
FILES = sorted(Path(__file__).parent.glob("[0-9]*.toml"))
MEASURED = Path(__file__).with_name("measured.json")

State = Literal["as printed", "close", "differs", "not possible"]

STATES: tuple[State, ...] = get_args(State)

Kind = Literal["algorithm", "theorem", "definition", "setting", "figure", "table", "number"]

#: Two results differ by chance by more than this many standard errors in 1 of 370 cases.
ERRORS = 3.0

#: A number of another size than printed is close if it differs by no more than this share.
CLOSE = 0.1


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: its number in our collection, and what to cite."""

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
        """Address relative to that of another page."""
        # The app opens with the page of the first family, which has no path.
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
        Standard deviation of a single draw, 0 for an exact number; None for a bound that rises
        with the number of runs.
    draws
        Draws behind the number.
    how
        Data, seeds and settings, for people.
    values
        The draws themselves, where the number is their mean.
    interval
        Ends of the confidence interval, where the draws alone don't give it.
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
    """What the paper's statement means for a measured number.

    Parameters
    ----------
    low, high
        The paper's number lies between them; both are the number itself if it prints one.
    averaged
        Draws behind the paper's number if it is an average: then it has an error, too.
    """

    low: float = -math.inf
    high: float = math.inf
    averaged: int = 0

    @property
    def prints_number(self) -> bool:
        """Whether the paper prints a number and not a limit."""
        return self.low == self.high

    def distance(self, found: Measured) -> float:
        """Signed distance of the measured number from what the paper allows; 0 inside."""
        if found.value < self.low:
            return found.value - self.low
        return max(found.value - self.high, 0.0)

    def tolerance(self, found: Measured) -> float:
        """Distance that chance explains: three standard errors of both numbers together."""
        theirs = 1 / self.averaged if self.averaged else 0.0
        return ERRORS * (found.sd or 0.0) * math.sqrt(theirs + 1 / found.draws)

    def judge(self, found: Measured) -> State:
        """Compare a measured number with the paper.

        A printed number comes out if chance explains the distance, and is close up to a tenth of
        its size. A limit must be kept by the measured number itself; it is close if chance
        explains the distance.
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
    """One statement of a paper, and what became of it: a table of the paper's TOML file.

    Parameters
    ----------
    name
        Key, unique in the whole table: number of the paper and a word.
    place
        Where it is printed.
    kind
        What it is.
    what
        The subject, in a few words.
    printed
        What the paper says, in our words.
    where
        Module, or attribute of a module, that holds it here; empty where nothing does.
    link
        Page that shows it; in the file ``page?name=value&name=value``.
    claim
        What the statement means for a number; in the file ``number``, or ``at_least`` or
        ``at_most`` or both, and ``averaged``. A row without one differs or is not possible, and
        ``declared`` says which.
    measure, given
        Function that measures the number, ``chen.bound`` for that of
        ``tests/benchmarks/papers/chen.py``, and its arguments.
    shown_as
        Format of the measured number for people: ``value`` is the number.
    slow
        Whether it takes too long to be measured again in a test.
    why
        One sentence: why it differs or can't be checked.
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
        """Whether it comes out, by the stored measurement."""
        if self.claim is None:
            return self.declared or "not possible"
        found = self.measured
        return "not possible" if found is None else self.claim.judge(found)

    @property
    def outcome(self) -> str:
        """What comes out, for people."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        text = self.shown_as.format(value=found.value + 0.0)
        return f"{text} ± {found.error:.2g}" if found.sd and self.claim.prints_number else text

    @property
    def difference(self) -> str:
        """How far apart, for people; with the distance that chance explains."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        distance, tolerance = self.claim.distance(found), self.claim.tolerance(found)
        if not distance:
            return "none"
        return f"{distance:+.3g}" + (f" (chance: {tolerance:.2g})" if tolerance else "")


# -- the files -----------------------------------------------------------------------------

#: Format of the number where the row gives none, by what the claim says.
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
    """Row of a table in a file."""
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
    """Claim of a number, or of one limit or both."""
    if number is not None:
        at_least = at_most = number
    return Claim(low=at_least, high=at_most, averaged=averaged)


def read_measured(entry: Mapping[str, Any]) -> Measured:
    """Measured number of an entry in the file: of its draws, or of their mean and spread."""
    if "values" in entry:
        return Measured.mean(**entry)
    interval = entry.get("interval")
    return Measured(**{**entry, "interval": tuple(interval) if interval else None})


@cache
def stored() -> dict[str, Measured]:
    """All stored measurements by the name of their row."""
    if not MEASURED.exists():
        return {}
    entries = json.loads(MEASURED.read_text(encoding="utf-8"))
    return {name: read_measured(entry) for name, entry in entries.items()}

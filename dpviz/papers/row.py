"""One row of the table of the papers: what a paper says, what comes out here, how far apart."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import urlencode

from dpviz.families import FAMILIES
from dpviz.papers.lab import Lab, Measured

#: File of the measured numbers; ``python -m tests.benchmarks.papers`` measures them again.
FILE = Path(__file__).with_name("measured.json")

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
class Check:
    """What the paper's statement means for a measured number, and how to measure it.

    Parameters
    ----------
    measure
        Measures the number with the reference data of a lab.
    low, high
        The paper's number lies between them; both are the number itself if it prints one.
    averaged
        Draws behind the paper's number if it is an average: then it has an error, too.
    outcome
        Format of the measured number for people; ``value`` is the number.
    slow
        Whether it takes too long to be measured again in a test.
    """

    measure: Callable[[Lab], Measured]
    low: float = -math.inf
    high: float = math.inf
    averaged: int = 0
    outcome: str = "{value:.3g}"
    slow: bool = False

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
    """One statement of a paper, and what became of it.

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
        Page that shows it.
    check
        How it is measured. A row without one differs or is not possible, and ``declared`` says
        which.
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
    check: Check | None = None
    declared: State | None = None
    why: str = ""

    @property
    def paper(self) -> str:
        """Number of the paper."""
        return self.name.partition("-")[0]

    @property
    def measured(self) -> Measured | None:
        """The stored measurement, if the row has one."""
        return stored().get(self.name) if self.check else None

    @property
    def state(self) -> State:
        """Whether it comes out, by the stored measurement."""
        if self.check is None:
            return self.declared or "not possible"
        found = self.measured
        return "not possible" if found is None else self.check.judge(found)

    @property
    def outcome(self) -> str:
        """What comes out, for people."""
        found = self.measured
        if self.check is None or found is None:
            return ""
        text = self.check.outcome.format(value=found.value + 0.0)
        return f"{text} ± {found.error:.2g}" if found.sd and self.check.prints_number else text

    @property
    def difference(self) -> str:
        """How far apart, for people; with the distance that chance explains."""
        found = self.measured
        if self.check is None or found is None:
            return ""
        distance, tolerance = self.check.distance(found), self.check.tolerance(found)
        if not distance:
            return "none"
        return f"{distance:+.3g}" + (f" (chance: {tolerance:.2g})" if tolerance else "")


def as_measured(entry: Mapping[str, object]) -> Measured:
    """Measured number from its entry in the file."""
    return Measured(**entry)  # type: ignore[arg-type]


@cache
def stored() -> dict[str, Measured]:
    """All stored measurements by the name of their row."""
    if not FILE.exists():
        return {}
    entries = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: as_measured(entry) for name, entry in entries.items()}


# -- short forms of checks -----------------------------------------------------------------

Measure = Callable[[Lab], Measured]


def number(value: float, measure: Measure, *, averaged: int = 0, outcome: str = "") -> Check:
    """Check of a printed number; of an average where ``averaged`` draws are behind it."""
    return Check(
        measure=measure,
        low=value,
        high=value,
        averaged=averaged,
        outcome=outcome or "{value:.6g}",
    )


def at_most(value: float, measure: Measure, outcome: str = "at most {value:.3g}") -> Check:
    """Check of an upper limit."""
    return Check(measure=measure, high=value, outcome=outcome)


def at_least(value: float, measure: Measure, outcome: str = "at least {value:.3g}") -> Check:
    """Check of a lower limit."""
    return Check(measure=measure, low=value, outcome=outcome)


def nothing_differs(measure: Measure, of: str) -> Check:
    """Check of a definition or algorithm: cases in which a plain form of it disagrees."""
    return Check(measure=measure, low=0, high=0, outcome=f"{{value:.0f}} of {of} differ")


def private(method: str, variant: str, scenario: str, runs: int, *, quick: bool = False) -> Check:
    """Check of a privacy claim by an audit: no loss above the claim of 1 may be found."""
    check = at_most(
        1.0, lambda lab: lab.loss(method, variant, scenario, runs), "loss of at least {value:.2f}"
    )
    return check if quick else slow(check)


def slow(check: Check) -> Check:
    """The same check, too slow for a test."""
    return replace(check, slow=True)

"""One row of the table of the papers: what a paper says, what comes out here, how far apart."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

from dpviz.families import FAMILIES

#: The rows, one file a paper, and their numbers beside it: ``python -m tests.benchmarks.papers``.
FILES = sorted(Path(__file__).parent.glob("[0-9]*.toml"))
MEASURED = {file.name[:3]: file.with_suffix(".json") for file in FILES}

State = Literal[
    "as printed", "close", "can't tell", "differs", "arithmetic", "not at hand", "not possible"
]

STATES: tuple[State, ...] = get_args(State)

Kind = Literal["algorithm", "theorem", "definition", "setting", "figure", "table", "number"]

#: Confidence of the interval of a measured number, and its ends in standard errors.
CONFIDENCE, ERRORS = 0.99, 2.576

#: Share of a number by which floating-point results of the same formula may differ.
_EXACT = 1e-9


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
    interval
        Ends of its confidence interval (``CONFIDENCE``): both are the value where it is exact;
        infinity where only a bound is measured.
    error
        Standard error of the number, 0 where it has none.
    draws
        Draws behind the number.
    how
        Data, seeds and settings, for people.
    """

    value: float
    interval: tuple[float, float]
    error: float = 0.0
    draws: int = 1
    how: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the paper's statement means for a measured number.

    Parameters
    ----------
    low, high
        The paper's number lies between them; both are the number itself if it prints one.
    within
        How far the number may be from these ends by the paper's own rounding, or by what the row
        calls equal.
    averaged
        Draws behind the paper's number if it is an average: then it has an error, too.
    margin
        How much further the number may be and still count as close; ``why`` gives the reason.
    """

    low: float = -math.inf
    high: float = math.inf
    within: float = 0.0
    averaged: int = 0
    margin: float = 0.0

    @property
    def prints_number(self) -> bool:
        """Whether the paper prints a number and not a limit."""
        return self.low == self.high

    def distance(self, found: Measured) -> float:
        """Signed distance of the measured number from what the paper allows; 0 inside."""
        if found.value < self.low:
            return found.value - self.low
        return max(found.value - self.high, 0.0)

    def ends(self, found: Measured) -> tuple[float, float]:
        """Ends of what the paper allows, with its rounding and the error of its own average."""
        single = found.error * math.sqrt(found.draws)
        theirs = ERRORS * single / math.sqrt(self.averaged) if self.averaged else 0.0
        more = self.within + theirs + _EXACT * max(abs(found.value), 1.0)
        return self.low - more, self.high + more

    def judge(self, found: Measured) -> State:
        """Compare the confidence interval of a number with what the paper allows.

        It comes out if the whole interval is allowed, is close if the whole interval is allowed or
        within the margin, and differs if no number of the interval is allowed. Otherwise the draws
        do not tell.
        """
        low, high = found.interval
        least, most = self.ends(found)
        if least <= low and high <= most:
            return "as printed"
        if self.margin and least - self.margin <= low and high <= most + self.margin:
            return "close"
        if high < least or low > most:
            return "differs"
        return "can't tell"

    def draws_to_tell(self, found: Measured) -> float:
        """Number of draws whose interval would decide; infinity where none does."""
        width = found.interval[1] - found.interval[0]
        ends = [one for one in self.ends(found) if math.isfinite(one)]
        nearest = min(abs(found.value - one) for one in ends)
        if not nearest or not math.isfinite(width):
            return math.inf
        return found.draws * (width / 2 / nearest) ** 2


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
        ``at_most`` or both, and ``within``, ``averaged`` and ``margin``. A row without one has the
        state that ``declared`` says, and is never as printed.
    measure, given
        Function that measures the number, ``chen.bound`` for that of
        ``tests/benchmarks/papers/chen.py``, and its arguments.
    shown_as
        Format of the measured number for people: ``value`` is the number.
    proof
        Page of the documentation with a proof of the claim, where a measurement may refute it and
        not confirm it; without a refutation the row is then as printed.
    slow
        Whether it takes too long to be measured again in a test.
    why
        One sentence: why it is not as printed.
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
    proof: str = ""
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
        if found is None:
            return "not possible"
        state = self.claim.judge(found)
        return "as printed" if self.proof and state == "can't tell" else state

    @property
    def outcome(self) -> str:
        """What comes out, for people."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        text = self.shown_as.format(value=found.value + 0.0)
        low, high = found.interval
        is_exact = low == high or not math.isfinite(high - low)
        return text if is_exact else f"{text} (99%: {low + 0.0:.3g} to {high + 0.0:.3g})"

    @property
    def difference(self) -> str:
        """How far apart, for people; where the draws do not tell, how many would."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        distance = self.claim.distance(found)
        text = f"{distance:+.3g}" if distance else "none"
        if self.state != "can't tell":
            return text
        many = self.claim.draws_to_tell(found)
        if not math.isfinite(many):
            return f"{text}; no number of draws would tell"
        return f"{text}; about {float(f'{many:.2g}'):,.0f} draws would tell"


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
    **more: Any,
) -> Claim:
    """Claim of a number, or of one limit or both."""
    if number is not None:
        at_least = at_most = number
    return Claim(low=at_least, high=at_most, **more)


def read_measured(entry: Mapping[str, Any]) -> Measured:
    """Measured number of an entry in the file, where null is an infinite end."""
    low, high = entry.get("interval", (entry["value"], entry["value"]))
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return Measured(**{**entry, "interval": (low, high)})


@cache
def stored() -> dict[str, Measured]:
    """All stored measurements by the name of their row."""
    texts = [file.read_text(encoding="utf-8") for file in MEASURED.values() if file.exists()]
    entries = {name: one for text in texts for name, one in json.loads(text).items()}
    return {name: read_measured(entry) for name, entry in entries.items()}

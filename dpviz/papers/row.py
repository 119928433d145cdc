"""One row of the table of the papers: a statement of a paper, our result, and the difference."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

from dpviz.base.numbers import readable
from dpviz.base.tables import read_table_file
from dpviz.families import FAMILIES

#: Files of rows, one per paper. ``python -m tests.benchmarks.papers`` writes the numbers.
FILES = sorted(Path(__file__).parent.glob("[0-9]*.toml"))
MEASURED = {file.name[:3]: file.with_suffix(".json") for file in FILES}

State = Literal[
    "as printed",
    "close",
    "can't tell",
    "differs",
    "says nothing",
    "arithmetic",
    "not at hand",
    "not possible",
]

STATES: tuple[State, ...] = get_args(State)

Kind = Literal["algorithm", "theorem", "definition", "setting", "figure", "table", "number"]

#: What a row is evidence for. Only results can confirm or refute a paper.
Evidence = Literal["result", "proof", "code", "data", "text"]

#: Title of each kind of evidence, and what it shows.
EVIDENCE: dict[Evidence, tuple[str, str]] = read_table_file(
    Path(__file__).with_name("evidence.toml"), Mapping[str, tuple[str, ...]]
)

#: Evidence of a measured row, if the row does not name another kind.
_USUAL: dict[Kind, Evidence] = {
    "algorithm": "code", "definition": "code", "setting": "code", "table": "data",
    "theorem": "result", "figure": "result", "number": "result",
}  # fmt: skip

#: Confidence of the interval of a measured number, and its ends in standard errors.
CONFIDENCE, ERRORS = 0.99, 2.576

#: Share of a number by which floating-point results of the same formula may differ.
_EXACT = 1e-9


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
    """A measured number with a confidence interval; for an exact number, both ends are the value.

    If an end is infinite, only a bound is measured. ``how``: data, seeds and settings.
    """

    value: float
    interval: tuple[float, float]
    error: float = 0.0
    draws: int = 1
    how: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The range in which a measured number must be, according to the paper's statement.

    ``rounding``: half a unit of the last digit that the paper prints. Two other differences are
    "close" at best: the error of the paper's average of ``averaged`` draws, and the ``margin`` that
    we allow (reason: ``why``).
    """

    low: float = -math.inf
    high: float = math.inf
    rounding: float = 0.0
    averaged: int = 0
    margin: float = 0.0

    def distance(self, found: Measured) -> float:
        """Signed distance of the measured number from the range; 0 inside the range."""
        if found.value < self.low:
            return found.value - self.low
        return max(found.value - self.high, 0.0)

    def ends(self, found: Measured) -> tuple[float, float]:
        """Ends of the paper's range, with the rounding of its digits."""
        more = self.rounding + _EXACT * max(abs(found.value), 1.0)
        return self.low - more, self.high + more

    def theirs(self, found: Measured) -> float:
        """Error of the paper's average, at our confidence, from the scatter of our draws."""
        if not self.averaged:
            return 0.0
        return ERRORS * found.error * math.sqrt(found.draws / self.averaged)

    def is_vague(self, found: Measured) -> bool:
        """Whether the paper's average says nothing, since its error is as large as itself."""
        return self.averaged > 0 and self.theirs(found) >= abs(self.low)

    def judge(self, found: Measured) -> State:
        """Compare the confidence interval of a number with the paper's range.

        As printed: the whole interval is in the range. Close: it is in the range with the margin
        and the error of the paper's average, unless this error is as large as the average. Differs:
        they have no number in common, also with this error. Otherwise the draws can't tell. So a
        wider interval never gets a better verdict.
        """
        low, high = found.interval
        least, most = self.ends(found)
        theirs = self.theirs(found)
        if least <= low and high <= most:
            return "as printed"
        more = self.margin + theirs
        if more > 0 and not self.is_vague(found) and least - more <= low and high <= most + more:
            return "close"
        if high < least - theirs or low > most + theirs:
            return "differs"
        return "can't tell"

    def draws_to_tell(self, found: Measured) -> float:
        """Number of draws that would decide the verdict; infinity if no number is enough."""
        width = found.interval[1] - found.interval[0]
        least, most = self.ends(found)
        theirs = self.theirs(found)
        ends = [one for one in (least - theirs, most + theirs) if math.isfinite(one)]
        nearest = min(abs(found.value - one) for one in ends)
        if not nearest or not math.isfinite(width) or self.is_vague(found):
            return math.inf
        return found.draws * (width / 2 / nearest) ** 2


def _spelled(text: str) -> str:
    return re.sub(r"\b\d[\d.]*e[+-]\d+", lambda one: readable(float(one[0])), text)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One statement of a paper and our result: a table of the paper's TOML file.

    ``name``: number of the paper and a word. ``place`` and ``printed``: the statement's place and
    text, in our words. ``where``: module or attribute that implements it. ``link``: page of the app
    (in the file: ``page?name=value``). ``claim``: ``number``, ``at_least`` or ``at_most`` in the
    file; without a claim, the state is ``declared``, never as printed. ``about``: evidence if it is
    not the usual kind. ``measure`` ("chen.bound" in ``tests/benchmarks/papers/chen.py``) takes
    ``given``. ``shown_as``: format of ``value``. ``condition``: if the claim does not hold, the
    statement is true, but says nothing. ``proof``: page with a proof, which a measurement can only
    refute. ``slow``: takes too long for a test. ``why``: reason why the result is not as printed.
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
    condition: bool = False
    proof: str = ""
    slow: bool = False
    declared: State | None = None
    about: Evidence | None = None
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
        if found is None:
            return "not possible"
        state = self.claim.judge(found)
        if self.condition and state == "differs":
            return "says nothing"
        return "as printed" if self.proof and state == "can't tell" else state

    @property
    def evidence(self) -> Evidence:
        """What the row is evidence for."""
        if self.claim is None:
            return "text"
        return "proof" if self.proof else self.about or _USUAL[self.kind]

    @property
    def needs(self) -> str:
        """Range in which the interval must be; empty for the printed number itself or a proof."""
        claim, found = self.claim, self.measured
        if claim is None or found is None or self.proof:
            return ""
        if claim.low == claim.high:
            text = f"{claim.low:.6g}"
        elif math.isfinite(claim.high - claim.low):
            text = f"{claim.low:.6g} to {claim.high:.6g}"
        else:
            at_least = math.isfinite(claim.low)
            text = f"at least {claim.low:.6g}" if at_least else f"at most {claim.high:.6g}"
        if claim.rounding:
            text += f" ± {claim.rounding:g} (printed digits)"
        if claim.averaged:
            error = f"{claim.theirs(found):.2g} (the paper's average of {claim.averaged} draws)"
            text += f". {'Known only to' if claim.is_vague(found) else 'Close:'} ± {error}"
        if claim.margin:
            text += f". Close: up to {claim.margin:g} away (our tolerance)"
        return "" if text == f"{claim.high:.6g}" else _spelled(text)

    @property
    def outcome(self) -> str:
        """Readable result."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        text = self.shown_as.format(value=found.value + 0.0)
        low, high = found.interval
        is_exact = low == high or not math.isfinite(high - low)
        return _spelled(text if is_exact else f"{text} (99%: {low + 0.0:.4g} to {high + 0.0:.4g})")

    @property
    def difference(self) -> str:
        """Readable difference; if the draws don't decide, also how many draws would decide."""
        found = self.measured
        if self.claim is None or found is None:
            return ""
        distance = self.claim.distance(found)
        text = _spelled(f"{distance:+.3g}") if distance else "none"
        if self.state != "can't tell":
            return text
        many = self.claim.draws_to_tell(found)
        if not math.isfinite(many):
            return f"{text}; no number of draws would decide"
        return f"{text}; about {float(f'{many:.2g}'):,.0f} draws would decide"


#: Default formats of the number, by the key of the claim.
_SHOWN_AS = {
    "number": "{value:.6g}",
    "at_most": "at most {value:.3g}",
    "at_least": "at least {value:.3g}",
}


def read_paper(file: Path) -> tuple[Paper, list[Row]]:
    """Read a paper and its rows."""
    tables = read_table_file(file, Any)
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
    number: float | None = None, at_least: float = -math.inf, at_most: float = math.inf, **more: Any
) -> Claim:
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

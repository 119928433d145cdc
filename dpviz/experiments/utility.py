"""The cost of soundness: scores of sound and published variants, from ``tests.benchmarks.utility``.

The sound variant runs on a declared domain, the published variant on the range of the data. To
separate the effects of mechanism and domain, the sound variant is also measured on the range. Each
run is compared with the noise-free clustering on the same domain (and grid); NICV differs between
domains, but the NICV ratio hardly differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpviz.base.errors import InputError
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import series
from dpviz.base.tables import read_rows
from dpviz.families import CARDS
from dpviz.family.parameter import check_option
from dpviz.metrics.bands import CONFIDENCE

FILE = Path(__file__).with_name("utility.json")

#: Scores for which lower values are better; the noise-free clustering has DSG_C 0 and NICV ratio 1.
LESS_IS_BETTER = {"dsg_c": "DSG_C", "nicv_ratio": "NICV ratio"}

SCORES = {**LESS_IS_BETTER, "f_measure": "F-measure"}

#: Budget of the results in the sentence.
BUDGET = 0.5

#: A difference is clear if its whole interval is beyond this share of the published median.
CLEAR = 0.2

Verdict = Literal["better", "worse", "not clear"]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median, and 5% and 95% quantile, of a score over the draws."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One score of both variants of a method, on one data set at one budget, with equal seeds.

    ``sound`` and ``published`` are on their usual domains, ``sound_on_range`` on the range of the
    data. ``difference``: median of sound minus published, draw by draw, and its 99% interval
    (:func:`dpviz.metrics.bands.sign_interval`). ``settings`` has the common settings, and each
    variant's own under its name; its ``true_clusters`` is what WaveCluster finds without noise.
    """

    method: str
    data: str
    title: str
    records: int
    score: str
    epsilon: float
    draws: int
    sound: Spread
    sound_on_range: Spread
    published: Spread
    difference: Spread
    settings: Mapping[str, Any]

    @property
    def verdict(self) -> Verdict:
        """Whether the sound variant is clearly better or worse than the published variant.

        Clearly: the whole interval of the difference is beyond ``CLEAR`` of the published median.
        """
        return self._beyond(CLEAR * abs(self.published.median))

    @property
    def side(self) -> Verdict:
        """Whether the sound variant is better or worse by any amount: the interval excludes 0."""
        return self._beyond(0.0)

    def _beyond(self, least: float) -> Verdict:
        if self.difference.low <= least and self.difference.high >= -least:
            return "not clear"
        less = self.difference.high < 0
        return "better" if less == (self.score in LESS_IS_BETTER) else "worse"

    @property
    def mostly_box(self) -> bool:
        """Whether the declared domain causes more of the difference than the mechanism."""
        on_range = self.sound_on_range.median
        return abs(self.sound.median - on_range) > abs(on_range - self.published.median)


def rows_about(method: str | None, path: Path, kind: Any) -> tuple[Any, ...]:
    """Return a file's rows about one method (None: all); InputError if it is unknown."""
    rows = read_rows(path, kind)
    if method is None:
        return rows
    check_option("method", method, CARDS)
    return tuple(row for row in rows if row.method == method)


def costs(method: str | None = None) -> tuple[Cost, ...]:
    """Return the results of one method, or of all; a method with one variant has no results."""
    return rows_about(method, FILE, Cost)


def frame(rows: Sequence[Cost]) -> pd.DataFrame:
    """Return the table of a plot, with a row for each result, variant and domain."""
    return pd.DataFrame(
        [
            {
                "method": CARDS[row.method].title,
                "data": row.title,
                "records": row.records,
                "score": SCORES[row.score],
                "epsilon": row.epsilon,
                "variant": variant,
                "domain": domain,
                "median": spread.median,
                "5%": spread.low,
                "95%": spread.high,
                "draws": row.draws,
            }
            for row in rows
            for variant, domain, spread in (
                ("sound", "declared", row.sound),
                ("sound", "range of the data", row.sound_on_range),
                ("published", "range of the data", row.published),
            )
        ]
    )


def sentence(method: str) -> str:
    """Return one sentence on the cost or gain of soundness; InputError for an unknown method."""
    rows = costs(method)
    if not rows:
        card = CARDS[method]
        why = "has only a sound variant" if card.spends else "spends no budget"
        return f"{card.title} {why}, so there is nothing to compare."
    return compared(rows)


def compared(rows: Sequence[Cost]) -> str:
    """Return one sentence on medians at ``BUDGET``; InputError if the rows lack this."""
    shown = [row for row in rows if row.score in LESS_IS_BETTER and row.epsilon == BUDGET]
    if not shown:
        raise InputError(
            f"rows hold no median of {' or '.join(LESS_IS_BETTER)} at epsilon = {BUDGET:g}: "
            "pass all rows of a method."
        )
    pairs = series(
        [f"{_shown(row.sound)} against {_shown(row.published)} on {row.title}" for row in shown]
    )
    clear = [
        f"{verdict}{cause} on {series(titles)}"
        for verdict in ("worse", "better")
        for cause, box in (("", False), (" mostly by the declared box", True))
        if (
            titles := [
                row.title for row in shown if row.verdict == verdict and row.mostly_box is box
            ]
        )
    ]
    verdict = (
        f"clearly {', '.join(clear)}"
        if clear
        else f"{shown[0].draws} draws are too few to show a difference of more than {CLEAR:.0%} "
        f"({CONFIDENCE:.0%} confidence); there may be such a difference"
    )
    for side in ("worse", "better"):
        if titles := [
            one.title for one in shown if one.verdict == "not clear" and one.side == side
        ]:
            verdict += f"; {side} on {series(titles)}, by an unclear amount"
    return (
        f"Sound against published at ε {BUDGET:g}, median {SCORES[shown[0].score]} (lower is "
        f"better): {pairs}; {verdict}."
    )


def _shown(spread: Spread) -> str:
    return f"{spread.median:,.0f}" if spread.median >= 1000 else f"{spread.median:.3g}"

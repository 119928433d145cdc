"""The cost of soundness: scores of sound and published variants.

The file ``utility.json`` contains the results; ``python -m tests.benchmarks.utility`` measures them
again. The sound variant, which has a proof, runs on a declared domain; the published variant runs
on the range of the data, as in the papers. The difference has two causes: the mechanism, and a
domain that is larger than the data (the records of Unbalance fill a thirteenth of their domain).
Therefore the sound variant is also measured on the range of the data; the remaining difference is
the cost of the mechanism. Each run is compared with the noise-free clustering on the same domain,
and for WaveCluster on the same grid. A domain rescales the axes, so NICV differs between the two
domains; the ratio of NICV to the noise-free optimum hardly differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from dpviz.base.errors import InputError
from dpviz.experiments.measured import rows_about
from dpviz.families import CARDS

FILE = Path(__file__).with_name("utility.json")

#: Scores for which lower values are better; the noise-free clustering has DSG_C 0 and NICV ratio 1.
LESS_IS_BETTER = {"dsg_c": "DSG_C", "nicv_ratio": "NICV ratio"}

#: Readable names of all scores.
SCORES = {**LESS_IS_BETTER, "f_measure": "F-measure"}

#: Budget of the results in the sentence.
BUDGET = 0.5

#: Two medians are similar if their relative difference is at most this number.
CLEAR = 0.2

Verdict = Literal["better", "worse", "alike"]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median, and 5% and 95% quantile, of a score over the draws."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One score of both variants of a method, on one data set at one budget.

    Parameters
    ----------
    data, title, records
        Data set: key, readable name, number of records.
    draws
        Number of runs of each variant; both variants have the same seeds.
    sound, published
        Score of each variant on its usual domain: declared, or the range of the data.
    sound_on_range
        Score of the sound variant on the range of the data.
    settings
        All other settings: common settings, and settings of one variant under ``"sound"`` or
        ``"published"``. ``domain`` is ``"data"`` for the range of the data; ``true_clusters`` is
        the number of clusters that WaveCluster finds without noise on that grid.
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
    settings: Mapping[str, Any]

    @property
    def verdict(self) -> Verdict:
        """Whether the sound variant is clearly better or worse than the published variant.

        The difference is clear if the medians differ by more than ``CLEAR``, and the sound median
        is outside the range from 5% to 95% of the published draws.
        """
        sound, published = self.sound.median, self.published
        difference = sound - published.median
        usual = published.low <= sound <= published.high
        if usual or abs(difference) <= CLEAR * abs(published.median):
            return "alike"
        return "better" if (difference < 0) == (self.score in LESS_IS_BETTER) else "worse"

    @property
    def mostly_box(self) -> bool:
        """Whether the declared domain causes more of the difference than the mechanism."""
        on_range = self.sound_on_range.median
        return abs(self.sound.median - on_range) > abs(on_range - self.published.median)


def costs(method: str | None = None) -> tuple[Cost, ...]:
    """Return the results of one method, or of all methods.

    The result is empty for a method that does not have two variants to compare. Raises InputError
    if no method of that name exists.
    """
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
    """Return one sentence on the cost or gain of soundness for a method.

    Raises InputError if no method of that name exists.
    """
    rows = costs(method)
    if not rows:
        card = CARDS[method]
        why = "is sound alone" if card.spends else "spends no budget"
        return f"{card.title} {why}, so there is nothing to compare."
    return compared(rows)


def compared(rows: Sequence[Cost]) -> str:
    """Return one sentence on a method's results: medians of its error at the budget ``BUDGET``.

    Raises InputError if the rows do not contain this median.
    """
    shown = [row for row in rows if row.score in LESS_IS_BETTER and row.epsilon == BUDGET]
    if not shown:
        raise InputError(
            f"rows hold no median of {' or '.join(LESS_IS_BETTER)} at epsilon = {BUDGET:g}: "
            "pass all rows of a method."
        )
    pairs = _listed(
        [f"{_shown(row.sound)} against {_shown(row.published)} on {row.title}" for row in shown]
    )
    clear = [
        f"{verdict}{cause} on {_listed(titles)}"
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
        else "the differences lie within the spread of the draws"
    )
    return (
        f"Sound against published at ε {BUDGET:g}, median {SCORES[shown[0].score]} (lower is "
        f"better): {pairs}; {verdict}."
    )


def _shown(spread: Spread) -> str:
    return f"{spread.median:,.0f}" if spread.median >= 1000 else f"{spread.median:.3g}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))

"""What soundness costs: scores of sound and published variants, measured side by side.

``utility.json`` beside this file holds the figures; ``python -m tests.benchmarks.utility``
measures them again. They compare a proven result with the method of the papers: the sound variant
on a declared domain, the published variant on the range of the data. The difference has two
costs: the mechanism, and a box larger than the data (the records of Unbalance fill a thirteenth
of theirs). So the sound variant is also measured on the range of the data; the remaining
difference is the cost of the mechanism. Each run is scored against the noise-free
clustering under its own domain, and for WaveCluster on its own grid. A domain stretches the
axes, so NICV itself differs between the two; its ratio to the noise-free optimum hardly does.
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

#: File of the figures.
FILE = Path(__file__).with_name("utility.json")

#: Scores in which less is better: the noise-free clustering has 0 and 1.
LESS_IS_BETTER = {"dsg_c": "DSG_C", "nicv_ratio": "NICV ratio"}

#: Names of all scores for people.
SCORES = {**LESS_IS_BETTER, "f_measure": "F-measure"}

#: Budget that the sentence is about.
BUDGET = 0.5

#: Two medians that differ by no more than this share are alike.
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
    """One score of a method on one data set at one budget, sound and published.

    Parameters
    ----------
    data, title, records
        Data set: key, name for people, number of records.
    draws
        Runs of each variant, with the same seeds.
    sound, published
        The score of each, as a person meets it.
    sound_on_range
        The score of the sound variant where the published one has its own: on the range of
        the data.
    settings
        All else that was chosen: what all share, and under ``"sound"`` and ``"published"``
        what each has of its own. ``domain`` is ``"data"`` for the range of the data;
        ``true_clusters`` counts those that WaveCluster finds without noise on that grid.
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
        """Whether the sound variant is clearly better or worse than the published one.

        It is if the medians differ by more than ``CLEAR`` and by more than the draws: the sound
        median lies outside the published 5% to 95%.
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
    """Return the measured figures, of one method or of all.

    Empty for a method that has no two variants to compare. Raises InputError where no method of
    that name exists.
    """
    return rows_about(method, FILE, Cost)


def frame(rows: Sequence[Cost]) -> pd.DataFrame:
    """Return figures as the table behind a picture: each has one row for each way to run it."""
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
    """Return one sentence on what soundness costs or gains for a method.

    Raises InputError where no method of that name exists.
    """
    rows = costs(method)
    if not rows:
        card = CARDS[method]
        why = "is sound alone" if card.spends else "spends no budget"
        return f"{card.title} {why}, so there is nothing to compare."
    return compared(rows)


def compared(rows: Sequence[Cost]) -> str:
    """Return one sentence on a method's figures: medians of its error at one budget.

    Raises InputError where no figure is one of these.
    """
    shown = [row for row in rows if row.score in LESS_IS_BETTER and row.epsilon == BUDGET]
    if not shown:
        raise InputError(
            f"rows hold no median of {' or '.join(LESS_IS_BETTER)} at epsilon = {BUDGET:g}: "
            "hand over all rows of a method."
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

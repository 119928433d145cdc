"""What each part of a method brings: scores of the whole method, and without one part.

``ablations.json`` beside this file holds the figures; ``python -m tests.benchmarks.ablation``
measures them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from dpviz.experiments.measured import rows_about
from dpviz.experiments.utility import SCORES, Spread

#: File of the figures.
FILE = Path(__file__).with_name("ablations.json")


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One score of a method on one data set at one budget, whole and without one part.

    Parameters
    ----------
    part, instead
        The part, and what takes its place, for people.
    score
        One of :data:`dpviz.experiments.utility.SCORES`, less being better.
    draws
        Runs of each, with the same seeds.
    whole, without
        The score of the method as it is, and without the part.
    """

    method: str
    part: str
    instead: str
    data: str
    score: str
    epsilon: float
    draws: int
    whole: Spread
    without: Spread

    @property
    def factor(self) -> float:
        """Median without the part over that of the whole method: above 1 the part helps."""
        return self.without.median / self.whole.median


def parts(method: str | None = None) -> tuple[Ablation, ...]:
    """Return the figures of a method, or all, in the order in which they were measured.

    Raises InputError if there is no method of this name.
    """
    return rows_about(method, FILE, Ablation)


def sentence(method: str) -> str:
    """Which part brings most, in one sentence."""
    row = max(parts(method), key=lambda row: row.factor)
    return (
        f"Most on {row.data} at ε = {row.epsilon:g}: {row.part.lower()}; with {row.instead} "
        f"{SCORES[row.score]} is {row.without.median:.3g} instead of {row.whole.median:.3g}."
    )


def frame(rows: Sequence[Ablation]) -> pd.DataFrame:
    """Return the figures as a table: one row each, spreads in columns of their own."""
    return pd.json_normalize([asdict(row) for row in rows], sep="_")

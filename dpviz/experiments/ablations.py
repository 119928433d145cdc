"""The benefit of each part of a method: scores of the method with and without this part.

The file ``ablations.json`` contains the results; ``python -m tests.benchmarks.ablation`` measures
them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from dpviz.experiments.measured import rows_about
from dpviz.experiments.utility import SCORES, Spread

FILE = Path(__file__).with_name("ablations.json")


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One score on one data set at one budget, of a whole method and without one part.

    Parameters
    ----------
    part, instead
        Readable names of the part and of its replacement.
    score
        One of :data:`dpviz.experiments.utility.SCORES` for which lower values are better.
    draws
        Number of runs with the part, and without it. Both groups of runs have the same seeds.
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
        """Median without the part / median of the whole method; the part helps if this is > 1."""
        return self.without.median / self.whole.median


def parts(method: str | None = None) -> tuple[Ablation, ...]:
    """Return the results of one method, or of all methods, in the order of measurement.

    Raises InputError if there is no method of this name.
    """
    return rows_about(method, FILE, Ablation)


def sentence(method: str) -> str:
    """Name the part that helps most, in one sentence."""
    row = max(parts(method), key=lambda row: row.factor)
    return (
        f"The largest gain is on {row.data} at ε = {row.epsilon:g}: {row.part.lower()}; with "
        f"{row.instead}, {SCORES[row.score]} is {row.without.median:.3g} instead of "
        f"{row.whole.median:.3g}."
    )


def frame(rows: Sequence[Ablation]) -> pd.DataFrame:
    """Return a table with one row per result; each value of a spread has its own column."""
    return pd.json_normalize([asdict(row) for row in rows], sep="_")

"""The benefit of each part of a method; ``tests.benchmarks.ablation`` makes ``ablations.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dpviz.base.lazy import pandas as pd
from dpviz.experiments.utility import SCORES, Spread, rows_about

FILE = Path(__file__).with_name("ablations.json")


@dataclass(frozen=True, kw_only=True)
class Ablation:
    """One score of a whole method, and of the method without one part, on one data set and budget.

    ``part`` and ``instead`` are readable names. Lower scores are better; both groups of ``draws``
    have the same seeds.
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
    """Return the results of one method, or of all methods; InputError if the method is unknown."""
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

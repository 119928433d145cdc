"""What a private choice of g and p, or of K, costs: measured beside the best choice in hindsight.

``prices.json`` beside this file holds the figures; ``python -m tests.benchmarks.choice`` measures
them again. Nobody has hindsight: the best g and p, or K, are those of many that score best on the
true records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from dpviz.base.tables import read_rows
from dpviz.families import CARDS, family_of

#: File of the figures.
FILE = Path(__file__).with_name("prices.json")

#: Scores, with their names for people; 1 is best.
SCORES = {
    "class_f": "F-measure with known classes",
    "class_ari": "ARI with known classes",
    "silhouette": "silhouette of the records",
    "exact": "draws with as many clusters as classes",
}


@dataclass(frozen=True, kw_only=True)
class Price:
    """One score of a method on one data set at one budget, for three ways to choose.

    Parameters
    ----------
    data, title, records
        Data set: key, name for people, number of records.
    seen
        Whether constants of the choice may have been chosen on it.
    score
        One of ``SCORES``, more being better.
    best, chosen, usual
        Mean score with the best choice in hindsight, the private choice, and the defaults.
    """

    method: str
    data: str
    title: str
    records: int
    seen: bool
    score: str
    epsilon: float
    best: float
    chosen: float
    usual: float


def prices() -> tuple[Price, ...]:
    """Return all figures."""
    return read_rows(FILE, Price)


def of_family(family: str) -> tuple[Price, ...]:
    """Return the figures of all methods of a family."""
    return tuple(row for row in prices() if CARDS[row.method].family == family)


def summary(rows: Sequence[Price]) -> pd.DataFrame:
    """Return the prices of methods of one family as percentages, one row for a method and score.

    A price is the mean score with a choice over that of the best choice in hindsight, both over
    all sets that have the score: 100% costs nothing.
    """
    ways = {"chosen": "chosen", "usual": _choices(rows)[1]}
    table = []
    for (method, score), own in frame(rows).groupby(["method", "score"], sort=False):
        means = own.groupby("epsilon")[["best", *ways]].mean()
        shown = {
            "method": CARDS[method].title,
            "score": SCORES[score],
            "sets": own["data"].nunique(),
        }
        for way, title in ways.items():
            for epsilon, price in (means[way] / means["best"]).items():
                shown[f"{title}, ε {epsilon:g}"] = f"{price:.0%}"
        table.append(shown)
    return pd.DataFrame(table)


def sentence(rows: Sequence[Price]) -> str:
    """Say what the prices of methods of one family are, and on how many sets, in one sentence."""
    what, usual = _choices(rows)
    sets = {row.data: row for row in rows}.values()
    records = [row.records for row in sets]
    seen = sum(row.seen for row in sets)
    return (
        f"Mean score with {what} chosen privately, and with {usual}, over that of the best {what} "
        f"in hindsight, which nobody has: {len(records)} sets of {min(records):,} to "
        f"{max(records):,} records. Constants may have been chosen on {seen or 'none'} of them."
    )


def frame(rows: Sequence[Price]) -> pd.DataFrame:
    """Return the figures as a table: one row each."""
    return pd.DataFrame([asdict(row) for row in rows])


def _choices(rows: Sequence[Price]) -> tuple[str, str]:
    """What a family chooses, and its defaults: "g and p" and "g 64, p 0.5"."""
    family = family_of(rows[0].method)
    chosen = [one for one in family.parameters if one.name in family.choosing]
    # Where no sign is given, the label ends with it.
    signs = [one.sign or one.label.split()[-1] for one in chosen]
    usual = [f"{sign} {one.default:g}" for sign, one in zip(signs, chosen, strict=True)]
    return " and ".join(signs), ", ".join(usual)

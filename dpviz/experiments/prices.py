"""The cost of a private choice of g and p, or of K, compared with the best choice in hindsight.

``tests.benchmarks.choice`` measures ``prices.json``. The best choice in hindsight is the tried
value with the best score on the true records; in practice nobody knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_rows
from dpviz.families import CARDS, family_of

FILE = Path(__file__).with_name("prices.json")

#: Scores with their readable names; 1 is best.
SCORES = {
    "class_f": "F-measure with known classes",
    "class_ari": "ARI with known classes",
    "silhouette": "silhouette of the records",
    "exact": "share of draws with K = number of classes",
}


@dataclass(frozen=True, kw_only=True)
class Price:
    """One score of a method on one data set at one budget, for three ways to choose parameters.

    ``best`` (in hindsight), ``chosen`` (privately) and ``usual`` (defaults) are mean scores; higher
    is better. ``seen``: constants of the choice may have been chosen on this set.
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
    """Return all results."""
    return read_rows(FILE, Price)


def of_family(family: str) -> tuple[Price, ...]:
    """Return the results of all methods of a family."""
    return tuple(row for row in prices() if CARDS[row.method].family == family)


def summary(rows: Sequence[Price]) -> pd.DataFrame:
    """Return the prices of methods of one family in percent: one row for each method and score.

    A price is the mean score with a choice divided by that with the best choice; 100% is no loss.
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
    """Explain the prices of methods of one family, and say how many sets were measured."""
    what, usual = _choices(rows)
    sets = {row.data: row for row in rows}.values()
    records = [row.records for row in sets]
    seen = sum(row.seen for row in sets)
    return (
        f"Mean score with {what} chosen privately, and with {usual}, divided by the mean score "
        f"with the best {what} in hindsight, which nobody knows in practice. Measured on "
        f"{len(records)} sets of {min(records):,} to {max(records):,} records; constants may have "
        f"been chosen on {seen or 'none'} of these sets."
    )


def frame(rows: Sequence[Price]) -> pd.DataFrame:
    """Return a table with one row per result."""
    return pd.DataFrame([asdict(row) for row in rows])


def _choices(rows: Sequence[Price]) -> tuple[str, str]:
    """Parameters that a family chooses, and their defaults: "g and p" and "g 64, p 0.5"."""
    family = family_of(rows[0].method)
    chosen = [one for one in family.parameters if one.name in family.choosing]
    # If a parameter has no sign, the last word of its label is used.
    signs = [one.sign or one.label.split()[-1] for one in chosen]
    usual = [f"{sign} {one.default:g}" for sign, one in zip(signs, chosen, strict=True)]
    return " and ".join(signs), ", ".join(usual)

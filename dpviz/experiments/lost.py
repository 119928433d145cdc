"""Benchmark cells (set and epsilon) that a method loses to a private method or a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_beside
from dpviz.experiments.benchmark import SetFacts, is_reference, promises_privacy


@dataclass(frozen=True, kw_only=True)
class _Reason:
    of: tuple[str, ...]
    why: str


_READ: dict[str, tuple[_Reason, ...]] = read_beside(__file__, Mapping[str, tuple[_Reason, ...]])

#: Reasons why the default method of a family loses cells, by (family, set or kind of set).
REASONS = {
    (family, name): one.why
    for family, reasons in _READ.items()
    for one in reasons
    for name in one.of
}

COLUMNS = ("data", "epsilon", "own", "low", "high", "rival", "variant", "best")


def lost(cells: pd.DataFrame, method: str, value: str, *, lower: bool) -> pd.DataFrame:
    """Return the cells that the sound variant of a method loses; equal values are not lost.

    ``cells`` has one score and one family; ``value`` is the column to compare. A row has the set,
    epsilon, own value with quantiles, and the best other method with its value.
    """
    kept = [
        is_reference(name) or promises_privacy(name, variant)
        for name, variant in zip(cells["method"], cells["variant"], strict=True)
    ]
    known = cells[np.array(kept, dtype=bool)]
    is_own = known["method"] == method
    own, others = known[is_own], known[~is_own]
    sign = 1 if lower else -1
    keys = ["data", "epsilon"]
    best = others.loc[(sign * others[value]).groupby([others[key] for key in keys]).idxmin()]
    both = own.assign(own=own[value])[[*keys, "own", "low", "high"]].merge(
        best.assign(best=best[value]).rename(columns={"method": "rival"})[
            [*keys, "rival", "variant", "best"]
        ],
        on=keys,
    )
    return both[sign * both["own"] > sign * both["best"]][[*COLUMNS]].reset_index(drop=True)


def reason_of(family: str, one: SetFacts) -> str:
    """Reason why a set's cells are lost, stored by set or by kind; empty if no reason is stored."""
    return REASONS.get((family, one.name)) or REASONS.get((family, one.kind), "")

"""Cells of the benchmark that a method loses, and why.

A cell is a set and an epsilon. It is lost where something else has the better score: another
method with a privacy promise, or a line that reads no data.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dpviz.experiments.benchmark import SetFacts, is_reference, promises_privacy

#: Why the default method of a family loses cells, one sentence each: by family and set, or by
#: family and kind of set where the reason is the same for all sets of the kind.
REASONS: dict[tuple[str, str], str] = {}

#: Columns of :func:`lost`.
COLUMNS = ("data", "epsilon", "own", "low", "high", "rival", "variant", "best")


def lost(cells: pd.DataFrame, method: str, value: str, *, lower: bool) -> pd.DataFrame:
    """Cells that the sound variant of a method loses; equal values are not lost.

    Parameters
    ----------
    cells
        Of one score and one family.
    method
        Name of the method.
    value
        Column to compare, one of ``VALUES`` of the benchmark.
    lower
        Whether less is better.

    Returns
    -------
    DataFrame
        One row per lost cell: set, epsilon, the method's own value with its 5% and 95% quantiles,
        and who is the best, with its value.
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


def reason_of(
    family: str, one: SetFacts, reasons: Mapping[tuple[str, str], str] | None = None
) -> str:
    """Why cells of a set are lost: the reason of the set, else that of its kind, else empty."""
    known = REASONS if reasons is None else reasons
    return known.get((family, one.name)) or known.get((family, one.kind), "")

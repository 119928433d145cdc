"""Cells of the benchmark that a method loses, and why.

A cell is a set and an epsilon. It is lost where something else has the better score: another
method with a privacy promise, or a line that reads no data.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from dpviz.experiments.benchmark import SetFacts, is_reference, promises_privacy

_FEW_A_CELL = (
    "There are few records a cell: Two-stage reports the cells that stand out of the noise, and at "
    "small ε about as many as are to be expected. None at all, or too many, some at random places, "
    "err less in some scores."
)
_THIN = (
    "Clusters, or the gaps between them, are a cell or two wide: every method breaks or joins some "
    "of them, and at small ε no cluster at all, or one of nearly all cells, errs less."
)
_BROKEN = (
    "Cells of few records hold clusters together: Two-stage breaks a cluster where it is not sure "
    "of them, while too many cells keep it whole."
)
_TINY = (
    "There are so few records that at this ε nothing stands out of the noise: Two-stage reports "
    "next to nothing."
)
_TOO_MANY = (
    "The noise hides most cells of few records: Two-stage reports a fifth to nine tenths as many "
    "cells as there are. A method that reports up to eleven times as many leaves fewer records out "
    "of their clusters, and one that reports nearly none errs less in DSG_C."
)
_BROAD = (
    "A broad cluster of few records: at small ε Baseline's few large cells, which average much of "
    "the noise away, show its outline better than Two-stage, which looks at neighbouring cells."
)
_EVEN = (
    "Records are spread evenly over a disk, so chance decides which of its cells are significant, "
    "and single cells hold their ring together: three wrong cells of 97 break it. Every method "
    "breaks it at every ε."
)
_FILLED = (
    "At this p nearly every cell with records is significant, and one cluster holds nearly all of "
    "them: the whole box as one cluster, which reads no data, has nearly no points or pairs wrong. "
    "Two-stage leaves out cells of few records, which the noise hides; methods that report far too "
    "many cells do not."
)
_WHOLE = (
    "One broad cluster holds more than nine tenths of the significant cells: at small ε Two-stage "
    "cuts it where it doubts a join, while Baseline's few large cells keep it whole."
)
_NO_STRUCTURE = (
    "Records are spread evenly over the box: from ε 2 on Two-stage finds nothing, by design, where "
    "WaveCluster without noise finds clusters by chance."
)
_SCATTERED = (
    "Scattered records fill most cells with one or a few, which the noise hides at small ε: how "
    "many cells are filled, and so how many are significant, is then a guess, of which Two-stage's "
    "is often too low. Baseline's, about half of all, is nearer here."
)
_EMPTY = (
    "Places far away from all others make the box so large that hardly any cell holds records: "
    "Two-stage expects more, and invents many times as many cells at small ε; a method that "
    "reports nearly none errs less. A smaller box, declared, mends it for all methods."
)
_EQUAL_CELLS = (
    "Where one grid of equal cells is enough, as EUGkM has it, or one start and few steps, what "
    "DP-Refine spends on finer cells and a last step brings a few per cent less."
)
_FEW_RECORDS = (
    "There are so few records for each cluster that at small ε the noise decides who is best."
)
_DELTA = (
    "There are few records for the number of columns: the better peers promise (ε, δ) alone, and "
    "their Gaussian noise grows with the root of the number of columns."
)
_OVERLAP = (
    "Two overlapping Gaussians in many columns: at small ε their distance is less than the noise, "
    "and centres near the middle of the box err least; above, the better peers promise (ε, δ) "
    "alone."
)

#: Why the default method of a family loses cells, one sentence each: by family and set, or by
#: family and kind of set where the reason is the same for all sets of the kind.
REASONS: dict[tuple[str, str], str] = {
    ("wavecluster", "thin"): _THIN,
    ("wavecluster", "sparse"): _FEW_A_CELL,
    ("wavecluster", "dense"): _FEW_A_CELL,
    ("wavecluster", "geographic"): _TOO_MANY,
    ("wavecluster", "a3"): (
        "Two of its clusters are one cell apart, and that cell holds nearly as many records as "
        "theirs: Two-stage mostly joins them at ε 2, PrivTHR, with fewer cells, does not."
    ),
    ("wavecluster", "incomes"): _BROKEN,
    ("wavecluster", "noise"): (
        "Evenly spread records have no clusters: Two-stage reports nearly none, from ε 0.25 on "
        "none, by design, where WaveCluster without noise finds many of one or two cells, by "
        "chance."
    ),
    ("wavecluster", "tiny4"): _TINY,
    ("wavecluster", "tiny8"): _TINY,
    ("wavecluster", "disk-5000n"): _EVEN,
    ("wavecluster", "cure-t1-2000n-2D"): _SCATTERED,
    ("wavecluster", "delays"): _SCATTERED,
    ("wavecluster", "disk-6000n"): _WHOLE,
    ("wavecluster", "cure-t0-2000n-2D"): _WHOLE,
    ("wavecluster", "circle"): _NO_STRUCTURE,
    ("wavecluster", "dense-disk-3000"): _BROAD,
    ("wavecluster", "digits"): _BROAD,
    ("wavecluster", "films"): _BROAD,
    ("wavecluster", "h2mg_2_40"): _BROAD,
    ("wavecluster", "h2mg_2_60"): _BROAD,
    ("wavecluster", "h2mg_2_70"): _BROAD,
    ("wavecluster", "trips"): _EMPTY,
    ("wavecluster", "words"): _EMPTY,
    ("wavecluster", "polls"): _FILLED,
    ("wavecluster", "shells"): _FILLED,
    ("wavecluster", "players"): _FILLED,
    ("wavecluster", "stains"): _FILLED,
    ("kmeans", "dense"): _EQUAL_CELLS,
    ("kmeans", "sparse"): _EQUAL_CELLS,
    ("kmeans", "thin"): _EQUAL_CELLS,
    ("kmeans", "geographic"): _EQUAL_CELLS,
    ("kmeans", "sample"): _EQUAL_CELLS,
    ("kmeans", "mixture"): _OVERLAP,
    ("kmeans", "measured"): _DELTA,
    ("kmeans", "g2mg_64_10"): (
        "2,048 records in 64 columns: up to ε 0.1 the noise is larger than the distance of the two "
        "Gaussians, and above, the better peers promise (ε, δ) alone."
    ),
    ("kmeans", "g2mg_8_50"): (
        "Two overlapping Gaussians: at ε 0.1 EUGkM's coarse grid tells them apart a little better "
        "than noisy means; above, FastLloyd is ahead by up to 1%, and promises (ε, δ) alone."
    ),
    ("kmeans", "mk4"): _EQUAL_CELLS,
    ("kmeans", "tiny4"): _FEW_RECORDS,
    ("kmeans", "tiny8"): _FEW_RECORDS,
    ("kmeans", "r15"): _FEW_RECORDS,
    ("kmeans", "hepta"): (
        "With 212 records in 7 clusters, the centres are mostly noise up to ε 0.5: those that read "
        "no data, or those of another method, err less."
    ),
    ("kmeans", "mixture-16d-20-1"): (
        "At ε 0.05 neither method finds the 20 clusters, and the difference of 2% is chance."
    ),
    ("kmeans", "mixture-32d-5-1"): _DELTA,
}

#: Columns of :func:`lost`.
COLUMNS = ("data", "epsilon", "own", "low", "high", "rival", "variant", "best")


def lost(cells: pd.DataFrame, method: str, value: str, *, lower: bool) -> pd.DataFrame:
    """Cells that the sound variant of a method loses; equal values are not lost.

    ``cells`` are of one score and one family; ``value`` is the column to compare, one of ``VALUES``
    of the benchmark; with ``lower``, less is better.

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

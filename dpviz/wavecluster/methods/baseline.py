"""Baseline: a private synopsis, synthetic points from it, the plain pipeline on those."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
from dpviz.grid.counts import tally
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.methods.printed import MODIFIED, READINGS, hide_one_change
from dpviz.wavecluster.methods.synopses import SYNOPSES, Leaves
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, Stages, cluster

#: Share of the budget for the number of records, if this number is private.
COUNT_SHARE = 0.02

#: Rough time of a draw.
SECONDS = 0.003

CARD = Card(
    name="baseline",
    family="wavecluster",
    title="Baseline",
    estimator="Baseline",
    summary=(
        "Publishes a private synopsis of the data (an adaptive grid unless another is chosen), "
        "draws synthetic points from it and clusters those."
    ),
    paper="Chen, Yu, Chirkova 2015; adaptive grid: Qardaji, Yang, Li 2013",
    algorithm="Algorithm 1",
    origin="000",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Every synopsis is a sequence of Laplace mechanisms whose budgets sum to "
                "epsilon under a declared domain; its resolution depends on a noisy number of "
                f"records ({COUNT_SHARE:.0%} of epsilon) and on noisy counts alone."
            ),
        ),
        Variant(
            name="published",
            private=False,
            reason=(
                "The resolution of the synopsis is computed from the true number of records, "
                "which is itself private when a record may be added or removed."
            ),
            fails=MODIFIED,
        ),
    ),
    parameters=takes("baseline", "epsilon", "synopsis"),
    lays_own_cells=True,
    deviations=(
        "The sound variant pays for the number of records, also where one record is replaced: "
        "its replacement may lie outside the domain or lack a value and drop out.",
        "Records are rounded to a public lattice of about a million cells (those of a grid of "
        "counts stand at the centres of its cells), and a synopsis has two million leaves at "
        "most: finer than anything the grid shows. On DS2 that lowers k' by 0.2%.",
        "Synthetic points are counted per cell, not drawn one by one; the law is the same.",
        "The paper names the adaptive grid without its constants, and does not say where in a leaf "
        "the points lie: c = 10, alpha = 0.5 and c2 = 5 are those of the grid's authors, and the "
        "points are uniform. So Baseline has about 9 clusters on DS1 at epsilon 0.1, not more than "
        "30 as in section 7.3, and k' = 309 on DS2 at epsilon 1, not 284. With half of epsilon it "
        "has k' = 283 there, and is 36.6% off or more from 0.5 up (printed: 32.2%).",
        "Noisy numbers of records are rounded to whole numbers of synthetic points, which lie on "
        "the grid of the data, not on one over their own range.",
        *READINGS,
    ),
)

_INVENTS = (
    "Why Baseline invents clusters: it draws synthetic points from noisy counts. A count below 0 "
    "becomes 0, so in empty places noise only adds points."
)


def surprise(true: Stages, private: Run) -> str:
    """Say why there are more clusters than truly; empty where there are not."""
    return _INVENTS if private.stages.n_clusters > true.n_clusters else ""


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Cluster synthetic points (Chen, Yu, Chirkova, Algorithm 1)."""
    hide_one_change(accountant, config)
    epsilon, n = config.epsilon, float(source.n)
    if config.variant == "sound":
        share = COUNT_SHARE * epsilon
        n = float(accountant.laplace("records", n, sensitivity=1, epsilon=share))
        epsilon -= share
    leaves = SYNOPSES[config.synopsis](source, accountant, epsilon, n)
    generator = accountant.noise.generator("synthetic points")
    counts = synthetic_counts(leaves, source.shape, generator)
    return Run(config=config, stages=cluster(counts, config), ledger=accountant.ledger)


def synthetic_counts(
    leaves: Leaves, shape: tuple[int, ...], generator: np.random.Generator
) -> NDArray[np.int64]:
    """Counts of points drawn uniformly from each leaf, max(0, round(records)) of them.

    Draws no single points: the number of a leaf's points in each column of cells is binomial
    given the remaining points, and so on within a column, axis by axis. The distribution is the
    same, and the work does not grow with the number of points.
    """
    records = np.maximum(np.round(leaves.records), 0).astype(np.int64)
    cells = np.zeros(records.size, dtype=np.intp)
    leaf = np.arange(records.size)
    for axis, side in enumerate(shape):
        low = leaves.low[leaf, axis] * side
        high = np.minimum(low + leaves.size[leaf, axis] * side, side)
        leaf, column, records, cells = _split(leaf, low, high, records, cells, generator)
        cells = cells * side + np.minimum(column, side - 1)
    return tally(cells, math.prod(shape), records).reshape(shape)


def _split(
    leaf: NDArray[np.intp],
    low: Floats,
    high: Floats,
    records: NDArray[np.int64],
    cells: NDArray[np.intp],
    generator: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64], NDArray[np.intp]]:
    """Distribute records, uniform in [low, high), over columns of width 1: parts that got some."""
    parts = []
    column = np.floor(low).astype(np.intp)
    start = low
    keep = records > 0
    while keep.any():
        leaf, start, high = leaf[keep], start[keep], high[keep]
        records, cells, column = records[keep], cells[keep], column[keep]
        end = np.minimum(column + 1.0, high)
        # A very narrow last part from a rounding error gets all remaining records.
        share = np.where(high - end > 1e-9, (end - start) / (high - start), 1.0)
        placed = generator.binomial(records, np.clip(share, 0.0, 1.0))
        parts.append((leaf, column, placed, cells))
        records = records - placed
        start, column = end, column + 1
        keep = records > 0
    if not parts:
        return leaf[:0], column[:0], records[:0], cells[:0]
    leaf, column, records, cells = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    found = records > 0
    return leaf[found], column[found], records[found], cells[found]

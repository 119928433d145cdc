"""Baseline: a private synopsis, synthetic points from it, and the plain pipeline on the points."""

from __future__ import annotations

import math

import numpy as np

from dpviz.base.arrays import Floats, Indices, Ints
from dpviz.family.card import card_of
from dpviz.grid.counts import tally
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.choice import hide_one_change
from dpviz.wavecluster.methods.synopses import SYNOPSES
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Leaves, Run, Source, Stages, cluster

#: Share of the budget for the number of records, if this number is private.
COUNT_SHARE = 0.02

#: Approximate time of a draw in seconds.
SECONDS = 0.003

CARD = card_of(__file__, takes("baseline", "epsilon", "synopsis"), COUNT_SHARE=COUNT_SHARE)

_INVENTS = (
    "Why Baseline invents clusters: it draws synthetic points from noisy counts. A count below 0 "
    "becomes 0, so in empty places noise only adds points."
)


def surprise(true: Stages, private: Run) -> str:
    """Explain why there are more clusters than in the true run; empty if there are not more."""
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
    stages = cluster(counts, config)
    return Run(config=config, stages=stages, ledger=accountant.ledger, leaves=leaves)


def synthetic_counts(
    leaves: Leaves, shape: tuple[int, ...], generator: np.random.Generator
) -> Ints:
    """Counts of synthetic points; each leaf has max(0, round(records)) uniform points.

    Axis by axis, the number of a leaf's points in a column is binomial, given the remaining points.
    The distribution is that of single points, but the time does not grow with their number.
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
    leaf: Indices,
    low: Floats,
    high: Floats,
    records: Ints,
    cells: Indices,
    generator: np.random.Generator,
) -> tuple[Indices, Indices, Ints, Indices]:
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

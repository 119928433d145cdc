"""Baseline: a private synopsis, synthetic points from it, the plain pipeline on those."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.config import Config
from dpviz.counts import quantize
from dpviz.methods.card import Card, Parameter, Variant
from dpviz.methods.privqt import AS_PRINTED, EPSILON
from dpviz.methods.synopses import SYNOPSES, Leaves
from dpviz.methods.wavecluster import GRID_PARAMETERS
from dpviz.noise import NoiseSource
from dpviz.pipeline import Run, Source, cluster
from dpviz.privacy.mechanisms import Accountant

#: Share of the budget for the number of records, where that is private.
COUNT_SHARE = 0.02

#: Refuse to draw more synthetic points than this times the records (noise at a tiny
#: budget can ask for far more than there are).
_MOST_POINTS = 2**24

CARD = Card(
    name="baseline",
    family="wavecluster",
    title="Baseline",
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
                "which is itself private when a record may be added or removed. " + AS_PRINTED
            ),
        ),
    ),
    parameters=(
        EPSILON,
        Parameter(name="synopsis", default="adaptive_grid"),
        *GRID_PARAMETERS,
    ),
    deviations=(
        "The sound variant pays for the number of records; where it is public (one record "
        "replaced by another) it is used as it is.",
    ),
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Cluster synthetic points (Chen, Yu, Chirkova, Algorithm 1)."""
    epsilon, n = config.epsilon, float(source.n)
    if config.variant == "sound" and not config.neighbours.n_is_public:
        share = COUNT_SHARE * epsilon
        n = float(accountant.laplace("records", n, sensitivity=1, epsilon=share))
        epsilon -= share
    leaves = SYNOPSES[config.synopsis](source, accountant, epsilon, n)
    points = synthetic_points(leaves, accountant.noise)
    low, high = source.domain.lows, source.domain.highs
    counts, _ = quantize(low + points * (high - low), source.domain, source.shape)
    return Run(config=config, stages=cluster(counts, config), ledger=accountant.ledger)


def synthetic_points(leaves: Leaves, noise: NoiseSource) -> NDArray[np.float64]:
    """Points drawn uniformly from each leaf, max(0, round(records)) of them.

    Returns
    -------
    points
        Shape (n', d), coordinates from 0 to 1.
    """
    numbers = np.maximum(np.round(leaves.records), 0).astype(np.int64)
    total = int(numbers.sum())
    if total > _MOST_POINTS:
        # Same density everywhere, fewer points: the threshold is relative anyway.
        numbers = (numbers * (_MOST_POINTS / total)).astype(np.int64)
        total = int(numbers.sum())
    leaf = np.repeat(np.arange(numbers.size), numbers)
    place = noise.uniform("synthetic points", (total, leaves.low.shape[1]))
    return np.minimum(leaves.low[leaf] + place * leaves.size[leaf], 1.0)

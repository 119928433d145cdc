"""Hybrid: EUGkM, then one noisy Lloyd iteration if an analysis of the errors supports it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpviz.family.card import VariantName, card_of
from dpviz.kmeans.grid import PER_CELL, grid_sides, noisy_grid, noisy_size
from dpviz.kmeans.lloyd import lloyd, restored, space_of
from dpviz.kmeans.methods.eugkm import grid_centers
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.privacy.mechanisms import Accountant

#: Root mean square distance of a coordinate from the middle, relative to the width (Su et al.).
SPREAD = 0.225

#: Published: the largest allowed error of an iteration, summed over all centres.
LARGEST_ERROR = 0.004

#: Sound: the largest allowed error of an iteration at a centre, divided by the variance of a
#: record's place in its cell. Fitted to S1, Unbalance, DS1 and DS3, where shares of about 0.4 to
#: 0.6 give equal results.
LARGEST_SHARE = 3 / 8

CARD = card_of(__file__, takes("hybrid"))


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run EUGkM, then one iteration if its expected error is small enough (Su et al., Hybrid)."""
    space, K, variant = space_of(records, config), config.clusters, config.variant
    size = noisy_size(records, config, accountant, step="cells", epsilon=config.epsilon)
    times = config.neighbours.multiplier
    rest = size.left / 2 if iterates(variant, size.value, size.left, space, K, times) else 0.0
    left = size.left - rest
    grid = noisy_grid(records, config, accountant, step="cells", epsilon=left, size=size)
    centers = grid_centers(grid, K, config, accountant.noise.generator("restarts"))
    if rest:
        run = lloyd(records, config, accountant, epsilon=rest, start=space.placed(centers))
        decision = (
            "One iteration: at this ε and number of records it is better than the grid alone."
        )
    else:
        run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger)
        run = restored(run, Space(records.domain))
        decision = "No iteration: at this ε and number of records the grid alone is better."
    return replace(run, grid=grid, decision=decision)


def iterates(
    variant: VariantName, size: float, epsilon: float, space: Space, clusters: int, times: int = 1
) -> bool:
    """Return whether the expected error of one iteration with half of ``epsilon`` is small enough.

    ``size`` is the noisy (published: true) number of records; neighbours differ by ``times``
    records. The error at a centre c is its mean squared shift if the d sums and the count of n
    records have noise of scale s: 2 s^2 (d + c^2) / n^2.
    """
    d, half = space.domain.ndim, epsilon / 2
    if variant == "published":
        # The error in the box of side 2, with the best split between the count and the sums.
        error = 2 * clusters**3 * (d + np.cbrt(4 * d * SPREAD**2)) ** 3 / (size * half) ** 2
        return bool(error <= LARGEST_ERROR)
    middle = space.low + space.span / 2
    square = d * (middle**2 + (SPREAD * space.span) ** 2)
    scale = space.sensitivity * times / half
    error = 2 * (clusters * scale / size) ** 2 * (d + square)
    side = grid_sides(size, epsilon, d, clusters, PER_CELL[variant])[0]
    return bool(error <= LARGEST_SHARE * d * (space.span / side) ** 2 / 12)

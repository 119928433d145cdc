"""A nested grid of noisy counts: a cell with many records is split into subcells.

Rough counts show which cells to split. A cell that is not split gets a finer count with the noise
of both budgets together (a gradual release); a split cell gets counts of its subcells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints
from dpviz.data.engine.tables import Tables
from dpviz.grid.counts import tally
from dpviz.kmeans.choose_clusters import NoisyPoints
from dpviz.kmeans.denoise import denoised, denoised_parts
from dpviz.kmeans.grid import NoisyGrid, onto_simplex
from dpviz.kmeans.passes import loops
from dpviz.kmeans.records import Records, Rows, Weights
from dpviz.privacy.mechanisms import Accountant, Level

#: Share of the budget for the rough counts.
ROUGH = 0.3

#: Records per subcell, per unit of 1/epsilon of their budget; number added before rounding down.
PER_SUBCELL, ROUNDED = 2.0, 0.3

#: Largest number of subcells per axis; with WHOLE or more columns no cell is split (too noisy).
MOST_PARTS, WHOLE = 16, 5

#: Cells per cluster: CELLS * x^(3d / (2d + 4)), or FEWEST or x (the smaller of both) if this is
#: more. Here x is records per cluster * epsilon. From three columns on, MORE_CELLS replaces CELLS.
CELLS, MORE_CELLS, FEWEST = 0.5, 0.75, 8.0

#: Largest number of cells, of all subcells, and of cells without subcells, for speed.
MOST_CELLS, MOST_SUBCELLS, MOST_WHOLE = 2**18, 2**19, 2**13

#: Lower limit of a noisy number of records; times sensitivity / epsilon if this is below 1.
LEAST = 10.0


@dataclass(frozen=True)
class Estimate:
    """A noisy number of records, and its variance; a value below ``least`` is only noise."""

    value: float
    variance: float
    least: float

    @classmethod
    def release(
        cls, records: Records, accountant: Accountant, epsilon: float, share: float
    ) -> Estimate:
        """Release the number of records for a share of ``epsilon``."""
        noisy = accountant.laplace("records", records.n, sensitivity=1, epsilon=share * epsilon)
        times = accountant.neighbours.multiplier
        least = min(LEAST, LEAST * times / epsilon)
        return cls(max(float(noisy), least), 2 * (times / (share * epsilon)) ** 2, least)

    def pooled(self, total: float, variance: float) -> float:
        """Average this and another noisy count of the same records, weighted by 1 / variance."""
        weight = variance / (self.variance + variance)
        return max(weight * self.value + (1 - weight) * total, self.least)


@dataclass(frozen=True, kw_only=True, eq=False)
class NestedGrid:
    """Scaled estimates: ``points`` (unsplit cells, subcells), ``cells``, and ``means`` in cells."""

    points: NoisyPoints
    cells: NoisyGrid
    means: Floats


def nested_grid(
    rows: Rows,
    ndim: int,
    accountant: Accountant,
    *,
    epsilon: float,
    clusters: int,
    size: Estimate,
    sparse: bool = False,
    most: int = MOST_CELLS,
) -> NestedGrid:
    """Release a nested grid of counts, with at least K cells, for ``epsilon``.

    A row's place in [-1, 1]^d depends on no other record. ``size`` was released before. If
    ``sparse``, no cell is split. There are at most ``most`` cells and 2 ``most`` subcells.
    """
    d, halves = ndim, accountant.noise.generator("halves")
    first, second = ROUGH * epsilon, (1 - ROUGH) * epsilon
    times = accountant.neighbours.multiplier
    side = grid_side(size.value * epsilon / (clusters * times), clusters, d, most)
    m = side**d
    in_cells = rows.then(partial(_cells, side))
    (rough,) = in_cells.total(partial(_tally, m))
    levels = (Level("rough cells", first), Level("fine cells", epsilon))
    gradual = accountant.gradual(rough, levels, sensitivity=1)
    rough_variance, fine_variance = (2 * scale**2 for scale in gradual.scales)
    sub_variance = 2 * (times / second) ** 2
    total = size.pooled(float(gradual.noisy.sum()), m * rough_variance)
    guess = denoised(gradual.noisy, np.full(m, rough_variance), d, total, halves)
    parts = np.ones(m, dtype=np.int64) if sparse else subcells(guess * second / times, d, 2 * most)
    split = parts > 1
    counts, variances = gradual.noisy.copy(), np.where(split, rough_variance, fine_variance)
    of_cell = np.where(split, parts**d, 0)
    firsts = np.cumsum(of_cell) - of_cell
    owners = np.repeat(np.arange(m), of_cell)
    (in_parts,) = in_cells.total(partial(_sub_counts, side, parts, firsts, len(owners)))
    counts[~split], sub_counts = accountant.split(gradual, ~split, in_parts)
    if split.any():
        # Average two noisy counts of a split cell; the weight is the variance of the other count.
        added, of_added = np.bincount(owners, sub_counts, m), np.maximum(of_cell, 1) * sub_variance
        pooled = (counts * of_added + added * variances) / (variances + of_added)
        counts = np.where(split, pooled, counts)
        variances = np.where(split, variances * of_added / (variances + of_added), variances)
    total = size.pooled(float(counts.sum()), float(variances.sum()))
    estimates = denoised(counts, variances, d, total, halves)
    if sparse:
        # Halving blurs clusters as small as a cell, and a projection keeps noise: average both.
        estimates = (estimates + onto_simplex(counts, total)) / 2
    grid = NoisyGrid(shape=(side,) * d, weights=estimates, scale=times / epsilon)
    sub_weights = denoised_parts(sub_counts, sub_variance, parts, firsts, d, estimates, halves)
    middles = grid.centers
    means = middles.copy()
    places, shares, found = [middles[~split]], [estimates[~split]], [counts[~split]]
    for number in np.unique(parts[split]):
        which = parts == number
        inside = NoisyGrid(shape=(int(number),) * d, weights=np.empty(0), scale=0).centers / side
        places.append((middles[which][:, None] + inside).reshape(-1, d))
        numbers = firsts[which][:, None] + np.arange(number**d)
        known = np.maximum(sub_weights[numbers].sum(axis=1), 1e-9)
        means[which] += sub_weights[numbers] @ inside / known[:, None]
        shares.append(sub_weights[numbers].ravel())
        found.append(sub_counts[numbers].ravel())
    points = NoisyPoints(
        places=np.vstack(places),
        weights=np.concatenate(shares),
        counts=np.concatenate(found),
        variances=np.append(variances[~split], np.full(len(sub_counts), sub_variance)),
    )
    return NestedGrid(points=points, cells=grid, means=means)


def grid_side(records: float, clusters: int, ndim: int, most: int = MOST_CELLS) -> int:
    """Number of cells per axis, for at least K and at most ``most`` cells in all.

    ``records`` is the number of records per cluster times epsilon.
    """
    share = CELLS if ndim < 3 else MORE_CELLS
    least = min(FEWEST, records)
    cells = clusters * max(share * records ** (1.5 * ndim / (ndim + 2)), least)
    fewest = max(2, math.ceil(clusters ** (1 / ndim) - 1e-9))
    most = min(MOST_CELLS if ndim < WHOLE else MOST_WHOLE, most)
    widest = max(int(most ** (1 / ndim) + 1e-9), fewest)
    return int(min(max(round(cells ** (1 / ndim)), fewest), widest))


def subcells(records: Floats, ndim: int, most: int = MOST_SUBCELLS) -> Ints:
    """Number of subcells per axis for each cell (m,), at most ``most`` in all; 1 = not split.

    ``records`` (m,) are the cells' numbers of records times epsilon.
    """
    if ndim >= WHOLE:
        return np.ones(len(records), dtype=np.int64)
    sides = np.floor((records / PER_SUBCELL) ** (1 / ndim) + ROUNDED)
    sides = np.clip(sides, 1, MOST_PARTS).astype(np.int64)
    for widest in range(MOST_PARTS, 0, -1):
        sides = np.minimum(sides, widest)
        if (sides[sides > 1] ** ndim).sum() <= min(MOST_SUBCELLS, most):
            break
    return sides


def _cells(side: int, points: Floats) -> tuple[NDArray[Any], ...]:
    cells = np.empty(len(points), dtype=np.int64)
    loops().grid_cells(points, side, cells[:0], cells[:0], cells)
    return points, cells


def _tally(total: int, weights: Weights, points: Floats, cells: Ints) -> Tables:
    return (tally(cells, total, weights),)


def _sub_counts(
    side: int, parts: Ints, firsts: Ints, total: int, weights: Weights, points: Floats, cells: Ints
) -> Tables:
    found = np.empty(len(points), dtype=np.int64)
    loops().grid_cells(points, side, parts, firsts, found)
    inside = found >= 0
    return (tally(found[inside], total, None if weights is None else weights[inside]),)

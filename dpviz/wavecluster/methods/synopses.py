"""Private synopses of a data set: noisy counts of boxes, for Baseline's synthetic points.

The boxes (leaves) partition the domain and depend on the data only through noisy results whose
budget is spent. Each synopsis works for d axes; the paper's figures have two axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpviz.base.arrays import Floats, Indices, Ints
from dpviz.grid.counts import block_sums, tally
from dpviz.grid.domain import CHUNK, axis_cells
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.components import unblocked
from dpviz.wavecluster.pipeline import Leaves, Source

#: Largest number of leaves: smaller leaves are finer than the screen and the records' lattice.
_MOST_LEAVES = 2**21

Synopsis = Callable[[Source, Accountant, float, float], Leaves]


def adaptive_grid(source: Source, accountant: Accountant, epsilon: float, n: float) -> Leaves:
    """Two-level grid; the counts of the first level determine the cells of the second level.

    Each level costs half of ``epsilon``; the number of records ``n`` is public or noisy.

    Qardaji, Yang, Li (2013). The first level has m1 = max(10, ceil(sqrt(n eps / 10) / 4)) cells per
    axis. Each cell is divided into m2 = ceil(sqrt(N' (1 - a) eps / 5)) parts per axis, for the
    noisy count N' and a = 0.5. Constrained inference combines the levels. For d axes, square roots
    become d-th roots, and the smallest first level still has 100 cells in total.
    """
    share, d = 0.5, source.domain.ndim
    least = math.ceil(round(100 ** (1 / d), 9))
    side = max(least, math.ceil(_root(n * epsilon / 10, d) / 4))
    shape = (min(side, _highest_side(d)),) * d
    first = source.counted(shape)
    noisy = accountant.laplace("first level", first, sensitivity=1, epsilon=share * epsilon).ravel()
    parts = np.maximum(noisy, 0) * (1 - share) * epsilon / 5
    wanted = np.ceil(np.sqrt(parts) if d == 2 else parts ** (1 / d))
    splits = _fitting(np.maximum(wanted, 1), d)
    leaves_per_cell = splits**d
    offsets = np.concatenate(([0], np.cumsum(leaves_per_cell)))
    second = accountant.laplace(
        "second level",
        _second_level(source, shape, splits, offsets),
        sensitivity=1,
        epsilon=(1 - share) * epsilon,
    )
    owner = np.repeat(np.arange(splits.size), leaves_per_cell)
    summed = np.add.reduceat(second, offsets[:-1])
    a, b = share**2 * leaves_per_cell, (1 - share) ** 2
    agreed = (a * noisy + b * summed) / (a + b)
    records = second + ((agreed - summed) / leaves_per_cell)[owner]
    low, size = _leaf_boxes(shape, splits, offsets, owner)
    return Leaves(low=low, size=size, records=records)


def _fitting(splits: Floats, degree: int) -> Indices:
    total = float((splits**degree).sum())
    if total > _MOST_LEAVES:
        splits = np.maximum(np.floor(splits * (_MOST_LEAVES / total) ** (1 / degree)), 1)
    return splits.astype(np.intp)


def _second_level(
    source: Source, shape: tuple[int, ...], splits: Indices, offsets: Indices
) -> Ints:
    """Records per leaf; each first-level cell has its own number of parts per axis."""
    total = int(offsets[-1])
    counts = np.zeros(total, dtype=np.int64)
    positions = source.positions
    for start in range(0, len(positions.points), CHUNK):
        chunk = positions.points[start : start + CHUNK]
        weights = None if positions.weights is None else positions.weights[start : start + CHUNK]
        cells = np.zeros(len(chunk), dtype=np.intp)
        within = np.empty_like(chunk)
        for axis, (side, (lo, hi)) in enumerate(zip(shape, source.domain.bounds, strict=True)):
            on_axis = axis_cells(chunk[:, axis], lo, hi, side)
            within[:, axis] = (chunk[:, axis] - lo) * (side / (hi - lo)) - on_axis
            cells = cells * side + on_axis
        parts = splits[cells]
        leaf = np.zeros(len(chunk), dtype=np.intp)
        for axis in range(len(shape)):
            place = (within[:, axis] * parts).astype(np.intp)
            leaf = leaf * parts + np.clip(place, 0, parts - 1)
        counts += tally(offsets[cells] + leaf, total, weights)
    return counts


def _leaf_boxes(
    shape: tuple[int, ...], splits: Indices, offsets: Indices, owner: Indices
) -> tuple[Floats, Floats]:
    corner = np.stack(np.unravel_index(owner, shape), axis=1).astype(float)
    parts = splits[owner]
    leaf = np.arange(owner.size) - offsets[owner]
    for axis in range(len(shape) - 1, -1, -1):
        corner[:, axis] += (leaf % parts) / parts
        leaf //= parts
    size = 1.0 / (parts[:, None] * np.asarray(shape))
    return corner / shape, size


def uniform_grid(source: Source, accountant: Accountant, epsilon: float, n: float) -> Leaves:
    """One grid of sqrt(n eps / 10) cells per axis, with noisy counts (Qardaji, Yang, Li 2013)."""
    shape = (_side(n * epsilon / 10, source.domain.ndim),) * source.domain.ndim
    counts = source.counted(shape)
    return _grid_leaves(accountant.laplace("grid", counts, sensitivity=1, epsilon=epsilon))


def privelet(source: Source, accountant: Accountant, epsilon: float, n: float) -> Leaves:
    """Grid counts with noise on their Haar coefficients (Xiao, Wang, Gehrke 2011).

    The weight of a coefficient is the number of cells below it; a coefficient of weight w gets
    Lap((1 + log2(side))^d / (eps w)), since one record changes weighted coefficients by 1 +
    log2(side) per axis. Sums over large areas are much more exact than with noise on every cell.
    """
    d = source.domain.ndim
    side = 2 ** _height(n * epsilon / 10, d)
    cells = source.counted((side,) * d).astype(float)
    for axis in range(d):
        cells = _haar(cells, axis)
    cells = accountant.laplace(
        "coefficients", cells, sensitivity=(1 + math.log2(side)) ** d, epsilon=epsilon
    )
    for axis in range(d):
        cells = _inverse_haar(cells, axis)
    return _grid_leaves(cells)


def _haar(cells: Floats, axis: int) -> Floats:
    sums = np.moveaxis(cells, axis, 0)
    details = []
    while len(sums) > 1:
        details.append(sums[::2] - sums[1::2])
        sums = sums[::2] + sums[1::2]
    return np.moveaxis(np.concatenate([sums, *details[::-1]]), 0, axis)


def _inverse_haar(noise: Floats, axis: int) -> Floats:
    moved = np.moveaxis(noise, axis, 0)
    side = len(moved)
    cells = moved[:1] / side
    while len(cells) < side:
        block = side / len(cells)
        detail = moved[len(cells) : 2 * len(cells)] / block
        cells = np.stack((cells + detail, cells - detail), axis=1).reshape(
            2 * len(cells), *moved.shape[1:]
        )
    return np.moveaxis(cells, 0, axis)


def quadtree(source: Source, accountant: Accountant, epsilon: float, n: float) -> Leaves:
    """Complete quadtree with geometric budgets and least-squares counts (Cormode 2012).

    Level i above the leaves (h at the root) gets a budget proportional to 2**((h - i)/3). Counts
    become consistent. From the leaves up, a count is averaged with its children's sum (weighted);
    from the root down, differences are spread evenly over the children.
    """
    d = source.domain.ndim
    height = _height(n * epsilon / 10, d)
    exact = source.counted((2**height,) * d)
    weights = 2.0 ** (np.arange(height + 1) / 3)  # from the root (0) to the leaves
    budgets = epsilon * weights / weights.sum()
    noisy: list[Floats] = []
    for depth in range(height, -1, -1):
        noisy.insert(
            0,
            accountant.laplace(
                f"depth {depth}", exact, sensitivity=1, epsilon=float(budgets[depth])
            ),
        )
        if depth:
            exact = block_sums(exact)
    return _grid_leaves(_agree(noisy, budgets, 2**d))


def _agree(noisy: list[Floats], budgets: Floats, fanout: int) -> Floats:
    """Least-squares leaf counts of a complete tree whose levels have different noise."""
    estimates = [noisy[-1]]
    variance = 1 / budgets[-1] ** 2
    for depth in range(len(noisy) - 2, -1, -1):
        own, below = 1 / budgets[depth] ** 2, fanout * variance
        summed = block_sums(estimates[0])
        estimates.insert(0, (noisy[depth] * below + summed * own) / (own + below))
        variance = own * below / (own + below)
    agreed = estimates[0]
    for estimate in estimates[1:]:
        missing = (agreed - block_sums(estimate)) / fanout
        agreed = estimate + unblocked(missing, estimate.shape)
    return agreed


def _grid_leaves(records: Floats) -> Leaves:
    shape = np.asarray(records.shape)
    corner = np.stack(np.unravel_index(np.arange(records.size), records.shape), axis=1)
    size = np.broadcast_to(1.0 / shape, corner.shape)
    return Leaves(low=corner / shape, size=size, records=records.ravel())


def _side(cells: float, ndim: int) -> int:
    return min(max(2, math.ceil(_root(cells, ndim))), _highest_side(ndim))


def _height(cells: float, ndim: int) -> int:
    highest = math.floor(math.log2(_highest_side(ndim)))
    return min(max(1, round(math.log2(_side(cells, ndim)))), highest)


def _highest_side(ndim: int) -> int:
    return max(2, int(_MOST_LEAVES ** (1 / ndim) + 1e-9))


def _root(value: float, degree: int) -> float:
    return float(max(value, 0.0) ** (1 / degree))


SYNOPSES: dict[str, Synopsis] = {
    "adaptive_grid": adaptive_grid,
    "uniform_grid": uniform_grid,
    "privelet": privelet,
    "quadtree": quadtree,
}

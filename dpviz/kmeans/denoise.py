"""Estimate likely counts of a grid: never negative, and smooth where noise is large.

The grid is halved, and then every half is halved, at a random place of one of the longest axes. A
block's count is split by the expected share of its first half, given the noisy sums of both halves.
In the prior, a share is often 0 or 1 or near 1/2, so a block that contains only noise becomes
empty; a projection onto the simplex would empty only single cells. The mean over several random
ways to halve the grid hides the blocks' edges.
"""

from __future__ import annotations

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.kmeans.passes import loops

#: Number of possible shares of a half, between 0 and 1.
LEVELS = 48

#: Prior probabilities of a share: 0 or 1, uniform, Beta(4, 4), and Beta(1/2, 1/2).
ENDS, UNIFORM, EVEN, UNEVEN = 0.25, 0.35, 0.2, 0.2

#: Random ways to halve a grid: PASSES, or fewer (at least 2) if it has more than MOST_CELLS cells.
PASSES, MOST_CELLS = 8, 2**15

#: Blocks with fewer estimated records than this are treated as empty: they contain only noise.
LEAST = 1e-4


def prior() -> tuple[Floats, Floats]:
    """Return possible shares of a half, and their prior probabilities: shapes (LEVELS + 2,)."""
    inner = (np.arange(LEVELS) + 0.5) / LEVELS
    spread = inner * (1 - inner)
    laws = [(UNIFORM, np.ones(LEVELS)), (EVEN, spread**3), (UNEVEN, spread**-0.5)]
    masses = sum((mass * law / law.sum() for mass, law in laws), np.zeros(LEVELS))
    return np.append(inner, [0.0, 1.0]), np.append(masses, [ENDS / 2, ENDS / 2])


def passes(cells: int) -> int:
    """Return the number of random ways to halve a grid of ``cells`` cells."""
    return int(min(max(PASSES * MOST_CELLS // cells, 2), PASSES))


def denoised(
    noisy: Floats, variances: Floats, ndim: int, total: float, generator: np.random.Generator
) -> Floats:
    """Return row-major counts (m,) of a grid of equal sides; their sum is about ``total``."""
    first = np.zeros(1, dtype=np.int64)
    side = first + round(len(noisy) ** (1 / ndim))
    return _halved(noisy, variances, side, first, ndim, np.array([total]), generator)


def denoised_parts(
    noisy: Floats,
    variance: float,
    parts: Ints,
    firsts: Ints,
    ndim: int,
    totals: Floats,
    generator: np.random.Generator,
) -> Floats:
    """Return counts of all subcells; the subcells of a cell add up to about the cell's total.

    A cell has ``parts`` subcells per axis (1 means none), the index ``firsts`` of its first
    subcell, and a total.
    """
    split, variances = parts > 1, np.full(len(noisy), variance)
    return _halved(noisy, variances, parts[split], firsts[split], ndim, totals[split], generator)


def _halved(
    noisy: Floats,
    variances: Floats,
    sides: Ints,
    firsts: Ints,
    ndim: int,
    totals: Floats,
    generator: np.random.Generator,
) -> Floats:
    found, widest, law = np.zeros(len(noisy)), sides.max(initial=0), np.array(prior())
    values = np.column_stack([noisy, variances])
    sums, corners = prefix_sums(values, sides, firsts, ndim)
    blocks = np.empty((2, widest * ndim + 2, ndim), dtype=np.int64)
    room = np.empty((3, max(law.shape[1], widest * ndim + 2)))
    loops().denoise(
        values, firsts, sums, corners, sides, totals, law, LEAST, passes(max(len(noisy), 1)),
        generator, blocks, room, found,
    )  # fmt: skip
    return found


def prefix_sums(values: Floats, sides: Ints, firsts: Ints, ndim: int) -> tuple[Floats, Ints]:
    """Sums of values (m, 2) over all cells before each corner of grids, and their first corners.

    A grid of equal sides has its cells in row-major order from index ``firsts`` on.
    """
    sizes = (sides + 1) ** ndim
    corners = np.cumsum(sizes) - sizes
    sums = np.zeros((sizes.sum(), 2))
    for side in np.unique(sides):
        which = sides == side
        inside = firsts[which][:, None] + np.arange(side**ndim)
        box = np.zeros((len(inside), *[side + 1] * ndim, 2))
        box[:, *[slice(1, None)] * ndim] = values[inside].reshape(-1, *[side] * ndim, 2)
        for axis in range(ndim, 0, -1):
            np.cumsum(box, axis=axis, out=box)
        places = corners[which][:, None] + np.arange((side + 1) ** ndim)
        sums[places] = box.reshape(*places.shape, 2)
    return sums, corners

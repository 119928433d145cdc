"""Noisy counts of a grid -> likely ones: none negative, smooth where noise hides all structure.

From the whole grid down every block is halved, at a random place of one of its longest axes. Its
count is split in proportion to the expected part of the first half, given the noisy sums of both.
Prior to them a half's part is likely to be none or all, or half, or anything between: so blocks
that hold nothing but noise come out empty, which a projection onto the simplex does to single cells
alone. The mean of several random ways to halve the grid shows no edges of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.kmeans.passes import loops

#: Levels of a half's part, from none to all.
LEVELS = 48

#: Prior of the part: mass at none and all together, of the uniform law, of Beta(4, 4), and of
#: Beta(1/2, 1/2).
ENDS, UNIFORM, EVEN, UNEVEN = 0.25, 0.35, 0.2, 0.2

#: Random ways to halve the grid; fewer, but at least two, with more than so many cells.
PASSES, MOST_CELLS = 8, 2**15

#: Blocks with fewer records than that hold none: what noise left of nothing.
LEAST = 1e-4


def prior() -> tuple[Floats, Floats]:
    """Possible parts of a half, and their prior probabilities, each of shape (LEVELS + 2,)."""
    inner = (np.arange(LEVELS) + 0.5) / LEVELS
    spread = inner * (1 - inner)
    laws = [(UNIFORM, np.ones(LEVELS)), (EVEN, spread**3), (UNEVEN, spread**-0.5)]
    masses = sum((mass * law / law.sum() for mass, law in laws), np.zeros(LEVELS))
    return np.append(inner, [0.0, 1.0]), np.append(masses, [ENDS / 2, ENDS / 2])


def passes(cells: int) -> int:
    """Return how many random ways to halve a grid of so many cells."""
    return int(min(max(PASSES * MOST_CELLS // cells, 2), PASSES))


def denoised(
    noisy: Floats, variances: Floats, ndim: int, total: float, generator: np.random.Generator
) -> Floats:
    """Counts (m,) of a grid of equal sides in row-major order, with the given total, or a bit less.

    From noisy counts and the variances of their noise, shape (m,).
    """
    found = np.zeros(len(noisy))
    side = round(len(noisy) ** (1 / ndim))
    loops().denoise(
        noisy, variances, side, ndim, total, *prior(), LEAST, passes(len(noisy)), generator, found
    )
    return found


def denoised_parts(
    noisy: Floats,
    variance: float,
    parts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    ndim: int,
    totals: Floats,
    generator: np.random.Generator,
) -> Floats:
    """Counts of the subcells of all cells that have some, each cell's with the cell's total.

    Noisy counts come cell by cell, each in row-major order. ``parts``, ``firsts`` and ``totals``
    are subcells per axis of each cell, 1 for none; number of its first subcell; its count.
    """
    found = np.zeros(len(noisy))
    if len(noisy):
        number = passes(len(noisy))
        loops().denoise_parts(
            noisy, variance, parts, firsts, ndim, totals, *prior(), LEAST, number, generator, found
        )
    return found

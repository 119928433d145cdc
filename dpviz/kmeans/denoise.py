"""Noisy counts of a grid -> likely ones: none negative, smooth where noise hides all structure.

From the whole grid down every block is halved along its longest axis. Its count is split in
proportion to the expected part of the first half, given the noisy sums of both. A half's part is
uniform from none to all beforehand, with some mass at none and at all: so blocks that hold nothing
but noise come out empty, which a projection onto the simplex does to single cells alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Prior of a half's part: number of levels from none to all, and mass at both ends together.
LEVELS, ZERO = 48, 0.25

#: Blocks with fewer records than that hold none: what noise left of nothing.
LEAST = 1e-4


def denoised(
    noisy: NDArray[np.float64], variances: NDArray[np.float64], ndim: int, total: float
) -> NDArray[np.float64]:
    """Counts (m,) of a grid of equal sides in row-major order, with the given total, or a bit less.

    Parameters
    ----------
    noisy, variances
        Noisy counts and the variances of their noise, shape (m,).
    ndim
        Number of axes.
    total
        At least 0.
    """
    from dpviz.kmeans import kernels

    found = np.empty(len(noisy))
    side = round(len(noisy) ** (1 / ndim))
    kernels.denoise(noisy, variances, side, ndim, total, LEVELS, ZERO, LEAST, found)
    return found


def denoised_parts(
    noisy: NDArray[np.float64],
    variance: float,
    parts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    ndim: int,
    totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Counts of the subcells of all cells that have some, each cell's with the cell's total.

    Parameters
    ----------
    noisy
        Noisy counts of the subcells, cell by cell, each in row-major order.
    variance
        Of their noise.
    parts, firsts, totals
        Subcells per axis of each cell, 1 for none; number of its first subcell; its count.
    """
    from dpviz.kmeans import kernels

    found = np.empty(len(noisy))
    kernels.denoise_parts(noisy, variance, parts, firsts, ndim, totals, LEVELS, ZERO, LEAST, found)
    return found

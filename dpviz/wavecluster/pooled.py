"""Releases of pooled counts, made of those of single ones: where noise hides these.

The sum over a pool, 2 x 2 counts side by side, has twice the noise of one, and four times its
records. It can't tell which of them hold these, so there is a grid of pools for each place where
the first can begin, and what they tell is averaged.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dpviz.counts import block_sums
from dpviz.wavecluster.deconvolution import Floats, Released, noise_variance

#: Axes up to which pools begin at each of the 2^d places; on more, at two opposite ones.
MOST_AXES = 4

#: Counts along the shortest axis, at least: else there are hardly any pools.
SHORTEST = 8


def starts(shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Where pools begin: so many counts before the first one, 0 or 1 on each axis.

    None where the grid is too small for pools.
    """
    if min(shape) < SHORTEST:
        return ()
    axes = len(shape)
    return tuple(product((0, 1), repeat=axes)) if axes <= MOST_AXES else ((0,) * axes, (1,) * axes)


def pooled(released: Released, start: tuple[int, ...]) -> Released:
    """Releases of the sums over pools, of two counts along each axis.

    Their noise, a sum of independent parts, is taken as two-sided geometric noise of the same
    variance. The number of zeros tells nothing of a pool, so none is low.

    Parameters
    ----------
    released
        Releases of the counts, shape (g, ...).
    start
        One of :func:`starts`.
    """
    rates, kind = np.unique(released.rate, return_inverse=True)
    variances = np.array([noise_variance(rate) for rate in rates])[kind].reshape(
        released.rate.shape
    )
    noisy = _sums(released.noisy, start)
    sums, kind = np.unique(_sums(variances, start), return_inverse=True)
    rate = np.array([rate_of(variance) for variance in sums])[kind].reshape(noisy.shape)
    return Released(
        noisy=noisy,
        rate=rate,
        low=np.zeros(noisy.shape, dtype=bool),
        zeros=0.0,
        zeros_rate=0.0,
        rough=noisy,
        rough_rate=float(rate.min()),
    )


def spread(sums: Floats, start: tuple[int, ...], shape: tuple[int, ...]) -> Floats:
    """Counts whose pools have these sums, all of a pool alike.

    Parameters
    ----------
    sums
        Shape (m, h, ...): several grids of sums.
    start
        One of :func:`starts`.
    shape
        Shape of a grid of counts.
    """
    found: Floats = sums / _sums(np.ones(shape), start)
    for axis, (before, side) in enumerate(zip(start, shape, strict=True), start=1):
        found = np.repeat(found, 2, axis=axis).take(range(before, before + side), axis=axis)
    return found


def rate_of(variance: float) -> float:
    """Rate of two-sided geometric noise of this variance; see :func:`noise_variance`."""
    return 2 * math.asinh(1 / math.sqrt(2 * variance)) if variance else math.inf


def _sums(values: Floats, start: tuple[int, ...]) -> Floats:
    """Sums over pools; there is nothing beyond the grid."""
    found: Floats = block_sums(np.pad(values, [(before, 0) for before in start])).astype(float)
    return found

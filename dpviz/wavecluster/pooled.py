"""Releases of pooled counts, made of those of single ones: where noise hides these.

A pool is two counts along each axis: in 2-D, the sum over it has twice the noise of one count, and
four times its records. It can't tell which of the counts hold these, so there is a grid of pools
for each place where the first can begin, and what they tell is averaged.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.grid.counts import block_sums
from dpviz.wavecluster.deconvolution import Released, noise_variance

#: Axes up to which pools begin at each of the 2^d places; on more, at two opposite ones.
MOST_AXES = 4

#: Counts along the shortest axis, at least: else there are hardly any pools.
SHORTEST = 16


def starts(shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Where pools begin: so many counts before the first one, 0 or 1 on each axis.

    Empty where the grid is too small for pools.
    """
    if min(shape) < SHORTEST:
        return ()
    axes = len(shape)
    return tuple(product((0, 1), repeat=axes)) if axes <= MOST_AXES else ((0,) * axes, (1,) * axes)


def pooled(released: Released, start: tuple[int, ...]) -> Released:
    """Releases of the sums over pools, of two counts along each axis from one of :func:`starts`.

    Their noise, a sum of independent parts, is taken as two-sided geometric noise of the same
    variance. No count may be low: the finer noise of the others would be chosen by its sign, and
    sums over both kinds are too small.
    """
    sizes = _sums(np.ones(released.noisy.shape), start)
    variance = noise_variance(released.rough_rate)
    noisy = _sums(released.rough, start)
    rates = np.array([0.0, *(rate_of(n * variance) for n in range(1, round(sizes.max()) + 1))])
    rate = rates[sizes.astype(int)]
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
    """Grids of counts whose pools have these sums (m, h, ...), all of a pool alike."""
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

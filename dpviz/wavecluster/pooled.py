"""Releases of pooled counts, computed from releases of single counts that noise hides.

A pool has two counts along each axis: in 2-D it has twice the noise of one count, and four times
the records. Pools can begin at several positions; results are averaged over these positions.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.grid.counts import block_sums
from dpviz.wavecluster.deconvolution import Released, noise_variance

#: Up to this number of axes pools begin at all 2^d positions, else at two opposite positions.
MOST_AXES = 4

#: Smallest number of counts along the shortest axis; with fewer counts there are too few pools.
SHORTEST = 16


def starts(shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Positions at which pools begin (missing counts, 0 or 1, per axis); none in a small grid."""
    if min(shape) < SHORTEST:
        return ()
    axes = len(shape)
    return tuple(product((0, 1), repeat=axes)) if axes <= MOST_AXES else ((0,) * axes, (1,) * axes)


def pooled(released: Released, start: tuple[int, ...]) -> Released:
    """Releases of the sums over pools that begin at one of :func:`starts`.

    Noise is approximated by two-sided geometric noise of the same variance. Low counts are not
    allowed: they are low partly because their noise is negative.
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
    """Grids of counts whose pools have these sums (m, h, ...); counts of a pool are equal."""
    found: Floats = sums / _sums(np.ones(shape), start)
    for axis, (before, side) in enumerate(zip(start, shape, strict=True), start=1):
        found = np.repeat(found, 2, axis=axis).take(range(before, before + side), axis=axis)
    return found


def rate_of(variance: float) -> float:
    """Rate of two-sided geometric noise with this variance; see :func:`noise_variance`."""
    return 2 * math.asinh(1 / math.sqrt(2 * variance)) if variance else math.inf


def _sums(values: Floats, start: tuple[int, ...]) -> Floats:
    return np.asarray(block_sums(np.pad(values, [(before, 0) for before in start])).astype(float))

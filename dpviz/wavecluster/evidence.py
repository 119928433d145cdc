"""Whether released counts show records, and structure among them.

Tests of two hypotheses on what was released: "no record at all", and "records spread evenly over
all cells". Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy import ndimage, special

from dpviz.wavecluster.deconvolution import Floats, Released, noise_variance

#: What releases show: structure; records, but no more structure than evenly spread ones have;
#: the same, though too little to see structure at all; nothing beyond their noise.
Evidence = Literal["structure", "even", "unclear", "noise"]

#: Level of both tests together. The law fitted to so few draws has too light a tail: measured,
#: this level holds 0.01, the chance of something else than "noise" without records, and of
#: "structure" with evenly spread ones.
FALSE_ALARM = 0.004

#: Cells along each axis whose sums the test for structure looks at: many small clusters scatter
#: single counts and leave wider sums alike, and wide ones are seen in sums alone.
WIDTHS = (1, 3)

#: Draws of evenly spread records, to which a law is fitted.
DRAWS = 60

#: Cells of several draws that are drawn at once.
_AT_ONCE = 1 << 20

#: From this on the test would see a structure: (records per cell)^2 over the variance of a rough
#: count, times the root of the number of cells.
ENOUGH = 50.0

#: Level of the test for structure from there on: any structure is far below, and a draw of evenly
#: spread records that is a little uneven by chance is above.
PLAIN = 1e-4


def evidence(released: Released, generator: np.random.Generator) -> Evidence:
    """What the releases show.

    Parameters
    ----------
    released
        Releases of the counts.
    generator
        Randomness of the draws that the rough counts are compared with.
    """
    chance = _chance_if_even(released, generator)
    records = max(float(released.rough.mean()), 0.0)
    power = records**2 * math.sqrt(released.rough.size)
    plain = power >= ENOUGH * (records + noise_variance(released.rough_rate))
    if chance < (PLAIN if plain else FALSE_ALARM / 2):
        return "structure"
    if _chance_if_none(released) >= FALSE_ALARM / 2:
        return "noise"
    return "even" if plain else "unclear"


def coherence(counts: Floats, width: int) -> Floats:
    """Sum over the cells of the squared deviation of the width x width x ... cells around each.

    Deviations are those from the mean of all cells.

    Parameters
    ----------
    counts
        Several grids of counts, shape (m, g, ...).
    width
        An odd number; 1 takes each cell alone.

    Returns
    -------
    numpy.ndarray
        Shape (m,).
    """
    axes = tuple(range(1, counts.ndim))
    sums = counts - counts.mean(axis=axes, keepdims=True)
    for axis in axes:
        sums = ndimage.convolve1d(sums, np.ones(width), axis, mode="constant")
    found: Floats = (sums**2).sum(axis=axes)
    return found


def _chance_if_even(released: Released, generator: np.random.Generator) -> float:
    """Chance of so much structure in the rough counts, at any width, if records spread evenly."""
    rough = released.rough
    even, stop = max(float(rough.mean()), 0.0), -np.expm1(-released.rough_rate)
    drawn: list[Floats] = []
    for begin in range(0, DRAWS, at_once := max(_AT_ONCE // rough.size, 1)):
        # As many at once as memory is for.
        shape = (min(DRAWS - begin, at_once), *rough.shape)
        noise = generator.geometric(stop, shape) - generator.geometric(stop, shape)
        counts = generator.poisson(even, shape) + noise.astype(float)
        drawn.append(np.stack([coherence(counts, width) for width in WIDTHS]))
    found = [
        _chance_beyond(float(coherence(rough[None], width)[0]), values)
        for width, values in zip(WIDTHS, np.concatenate(drawn, axis=1), strict=True)
    ]
    return min(1.0, len(WIDTHS) * min(found))


def _chance_beyond(seen: float, drawn: Floats) -> float:
    """Chance of a value as large as the one seen; 1 where all draws are alike, as on 2 x 2 cells.

    It is that of a gamma law with mean and variance of the draws: each value is a quadratic form
    of nearly normal sums.
    """
    mean, variance = float(drawn.mean()), float(drawn.var(ddof=1))
    if variance <= 1e-9 * mean**2:
        return 1.0
    return float(special.gammaincc(mean**2 / variance, max(seen, 0.0) / (variance / mean)))


def _chance_if_none(released: Released) -> float:
    """Chance of so many records, rough or by cells that are not empty, if there are none."""
    missing = int(released.low.sum()) - released.zeros
    # The tail of geometric noise; that of Laplace noise is smaller.
    beyond = (
        math.exp(-released.zeros_rate * missing) / (1 + math.exp(-released.zeros_rate))
        if missing > 0
        else 1.0
    )
    deviation = math.sqrt(noise_variance(released.rough_rate) * released.rough.size)
    total = float(released.rough.sum())
    many = float(special.ndtr(-total / deviation)) if deviation else float(total <= 0)
    return min(1.0, 2 * min(beyond, many))

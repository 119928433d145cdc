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
    if chance is not None and chance < (PLAIN if plain else FALSE_ALARM / 2):
        return "structure"
    if _chance_if_none(released) >= FALSE_ALARM / 2:
        return "noise"
    if chance is None:
        return "structure"
    return "even" if plain else "unclear"


def coherence(counts: Floats) -> Floats:
    """Sum over the cells of the squared deviation of the 3 x 3 (x 3 ...) cells around each.

    Deviations are those from the mean of all cells.

    Parameters
    ----------
    counts
        Several grids of counts, shape (m, g, ...).

    Returns
    -------
    numpy.ndarray
        Shape (m,).
    """
    axes = tuple(range(1, counts.ndim))
    sums = counts - counts.mean(axis=axes, keepdims=True)
    for axis in axes:
        sums = ndimage.convolve1d(sums, np.ones(3), axis, mode="constant")
    found: Floats = (sums**2).sum(axis=axes)
    return found


def _chance_if_even(released: Released, generator: np.random.Generator) -> float | None:
    """Chance of so much structure in the rough counts if their records are spread evenly.

    None where no arrangement can be told from another, as on 2 x 2 cells.
    """
    rough = released.rough
    even, stop = max(float(rough.mean()), 0.0), -np.expm1(-released.rough_rate)
    drawn: list[float] = []
    while len(drawn) < DRAWS:
        # As many at once as memory is for.
        shape = (min(DRAWS - len(drawn), max(_AT_ONCE // rough.size, 1)), *rough.shape)
        noise = generator.geometric(stop, shape) - generator.geometric(stop, shape)
        drawn += coherence(generator.poisson(even, shape) + noise.astype(float)).tolist()
    mean, variance = float(np.mean(drawn)), float(np.var(drawn, ddof=1))
    if variance <= 1e-9 * mean**2:
        return None
    # A quadratic form of nearly normal sums: a gamma law with their mean and variance.
    seen = float(coherence(rough[None])[0])
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

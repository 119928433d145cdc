"""Whether released counts show records, and structure among them.

Tests of two hypotheses on what was released: "no record at all", and "records spread evenly over
all cells". Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy import ndimage, special

from dpviz.base.arrays import Floats
from dpviz.wavecluster.deconvolution import Released, noise_variance

#: What releases show: structure; records, but no more structure than evenly spread ones have;
#: the same, though too little to see structure at all; nothing beyond their noise.
Evidence = Literal["structure", "even", "unclear", "noise"]

#: Level of both tests together. The laws fitted to so few draws have too light a tail: measured,
#: this level holds 0.01, the chance of something else than "noise" without records, and of
#: "structure" with evenly spread ones.
FALSE_ALARM = 0.004

#: Cells along each axis whose sums the test for structure looks at: many small clusters scatter
#: single counts and leave wider sums alike; broad weak ones are seen in wide sums alone.
WIDTHS = (1, 3, 7, 15)

#: Draws of evenly spread records, to which a law is fitted.
DRAWS = 60

#: Cells of several draws that are drawn at once.
_AT_ONCE = 1 << 20

#: From this on the test sees all but weak structures: (records per cell)^2 over the variance of a
#: rough count, times the root of the number of cells.
ENOUGH = 50.0

#: Level of the test for structure from there on: what is more than weak is far below, and a draw of
#: evenly spread records that is a little uneven by chance is above.
PLAIN = 1e-4

#: Standard deviations of a count that its law is summed over, and the mean from which on it is
#: taken as normal, at so many points.
_DEVIATIONS, _LARGE, _POINTS = 12.0, 1e6, 20_001


def evidence(released: Released, generator: np.random.Generator) -> Evidence:
    """What the releases show; a generator draws what the rough counts are compared with.

    Evenly spread records are independent of each other, each as likely in any cell: records that
    come in groups, as of equal values, are structure.
    """
    none = _chance_if_none(released) >= FALSE_ALARM / 2
    if released.rough.size == 1:
        # Of a single count, nothing can be uneven.
        return "noise" if none else "structure"
    chance = _chance_if_even(released, generator)
    records = max(float(released.rough.mean()), 0.0)
    power = records**2 * math.sqrt(released.rough.size)
    plain = power >= ENOUGH * (records + noise_variance(released.rough_rate))
    if chance < (PLAIN if plain else FALSE_ALARM / 2):
        return "structure"
    if none:
        return "noise"
    return "even" if plain else "unclear"


def coherence(deviations: Floats, width: int) -> Floats:
    """Sum over the cells of the squared sum of deviations in width x width x ... cells around each.

    Of several grids, shape (m, g, ...); returns shape (m,). The width is odd; 1 takes each cell
    alone.
    """
    axes = tuple(range(1, deviations.ndim))
    sums = deviations
    for axis in axes:
        sums = width * ndimage.uniform_filter1d(sums, width, axis, mode="constant")
    found: Floats = (sums**2).sum(axis=axes)
    return found


def _chance_if_even(released: Released, generator: np.random.Generator) -> float:
    """Chance of so much structure in the rough counts, in any test, if records spread evenly."""
    rough, rate = released.rough, released.rough_rate
    room = np.ones(rough.shape) if released.room is None else released.room
    share = room / room.sum()
    means, stop = max(float(rough.sum()), 0.0) * share, -np.expm1(-rate)
    # Sums over the whole grid are all alike.
    widths = [width for width in WIDTHS if width // 2 < max(rough.shape) - 1 or width == 1]

    def structure(counts: Floats) -> Floats:
        total = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
        return np.stack([coherence(counts - total * share, width) for width in widths])

    drawn: list[Floats] = []
    for begin in range(0, DRAWS, at_once := max(_AT_ONCE // rough.size, 1)):
        # As many at once as memory is for.
        shape = (min(DRAWS - begin, at_once), *rough.shape)
        noise = generator.geometric(stop, shape) - generator.geometric(stop, shape)
        drawn.append(structure(generator.poisson(means, shape) + noise.astype(float)))
    laws = np.concatenate(drawn, axis=1)
    seen = structure(rough[None])[:, 0]
    found = [_chance_beyond(value, law) for value, law in zip(seen.tolist(), laws, strict=True)]
    # One cell that stands out is lost in sums of squares over many.
    for mean in np.unique(means):
        largest = float(rough[means == mean].max())
        found.append(rough.size * chance_of_count(largest, float(mean), rate))
    return min(1.0, (len(widths) + 1) * min(found))


def _chance_beyond(seen: float, drawn: Floats) -> float:
    """Chance of a value as large as the one seen, by the gamma law with moments of draws."""
    mean, variance = float(drawn.mean()), float(drawn.var(ddof=1))
    if variance <= 1e-9 * mean**2:
        return 1.0
    return float(special.gammaincc(mean**2 / variance, max(seen, 0.0) / (variance / mean)))


def chance_of_count(count: float, mean: float, rate: float) -> float:
    """Chance that a noisy count reaches this one, if the true one is Poisson with this mean.

    The rate is 1 over the scale of its two-sided geometric noise.
    """
    wide = _DEVIATIONS * (math.sqrt(mean) + 3)
    if mean < _LARGE:
        true = np.arange(max(math.floor(mean - wide), 0), math.ceil(mean + wide) + 1.0)
        weights = np.exp(special.xlogy(true, mean) - mean - special.gammaln(true + 1))
    else:
        true = np.linspace(mean - wide, mean + wide, _POINTS)
        weights = np.exp(-((true - mean) ** 2) / (2 * mean))
        weights /= weights.sum()
    more = count - true
    tail = np.exp(-rate * np.where(more > 0, more, 1 - more)) / (1 + math.exp(-rate))
    return float(weights @ np.where(more > 0, tail, 1 - tail))


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

"""Tests if released counts show records, and more structure than evenly spread records have."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.lazy import ndimage, special
from dpviz.wavecluster.deconvolution import Released, noise_variance

#: "structure": more than evenly spread records have. "even": records, but not more structure.
#: "unclear": like "even", but too few records or too much noise to decide. "noise": only noise.
Evidence = Literal["structure", "even", "unclear", "noise"]

#: Level of both tests together. Fitted distributions have too light tails: in measurements, up to
#: 1% of draws of even records gave "structure", and up to 1% of draws without records did not give
#: "noise".
FALSE_ALARM = 0.004

#: Widths, in cells, of the windows of sums in the test for structure: many small clusters are
#: visible in single counts, broad weak ones only in wide sums.
WIDTHS = (1, 3, 7, 15)

#: Number of simulated draws of evenly spread records, to which a distribution is fitted. FEW and
#: HURRIED are for a sketch of a large grid: fewest draws, and cells * draws.
DRAWS, FEW, HURRIED = 60, 8, 60_000

#: Largest number of cells that are simulated together, in several draws.
_AT_ONCE = 1 << 20

#: The test detects all but weak structures if (records per cell)^2 / (variance of a rough count) *
#: sqrt(number of cells) is at least this value.
ENOUGH = 50.0

#: Level of the test for structure from ENOUGH on. Structures that are not weak have smaller
#: chances; records that are a little uneven by accident have larger chances.
PLAIN = 1e-4

#: A count's distribution is summed over _DEVIATIONS; from the mean _LARGE on, it is normal.
_DEVIATIONS, _LARGE, _POINTS = 12.0, 1e6, 20_001


def evidence(
    released: Released, generator: np.random.Generator, *, hurried: bool = False
) -> Evidence:
    """Test the releases; the generator simulates evenly spread independent records to compare.

    If ``hurried``, a large grid gets fewer draws, so the levels are only approximate.
    """
    none = _chance_if_none(released) >= FALSE_ALARM / 2
    if released.rough.size == 1:
        # A single count can't be uneven.
        return "noise" if none else "structure"
    records = max(float(released.rough.mean()), 0.0)
    power = records**2 * math.sqrt(released.rough.size)
    plain = power >= ENOUGH * (records + noise_variance(released.rough_rate))
    level = PLAIN if plain else FALSE_ALARM / 2
    if _chance_if_even(released, generator, level, hurried=hurried) < level:
        return "structure"
    if none:
        return "noise"
    return "even" if plain else "unclear"


def coherence(deviations: Floats, width: int) -> Floats:
    """Sum (m,) of squared sums of deviations (m, g, ...) in windows of odd width around cells."""
    axes = tuple(range(1, deviations.ndim))
    sums = deviations
    for axis in axes:
        sums = width * ndimage.uniform_filter1d(sums, width, axis, mode="constant")
    return np.asarray((sums**2).sum(axis=axes))


def _chance_if_even(
    released: Released, generator: np.random.Generator, level: float, *, hurried: bool = False
) -> float:
    """Chance of such counts if records are spread evenly; if ``hurried``, any below ``level``."""
    rough, rate = released.rough, released.rough_rate
    room = np.ones(rough.shape) if released.room is None else released.room
    share = room / room.sum()
    means, stop = max(float(rough.sum()), 0.0) * share, -np.expm1(-rate)
    # Sums over the whole grid are all equal.
    widths = [width for width in WIDTHS if width // 2 < max(rough.shape) - 1 or width == 1]

    def structure(counts: Floats) -> Floats:
        total = counts.sum(axis=tuple(range(1, counts.ndim)), keepdims=True)
        return np.stack([coherence(counts - total * share, width) for width in widths])

    tests = len(widths) + 1
    # A single large count is not visible in sums of squares over many cells.
    found = [
        rough.size * chance_of_count(float(rough[means == mean].max()), float(mean), rate)
        for mean in np.unique(means)
    ]
    if hurried and tests * min(found) < level:
        return tests * min(found)
    draws = int(np.clip(HURRIED // rough.size, FEW, DRAWS)) if hurried else DRAWS
    drawn: list[Floats] = []
    for begin in range(0, draws, at_once := max(_AT_ONCE // rough.size, 1)):
        shape = (min(draws - begin, at_once), *rough.shape)
        noise = generator.geometric(stop, shape) - generator.geometric(stop, shape)
        drawn.append(structure(generator.poisson(means, shape) + noise.astype(float)))
    laws = np.concatenate(drawn, axis=1)
    seen = structure(rough[None])[:, 0]
    found += [_chance_beyond(value, law) for value, law in zip(seen.tolist(), laws, strict=True)]
    return min(1.0, tests * min(found))


def _chance_beyond(seen: float, drawn: Floats) -> float:
    """Chance of at least ``seen``, from the gamma distribution with the moments of the draws."""
    mean, variance = float(drawn.mean()), float(drawn.var(ddof=1))
    if variance <= 1e-9 * mean**2:
        return 1.0
    return float(special.gammaincc(mean**2 / variance, max(seen, 0.0) / (variance / mean)))


def chance_of_count(count: float, mean: float, rate: float) -> float:
    """Chance that a noisy count is at least ``count``, if the true count is Poisson (``mean``)."""
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
    """Chance of such a total and number of nonempty low cells, if there are no records."""
    missing = int(released.low.sum()) - released.zeros
    # This is the tail of geometric noise; the tail of Laplace noise is smaller.
    beyond = (
        math.exp(-released.zeros_rate * missing) / (1 + math.exp(-released.zeros_rate))
        if missing > 0
        else 1.0
    )
    deviation = math.sqrt(noise_variance(released.rough_rate) * released.rough.size)
    total = float(released.rough.sum())
    many = float(special.ndtr(-total / deviation)) if deviation else float(total <= 0)
    return min(1.0, 2 * min(beyond, many))

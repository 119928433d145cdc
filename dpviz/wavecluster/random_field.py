"""Samples of the true counts, given the released noisy counts.

An empirical Bayes random field: the prior of a cell's count depends on the mean of its neighbours,
and is multiplied by the likelihood of its releases. Gibbs sampling gives joint samples and learns
the prior.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from dpviz.base.arrays import Floats, Ints, Mask
from dpviz.base.compiled import compiled
from dpviz.wavecluster.deconvolution import Bins, Released, expectation_maximisation, likelihood
from dpviz.wavecluster.likely_cells import with_surroundings

#: Tables of the prior, by neighbours' mean; weight factor per further axis; power of heights.
TABLES, DIAGONAL, POWER = 9, 0.6, 2.0

#: Largest number of axes for which cells that touch at corners are neighbours.
MOST_AXES = 4

#: Most and fewest sweeps (the first third is not used); cells * sweeps in about half a second.
SWEEPS, FEWEST, WORK = 300, 40, 4_000_000

#: The same for a sketch: cells * sweeps of about a twentieth of a second, and fewest sweeps.
HURRIED, FEW = 400_000, 12

#: Number of samples that are kept.
SAMPLES = 50

#: Numbers with at least this rate are exact; the exponential of a higher rate overflows.
EXACT = 500.0

#: Smallest likelihood of a bin, relative to the likeliest bin: so small that it changes no sum, but
#: its products are not subnormal numbers, with which a processor computes much more slowly.
LEAST = 1e-250

#: Share of the tables that stays after a sweep; weight of the common prior in the tables, in cells.
MEMORY, PRIOR = 0.9, 2.0

#: Number of bins whose weights are added together.
PARCEL = 8

#: Penalty for n small counts that noise hides: this power of 1 / (1 + n). SPARSE is for the most
#: likely share of zeros; MILD is for an average, where SPARSE gives too few cells and 0 too many.
SPARSE, MILD = 0.75, 0.5

#: Shares of zeros to try: ZEROS evenly spaced shares until the share SCARCE of cells is filled;
#: then the number of filled cells is divided by FACTOR in each step, down to one cell.
ZEROS, SCARCE, FACTOR = 25, 0.02, 1.5

#: Weight of the 3 x 3 (x 3 ...) window around a cell in the cell's chance to be filled.
SURROUNDINGS = 0.3


def likely_counts(samples: Floats) -> Floats:
    """Samples (m, g, ...) without the records of the cells that are most likely empty.

    The cells that (with surroundings) are filled most often keep records; their number is the mean
    number of filled cells. A sample's small counts are at other, more scattered positions than true
    counts. With a long filter, coefficients near them would be positive, and the rank too large.
    """
    filled = (samples > 0).mean(axis=0)
    rank = with_surroundings(filled, SURROUNDINGS)
    number = round(float(filled.sum()))
    least = np.sort(rank, axis=None)[-number] if number else np.inf
    return np.asarray(samples * (rank >= least))


def field_samples(
    released: Released, density: float, generator: np.random.Generator, sweeps: int | None = None,
    *, hurried: bool = False,
) -> tuple[Floats, float]:  # fmt: skip
    """Samples (m, g, ...) of the counts given the releases, and expected number of filled cells.

    If ``hurried``, a large grid gets fewer sweeps, and its prior is searched in fewer steps.
    """
    shape, cells = released.noisy.shape, released.noisy.size
    noisy, rate, low = released.noisy.ravel(), released.rate.ravel(), released.low.ravel()
    if sweeps is None:
        sweeps = sweeps_of(cells, hurried=hurried)
    bins = Bins.up_to(max(float(noisy.max()), 1.0) + 2 / float(rate.min()))
    seen, row, times = _kinds(noisy, rate, low)
    parts = likelihood(seen[:, 0], seen[:, 1], bins.parts) * np.diff(bins.parts)
    chances = np.add.reduceat(parts, bins.first[:-1], axis=1) / np.diff(bins.edges)
    chances = chances / chances.max(axis=1, keepdims=True) + LEAST
    small = int(np.searchsorted(bins.lows, 0.5 / rate.min()))
    every = 2 if sweeps < sweeps_of(cells) and hurried else 1
    shares = zero_shares(released.noisy.size)[::every]
    prior, filled = _first_prior(chances, times, seen[:, 2] > 0, released, small, shares)
    posterior = chances * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    start = np.minimum(
        (posterior.cumsum(axis=1)[row] < generator.random((cells, 1))).sum(axis=1),
        bins.lows.size - 1,
    )
    near, weights = neighbours(shape)
    found = np.zeros((min(SAMPLES, sweeps - sweeps // 3), cells))
    height, width = heights(bins, posterior, times, density), prior.size
    total = np.zeros(cells)
    for place, weight in enumerate(weights):
        total[near[:, place] >= 0] += weight
    gibbs(
        seen[:, 0].copy(), seen[:, 1].clip(max=EXACT), chances, parts.cumsum(axis=1), row,
        bins.first, bins.parts, start, prior, height, near, weights, total, low,
        float(released.zeros), min(released.zeros_rate, EXACT), small, sweeps, found, generator,
        height[start], np.tile(prior, (TABLES, 1)), np.zeros((TABLES, width)),
        np.zeros(width + -width % PARCEL), np.empty(-(-width // PARCEL)), np.empty((2, cells + 1)),
    )  # fmt: skip
    return found.reshape(-1, *shape), filled


def _kinds(noisy: Floats, rate: Floats, low: Mask) -> tuple[Floats, Ints, Floats]:
    """Different releases (m, 3) in order, each cell's row (cells,), and cells per row (m,)."""
    # Releases are whole numbers, so many cells share a row. Sorting rows would take longer.
    levels = [np.unique(one) for one in (noisy, rate, low)]
    places = [np.searchsorted(*both) for both in zip(levels, (noisy, rate, low), strict=True)]
    shape = tuple(level.size for level in levels)
    code = np.ravel_multi_index(places, shape)
    times = np.bincount(code)
    found = np.flatnonzero(times)
    kinds = zip(levels, np.unravel_index(found, shape), strict=True)
    seen = np.stack([level[place] for level, place in kinds], axis=1).astype(float)
    return seen, (np.cumsum(times > 0) - 1)[code], times[found].astype(float)


def sweeps_of(cells: int, *, hurried: bool = False) -> int:
    """Number of sweeps for a grid with this number of cells; fewer for a sketch of a large grid."""
    if hurried:
        return int(np.clip(HURRIED // cells, FEW, sweeps_of(cells)))
    return int(np.clip(WORK // cells, FEWEST, SWEEPS))


def _first_prior(
    chances: Floats, times: Floats, low: Mask, released: Released, small: int,
    shares_of_zeros: Floats,
) -> tuple[Floats, float]:  # fmt: skip
    weights = expectation_maximisation(
        chances, np.full(chances.shape[1], 1 / chances.shape[1]), times, 80
    )
    shares = shares_of_zeros[:, None]
    start = np.append(1e-9, weights[1:] + 1e-12)
    tried = expectation_maximisation(chances, np.tile(start, (len(shares), 1)), times, 25, shares)
    mixed = tried @ chances.T
    rare = np.log1p(times.sum() * tried[:, 1:small].sum(axis=1))
    zeros = (times * chances[:, 0] * tried[:, :1] / mixed)[:, low].sum(axis=1)
    likely = np.log(mixed) @ times - released.zeros_rate * np.abs(zeros - released.zeros)
    prior = tried[np.argmax(likely - SPARSE * rare)]
    scores, filled = likely - MILD * rare, times.sum() * (1 - tried[:, 0])
    floored: Floats = np.maximum(prior, 1e-9)
    floored /= floored.sum()
    return floored, float(np.average(filled, weights=np.exp(scores - scores.max())))


def zero_shares(cells: int) -> Floats:
    """Shares of zeros to try for this number of cells; in a wide domain, few cells are filled."""
    number = max(math.floor(math.log(SCARCE * cells, FACTOR)), 0)
    filled = SCARCE * FACTOR ** -np.arange(1.0, number + 1)
    return np.asarray(np.append(np.linspace(0, 1 - SCARCE, ZEROS), 1 - filled))


def heights(bins: Bins, posterior: Floats, times: Floats, density: float) -> Floats:
    """Height of each bin, from 0 to 1, for the neighbours' mean; 1/2 at the threshold."""
    law = times @ posterior
    above = law[::-1].cumsum()[::-1]
    dense = np.flatnonzero(above >= (1 - density) * (above[0] - law[0]))
    threshold = max(float(bins.lows[dense[-1]]), 1.0)
    middle = ((bins.edges[:-1] + bins.edges[1:] - 1) / 2 / threshold) ** POWER
    return np.asarray(middle / (middle + 1))


def neighbours(shape: tuple[int, ...]) -> tuple[Ints, Floats]:
    """Flat numbers (cells, m) of the cells that touch each cell, and their weights (m,).

    Cells touch at faces or corners (m = 3^d - 1), above ``MOST_AXES`` axes only at faces (m = 2 d).
    The number -1 means outside.
    """
    index = np.full([side + 2 for side in shape], -1)
    index[tuple(slice(1, -1) for _ in shape)] = np.arange(np.prod(shape)).reshape(shape)
    if len(shape) <= MOST_AXES:
        steps = [step for step in product(range(3), repeat=len(shape)) if set(step) != {1}]
    else:
        axes_of = range(len(shape))
        steps = [
            tuple(to if axis == one else 1 for axis in axes_of) for one in axes_of for to in (0, 2)
        ]
    near = [
        index[tuple(slice(at, at + side) for at, side in zip(step, shape, strict=True))].ravel()
        for step in steps
    ]
    axes = np.array([sum(at != 1 for at in step) for step in steps])
    return np.stack(near, axis=1), DIAGONAL ** (axes - 1.0)


@compiled()
def within(low: float, high: float, noisy: float, rate: float, pick: float) -> float:
    """Sample a count from low to below high, given the noisy count, with a uniform prior.

    Noise is two-sided geometric with this rate. ``pick`` in [0, 1) is the position in the
    distribution, ordered from the noisy count downwards, then upwards.
    """
    below = min(max(np.floor(noisy) - low + 1, 0.0), high - low)
    above = high - low - below
    last, next_ = low + below - 1, low + below
    # Subtract the smallest distance, because all probabilities are tiny far from ``noisy``.
    nearest = min(noisy - last if below > 0 else np.inf, next_ - noisy if above > 0 else np.inf)
    down = up = 0.0
    if below > 0:
        down = -np.expm1(-rate * below) * np.exp(-rate * (noisy - last - nearest))
    if above > 0:
        up = -np.expm1(-rate * above) * np.exp(-rate * (next_ - noisy - nearest))
    pick *= down + up
    if above == 0 or pick < down:
        step = np.floor(-np.log1p(pick / down * np.expm1(-rate * below)) / rate)
        return float(last - min(step, below - 1))
    step = np.floor(-np.log1p((pick - down) / up * np.expm1(-rate * above)) / rate)
    return float(next_ + min(step, above - 1))


@compiled()
def gibbs(
    noisy: Floats, rates: Floats, chances: Floats, parts: Floats, row: Ints, first: Ints,
    edges: Floats, bin_of: Ints, prior: Floats, height: Floats, near: Ints, weights: Floats,
    total: Floats, low: Mask, zeros: float, zeros_rate: float, small: int, sweeps: int,
    found: Floats, generator: np.random.Generator, tall: Floats, tables: Floats, sums: Floats,
    weight: Floats, parcels: Floats, factors: Floats,
) -> None:  # fmt: skip
    """Sample all counts given the releases, cell by cell, into ``found`` (samples, cells).

    The probability of a cell's bin j is proportional to a product: its likelihood (m, J) for the
    cell's kind of release; its prior given the neighbours' mean height, interpolated between
    tables; exp(-rate * abs(number of zeros among the low cells - released number)); and, for bins 1
    to below ``small``, ((1 + n) / (2 + n)) ** SPARSE if n other cells have small counts. Tables are
    running means of these probabilities over the sweeps. ``parts`` (m, I) are cumulative;
    ``bin_of`` (cells,) changes, and so does ``tall``, its heights. ``total`` has each cell's sum of
    the weights of its neighbours. ``tables`` start as the prior, ``sums`` and ``weight`` as zeros;
    the last two arrays are memory. Numba compiles much faster if a function makes no arrays.
    """
    cells, bins = row.size, chances.shape[1]
    every = (sweeps - sweeps // 3) // found.shape[0]
    rare_of, none_of = factors[0], factors[1]
    for number in range(cells + 1):
        rare_of[number] = ((1.0 + number) / (2.0 + number)) ** SPARSE
        nearer = abs(number + 1 - zeros) - abs(number - zeros)
        none_of[number] = math.exp(-zeros_rate * nearer)
    empty, few = 0, 0
    for cell in range(cells):
        empty += low[cell] and bin_of[cell] == 0
        few += 0 < bin_of[cell] < small
    for sweep in range(sweeps):
        for table in range(TABLES):
            for j in range(bins):
                sums[table, j] *= MEMORY
        for cell in range(cells):
            mean = 0.0
            for place in range(weights.size):
                other = near[cell, place]
                if other >= 0:
                    mean += weights[place] * tall[other]
            at = min(mean / total[cell] if total[cell] > 0 else 0.0, 0.999) * (TABLES - 1)
            table = int(at)
            share = at - table
            rest = 1 - share
            chance, lower, upper = chances[row[cell]], tables[table], tables[table + 1]
            for j in range(bins):
                weight[j] = chance[j] * (rest * lower[j] + share * upper[j])
            if low[cell]:
                empty -= bin_of[cell] == 0
                weight[0] *= none_of[empty]
            few -= 0 < bin_of[cell] < small
            for j in range(1, small):
                weight[j] *= rare_of[few]
            # A chain of additions is slow: parcels of bins are added in parallel and searched
            # first.
            whole = 0.0
            for parcel in range(parcels.size):
                added = 0.0
                for j in range(parcel * PARCEL, (parcel + 1) * PARCEL):
                    added += weight[j]
                parcels[parcel] = added
                whole += added
            pick, parcel = generator.random() * whole, 0
            while parcel < parcels.size - 1 and parcels[parcel] <= pick:
                pick -= parcels[parcel]
                parcel += 1
            chosen = parcel * PARCEL
            below = weight[chosen]
            while below < pick and chosen < bins - 1:
                chosen += 1
                below += weight[chosen]
            bin_of[cell], tall[cell] = chosen, height[chosen]
            empty += low[cell] and chosen == 0
            few += 0 < chosen < small
            less = rest * (1 - MEMORY) / whole
            more = share * (1 - MEMORY) / whole
            below_it, above_it = sums[table], sums[table + 1]
            for j in range(bins):
                below_it[j] += less * weight[j]
            for j in range(bins):
                above_it[j] += more * weight[j]
        for table in range(TABLES):
            whole = 0.0
            for j in range(bins):
                value = sums[table, j]
                if j > 0:  # smoothed over adjacent bins, except the bin of zeros
                    beside = sums[table, max(j - 1, 1)] + sums[table, min(j + 1, bins - 1)]
                    value = 0.7 * value + 0.15 * beside
                tables[table, j] = value + PRIOR * prior[j]
                whole += tables[table, j]
            for j in range(bins):
                tables[table, j] /= whole
        kept = (sweep - sweeps // 3) // every
        if sweep >= sweeps // 3 and (sweep - sweeps // 3) % every == 0 and kept < found.shape[0]:
            for cell in range(cells):
                low_part, high_part = first[bin_of[cell]], first[bin_of[cell] + 1]
                base = parts[row[cell], low_part - 1] if low_part > 0 else 0.0
                pick = base + generator.random() * (parts[row[cell], high_part - 1] - base)
                part = low_part
                while part < high_part - 1 and parts[row[cell], part] < pick:
                    part += 1
                kind, count = row[cell], edges[part]
                if edges[part + 1] > count + 1:
                    pick = generator.random()
                    count = within(count, edges[part + 1], noisy[kind], rates[kind], pick)
                found[kept, cell] = count

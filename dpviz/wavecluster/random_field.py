"""Samples of the true counts, given the noisy ones that were released.

An empirical Bayes random field. A cell's count has a prior that depends on the mean of its
neighbours, learned on the way, times the likelihood of what was released of it; Gibbs sampling
gives samples of all counts at once.

Post-processing alone: nothing here reads data, and any other estimate is as private.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.compiled import compiled
from dpviz.wavecluster.deconvolution import Bins, Released, expectation_maximisation, likelihood
from dpviz.wavecluster.likely_cells import with_surroundings

#: Tables of the prior, by the neighbours' mean; weight of a neighbour for each further axis in
#: which it differs; power of a count in the mean.
TABLES, DIAGONAL, POWER = 9, 0.6, 2.0

#: Axes up to which cells that touch at corners are neighbours.
MOST_AXES = 4

#: Sweeps over all cells, and cells times sweeps that take about half a second; a third of the
#: sweeps is thrown away.
SWEEPS, FEWEST, WORK = 300, 40, 4_000_000

#: Samples that are kept.
SAMPLES = 50

#: From this rate on a number is exact; the exponential of a larger one overflows.
EXACT = 500.0

#: Share of the tables that a sweep keeps; weight of the common prior in them, in cells.
MEMORY, PRIOR = 0.9, 2.0

#: Bins that are added at once.
PARCEL = 8

#: How unlikely small counts are that the noise hides: power of 1 + their number. The second, where
#: all shares of zeros have their say: that of the likeliest leaves out too many filled cells, none
#: at all leaves out too few.
SPARSE, MILD = 0.75, 0.5

#: Shares of zeros that are tried: so many evenly spaced ones, until this share of cells is filled,
#: then one for each such factor, until a single one is.
ZEROS, SCARCE, FACTOR = 25, 0.02, 1.5

#: Weight of the mean of the 3 x 3 (x 3 ...) cells around a cell in how likely it is filled.
SURROUNDINGS = 0.3


def likely_counts(samples: Floats) -> Floats:
    """Samples (m, g, ...) without the records of the cells that are likeliest to be empty.

    As many cells keep theirs as are filled in a sample on average: those that are filled in the
    most samples, with their surroundings. Where small counts are is uncertain, so each sample has
    them in other places, more scattered than the true ones. Every coefficient of a filter whose
    reach holds one of them would be positive, and the rank too large.
    """
    filled = (samples > 0).mean(axis=0)
    rank = with_surroundings(filled, SURROUNDINGS)
    number = round(float(filled.sum()))
    least = np.sort(rank, axis=None)[-number] if number else np.inf
    found: Floats = samples * (rank >= least)
    return found


def field_samples(
    released: Released, density: float, generator: np.random.Generator, sweeps: int | None = None
) -> tuple[Floats, float]:
    """Samples (m, g, ...) of the counts given what was released, and how many cells are filled.

    Arguments as in :func:`dpviz.wavecluster.significant.estimate`; without a number of sweeps over
    all cells, as many as the number of cells allows. The number of filled cells is by their law.
    """
    shape, cells = released.noisy.shape, released.noisy.size
    noisy, rate, low = released.noisy.ravel(), released.rate.ravel(), released.low.ravel()
    if sweeps is None:
        sweeps = sweeps_of(cells)
    bins = Bins.up_to(max(float(noisy.max()), 1.0) + 2 / float(rate.min()))
    # Cells with the same releases share a row: whole numbers repeat.
    kinds, row, repeated = np.unique(
        np.stack([noisy, rate, low], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    row, times = row.reshape(-1), repeated.astype(float)
    seen: Floats = kinds.astype(float)
    parts = likelihood(seen[:, 0], seen[:, 1], bins.parts) * np.diff(bins.parts)
    chances = np.add.reduceat(parts, bins.first[:-1], axis=1) / np.diff(bins.edges)
    chances = chances / chances.max(axis=1, keepdims=True) + 1e-300
    small = int(np.searchsorted(bins.lows, 0.5 / rate.min()))
    prior, filled = _first_prior(chances, times, seen[:, 2] > 0, released, small)
    posterior = chances * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    start = np.minimum(
        (posterior.cumsum(axis=1)[row] < generator.random((cells, 1))).sum(axis=1),
        bins.lows.size - 1,
    )
    near, weights = neighbours(shape)
    found = np.zeros((min(SAMPLES, sweeps - sweeps // 3), cells))
    gibbs(
        seen[:, 0], seen[:, 1].clip(max=EXACT), chances, parts.cumsum(axis=1), row, bins.first,
        bins.parts, start, prior,
        heights(bins, posterior, times, density), near, weights, low, float(released.zeros),
        min(released.zeros_rate, EXACT), small, sweeps, found, generator,
    )  # fmt: skip
    return found.reshape(-1, *shape), filled


def sweeps_of(cells: int) -> int:
    """Sweeps over so many cells."""
    return int(np.clip(WORK // cells, FEWEST, SWEEPS))


def _first_prior(
    chances: Floats, times: Floats, low: NDArray[np.bool_], released: Released, small: int
) -> tuple[Floats, float]:
    """Prior of the likeliest share of zeros, and the filled cells as a mean over all shares."""
    weights = expectation_maximisation(
        chances, np.full(chances.shape[1], 1 / chances.shape[1]), times, 80
    )
    shares = zero_shares(released.noisy.size)[:, None]
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
    """Shares of zeros to try on so many cells: in a box far wider than its data, few are filled."""
    number = max(math.floor(math.log(SCARCE * cells, FACTOR)), 0)
    filled = SCARCE * FACTOR ** -np.arange(1.0, number + 1)
    found: Floats = np.append(np.linspace(0, 1 - SCARCE, ZEROS), 1 - filled)
    return found


def heights(bins: Bins, posterior: Floats, times: Floats, density: float) -> Floats:
    """Height of each bin, from 0 to 1, as it enters the neighbours' mean: 1/2 at the threshold."""
    law = times @ posterior
    above = law[::-1].cumsum()[::-1]
    dense = np.flatnonzero(above >= (1 - density) * (above[0] - law[0]))
    threshold = max(float(bins.lows[dense[-1]]), 1.0)
    middle = ((bins.edges[:-1] + bins.edges[1:] - 1) / 2 / threshold) ** POWER
    found: Floats = middle / (middle + 1)
    return found


def neighbours(shape: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    """Flat numbers of the cells that touch each cell, corners included, and their weights.

    Shapes (cells, m), -1 beyond the grid, and (m,) with m = 3^d - 1. On more than ``MOST_AXES``
    axes only those that share a face, m = 2 d: corners would be too many.
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
    """A count from low to below high, given the noisy one, if all of these were as likely before.

    Its probability is that of the noise, two-sided geometric of this rate. ``pick`` in [0, 1) is
    the place in the distribution, whose order is from the noisy count downwards, then upwards from
    it.
    """
    below = min(max(np.floor(noisy) - low + 1, 0.0), high - low)
    above = high - low - below
    last, next_ = low + below - 1, low + below
    # Distances beyond the nearer one: far from the noisy count all probabilities are tiny.
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
    noisy: Floats,
    rates: Floats,
    chances: Floats,
    parts: Floats,
    row: NDArray[np.int64],
    first: NDArray[np.int64],
    edges: Floats,
    bin_of: NDArray[np.int64],
    prior: Floats,
    height: Floats,
    near: NDArray[np.int64],
    weights: Floats,
    low: NDArray[np.bool_],
    zeros: float,
    zeros_rate: float,
    small: int,
    sweeps: int,
    found: Floats,
    generator: np.random.Generator,
) -> None:
    """Sample all counts given the releases, cell by cell.

    A cell's bin j has the probability of chance * prior of j given the neighbours' mean height,
    linear between tables; times exp(-rate * abs(zeros among the low cells - the released number));
    and bins of small counts times ((1 + n) / (2 + n)) ** SPARSE, n being their number among the
    other cells. Tables are running means of these probabilities over the sweeps.

    Parameters
    ----------
    noisy, rates, chances, parts
        Of each kind of release: noisy count and rate, shape (m,); likelihood of each bin, and
        cumulated likelihood of the parts, shapes (m, J) and (m, I).
    row, bin_of
        Kind of each cell, and the bins to start from, which change: shape (cells,).
    first, edges
        Parts of the bins and their edges, as in :class:`Bins`.
    prior, height, near, weights
        Shape (J,); as from :func:`neighbours`.
    small, found
        Bins from 1 to below this are small; samples to fill, shape (samples, cells).
    """
    cells, bins = row.size, chances.shape[1]
    tables = np.empty((TABLES, bins))
    tables[:] = prior
    sums = np.zeros((TABLES, bins))
    weight, parcels = np.empty(bins), np.empty((bins + PARCEL - 1) // PARCEL)
    every = (sweeps - sweeps // 3) // found.shape[0]
    # Powers and exponentials of whole numbers, computed once.
    number = np.arange(cells + 1)
    rare_of = ((1.0 + number) / (2.0 + number)) ** SPARSE
    none_of = np.exp(-zeros_rate * (np.abs(number + 1 - zeros) - np.abs(number - zeros)))
    tall, total = height[bin_of], np.zeros(cells)
    empty, few = 0, 0
    for cell in range(cells):
        empty += low[cell] and bin_of[cell] == 0
        few += 0 < bin_of[cell] < small
        for place in range(weights.size):
            total[cell] += weights[place] if near[cell, place] >= 0 else 0.0
    for sweep in range(sweeps):
        sums *= MEMORY
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
            # A chain of additions waits for each: parcels of a few bins are added side by side,
            # and the search goes over parcels first.
            whole = 0.0
            for parcel in range(parcels.size):
                added = 0.0
                for j in range(parcel * PARCEL, min((parcel + 1) * PARCEL, bins)):
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
            for j in range(bins):
                value = sums[table, j]
                if j > 0:  # smoothed over adjacent bins, but for zeros
                    beside = sums[table, max(j - 1, 1)] + sums[table, min(j + 1, bins - 1)]
                    value = 0.7 * value + 0.15 * beside
                tables[table, j] = value + PRIOR * prior[j]
            tables[table] /= tables[table].sum()
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

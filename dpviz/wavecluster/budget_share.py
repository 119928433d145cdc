"""Choose the budget share of the first release of all counts, from the coarsest release alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.wavecluster.deconvolution import Bins, expectation_maximisation, likelihood

#: Possible shares of the budget, from the smallest; the last release uses the whole budget.
SHARES = (0.4, 0.5, 0.65, 0.8)

#: If cells * epsilon^2 (a public number) is below SMALL_BUDGET, only shares of at least LARGE are
#: tried, because the number of zeros is too noisy with any share.
SMALL_BUDGET, LARGE = 64.0, 0.65

#: If cells * epsilon^2 is below this, no count is low: finer counts are more useful than zeros.
TINY_BUDGET = 4.0

#: Number of steps that estimate the distribution of the counts.
STEPS = 60


class Choice(NamedTuple):
    """Index of the share in ``SHARES``; counts below ``limit`` are low."""

    share: int
    limit: float


def choose_share(noisy: Floats, rate: float, density: float) -> Choice:
    """Choose the share for which the fewest cells cross the density threshold.

    Low cells look like empty cells. They use the remaining budget for their number of zeros; other
    cells use it for a finer release. A small share makes dense cells low; a large share adds noise
    to the number of zeros, and so to the rank. ``noisy`` are counts released with the first of
    ``SHARES``; ``rate`` is 1 / scale of the noise with the whole budget.
    """
    cells, first = noisy.size, SHARES[0] * rate
    if cells * rate**2 < TINY_BUDGET:
        return Choice(0, -math.inf)
    bins = Bins.up_to(max(float(noisy.max()), 1) + 1 / first, 1)
    values, times = np.unique(noisy, return_counts=True)
    law = expectation_maximisation(
        likelihood(values, np.full(values.size, first), bins.edges) + 1e-300,
        np.full(bins.lows.size, 1 / bins.lows.size),
        times.astype(float),
        STEPS,
    )
    # Noise hides such small counts, so they are treated as zeros.
    filled = np.where((bins.lows < 0.5 / first) | (bins.lows == 0), 0.0, law)
    above = np.append(np.cumsum(filled[::-1])[::-1], 0.0)
    threshold = float(np.interp(-(1 - density) * above[0], -above, bins.edges))
    width = max(threshold / 4, 2 / first)
    around = np.interp([threshold - width / 2, threshold + width / 2], bins.edges, above)
    # Number of cells per record near the threshold, times a typical error.
    near = 3 * cells * float(around[0] - around[1]) / width
    best = (math.inf, Choice(0, 2 / first))
    for number, share in enumerate(SHARES):
        if share < LARGE and cells * rate**2 < SMALL_BUDGET:
            continue
        rest = (1 - share) * rate
        limit = min(max(math.log(max(cells * rest**2, 1e-9)), 2.0), 4.0)
        above_limit = limit - share * rate * threshold
        low = 0.5 * math.exp(-abs(above_limit))
        low = low if above_limit < 0 else 1 - low
        wrong = near * (1 - low + low / share)
        wrong += (1 - density) / ((1 - share) * (1 - math.exp(-limit) / 2))
        best = min(best, (wrong, Choice(number, limit / (share * rate))))
    return best[1]

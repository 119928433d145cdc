"""How much of the budget a first release of all counts gets, from its coarsest release alone.

Post-processing of what was released: any other choice is as private.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz.wavecluster.deconvolution import Bins, expectation_maximisation, likelihood

#: Shares of the budget to choose from, from the smallest; the last release takes all of it.
SHARES = (0.4, 0.5, 0.65, 0.8)

#: The budget is small where cells times epsilon squared is below this, which is public. There only
#: shares from ``LARGE`` on are tried: the number of zeros is too noisy with any share to be worth
#: more.
SMALL_BUDGET, LARGE = 64.0, 0.65

#: Below this no count is low, so all get the whole budget: the number of zeros would tell less
#: than what the rest of the budget buys for the counts themselves.
TINY_BUDGET = 4.0

#: Steps that recover the law of the counts.
STEPS = 60


class Choice(NamedTuple):
    """Number of the share in ``SHARES``; counts below ``limit`` are low, none below -infinity."""

    share: int
    limit: float


def choose_share(noisy: NDArray[np.float64], rate: float, density: float) -> Choice:
    """Share with which the fewest cells change sides of the density threshold.

    Low cells, which the noise of the first release can't tell from empty ones, then pay with the
    rest for their number of zeros; the others for a finer release. A small share makes dense
    cells low; a large one makes the number of zeros noisy, and with it the rank.

    ``noisy`` are counts released with the first of ``SHARES``, any shape; ``rate`` is epsilon of
    all releases per record: 1 over the scale of noise with the whole budget.
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
    # The noise hides what counts so small are: taken for zeros.
    filled = np.where((bins.lows < 0.5 / first) | (bins.lows == 0), 0.0, law)
    above = np.append(np.cumsum(filled[::-1])[::-1], 0.0)
    threshold = float(np.interp(-(1 - density) * above[0], -above, bins.edges))
    width = max(threshold / 4, 2 / first)
    around = np.interp([threshold - width / 2, threshold + width / 2], bins.edges, above)
    # Cells for each record more or less, times a typical error.
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

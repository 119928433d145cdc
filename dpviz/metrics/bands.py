"""Summary of one score over many draws: the median, and a band that contains nine of ten draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Quantiles at the ends of the band; nine of ten draws are between them.
LOW, HIGH = 0.05, 0.95

#: Probability that an interval for a median contains the median.
CONFIDENCE = 0.99

#: Smallest number of draws for these quantiles. With fewer draws, the band contains all draws.
ENOUGH = round(1 / LOW) - 1


@dataclass(frozen=True, kw_only=True)
class Band:
    """Mean, median, 5% and 95% quantile of one score; for few draws, lowest and highest value."""

    mean: float
    median: float
    low: float
    high: float


def band(values: ArrayLike) -> Band:
    """Summarize the values (R >= 1,) of one score; from whole values, the ends are whole, too."""
    found = np.asarray(values, dtype=float)
    low, median, high = quantiles(found, (LOW, 0.5, HIGH))
    if np.array_equal(found, np.rint(found)):
        # Round outwards, so that the band does not become narrower; ignore rounding errors.
        low, high = float(np.floor(round(low, 6))), float(np.ceil(round(high, 6)))
    return Band(mean=float(found.mean()), median=median, low=low, high=high)


def quantiles(values: NDArray[np.float64], shares: Sequence[float]) -> list[float]:
    """Quantiles of values (R,), which may be infinite; all are NaN if one value is NaN.

    The draw of rank r among n draws is the quantile r / (n + 1). On average, (s - r) / (n + 1) of
    further draws are between ranks r < s, so the band covers nine of ten draws if n >= 19 (NumPy's
    default covers 86% with 50 draws). Hyndman, Fan 1996, type 6.
    """
    if np.isnan(values).any():
        return [math.nan] * len(shares)
    if np.isfinite(values).all():
        return [float(one) for one in np.quantile(values, shares, method="weibull")]
    # Interpolation with an infinite value is impossible, so use the next draw farther outside.
    ranks = np.quantile(np.arange(values.size), shares, method="weibull").round(6)
    outwards = np.where(np.less_equal(shares, 0.5), np.floor(ranks), np.ceil(ranks))
    return [float(one) for one in np.sort(values)[outwards.astype(int)]]


def sign_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Ends of the interval of the sign test for the median of a distribution, from values (R,).

    It contains the median with a probability of at least ``confidence``, for any distribution. With
    too few values (fewer than 8 for 99%), its ends are infinite. Conover (1999), section 3.2.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    # Whole numbers, because 2 to the power of many draws is too large for a float.
    n, tails = ordered.size, round(2 / (1 - confidence))
    cut = sum(tails * below <= 2**n for below in accumulate(math.comb(n, one) for one in range(n)))
    if not cut or np.isnan(ordered).any():
        return -math.inf, math.inf
    return float(ordered[cut - 1]), float(ordered[-cut])


def band_words(draws: int) -> str:
    """Words for the range of a band: "5% to 95% of draws", or "all 10 draws" if draws are few."""
    if draws >= ENOUGH:
        return "5% to 95% of draws"
    return "the one draw" if draws == 1 else f"all {draws} draws"


def end_names(least: int, most: int = 0) -> tuple[str, str]:
    """Names of table columns for the ends of bands with ``least`` draws, or up to ``most``."""
    if least >= ENOUGH:
        return "5%", "95%"
    return ("5% or lowest", "95% or highest") if most >= ENOUGH else ("lowest", "highest")

"""Summary of many draws of one score: their median, and the band with nine in ten draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Ends of the band: nine draws in ten lie between.
LOW, HIGH = 0.05, 0.95

#: Minimum number of draws for these ends; with fewer, the band is from the lowest to the highest.
ENOUGH = round(1 / LOW) - 1


@dataclass(frozen=True, kw_only=True)
class Band:
    """Mean and median of one score, and its 5% and 95% quantiles.

    With fewer than ``ENOUGH`` draws, low and high are the lowest and the highest draw.
    """

    mean: float
    median: float
    low: float
    high: float


def band(values: ArrayLike) -> Band:
    """Sum up the draws (R,) of one score, at least one of them; ends of counts are whole."""
    found = np.asarray(values, dtype=float)
    low, median, high = quantiles(found, (LOW, 0.5, HIGH))
    if np.array_equal(found, np.rint(found)):
        # Outwards, so that the band covers no less; ignores errors in the last bits.
        low, high = float(np.floor(round(low, 6))), float(np.ceil(round(high, 6)))
    return Band(mean=float(found.mean()), median=median, low=low, high=high)


def quantiles(values: NDArray[np.float64], shares: Sequence[float]) -> list[float]:
    """Quantiles of values (R,), of which some may be infinite: NaN where one is NaN.

    Notes
    -----
    The draw of rank r among n draws is the quantile r / (n + 1). For any distribution without
    ties, (s - r) / (n + 1) of all further draws lie between the ranks r < s on average. So with
    n >= 19 draws, the band from 5% to 95% covers nine in ten. NumPy's default rule
    covers 86% with 50 draws. Hyndman, Fan 1996, type 6.
    """
    if np.isnan(values).any():
        return [math.nan] * len(shares)
    if np.isfinite(values).all():
        return [float(one) for one in np.quantile(values, shares, method="weibull")]
    # Next to an infinite ratio, interpolation is impossible: use the next draw outwards.
    ranks = np.quantile(np.arange(values.size), shares, method="weibull").round(6)
    outwards = np.where(np.less_equal(shares, 0.5), np.floor(ranks), np.ceil(ranks))
    return [float(one) for one in np.sort(values)[outwards.astype(int)]]


def band_words(draws: int) -> str:
    """Name the range of the band of these draws: "5% to 95% of draws", "all 10 draws"."""
    if draws >= ENOUGH:
        return "5% to 95% of draws"
    return "the one draw" if draws == 1 else f"all {draws} draws"


def end_names(draws: int) -> tuple[str, str]:
    """Names of the columns with the ends of the band, for a number of draws."""
    return ("5%", "95%") if draws >= ENOUGH else ("lowest", "highest")

"""Summary of one score over many draws: the median, and the band that has nine of ten draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Quantiles at the ends of the band; nine of ten draws are between them.
LOW, HIGH = 0.05, 0.95

#: Smallest number of draws for these ends. With fewer draws, the band has all draws.
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
    """Summarize the values (R,) of one score, R at least 1; for counts the ends are whole."""
    found = np.asarray(values, dtype=float)
    low, median, high = quantiles(found, (LOW, 0.5, HIGH))
    if np.array_equal(found, np.rint(found)):
        # Rounded outwards, so that the band covers at least as much; ignores errors in last bits.
        low, high = float(np.floor(round(low, 6))), float(np.ceil(round(high, 6)))
    return Band(mean=float(found.mean()), median=median, low=low, high=high)


def quantiles(values: NDArray[np.float64], shares: Sequence[float]) -> list[float]:
    """Quantiles of values (R,); values may be infinite. All are NaN if one value is NaN.

    Notes
    -----
    The draw of rank r among n draws is the quantile r / (n + 1). For any distribution without
    ties, on average (s - r) / (n + 1) of all further draws are between the ranks r < s. So the band
    from 5% to 95% covers nine of ten draws if n >= 19. NumPy's default rule covers 86% with 50
    draws. See Hyndman, Fan 1996, type 6.
    """
    if np.isnan(values).any():
        return [math.nan] * len(shares)
    if np.isfinite(values).all():
        return [float(one) for one in np.quantile(values, shares, method="weibull")]
    # Interpolation with an infinite value is impossible: use the next draw outwards.
    ranks = np.quantile(np.arange(values.size), shares, method="weibull").round(6)
    outwards = np.where(np.less_equal(shares, 0.5), np.floor(ranks), np.ceil(ranks))
    return [float(one) for one in np.sort(values)[outwards.astype(int)]]


def band_words(draws: int) -> str:
    """Words for the range of the band of these draws: "5% to 95% of draws", "all 10 draws"."""
    if draws >= ENOUGH:
        return "5% to 95% of draws"
    return "the one draw" if draws == 1 else f"all {draws} draws"


def end_names(draws: int) -> tuple[str, str]:
    """Names of the table columns for the ends of the band of these draws."""
    return ("5%", "95%") if draws >= ENOUGH else ("lowest", "highest")

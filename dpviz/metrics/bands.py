"""What many draws of one score say: their median, and the band that holds nine in ten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Ends of the band: nine draws in ten lie between.
LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True, kw_only=True)
class Band:
    """Mean, median and 5% to 95% quantiles of one score."""

    mean: float
    median: float
    low: float
    high: float


def band(values: ArrayLike) -> Band:
    """Sum up the draws (R,) of one score, at least one of them."""
    found = np.asarray(values, dtype=float)
    low, median, high = quantiles(found, (LOW, 0.5, HIGH))
    return Band(mean=float(found.mean()), median=median, low=low, high=high)


def quantiles(values: NDArray[np.float64], shares: Sequence[float]) -> list[float]:
    """Quantiles of values (R,), of which some may be infinite."""
    # Between an infinite ratio and another nothing can be interpolated.
    rule: Literal["linear", "inverted_cdf"]
    rule = "linear" if np.isfinite(values).all() else "inverted_cdf"
    return [float(value) for value in np.quantile(values, shares, method=rule)]

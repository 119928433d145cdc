"""A coarse estimate of the counts: the noisy ones, smoothed as widely as they themselves ask for.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from dpviz.base.arrays import Floats
from dpviz.wavecluster.deconvolution import Released, noise_variance

#: Standard deviations of the Gaussian weights, in cells: from hardly any smoothing on, each sqrt(2)
#: times as wide as the last. Wider ones hardly ever have the least risk.
WIDTHS = tuple(2.0 ** (step / 2) for step in range(-3, 5))

#: Power of the risks in the trust: 1 would be right for errors that are independent, but those of
#: two estimates from the same releases are not, and then the better one is worth nearly all.
SHARPNESS = 4.0


class Smoothed(NamedTuple):
    """Estimates of the counts, and of their mean squared error, in squared records."""

    counts: Floats
    risk: float

    def trust(self, other: float) -> float:
        """Share of this estimate beside another one of the counts, by that one's risk."""
        return float(1 / (1 + (self.risk / max(other, _LEAST)) ** SHARPNESS))


_LEAST = 1e-9


def smoothed(released: Released) -> Smoothed:
    """Smooth the rough counts with the width of the least risk.

    The risk is Stein's unbiased estimate for an estimate that is linear in the noisy counts: mean
    squared residual, plus twice the variance of the noise times a count's mean weight in its own
    estimate, minus this variance. It holds for any noise of a known variance.

    Notes
    -----
    Stein, Estimation of the mean of a multivariate normal distribution, Annals of Statistics 1981;
    for linear estimates it is Mallows' C_p.
    """
    noisy, variance = released.rough, noise_variance(released.rough_rate)
    found = []
    for width in WIDTHS:
        inside = _blurred(np.ones(noisy.shape), width)
        counts = _blurred(noisy, width) / inside
        own = float((_own_weight(width) ** noisy.ndim / inside).mean())
        risk = float(((noisy - counts) ** 2).mean()) + variance * (2 * own - 1)
        found.append(Smoothed(counts, max(risk, _LEAST)))
    return min(found, key=lambda one: one.risk)


def _blurred(values: Floats, width: float) -> Floats:
    """Sums with Gaussian weights; there is nothing beyond the grid."""
    found: Floats = ndimage.gaussian_filter(values, width, mode="constant")
    return found


def _own_weight(width: float) -> float:
    """Weight of a cell itself along one axis, far from the edge."""
    impulse = np.zeros(2 * math.ceil(5 * width) + 1)
    impulse[impulse.size // 2] = 1.0
    return float(_blurred(impulse, width).max())

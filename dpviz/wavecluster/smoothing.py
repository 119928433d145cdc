"""A coarse estimate of the counts: noisy counts, smoothed with a width that they determine."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.lazy import ndimage
from dpviz.wavecluster.deconvolution import Released, noise_variance

#: Standard deviations of the Gaussian weights, in cells. The first gives nearly no smoothing; each
#: next width is sqrt(2) times larger. Larger widths almost never have the smallest risk.
WIDTHS = tuple(2.0 ** (step / 2) for step in range(-3, 5))

#: Power of the risks in the trust. For independent errors this power would be 1. But errors of two
#: estimates from the same releases are not independent, so the better estimate gets more weight.
SHARPNESS = 4.0


class Smoothed(NamedTuple):
    """Estimate of the counts, and estimate of its mean squared error, in squared records."""

    counts: Floats
    risk: float

    def trust(self, other: float) -> float:
        """Weight of this estimate, between 0 and 1, relative to an estimate with another risk."""
        return float(1 / (1 + (self.risk / max(other, _LEAST)) ** SHARPNESS))


_LEAST = 1e-9


def smoothed(released: Released, *, hurried: bool = False) -> Smoothed:
    """Smooth the rough counts with the width that has the smallest risk.

    The risk is Stein's unbiased risk (Annals of Statistics 1981; Mallows' C_p), for any noise of
    known variance. It is the mean squared residual, plus twice the variance times the mean weight
    of a count in its own estimate, minus the variance. If ``hurried``, try every second width.
    """
    noisy, variance = released.rough, noise_variance(released.rough_rate)
    found = []
    for width in WIDTHS[:: 1 + hurried]:
        inside = _blurred(np.ones(noisy.shape), width)
        counts = _blurred(noisy, width) / inside
        own = float((_own_weight(width) ** noisy.ndim / inside).mean())
        risk = float(((noisy - counts) ** 2).mean()) + variance * (2 * own - 1)
        found.append(Smoothed(counts, max(risk, _LEAST)))
    return min(found, key=lambda one: one.risk)


def _blurred(values: Floats, width: float) -> Floats:
    return np.asarray(ndimage.gaussian_filter(values, width, mode="constant"))


def _own_weight(width: float) -> float:
    impulse = np.zeros(2 * math.ceil(5 * width) + 1)
    impulse[impulse.size // 2] = 1.0
    return float(_blurred(impulse, width).max())

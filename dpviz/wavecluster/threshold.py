"""Density threshold and significant cells of an average subband; some techniques replace both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.base.errors import InputError, check_number
from dpviz.wavecluster.wavelet import ZERO, rank_of


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Density threshold of one run: a cell is significant if W >= d (infinity: no cell can be).

    ``k`` is the rank among the positive coefficients, or None if secret (PrivTHREM). PrivTHR omits
    the ``pruned`` smallest positive coefficients; ``estimate`` is its Z', the noisy Z. ``sampled``
    numbers are medians over samples (Two-stage); then no threshold on the subband gives the mask.
    """

    k: int | None
    value: float
    positive: int
    nonpositive: int
    pruned: int = 0
    estimate: float | None = None
    sampled: bool = False

    @property
    def kept(self) -> int:
        """Number of positive coefficients to which the rank is applied."""
        return self.positive - self.pruned


def check_density(density: float) -> float:
    """Return p as a float; raise InputError if it is not inside (0, 1)."""
    check_number("density p", density)
    if not 0 < density < 1:
        raise InputError(
            f"density p = {density:g} must lie between 0 and 1, both excluded: it is the share "
            "of positive coefficients that are not significant, for example 0.5."
        )
    return float(density)


def positive_values(average: Floats) -> Floats:
    """Positive coefficients L in ascending order."""
    return np.sort(average[average >= ZERO], axis=None)


def density_threshold(average: Floats, density: float) -> Threshold:
    """Threshold d, the k-th largest positive coefficient (Chen, Yu, Chirkova, section 3.2)."""
    values = average[average >= ZERO]
    k = rank_of(density, values.size)
    value = float(np.partition(values, values.size - k)[values.size - k]) if k else math.inf
    return Threshold(k=k, value=value, positive=values.size, nonpositive=average.size - values.size)


def significant_cells(average: Floats, value: float) -> Mask:
    """Mask of the cells with W >= d."""
    return average >= value

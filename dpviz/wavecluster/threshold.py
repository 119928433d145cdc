"""Average subband -> density threshold -> significant cells (PrivTHR, PrivTHREM: their own)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, check_number
from dpviz.wavecluster.wavelet import ZERO, rank_of


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Density threshold of one run.

    Parameters
    ----------
    k, value
        Rank of the threshold among the positive coefficients, None if it is secret (PrivTHREM).
        d: a cell is significant when W >= d; infinity if no cell can be significant.
    positive, nonpositive
        len(L) and Z of the subband that the threshold is applied to.
    pruned, estimate
        Of PrivTHR: number of the smallest positive coefficients that are left out before the rank
        is taken; Z', the noisy number of non-positive coefficients of the true subband.
    sampled
        Whether rank and threshold are medians over samples of the subband (Two-stage). Then
        significant cells are those of a mask, and the subband shows means over the samples: no
        cut of it gives the mask.
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
        """Number of positive coefficients among which the rank is taken."""
        return self.positive - self.pruned


def check_density(density: float) -> float:
    """Return p as a float, or raise InputError where it is not inside (0, 1)."""
    check_number("density p", density)
    if not (np.isfinite(density) and 0 < density < 1):
        raise InputError(
            f"density p = {density:g} must lie between 0 and 1, both excluded: it is the share "
            "of positive coefficients that are not significant, for example 0.5."
        )
    return float(density)


def positive_values(average: Floats) -> Floats:
    """L: the positive coefficients in ascending order."""
    return np.sort(average[average >= ZERO], axis=None)


def density_threshold(average: Floats, density: float) -> Threshold:
    """Threshold of the plain pipeline: d is the k-th largest positive coefficient.

    Notes
    -----
    Chen, Yu, Chirkova, section 3.2, "Significant Grid Identification".
    """
    values = average[average >= ZERO]
    k = rank_of(density, values.size)
    value = float(np.partition(values, values.size - k)[values.size - k]) if k else math.inf
    return Threshold(k=k, value=value, positive=values.size, nonpositive=average.size - values.size)


def significant_cells(average: Floats, value: float) -> NDArray[np.bool_]:
    """Mask of the cells with W >= d."""
    return average >= value

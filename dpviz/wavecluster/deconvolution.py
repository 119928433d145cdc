"""Inference from noisy counts: likelihoods, and the distribution of the true counts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpviz.base.arrays import Floats, Ints, Mask

#: Each bin of counts ends at this multiple of its beginning, or at its beginning plus 1.
RATIO = 1.22

#: Largest number of parts of a bin, for sampling a count inside a bin.
PARTS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """All releases of counts (whole numbers, any shape) by a method: all that post-processing uses.

    ``rate`` is 1 / scale of the two-sided geometric noise of each count. For ``low`` counts, after
    the ``rough`` release, only the noisy number of ``zeros`` is released. If no count is low,
    ``zeros_rate`` is 0 and ``rough`` is the finest release. Each count sums ``room`` cells (None:
    equal).
    """

    noisy: Floats
    rate: Floats
    low: Mask
    zeros: float
    zeros_rate: float
    rough: Floats
    rough_rate: float
    room: Floats | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """Geometric bins of counts, divided into parts: 0, 1, 2, ..., then wider bins.

    Bin j has the whole numbers from ``edges[j]`` to below ``edges[j + 1]``, and the parts from
    ``first[j]`` to below ``first[j + 1]``. ``parts`` (I + 1,) are the edges of all parts.
    """

    edges: Floats
    parts: Floats
    first: Ints

    @classmethod
    def up_to(cls, top: float, parts: int = PARTS) -> Bins:
        """Bins for counts up to ``top``."""
        edges = [0, 1]
        while edges[-1] <= top:
            edges.append(max(edges[-1] + 1, int(edges[-1] * RATIO)))
        fine, first = [0], [0]
        for low, high in pairwise(edges):
            number = min(parts, high - low)
            fine += [low + (high - low) * part // number for part in range(1, number + 1)]
            first.append(len(fine) - 1)
        return cls(
            edges=np.array(edges, dtype=float),
            parts=np.array(fine, dtype=float),
            first=np.array(first),
        )

    @property
    def lows(self) -> Floats:
        """Smallest count of each bin."""
        return self.edges[:-1]


def noise_variance(rate: float) -> float:
    """Variance of two-sided geometric noise with this rate, which is 1 / scale."""
    return float(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def likelihood(noisy: Floats, rate: Floats, edges: Floats) -> Floats:
    """Mean of P(noisy count | count) over the whole numbers of each bin, (m, J), up to a factor."""
    q = np.exp(-rate)[:, None]
    # Sum of q^abs(noisy - count) over all counts below an edge, by the geometric series.
    distance = edges[None] - 1 - noisy[:, None]
    tail = q ** np.abs(distance)
    below = np.where(distance < 0, tail, 1 + q - q * tail)
    return np.asarray(np.maximum(np.diff(below, axis=1), 0) / np.diff(edges))


def expectation_maximisation(
    chances: Floats, weights: Floats, times: Floats, steps: int, zero: Floats | None = None
) -> Floats:
    """Improve the weights of a mixture, so that the observations are more likely.

    ``chances`` (m, J) are those of each observation under each component. ``weights`` are (J,), or
    (k, J) for k mixtures. An observation occurs ``times`` (m,). ``zero`` (k, 1) are fixed weights
    of the first component.
    """
    turned = np.ascontiguousarray(chances.T)
    for _ in range(steps):
        weights = weights * ((times / (weights @ turned)) @ chances)
        if zero is not None:
            weights[:, :1] = 0.0
            weights *= (1 - zero) / weights.sum(axis=1, keepdims=True)
            weights[:, :1] = zero
        weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights

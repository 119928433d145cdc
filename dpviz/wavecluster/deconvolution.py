"""What noisy counts say about the true ones: likelihoods, and the law of the true counts.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats

#: Each bin of counts ends at this multiple of its beginning, or one further.
RATIO = 1.22

#: Parts of a bin, between which a count is told at last.
PARTS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Released:
    """What a method released of counts, and all that its post-processing knows.

    Parameters
    ----------
    noisy
        Noisy counts, whole numbers, any shape.
    rate
        1 over the scale of the two-sided geometric noise of each, same shape.
    low
        Mask of the counts of which no more is released than how many of them are 0.
    zeros
        This number, noisy.
    zeros_rate
        1 over the scale of its noise; 0 if no count is low.
    rough
        Release of all counts that tells which are low, the finest one if none is; same shape.
    rough_rate
        1 over the scale of its noise.
    room
        Cells that each count is summed over, same shape: fewer at an edge that is padded. None
        where all are alike.
    """

    noisy: Floats
    rate: Floats
    low: NDArray[np.bool_]
    zeros: float
    zeros_rate: float
    rough: Floats
    rough_rate: float
    room: Floats | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """Geometric bins of counts: 0, 1, 2, ..., then wider ones, in parts.

    Bin j holds the whole numbers from edge j to below edge j + 1, and the parts from ``first[j]``
    to below ``first[j + 1]``: shapes (J + 1,). ``parts`` are the edges of the parts, shape (I +
    1,).
    """

    edges: Floats
    parts: Floats
    first: NDArray[np.int64]

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
    """Variance of two-sided geometric noise of this rate, 1 over its scale."""
    return float(2 * np.exp(-rate) / np.expm1(-rate) ** 2)


def likelihood(noisy: Floats, rate: Floats, edges: Floats) -> Floats:
    """Mean of P(noisy | count) over the whole counts of each bin, shape (m, J).

    Without the factors that all counts share. ``noisy`` and ``rate`` are as in :class:`Released`,
    shape (m,); ``edges`` has shape (J + 1,).
    """
    q = np.exp(-rate)[:, None]
    # Sum of q^abs(noisy - count) over all counts below an edge, by the geometric series.
    distance = edges[None] - 1 - noisy[:, None]
    tail = q ** np.abs(distance)
    below = np.where(distance < 0, tail, 1 + q - q * tail)
    mean: Floats = np.maximum(np.diff(below, axis=1), 0) / np.diff(edges)
    return mean


def expectation_maximisation(
    chances: Floats, weights: Floats, times: Floats, steps: int, zero: Floats | None = None
) -> Floats:
    """Weights of a mixture under which the observations are likelier.

    Takes the likelihood of each observation under each component, shape (m, J); weights to start
    from, shape (J,) or, for several mixtures, (k, J); how often each observation occurs, shape
    (m,); and the weights of the first component, shape (k, 1), if they are fixed.
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

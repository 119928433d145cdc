"""The space in which the k-means methods compute: the domain scaled to a box or an L1 ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.domain import Domain

Geometry = Literal["box", "l1"]

GEOMETRIES: tuple[Geometry, ...] = ("box", "l1")


@dataclass(frozen=True)
class Space:
    """Scaled coordinates: the domain becomes [-1, 1]^d.

    Parameters
    ----------
    domain
        Bounds in the units of the data.
    geometry
        ``"box"``: records anywhere in [-1, 1]^d (Su et al. 2015; Hu et al., Algorithm 1).
        ``"l1"``: records in the unit L1 ball (Lee, Kifer, Algorithm 1).
    projected
        Whether records outside the L1 ball are drawn onto it, along the line to the origin.
        Without it the sensitivity of the L1 ball does not hold for them.
    """

    domain: Domain
    geometry: Geometry = "box"
    projected: bool = True

    @property
    def sensitivity(self) -> float:
        """L1 change of all counts and sums together when one record comes or goes.

        One count changes by 1, the sums of one cluster by the L1 norm of the record: at most
        d in the box, 1 in the ball.
        """
        return self.domain.ndim + 1.0 if self.geometry == "box" else 2.0

    def scale(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points (n, d) of the domain in scaled coordinates."""
        lows, highs = self.domain.lows, self.domain.highs
        scaled = (points - lows) * (2 / (highs - lows)) - 1
        # Rounding must not carry a point past the bound that the sensitivity rests on.
        np.clip(scaled, -1, 1, out=scaled)
        return into_ball(scaled) if self.geometry == "l1" and self.projected else scaled

    def restore(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scaled centres (..., d) in the units of the data, inside the domain."""
        lows, highs = self.domain.lows, self.domain.highs
        restored: NDArray[np.float64] = np.clip(
            lows + (centers + 1) / 2 * (highs - lows), lows, highs
        )
        return restored

    def contains(self, centers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each centre (K, d) lies in [-1, 1]^d, shape (K,); not where it is NaN."""
        return np.asarray((np.abs(centers) <= 1).all(axis=1))


def into_ball(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (n, d), those outside the unit L1 ball drawn onto it along the radius."""
    norms = np.abs(points).sum(axis=1, keepdims=True)
    drawn: NDArray[np.float64] = points / np.maximum(norms, 1)
    return drawn

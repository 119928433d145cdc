"""The space in which the k-means methods compute: the domain scaled to a box, cube or ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.grid.domain import Domain
from dpviz.privacy.secure import on_lattice

Geometry = Literal["box", "cube", "l1"]

GEOMETRIES: tuple[Geometry, ...] = get_args(Geometry)


@dataclass(frozen=True)
class Space:
    """Scaled coordinates: the domain becomes [-1, 1]^d, or [0, 1]^d for a cube.

    ``"box"``: records anywhere in [-1, 1]^d (Su et al. 2016; Hu et al., Algorithm 1). ``"cube"``:
    in [0, 1]^d (Hu et al., sections 4.2 and 5.3; Zhang, Liu, Wang), with the same sensitivity, so
    relatively twice the noise. ``"l1"``: in the unit L1 ball (Lee, Kifer, Algorithm 1); records
    outside move to its surface (section 4); we assume that they move towards the origin.
    """

    domain: Domain
    geometry: Geometry = "box"

    @property
    def sensitivity(self) -> float:
        """L1 change by one record: 1 in a count, and d (in the ball 1) in the sums of a cluster."""
        return 2.0 if self.geometry == "l1" else self.domain.ndim + 1.0

    @property
    def low(self) -> float:
        """Lower bound of every scaled coordinate; the upper bound is 1."""
        return 0.0 if self.geometry == "cube" else -1.0

    @property
    def span(self) -> float:
        """Width of the domain in scaled coordinates."""
        return 1.0 - self.low

    def scale(self, points: Floats, *, cut: bool = False) -> Floats:
        """Records (n, d) of the domain in scaled coordinates; ``cut``: on a release's lattice."""
        placed = self.stretch(points)
        placed = into_ball(placed) if self.geometry == "l1" else placed
        return on_lattice(placed) if cut else placed

    def stretch(self, points: Floats) -> Floats:
        """Points (n, d) in scaled coordinates, not projected into the ball: undoes `restore`."""
        lows, highs = self.domain.lows, self.domain.highs
        scaled = (points - lows) * (self.span / (highs - lows)) + self.low
        # Rounding must not move a point beyond the bound that the sensitivity assumes.
        np.clip(scaled, self.low, 1, out=scaled)
        return scaled

    def restore(self, centers: Floats) -> Floats:
        """Scaled centres (..., d) in the units of the data, inside the domain."""
        lows, highs = self.domain.lows, self.domain.highs
        restored = lows + (centers - self.low) / self.span * (highs - lows)
        return np.asarray(np.clip(restored, lows, highs))

    def contains(self, centers: Floats) -> Mask:
        """Whether each scaled centre (K, d) is in the domain, shape (K,); False for NaN."""
        return np.asarray(((centers >= self.low) & (centers <= 1)).all(axis=1))

    def placed(self, centers: Floats) -> Floats:
        """Move centres (..., d) of [-1, 1]^d to the same place in this space's domain."""
        return (centers + 1) * (self.span / 2) + self.low


def into_ball(points: Floats) -> Floats:
    """Project points (n, d) onto the unit L1 ball, along the line to the origin."""
    norms = np.abs(points).sum(axis=1, keepdims=True)
    return np.asarray(points / np.maximum(norms, 1))

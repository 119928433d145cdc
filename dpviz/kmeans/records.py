"""The records of a k-means run under their domain, and the passes over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain, Outside, check_outside
from dpviz.errors import InputError
from dpviz.kmeans.passes import Sums, cluster_sums
from dpviz.kmeans.space import Space
from dpviz.pipeline import Source
from dpviz.privacy.secure import on_lattice
from dpviz.recent import Recent

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Records that take part, inside the domain.

    Parameters
    ----------
    points
        Shape (n, d), in the units of the data.
    domain
        Their bounds.
    n_outside
        Points of the data set that lay outside the domain.
    cut
        Whether scaled records are cut to the lattice that a release needs.
    """

    points: NDArray[np.float64]
    domain: Domain
    n_outside: int = 0
    cut: bool = False
    _kept: Recent = field(default_factory=lambda: Recent(24))

    @classmethod
    def build(
        cls,
        dataset: Dataset,
        domain: Domain | None = None,
        outside: Outside = "clip",
        *,
        cut: bool = False,
    ) -> Records:
        """Take the records of a data set; those of a grid of counts stand at cell centres.

        Parameters
        ----------
        domain
            Bounds; None takes the declared domain of the data set, or else the range of its
            points (not private).
        outside
            ``"clip"`` moves points outside to the border, ``"drop"`` leaves them out.
        cut
            Whether scaled records are cut to the lattice that a release needs.

        Raises
        ------
        InputError
            Where domain and data do not fit together, or there is no record.
        """
        check_outside(outside)
        if dataset.counts is not None:
            source = Source.build(dataset, 2, domain, outside)
            return cls(points=_some(source.points), domain=source.domain, cut=cut)
        points = _some(dataset.points)
        domain = domain or dataset.domain or Domain.from_data(points)
        if domain.ndim != dataset.ndim:
            raise InputError(
                f"domain has {domain.ndim} axes but the data has {dataset.ndim} columns: "
                "give one lo,hi pair per column."
            )
        inside = domain.contains(points)
        n_outside = len(points) - int(inside.sum())
        if n_outside == len(points):
            raise InputError(
                f"domain {domain} holds none of the {len(points):,} points: declare bounds in "
                "the units of the data."
            )
        if n_outside:
            points = (
                points[inside] if outside == "drop" else np.clip(points, domain.lows, domain.highs)
            )
        return cls(points=points, domain=domain, n_outside=n_outside, cut=cut)

    @property
    def n(self) -> int:
        """Number of records that take part."""
        return len(self.points)

    def scaled(self, space: Space) -> NDArray[np.float64]:
        """Records in scaled coordinates, shape (n, d)."""

        def build() -> NDArray[np.float64]:
            scaled = space.scale(self.points)
            return on_lattice(scaled) if self.cut else scaled

        return self.kept(("scaled", space), build)

    def sums(self, space: Space, centers: NDArray[np.float64]) -> Sums:
        """Counts and sums by nearest centre (K, d), in scaled coordinates: one data pass."""
        return cluster_sums(self.scaled(space), centers)

    def kept(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return what does not depend on noise or budget, built once."""
        return self._kept.get(key, build)


def _some(points: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the points, or raise InputError where there is none."""
    if points is None or not len(points):
        raise InputError("the data has no records: load at least one.")
    return points

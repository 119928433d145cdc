"""The records of a k-means run in their domain, and the passes over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices, Ints
from dpviz.base.lru import LRUCache
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Tables
from dpviz.family.run_domain import check_some
from dpviz.grid.counts import laid_out, quantize, weighted_cells
from dpviz.grid.domain import Domain, Outside, check_outside, grid_shape
from dpviz.kmeans.optimum import descended, optimum
from dpviz.kmeans.passes import (
    cluster_sums,
    contour_sums,
    excess,
    fit,
    loops,
    nearest,
    printed_contours,
    wcss,
)
from dpviz.kmeans.space import Space
from dpviz.metrics.matching import contingency
from dpviz.privacy.secure import LATTICE

T = TypeVar("T")

#: 64-bit sums of squared distances are exact up to this number of records times columns.
MOST_WEIGHED = 2**40

#: This limit is so large that it has no effect.
UNLIMITED = 2**62

Weights = Ints | None

#: Function from columns of some records to their additive tables. It is a module's function or a
#: partial, because it runs in other processes for stored records.
RowWork = Callable[..., Tables]

#: Function that maps each record's columns to other columns; a module's function or a partial.
Placing = Callable[..., tuple[NDArray[Any], ...]]


class Rows(Protocol):
    """Data of all records, one array per column; the first array has the scaled places (n, d)."""

    def then(self, place: Placing) -> Rows:
        """Return rows with other columns: ``place(*columns)``."""

    def total(self, work: RowWork) -> Tables:
        """Return the tables of all records: ``work(weights, *columns)``. One data pass."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows in memory; each column is computed once."""

    columns: tuple[NDArray[Any], ...]
    weights: Weights = None

    def then(self, place: Placing) -> HeldRows:
        """Return rows with other columns."""
        return HeldRows(place(*self.columns), self.weights)

    def total(self, work: RowWork) -> Tables:
        """Return the tables of all records."""
        return work(self.weights, *self.columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """The records of a run, inside the domain: points (n, d) in the units of the data.

    ``n_outside`` counts points outside the domain, and ``dropped`` omitted rows of stored records.
    Known ``classes`` (n,) are for scores. With ``cut``, scaled records are truncated to the lattice
    of a release, ``weights`` (n,) may be numbers of records at each point, and there are no
    ``classes``.
    """

    points: Floats
    domain: Domain
    n_outside: int = 0
    cut: bool = False
    weights: Weights = None
    classes: Indices | None = None
    dropped: int = 0
    _kept: LRUCache = field(default_factory=lambda: LRUCache(24))

    #: Largest number of cells of a nested grid, in addition to the method's own limit.
    most_cells: ClassVar[int] = UNLIMITED

    #: Largest number of blocks of records that are clustered; they represent all blocks.
    most_blocks: ClassVar[int] = UNLIMITED

    #: Whether all points have the same weight.
    one_weight: ClassVar[bool] = False

    @classmethod
    def build(
        cls,
        dataset: Dataset,
        domain: Domain | None = None,
        outside: Outside = "clip",
        *,
        cut: bool = False,
    ) -> Records:
        """Take the records of a data set; records of a grid of counts are at the cell centres.

        If ``domain`` is None, it is the declared domain or the range of the points (not private).
        Raises InputError if domain and data do not match or no record is left. ``cut`` is for a
        release: zero records and large counts are allowed; a cell's count is limited to
        ``MOST_WEIGHED`` / (cells * axes), so one record still changes one cell by 1.
        """
        check_outside(outside)
        if dataset.counts is not None:
            counts, box = dataset.counts, dataset.bounds(domain)
            grid_shape(counts.shape, counts.ndim)
            if not cut:
                points = laid_out(counts, box)
                check_some(points)
                return cls(points=points, domain=box)
            cells, most = weighted_cells(counts, box), MOST_WEIGHED // (counts.size * dataset.ndim)
            weights = None if cells.weights is None else np.minimum(cells.weights, most)
            return cls(points=cells.points, domain=box, cut=True, weights=weights)
        assert dataset.points is not None  # noqa: S101 - a Dataset has points if it has no counts
        points = dataset.points
        if not cut:
            check_some(points)
        domain = dataset.bounds(domain)
        inside = domain.contains(points)
        n_outside = len(points) - int(inside.sum())
        if not cut:
            dataset.check_some_inside(domain, n_outside)
        classes = None if cut or dataset.classes is None else dataset.classes.codes
        if n_outside and outside == "drop":
            points, classes = points[inside], None if classes is None else classes[inside]
        elif n_outside:
            points = np.clip(points, domain.lows, domain.highs)
        return cls(points=points, domain=domain, n_outside=n_outside, cut=cut, classes=classes)

    @property
    def most_places(self) -> int:
        """Largest number of places in which clusters of a grid are searched: no limit."""
        return UNLIMITED

    @property
    def n(self) -> int:
        """Number of records in the run."""
        return len(self.points) if self.weights is None else int(self.weights.sum())

    def scaled(self, space: Space) -> Floats:
        """Points in scaled coordinates, shape (n, d)."""
        return self.kept(("scaled", space), lambda: space.scale(self.points, cut=self.cut))

    def rows(self, space: Space | None) -> Rows:
        """Rows of the records, scaled to ``space``; in the units of the data if it is None."""
        return HeldRows((self.points if space is None else self.scaled(space),), self.weights)

    def _table(self, space: Space | None, work: RowWork, *given: Any) -> NDArray[Any]:
        (table,) = self.rows(space).total(partial(work, *given))
        return table

    def cells(self, shape: tuple[int, ...]) -> Ints:
        """Count the records in every cell of a uniform grid over the domain."""
        return self._table(None, _cells, self.domain, shape)

    def sums(self, space: Space, centers: Floats) -> Floats:
        """Scaled counts and sums (K, 1 + d) of each nearest centre (K, d): one data pass."""
        return self._table(space, _sums, centers)

    def excess(self, space: Space, candidates: Floats) -> Floats:
        """Excess of the WCSS of sets of centres (m, K, d), see :func:`passes.excess`."""
        return self._table(space, _excess, candidates)

    def wcss(self, space: Space | None, centers: Floats) -> float:
        """WCSS of centres (K, d), scaled to ``space``; in the units of the data if it is None."""
        return float(self._table(space, _wcss, centers)[0])

    def silhouettes(self, space: Space, centers: Floats) -> Floats:
        """Simplified silhouette of every cluster, shape (K,), in scaled coordinates."""
        table = self._table(space, _contours, centers)
        return np.asarray(table[:, 1] / np.maximum(table[:, 0], 1))

    def contours(self, space: Space, centers: Floats) -> Floats:
        """Contour coefficient of every cluster as printed, shape (K,), in scaled coordinates."""
        total = partial(self._table, space, _contour_sums, centers)
        return printed_contours(total, len(centers))

    def optimum(self, space: Space, clusters: int) -> Floats:
        """Return the best centres (K, d), scaled, that a search without noise finds."""
        return optimum(self.scaled(space), clusters)

    def descended(self, space: Space, centers: Floats) -> Floats:
        """Scaled centres (K, d) after Lloyd's iteration, which does not increase their error."""
        return descended(self.scaled(space), centers)

    def crossed(self, space: Space, one: Any, other: Any) -> Ints:
        """Number of records per pair of clusters of two clusterings with centers and labels."""
        return contingency(one.labels, other.labels)

    def within(self, domain: Domain) -> Records:
        """Return the same records with other bounds."""
        return Records(points=self.points, domain=domain)

    def drawn_in(self, ball: Space) -> Records:
        """Return the records projected into a ball, in the units of the data."""
        return Records(points=ball.restore(self.scaled(ball)), domain=ball.domain)

    def dealt(self, space: Space, parts: int, generator: np.random.Generator) -> Floats:
        """Counts and sums (parts, 1 + d) of random sets, which each record joins independently."""
        # Keep the sums, because a moving epsilon slider uses the same generator many times.
        state = str(generator.bit_generator.state)

        def deal() -> Floats:
            points = self.scaled(space)
            if self.weights is None:
                return dealt(points, parts, generator)
            alone = np.zeros(len(points), dtype=np.intp)
            shares = self.shares(parts, generator)
            return np.concatenate([_weighed(points, share, alone, 1) for share in shares])

        return self.kept(("dealt", space, parts, state), deal)

    def slices(self, space: Space, parts: int) -> Floats:
        """Counts and sums (parts, 1 + d) of equal slices of the list of points."""
        points = self.scaled(space)
        return sliced(points, parts, 0, len(points))

    def shares(self, parts: int, generator: np.random.Generator) -> Iterator[Ints]:
        """Weights of the points in each random set; each record joins one set independently."""
        assert self.weights is not None  # noqa: S101 - only weighted points need shares
        left = self.weights
        for part in range(parts):
            # Each record that is in no earlier set joins this set with the same probability.
            share = generator.binomial(left, 1 / (parts - part))
            left = left - share
            yield share

    def kept(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return a value that does not depend on noise or budget; compute it only once."""
        return self._kept.get(key, build)


def dealt(points: Floats, parts: int, generator: np.random.Generator) -> Floats:
    """Counts and sums (parts, 1 + d) of random sets of points (n, d)."""
    return _of_sets(points, generator.integers(parts, size=len(points)), parts)


def sliced(points: Floats, parts: int, first: int, n: int) -> Floats:
    """Counts and sums (parts, 1 + d) of equal slices of a list; points begin at ``first``."""
    return _of_sets(points, np.arange(first, first + len(points)) * parts // n, parts)


def _of_sets(points: Floats, sets: Indices, parts: int) -> Floats:
    columns = [np.bincount(sets, weights=column, minlength=parts) for column in points.T]
    return np.column_stack([np.bincount(sets, minlength=parts), *columns]).astype(float)


def _sums(centers: Floats, weights: Weights, points: Floats) -> Tables:
    if weights is not None:
        return (_weighed(points, weights, nearest(points, centers), len(centers)),)
    return (cluster_sums(points, centers),)


def _wcss(centers: Floats, weights: Weights, points: Floats) -> Tables:
    return (np.array([wcss(points, centers)]),)


def _contours(centers: Floats, weights: Weights, points: Floats) -> Tables:
    found = fit(points, centers)
    return (np.column_stack([found.counts, found.contours]),)


def _contour_sums(centers: Floats, averages: Floats, weights: Weights, points: Floats) -> Tables:
    return (contour_sums(points, centers, averages),)


def _cells(domain: Domain, shape: tuple[int, ...], weights: Weights, points: Floats) -> Tables:
    return (quantize(points, domain, shape, weights=weights)[0],)


def _excess(candidates: Floats, weights: Weights, points: Floats) -> Tables:
    return (excess(points, weights, candidates, LATTICE),)


def _weighed(points: Floats, weights: Ints, owner: NDArray[np.integer], clusters: int) -> Floats:
    table = np.zeros((clusters, 1 + points.shape[1]), dtype=np.int64)
    loops().add_weighed(points, weights, owner, LATTICE, table)
    return np.asarray(table * LATTICE)

"""The records of a k-means run under their domain, and the passes over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.lru import LRUCache
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Tables
from dpviz.family.run_domain import check_some
from dpviz.grid.counts import laid_out, quantize, weighted_cells
from dpviz.grid.domain import Domain, Outside, check_outside, grid_shape
from dpviz.kmeans.optimum import descended, optimum
from dpviz.kmeans.passes import (
    cluster_sums,
    excess,
    fit,
    loops,
    nearest,
    wcss,
)
from dpviz.kmeans.space import Space
from dpviz.metrics.matching import contingency
from dpviz.privacy.secure import LATTICE, on_lattice

T = TypeVar("T")

#: Up to as many records, divided by the columns, 64-bit sums of squared distances are exact. Each
#: cell may hold an equal share of them.
MOST_WEIGHED = 2**40

#: A limit that nothing reaches.
UNLIMITED = 2**62

Weights = NDArray[np.int64] | None

#: From what is known of some records, one array a column, to their tables, which are additive.
#: A function of a module or a partial of one: for records that are stored it runs elsewhere.
RowWork = Callable[..., Tables]

#: From columns to other columns, each record by itself; likewise.
Placing = Callable[..., tuple[NDArray[Any], ...]]


class Rows(Protocol):
    """What is known of every record, one array a column, first of all its scaled place (n, d)."""

    def then(self, place: Placing) -> Rows:
        """Return rows with other columns: ``place(*columns)``."""
        ...

    def total(self, work: RowWork) -> Tables:
        """Return the tables of all records: ``work(weights, *columns)``. One data pass."""
        ...


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows in memory: each column is computed once."""

    columns: tuple[NDArray[Any], ...]
    weights: Weights = None

    def then(self, place: Placing) -> HeldRows:
        """Return rows with other columns."""
        return HeldRows(place(*self.columns), self.weights)

    def total(self, work: RowWork) -> Tables:
        """Return the tables of all records."""
        return work(self.weights, *self.columns)


class Clustered(Protocol):
    """A clustering of the records."""

    @property
    def centers(self) -> Floats:
        """Centres (K, d), in the units of the data."""
        ...

    @property
    def labels(self) -> NDArray[np.int32]:
        """Cluster of every record, shape (n,)."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Records that take part, inside the domain.

    Parameters
    ----------
    points, domain
        Shape (n, d), in the units of the data; their bounds.
    n_outside, dropped
        Points of the data set that lay outside the domain; rows left out by the pass that counted
        stored records.
    cut
        Whether scaled records are cut to the lattice that a release needs.
    weights
        Records at each point, shape (n,), int64; None for one each. Only where ``cut``.
    classes
        Known class of each record, from 0, shape (n,), for scores alone; None where there is none,
        and where ``cut``.
    """

    points: Floats
    domain: Domain
    n_outside: int = 0
    cut: bool = False
    weights: Weights = None
    classes: NDArray[np.intp] | None = None
    dropped: int = 0
    _kept: LRUCache = field(default_factory=lambda: LRUCache(24))

    #: Most cells of a nested grid over them, beside what the method itself allows.
    most_cells: ClassVar[int] = UNLIMITED

    #: Most blocks of records that are clustered each by itself; fewer stand for all.
    most_blocks: ClassVar[int] = UNLIMITED

    #: Whether the points have weights that are all the same.
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
        """Take the records of a data set; those of a grid of counts stand at cell centres.

        Without a domain, the declared one of the data set, or else the range of its points (not
        private). InputError where domain and data do not fit together, or there is no record.

        ``cut`` is for a release: scaled records are cut to the lattice that it needs. Then there
        may be no record, and a grid of counts may hold any number of them: a cell counts up to
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
        assert dataset.points is not None  # noqa: S101 - a Dataset holds one of the two
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
        """Most places that clusters of a grid over them are searched with: no limit."""
        return UNLIMITED

    @property
    def n(self) -> int:
        """Number of records that take part."""
        return len(self.points) if self.weights is None else int(self.weights.sum())

    def scaled(self, space: Space) -> Floats:
        """Points in scaled coordinates, shape (n, d)."""

        def build() -> Floats:
            scaled = space.scale(self.points)
            return on_lattice(scaled) if self.cut else scaled

        return self.kept(("scaled", space), build)

    def rows(self, space: Space | None) -> Rows:
        """Records in scaled coordinates, for passes over them; None for the units of the data."""
        return HeldRows((self.points if space is None else self.scaled(space),), self.weights)

    def cells(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Count the records in every cell of a uniform grid over the domain."""
        (counts,) = self.rows(None).total(partial(_cells, self.domain, shape))
        return counts

    def sums(self, space: Space, centers: Floats) -> Floats:
        """Scaled counts and sums (K, 1 + d) by nearest centre (K, d): one data pass."""
        (table,) = self.rows(space).total(partial(_sums, centers))
        return table

    def excess(self, space: Space, candidates: Floats) -> Floats:
        """WCSS of sets of centres (m, K, d) beyond the least, in multiples of ``LATTICE``."""
        (found,) = self.rows(space).total(partial(_excess, candidates))
        return found

    def wcss(self, space: Space | None, centers: Floats) -> float:
        """Within-cluster sum of squares of centres (K, d); None for the units of the data."""
        (found,) = self.rows(space).total(partial(_wcss, centers))
        return float(found[0])

    def silhouettes(self, space: Space, centers: Floats) -> Floats:
        """Simplified silhouette of every cluster, shape (K,), in scaled coordinates."""
        (table,) = self.rows(space).total(partial(_contours, centers))
        return np.asarray(table[:, 1] / np.maximum(table[:, 0], 1))

    def optimum(self, space: Space, clusters: int) -> Floats:
        """Best scaled centres (K, d) that a search finds, without noise."""
        return optimum(self.scaled(space), clusters)

    def descended(self, space: Space, centers: Floats) -> Floats:
        """Scaled centres (K, d) to which Lloyd's iteration leads: never worse."""
        return descended(self.scaled(space), centers)

    def crossed(self, space: Space, one: Clustered, other: Clustered) -> NDArray[np.int64]:
        """Records by their clusters in one clustering and in another."""
        return contingency(one.labels, other.labels)

    def within(self, domain: Domain) -> Records:
        """Return the same records with other bounds around them."""
        return Records(points=self.points, domain=domain)

    def drawn_in(self, ball: Space) -> Records:
        """Return the records drawn into a ball, in the units of the data."""
        return Records(points=ball.restore(self.scaled(ball)), domain=ball.domain)

    def dealt(self, space: Space, parts: int, generator: np.random.Generator) -> Floats:
        """Counts and sums (parts, 1 + d) of sets that each record joins by its own draw."""
        # A drag of epsilon deals with the same generator again and again.
        state = str(generator.bit_generator.state)

        def deal() -> Floats:
            points = self.scaled(space)
            if self.weights is None:
                return dealt(points, parts, generator)
            alone = np.zeros(len(points), dtype=np.intp)
            shares = self.shares(parts, generator)
            return np.concatenate([_weighed(points, share, alone, 1) for share in shares])

        return self.kept(("dealt", space, parts, state), deal)

    def shares(self, parts: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
        """Weights of the points in each set, where each record joins a set by its own draw."""
        assert self.weights is not None  # noqa: S101 - one each needs no shares
        left = self.weights
        for part in range(parts):
            # Each record that is in no earlier set joins this one with the same chance.
            share = generator.binomial(left, 1 / (parts - part))
            left = left - share
            yield share

    def kept(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return what does not depend on noise or budget, built once."""
        return self._kept.get(key, build)


def dealt(points: Floats, parts: int, generator: np.random.Generator) -> Floats:
    """Counts and sums (parts, 1 + d) of sets that each of the points (n, d) joins by a draw."""
    sets = generator.integers(parts, size=len(points))
    columns = [np.bincount(sets, weights=column, minlength=parts) for column in points.T]
    return np.column_stack([np.bincount(sets, minlength=parts), *columns]).astype(float)


def _sums(centers: Floats, weights: Weights, points: Floats) -> Tables:
    """Counts and sums (K, 1 + d) by nearest centre."""
    if weights is not None:
        return (_weighed(points, weights, nearest(points, centers), len(centers)),)
    return (cluster_sums(points, centers),)


def _wcss(centers: Floats, weights: Weights, points: Floats) -> Tables:
    return (np.array([wcss(points, centers)]),)


def _contours(centers: Floats, weights: Weights, points: Floats) -> Tables:
    found = fit(points, centers)
    return (np.column_stack([found.counts, found.contours]),)


def _cells(domain: Domain, shape: tuple[int, ...], weights: Weights, points: Floats) -> Tables:
    return (quantize(points, domain, shape, weights=weights)[0],)


def _excess(candidates: Floats, weights: Weights, points: Floats) -> Tables:
    return (excess(points, weights, candidates, LATTICE),)


def _weighed(
    points: Floats, weights: NDArray[np.int64], owner: NDArray[np.integer], clusters: int
) -> Floats:
    """Counts and sums (K, 1 + d) of weighted points of the lattice by owner, exact."""
    table = np.zeros((clusters, 1 + points.shape[1]), dtype=np.int64)
    loops().add_weighed(points, weights, owner, LATTICE, table)
    return np.asarray(table * LATTICE)

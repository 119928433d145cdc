"""Records that stay in storage: k-means reads them pass by pass, through an engine.

A pass sends released numbers to the processes that read the parts, and gets tables back. Only the
main process adds noise, to the sum of the tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, shown
from dpviz.base.lru import LRUCache
from dpviz.data.engine.tables import Engine, Part, Tables
from dpviz.grid.counts import tally
from dpviz.grid.domain import Domain, Outside, check_outside
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.optimum import optimum
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import cluster_sums, nearest, wcss
from dpviz.kmeans.records import Placing, Records, RowWork, Weights, dealt, sliced
from dpviz.kmeans.space import Space

#: The published variant starts from raw records; the sound variant searches in cells of a grid.
RAW_STARTS = ("records", "kmeans++", "utility_plus")

#: True run: records in the sample of its search, most Lloyd rounds, least gain of a round.
SAMPLE, ROUNDS, LEAST_GAIN = 2**16, 30, 1e-6

#: Number of records whose columns are computed together: they fit into the processor's cache.
BLOCK = 2**14


@dataclass(frozen=True)
class View:
    """A method's view of the records: domain, points outside, lattice (``cut``), space, ball.

    If ``space`` is None, units are the data's. Records are projected into ``ball`` first, if given.
    """

    domain: Domain
    outside: Outside
    cut: bool = False
    space: Space | None = None
    ball: Space | None = None

    def of(self, points: Floats) -> Floats:
        """Records of the run, in the view's coordinates."""
        if self.outside == "drop":
            points = points[self.domain.contains(points)]
        else:
            points = np.clip(points, self.domain.lows, self.domain.highs)
        if self.ball is not None:
            points = self.ball.restore(self.ball.scale(points))
        if self.space is None:
            return points
        return self.space.scale(points, cut=self.cut)


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of stored records; each pass computes the columns again, chunk by chunk."""

    records: StoredRecords
    view: View
    places: tuple[Placing, ...] = ()

    def then(self, place: Placing) -> StoredRows:
        """Return rows with other columns."""
        return replace(self, places=(*self.places, place))

    def total(self, work: RowWork) -> Tables:
        """Return the tables of all records."""
        return self.records.engine.total(
            self.records.parts, partial(_read, self.view, self.places, work)
        )


class StoredRecords(Records):
    """Records that are read in passes, part by part in a fixed order; there are no points.

    Parameters are as in :meth:`dpviz.kmeans.records.Records.build`. Results equal those in memory:
    to the last bit if sums are exact (counts, and records on the lattice), otherwise up to
    rounding. :meth:`dealt` uses the same distribution, but makes other sets.
    """

    name: str
    parts: tuple[Part, ...]
    engine: Engine
    outside: Outside
    taken: View

    def __init__(
        self,
        *,
        name: str,
        parts: Sequence[Part],
        engine: Engine,
        domain: Domain,
        outside: Outside = "clip",
        cut: bool = False,
    ) -> None:
        check_outside(outside)
        # Do not call the initialization of the base class, which needs points.
        given = {
            "name": name, "parts": tuple(parts), "engine": engine, "domain": domain,
            "outside": outside, "cut": cut, "weights": None, "classes": None,
            "_kept": LRUCache(24), "taken": View(domain, outside, cut),
        }  # fmt: skip
        for key, value in given.items():
            object.__setattr__(self, key, value)

    @property
    def points(self) -> Floats:
        """Raise InputError: the records are not in memory."""
        raise InputError(
            f"{shown(self.name)} stays on disk, but this result needs all records together: load "
            "it into memory, or choose a result that needs only counts and sums of records."
        )

    def scaled(self, space: Space) -> Floats:
        """Raise InputError: the records are not in memory."""
        return self.points

    @cached_property
    def _numbers(self) -> tuple[int, int, int]:
        (found,) = self.engine.total(self.parts, partial(_count, self.taken.domain))
        inside, outside, dropped = (int(number) for number in found)
        if not (inside or self.cut):
            raise InputError(
                f"domain {self.domain} holds none of the {outside:,} points of "
                f"{shown(self.name)}: declare bounds in the units of the data."
            )
        return inside, outside, dropped

    @property
    def n(self) -> int:
        """Number of records in the run."""
        inside, outside, _ = self._numbers
        return inside + outside if self.outside == "clip" else inside

    @property
    def n_outside(self) -> int:
        """Number of records outside the domain."""
        return self._numbers[1]

    @property
    def dropped(self) -> int:
        """Number of rows left out because a value was missing or infinite."""
        return self._numbers[2]

    def rows(self, space: Space | None) -> StoredRows:
        """Rows of the records, scaled to ``space``; in the units of the data if it is None."""
        return StoredRows(self, self._view(space))

    def optimum(self, space: Space, clusters: int) -> Floats:
        """Scaled centres (K, d) from a search on a sample and Lloyd's iteration on all records.

        Only a sample (about ``SAMPLE`` records) leaves the parts; the true run is not published.
        """
        seeds = np.random.SeedSequence(0)
        share = min(1.0, SAMPLE / max(self.n, 1))
        found = self.engine.tables(
            self._seeded(seeds), partial(_read_sample, self._view(space), share)
        )
        sample = np.concatenate([points for (points,) in found])
        return self.descended(space, optimum(sample, clusters))

    def descended(self, space: Space, centers: Floats) -> Floats:
        """Scaled centres (K, d) after at most ``ROUNDS`` Lloyd rounds, while the error falls."""
        best, least = centers, math.inf
        for _ in range(ROUNDS):
            table, error = self.rows(space).total(partial(_round, centers))
            if not error[0] < least:
                break
            best, gain, least = centers, least - error[0], float(error[0])
            if gain <= LEAST_GAIN * least:
                break
            counts = table[:, :1]
            centers = np.where(counts > 0, table[:, 1:] / np.maximum(counts, 1), centers)
        return best

    def crossed(self, space: Space, one: Any, other: Any) -> Ints:
        """Number of records per pair of clusters of two clusterings. One data pass."""
        pair = space.scale(one.centers), space.scale(other.centers)
        return self._table(space, _crossed, *pair)

    def within(self, domain: Domain) -> StoredRecords:
        """Return the same records with other bounds."""
        return self._with(domain, self.taken)

    def drawn_in(self, ball: Space) -> StoredRecords:
        """Return the records projected into a ball, in the units of the data."""
        return self._with(ball.domain, replace(self.taken, ball=ball))

    def dealt(self, space: Space, parts: int, generator: np.random.Generator) -> Floats:
        """Counts and sums (parts, 1 + d) of random sets, the same sets whenever a part is read."""
        seeds = np.random.SeedSequence(generator.integers(2**32, size=4).tolist())
        work = partial(_read_dealt, self._view(space), parts)
        (table,) = self.engine.total(self._seeded(seeds), work)
        return table

    def slices(self, space: Space, parts: int) -> Floats:
        """Counts and sums (parts, 1 + d) of equal slices of the list. Two data passes."""
        view = self._view(space)
        found = self.engine.tables(self.parts, partial(_count, view.domain))
        sizes = [
            int(inside + outside * (self.outside == "clip")) for ((inside, outside, _),) in found
        ]
        firsts = accumulate(sizes, initial=0)
        placed = [_With(part, first) for part, first in zip(self.parts, firsts, strict=False)]
        (table,) = self.engine.total(placed, partial(_read_slices, view, parts, sum(sizes)))
        return table

    def _view(self, space: Space | None) -> View:
        return replace(self.taken, space=space)

    def _seeded(self, seeds: np.random.SeedSequence) -> list[_With]:
        return list(map(_With, self.parts, seeds.spawn(len(self.parts))))

    def _with(self, domain: Domain, taken: View) -> StoredRecords:
        other = StoredRecords(
            name=self.name, parts=self.parts, engine=self.engine, domain=domain,
            outside=self.outside, cut=self.cut,
        )  # fmt: skip
        object.__setattr__(other, "taken", taken)
        return other


@dataclass(frozen=True, eq=False)
class _With:
    """A part with its seed, or with the number of its first record."""

    part: Part
    value: Any

    @property
    def title(self) -> str:
        return self.part.title


def check_passes(config: KMeansConfig, name: str) -> None:
    """Refuse methods that need all records in memory, before data are read or budget is spent."""
    if METHODS[config.method].card.needs_all_records:
        raise InputError(
            f"{config.method} clusters the records themselves, but {shown(name)} stays on disk: "
            "load it into memory, or choose a method that needs only counts and sums of records, "
            "such as dprefine or dplloyd."
        )
    if config.variant == "published" and config.start in RAW_STARTS:
        raise InputError(
            f"published {config.method} starts from the raw records (start {config.start}), but "
            f"{shown(name)} stays on disk: load it into memory, or choose the sound variant."
        )


def _read(view: View, places: tuple[Placing, ...], work: RowWork, part: Part) -> Tables:
    def of(points: Floats) -> Tables:
        columns: tuple[NDArray[Any], ...] = (view.of(points),)
        for place in places:
            columns = place(*columns)
        return work(None, *columns)

    # Start with tables of zero records, which have the right shapes for a part without records.
    total = of(np.empty((0, view.domain.ndim)))
    for points, _ in part.chunks():
        for begin in range(0, len(points), BLOCK):
            for table, more in zip(total, of(points[begin : begin + BLOCK]), strict=True):
                table += more
    part.check()
    return total


def _read_dealt(view: View, sets: int, seeded: _With) -> Tables:
    generator = np.random.default_rng(seeded.value)
    return _read(view, (), partial(_dealt, sets, generator), seeded.part)


def _dealt(sets: int, generator: np.random.Generator, weights: Weights, points: Floats) -> Tables:
    return (dealt(points, sets, generator),)


def _read_slices(view: View, sets: int, n: int, placed: _With) -> Tables:
    before = [placed.value]

    def work(weights: Weights, points: Floats) -> Tables:
        before.append(before[-1] + len(points))
        return (sliced(points, sets, before[-2], n),)

    return _read(view, (), work, placed.part)


def _count(domain: Domain, part: Part) -> Tables:
    total = np.zeros(3, dtype=np.int64)
    for points, dropped in part.chunks():
        inside = int(np.count_nonzero(domain.contains(points)))
        total += inside, len(points) - inside, dropped
    part.check()
    return (total,)


def _read_sample(view: View, share: float, seeded: _With) -> Tables:
    generator = np.random.default_rng(seeded.value)
    found = [np.empty((0, view.domain.ndim))]
    for points, _ in seeded.part.chunks():
        points = view.of(points)
        found.append(points[generator.random(len(points)) < share])
    return (np.concatenate(found),)


def _round(centers: Floats, weights: Weights, points: Floats) -> Tables:
    return cluster_sums(points, centers), np.array([wcss(points, centers)])


def _crossed(one: Floats, other: Floats, weights: Weights, points: Floats) -> Tables:
    pairs = nearest(points, one).astype(np.intp) * len(other) + nearest(points, other)
    return (tally(pairs, len(one) * len(other)).reshape(len(one), len(other)),)

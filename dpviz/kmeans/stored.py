"""Records that stay where they are stored: k-means reads them pass by pass, through an engine.

A pass sends what it needs of the released numbers (centres, a grid's sides) to whoever reads a
part, and tables come back. The noise is drawn after they are added, here alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.base.lru import LRUCache
from dpviz.data.engine.tables import Engine, Part, Tables
from dpviz.grid.counts import tally
from dpviz.grid.domain import Domain, Outside, check_outside
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.optimum import optimum
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import cluster_sums, nearest, wcss
from dpviz.kmeans.records import Clustered, Placing, Records, RowWork, Weights, dealt
from dpviz.kmeans.space import Space
from dpviz.privacy.secure import on_lattice

#: Starts that are read off the records, as published; sound, they are read off noisy numbers.
RAW_STARTS = ("records", "kmeans++", "utility_plus", "partition")

#: The true run: records in the sample of its search, most rounds of Lloyd's iteration on all
#: records, and the least share of the error that a round has to gain.
SAMPLE, ROUNDS, LEAST_GAIN = 2**16, 30, 1e-6

#: Records whose columns are computed at once: they stay in the processor's cache.
BLOCK = 2**14


@dataclass(frozen=True)
class View:
    """How a method sees records: domain, what becomes of those outside, lattice.

    Parameters
    ----------
    outside
        ``"clip"`` moves records outside to the border, ``"drop"`` leaves them out.
    cut, space
        Whether scaled records are cut to the lattice; None for the units of the data.
    ball
        Space into whose ball records are drawn before; None leaves them where they are.
    """

    domain: Domain
    outside: Outside
    cut: bool = False
    space: Space | None = None
    ball: Space | None = None

    def of(self, points: Floats) -> Floats:
        """Records that take part, in the view's coordinates."""
        if self.outside == "drop":
            points = points[self.domain.contains(points)]
        else:
            points = np.clip(points, self.domain.lows, self.domain.highs)
        if self.ball is not None:
            points = self.ball.restore(self.ball.scale(points))
        if self.space is None:
            return points
        scaled = self.space.scale(points)
        return on_lattice(scaled) if self.cut else scaled


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows of stored records: columns are computed anew in each pass, chunk by chunk."""

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
    """Records that are read in passes: the same interface, but for the points themselves.

    An engine reads the parts, in a fixed order; ``name`` is what messages call them. The rest is as
    in :meth:`dpviz.kmeans.records.Records.build`.

    The numbers are those of the same records in memory, to the bit where sums are exact: counts
    always, and all that comes of records on the lattice (``cut``). Other sums are added in another
    order, which changes their last digits. :meth:`dealt` draws from the same law, but other sets.
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
        # Not the initialization of records in memory, which would ask for points.
        given = {
            "name": name, "parts": tuple(parts), "engine": engine, "domain": domain,
            "outside": outside, "cut": cut, "weights": None, "classes": None,
            "_kept": LRUCache(24), "taken": View(domain, outside, cut),
        }  # fmt: skip
        for key, value in given.items():
            object.__setattr__(self, key, value)

    @property
    def points(self) -> Floats:
        """Refuse: the records stay where they are."""
        raise InputError(
            f"{shown(self.name)} stays on disk, and what was asked for needs all records at once: "
            "load it into memory, or ask for what counts and sums of records can tell."
        )

    def scaled(self, space: Space) -> Floats:
        """Refuse likewise."""
        return self.points

    @cached_property
    def _numbers(self) -> tuple[int, int, int]:
        """Records inside the domain and outside of it, and rows left out: one data pass."""
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
        """Number of records that take part."""
        inside, outside, _ = self._numbers
        return inside + outside if self.outside == "clip" else inside

    @property
    def n_outside(self) -> int:
        """Records that lie outside the domain."""
        return self._numbers[1]

    @property
    def dropped(self) -> int:
        """Rows left out because a value was missing or infinite."""
        return self._numbers[2]

    def rows(self, space: Space | None) -> StoredRows:
        """Records in scaled coordinates, for passes over them; None for the units of the data."""
        return StoredRows(self, self._view(space))

    def optimum(self, space: Space, clusters: int) -> Floats:
        """Scaled centres (K, d) that a search on a sample finds, and Lloyd's iteration from there.

        The sample is the only thing that leaves the parts besides tables: ``SAMPLE`` records or
        so, for the true run, which nobody may publish.
        """
        seeds = np.random.SeedSequence(0)
        share = min(1.0, SAMPLE / max(self.n, 1))
        found = self.engine.tables(
            self._seeded(seeds), partial(_read_sample, self._view(space), share)
        )
        sample = np.concatenate([points for (points,) in found])
        return self.descended(space, optimum(sample, clusters))

    def descended(self, space: Space, centers: Floats) -> Floats:
        """Scaled centres (K, d) after rounds of Lloyd's iteration: never worse.

        It ends where a round gains less than ``LEAST_GAIN``, or after ``ROUNDS`` of them.
        """
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

    def crossed(self, space: Space, one: Clustered, other: Clustered) -> NDArray[np.int64]:
        """Records by their clusters in one clustering and in another: one data pass."""
        pair = space.scale(one.centers), space.scale(other.centers)
        (table,) = self.rows(space).total(partial(_crossed, *pair))
        return table

    def within(self, domain: Domain) -> StoredRecords:
        """Return the same records with other bounds around them."""
        return self._with(domain, self.taken)

    def drawn_in(self, ball: Space) -> StoredRecords:
        """Return the records drawn into a ball, in the units of the data."""
        return self._with(ball.domain, replace(self.taken, ball=ball))

    def dealt(self, space: Space, parts: int, generator: np.random.Generator) -> Floats:
        """Counts and sums (parts, 1 + d) of sets that each record joins by its own draw.

        Each part draws from a seed of its own: whoever reads it, and however often, draws alike.
        """
        seeds = np.random.SeedSequence(generator.integers(2**32, size=4).tolist())
        work = partial(_read_dealt, self._view(space), parts)
        (table,) = self.engine.total(self._seeded(seeds), work)
        return table

    def _view(self, space: Space | None) -> View:
        """How records are seen in scaled coordinates; None for the units of the data."""
        return replace(self.taken, space=space)

    def _seeded(self, seeds: np.random.SeedSequence) -> list[_Seeded]:
        pairs = zip(self.parts, seeds.spawn(len(self.parts)), strict=True)
        return [_Seeded(part, seed) for part, seed in pairs]

    def _with(self, domain: Domain, taken: View) -> StoredRecords:
        other = StoredRecords(
            name=self.name, parts=self.parts, engine=self.engine, domain=domain,
            outside=self.outside, cut=self.cut,
        )  # fmt: skip
        object.__setattr__(other, "taken", taken)
        return other


@dataclass(frozen=True, eq=False)
class _Seeded:
    """A part with the seed of its draws."""

    part: Part
    seed: np.random.SeedSequence

    @property
    def title(self) -> str:
        """Name of the part."""
        return self.part.title


def check_passes(config: KMeansConfig, name: str) -> None:
    """Refuse methods that need all records at once, before anything is read or paid for.

    They cluster the records themselves, or start from raw ones.
    """
    if METHODS[config.method].card.needs_all_records:
        raise InputError(
            f"{config.method} clusters the records themselves, and {shown(name)} stays on disk: "
            "load it into memory, or choose a method that needs counts and sums of records alone, "
            "such as dprefine or dplloyd."
        )
    if config.variant == "published" and config.start in RAW_STARTS:
        raise InputError(
            f"{config.method}, published, starts from the raw records (start {config.start}), and "
            f"{shown(name)} stays on disk: load it into memory, or choose the sound variant."
        )


def _read(view: View, places: tuple[Placing, ...], work: RowWork, part: Part) -> Tables:
    """Tables of a part, its chunks added in their order."""

    def of(points: Floats) -> Tables:
        columns: tuple[NDArray[Any], ...] = (view.of(points),)
        for place in places:
            columns = place(*columns)
        return work(None, *columns)

    # Tables of no records have the right shapes, also for a part without any.
    total = of(np.empty((0, view.domain.ndim)))
    for points, _ in part.chunks():
        for begin in range(0, len(points), BLOCK):
            for table, more in zip(total, of(points[begin : begin + BLOCK]), strict=True):
                table += more
    part.check()
    return total


def _read_dealt(view: View, sets: int, seeded: _Seeded) -> Tables:
    """Counts and sums of the sets that a part's records join."""
    generator = np.random.default_rng(seeded.seed)
    return _read(view, (), partial(_dealt, sets, generator), seeded.part)


def _dealt(sets: int, generator: np.random.Generator, weights: Weights, points: Floats) -> Tables:
    return (dealt(points, sets, generator),)


def _count(domain: Domain, part: Part) -> Tables:
    """Records of a part inside the domain, those outside of it, and rows left out."""
    total = np.zeros(3, dtype=np.int64)
    for points, dropped in part.chunks():
        inside = int(np.count_nonzero(domain.contains(points)))
        total += inside, len(points) - inside, dropped
    part.check()
    return (total,)


def _read_sample(view: View, share: float, seeded: _Seeded) -> Tables:
    generator = np.random.default_rng(seeded.seed)
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

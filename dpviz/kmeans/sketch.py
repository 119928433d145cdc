"""A sketch of many records: a sample in which each record represents several records."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.kmeans.records import Records
from dpviz.kmeans.space import Space

#: Approximate number of records in a sketch; least number of records for which a sketch is made.
SKETCHED, MANY = 2**15, 2**17

#: Number of records in a sketch that is drawn before any code is compiled.
INTERPRETED = 2**11

#: Starts of :meth:`Sketch.start`.
_STARTS = 20

#: Largest number of cells of a nested grid over a sketch. This limit increases WCSS by at most 1%,
#: in 2 to 10 columns. EUGkM's plain grid has no limit: its errors would change by a factor up to 7.
MOST_CELLS = 2**10

#: Largest number of blocks of cells in which clusters are searched, in all and along each axis.
#: These limits increase WCSS by at most 1.5%.
MOST_PLACES, ALONG_AXIS = 2**14, 2**6

#: Largest number of blocks of a sketch that GUPT clusters; 30,000 records have about as many.
SKETCHED_BLOCKS = 2**6


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch(Records):
    """A sample in which each record counts ``each`` times, so relative noise does not change.

    The sample's error is about 1/180 of a cluster's records. Nested grids have at most MOST_CELLS
    cells (or as many as K clusters need) and twice as many subcells. Clusters of a uniform grid are
    searched in blocks. GUPT clusters a few blocks, which represent all blocks.
    """

    each: int

    most_cells: ClassVar[int] = MOST_CELLS
    most_blocks: ClassVar[int] = SKETCHED_BLOCKS
    one_weight: ClassVar[bool] = True

    @property
    def most_places(self) -> int:
        """Largest number of places in which clusters of a grid are searched."""
        return min(MOST_PLACES, int(ALONG_AXIS**self.domain.ndim))

    @classmethod
    def of(cls, records: Records, *, few: bool = False) -> Sketch:
        """Choose a sample without replacement, the same sample in each call.

        ``few`` is for a run before any code is compiled.
        """
        each = max(1, records.n // (INTERPRETED if few else SKETCHED))
        size = records.n // each
        chosen = np.sort(np.random.default_rng(0).choice(records.n, size, replace=False))
        return cls(
            points=records.points[chosen],
            domain=records.domain,
            n_outside=records.n_outside,
            cut=True,
            weights=np.full(size, each, dtype=np.int64),
            classes=None if records.classes is None else records.classes[chosen],
            each=each,
        )

    def start(self, clusters: int) -> Floats | None:
        """Good centres (K, d) in the units of the data, without code that numba compiles.

        None if there are too few points.
        """
        from scipy.cluster.vq import ClusterError, kmeans2, vq  # few sketches need it

        rng, points, found = np.random.default_rng(0), self.points, []
        if len(np.unique(points, axis=0)) > clusters:
            for _ in range(_STARTS):
                with suppress(ClusterError):  # a centre without points
                    found.append(kmeans2(points, clusters, minit="++", missing="raise", rng=rng)[0])
        return min(found, key=lambda one: float((vq(points, one)[1] ** 2).sum()), default=None)

    def wcss(self, space: Space | None, centers: Floats) -> float:
        """WCSS of all records that the sample represents."""
        return self.each * super().wcss(space, centers)

    def crossed(self, space: Space, one: Any, other: Any) -> Ints:
        """Number of records that the sample represents, per pair of clusters."""
        return self.each * super().crossed(space, one, other)


def worth_sketching(records: Records) -> bool:
    """Return whether there are so many records that a sketch of them is shown first."""
    return records.weights is None and records.n >= MANY

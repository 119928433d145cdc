"""A sketch of many records: a sample, each record of which stands for as many others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.kmeans.records import Clustered, Records
from dpviz.kmeans.space import Space

#: Records in a sketch, about; and least number of records that are a reason for one.
SKETCHED, MANY = 2**15, 2**17

#: Most cells of a nested grid over a sketch. Its rule asks for more the more records there are, and
#: so many take seconds; this many cost at most 1% in WCSS, in 2 to 10 columns. EUGkM's plain grid
#: has no such limit: with fewer cells its errors are others, up to seven times as large.
MOST_CELLS = 2**10

#: Most places that clusters of a grid over a sketch are searched with, and most along each axis:
#: blocks of its cells. In 2 to 10 columns they cost at most 1.5% in WCSS.
MOST_PLACES, ALONG_AXIS = 2**14, 2**6

#: Most blocks of a sketch's records that are clustered (GUPT): 30,000 records have about as many.
SKETCHED_BLOCKS = 2**6


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch(Records):
    """A sample of records that counts each of its records ``each`` times.

    So counts and sums, and noise beside them, have the size that they have with all records. What
    the sample itself is off by is about one part in 180 of a cluster with all records. Three things
    are coarser than with all of them: a nested grid has at most MOST_CELLS cells, or as few as K
    clusters need, and at most twice as many subcells; clusters of a uniform grid's cells are
    searched with blocks of them; and of GUPT's blocks there are few, which stand for all.
    """

    each: int

    most_cells: ClassVar[int] = MOST_CELLS
    most_blocks: ClassVar[int] = SKETCHED_BLOCKS
    one_weight: ClassVar[bool] = True

    @property
    def most_places(self) -> int:
        """Most places that clusters of a grid are searched with."""
        return min(MOST_PLACES, int(ALONG_AXIS**self.domain.ndim))

    @classmethod
    def of(cls, records: Records) -> Sketch:
        """Draw a sample without replacement, the same one each time."""
        each = max(1, records.n // SKETCHED)
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

    def wcss(self, space: Space | None, centers: NDArray[np.float64]) -> float:
        """Within-cluster sum of squares, of all records that the sample stands for."""
        return self.each * super().wcss(space, centers)

    def crossed(self, space: Space, one: Clustered, other: Clustered) -> NDArray[np.int64]:
        """Records by their clusters in one clustering and in another."""
        return self.each * super().crossed(space, one, other)


def worth_sketching(records: Records) -> bool:
    """Whether there are so many records that a sketch of them comes first."""
    return records.weights is None and records.n >= MANY

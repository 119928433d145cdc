"""A sketch of many records: a sample, each record of which stands for as many others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpviz.kmeans.records import Clustered, Records
from dpviz.kmeans.space import Space
from dpviz.kmeans.stored import WHOLE

#: Records in a sketch, about; fewer than twice as many records are no reason for one.
SKETCHED = 2**16

#: Most cells of a nested grid over a sketch. Its rule asks for more the more records there are, and
#: so many take seconds; this many cost at most 1% in WCSS, in 2 to 10 columns. EUGkM's plain grid
#: has no such limit: with fewer cells its errors are others, up to seven times as large.
MOST_CELLS = 2**10


@dataclass(frozen=True, kw_only=True, eq=False)
class Sketch(Records):
    """A sample of records that counts each of its records several times.

    So counts and sums, and noise beside them, have the size that they have with all records. What
    the sample itself is off by is about one part in 250 of a cluster with all records. A nested
    grid over it has at most MOST_CELLS cells, or as few as K clusters need, and at most twice as
    many subcells: it may be coarser than the grid over all records.

    Parameters
    ----------
    each
        Records that one of the sample stands for.
    """

    each: int

    most_cells: ClassVar[int] = MOST_CELLS

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


def worth_sketching(records: Records, method: str) -> bool:
    """Whether a method takes much longer on all records than on a sketch of them.

    Methods that deal single records into blocks need them all.
    """
    return records.weights is None and records.n >= 2 * SKETCHED and method not in WHOLE

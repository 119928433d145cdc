"""Records on the lattice of the screen, so that a figure reads a limited number of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.grid.counts import tally
from dpviz.grid.domain import Domain, flat_cells
from dpviz.wavecluster.pipeline import Source

#: Maximum number of cells per axis on the screen; finer cells are combined into blocks.
MOST_CELLS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Raster:
    """Records as counts on a lattice over two columns."""

    counts: NDArray[np.int64]  # number of records per lattice cell, shape (right, up)

    @classmethod
    def of_source(cls, source: Source) -> Raster:
        """Count records on the finest lattice of the screen that refines their grid."""
        return cls(counts=source.refined(MOST_CELLS))

    @cached_property
    def shade(self) -> NDArray[np.uint8]:
        """Shade of each cell: 0 for no records, 1 for few records, 2 for many records."""
        filled = self.counts[self.counts > 0]
        middle = np.median(filled) if filled.size else 0
        return (self.counts > 0).astype(np.uint8) + (self.counts > middle)


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordRaster(Raster):
    """A raster that also stores one record of each non-empty lattice cell."""

    axes: tuple[int, int]  # positions of the two shown columns
    filled: NDArray[np.intp]  # lattice cells with records, row-major, shape (m,)
    #: One record of each cell in ``filled``, with all columns, shape (m, d).
    examples: NDArray[np.float64]

    @classmethod
    def of_records(
        cls, points: NDArray[np.float64], domain: Domain, axes: tuple[int, int]
    ) -> RecordRaster:
        """Count the records (n, d) on the lattice of the screen, over two columns."""
        shape = (MOST_CELLS, MOST_CELLS)
        cells = flat_cells(points[:, axes], domain.select(axes), shape)
        counts = tally(cells, MOST_CELLS**2)
        filled = np.flatnonzero(counts)
        last = np.empty(MOST_CELLS**2, dtype=np.intp)
        last[cells] = np.arange(len(points))
        return cls(
            counts=counts.reshape(shape), axes=axes, filled=filled, examples=points[last[filled]]
        )

    def painted(self, labels: NDArray[np.int32], empty: int) -> NDArray[np.int32]:
        """Lattice with the label of one record per cell, from the labels (m,) of ``examples``."""
        painted = np.full(self.counts.size, empty, dtype=np.int32)
        painted[self.filled] = labels
        return painted.reshape(self.counts.shape)


def cell_means(
    points: NDArray[np.float64], values: NDArray[np.float64], domain: Domain, side: int
) -> NDArray[np.float64]:
    """Mean of values (n,) over the records (n, 2) in each cell (side, side); NaN if empty."""
    cells = flat_cells(points, domain, (side, side))
    records, sums = (np.bincount(cells, one, minlength=side**2) for one in (None, values))
    means = np.where(records > 0, sums / np.maximum(records, 1), np.nan)
    return means.reshape(side, side)

"""Count the points of each cell, in the only pass over the data that WaveCluster needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices, Ints
from dpviz.base.errors import InputError
from dpviz.base.threads import in_threads, spans
from dpviz.grid.domain import (
    Domain,
    Outside,
    check_outside,
    compiled_loops,
    compiled_rule,
    flat_cells,
    grid_shape,
)

T = TypeVar("T", bound=np.number)

#: Floats represent exactly every whole number up to this limit.
MAX_EXACT = 2**53

#: Smallest number of points for which a second thread saves time.
MORE = 2**20

#: Largest number of records in a grid of counts that can be converted to points in memory.
MOST_RECORDS = 10**8


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedPoints:
    """Positions (m, d) in the domain, and number of records at each position (None: one record)."""

    points: Floats
    weights: Ints | None = None


def quantize(
    points: Floats,
    domain: Domain,
    grid: int | tuple[int, ...],
    *,
    outside: Outside = "clip",
    weights: Ints | None = None,
) -> tuple[Ints, int]:
    """Count the records in every cell of a grid over the domain.

    Returns counts M of points (n, d), int64 of shape ``grid``, and the number of points outside.
    One record changes one cell by one; ``weights`` (n,) are records per point (None: 1 record).
    Points outside are moved to the border cell (``"clip"``) or left out (``"drop"``). Raises
    InputError if numbers of axes differ, or the counts need too much memory.

    Cells are half-open and the last cell is closed, as in ``numpy.histogramdd``: "Quantization" of
    Chen, Yu, Chirkova, section 3.2.
    """
    check_outside(outside)
    shape = grid_shape(grid, domain.ndim)
    total = int(np.prod(shape))
    drop = outside == "drop"
    loops = compiled_loops(len(points))
    if loops is None:
        counts, n_outside = _few(points, domain, shape, drop, weights)
        return counts.reshape(shape), n_outside
    box, sides = compiled_rule(domain, shape)
    given = np.empty(0, dtype=np.int64) if weights is None else weights

    def work(part: slice) -> tuple[Ints, int]:
        table = np.zeros(total, dtype=np.int64)
        return table, loops.count(points[part], given[part], box, sides, drop, table)

    # Each thread has its own table; this saves time if there are many more points than cells.
    parts = in_threads(work, spans(len(points), max(MORE, 4 * total)))
    return merge(table for table, _ in parts).reshape(shape), sum(found for _, found in parts)


def load_loops(points: Floats) -> None:
    """Load and compile the loops of :func:`quantize` for these points, to measure only the pass."""
    if loops := compiled_loops(len(points)):
        none = np.empty(0, dtype=np.int64)
        box, sides = np.ones((4, points.shape[1])), np.ones(points.shape[1], dtype=np.int64)
        loops.count(points[:0], none, box, sides, True, np.zeros(1, dtype=np.int64))


def quantize_parts(
    parts: Iterable[Floats],
    domain: Domain,
    grid: int | tuple[int, ...],
    *,
    outside: Outside = "clip",
) -> tuple[Ints, int]:
    """Count the records of several arrays (n, d) in one thread, as :func:`quantize` does."""
    check_outside(outside)
    shape = grid_shape(grid, domain.ndim)
    drop = outside == "drop"
    (box, sides), alone = compiled_rule(domain, shape), np.empty(0, dtype=np.int64)
    counts, n_outside, loops = np.zeros(int(np.prod(shape)), dtype=np.int64), 0, None
    for points in parts:
        # Once the loops are imported, they count short parts, too. All parts share one table.
        loops = loops or compiled_loops(len(points))
        if loops is None:
            more, found = _few(points, domain, shape, drop, None)
            counts += more
        else:
            found = loops.count(points, alone, box, sides, drop, counts)
        n_outside += found
    return counts.reshape(shape), n_outside


def _few(
    points: Floats, domain: Domain, shape: tuple[int, ...], drop: bool, weights: Ints | None
) -> tuple[Ints, int]:
    inside = domain.contains(points)
    n_outside = len(points) - int(np.count_nonzero(inside))
    if n_outside and drop:
        points, weights = points[inside], None if weights is None else weights[inside]
    return tally(flat_cells(points, domain, shape), int(np.prod(shape)), weights), n_outside


def tally(cells: Indices, total: int, weights: Ints | None = None) -> Ints:
    """Count the points in each of ``total`` cells, or add up their whole-number weights."""
    # np.bincount adds weights in double precision, which is exact below 2**53 records.
    return np.bincount(cells, weights=weights, minlength=total).astype(np.int64)


def merge(parts: Iterable[Ints]) -> Ints:
    """Add the counts of disjoint parts of the data; all have the same shape."""
    return np.asarray(np.sum(list(parts), axis=0))


def block_sums(counts: NDArray[T], level: int = 1) -> NDArray[T]:
    """Sum counts over blocks with 2**level cells per side; empty cells are added at the end."""
    padded = pad(counts, level)
    step = 2**level
    split = [part for side in padded.shape for part in (side // step, step)]
    summed: NDArray[T] = padded.reshape(split).sum(axis=tuple(range(1, 2 * padded.ndim, 2)))
    return summed


def pad(counts: NDArray[T], level: int) -> NDArray[T]:
    """Add empty cells at the end of every side that 2**level does not divide.

    Otherwise a periodized transform repeats the last cell. A record in this cell then changes W
    four times as much: with Haar and two sides of 5, by 2 instead of 1/2.
    """
    missing = [-side % 2**level for side in counts.shape]
    if not any(missing):
        return counts
    return np.pad(counts, [(0, more) for more in missing])


def weighted_cells(counts: Ints, domain: Domain) -> WeightedPoints:
    """Centres of the cells that have records, for data given as counts."""
    filled = np.flatnonzero(counts)
    return WeightedPoints(
        points=cell_centres(filled, counts.shape, domain), weights=counts.ravel()[filled]
    )


def laid_out(counts: Ints, domain: Domain) -> Floats:
    """One point per record at the centre of its cell, for data given as counts."""
    records = int(counts.sum())
    if records > MOST_RECORDS:
        raise InputError(
            f"the grid counts {records:,} records, more than the {MOST_RECORDS:,} whose points can "
            "be in memory: choose a WaveCluster technique, such as privthr."
        )
    return cell_centres(np.repeat(np.arange(counts.size), counts.ravel()), counts.shape, domain)


def cell_centres(cells: Indices, shape: tuple[int, ...], domain: Domain) -> Floats:
    """Centres (m, d) of the cells with these flat numbers, in a grid over the domain."""
    index = np.stack(np.unravel_index(cells, shape), axis=1)
    return np.asarray(domain.lows + (index + 0.5) * cell_width(domain, shape))


def cell_width(domain: Domain, shape: tuple[int, ...], level: int = 0) -> Floats:
    """Width (d,) of 2**level cells on each axis, in a grid over the domain."""
    return np.asarray((domain.highs - domain.lows) / np.asarray(shape) * 2.0**level)

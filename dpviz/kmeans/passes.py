"""The passes over the data: each pass returns K rows for any number of records.

Results are additive over chunks. The passes are compiled, because NumPy would write n x K distances
to memory. Rounding of matrix products would make a record's cluster depend on other records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints, Labels
from dpviz.base.threads import in_threads
from dpviz.grid.domain import CHUNK

#: Empty arrays for results that are not needed.
_NO_LABELS, _NONE, _NO_TABLE = np.empty(0, dtype=np.int32), np.empty(0), np.empty((0, 4))


@dataclass(frozen=True, eq=False)
class Fit:
    """Errors of centres on the records, per cluster (K,).

    ``losses``: increase of the sum of squares without the centre (infinite for K = 1).
    ``contours``: sums of coefficients, see :func:`simplified_silhouettes`.
    """

    counts: Floats
    errors: Floats
    losses: Floats
    contours: Floats


@cache
def loops() -> Any:
    """Import the compiled loops (:mod:`dpviz.kmeans.kernels`) on first use: the import is slow."""
    from dpviz.kmeans import kernels

    return kernels


def cluster_sums(points: Floats, centers: Floats) -> Floats:
    """Counts (column 0) and sums of the points (n, d) of each nearest centre, shape (K, 1 + d).

    The pass of Lloyd's iteration. If centres (K, d) are equally near, the lowest number is chosen.
    """

    def add(chunk: slice, table: Floats) -> None:
        loops().add_sums(points[chunk], centers, *loops().rooms(points.shape[1]), table)

    return _added_up(add, _chunks(points), np.zeros((len(centers), points.shape[1] + 1)))


def fit(points: Floats, centers: Floats, weights: Floats | None = None) -> Fit:
    """Return all errors of clusters in one pass; weights (n,) are numbers of records (None: 1)."""
    table = np.zeros((len(centers), 4))
    for chunk in _chunks(points):
        part = points[chunk]
        share = np.ones(len(part)) if weights is None else weights[chunk]
        _assign(part, centers, weights=share, table=table)
    return Fit(*table.T)


def assigned(points: Floats, centers: Floats) -> tuple[Labels, Floats]:
    """Number of the nearest centre of each point, and the squared distance to it, shape (n,)."""
    labels, squares = np.empty(len(points), dtype=np.int32), np.empty(len(points))
    _row_by_row(_assign, points, (centers,), labels, squares)
    return labels, squares


def squares_to(points: Floats, centers: Floats, labels: Labels) -> Floats:
    """Squared distance of each point to the centre of its label, shape (n,)."""
    squares = np.empty(len(points))
    _row_by_row(loops().squares_to, points, (centers,), labels, squares)
    return squares


def projected(points: Floats, center: Floats, directions: Floats) -> Floats:
    """Coordinates of points (n, d) along directions (d, m) from a centre, clipped to [-1, 1]."""
    found = np.empty((len(points), directions.shape[1]))
    _row_by_row(loops().project, points, (center, directions), found)
    return found


def residuals(
    points: Floats,
    weights: Ints | None,
    centers: Floats,
    labels: Labels,
    squares: Floats,
    radius: float,
    unit: float,
) -> Floats:
    """Counts, clipped squares and residuals of each nearest centre (K, 2 + d): one data pass.

    A record adds 1, min(r / radius, 1)^2, and its residual (of length r) divided by the radius and
    shortened into the unit ball. Numbers are truncated to multiples of ``unit``, a power of 2: none
    becomes larger, and sums are exact in any order. Weights (n,) count records at points (None: 1).
    """
    given = np.empty(0, dtype=np.int64) if weights is None else weights

    def add(chunk: slice, table: Ints) -> None:
        loops().add_residuals(
            points[chunk], given[chunk], centers, labels[chunk], squares[chunk], radius, unit, table
        )

    table = np.zeros((len(centers), 2 + points.shape[1]), dtype=np.int64)
    return np.asarray(_added_up(add, _chunks(points), table) * unit)


def nearest(points: Floats, centers: Floats) -> Labels:
    """Number of the nearest centre of each point, shape (n,)."""
    return assigned(points, centers)[0]


def wcss(points: Floats, centers: Floats) -> float:
    """Within-cluster sum of squares: the sum of squared distances to the nearest centres."""

    def add(chunk: slice, table: Floats) -> None:
        table += _assign(points[chunk], centers)

    return float(_added_up(add, _chunks(points), np.zeros(1))[0])


def excess(points: Floats, weights: Ints | None, candidates: Floats, unit: float) -> Floats:
    """Excess (m,) of the WCSS of sets of centres (m, K, d) over a number that all sets share.

    A record adds its squared distance to the set minus its squared distance to the nearest set,
    which is never negative. Squares are rounded down to multiples of ``unit``, a power of 2, so
    sums are exact in any order. Weights (n,) are numbers of records at each point (None: 1).
    """
    m, K, d = candidates.shape
    places, members = np.unique(candidates.reshape(-1, d), axis=0, return_inverse=True)
    sets, given = members.reshape(m, K), np.empty(0, dtype=np.int64) if weights is None else weights
    reach = np.abs(points).max(initial=0) + np.abs(places).max(initial=0)
    number = np.int32 if d * reach**2 / unit < 2**31 - 1 else np.int64

    def add(chunk: slice, table: Ints) -> None:
        room = np.zeros((d + 1, loops().BLOCK))
        whole = np.empty((len(places) + m + 1, loops().BLOCK), dtype=number)
        loops().add_excess(points[chunk], given[chunk], places, sets, unit, room, whole, table)

    # Each record is compared with all sets, so two threads help even for a sketch.
    chunks = _chunks(points, 32)
    return np.asarray(_added_up(add, chunks, np.zeros(m, dtype=np.int64)) * unit)


def simplified_silhouettes(
    points: Floats, centers: Floats, weights: Floats | None = None
) -> Floats:
    """Return the contour coefficient S_k of every cluster in O(n K), shape (K,).

    S_k is the mean of S_i = (b_i - a_i) / max(a_i, b_i); a_i and b_i are the distances of record i
    to its own centre and to the nearest other centre. S_i is 0 at two equal centres and for K = 1;
    S_k is 0 for an empty cluster. Zhang, Liu, Wang 2018, "The complexity analysis".
    """
    found = fit(points, centers, weights)
    return np.asarray(found.contours / np.where(found.counts > 0, found.counts, 1))


def printed_contours(total: Callable[[Floats], Floats], clusters: int) -> Floats:
    """Return the contour coefficient S_k of every cluster as printed, in O(n K), shape (K,).

    S_k is the mean of S_i = (b_i - a_k) / max(a_k, b_i); a_k is the cluster's average distance. S_k
    is 0 for an empty cluster, equal centres, and K = 1. ``total`` is a data pass that takes
    averages (K,) and returns :func:`contour_sums`. Zhang, Liu, Wang 2018, "Improvement of the
    calculation of contour coefficient".
    """
    first = total(np.zeros(clusters))
    counts = np.where(first[:, 0] > 0, first[:, 0], 1)
    return np.asarray(total(first[:, 1] / counts)[:, 2] / counts)


def contour_sums(points: Floats, centers: Floats, averages: Floats) -> Floats:
    """Counts, distances and contour coefficients (for averages (K,)) of nearest centres, (K, 3)."""
    table = np.zeros((len(centers), 3))
    for chunk in _chunks(points):
        room = loops().rooms(points.shape[1])
        loops().add_contours(points[chunk], centers, *room, averages, table)
    return table


def _assign(
    points: Floats,
    centers: Floats,
    labels: Labels = _NO_LABELS,
    squares: Floats = _NONE,
    weights: Floats = _NONE,
    table: Floats = _NO_TABLE,
) -> float:
    room = loops().rooms(points.shape[1])
    return float(loops().assign(points, centers, *room, labels, squares, weights, table))


def _row_by_row(
    loop: Callable[..., object], points: Floats, fixed: tuple[Floats, ...], *rows: NDArray[Any]
) -> None:
    def part(chunk: slice) -> None:
        loop(points[chunk], *fixed, *(one[chunk] for one in rows))

    in_threads(part, _chunks(points))


def _added_up(
    add: Callable[[slice, NDArray[Any]], None], chunks: list[slice], empty: NDArray[Any]
) -> NDArray[Any]:
    def part(chunk: slice) -> NDArray[Any]:
        table = np.zeros_like(empty)
        add(chunk, table)
        return table

    # Sum arrays, because newer versions of Python's sum() correct rounding errors of plain floats.
    return np.asarray(sum(in_threads(part, chunks), empty))


def _chunks(points: Floats, parts: int = 1) -> list[slice]:
    size = max(1, CHUNK // parts)
    return [slice(begin, begin + size) for begin in range(0, len(points), size)]

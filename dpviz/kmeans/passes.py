"""The passes over the data: every one returns K rows, whatever the number of records.

What a pass returns is additive over chunks of the records, so an out-of-core or distributed
run adds up the same numbers. Compiled, since NumPy would write n x K distances to memory; and
not by matrix products, whose rounding makes a record's cluster depend on the other records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.threads import in_threads
from dpviz.grid.domain import CHUNK


@dataclass(frozen=True, eq=False)
class Fit:
    """How well centres fit the records, per cluster, each of shape (K,).

    ``losses`` is by how much the sum of squared errors grows when the centre is taken away
    (infinite for K = 1); ``contours`` the sum of coefficients, see :func:`simplified_silhouettes`.
    """

    counts: Floats
    errors: Floats
    losses: Floats
    contours: Floats


@cache
def loops() -> Any:
    """Compiled loops (:mod:`dpviz.kmeans.kernels`), which take long to import: on first use."""
    from dpviz.kmeans import kernels

    return kernels


def cluster_sums(points: Floats, centers: Floats) -> Floats:
    """Counts (column 0) and sums of points (n, d) by nearest centre, shape (K, 1 + d).

    The data pass of Lloyd's iteration. Of the centres (K, d), the lowest number wins ties.
    """
    shape = (len(centers), points.shape[1] + 1)

    def part(chunk: slice) -> Floats:
        table = np.zeros(shape)
        loops().add_sums(points[chunk], centers, table)
        return table

    return np.asarray(sum(in_threads(part, _chunks(points)), np.zeros(shape)))


def fit(points: Floats, centers: Floats, weights: Floats | None = None) -> Fit:
    """Errors, losses and contour coefficients of all clusters in one pass.

    Weights (n,) are the records that each point stands for; None counts each once.
    """
    table = np.zeros((len(centers), 4))
    for chunk in _chunks(points):
        part = points[chunk]
        share = np.ones(len(part)) if weights is None else weights[chunk]
        loops().add_fit(part, centers, share, table)
    return Fit(*table.T)


def assigned(points: Floats, centers: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Number of the nearest centre of every point, and the squared distance to it, shape (n,)."""
    labels, squares = np.empty(len(points), dtype=np.int32), np.empty(len(points))

    def part(chunk: slice) -> None:
        loops().assign(points[chunk], centers, labels[chunk], squares[chunk])

    in_threads(part, _chunks(points))
    return labels, squares


def squares_to(points: Floats, centers: Floats, labels: NDArray[np.int32]) -> Floats:
    """Squared distance of every point to the centre of its label, shape (n,)."""
    squares = np.empty(len(points))

    def part(chunk: slice) -> None:
        loops().squares_to(points[chunk], centers, labels[chunk], squares[chunk])

    in_threads(part, _chunks(points))
    return squares


def projected(points: Floats, center: Floats, directions: Floats) -> Floats:
    """Coordinates of points (n, d) along directions (d, m), from a centre, clipped to [-1, 1]."""
    found = np.empty((len(points), directions.shape[1]))

    def part(chunk: slice) -> None:
        loops().project(points[chunk], center, directions, found[chunk])

    in_threads(part, _chunks(points))
    return found


def residuals(
    points: Floats,
    weights: NDArray[np.int64] | None,
    centers: Floats,
    labels: NDArray[np.int32],
    squares: Floats,
    radius: float,
    unit: float,
) -> Floats:
    """Counts, clipped squares and clipped residuals by nearest centre (K, 2 + d): one data pass.

    A record adds 1, (r / radius)^2 and its residual from the centre / radius, where r is the
    residual's length, and a longer residual than the radius is shortened to it: so the last d
    numbers lie in the unit ball. They are truncated to multiples of ``unit``, a power of 2, which
    makes no number larger; so the sums are exact, whatever the order. Weights (n,) are the records
    at each point, None for one each; labels and squares are of :func:`assigned`.
    """
    given = np.empty(0, dtype=np.int64) if weights is None else weights
    shape = (len(centers), 2 + points.shape[1])

    def part(chunk: slice) -> NDArray[np.int64]:
        table = np.zeros(shape, dtype=np.int64)
        loops().add_residuals(
            points[chunk], given[chunk], centers, labels[chunk], squares[chunk], radius, unit, table
        )
        return table

    tables = in_threads(part, _chunks(points))
    return np.asarray(sum(tables, np.zeros(shape, dtype=np.int64)) * unit)


def nearest(points: Floats, centers: Floats) -> NDArray[np.int32]:
    """Number of the nearest centre of every point, shape (n,)."""
    return assigned(points, centers)[0]


def wcss(points: Floats, centers: Floats) -> float:
    """Within-cluster sum of squares: squared distances to the nearest centres, added up."""

    def part(chunk: slice) -> Floats:
        return np.array([loops().error(points[chunk], centers)])

    # Of arrays: sum() compensates for the rounding of Python's numbers, and the order stays.
    return float(sum(in_threads(part, _chunks(points)), np.zeros(1))[0])


def excess(
    points: Floats, weights: NDArray[np.int64] | None, candidates: Floats, unit: float
) -> Floats:
    """What the WCSS of sets of centres exceeds the least possible by, if each record chose its set.

    It differs from the WCSS by the same number for all sets. Of a record it holds by how much its
    squared distance to a set exceeds that to the nearest set: never negative.

    Takes records at each point, shape (n,), or None for one each, and sets of centres, shape (m, K,
    d); returns shape (m,). Squared distances are rounded down to multiples of ``unit``, a power of
    2: the sums are exact, whatever the order.
    """
    m, K, d = candidates.shape
    places, members = np.unique(candidates.reshape(-1, d), axis=0, return_inverse=True)
    sets, given = members.reshape(m, K), np.empty(0, dtype=np.int64) if weights is None else weights
    reach = np.abs(points).max(initial=0) + np.abs(places).max(initial=0)
    number = np.int32 if d * reach**2 / unit < 2**31 - 1 else np.int64

    def part(chunk: slice) -> NDArray[np.int64]:
        table = np.zeros(m, dtype=np.int64)
        room = np.empty((len(places), loops().BLOCK), dtype=number)
        loops().add_excess(points[chunk], given[chunk], places, sets, unit, room, table)
        return table

    # Small chunks: each record is compared with all sets, so a sketch's few are worth two threads.
    tables = in_threads(part, _chunks(points, 32))
    return np.asarray(sum(tables, np.zeros(m, dtype=np.int64)) * unit)


def simplified_silhouettes(
    points: Floats, centers: Floats, weights: Floats | None = None
) -> Floats:
    """Contour coefficient S_k of every cluster in O(n K), shape (K,).

    S_i = (b_i - a_i) / max(a_i, b_i) with a_i the distance of record i to its own centre and
    b_i to the nearest other one; S_k is the mean over cluster k. 0 for an empty cluster, for
    a record on two centres at once, and for K = 1.

    Notes
    -----
    Zhang, Liu, Wang 2018, "The complexity analysis": the simplified silhouette. Their definition
    takes averages for a: see :func:`printed_contours`.
    """
    found = fit(points, centers, weights)
    coefficients: Floats = found.contours / np.where(found.counts > 0, found.counts, 1)
    return coefficients


def printed_contours(points: Floats, centers: Floats) -> Floats:
    """Contour coefficient S_k of every cluster as printed, in O(n K), shape (K,).

    S_i = (b_i - a_k) / max(a_k, b_i) with a_k the average distance of the records of cluster k to
    its centre and b_i the distance of record i to the nearest other one; S_k is the mean over the
    cluster. 0 for an empty cluster, for centres at one place, and for K = 1.

    Notes
    -----
    Zhang, Liu, Wang 2018, "Improvement of the calculation of contour coefficient".
    """
    averages = np.zeros(len(centers))
    # The first pass finds the averages, the second one the coefficients.
    for _ in range(2):
        table = np.zeros((len(centers), 3))
        for chunk in _chunks(points):
            loops().add_contours(points[chunk], centers, averages, table)
        counts = np.where(table[:, 0] > 0, table[:, 0], 1)
        averages = table[:, 1] / counts
    coefficients: Floats = table[:, 2] / counts
    return coefficients


def _chunks(points: Floats, parts: int = 1) -> list[slice]:
    size = max(1, CHUNK // parts)
    return [slice(begin, begin + size) for begin in range(0, len(points), size)]

"""Scores that compare centres, or clusters matched one to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.base.lazy import linear_sum_assignment


def match(
    true: NDArray[np.float64], private: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match centres (K, d) one to one with the smallest sum of squares; return both positions."""
    return linear_sum_assignment(_squares(true, private))


def displacement(true: NDArray[np.float64], private: NDArray[np.float64]) -> float:
    """Mean distance between matched centres (K, d), in the units of the centres."""
    rows, order = match(true, private)
    return float(np.linalg.norm(true[rows] - private[order], axis=1).mean())


def matched_f_measure(table: NDArray[np.int64]) -> float:
    """F-measure of clusters that are matched one to one, weighted by the true clusters' sizes.

    A pair U, V of the table (K, K') has P = |U and V| / |V| and R = |U and V| / |U|; the score is
    the mean of 2 P R / (P + R). Zhang, Liu, Wang 2018 pair clusters that have the same number, but
    their formula is not readable in our copy.
    """
    rows, columns = linear_sum_assignment(table, maximize=True)
    common = table[rows, columns]
    sizes = table.sum(axis=1)
    both = sizes[rows] + table.sum(axis=0)[columns]
    scores = 2 * common / np.where(both > 0, both, 1)
    return float((sizes[rows] * scores).sum() / max(int(sizes.sum()), 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Placement:
    """The positions of private centres, each of which belongs to its nearest true centre.

    ``owner`` (K',) is this true centre; ``alone`` are true centres without a private centre, and
    ``crowded`` are those with several. Private centres are ``far`` if they are over half the way
    from their owner to the next true centre. ``one_each`` counts true centres with exactly one
    private centre, if it is not far. For K = K', ``alone`` is one direction of the centroid index
    of Fränti, Rezaei, Zhao 2014 (Pattern Recognition 47, 3034-3045).
    """

    owner: NDArray[np.intp]
    alone: NDArray[np.intp]
    crowded: NDArray[np.intp]
    far: NDArray[np.intp]
    one_each: int


def placement(true: NDArray[np.float64], private: NDArray[np.float64]) -> Placement:
    """Compare private centres (K', d) with true centres (K, d) in equal units; no number is 0."""
    squares = _squares(true, private)
    owner, distance = squares.argmin(axis=0), squares.min(axis=0)
    between = _squares(true, true)
    np.fill_diagonal(between, np.inf)
    far = distance > between.min(axis=1)[owner] / 4
    belonging = np.bincount(owner, minlength=len(true))
    close = np.bincount(owner[~far], minlength=len(true))
    return Placement(
        owner=owner,
        alone=np.flatnonzero(belonging == 0),
        crowded=np.flatnonzero(belonging > 1),
        far=np.flatnonzero(far),
        one_each=int(np.count_nonzero((belonging == 1) & (close == 1))),
    )


def owners_first(true: NDArray[np.float64], private: NDArray[np.float64]) -> NDArray[np.intp]:
    """Order of private centres (K', d): place k has the private centre nearest to true centre k.

    Places of true centres without a private centre, and places from K on, get the other centres.
    """
    squares = _squares(true, private)
    owner, distance = squares.argmin(axis=0), squares.min(axis=0)
    first = {int(owner[at]): int(at) for at in np.argsort(-distance, kind="stable")}
    others = iter(np.setdiff1d(np.arange(len(private)), list(first.values())).tolist())
    # If there are fewer private centres, the last places stay empty.
    places = range(max(len(true), len(private)))
    found = (first[at] if at in first else next(others, None) for at in places)
    return np.array([at for at in found if at is not None], dtype=np.intp)


def _squares(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2))

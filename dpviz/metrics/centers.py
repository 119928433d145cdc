"""Scores that compare centres, or clusters matched by their centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def match(
    true: NDArray[np.float64], private: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match centres (K, d) one to one at the least sum of squared distances.

    Returns rows and order: private centre ``order[k]`` belongs to true centre ``rows[k]`` = k.
    """
    return linear_sum_assignment(_squares(true, private))  # type: ignore[no-any-return]


def displacement(true: NDArray[np.float64], private: NDArray[np.float64]) -> float:
    """Mean distance of matched centres (K, d), in their units."""
    rows, order = match(true, private)
    return float(np.linalg.norm(true[rows] - private[order], axis=1).mean())


def matched_f_measure(table: NDArray[np.int64]) -> float:
    """F-measure of clusters matched one to one, weighted by the true clusters' sizes.

    With P = |U and V| / |V| and R = |U and V| / |U| for each matched pair U, V, the mean of
    2 P R / (P + R) weighted by |U|. The table (K, K') is from :func:`.matching.contingency`.

    Notes
    -----
    Zhang, Liu, Wang 2018 (the formula is an image in our copy; its text fixes precision,
    recall, weighted harmonic mean). Matching takes the place of their equal numbering.
    """
    rows, columns = linear_sum_assignment(table, maximize=True)
    common = table[rows, columns]
    sizes = table.sum(axis=1)
    both = sizes[rows] + table.sum(axis=0)[columns]
    scores = 2 * common / np.where(both > 0, both, 1)
    return float((sizes[rows] * scores).sum() / max(int(sizes.sum()), 1))


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where private centres are, beside the true ones.

    Each private centre belongs to the true centre nearest to it.

    Parameters
    ----------
    alone
        True centres to which no private centre belongs ("orphans").
    crowded
        True centres to which two or more belong.
    far
        Private centres that have moved far: further from their true centre than half of its way
        to the next true one. Without another true centre, none is far.
    one_each
        True centres to which exactly one private centre belongs, which is not far.

    Notes
    -----
    With as many private centres as true ones, ``alone`` is one direction of the centroid index of
    Fränti, Rezaei, Zhao 2014 (Pattern Recognition 47, 3034-3045): 0 if both clusterings agree on
    the cluster level.
    """

    alone: int
    crowded: int
    far: int
    one_each: int


def placement(true: NDArray[np.float64], private: NDArray[np.float64]) -> Placement:
    """Find out which true centres (K, d) have a private centre (K', d) of their own.

    Both are in the same units; K and K' are at least 1.
    """
    squares = _squares(true, private)
    owner, distance = squares.argmin(axis=0), squares.min(axis=0)
    between = _squares(true, true)
    np.fill_diagonal(between, np.inf)
    far = distance > between.min(axis=1)[owner] / 4
    belonging = np.bincount(owner, minlength=len(true))
    close = np.bincount(owner[~far], minlength=len(true))
    return Placement(
        alone=int(np.count_nonzero(belonging == 0)),
        crowded=int(np.count_nonzero(belonging > 1)),
        far=int(np.count_nonzero(far)),
        one_each=int(np.count_nonzero((belonging == 1) & (close == 1))),
    )


def _squares(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances of all pairs of points (n, d) and (m, d), shape (n, m)."""
    squares: NDArray[np.float64] = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)
    return squares

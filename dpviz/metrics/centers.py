"""Scores that compare centres, or clusters matched by their centres."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def match(
    true: NDArray[np.float64], private: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Match centres one to one at the least sum of squared distances.

    Parameters
    ----------
    true, private
        Shapes (K, d).

    Returns
    -------
    rows, order
        Private centre ``order[k]`` belongs to true centre ``rows[k]`` = k.
    """
    cost = ((true[:, None, :] - private[None, :, :]) ** 2).sum(axis=2)
    return linear_sum_assignment(cost)  # type: ignore[no-any-return]


def displacement(true: NDArray[np.float64], private: NDArray[np.float64]) -> float:
    """Mean distance of matched centres (K, d), in their units."""
    rows, order = match(true, private)
    return float(np.linalg.norm(true[rows] - private[order], axis=1).mean())


def matched_f_measure(table: NDArray[np.int64]) -> float:
    """F-measure of clusters matched one to one, weighted by the true clusters' sizes.

    With P = |U and V| / |V| and R = |U and V| / |U| for each matched pair U, V, the mean of
    2 P R / (P + R) weighted by |U|.

    Parameters
    ----------
    table
        Points per pair of clusters, shape (K, K'), from
        :func:`dpviz.metrics.matching.contingency`.

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

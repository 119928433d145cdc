"""Scores from a contingency table: DSG_C, OCM, 2CE, F-measure, ARI, AMI.

Every label grid has one label per cell, so points never have to be listed: a table of
how many cells, or how many points, carry which pair of labels says everything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment


def contingency(
    true: ArrayLike, private: ArrayLike, weights: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Table of how often each pair of labels occurs.

    Parameters
    ----------
    true, private
        Non-negative integer labels of the same shape.
    weights
        Whole numbers of the same shape (records per cell); None counts each entry once.

    Returns
    -------
    table
        Shape (max(true) + 1, max(private) + 1).
    """
    true, private = np.ravel(true), np.ravel(private)
    rows, columns = int(true.max(initial=0)) + 1, int(private.max(initial=0)) + 1
    pairs = true.astype(np.intp) * columns + private
    if weights is None:
        table = np.bincount(pairs, minlength=rows * columns)
    else:
        table = np.bincount(pairs, weights=np.ravel(weights), minlength=rows * columns)
    return np.rint(table).astype(np.int64).reshape(rows, columns)


def dsg_c(true: NDArray[np.int32], private: NDArray[np.int32]) -> float:
    """Dissimilarity of significant grids and clusters, DSG_C.

    Clusters are matched one to one at the least total cost; a pair costs
    max(|Ci minus Cj|, |Cj minus Ci|) cells, a cluster of the larger side that stays
    alone its size.

    Parameters
    ----------
    true, private
        Labels grids, 0 = not significant.

    Returns
    -------
    float
        Total cost over the number of truly significant cells; 0 where the two agree.

    Notes
    -----
    Chen, Yu, Chirkova, section 6.1.
    """
    table = contingency(true, private)
    sizes_true, sizes_private = table.sum(axis=1)[1:], table.sum(axis=0)[1:]
    cost = np.maximum(sizes_true[:, None], sizes_private[None, :]) - table[1:, 1:]
    true_is_larger = sizes_true.size >= sizes_private.size
    alone = sizes_true[:, None] if true_is_larger else sizes_private[None, :]
    # Relative to staying alone: then what is not matched costs nothing more.
    rows, columns = linear_sum_assignment(cost - alone)
    total = (sizes_true if true_is_larger else sizes_private).sum()
    total += (cost - alone)[rows, columns].sum()
    return float(total / max(int(sizes_true.sum()), 1))


def ocm(table: NDArray[np.int64]) -> float:
    """Share of points outside the best one-to-one matching of the two labelings' classes.

    Notes
    -----
    Optimal class matching, Chen, Yu, Chirkova, section 6.2; ``table`` as from
    :func:`contingency`, weighted by points.
    """
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(1 - table[rows, columns].sum() / max(int(table.sum()), 1))


def two_ce(table: NDArray[np.int64]) -> float:
    """Share of pairs of points that one labeling joins and the other separates.

    Notes
    -----
    2-combination enumeration, Chen, Yu, Chirkova, section 6.2, without listing pairs:
    with a_i, b_j the row and column sums, sum C(a_i, 2) + sum C(b_j, 2) - 2 sum C(n_ij, 2)
    pairs are inconsistent.
    """
    n = int(table.sum())
    if n < 2:
        return 0.0
    inconsistent = _pairs(table.sum(axis=1)) + _pairs(table.sum(axis=0)) - 2 * _pairs(table)
    return inconsistent / (n * (n - 1) // 2)


def _pairs(numbers: NDArray[np.int64]) -> int:
    """Sum of C(x, 2), in Python's integers: squares of large sets overflow 64 bits."""
    return sum(x * (x - 1) // 2 for x in numbers.ravel().tolist())


def f_measure(table: NDArray[np.int64]) -> float:
    """F-measure with the true classes as reference, noise being a class of its own.

    Notes
    -----
    Hu, Yang, Bai, equations 13 to 16 with beta = 1: each true class takes the cluster
    with the highest 2 n_ij / (n_i + n_j); classes count by their size. Many-to-one
    matches are allowed, which makes it milder than DSG_C.
    """
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    both = rows[:, None] + columns[None, :]
    best = (2 * table / np.maximum(both, 1)).max(axis=1)
    return float((rows * best).sum() / max(int(rows.sum()), 1))


def adjusted_rand(table: NDArray[np.int64]) -> float:
    """Adjusted Rand index (Hubert, Arabie 1985), by scikit-learn."""
    # Imported here and below: the app opens half a second sooner without scikit-learn.
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_expanded(table)))


def adjusted_mutual_information(table: NDArray[np.int64]) -> float:
    """Adjusted mutual information (Vinh, Epps, Bailey 2010), by scikit-learn."""
    from sklearn.metrics import adjusted_mutual_info_score

    return float(adjusted_mutual_info_score(*_expanded(table)))


def _expanded(table: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Labels of every point again, from how often each pair occurs."""
    rows, columns = np.indices(table.shape)
    times = table.ravel()
    return np.repeat(rows.ravel(), times), np.repeat(columns.ravel(), times)

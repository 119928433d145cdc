"""Scores from a contingency table of cells or points: DSG_C, OCM, 2CE, F-measure, ARI, AMI."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.base.lazy import linear_sum_assignment, special


def contingency(
    true: ArrayLike, private: ArrayLike, weights: ArrayLike | None = None
) -> NDArray[np.int64]:
    """Table with the count of each pair of labels, shape (max(true) + 1, max(private) + 1).

    Labels are whole numbers from 0 on; weights are whole numbers, for example records per cell.
    """
    true, private = np.ravel(true), np.ravel(private)
    rows, columns = int(true.max(initial=0)) + 1, int(private.max(initial=0)) + 1
    pairs = true.astype(np.intp) * columns + private
    if weights is None:
        table = np.bincount(pairs, minlength=rows * columns)
    else:
        table = np.bincount(pairs, weights=np.ravel(weights), minlength=rows * columns)
    return np.rint(table).astype(np.int64).reshape(rows, columns)


def matched_numbers(
    true: NDArray[np.int32], private: NDArray[np.int32], new: ArrayLike = ()
) -> NDArray[np.intp]:
    """New label for each private label: the label of its matched true cluster, 0 for noise.

    Clusters (1, 2, ... without gaps) are matched one to one, with as many shared cells as possible.
    The private labels ``new`` are not matched; unmatched clusters get the next labels. The result
    has the shape (private clusters + 1,).
    """
    table = contingency(true, private)[1:, 1:]
    table[:, np.asarray(new, dtype=np.intp) - 1] = 0
    rows, columns = linear_sum_assignment(table, maximize=True)
    shared = table[rows, columns] > 0
    numbers = np.zeros(table.shape[1] + 1, dtype=np.intp)
    numbers[columns[shared] + 1] = rows[shared] + 1
    alone = np.flatnonzero(numbers[1:] == 0) + 1
    numbers[alone] = len(table) + 1 + np.arange(alone.size)
    return numbers


def dsg_c(true: NDArray[np.int32], private: NDArray[np.int32]) -> float:
    """Dissimilarity of significant grids and clusters, DSG_C: 0 if both label grids agree.

    DSG_C is the lowest cost of a one-to-one matching, divided by the number of truly significant
    cells. A pair costs max(|Ci minus Cj|, |Cj minus Ci|) cells, an unmatched cluster its own size.
    Chen, Yu, Chirkova, section 6.1, but here private clusters can be unmatched, too.
    """
    table = contingency(true, private)
    sizes_true, sizes_private = table.sum(axis=1)[1:], table.sum(axis=0)[1:]
    cost = np.maximum(sizes_true[:, None], sizes_private[None, :]) - table[1:, 1:]
    true_is_larger = sizes_true.size >= sizes_private.size
    alone = sizes_true[:, None] if true_is_larger else sizes_private[None, :]
    # Subtract the cost of the unmatched cluster, so that unmatched clusters cost 0.
    rows, columns = linear_sum_assignment(cost - alone)
    total = (sizes_true if true_is_larger else sizes_private).sum()
    total += (cost - alone)[rows, columns].sum()
    return float(total / max(int(sizes_true.sum()), 1))


def cells_wrong(true: NDArray[np.int32], private: NDArray[np.int32]) -> float:
    """Share (0 to 1) of all cells in clusters that are not in both clusters of a matched pair."""
    common = contingency(true, private)[1:, 1:]
    right = common[linear_sum_assignment(common, maximize=True)].sum()
    either = int(np.count_nonzero((true > 0) | (private > 0)))
    return float((either - right) / max(either, 1))


def ocm(table: NDArray[np.int64]) -> float:
    """Share of points outside the best one-to-one matching of the two labelings' classes.

    Optimal class matching, Chen, Yu, Chirkova, section 6.2. Unlike in the paper, label 0 (not
    significant) is a class like the clusters, and either labeling may have more classes.
    """
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(1 - table[rows, columns].sum() / max(int(table.sum()), 1))


def two_ce(table: NDArray[np.int64]) -> float:
    """Share of the pairs of points that are together in one labeling but not in the other.

    2-combination enumeration, Chen, Yu, Chirkova, section 6.2, from row sums a_i and column sums
    b_j, without a list: sum C(a_i, 2) + sum C(b_j, 2) - 2 sum C(n_ij, 2). Label 0 is a class, too.
    """
    n = int(table.sum())
    if n < 2:
        return 0.0
    inconsistent = _pairs(table.sum(axis=1)) + _pairs(table.sum(axis=0)) - 2 * _pairs(table)
    return inconsistent / (n * (n - 1) // 2)


def _pairs(numbers: NDArray[np.int64]) -> int:
    if int(numbers.sum()) < 2**31:
        return int((numbers * (numbers - 1) // 2).sum())
    return sum(x * (x - 1) // 2 for x in numbers.ravel().tolist())


def f_measure(table: NDArray[np.int64]) -> float:
    """F-measure with the true classes as reference; noise is a separate class.

    The table counts records or cells. For cells, the score is high whenever most cells are noise.
    Hu, Yang, Bai, equations 13 to 16 with beta = 1: each true class has its size as weight and is
    matched with the cluster with the highest 2 n_ij / (n_i + n_j); classes may share a cluster.
    """
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    both = rows[:, None] + columns[None, :]
    best = (2 * table / np.maximum(both, 1)).max(axis=1)
    return float((rows * best).sum() / max(int(rows.sum()), 1))


def adjusted_rand(table: NDArray[np.int64]) -> float:
    """Adjusted Rand index (Hubert, Arabie 1985).

    The number of pairs that both labelings join, minus its expected value, divided by the largest
    value of this difference.
    """
    joined, n = _pairs(table), int(table.sum())
    true, private, pairs = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0)), n * (n - 1) // 2
    if joined == true == private:
        return 1.0
    # All terms are multiplied by the number of pairs, so that they are whole numbers.
    expected = 2 * true * private
    return (2 * joined * pairs - expected) / ((true + private) * pairs - expected)


def adjusted_mutual_information(table: NDArray[np.int64]) -> float:
    """Adjusted mutual information, normalized by the mean of the two entropies.

    Vinh, Epps, Bailey 2010. As in scikit-learn, it is 1 if both labelings have the same classes,
    even with other labels, or if random labelings of these sizes are always equal.
    """
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    filled = table[np.ix_(rows > 0, columns > 0)]
    if np.count_nonzero(filled) == len(filled) == filled.shape[1]:
        return 1.0
    rows, columns = rows[rows > 0].astype(float), columns[columns > 0].astype(float)
    n = rows.sum()
    i, j = np.nonzero(filled)
    both = filled[i, j]
    mutual = (both / n * np.log(both * n / (rows[i] * columns[j]))).sum()
    expected = _expected_mutual_information(rows, columns)
    return float((mutual - expected) / ((_entropy(rows) + _entropy(columns)) / 2 - expected))


def _entropy(sizes: NDArray[np.float64]) -> float:
    shares = sizes / sizes.sum()
    return float(-(shares * np.log(shares)).sum())


#: Sums over a hypergeometric distribution omit values with a total probability < 2 exp(-_TAIL).
_TAIL = 40.0


def _expected_mutual_information(rows: NDArray[np.float64], columns: NDArray[np.float64]) -> float:
    """Expected mutual information of random labelings with these class sizes, each above 0.

    Vinh, Epps, Bailey 2010, with an error below 1e-8 for 2^53 points. Let M be the hypergeometric
    overlap of classes with a and b points. Then E[M/n log(n M/(a b))] = a b/n^2 E[log(n (1 + X)/(a
    b))] with X hypergeometric (n - 1, a - 1, b - 1). X is a sum of Bernoulli variables (Vatutin,
    Mikhailov 1982), so Bernstein's inequality bounds its tails. The characteristic function of X is
    below exp(-sd^2 (1 - cos t)), so steps of a quarter of a standard deviation are small enough.
    """
    n = rows.sum()
    a_sizes, a_times = np.unique(rows, return_counts=True)
    b, b_times = np.unique(columns, return_counts=True)
    total = 0.0
    for a, times in zip(a_sizes, a_times, strict=True):
        mean = (a - 1) * (b - 1) / (n - 1)
        variance = mean * (n - a) * (n - b) / ((n - 1) * max(n - 2, 1))
        reach = _TAIL / 3 + np.sqrt(_TAIL**2 / 9 + 2 * _TAIL * variance)
        low = np.maximum(np.ceil(mean - reach), np.maximum(a + b - n - 1, 0))
        high = np.minimum(np.floor(mean + reach), np.minimum(a, b) - 1)
        step = np.maximum(np.floor(np.sqrt(variance) / 4), 1)
        places = np.arange(int(((high - low) / step).max()) + 1)
        x = np.minimum(low + step * places[:, None], high)
        gammaln = special.gammaln
        logs = -gammaln(x + 1) - gammaln(a - x) - gammaln(b - x) - gammaln(n - a - b + x + 2)
        logs[low + step * places[:, None] > high] = -np.inf
        chances = np.exp(logs - logs.max(axis=0))
        means = (chances * np.log((1 + x) * n / (a * b))).sum(axis=0) / chances.sum(axis=0)
        total += float((times * b_times * a * b / n**2 * means).sum())
    return total

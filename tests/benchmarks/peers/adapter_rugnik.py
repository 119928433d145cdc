"""Our own program for the grid rule of Muthukrishnan and Tandon 2026 (RUGNIK).

The rule chooses the number of cells of each axis that minimizes a bound on the error, from n, d, K
and epsilon. k-means runs on the noisy counts; counts below 0 are 0. Of ten starts, the best on the
noisy counts gives the centres. In the authors' program, the records choose the start, which no
epsilon pays for.
"""

import numpy as np
from protocol import serve
from sklearn.cluster import KMeans

#: Above this number, the cells are too many for the memory.
MOST = 2_000_000


def cells_of(n, ndim, clusters, epsilon):
    """Cells of each axis: the best of all that are not too many."""
    m = np.arange(1, max(2, int(MOST ** (1 / ndim)) + 1))
    spread = np.sqrt(n / 3) / m
    noise = np.sqrt(2) * m ** (ndim / 2) / epsilon
    share = clusters ** (1 / ndim)
    return int(m[np.argmin(spread**2 + 2 * spread / share + noise / share**2)])


def fit(points, clusters, epsilon, seed):
    """Centres of one run with Laplace noise; at most K."""
    n, ndim = points.shape
    m = cells_of(n, ndim, clusters, epsilon)
    if m**ndim < clusters:
        raise ValueError(f"the rule gives {m**ndim} cells for {clusters} clusters")
    counts, edges = np.histogramdd(points, bins=m, range=[(-1, 1)] * ndim)
    middles = np.meshgrid(*((one[1:] + one[:-1]) / 2 for one in edges), indexing="ij")
    noisy = counts + np.random.default_rng(seed).laplace(scale=1 / epsilon, size=counts.shape)
    places, weights = np.stack([one.ravel() for one in middles], axis=1), noisy.ravel()
    full = weights > 0
    if full.sum() < clusters:
        raise ValueError("fewer cells than clusters have a count above 0")
    found = KMeans(clusters, n_init=10, random_state=seed % 2**32)
    return found.fit(places[full], None, weights[full]).cluster_centers_


serve(fit)

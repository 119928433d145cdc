"""Adapter for DPM of UzL-PrivSec, with delta as in its demonstration.

DPM chooses the number of clusters itself, up to 128. More centres than K would have a smaller
error than the best K, so a weighted k-means of its centres and noisy counts gives K centres. This
is post-processing, so it costs no budget.
"""

import sys

import numpy as np
from protocol import serve
from sklearn.cluster import KMeans

sys.path.insert(0, sys.argv[2])

from dpm import DPM


def fit(points, clusters, epsilon, seed):
    """Centres of one run with delta n^-1.5; at most K."""
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the generator that it draws from
    model = DPM(data=points, bounds=(-1.0, 1.0), epsilon=epsilon, delta=len(points) ** -1.5)
    centers, _ = model.perform_clustering()
    # The centres may be outside the declared box, and the counts below 0.
    centers = np.clip(centers, -1, 1)
    counts = np.maximum(np.array(model.cluster_noisy_count, dtype=float), 1e-9)
    if len(centers) <= clusters:
        return centers
    found = KMeans(clusters, n_init=5, random_state=seed % 2**32).fit(centers, None, counts)
    return found.cluster_centers_


serve(fit)

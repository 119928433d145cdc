"""Adapter for KMeans of diffprivlib, with the box that is declared for all methods."""

import warnings

from diffprivlib.models import KMeans
from protocol import serve


def fit(points, clusters, epsilon, seed):
    """Centres of one run with default settings."""
    ndim = points.shape[1]
    warnings.simplefilter("ignore")
    model = KMeans(
        n_clusters=clusters,
        epsilon=epsilon,
        bounds=([-1.0] * ndim, [1.0] * ndim),
        random_state=seed,
    )
    return model.fit(points).cluster_centers_


serve(fit)

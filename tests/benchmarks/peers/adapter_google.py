"""Adapter for LSH clustering of Google's library, with the ball around the box as the domain."""

import sys

import numpy as np
from protocol import serve

sys.path.insert(0, f"{sys.argv[2]}/learning")

from clustering import clustering_algorithm, clustering_params


class Unscored(clustering_algorithm.ClusteringResult):
    """The result without labels and loss, whose computation takes longer than the clustering."""

    def __post_init__(self):
        """Skip the computation of labels and loss."""


clustering_algorithm.ClusteringResult = Unscored


def fit(points, clusters, epsilon, seed):
    """Centres of one run with default settings and delta n^-1.1."""
    np.random.seed(seed)  # noqa: NPY002 - the generator that it draws from
    data = clustering_params.Data(datapoints=points, radius=float(np.sqrt(points.shape[1])))
    private = clustering_params.DifferentialPrivacyParam(epsilon=epsilon, delta=len(points) ** -1.1)
    return clustering_algorithm.private_lsh_clustering(clusters, data, private).centers


serve(fit)

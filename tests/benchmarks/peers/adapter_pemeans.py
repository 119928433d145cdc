"""Adapter for PE-means, with the authors' settings for n, K, d and epsilon."""

import sys
from functools import partial

import numpy as np
from protocol import serve

sys.path[1:1] = [sys.argv[2], f"{sys.argv[3]}/learning"]

from clustering import clustering_params  # noqa: E402 - of Google's checkout
from src import pe_means_main  # noqa: E402
from src.helpers import PE_PARAMS  # noqa: E402 - of the checkout


class Unscored(pe_means_main.clustering_algorithm.ClusteringResult):
    """The result without labels and loss, whose computation takes longer than the clustering."""

    def __post_init__(self):
        """Skip the computation of labels and loss."""


pe_means_main.clustering_algorithm.ClusteringResult = Unscored
PACK = pe_means_main.pack_in_sphere


def fit(points, clusters, epsilon, seed):
    """Centres of one run with delta n^-1.1."""
    n, ndim = points.shape
    # The first centres of PE-means come from a generator without a seed.
    pe_means_main.pack_in_sphere = partial(PACK, seed=seed)
    radius = float(np.sqrt(ndim))
    # PE-means searches in single precision. The input rows must be contiguous.
    data = clustering_params.Data(
        datapoints=np.ascontiguousarray(points, dtype=np.float32), radius=radius
    )
    private = clustering_params.DifferentialPrivacyParam(epsilon=epsilon, delta=n**-1.1)
    steps = max(int(max(epsilon, 1.0) * int(4 * np.sqrt(ndim))), 1)
    settings = {
        **PE_PARAMS, "num_gen": steps, "L": int(max(n / (5 * clusters), 4)), "run_id": seed % 2**32
    }  # fmt: skip
    _, centers, _ = pe_means_main.pe_means(clusters, data, settings, private, visualize=False)
    return centers


serve(fit)

"""Adapter for k-means of OpenDP's branch 2663-clustering, with pure epsilon.

The branch has a tree of noisy counts, and no rule for its settings: the depth is that of its
tutorial. Centres from k-means on the leaves, and a private iteration with half of the budget, had
smaller errors on made-up data than its defaults, so the adapter has these settings. The package of
the index has the compiled part. The noise has no seed; the seed decides where the tree starts.
"""

import sys

import opendp.extras
from protocol import serve

opendp.extras.__path__.insert(0, f"{sys.argv[2]}/python/src/opendp/extras")

import opendp.prelude as dp  # noqa: E402 - with the modules of the checkout

dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")

DEPTH = 7


def fit(points, clusters, epsilon, seed):
    """Centres of one run; one record is added or removed."""
    ndim = points.shape[1]
    model = dp.sklearn.cluster.KMeans(
        n_features=ndim,
        n_clusters=clusters,
        scale=1 / epsilon,
        max_depth=DEPTH,
        lower=[-1.0] * ndim,
        upper=[1.0] * ndim,
        random_state=seed % 2**32,
        init_solver="weighted_coreset",
        refinement="dp_lloyd",
        refinement_fraction=0.5,
    )
    model.fit(points)
    return model.cluster_centers_


serve(fit)

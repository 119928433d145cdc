"""Adapter for FastLloyd, with one client and the settings of its authors for comparisons."""

import os
import sys

from protocol import serve

sys.path.insert(0, sys.argv[2])
# When FastLloyd is imported, it lists the current folder, as data sets of its experiments.
os.makedirs("data", exist_ok=True)

from configs import Params  # noqa: E402 - of the checkout
from data_io import to_fixed, unscale  # noqa: E402
from utils.protocols import local_proto  # noqa: E402


def fit(points, clusters, epsilon, seed):
    """Centres of one run: Gaussian noise, delta 1/(n ln n), radius rule, folded centres."""
    params = Params(
        num_clients=1,
        k=clusters,
        dim=points.shape[1],
        data_size=len(points),
        dp="gaussiananalytic",
        eps=epsilon,
        method="diagonal_then_frac",
        post="fold",
        alpha=0.8,
        seed=seed,
        # FastLloyd always adds fixed-point noise, so the points must be fixed-point numbers, too.
        fixed=True,
    )
    params.calculate_iters()
    centers, _ = local_proto([to_fixed(points)], params, method="unmasked")
    return unscale(centers)


serve(fit)

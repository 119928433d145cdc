"""FastLloyd with one client and the settings that its authors compare with."""

import os
import sys

from protocol import serve

sys.path.insert(0, sys.argv[2])
# It lists the data sets of its own experiments on import, in the folder where it runs.
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
        # Noise is in fixed point whatever this says, so the points have to be as well.
        fixed=True,
    )
    params.calculate_iters()
    centers, _ = local_proto([to_fixed(points)], params, method="unmasked")
    return unscale(centers)


serve(fit)

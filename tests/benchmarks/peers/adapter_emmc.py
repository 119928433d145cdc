"""Adapter for EMMC of UzL-PrivSec, with delta as in its demonstration.

EMMC leaves out a centre if its noisy count is not positive. If no centre is left, the adapter
answers with the middle of the box, which depends on no record.
"""

import sys

import numpy as np
from protocol import serve

sys.path.insert(0, sys.argv[2])

from emmc import EMMC


def fit(points, clusters, epsilon, seed):
    """Centres of one run with delta n^-1.5; at most K."""
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the generator that it draws from
    n, ndim = points.shape
    found = EMMC().cluster(
        data=points, diameter=2 * np.sqrt(ndim), k=clusters, epsilon=epsilon, delta=n**-1.5
    )
    return found if len(found) else np.zeros((1, ndim))


serve(fit)

"""Adapter for CEDSKMeans (coloured noise), with the epsilon of its constructor and delta n^-1.5.

The package also imports its distributed version, which needs Ray. The adapter needs only the other
version, so it does not run the package's own imports. The code multiplies epsilon by the number of
coordinates of all centres; the adapter leaves this as it is.
"""

import sys
import types
import warnings

import numpy as np
from protocol import serve

package = types.ModuleType("cedskmeans")
package.__path__ = [f"{sys.argv[2]}/src/cedskmeans"]
sys.modules["cedskmeans"] = package

from cedskmeans._dpkmeans import DPKMeans  # noqa: E402 - of the checkout


def fit(points, clusters, epsilon, seed):
    """Centres of one run with default settings, cut off at the box."""
    warnings.simplefilter("ignore")
    np.random.seed(seed % 2**32)  # noqa: NPY002 - the generator that it draws from
    model = DPKMeans(
        clusters, dp_epsilon=epsilon, dp_delta=len(points) ** -1.5, random_state=seed % 2**32
    )
    return np.clip(model.fit(points).cluster_centers_, -1, 1)


serve(fit)

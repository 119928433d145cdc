"""Names of array types."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.intp]
Labels = NDArray[np.int32]  # numbers of clusters
Mask = NDArray[np.bool_]

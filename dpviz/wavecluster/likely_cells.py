"""Which cells to report as significant, given the chance of each.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.deconvolution import Floats

#: Weight of a cell's surroundings in its rank.
SURROUNDINGS = 0.3

#: The number that is reported is a geometric mean of the expected number of significant cells
#: and of the number of those that are rather so than not; the weight of the second.
LIKELY = 0.25

#: Clusters of so few cells are reported only if their cells are, on average, so likely.
FEW, SURE = 5, 0.5


def likely_cells(chance: Floats) -> NDArray[np.bool_]:
    """Mask of the cells to report.

    Cells are ranked by their chance of being significant, blended with the mean of the
    3 x 3 (x 3 ...) cells around. Their number lies between the expected one, with which clusters
    hold the right records, and that of the cells with a chance of a half, with which the fewest
    cells are wrong; both agree where noise is small. Small clusters that are rather false than
    true are dropped.

    Parameters
    ----------
    chance
        Chance of each cell of being significant, any shape.
    """
    expected, probable = float(chance.sum()), int((chance >= 0.5).sum())
    if not expected:
        return np.zeros(chance.shape, dtype=bool)
    number = round(expected * (min(max(probable, 1), expected) / expected) ** LIKELY)
    if not number:
        return np.zeros(chance.shape, dtype=bool)
    inside = ndimage.uniform_filter(np.ones(chance.shape), 3, mode="constant")
    around = ndimage.uniform_filter(chance, 3, mode="constant") / inside
    rank = (1 - SURROUNDINGS) * chance + SURROUNDINGS * around
    labels, clusters = connected_components(rank >= np.sort(rank, axis=None)[-number])
    flat = labels.ravel()
    cells = np.bincount(flat, minlength=clusters + 1)
    mean = np.bincount(flat, weights=chance.ravel(), minlength=clusters + 1) / np.maximum(cells, 1)
    kept = (cells > FEW) | (mean >= SURE)
    kept[0] = False
    found: NDArray[np.bool_] = kept[labels]
    return found

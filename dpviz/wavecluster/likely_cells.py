"""Which cells to report as significant, given the chance of each.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from dpviz.compiled import compiled
from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.deconvolution import Floats

#: Weight of a cell's surroundings in its rank.
SURROUNDINGS = 0.3

#: The number that is reported is a geometric mean of the expected number of significant cells
#: and of the number of those that are rather so than not; the weight of the second.
LIKELY = 0.25

#: Clusters of so few cells are reported only if their cells are, on average, so likely.
FEW, SURE = 5, 0.5

#: A cell with less than this chance does not join clusters that both hold this share of all cells.
WEAK, LARGE = 0.9, 0.2


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
    rank = with_surroundings(chance)
    labels, clusters = connected_components(rank >= np.sort(rank, axis=None)[-number])
    flat = labels.ravel()
    cells = np.bincount(flat, minlength=clusters + 1)
    mean = np.bincount(flat, weights=chance.ravel(), minlength=clusters + 1) / np.maximum(cells, 1)
    kept = (cells > FEW) | (mean >= SURE)
    kept[0] = False
    found: NDArray[np.bool_] = kept[labels]
    return found


def with_surroundings(chance: Floats) -> Floats:
    """Chance of each cell, blended with the mean of the 3 x 3 (x 3 ...) cells around."""
    inside = ndimage.uniform_filter(np.ones(chance.shape), 3, mode="constant")
    around: Floats = ndimage.uniform_filter(chance, 3, mode="constant") / inside
    return (1 - SURROUNDINGS) * chance + SURROUNDINGS * around


def without_necks(mask: NDArray[np.bool_], chance: Floats) -> NDArray[np.bool_]:
    """Leave out the cells that would join two large clusters on weak evidence.

    A wrong join costs a whole cluster in every score, a wrong gap a cell; and where chances are
    rough, one of several doubtful cells is enough for a join.

    Parameters
    ----------
    mask, chance
        Cells to report and chance of each of being significant, same shape.
    """
    padded = np.pad(np.where(mask, chance, -1.0), 1, constant_values=-1.0)
    steps = np.argwhere(np.ones((3,) * mask.ndim)) - 1
    near = (steps[steps.any(axis=1)] * (np.array(padded.strides) // padded.itemsize)).sum(axis=1)
    flat = padded.ravel()
    order = np.flatnonzero(flat >= 0)
    order = order[np.argsort(-flat[order], kind="stable")]
    kept = grown(order, flat < WEAK, near, max(LARGE * order.size, FEW)).reshape(padded.shape)
    found: NDArray[np.bool_] = kept[(slice(1, -1),) * mask.ndim]
    return found


@compiled()
def grown(
    order: NDArray[np.int64], weak: NDArray[np.bool_], near: NDArray[np.int64], large: float
) -> NDArray[np.bool_]:
    """Add cells one by one, but for weak ones that touch two large clusters of those before.

    Parameters
    ----------
    order
        Flat places of the cells; none lies at the edge of the grid.
    weak
        Mask of the places that join nothing large, flat.
    near
        Steps from a place to those that touch it.
    large
        Cells of a large cluster, at least.
    """
    parent = np.full(weak.size, -1)
    size = np.zeros(weak.size, np.int64)
    roots = np.empty(near.size, np.int64)
    for cell in order:
        found, big = 0, 0
        for step in near:
            root = cell + step
            if parent[root] < 0:
                continue
            while parent[root] != root:
                root = parent[root]
            if not np.any(roots[:found] == root):
                roots[found] = root
                found += 1
                big += size[root] >= large
        if big > 1 and weak[cell]:
            continue
        parent[cell], size[cell] = cell, 1
        for root in roots[:found]:
            parent[root] = cell
            size[cell] += size[root]
    return parent >= 0

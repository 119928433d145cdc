"""Clusters of significant cells, and labels of points."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Labels, Mask
from dpviz.base.lazy import ndimage
from dpviz.base.threads import in_threads, spans
from dpviz.grid.domain import (
    CHUNK,
    Domain,
    Outside,
    check_outside,
    compiled_loops,
    compiled_rule,
    flat_cells,
)

T = TypeVar("T", bound=np.generic)


def connected_components(significant: Mask) -> tuple[Labels, int]:
    """Label the clusters: groups of significant cells that touch at edges or corners.

    0 means not significant. Clusters are 1 to ``n_clusters`` from the largest to the smallest;
    clusters of equal size are in reading order.
    """
    structure = np.ones((3,) * significant.ndim, dtype=bool)
    return by_size(*ndimage.label(significant, structure=structure))


def by_size(labels: Labels, n_clusters: int) -> tuple[Labels, int]:
    """Number clusters again from the largest; clusters of equal size keep their order."""
    sizes = np.bincount(labels.ravel(), minlength=n_clusters + 1)
    order = np.argsort(-sizes[1:], kind="stable")
    number = np.zeros(n_clusters + 1, dtype=np.int32)
    number[order + 1] = np.arange(1, n_clusters + 1)
    return number[labels], int(n_clusters)


def unblocked(blocks: NDArray[T], shape: tuple[int, ...], level: int = 1) -> NDArray[T]:
    """Copy the value of each block of 2**level cells a side to all cells of the block."""
    cells = blocks
    for axis, side in enumerate(shape):
        cells = np.repeat(cells, 2**level, axis=axis).take(range(side), axis=axis)
    return cells


def label_points(
    points: Floats,
    domain: Domain,
    shape: tuple[int, ...],
    labels: Labels,
    level: int,
    outside: Outside = "clip",
) -> Labels:
    """Cluster of each of the points (n, d), shape (n,), from 0; -1 = noise, as in scikit-learn.

    ``labels`` has one entry per block of 2**level cells a side, in a grid of this ``shape``. Points
    outside the domain get the label of the border cell (``"clip"``) or are noise (``"drop"``).
    """
    check_outside(outside)
    # The table has one label per cell of the fine grid, so each point needs one look-up.
    table: Labels = unblocked(labels, shape, level).ravel() - np.int32(1)
    loops = compiled_loops(len(points))
    if loops is None:
        result: Labels = table[flat_cells(points, domain, shape)]
        if outside == "drop":
            result[~domain.contains(points)] = -1
        return result
    found, (box, sides) = np.empty(len(points), dtype=np.int32), compiled_rule(domain, shape)

    def work(part: slice) -> None:
        loops.look_up(points[part], box, sides, outside == "drop", table, found[part])

    in_threads(work, spans(len(points), CHUNK))
    return found

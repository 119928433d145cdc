"""Significant cells -> clusters, and clusters -> labels of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from dpviz.domain import CHUNK, Domain, Outside, check_outside, flat_cells


def connected_components(significant: NDArray[np.bool_]) -> tuple[NDArray[np.int32], int]:
    """Label the clusters: groups of significant cells that touch, corners included.

    Returns
    -------
    labels, n_clusters
        Labels grid (0 = not significant, 1 to n_clusters = cluster), numbered from the
        largest cluster to the smallest (ties in reading order), so that a number has a meaning
        and does not depend on the position of a cluster.
    """
    structure = np.ones((3,) * significant.ndim, dtype=bool)
    labels, n_clusters = ndimage.label(significant, structure=structure)
    sizes = np.bincount(labels.ravel(), minlength=n_clusters + 1)
    order = np.argsort(-sizes[1:], kind="stable")
    number = np.zeros(n_clusters + 1, dtype=np.int32)
    number[order + 1] = np.arange(1, n_clusters + 1)
    return number[labels], int(n_clusters)


def cluster_sizes(labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int64]:
    """Cells per cluster, shape (n_clusters,), in the order of the cluster numbers."""
    return np.bincount(labels.ravel(), minlength=n_clusters + 1)[1:]


def label_points(
    points: NDArray[np.float64],
    domain: Domain,
    shape: tuple[int, ...],
    labels: NDArray[np.int32],
    level: int,
    outside: Outside = "clip",
) -> NDArray[np.intp]:
    """Cluster of every point, shape (n,), from 0; -1 = noise, as in scikit-learn.

    Parameters
    ----------
    points
        Shape (n, d).
    domain, shape
        The grid of the counts.
    labels
        Labels grid of the average subband, one cell per block of 2**level cells.
    level
        Wavelet level.
    outside
        Points outside the domain get the label of the border cell (``"clip"``) or are
        noise (``"drop"``).
    """
    check_outside(outside)
    result = np.empty(len(points), dtype=np.intp)
    # One label per cell of the fine grid: each point then needs one look-up.
    fine = labels
    for axis, side in enumerate(shape):
        fine = np.repeat(fine, 2**level, axis=axis).take(range(side), axis=axis)
    table = fine.ravel().astype(np.intp) - 1
    for start in range(0, len(points), CHUNK):
        part = points[start : start + CHUNK]
        result[start : start + CHUNK] = table[flat_cells(part, domain, shape)]
        if outside == "drop":
            result[start : start + CHUNK][~domain.contains(part)] = -1
    return result

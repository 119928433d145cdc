"""Whether a grid is too coarse to separate the clusters of the data.

The true run on a finer grid decides, but only if its significant cells have many records, and more
than other cells. Its clusters with at least a hundredth of the clustered records count; each
belongs to the coarse cluster with most of its cells. The grid is too coarse if these clusters
belong to at most half as many coarse clusters.
"""

from __future__ import annotations

import numpy as np

from dpviz.wavecluster.truth import Truth

#: Cells on each side of the finer grid, unless the data are a sample set with a suitable grid.
FINE = 64

#: Least mean number of records of the finer grid's significant cells; ratio to that of all cells.
LEAST, LEAST_RATIO = 20, 1.5


def joined(coarse: Truth, fine: Truth) -> tuple[int, int] | None:
    """Numbers of clusters on a coarse and a finer grid; None if ``coarse`` is not too coarse."""
    labels, records = fine.stages.labels, fine.records
    least = max(LEAST, LEAST_RATIO * records.mean())
    if records.sum(where=labels > 0) < least * np.count_nonzero(labels):
        return None
    sizes = np.bincount(labels.ravel(), weights=records.ravel())[1:]
    if not sizes.size:
        return None
    # Position of the centre of each fine cell in the coarse grid, along each axis.
    axes = [
        (2 * np.arange(many) + 1) * few // (2 * many)
        for many, few in zip(labels.shape, coarse.stages.labels.shape, strict=True)
    ]
    there = coarse.stages.labels[np.ix_(*axes)]
    counts = 100 * sizes >= sizes.sum()
    held = {
        int(np.bincount(there[labels == cluster]).argmax())
        for cluster in 1 + np.flatnonzero(counts)
    }
    found, several = len(held - {0}), int(counts.sum())
    return (found, several) if several > 1 and 2 * found <= several else None

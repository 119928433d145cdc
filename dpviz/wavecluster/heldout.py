"""OCM and 2CE: whether classifiers learned from true and private clusters agree.

Cluster nine tenths of the points, learn a classifier from the subband's labelled cells, and predict
the last tenth: once with the true run and once with a private run. Unlike in the paper, each tenth
is held out in turn, and insignificant cells are class 0. So lost and added cells change the scores,
and scores are higher. With ``alone``, only significant cells are learned, as in the paper.

The paper learns C4.5 trees from the cell centres. A full tree on a full grid gives every cell its
own label, so :func:`agreement` looks the label up. With significant cells alone, a tree is grown.
"""

from __future__ import annotations

import warnings
from functools import lru_cache, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints, Labels, Mask
from dpviz.base.cached import cached_property
from dpviz.base.lazy import ndimage
from dpviz.grid.counts import WeightedPoints, block_sums, tally
from dpviz.grid.domain import flat_cells
from dpviz.metrics.matching import contingency, ocm, two_ce
from dpviz.wavecluster.pipeline import Source, Stages

FOLDS = 10

#: Number of points that are counted together.
_ROWS = 2**22

#: Largest number of significant cells times clusters for a tree; its memory is proportional.
_TREE = 2**22


class Folds:
    """The points of a source in ten parts, by a shuffle that depends only on the points."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.n_folds = max(2, min(FOLDS, source.n))

    @cached_property
    def fold_of(self) -> NDArray[np.uint8]:
        """Part of every point, shape (n,); the sizes of the parts differ by at most one."""
        return _shuffled_folds(self.source.n, self.n_folds)

    @cached_property
    def test_counts(self) -> Ints:
        """Counts of each part, shape (n_folds, g, ...)."""
        shape = self.source.shape
        points, size = self.source.points, int(np.prod(shape))
        flat = np.zeros(self.n_folds * size, dtype=np.int64)
        # Work in blocks: three more numbers per point would take more memory than the points.
        for start in range(0, len(points), _ROWS):
            cells = flat_cells(points[start : start + _ROWS], self.source.domain, shape)
            cells += size * self.fold_of[start : start + _ROWS].astype(np.intp)
            flat += tally(cells, flat.size)
        return flat.reshape(self.n_folds, *shape)

    @cached_property
    def training(self) -> tuple[Source, ...]:
        """One source per part, with the records of all other parts."""
        return tuple(
            Source(
                counts=self.source.counts - self.test_counts[fold],
                domain=self.source.domain,
                gather=partial(self._training_points, fold),
                locate=partial(self._training_positions, fold) if self.source.lattice else None,
            )
            for fold in range(self.n_folds)
        )

    def _training_points(self, fold: int) -> Floats:
        return np.asarray(self.source.points[self.fold_of != fold])

    def _training_positions(self, fold: int) -> WeightedPoints:
        whole = self.source.positions
        return WeightedPoints(points=whole.points, weights=whole.weights - self._test_weights[fold])

    @cached_property
    def _test_weights(self) -> Ints:
        source = self.source
        cells = flat_cells(source.points, source.domain, source.lattice or source.shape)
        filled = np.flatnonzero(np.bincount(cells))
        place = np.searchsorted(filled, cells)
        total = self.n_folds * filled.size
        return tally(self.fold_of.astype(np.intp) * filled.size + place, total).reshape(
            self.n_folds, -1
        )


@lru_cache(maxsize=2)
def _shuffled_folds(n: int, n_folds: int) -> NDArray[np.uint8]:
    folds = np.resize(np.arange(n_folds, dtype=np.uint8), n)
    np.random.default_rng(0).shuffle(folds)
    return folds


def agreement(
    folds: Folds, true: tuple[Stages, ...], private: tuple[Stages, ...], *, alone: bool = False
) -> tuple[float, float]:
    """OCM and 2CE that compare private with true clusters, averaged over the folds.

    Takes the stages of both runs on each training part. If ``alone``, cells that are not
    significant are not trained, and every point gets a cluster. Chen, Yu, Chirkova, section 6.2.
    """
    scores = []
    for counts, expected, found in zip(folds.test_counts, true, private, strict=True):
        if alone and (expected.n_clusters == 0) != (found.n_clusters == 0):
            scores.append((1.0, 1.0))  # only one of the trees has clusters
            continue
        if alone:
            filled = counts > 0
            classes = (_learned_alone(expected, filled), _learned_alone(found, filled))
            table = contingency(*classes, counts[filled])
        else:
            weights = block_sums(counts, expected.level)
            table = contingency(expected.labels, found.labels, weights)
        scores.append((ocm(table), two_ce(table)))
    mean_ocm, mean_two_ce = np.mean(scores, axis=0)
    return float(mean_ocm), float(mean_two_ce)


def _learned_alone(stages: Stages, filled: Mask) -> Labels:
    """Clusters of filled cells, by a tree on significant cells (if too large, the nearest cell)."""
    from sklearn.tree import DecisionTreeClassifier

    significant, labels, side = stages.significant, stages.labels, 2**stages.level
    cells = np.argwhere(filled)
    if not significant.any() or not len(cells):
        return np.zeros(len(cells), dtype=np.int32)
    if significant.sum() * stages.n_clusters > _TREE:
        nearest = ndimage.distance_transform_edt(
            ~significant, return_distances=False, return_indices=True
        )
        return cast("Labels", labels[tuple(nearest)][tuple((cells // side).T)])
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    with warnings.catch_warnings():
        # The tree expects more cells in each cluster.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        tree.fit(np.argwhere(significant), labels[significant])
    return np.asarray(tree.predict((cells + 0.5) / side - 0.5))

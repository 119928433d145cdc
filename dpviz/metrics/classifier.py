"""OCM and 2CE: whether classifiers learned from true and private clusters agree.

Clustering first, then classification: cluster nine tenths of the points, learn from the
labelled cells of the subband, predict the last tenth; once true, once private.

The paper learns a C4.5 decision tree from the cell centres. A tree on centres of a full
grid splits between neighbouring cells and, grown to the end, gives every cell its own
label: what it predicts for a point is the label of the point's cell. :func:`agreement`
looks that up; :func:`tree_predictions` grows the tree, the definition to hold it against.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from dpviz.counts import block_sums
from dpviz.domain import flat_cells
from dpviz.metrics.matching import contingency, ocm, two_ce
from dpviz.pipeline import Source, Stages

FOLDS = 10


class Folds:
    """The points of a source split into ten parts, once.

    A fixed shuffle: the same folds for every method, seed and budget. It is taken from
    the points alone, so two methods are compared on the same tenths.

    Parameters
    ----------
    source
        Data set, domain and grid.
    n_folds
        Number of parts.
    """

    def __init__(self, source: Source, n_folds: int = FOLDS) -> None:
        self.source = source
        self.n_folds = max(2, min(n_folds, source.n))

    @cached_property
    def fold_of(self) -> NDArray[np.intp]:
        """Part of every point, shape (n,): sizes differ by one at most."""
        shuffled = np.random.default_rng(0).permutation(self.source.n)
        return (shuffled % self.n_folds).astype(np.intp)

    @cached_property
    def test_counts(self) -> NDArray[np.int64]:
        """Counts of each part, shape (n_folds, g, ...)."""
        shape = self.source.shape
        cells = flat_cells(self.source.points, self.source.domain, shape)
        size = int(np.prod(shape))
        flat = np.bincount(self.fold_of * size + cells, minlength=self.n_folds * size)
        return flat.reshape(self.n_folds, *shape)

    @cached_property
    def training(self) -> tuple[Source, ...]:
        """One source per part, holding the points of all others."""
        return tuple(
            self.source.without(self.fold_of == fold, self.test_counts[fold])
            for fold in range(self.n_folds)
        )


def agreement(
    folds: Folds,
    true: tuple[Stages, ...],
    private: tuple[Stages, ...],
) -> tuple[float, float]:
    """OCM and 2CE of private against true clusters, averaged over the folds.

    Parameters
    ----------
    folds
        Parts to predict.
    true, private
        Stages of one run on each training part.

    Notes
    -----
    Chen, Yu, Chirkova, section 6.2, by cell look-up (see the module's description);
    parity with the decision tree is tested.
    """
    scores = []
    for counts, expected, found in zip(folds.test_counts, true, private, strict=True):
        weights = block_sums(counts, expected.level)
        table = contingency(expected.labels, found.labels, weights)
        scores.append((ocm(table), two_ce(table)))
    mean_ocm, mean_two_ce = np.mean(scores, axis=0)
    return float(mean_ocm), float(mean_two_ce)


def tree_predictions(
    source: Source, stages: Stages, points: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Labels of points by a decision tree learned from the cells: the measure's definition.

    Parameters
    ----------
    source
        Domain and grid that the clusters were found on.
    stages
        Clusters; every cell of the subband is one training sample, its centre the
        features, its cluster (0 = not significant) the class.
    points
        Shape (m, d).
    """
    step = 2**stages.level
    width = (source.domain.highs - source.domain.lows) / source.shape
    index = np.stack([axis.ravel() for axis in np.indices(stages.labels.shape)], axis=1)
    centres = source.domain.lows + (index + 0.5) * step * width
    tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
    labels: NDArray[np.int32] = tree.fit(centres, stages.labels.ravel()).predict(points)
    return labels

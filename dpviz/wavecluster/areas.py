"""PrivTHR on public areas instead of cells: noisy counts, a threshold, and clusters of neighbours.

Each record is in at most one area, so all counts share one spend of the whole budget. Noise of an
empty area is negative as often as positive. So the number of negative counts estimates the number
of empty areas with positive counts, which PrivTHR removes; this estimate spends no budget. There is
no wavelet: ``python -m tests.benchmarks.areas`` shows that means of pairs of neighbours blur areas.
"""

from __future__ import annotations

import numpy as np

from dpviz.base.arrays import Floats, Indices, Labels, Mask
from dpviz.base.errors import InputError
from dpviz.base.lazy import sparse
from dpviz.base.serialize import whole_numbers
from dpviz.family.parameter import PRIVATE
from dpviz.grid.areas import Areas
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.components import by_size
from dpviz.wavecluster.methods.privthr import pruned_threshold
from dpviz.wavecluster.parameters import ON_AREAS, Config
from dpviz.wavecluster.pipeline import Run, Source, Stages
from dpviz.wavecluster.threshold import Threshold, significant_cells

#: Why a run on areas is private, and what it does; the card describes the method on a grid.
PROOF = (
    "The areas are public, and each record is in at most one of them. One record changes one count "
    "by 1, which Laplace noise hides with the whole epsilon. The threshold and the clusters are "
    "computed only from the noisy counts."
)
SUMMARY = (
    "Releases noisy counts of public areas. The number of negative counts is subtracted from the "
    "number of positive counts before the threshold is computed. Areas whose counts reach the "
    "threshold are joined if they have a common border."
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Count records in the areas of a source with noise, and join neighbours with high counts."""
    areas = source.areas
    assert areas is not None  # noqa: S101 - the family checked
    if config.method != ON_AREAS:
        raise InputError(f"method = {config.method} has no areas: choose {ON_AREAS}.")
    if config.choose == PRIVATE:
        raise InputError("choose = private: areas have no grid; set p (density) yourself.")
    noisy = accountant.laplace("counts", source.counts, sensitivity=1, epsilon=config.epsilon)
    threshold = threshold_of(noisy, config.density)
    labels, clusters = joined(significant_cells(noisy, threshold.value), areas.neighbours)
    stages = Stages(
        counts=noisy,
        average=noisy,
        threshold=threshold,
        labels=labels,
        n_clusters=clusters,
        wavelet=config.wavelet,
        level=0,
    )
    return Run(config=config, stages=stages, ledger=accountant.ledger, areas=areas)


def threshold_of(counts: Floats, density: float) -> Threshold:
    """Threshold of PrivTHR on noisy counts (m,); Z' is twice the number of negative counts."""
    return pruned_threshold(counts, density, 2.0 * int(np.count_nonzero(counts < 0)))


def joined(significant: Mask, neighbours: Indices) -> tuple[Labels, int]:
    """Label groups of significant areas that are connected by pairs of neighbours (k, 2).

    0 means not significant. Clusters are 1, 2, ... from the largest to the smallest, as for cells.
    """
    one, other = neighbours[significant[neighbours].all(axis=1)].T
    size = len(significant)
    graph = sparse.coo_matrix((np.ones(len(one)), (one, other)), shape=(size, size))
    _, groups = sparse.csgraph.connected_components(graph, directed=False)
    labels = np.zeros(size, dtype=np.int32)
    labels[significant] = np.unique(groups[significant], return_inverse=True)[1] + 1
    return by_size(labels, int(labels.max(initial=0)))


def released(run: Run, areas: Areas) -> dict[str, object]:
    """Return the result in the form of ``release.json``."""
    import shapely

    stages = run.stages
    return {
        "kind": "areas",
        "names": areas.names,
        "polygons": [shapely.geometry.mapping(one) for one in areas.polygons],
        "counts": whole_numbers(stages.counts),
        "labels": stages.labels,
        "threshold": float(stages.threshold.value),
        "significant": int(stages.significant.sum()),
        "clusters": stages.n_clusters,
    }

"""Clusters that methods find on uniform noise."""

from dataclasses import replace

import numpy as np

from dpviz.data.dataset import Dataset
from dpviz.experiments.tuning.null_set import null_clusters
from dpviz.grid.domain import Domain
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run

# ---- null set


def test_invented_clusters_are_counted_on_fresh_points_that_all_techniques_share():
    config = Config(method="privthrem", grid=32, density=0.6, epsilon=0.5, alpha=0.3)
    null = null_clusters(config, 2_000, seeds=(7, 8, 9))
    assert list(null.clusters) == list(WAVECLUSTER)
    for column, seed in enumerate((7, 8, 9)):
        points = SeededNoise(seed).generator("null set").uniform(0, 1, (2_000, 2))
        source = Source.build(Dataset(name="", points=points), 32, Domain(((0, 1), (0, 1))))
        for method in WAVECLUSTER:
            alpha = 0.3 if method == "privthrem" else None
            one = replace(config, method=method, alpha=alpha)
            expected = run(source, one, SeededNoise(seed)).stages.n_clusters
            assert null.clusters[method][column] == expected
    assert len(set(null.clusters["wavecluster"])) > 1
    assert null.bands["privqt"].median == np.median(null.clusters["privqt"])


def test_the_place_of_the_box_does_not_matter_but_the_budget_does():
    config = Config(grid=32, density=0.6, epsilon=0.5)
    first = null_clusters(config, 2_000, seeds=(1, 2))
    box = Domain(((-8.0, 8.0), (0.0, 4.0)))
    moved = null_clusters(config, 2_000, seeds=(1, 2), domain=box)
    for name, values in first.clusters.items():
        # Baseline rounds points to a lattice, which may move a point across an edge.
        np.testing.assert_allclose(moved.clusters[name], values, atol=2 * (name == "baseline"))
    other = null_clusters(replace(config, epsilon=0.01), 2_000, seeds=(1, 2))
    np.testing.assert_array_equal(other.clusters["wavecluster"], first.clusters["wavecluster"])
    assert (other.clusters["privqt"] != first.clusters["privqt"]).any()

"""The algorithms of Zhang, Liu, Wang, written a second time from their text."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import silhouette_samples

from dpviz.kmeans.passes import cluster_sums
from dpviz.kmeans.space import Space
from tests.benchmarks.papers.lab import Lab, stored_draws
from tests.benchmarks.papers.zhang import (
    BASE,
    BOTH,
    NODES,
    SETS,
    Nodes,
    PlainRun,
    in_pieces,
    pair_contours,
    scaled,
)
from tests.conftest import reference_file


@pytest.mark.parametrize("clusters", [2, 3, 7])
def test_contours_by_pairs_are_silhouettes(clusters: int) -> None:
    rng = np.random.default_rng(clusters)
    points, owner = rng.random((700, 3)), rng.integers(clusters, size=700)
    each = silhouette_samples(points, owner)
    expected = [each[owner == k].mean() for k in range(clusters)]
    np.testing.assert_allclose(pair_contours(points, owner, clusters), expected)


@pytest.mark.parametrize("method", BOTH)
def test_a_plain_run_without_noise_is_lloyds_iteration(method: str) -> None:
    points = np.random.default_rng(0).random((101, 2))
    run = PlainRun(points, 3, 1.0, method, 0, noise=0)
    slices = [points[:34], points[34:68], points[68:]]
    np.testing.assert_allclose(run.start, [one.mean(axis=0) for one in slices])
    apart = np.linalg.norm(points[:, None] - run.start[None], axis=2).argmin(axis=1)
    # Starts that are so near to each other converge in one iteration.
    np.testing.assert_allclose(run.centers, [points[apart == k].mean(axis=0) for k in range(3)])


@pytest.mark.parametrize(
    ("which", "method"), [("start", BASE), *(("centers", method) for method in BOTH)]
)
@pytest.mark.parametrize("data", SETS)
def test_plain_runs_have_the_distribution_of_ours(data: str, which: str, method: str) -> None:
    draws = stored_draws("004")
    ours = draws[f"error of {which} {data} {method} epsilon=1.0"][:200]
    plain = draws[f"plain error of {which} {data} {method}"][:200]
    assert ks_2samp(ours, plain).pvalue > 0.01


def test_nodes_read_what_one_reads_and_save_all_pieces_but_the_longest() -> None:
    reference_file("blood.csv.gz")
    lab, engine = Lab(), Nodes()
    points = scaled(lab, "blood")
    records = in_pieces(lab, "blood", NODES, engine)
    found = records.sums(Space(records.domain, "cube"), points[:2])
    np.testing.assert_allclose(found, cluster_sums(points, points[:2]))
    assert engine.saved > 0
    alone = Nodes()
    in_pieces(lab, "blood", 1, alone).sums(Space(records.domain, "cube"), points[:2])
    assert alone.saved == 0

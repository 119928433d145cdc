"""DP-DBSCAN beside our density methods: its scores, without its code, and the missing checkout."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from tests.benchmarks import density
from tests.benchmarks.sets import MissingError

CENTRES = np.array([[-4.0, -4.0], [4.0, 4.0], [4.0, -4.0]])


@pytest.fixture
def far_apart(monkeypatch):
    """Three groups far from each other, few draws, and a peer that is right only without noise."""
    made = datasets.make_blobs(900, centers=CENTRES, cluster_std=0.5, random_state=1)
    monkeypatch.setattr(density, "MADE", {"far": lambda: made})
    monkeypatch.setattr(density, "GIVEN", {"far": (0.3, 5)})
    monkeypatch.setattr(density, "EPSILONS", (50.0,))
    monkeypatch.setattr(density, "SEEDS", range(density.SEEDS[0], density.SEEDS[0] + 8))
    points, classes = made
    units = (points - points.mean(axis=0)) / points.std(axis=0)

    def nearest(places):
        middles = np.array([units[classes == one].mean(axis=0) for one in range(3)])
        return np.argmin(((places[:, None] - middles) ** 2).sum(axis=2), axis=1)

    def nothing(places):
        return np.full(len(places), -1)

    def peer(points, low, high, own, out, runs):
        assert (points >= low).all()
        assert (points <= high).all()
        for epsilon, seed in runs:
            yield epsilon, seed, nearest if [epsilon, seed] in density.NOISELESS else nothing

    monkeypatch.setattr(density, "peer", peer)
    return classes


def test_scores_compare_with_classes_and_with_own_results(far_apart, tmp_path):
    columns = ["method", "epsilon", "seed", "cells", "points", "classes"]
    table = pd.DataFrame(density.rows("far", None, tmp_path), columns=columns)
    everybody = (*density.OURS, "dpdbscan")
    assert table.groupby("method").size().to_dict() == dict.fromkeys(everybody, 8)
    middle = table.groupby("method")[columns[3:]].median()
    # A result without clusters agrees with no classes. Noise is a cluster of the F-measure of
    # cells, so this result shares the empty cells.
    assert (middle.loc["dpdbscan", ["points", "classes"]] == 0).all()
    assert 0 < middle.loc["dpdbscan", "cells"] < 0.9
    # At a large epsilon, our methods find groups that are far from each other.
    assert (middle.loc[[*density.OURS]] > 0.9).all(axis=None)


def test_a_better_score_wins_the_row(far_apart, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(density, "contents", lambda checkouts, repository, file: b"")
    density.main(tmp_path, tmp_path / "out", "far")
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in told] == [
        ["far", score, "50.0"] for score in ("cells", "points", "classes")
    ]
    assert all(line.endswith(" ++") for line in told)
    assert ["dpdbscan 0.000" in line for line in told] == [False, True, True]
    assert {one.stem for one in (tmp_path / "out" / "code").iterdir()} == {*density.FILES}


def test_only_points_with_many_neighbours_have_a_cluster():
    crowd = np.linspace(0, 0.5, 11)
    points = np.column_stack([[*crowd, 3.0, 5.0, 5.01], np.zeros(14)])
    assert density.dbscan(points, 0.2, 3).tolist() == [0] * 11 + [-1] * 3


def test_without_a_checkout_the_comparison_says_what_is_missing(tmp_path):
    with pytest.raises(MissingError, match="no checkout of QiuTedYuan/DpDBSCAN"):
        density.main(tmp_path, tmp_path / "out", "moons")

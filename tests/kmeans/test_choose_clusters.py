"""The choice of K from noisy counts follows its definition, costs nothing, and is nearly best."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from dpviz.base.errors import InputError
from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.grid.domain import Domain
from dpviz.kmeans import choose_clusters as chosen
from dpviz.kmeans.choice_price import choice_price
from dpviz.kmeans.choose_clusters import (
    LEAST,
    SOME,
    SURE,
    USUAL,
    ClusterChoice,
    NoisyPoints,
    choose_clusters,
)
from dpviz.kmeans.grid import MAX_CELLS, noisy_grid, refined_sides
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.space import Space
from dpviz.kmeans.trial import KMeansTrial
from dpviz.kmeans.truth import run_kmeans
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise
from tests.support.tiers import examples

Floats = NDArray[np.float64]

BOX = Domain(((-1.0, 1.0), (-1.0, 1.0)))

quick = examples(40)
seeds = st.integers(0, 2**32 - 1)


def records_of(points: Floats) -> Records:
    return Records.build(Dataset(name="", points=points), BOX, cut=not len(points))


def some_points(seed: int, m: int, ndim: int) -> NoisyPoints:
    rng = np.random.default_rng(seed)
    counts = rng.normal(3, 8, m) + 40 * (rng.random(m) < 0.2)
    return NoisyPoints(
        places=rng.uniform(-1, 1, (m, ndim)),
        weights=np.maximum(counts, 0),
        counts=counts,
        variances=rng.uniform(0.5, 4, m),
    )


def blobs(clusters: int, n: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * rng.integers(clusters, size=n) / clusters
    middles = 0.7 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.clip(middles + rng.normal(0, 0.03, (n, 2)), -1, 1)


# -- as defined --------------------------------------------------------------------------


def plain_groups(points: NoisyPoints) -> list[tuple[Floats, float, float, float]]:
    """Place, weight, count and variance of the groups if each heavy point is a group."""
    heavy = np.flatnonzero(points.weights > 0)
    owners = [
        min(heavy, key=lambda one, place=place: ((place - points.places[one]) ** 2).sum())
        for place in (points.places if len(heavy) else [])
    ]
    return [
        (
            points.places[one],
            points.weights[one],
            sum(points.counts[i] for i, owner in enumerate(owners) if owner == one),
            sum(points.variances[i] for i, owner in enumerate(owners) if owner == one),
        )
        for one in heavy
    ]


def plain_surest(groups: list[tuple[Floats, float, float, float]], centers: Floats) -> float:
    """Least count around a centre in standard deviations, computed from the definition."""
    found = []
    nearest = [int(((centers - place) ** 2).sum(axis=1).argmin()) for place, *_ in groups]
    for k in range(len(centers)):
        own = [group for group, owner in zip(groups, nearest, strict=True) if owner == k]
        variance = sum(group[3] for group in own)
        found.append(sum(group[2] for group in own) / math.sqrt(variance) if own else 0.0)
    return min(found)


def plain_silhouettes(places: Floats, weights: Floats, centers: Floats) -> tuple[float, float]:
    """Mean over the whole weight, and mean of the worst cluster, computed from the definition."""
    distances = np.sqrt(((places[:, None] - centers) ** 2).sum(axis=2))
    first, second = np.sort(distances, axis=1)[:, :2].T
    own = distances.argmin(axis=1)
    values = (second - first) / np.maximum(second, 1e-300)
    of_clusters = [
        np.average(values[own == k], weights=weights[own == k]) if (own == k).any() else 0.0
        for k in range(len(centers))
    ]
    return float(np.average(values, weights=weights)), min(of_clusters)


@quick
@given(seed=seeds, m=st.integers(1, 60), ndim=st.integers(1, 4), more=st.integers(0, 5))
def test_the_choice_is_the_best_separated_one_that_stands_out_of_the_noise(
    seed: int, m: int, ndim: int, more: int
) -> None:
    # There are so many groups that each point is one group.
    most = m // 3 + 2 + more
    points = some_points(seed, m, ndim)
    found = choose_clusters(points, seed, most)
    groups = plain_groups(points)
    part = [group for group in groups if group[2] > SOME * math.sqrt(group[3])]
    places, weights = (np.array([group[which] for group in part]) for which in (0, 1))
    if len(places) < LEAST:
        assert (found.clusters, len(found.tried), found.stands) == (LEAST, 0, False)
        return
    last = min(most, len(places))
    assert found.tried.tolist() == list(range(LEAST, last + 1))
    for number, centers in enumerate(found.centers):
        assert centers.shape == (found.tried[number], ndim)
        mean, worst = plain_silhouettes(places, weights, centers)
        assert found.silhouettes[number] == pytest.approx(mean, abs=1e-9)
        assert found.least[number] == pytest.approx(worst, abs=1e-9)
        assert found.surest[number] == pytest.approx(plain_surest(groups, centers))
    allowed = found.surest >= SURE
    assert found.stands == allowed.any()
    if found.stands:
        scores = np.where(allowed, found.silhouettes + found.least, -np.inf)
        assert found.clusters == found.tried[scores.argmax()]
    else:
        assert found.clusters == LEAST


@quick
@given(seed=seeds, m=st.integers(3, 40), ndim=st.integers(1, 4))
def test_groups_join_as_ward_says(seed: int, m: int, ndim: int) -> None:
    places = np.random.default_rng(seed).normal(size=(m, ndim))
    tree = linkage(places, "ward")
    joins = chosen._joins(places, np.ones(m), m)
    assert [K for K, _ in joins] == list(range(m, LEAST - 1, -1))
    for K, labels in joins:
        expected = fcluster(tree, K, "maxclust")
        pairs = set(zip(labels.tolist(), expected.tolist(), strict=True))
        assert len(pairs) == K == len(set(labels.tolist()))


def test_a_heavy_group_counts_as_many_records() -> None:
    # A join of the two light groups costs 1/2 * 4; a join of the close pair costs 90 * 10 / 100 *
    # 1.
    places, weights = np.array([[0.0], [1.0], [5.0], [7.0]]), np.array([90.0, 10.0, 1.0, 1.0])
    three = dict(chosen._joins(places, weights, 3))[3]
    assert three[2] == three[3]
    assert len({three[0], three[1], three[2]}) == 3


def test_clusters_are_sure_by_the_noise_of_all_their_cells() -> None:
    # Two groups of 60 and 8 records; the empty cells around them add only noise.
    places = np.array([[-0.9], [-0.8], [0.8], [0.9]])
    counts = np.array([60.0, -2.0, 8.0, -1.0])
    for variance, stands in ((2.7, True), (2.8, False)):
        points = NoisyPoints(
            places=places,
            weights=np.maximum(counts, 0),
            counts=counts,
            variances=np.full(4, variance),
        )
        found = choose_clusters(points, 0)
        assert found.surest.tolist() == pytest.approx([7 / math.sqrt(2 * variance)])
        assert found.stands == stands


@quick
@given(seed=seeds, m=st.integers(1, 300), ndim=st.integers(1, 5), most=st.integers(1, 64))
def test_coarse_points_hold_the_same_records(seed: int, m: int, ndim: int, most: int) -> None:
    points = some_points(seed, m, ndim)
    coarse = points.coarse(most)
    for name in ("weights", "counts", "variances"):
        before, after = getattr(points, name), getattr(coarse, name)
        assert after.sum() == pytest.approx(before.sum(), abs=1e-6)
    mean = (points.weights @ points.places, coarse.weights @ coarse.places)
    np.testing.assert_allclose(*mean, atol=1e-4)
    assert (np.abs(coarse.places) <= 1).all()
    if m > most >= 2**ndim:
        assert len(coarse.places) <= most


# -- no extra budget -----------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("cells", ["su", "refined"])
def test_the_choice_spends_what_the_grid_spends(relation: Any, cells: Any) -> None:
    records, unit = records_of(blobs(5, 4000)), Neighbours(relation=relation, cap=2)
    for choose in ("given", "private"):
        config = KMeansConfig(
            method="eugkm", epsilon=0.7, cells=cells, choose=choose, neighbours=unit
        )
        run = run_kmeans(records, config, SeededNoise(1))
        assert [one.step for one in run.ledger] == ["cells: records", "cells"]
        assert run.ledger.epsilon == pytest.approx(0.7)
    assert run.config.clusters == len(run.centers) == 5
    assert run.decision.startswith("K = 5 was chosen from the noisy counts")
    assert run.decision.endswith("this choice cost no further ε.")


def test_k_by_hand_is_not_read() -> None:
    records = records_of(blobs(6, 3000))
    runs = [
        run_kmeans(
            records,
            KMeansConfig(method="eugkm", choose="private", clusters=clusters),
            SeededNoise(4),
        )
        for clusters in (1, 60)
    ]
    assert len(runs[0].centers) == 6
    np.testing.assert_array_equal(runs[0].centers, runs[1].centers)


@pytest.mark.parametrize("n", [0, 1])
def test_no_record_and_one_give_two_clusters_of_noise(n: int) -> None:
    records = records_of(np.full((n, 2), 0.3))
    config = KMeansConfig(method="eugkm", choose="private", epsilon=0.5)
    unsure = 0
    for seed in range(20):
        run = run_kmeans(records, config, SeededNoise(seed))
        assert run.centers.shape == (run.config.clusters, 2)
        assert run.choice is not None
        if not run.choice.stands:
            unsure += 1
            assert len(run.centers) == LEAST
            assert run.decision.endswith("noise hides whether there are more than 2.")
    # By chance, two of four noisy cells can exceed 3 standard deviations, but this is rare.
    assert unsure >= 18


# -- quality of the choice -----------------------------------------------------------------


@pytest.mark.parametrize("clusters", [2, 3, 7, 12])
@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_clusters_well_apart_are_counted(clusters: int, epsilon: float) -> None:
    records = records_of(blobs(clusters, 500 * clusters))
    config = KMeansConfig(method="eugkm", choose="private", epsilon=epsilon)
    found = [run_kmeans(records, config, SeededNoise(seed)).config.clusters for seed in range(8)]
    # Sometimes noise makes an additional cluster.
    assert found.count(clusters) >= 6


@pytest.mark.parametrize(("name", "epsilon"), [("gaussians", 0.5), ("gaussians", 2), ("shapes", 1)])
def test_the_price_on_samples_is_next_to_nothing(name: str, epsilon: float) -> None:
    data = load_sample(name)
    records = Records.build(data, data.domain)
    config = KMeansConfig(method="eugkm", choose="private", epsilon=epsilon)
    for seed in range(3):
        run = run_kmeans(records, config, SeededNoise(seed))
        assert run.choice is not None
        price = choice_price(records, run.choice)
        assert price is not None
        assert 0.97 <= price.ratio <= 1
        if name == "gaussians":
            assert run.config.clusters == price.best == 15


def test_without_the_noise_rule_noise_makes_clusters_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = records_of(blobs(3, 300))
    config = KMeansConfig(method="eugkm", choose="private", epsilon=0.5)

    def found() -> list[int]:
        return [
            run_kmeans(records, config, SeededNoise(seed)).config.clusters for seed in range(10)
        ]

    with_rule = found()
    monkeypatch.setattr(chosen, "SURE", -math.inf)
    monkeypatch.setattr(chosen, "SOME", -math.inf)
    assert np.mean(found()) > 2 * np.mean(with_rule)
    assert 3 <= np.median(with_rule) <= 4


def test_the_price_by_hand() -> None:
    records = records_of(np.array([[-0.5, 0.0], [0.5, 0.0], [0.5, 0.2]]))
    pair = np.array([[-0.5, 0.0], [0.5, 0.1]])
    three = np.array([[-0.5, 0.0], [0.5, 0.0], [0.5, 0.2]])
    none = np.zeros(2)
    choice = ClusterChoice(
        clusters=2,
        tried=np.array([2, 3]),
        centers=(pair, three),
        silhouettes=none,
        least=none,
        surest=none,
        stands=True,
    )
    price = choice_price(records, choice)
    assert price is not None
    across = [1 - 0.1 / math.hypot(1, 0.0), 1 - 0.1 / math.hypot(1, 0.2)]
    np.testing.assert_allclose(price.silhouettes, [(1 + sum(across)) / 3, 1.0])
    assert (price.best, price.ratio) == (3, pytest.approx((1 + sum(across)) / 3))


# -- DP-Refine: from the nested grid, and from prototypes ------------------------------------


def groups(ndim: int, clusters: int, n: int) -> Records:
    rng = np.random.default_rng(10 * ndim + clusters)
    middles = np.zeros((clusters, ndim))
    while pdist(middles).min() < 0.6:
        middles = rng.uniform(-0.8, 0.8, (clusters, ndim))
    points = middles[rng.integers(clusters, size=n)] + rng.normal(0, 0.05, (n, ndim))
    box = Domain(((-1.0, 1.0),) * ndim)
    return Records.build(Dataset(name="", points=points), box)


@pytest.mark.daily("3-5", "10-7")
@pytest.mark.parametrize(("ndim", "clusters"), [(2, 6), (3, 5), (6, 4), (10, 7), (16, 3)])
def test_dp_refine_chooses_at_no_further_cost(ndim: int, clusters: int) -> None:
    records = groups(ndim, clusters, 12_000)
    runs = [
        run_kmeans(
            records,
            KMeansConfig(method="dprefine", epsilon=1.0, choose=choose, clusters=USUAL),
            SeededNoise(2),
        )
        for choose in ("given", "private")
    ]
    given, private = (run.ledger for run in runs)
    # The steps are the same until K is chosen, and both runs spend the whole budget.
    assert private.epsilon == pytest.approx(1.0)
    steps = [[(one.step, one.epsilon) for one in ledger] for ledger in (given, private)]
    assert steps[0] == steps[1]
    assert runs[1].config.clusters == len(runs[1].centers) == clusters
    assert runs[1].decision.startswith(f"K = {clusters} was chosen")
    ratio = KMeansTrial.of(records, runs[1].config).scores(runs[1], 2, ("nicv_ratio",))
    assert ratio["nicv_ratio"] < 1.1


@pytest.mark.parametrize("ndim", [2, 6])
@pytest.mark.parametrize("n", [0, 1])
def test_dp_refine_has_something_to_say_of_nothing(ndim: int, n: int) -> None:
    box = Domain(((-1.0, 1.0),) * ndim)
    records = Records.build(Dataset(name="", points=np.zeros((n, ndim))), box, cut=True)
    config = KMeansConfig(method="dprefine", epsilon=0.3, choose="private")
    for seed in range(10):
        run = run_kmeans(records, config, SeededNoise(seed))
        assert run.centers.shape == (run.config.clusters, ndim)
        assert np.isfinite(run.centers).all()
        assert run.config.clusters >= LEAST


# -- comparison with the true run ----------------------------------------------------------


def test_draws_are_compared_with_as_many_true_clusters() -> None:
    records = records_of(blobs(5, 3000))
    config = KMeansConfig(method="eugkm", choose="private", clusters=2)
    trial = KMeansTrial.of(records, config)
    one = trial.draw(0)
    assert len(one.centers) == 5
    scores = trial.scores(one, 0, ("nicv_ratio", "f_measure", "displacement"))
    same = KMeansTrial.of(records, KMeansConfig(method="eugkm", clusters=5))
    assert scores == same.scores(one, 0, ("nicv_ratio", "f_measure", "displacement"))
    assert 1 <= scores["nicv_ratio"] < 1.05
    # Clusters have the numbers of the true clusters, and every record is in its true cluster.
    np.testing.assert_array_equal(one.centers, same.truth.matched(one).centers)
    assert trial.affected(one).sum() == 0


def test_a_sweep_and_a_run_name_no_k_that_was_not_used(tmp_path: Path, capsys: Any) -> None:
    out = str(tmp_path / "sweep.csv")
    common = ["--choose", "private", "--clusters", "9"]
    sweep = ["sweep", "tiny8", "--methods", "eugkm", "--epsilons", "1", "--repeats", "2"]
    assert main([*sweep, "--out", out, *common]) == 0
    table = pd.read_csv(out)
    assert table["n_clusters"].isna().all()
    assert set(table["choose"]) == {"private"}
    capsys.readouterr()
    assert main(["run", "gaussians", "--method", "eugkm", "--json", *common]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["clusters"] for one in found["private"]] == [15]
    assert len(found["private"][0]["centers"]) == len(found["true"]["centers"]) == 15
    assert main(["run", "gaussians", "--method", "eugkm", *common]) == 0
    said = capsys.readouterr().out
    assert "private  K 15  WCSS" in said
    assert "K 9" not in said
    assert main(["run", "gaussians", "--method", "privthr", "--clusters", "9"]) == 2
    assert main(["run", "gaussians", "--method", "gupt", "--choose", "private"]) == 2


# -- the refined rule ----------------------------------------------------------------------


@quick
@given(
    size=st.floats(1, 1e9),
    epsilon=st.floats(1e-4, 1e4),
    ndim=st.integers(1, 6),
    clusters=st.integers(1, 200),
)
def test_refined_sides_make_the_printed_bound_least(
    size: float, epsilon: float, ndim: int, clusters: int
) -> None:
    def bound(m: int) -> float:
        return (
            size / (3 * m**2)
            + 2 * math.sqrt(size / 3) / (m * clusters ** (1 / ndim))
            + math.sqrt(2) * m ** (ndim / 2) / (epsilon * clusters ** (2 / ndim))
        )

    sides = refined_sides(size, epsilon, ndim, clusters)
    rounding = 1 + 1e-12
    if (sides[0] + 1) ** ndim <= MAX_CELLS:
        assert bound(sides[0]) <= bound(sides[0] + 1) * rounding
    if (sides[0] - 1) ** ndim >= clusters and sides[0] > 2:
        assert bound(sides[0]) <= bound(sides[0] - 1) * rounding


@pytest.mark.parametrize(
    ("size", "epsilon", "ndim", "clusters", "side"),
    # These numbers are from a plain loop over all m that does not use this code.
    [
        (5000, 1.0, 2, 15, 35),
        (30_000, 0.098, 2, 15, 28),
        (30_000, 1.96, 2, 15, 79),
        (1, 0.01, 2, 50, 8),
    ],
)
def test_refined_sides_by_hand(
    size: float, epsilon: float, ndim: int, clusters: int, side: int
) -> None:
    assert refined_sides(size, epsilon, ndim, clusters) == (side,) * ndim


def test_the_rule_decides_about_the_grid_and_its_price_stays() -> None:
    records = records_of(blobs(5, 4000))
    shapes = {}
    for cells in ("su", "refined"):
        accountant = Accountant(SeededNoise(3), 1.0)
        config = KMeansConfig(method="eugkm", clusters=5, cells=cells)
        grid = noisy_grid(records, config, accountant, step="cells", epsilon=1.0)
        shapes[cells] = grid.shape
        assert accountant.ledger.epsilon == pytest.approx(1.0)
        assert len(grid.counts) == len(grid.weights) == math.prod(grid.shape)
        np.testing.assert_allclose(grid.points.variances, 2 * grid.scale**2)
    noisy = 4000 + float(SeededNoise(3).laplace("cells: records", 50.0, ()))
    assert shapes["refined"] == refined_sides(noisy, 0.98, 2, 5)
    assert shapes["refined"] != shapes["su"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cells": "fine"}, 'cells = "fine" is unknown: choose one of su, refined'),
        ({"choose": "secret"}, 'choose = "secret" is unknown: choose one of given, private'),
        ({"method": "gupt", "choose": "private"}, "choose = private: gupt has no choose"),
        ({"method": "hybrid", "cells": "refined"}, "cells = refined: hybrid has no cells"),
    ],
)
def test_what_no_method_does_is_refused_in_one_sentence(options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        KMeansConfig(**({"method": "eugkm"} | options))


def test_scaled_places_are_those_of_the_cells() -> None:
    data = load_sample("gaussians")
    records = Records.build(data, data.domain)
    run = run_kmeans(records, KMeansConfig(method="eugkm", choose="private"), SeededNoise(0))
    assert run.choice is not None
    (middles,) = (one for one in run.choice.centers if len(one) == 15)
    scaled = Space(records.domain).scale(run.centers)
    gaps = np.sqrt(((middles[:, None] - scaled) ** 2).sum(axis=2)).min(axis=1)
    assert gaps.max() < 0.02

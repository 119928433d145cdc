"""Doubtful clusters: marked by released numbers alone, and seldom wrongly where there is none."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.families import FAMILIES
from dpviz.privacy.ledger import Neighbours, Spend
from dpviz.release import doubt as module
from dpviz.release.doubt import LEVEL, doubt
from dpviz.release.files import files, schema
from dpviz.release.geojson import without_doubtful
from dpviz.release.pictures import clusters_svg
from dpviz.release.seeded import LatticeAccountant, seeded_run
from dpviz.release.tables import doubt_words
from dpviz.serialize import jsonable

#: Draws have fixed seeds: a rate that is as stated is refused by chance once in so many seeds.
FALSE_ALARM = 1e-4

SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))


def three_places(seed: int = 0, n: int = 20_000) -> NDArray[np.float64]:
    """Three dense places of unequal size, and nothing between them."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.2, 0.3], [0.7, 0.25], [0.5, 0.8]])
    which = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    return np.clip(places[which] + rng.normal(0, 0.03, (n, 2)), 0, 1)


def released(
    points: NDArray[np.float64], seed: int, family: str = "wavecluster", cap: int = 1, **given: Any
) -> dict[str, Any]:
    """Document of a release whose noise a seed repeats."""
    own = FAMILIES[family]
    config = own.config(neighbours=Neighbours(cap=cap), **given)
    data = Dataset(name="points", points=points)
    material = own.material(data, config, SQUARE, "clip", secure=True)
    run = seeded_run(own, material, config, seed)
    spends = [
        {"step": one.step, "epsilon": one.epsilon, "scale": one.scale}
        for one in run.ledger.spends
        if isinstance(one, Spend)
    ]
    return {
        "method": {"name": config.method, "family": family, "variant": "sound"},
        "parameters": jsonable(own.choices(run.config) | own.given_by_data(material)),
        "privacy": {
            "epsilon": config.epsilon,
            "neighbours": "add_remove",
            "cap": cap,
            "ledger": spends,
        },
        "domain": {"bounds": [[0.0, 1.0], [0.0, 1.0]], "outside": "clip"},
        "result": jsonable(own.released(run, SQUARE)),
    }


def judged(document: dict[str, Any]) -> dict[str, Any]:
    found = doubt(document)
    assert found is not None
    return found


@pytest.mark.parametrize("method", ["privthrem", "privthr", "privqt"])
def test_blocks_of_noise_are_doubtful_and_true_clusters_are_not(method: str) -> None:
    invented = 0
    for seed in range(6):
        document = released(
            three_places(), seed, method=method, grid=64, density=0.45, epsilon=1.0, cap=3
        )
        labels = np.array(document["result"]["labels"])
        side = len(labels)
        places = ((0.2, 0.3), (0.7, 0.25), (0.5, 0.8))
        # A threshold may be too high for the smallest: 0 is no cluster.
        true = {int(labels[int(x * side), int(y * side)]) for x, y in places} - {0}
        others = set(range(1, document["result"]["clusters"] + 1)) - true
        assert set(judged(document)["clusters"]) == others
        invented += len(others)
    assert invented > 10


@pytest.mark.daily("privthrem-0", "privthrem-20000", "privthr-0", "privthr-20000")
@pytest.mark.parametrize("records", [0, 20_000])
@pytest.mark.parametrize("method", ["privthrem", "privthr", "baseline"])
def test_one_passes_for_real_as_seldom_as_stated_where_there_is_no_cluster(
    method: str, records: int
) -> None:
    rng = np.random.default_rng(1)
    wrong, draws = 0, 60
    for seed in range(1000, 1000 + draws):
        document = released(
            rng.random((records, 2)), seed, method=method, grid=32, density=0.5, epsilon=1.0
        )
        wrong += len(judged(document)["clusters"]) < document["result"]["clusters"]
    assert stats.binom.sf(wrong - 1, draws, LEVEL) > FALSE_ALARM


def test_empty_centres_are_doubtful_as_often_as_stated() -> None:
    wrong, draws = 0, 100
    for seed in range(1000, 1000 + draws):
        document = released(
            np.empty((0, 2)), seed, "kmeans", method="dplloyd", clusters=6, epsilon=0.5
        )
        wrong += len(judged(document)["clusters"]) < 6
    assert stats.binom.sf(wrong - 1, draws, LEVEL) > FALSE_ALARM
    full = released(three_places(), 0, "kmeans", method="dplloyd", clusters=3, epsilon=1.0)
    largest = int(np.argmax(full["result"]["counts"])) + 1
    assert largest not in judged(full)["clusters"]


def test_methods_without_numbers_of_records_are_not_judged() -> None:
    document = released(three_places(), 0, "kmeans", method="gupt", clusters=3, epsilon=1.0)
    assert document["result"]["counts"] is None
    assert doubt(document) is None
    assert doubt_words(document) == ""


def test_the_answer_depends_on_the_document_alone() -> None:
    document = released(three_places(), 3, method="privthrem", grid=32, epsilon=0.5)
    clipped = judged(document)
    assert clipped == judged(json.loads(json.dumps(document)))
    # What was moved to the border is no part of the null sets.
    document["domain"]["outside"] = "drop"
    dropped = judged(document)
    assert dropped["clusters"] == clipped["clusters"]
    moved = " Records that were moved to the border may make clusters there."
    assert clipped["how"] == dropped["how"] + moved


def test_noise_of_a_rehearsal_is_discrete_and_as_wide_as_paid_for() -> None:
    config = FAMILIES["wavecluster"].config(method="privthr", epsilon=0.25)
    drawn = LatticeAccountant(0, config, 1.0).laplace(
        "counts", np.zeros(200_000), sensitivity=1, epsilon=0.25
    )
    assert np.array_equal(drawn, np.rint(drawn))
    # Var of two-sided geometric noise: 2 q / (1 - q)^2.
    q = np.exp(-0.25)
    assert np.var(drawn) == pytest.approx(2 * q / (1 - q) ** 2, rel=0.03)


def test_files_mark_what_is_doubtful_and_files_of_version_1_stay_as_they_are() -> None:
    from tests.release.test_files import of_cells

    counts = np.array([[900, 3, 9], [0, 1, 2]])
    document = of_cells(counts, counts > 5, 1, SQUARE.bounds)
    before = files(document)
    after = files(
        document | {"version": 2, "doubtful": {"clusters": [2], "level": 0.05, "how": "By a rule."}}
    )
    for bundle in (before, after):
        jsonschema.validate(json.loads(bundle["release.json"]), json.loads(schema()))
    marks = [
        one["properties"]["doubtful"] for one in json.loads(after["clusters.geojson"])["features"]
    ]
    assert marks == [False, True]
    rows = list(csv.DictReader(io.StringIO(after["cells.csv"].decode())))
    assert [(row["cluster"], row["doubtful"]) for row in rows] == [
        ("1", "0"), ("0", "0"), ("2", "1"), ("0", "0"), ("0", "0"), ("0", "0")
    ]  # fmt: skip
    assert b"doubtful" not in before["cells.csv"] + before["clusters.geojson"]
    picture, report = after["clusters.svg"].decode(), after["report.html"].decode()
    assert "hatched: 1 that may be noise" in picture
    assert picture.count('fill="url(#clusters-doubtful)"') == 1
    assert ">2?</text>" in picture
    assert "1 of 2 clusters may be noise." in report
    assert "By a rule." in report
    assert "may be noise" not in before["clusters.svg"].decode()
    sure = without_doubtful(json.loads(after["clusters.geojson"]))
    assert [one["properties"]["cluster"] for one in sure["features"]] == [1]
    alone = clusters_svg(json.loads(after["release.json"]), sure)
    assert "1 that may be noise is left out" in alone
    assert "url(#clusters-doubtful)" not in alone


@pytest.mark.parametrize(
    ("doubtful", "said"),
    [
        ([], "All 2 clusters are more than noise."),
        ([1], "1 of 2 clusters may be noise."),
        ([1, 2], "All 2 clusters may be noise."),
    ],
)
def test_words(doubtful: list[int], said: str) -> None:
    document = {
        "result": {"kind": "cells", "clusters": 2},
        "doubtful": {"clusters": doubtful, "level": LEVEL, "how": "x"},
    }
    assert doubt_words(document) == said


def test_as_many_null_sets_are_drawn_as_the_level_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def sizes(document: Any, draws: int) -> Any:
        asked.append(draws)
        return iter(())

    monkeypatch.setattr(module, "_null_sizes", sizes)
    document = released(three_places(), 0, method="privthrem", grid=32, epsilon=1.0)
    centers = released(three_places(), 0, "kmeans", method="dplloyd", clusters=3, epsilon=1.0)
    doubt(document)
    doubt(centers)
    # 2 values among 40 draws each; or one limit for all releases, too low for 1% of settings.
    assert asked == [39, 90]
    assert LEVEL == 2 / (39 + 1)
    assert (1 - LEVEL) ** 90 < 0.01


# -- the sentence is true ----------------------------------------------------------------------


def evenly(rng: np.random.Generator, records: int, group: int) -> NDArray[np.float64]:
    """Evenly spread records, in groups at one place."""
    return np.repeat(rng.random((records // group, 2)), group, axis=0)


CELLS = ("baseline", "privqt", "privthr", "privthrem", "twostage")
CENTERS = (
    "dplloyd", "dpkmeanspp", "dpkmeansup", "dpkmeans_mapreduce", "contour", "mcmc", "eugkm",
    "hybrid", "privgene", "dprefine",
)  # fmt: skip

#: Method, records, records of a person, epsilon, further choices.
NULLS: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    f"{method}, {records} in groups of {group}, {given}": (method, records, group, given)
    for method in CELLS
    for records, group in ((300, 1), (3000, 1), (3000, 5))
    for given in ({"epsilon": 0.5}, {"epsilon": 5.0}, {"epsilon": 1.0, "level": 2})
}
DAILY = (
    "privthr, 300 in groups of 1, {'epsilon': 5.0}",
    "privqt, 3000 in groups of 5, {'epsilon': 5.0}",
)


@pytest.mark.daily(*DAILY)
@pytest.mark.parametrize(("method", "records", "group", "given"), NULLS.values(), ids=NULLS)
def test_of_evenly_spread_records_few_releases_have_a_cluster_that_passes(
    method: str, records: int, group: int, given: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    runs = 60 if request.node.callspec.id in DAILY else 200
    passed = 0
    for seed in range(runs):
        points = evenly(np.random.default_rng(seed), records, group)
        document = released(points, 900 + seed, method=method, cap=group, grid=24, **given)
        passed += len(judged(document)["clusters"]) < document["result"]["clusters"]
    # Refused where 99% are sure that it is more than the sentence says.
    assert stats.binomtest(passed, runs, LEVEL, "greater").pvalue > 0.01, passed


@pytest.mark.daily("dplloyd")
@pytest.mark.parametrize("method", CENTERS)
def test_of_no_record_few_releases_have_a_centre_that_passes(method: str) -> None:
    runs, passed = 60 if method == "dplloyd" else 200, 0
    for seed in range(runs):
        document = released(
            np.empty((0, 2)), 900 + seed, "kmeans", method=method, clusters=4, epsilon=1.0
        )
        found = doubt(document)
        if found is not None:
            passed += len(found["clusters"]) < len(document["result"]["centers"])
            assert "whether there is a cluster around it, this can't tell" in found["how"]
    assert stats.binomtest(passed, runs, LEVEL, "greater").pvalue > 0.01, passed

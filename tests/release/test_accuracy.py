"""Bands of numbers and places follow from the document alone, and hold as often as they say."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpviz.data.dataset import Dataset
from dpviz.families import CARDS
from dpviz.privacy.ledger import Neighbours
from dpviz.release import doubt as module
from dpviz.release.doubt import ALIKE, SURE, accuracy, doubt
from dpviz.release.draw import Prepared
from dpviz.release.files import files, schema
from dpviz.release.tables import accuracy_words
from tests.benchmarks.coverage import (
    METHODS,
    MISSED,
    PLACES,
    REFUSED,
    STATEMENTS,
    TABLE,
    Seen,
    holds,
    interval,
    measure,
    of_noise,
)
from tests.benchmarks.nulls import released
from tests.release.test_doubt import three_places
from tests.release.test_files import of_centers, spend
from tests.release.test_release import request_of

#: Smallest number of cases in a row of the stored table.
FEWEST = 40

#: Methods that state bands; the others publish no number, or numbers whose error is not known.
BANDS = (
    "privqt", "privthr", "privthrem", "twostage", "dplloyd", "dpkmeanspp", "dpkmeansup",
    "dpkmeans_mapreduce", "contour", "mcmc",
)  # fmt: skip


@pytest.mark.parametrize("method", ["privthr", "dplloyd"])
def test_everything_that_is_said_follows_from_the_released_document(method: str) -> None:
    request = request_of({"method": method}, epsilon=2.0)
    points = three_places(n=800) * [8, 2] - [0, 1]
    made = Prepared.build(Dataset(name="x", points=points), request).draw(2.0)
    jsonschema.validate(made, json.loads(schema()))
    read = json.loads(files(made)["release.json"])
    said = read.pop("accuracy")
    # Computed again from the other parts of the published file.
    assert accuracy(read) == said
    jsonschema.validate(read, json.loads(schema()))  # as in a bundle of the version before
    assert accuracy_words(made) != accuracy_words(read)


def test_only_methods_with_a_known_error_have_bands() -> None:
    for method in METHODS:
        family = CARDS[method].family
        given = {"grid": 8} if family == "wavecluster" else {"clusters": 2}
        document = released(three_places(n=500), 0, family, method=method, epsilon=1.0, **given)
        stated = accuracy(document, 1) is not None
        # Hybrid has bands if it decides to make an iteration.
        assert stated == (method in BANDS) or method == "hybrid", method


def test_doubtful_clusters_may_have_no_record_and_have_no_place() -> None:
    document = released(three_places(n=2_000), 1, method="privqt", grid=32, epsilon=1.0)
    document["doubtful"] = doubt(document)
    known = accuracy(document)
    assert known is not None
    doubtful = document["doubtful"]["clusters"]
    assert len(doubtful) > 5
    for number, (band, place) in enumerate(zip(known["counts"], known["places"], strict=True), 1):
        assert (band[0] == 0) == (place is None) == (number in doubtful)


def test_bands_hold_together_in_the_stated_share_of_draws() -> None:
    rng = np.random.default_rng(0)
    errors = rng.laplace(size=(ALIKE, 2, 4, 3)) * [5, 1, 2]
    errors[:, 1, 2] = np.nan  # a cluster that is in no draw
    wide = module._wide(errors)
    assert wide.shape == (4, 3)
    for part in (slice(0, 1), slice(1, 3)):
        inside = (np.nan_to_num(np.abs(errors))[..., part] <= wide[:, part]).all(axis=(1, 2, 3))
        assert SURE <= inside.mean() <= SURE + 0.02


def test_a_place_may_be_anywhere_in_its_cell() -> None:
    at = np.full((800, 2), 10 / 32 + 1e-4)  # the corner of a cell
    known = accuracy(released(at, 0, method="privthr", grid=32, epsilon=4.0, density=0.99))
    assert known is not None
    place = known["places"][0]
    assert (np.abs(np.array(place["at"]) - at[0]) <= place["within"]).all()


def test_a_size_is_stated_if_all_draws_show_a_smaller_cluster() -> None:
    document = released(three_places(n=2_000), 1, method="privthr", grid=32, epsilon=1.0)
    document["doubtful"] = doubt(document)
    known = accuracy(document)
    assert known is not None
    smaller = int(known["missed"]["records"] / module._GROWTH)
    for _, spot, drawn in module._Like(document).draws(ALIKE, smaller):
        assert np.array(drawn["labels"])[spot]


@pytest.mark.parametrize("geometry", ["box", "cube"])
def test_the_place_of_a_centre_is_as_exact_as_its_noise_allows(geometry: str) -> None:
    # A centre in the corner has the largest error: the noise of the count moves it, too.
    rng, true, scale, held, runs = np.random.default_rng(3), 400, 10.0, 0, 400
    low, span = (-1.0, 2.0) if geometry == "box" else (0.0, 1.0)
    mean = np.array([0.97, 0.95])
    document = of_centers([[0.0, 0.0]], [1.0])
    document["parameters"] = {"geometry": geometry}
    document["privacy"]["ledger"] = [spend("iteration 1", 0.3, 3)]
    assert document["privacy"]["ledger"][0]["scale"] == scale
    document["method"]["name"] = "dplloyd"
    for _ in range(runs):
        noise = rng.laplace(0, scale, 3)
        count = true + noise[0]
        centre = (((mean * true + noise[1:]) / count) - low) / span
        document["result"] |= {"centers": [centre.tolist()], "counts": [count]}
        known = accuracy(document)
        assert known is not None
        place = known["places"][0]
        held += bool((np.abs(centre - (mean - low) / span) <= place["within"]).all())
    assert holds(held, runs), held


def test_no_place_is_stated_after_post_processing_or_in_a_ball() -> None:
    for method, geometry in (("mcmc", "box"), ("dplloyd", "l1")):
        document = of_centers([[0.2, 0.3]], [900.0])
        document["parameters"] = {"geometry": geometry}
        document["method"]["name"] = method
        known = accuracy(document)
        assert known is not None
        assert known["places"] == [None]
        assert known["counts"][0][0] > 0


# -- the statements are true -------------------------------------------------------------------


@pytest.mark.some(1)
@pytest.mark.parametrize(("method", "runs"), [("dplloyd", 300), ("contour", 150), ("privthr", 20)])
def test_the_statements_are_true_in_the_stated_share_of_few_releases(method, runs) -> None:
    seen = Seen()
    for seed in range(50_000, 50_000 + runs):
        measure(method, seed, seen)
    assert seen.all[PLACES] > runs / 3
    for statement, (true, number) in seen.row.items():
        # A true share of 95% is refused by chance with probability 0.001.
        assert holds(true, number), (statement, true, number)


@pytest.mark.exhaustive(reason="minutes a method; a few releases of three methods are daily")
@pytest.mark.parametrize("method", BANDS)
def test_the_statements_are_true_in_the_stated_share_of_releases(method: str) -> None:
    seen = Seen()
    for seed in range(60_000, 60_200):
        measure(method, seed, seen)
    for statement, (true, number) in seen.row.items():
        assert holds(true, number), (statement, true, number)


def test_the_statements_of_the_stored_table_hold() -> None:
    table: dict[str, Any] = json.loads(TABLE.read_text())
    assert set(table) <= set(METHODS)
    assert {"privthr", "dplloyd", "hybrid"} <= set(table)
    for method, measured in table.items():
        assert bool(measured) == (method in BANDS or method == "hybrid"), method
        row = measured | of_noise(method)
        assert set(row) <= set(STATEMENTS)
        assert (MISSED in row) == (method in BANDS and CARDS[method].family == "wavecluster")
        for statement, (true, number) in row.items():
            assert number >= FEWEST
            assert true / number >= SURE, (method, statement)
            assert holds(true, number)


def test_the_interval_of_a_share_is_exact_and_a_low_share_is_refused() -> None:
    assert interval(100, 100) == pytest.approx((0.005 ** (1 / 100), 1.0))
    assert holds(95, 100)
    assert not holds(86, 100)
    assert REFUSED == 0.001


def test_a_release_of_persons_has_the_same_bands_as_its_noise() -> None:
    points = three_places(n=2_000)
    wide = []
    for cap in (1, 4):
        document = released(points, 0, method="privthr", grid=32, epsilon=1.0, cap=cap)
        known = accuracy(document)
        assert known is not None
        wide.append(max(high - low for low, high in known["counts"]))
    assert wide[1] > 2 * wide[0]
    assert Neighbours(cap=4).multiplier == 4

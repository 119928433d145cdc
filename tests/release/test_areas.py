"""Areas instead of cells: counts, neighbours, privacy, files of a release, and refused files."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from dpviz.base.errors import InputError
from dpviz.commands.command_line import main
from dpviz.data.dataset import Dataset
from dpviz.data.engine.choice import Local
from dpviz.data.stored import stored
from dpviz.data.strict.areas import areas_of, hexagons, read_areas
from dpviz.grid.areas import Areas
from dpviz.grid.counts import quantize
from dpviz.grid.domain import Domain, axis_edges
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.secure import SecureAccountant
from dpviz.release import Request
from dpviz.release.doubt import LEVEL, accuracy, doubt
from dpviz.release.draw import Prepared
from dpviz.release.files import files
from dpviz.release.recut import bands, recut
from dpviz.release.tables import margin
from dpviz.wavecluster.areas import joined, threshold_of
from dpviz.wavecluster.parameters import Config

#: Areas of the tests: cells of 6 x 4, in the order of a flattened grid.
SHAPE, BOX = (6, 4), Domain(((-3.0, 3.0), (10.0, 12.0)))


def of_cells(shape: tuple[int, int] = SHAPE, box: Domain = BOX) -> Areas:
    x, y = (axis_edges(lo, hi, side) for (lo, hi), side in zip(box.bounds, shape, strict=True))
    places = [(i, j) for i in range(shape[0]) for j in range(shape[1])]
    cells = tuple(shapely.box(x[i], y[j], x[i + 1], y[j + 1]) for i, j in places)
    return Areas(tuple(f"cell {i} {j}" for i, j in places), cells)


CELLS = of_cells()

POINTS = st.lists(
    st.tuples(st.floats(-4, 4, allow_nan=False), st.floats(9.5, 12.5, allow_nan=False)), max_size=40
)


def table(points: Any, columns: tuple[str, str] = ("longitude", "latitude")) -> Dataset:
    return Dataset(name="secret.csv", points=np.reshape(np.array(points, float), (-1, 2)),
                   columns=columns)  # fmt: skip


def request(**more: Any) -> Request:
    config = Config(method="privthr", density=0.5, epsilon=0.7, **more)
    return Request(config=config, domain=None, areas=CELLS, title="=title", date="2026-01-31")


class Told(SecureAccountant):
    """Accountant that spends as usual, and then answers with given noise."""

    def __init__(self, noise: Any, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.told = noise

    def laplace(self, step: str, values: Any, **given: Any) -> Any:
        super().laplace(step, values, **given)
        return np.asarray(values, float) + self.told


# -- counting ------------------------------------------------------------------------------


@given(points=POINTS, more=st.tuples(st.floats(-4, 4), st.floats(9.5, 12.5)))
def test_one_record_changes_one_count_by_one(points: Any, more: Any) -> None:
    before, after = (CELLS.count(table(each).points) for each in (points, [*points, more]))
    assert before.sum() <= len(points)
    inside = BOX.contains(np.array([more]))[0]
    assert np.abs(after - before).sum() == int(inside)


def test_a_record_on_borders_or_overlaps_is_counted_once() -> None:
    overlap = Areas(("a", "b"), (shapely.box(0, 0, 1, 1), shapely.box(0.995, 0, 2, 1)))
    points = np.array([[0.995, 0.5], [0.998, 0.5], [1.0, 0.0], [1.5, 1.0], [2.0, 2.0]])
    assert overlap.locate(points).tolist() == [0, 0, 0, 1, -1]


def test_areas_that_are_cells_count_and_touch_as_cells() -> None:
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.uniform(lo - 0.3, hi + 0.3, 5_000) for lo, hi in BOX.bounds])
    counts, outside = quantize(points, BOX, SHAPE, outside="drop")
    assert CELLS.count(points).tolist() == counts.ravel().tolist()
    assert CELLS.count(points).sum() == len(points) - outside
    for seed in range(20):
        mask = np.random.default_rng(seed).random(SHAPE) < 0.5
        labels, clusters = joined(mask.ravel(), CELLS.neighbours)
        cross, found = ndimage.label(mask)  # common borders, no corners
        assert clusters == found
        pairs = set(zip(labels.tolist(), cross.ravel().tolist(), strict=True))
        assert len(pairs) == found + (not mask.all())
        sizes = np.bincount(labels)[1:]
        assert (np.diff(sizes) <= 0).all()


def test_neighbours_may_have_a_gap_but_not_only_a_corner() -> None:
    squares = [(0, 0), (1.0005, 0), (1.0005, 1), (3, 0)]
    areas = Areas(tuple("abcd"), tuple(shapely.box(x, y, x + 1, y + 1) for x, y in squares))
    assert areas.neighbours.tolist() == [[0, 1], [1, 2]]


@given(counts=st.lists(st.integers(0, 30), min_size=4, max_size=40), seed=st.integers(0, 99))
def test_the_threshold_removes_one_positive_count_for_each_negative(
    counts: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    noisy = (
        np.array(counts, float) + rng.geometric(0.4, len(counts)) - rng.geometric(0.4, len(counts))
    )
    positive = np.sort(noisy[noisy > 0])
    found = threshold_of(noisy, 0.5)
    kept = positive[min((noisy < 0).sum(), max(len(positive) - 1, 0)) :]
    assert found.k == math.ceil(0.5 * len(kept))
    assert found.value == (positive[len(positive) - found.k] if len(positive) else math.inf)


# -- privacy -------------------------------------------------------------------------------


@settings(max_examples=15)
@given(points=POINTS, more=st.tuples(st.floats(-4, 4), st.floats(9.5, 12.5)))
def test_neighbours_with_equal_answers_have_equal_bundles(points: Any, more: Any) -> None:
    data = [table(each) for each in (points, [*points, more])]
    prepared = [Prepared.build(each, request()) for each in data]
    noise = [12 - one.material.counts for one in prepared]
    one, other = (
        files(each.draw(0.7, partial(Told, told)))
        for each, told in zip(prepared, noise, strict=True)
    )
    assert one == other
    assert b"secret" not in b"".join(one.values())


@pytest.mark.parametrize(
    ("neighbours", "scale"),
    [
        (Neighbours(), 1 / 0.7),
        (Neighbours(relation="replace_one"), 2 / 0.7),
    ],
)
def test_the_ledger_has_one_spend_of_the_whole_budget(neighbours: Neighbours, scale: float) -> None:
    made = Prepared.build(table([]), request(neighbours=neighbours)).draw(0.7)
    (spend,) = made["privacy"]["ledger"]
    assert (spend["step"], spend["epsilon"], spend["unit"]) == ("counts", 0.7, 1.0)
    assert spend["scale"] == pytest.approx(scale)
    assert made["privacy"]["certified"] <= 0.7
    assert set(map(type, made["result"]["counts"])) == {int}
    assert made["method"]["proof"].startswith("The areas are public")


def test_persons_have_no_more_records_than_the_cap() -> None:
    points = np.full((50, 2), [-2.9, 10.1])
    data = Dataset(name="", points=points, columns=("x", "y"), units=np.repeat([1, 2], 25),
                   unit="person")  # fmt: skip
    config = Config(method="privthr", neighbours=Neighbours(cap=3))
    prepared = Prepared.build(data, Request(config=config, domain=None, areas=CELLS, unit="person"))
    assert prepared.material.counts.sum() == 6


# -- the bundle ----------------------------------------------------------------------------


def bundle(counts: np.ndarray[Any, Any], prepared: Prepared) -> dict[str, bytes]:
    return files(prepared.draw(0.7, partial(Told, counts - prepared.material.counts)))


def test_the_bundle_has_areas_in_all_its_files() -> None:
    counts = np.zeros(24, int)
    counts[[0, 1, 2, 10, 23]] = [50, 40, 30, 60, 5]
    counts[5:9] = -1
    # Columns in another order are placed on the map; records do not matter here.
    data = table([[11.0, 0.0]], columns=("latitude", "longitude"))
    made = bundle(counts, Prepared.build(data, request()))
    document = json.loads(made["release.json"])
    jsonschema.validate(document, json.loads(made["release.schema.json"]))
    assert document["domain"]["columns"] == ["longitude", "latitude"]
    assert document["domain"]["outside"] == "drop"
    assert document["parameters"] == {"density": 0.5}
    result = document["result"]
    # 5 positive counts, of which four are removed for four negative counts.
    assert (result["threshold"], result["significant"], result["clusters"]) == (60, 1, 1)
    rows = pd.read_csv(pd.io.common.BytesIO(made["areas.csv"]))
    assert rows["count"].tolist() == counts.tolist()
    assert rows["cluster"].tolist() == result["labels"]
    areas = json.loads(made["areas.geojson"])
    assert [one["properties"]["name"] for one in areas["features"]] == list(CELLS.names)
    for name in ("areas.geojson", "clusters.geojson"):
        for one in json.loads(made[name])["features"]:
            shape = shapely.geometry.shape(one["geometry"])
            assert shape.is_valid
            assert shape.exterior.is_ccw
    (cluster,) = json.loads(made["clusters.geojson"])["features"]
    assert cluster["properties"] | {"doubtful": False} == {
        "cluster": 1, "cells": 1, "area_share": round(1 / 24, 6), "count": 60, "doubtful": False,
    }  # fmt: skip
    assert shapely.geometry.shape(cluster["geometry"]).equals(CELLS.polygons[10])
    report = made["report.html"].decode()
    ElementTree.fromstring(report.removeprefix("<!DOCTYPE html>\n"))
    assert "cell 2 2" in report
    assert "24 public areas" in report
    for name in ("counts.svg", "clusters.svg"):
        assert made[name].count(b"<path") >= 24


def test_without_records_in_areas_at_most_a_twentieth_of_releases_have_a_sure_cluster() -> None:
    prepared = Prepared.build(table([]), request())
    document = json.loads(bundle(np.full(24, 1), prepared)["release.json"])
    q = math.exp(-0.7)

    def sure(count: int) -> bool:
        document["result"]["counts"] = [count] * 24
        found = doubt(document)
        assert found is not None
        return not found["clusters"]

    least = next(count for count in range(1, 100) if sure(count))
    # The exact probability that one of 24 counts without records reaches this number.
    chance = [1 - (1 - q**count / (1 + q)) ** 24 for count in (least, least - 2)]
    assert chance[0] <= LEVEL < chance[1]


def test_names_are_no_formulas() -> None:
    areas = Areas(("=1+1", "<b>"), (shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)))
    config = Config(method="privthr")
    prepared = Prepared.build(
        table([], ("x", "y")), Request(config=config, domain=None, areas=areas)
    )
    made = bundle(np.array([90, 80]), prepared)
    assert made["areas.csv"].splitlines()[1].startswith(b"'=1+1,90,")
    assert b"<b>" not in made["report.html"].split(b"</style>")[1].split(b"<h2>What this")[
        0
    ].replace(b"<b>1</b>", b"").replace(b"<b>The guarantee.</b>", b"")


# -- refused -------------------------------------------------------------------------------


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


SQUARE = shapely.geometry.mapping(shapely.box(0, 0, 1, 1))
LINE = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
FLAT = {"type": "Polygon", "coordinates": [[[5, 5], [5, 6], [5, 5]]]}
FAR = shapely.geometry.mapping(shapely.box(2, 0, 3, 1))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[", "no JSON file"),
        ("[" * 100_000, "no JSON file"),
        ("[1]", "has no polygons"),
        ({"features": 3}, "has no polygons"),
        ({"features": [feature(LINE)]}, "has no polygons"),
        ({"features": [3]}, "feature 1 of areas.json is no valid polygon"),
        ({"features": [feature(SQUARE), feature({"type": "Polygon"})]}, "feature 2 of"),
        (
            {"features": [feature({"type": "Polygon", "coordinates": [[["a", 0], [1, 1]]]})]},
            "feature 1 of",
        ),
        ({"features": [feature(SQUARE)]}, "are 1 polygons with 5 corners"),
        ({"features": [feature(SQUARE), feature(FLAT, NAME="x")]}, 'area "x" has no surface'),
        (
            {"features": [feature(SQUARE, name="a"), feature(FAR), feature(SQUARE, id=7)]},
            'areas "a" and "7" overlap',
        ),
        ({"features": [feature(SQUARE)] * 70}, "most areas overlap"),
        (
            {"features": [feature(SQUARE), feature({
                "type": "Polygon", "coordinates": [[[0, 0], [1e999, 0], [0, 1], [0, 0]]]})]},
            "finite corners",
        ),
    ],
)  # fmt: skip
def test_files_that_are_no_areas_are_refused_in_one_sentence(
    tmp_path: Path, content: Any, said: str
) -> None:
    file = tmp_path / "areas.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError) as error:
        read_areas(file)
    assert said in str(error.value)
    assert str(error.value).count("\n") == 0


def test_large_files_and_missing_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="can't be read"):
        read_areas(tmp_path / "none.json")
    (tmp_path / "areas.json").write_text("  {}")
    monkeypatch.setattr("dpviz.data.strict.areas.MOST_BYTES", 3)
    with pytest.raises(InputError, match="is larger than"):
        read_areas(tmp_path / "areas.json")


def test_areas_have_names_from_their_file() -> None:
    content = {"features": [
        feature(SQUARE, Name="  one\n two"),
        {**feature(FAR), "id": 5},
        feature(shapely.geometry.mapping(shapely.box(5, 0, 6, 1)), other="x"),
    ]}  # fmt: skip
    assert areas_of(content, "x").names == ("  one two", "5", "3")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"config": Config(method="privqt")}, "method = privqt can't run on areas: choose privthr"),
        ({"config": KMeansConfig()}, "can't run on areas"),
        ({"config": Config(method="privthr", choose="private")}, "needs a grid"),
        ({"domain": Domain(((0.0, 1.0),) * 2)}, "is not the box of the areas"),
    ],
)
def test_what_needs_a_grid_is_refused(change: Any, said: str) -> None:
    kept = {"config": Config(method="privthr"), "domain": None}
    with pytest.raises(InputError, match=said):
        Request(**kept | change, areas=CELLS)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (Dataset(name="", counts=np.ones((4, 4), int)), "two columns"),
        (Dataset(name="", points=np.ones((4, 3)), columns=("x", "y", "z")), "two columns"),
    ],
)
def test_data_that_are_no_places_are_refused(data: Dataset, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Prepared.build(data, request())


# -- the command ---------------------------------------------------------------------------


@pytest.fixture
def given_files(tmp_path: Path) -> list[Any]:
    rng = np.random.default_rng(1)
    points = np.column_stack([rng.uniform(lo, hi, 300) for lo, hi in BOX.bounds[::-1]])
    pd.DataFrame(points, columns=["lat", "lon"]).to_csv(tmp_path / "places.csv", index=False)
    shapes = [feature(shapely.geometry.mapping(one)) for one in CELLS.polygons]
    (tmp_path / "areas.json").write_text(json.dumps({"features": shapes}))
    given = [
        "release",
        tmp_path / "places.csv",
        "--method",
        "privthr",
        "--epsilon",
        2,
        "--total",
        2,
    ]
    return [*given, "--budget-file", tmp_path / "b.db", "--out", tmp_path / "out"]


def test_the_command_releases_areas(
    given_files: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*given_files, "--areas", tmp_path / "areas.json", "--density", 0.4, "--json"]
    assert main([*map(str, options)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["axes"] == ["lon", "lat"]
    assert found["entry"]["what"]["areas"] == 24
    assert {Path(one).name for one in found["files"]} >= {"areas.csv", "areas.geojson"}
    counts = pd.read_csv(tmp_path / "out" / "areas.csv")["count"]
    # 24 counts with noise of variance 2 / 2^2; this fails by chance once in a million runs.
    assert abs(counts.sum() - 300) < 5 * math.sqrt(24 * 0.8)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--areas", "areas.json", "--grid", 8], "--grid has no effect with --areas"),
        (["--areas", "areas.json", "--domain", "0,1;0,1"], "--domain has no effect"),
        (["--areas", "areas.json", "--hexagons", 3], "--hexagons has no effect"),
        (["--areas", "none.json"], "can't be read"),
        (["--hexagons", 3], "a declared --domain"),
    ],
)
def test_the_command_refuses_options_of_cells(
    given_files: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, options: list[Any], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main([*map(str, [*given_files, *options])]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_areas_need_data_in_memory(given_files: list[Any], tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    pd.read_csv(given_files[1]).to_parquet(parts / "one.parquet")
    with pytest.raises(InputError, match="areas need data in memory"):
        Prepared.of_stored(stored(parts), request(), Local())


# -- areas of a release that has cells -------------------------------------------------------


@settings(max_examples=25)
@given(points=POINTS, side=st.integers(2, 9))
def test_without_noise_the_bounds_contain_the_true_numbers(points: Any, side: int) -> None:
    places = table(points).points
    inside = places[BOX.contains(places)]
    counts, _ = quantize(inside, BOX, side)
    borders = [axis_edges(lo, hi, side) for lo, hi in BOX.bounds]
    found = bands(CELLS, borders, counts.astype(float), 1e-9)
    true = CELLS.count(inside)
    # Error bands of noise without noise are at most 1, because they are rounded up.
    assert (found[:, 2] <= true).all()
    assert (true <= found[:, 3] + 1).all()


def test_areas_that_are_cells_get_their_own_counts() -> None:
    counts = np.arange(24.0).reshape(SHAPE) * 100
    borders = [axis_edges(lo, hi, side) for (lo, hi), side in zip(BOX.bounds, SHAPE, strict=True)]
    found = bands(CELLS, borders, counts, 2.0)
    assert found[:, 0].tolist() == counts.ravel().tolist()
    assert set(found[:, 1].tolist()) == {math.ceil(2 * math.sqrt(2) * 2.17)}
    error = margin(2.0)
    assert found[:, 2].tolist() == np.maximum(counts.ravel() - error, 0).tolist()
    assert found[:, 3].tolist() == (counts.ravel() + error).tolist()


def test_halves_of_cells_get_half_and_both_bands_hold() -> None:
    halves = of_cells((1, 2), Domain(((-3.0, 3.0), (10.25, 11.75))))
    borders = [axis_edges(lo, hi, side) for (lo, hi), side in zip(BOX.bounds, SHAPE, strict=True)]
    area, cell, share = halves.shares(borders)
    assert np.bincount(area, share).tolist() == [9.0, 9.0]
    assert sorted(set(share.tolist())) == [0.5, 1.0]
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(lo, hi, 900) for lo, hi in BOX.bounds])
    counts, true = quantize(places, BOX, SHAPE)[0], halves.count(places)
    held = []
    for _ in range(500):
        noisy = counts + rng.laplace(0, 3, SHAPE)
        found = bands(halves, borders, noisy, 3.0)
        estimate = np.bincount(area, share * noisy.ravel()[cell])
        assert np.abs(found[:, 0] - estimate).max() <= 0.5
        expected = np.bincount(area, share * counts.ravel()[cell])
        held.append(np.abs(found[:, 0] - expected) <= found[:, 1])
        assert ((found[:, 2] <= true) & (true <= found[:, 3])).all()
    # Expected: about 95%, with seed 0; 3 standard deviations of 500 draws are 3%.
    assert 0.92 < np.mean(held) < 0.99


def recut_by_command(tmp_path: Path, *options: Any) -> int:
    given = [
        "recut",
        tmp_path / "out" / "release.json",
        *options,
        "--out",
        tmp_path / "counted.json",
    ]
    return main([*map(str, given)])


def test_the_command_recuts_a_release(
    given_files: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    box = ["--domain", "10,12;-3,3", "--grid", "8,6", "--method", "privqt"]
    assert main([*map(str, [*given_files, *box])]) == 0
    assert recut_by_command(tmp_path, "--areas", tmp_path / "areas.json") == 0
    assert "no budget is spent" in capsys.readouterr().out
    made = json.loads((tmp_path / "counted.json").read_text())
    assert [one["properties"]["name"] for one in made["features"]] == [
        str(at) for at in range(1, 25)
    ]
    assert made["columns"] == ["lon", "lat"]
    for one in made["features"]:
        about = one["properties"]
        assert 0 <= about["low"] <= about["high"]
        assert about["noise"] > 0
    document = json.loads((tmp_path / "out" / "release.json").read_text())
    total = sum(one["properties"]["count"] for one in made["features"])
    assert abs(total - np.sum(document["result"]["counts"])) <= 12  # rounded 24 times


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give either --areas FILE or --hexagons"),
        (["--areas", "areas.json", "--hexagons", 3], "give either"),
        (["--areas", "areas.json"], "is no release.json"),
    ],
)
def test_what_can_not_be_recut_is_refused(
    given_files: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch, options: list[Any], said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for text in ('{"format": "other"}', "[]", "{", '{"format": "dpviz release"}'):
        (tmp_path / "out" / "release.json").write_text(text)
        assert recut_by_command(tmp_path, *options) == 2
        assert said in capsys.readouterr().err


def test_a_release_without_counts_of_cells_can_not_be_recut() -> None:
    made = Prepared.build(table([]), request()).draw(0.7)
    with pytest.raises(InputError, match="has no noisy counts of cells"):
        recut(made, CELLS)


# -- hexagons ------------------------------------------------------------------------------


def test_hexagons_cover_the_domain_without_overlaps() -> None:
    h3 = pytest.importorskip("h3", reason="hexagons need the extra: pip install dpviz[hexagons]")
    box = Domain(((13.2, 13.6), (52.4, 52.6)))
    areas = hexagons(6, box)
    points = np.column_stack(
        [np.random.default_rng(2).uniform(lo, hi, 2_000) for lo, hi in box.bounds]
    )
    found = areas.locate(points)
    assert (found >= 0).all()
    own = [h3.latlng_to_cell(lat, lon, 6) for lon, lat in points]
    # Borders are straight on the map and on the globe; they differ by less than a metre.
    assert np.mean([areas.names[at] == cell for at, cell in zip(found, own, strict=True)]) > 0.999
    assert len(areas.neighbours) > 2 * len(areas)
    assert len(hexagons(0, Domain(((-180.0, 180.0), (-80.0, 80.0))))) > 90


@pytest.mark.parametrize(
    ("resolution", "bounds", "said"),
    [
        (16, ((0.0, 1.0),) * 2, "from 0 to 15"),
        (15, ((0.0, 1.0),) * 2, "more than 5,000 cells"),
        (3, ((0.0, 1.0), (0.0, 90.0)), "latitudes from -80 to 80"),
    ],
)
def test_hexagons_that_can_not_be_are_refused(resolution: int, bounds: Any, said: str) -> None:
    pytest.importorskip("h3", reason="hexagons need the extra: pip install dpviz[hexagons]")
    with pytest.raises(InputError, match=said):
        hexagons(resolution, Domain(bounds))


def test_hexagons_name_the_extra_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h3", None)
    with pytest.raises(InputError, match=r"pip install dpviz\[hexagons\]"):
        hexagons(3, BOX)


def test_bands_of_areas_hold_for_clusters_that_noise_has_chosen() -> None:
    # One record per area: noise alone decides which areas are joined.
    true, missed, runs = np.ones(200, dtype=int), 0, 1000
    noise = np.random.default_rng(3)
    for _ in range(runs):
        stop = -np.expm1(-1.0)
        counts = true + noise.geometric(stop, 200) - noise.geometric(stop, 200)
        labels = (counts >= np.sort(counts)[-20]).astype(int)
        document = {
            "result": {"kind": "areas", "counts": counts.tolist(), "labels": labels.tolist(),
                       "clusters": 1},
            "privacy": {"ledger": [{"step": "counts", "scale": 1.0}]},
        }  # fmt: skip
        ((low, high),) = accuracy(document)["counts"]
        missed += not low <= true[labels == 1].sum() <= high
    # At most 5% by proof; with 1,000 runs, more than 7.5% would have a chance below 0.001.
    assert missed <= 0.075 * runs

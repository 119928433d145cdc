"""Files of a release: functions of one document, exact, safe to open, readable."""

from __future__ import annotations

import copy
import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import jinja2
import jsonschema
import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from dpviz.data.samples import load_sample
from dpviz.families import CARDS
from dpviz.figures.theme import zero_centred
from dpviz.grid.domain import axis_edges
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import DEFAULTS, STARTS, TEMPERATURES, KMeansConfig
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES
from dpviz.release import geojson
from dpviz.release.draw import Prepared
from dpviz.release.files import files, schema
from dpviz.release.formatting import fixed, number
from dpviz.release.pictures import ticks
from dpviz.release.request import Request
from dpviz.release.tables import margin
from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.parameters import SYNOPSES, Config
from tests.support import ROOT
from tests.support.tiers import examples

Document = dict[str, Any]

quick = examples(60)
SVG = "{http://www.w3.org/2000/svg}"
HTML = "{http://www.w3.org/1999/xhtml}"
NASTY = ['<b>&"x', "a, 'b' \x00]]>\n/*"]
PLACES = (
    ((0, 1), (0, 1)),
    ((0, 1e6), (0, 1e6)),
    ((-180, 180), (-90, 90)),
    ((1e9, 1e9 + 1), (-3, 5)),
)


def spend(step: str, epsilon: float, sensitivity: float = 1, **more: Any) -> Document:
    return {
        "step": step,
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "scale": sensitivity / epsilon,
        "composition": "sequential",
        "certified": epsilon,
        "mechanism": "discrete Laplace",
        "unit": 1.0,
        **more,
    }


def base(family: str, columns: list[str], bounds: Any, ledger: list[Document]) -> Document:
    return {
        "format": "dpviz release",
        "version": 1,
        "title": "",
        "software": {"dpviz": "0.1.0", "opendp": "0.16.0"},
        "method": {
            "name": "privthr",
            "title": "PrivTHR",
            "family": family,
            "paper": "Chen, Yu, Chirkova 2015",
            "algorithm": "Algorithm 3",
            "summary": "Noisy counts, and more.",
            "variant": "sound",
            "proof": "Two Laplace mechanisms.",
        },
        "parameters": {},
        "privacy": {
            "epsilon": 1.0,
            "neighbours": "add_remove",
            "unit": "record",
            "cap": 1,
            "odds": "Any result is at most 2.7 times as likely with you as without you.",
            "certified": 0.9999999,
            "map": "The map covers the noise.",
            "ledger": ledger,
        },
        "domain": {
            "columns": columns,
            "bounds": [[float(lo), float(hi)] for lo, hi in bounds],
            "outside": "clip",
        },
    }


def of_cells(
    counts: NDArray[Any],
    significant: NDArray[np.bool_],
    block: int = 2,
    bounds: Any = None,
    columns: list[str] | None = None,
) -> Document:
    columns = columns or [f"c{axis}" for axis in range(counts.ndim)]
    ledger = [spend("counts", 0.9), spend("nonpositive", 0.1)]
    document = base("wavecluster", columns, bounds or [(0, 1)] * counts.ndim, ledger)
    labels, clusters = connected_components(significant)
    document["parameters"] = {
        "grid": list(counts.shape), "density": 0.5, "wavelet": "haar", "level": 1, "alpha": 0.9,
    }  # fmt: skip
    document["result"] = {
        "kind": "cells",
        "counts": counts.tolist(),
        "labels": labels.tolist(),
        "block": block,
        "threshold": 3.5 if clusters else None,
        "significant": int(significant.sum()),
        "clusters": clusters,
    }
    return document


def of_centers(
    centers: Any, counts: list[float] | None = None, bounds: Any = None, columns: Any = None
) -> Document:
    d = len(centers[0])
    ledger = [spend("iteration 1", 0.5, 3), spend("iteration 2", 0.5, 3)]
    columns = columns or [f"c{axis}" for axis in range(d)]
    document = base("kmeans", columns, bounds or [(0, 1)] * d, ledger)
    document["parameters"] = {"clusters": len(centers), "iterations": 2, "start": "random"}
    centers = np.asarray(centers, dtype=float).tolist()
    document["result"] = {"kind": "centers", "centers": centers, "counts": counts}
    return document


def a_grid(columns: list[str] | None = None, bounds: Any = None) -> Document:
    rng = np.random.default_rng(5)
    counts = np.rint(rng.laplace(2, 4, (7, 10))).astype(int)
    return of_cells(counts, rng.random((4, 5)) < 0.4, bounds=bounds, columns=columns)


def some_centers(columns: list[str] | None = None) -> Document:
    rng = np.random.default_rng(6)
    return of_centers(rng.random((9, 2)), rng.normal(90, 40, 9).tolist(), columns=columns)


DOCUMENTS: dict[str, Callable[[], Document]] = {
    "cells": a_grid,
    "centers": some_centers,
    "no counts": lambda: of_centers([[0.1, 0.2], [0.7, 0.7]]),
    "no cluster": lambda: of_cells(np.zeros((4, 4), dtype=int), np.zeros((2, 2), dtype=bool)),
    "one cluster": lambda: of_cells(np.ones((4, 4), dtype=int), np.ones((2, 2), dtype=bool)),
    "three columns": lambda: of_cells(np.ones((2, 3, 4)), np.ones((1, 2, 2), dtype=bool)),
    "one column": lambda: of_cells(np.array([1, 2, 3]), np.array([True, False])),
    "centers in space": lambda: of_centers([[0, 0, 0.5], [1, 1, 0.5]], [3.0, -4.0]),
    "nasty names": lambda: a_grid(NASTY),
    "nasty centers": lambda: some_centers(NASTY),
    "a lone surrogate": lambda: a_grid(["\ud800", "y"]),
}


@pytest.fixture(params=DOCUMENTS, ids=lambda name: name.replace(" ", "-"))
def document(request: pytest.FixtureRequest) -> Document:
    return DOCUMENTS[request.param]()


# The bundle as a whole


def test_the_document_alone_decides_every_byte(document):
    made = files(document)
    assert files(copy.deepcopy(document)) == made
    again = json.loads(made["release.json"])
    assert again == document
    assert files(again) == made
    assert list(again) == list(document)
    assert made["release.json"].endswith(b"}\n")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cells", {"cells.csv", "clusters.geojson", "counts.svg", "clusters.svg"}),
        ("centers", {"centers.csv", "clusters.geojson", "clusters.svg"}),
        ("three columns", {"cells.csv"}),
        ("one column", {"cells.csv"}),
        ("centers in space", {"centers.csv"}),
    ],
)
def test_which_files_there_are_and_each_is_told_of(name, expected):
    made = files(DOCUMENTS[name]())
    always = {"report.html", "README.txt", "release.json", "release.schema.json", "SHA256SUMS"}
    always |= {"sheet.html", "registry.yaml", "croissant.json", "ddi.xml"}
    always |= {"open.ipynb", "repeat.ipynb"}
    assert set(made) == expected | always
    listed = re.findall(r"^  (\S+)  +\S", made["README.txt"].decode(), flags=re.MULTILINE)
    assert listed == list(made)
    for file in made:
        assert f"<code>{file}</code>" in made["report.html"].decode()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_json_has_no_word_for_is_refused(value):
    document = a_grid()
    document["result"]["threshold"] = value
    with pytest.raises(ValueError, match="JSON"):
        files(document)


# Schema


@pytest.fixture(scope="module")
def validator():
    content = json.loads(schema())
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


def test_schema_accepts(validator, document):
    validator.validate(document)
    assert files(document)["release.schema.json"] == schema()


def test_schema_has_a_place_for_every_parameter_and_choice(validator):
    known = json.loads(schema())["$defs"]["kmeans"]["properties"]
    assert set(known) == {"clusters"}.union(*DEFAULTS.values())
    choices = (("start", STARTS), ("schedule", SCHEDULES), ("geometry", GEOMETRIES))
    for name, values in (*choices, ("temperature", TEMPERATURES)):
        assert set(known[name]["enum"]) == set(values)
    of_grid = json.loads(schema())["$defs"]["wavecluster"]["properties"]
    assert set(of_grid["synopsis"]["enum"]) == set(SYNOPSES)


INCOMES = load_sample("incomes")
METHODS = [name for name, card in CARDS.items() if card.spends]


# In daily tests, the golden files already include a release with every method.
@pytest.mark.some(4)
@pytest.mark.parametrize("method", [*METHODS, *SYNOPSES])
def test_schema_and_report_know_what_every_method_releases(validator, method):
    config: Config | KMeansConfig
    if method in KMEANS:
        config = KMeansConfig(method=method, clusters=3)
    elif method in SYNOPSES:
        config = Config(method="baseline", synopsis=method, grid=8)
    else:
        config = Config(method=method, grid=8)
    document = Prepared.build(INCOMES, Request(config=config, domain=INCOMES.domain)).draw(1.0)
    validator.validate(document)
    assert json.loads(files(document)["release.json"]) == document
    ledger = list(report(document)[1].iter(f"{HTML}table"))[-1]
    for row in list(ledger.iter(f"{HTML}tr"))[1:]:
        step, what, *_ = ("".join(cell.itertext()) for cell in row)
        assert what.strip(), step


def nodes(value: Any) -> list[dict[str, Any]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [value] if isinstance(value, dict) else []
    return found + [node for part in inner for node in nodes(part)]


@pytest.mark.parametrize("name", ["cells", "centers"])
def test_schema_rejects_any_key_added_or_missing(validator, name):
    document = DOCUMENTS[name]()
    optional = {"alpha", "synopsis", "iterations", "start"}
    for node in nodes(document):
        node["seed"] = 7
        assert not validator.is_valid(document)
        del node["seed"]
        for key in [key for key in node if key not in optional]:
            kept = dict(node)
            del node[key]
            assert not validator.is_valid(document), key
            node.clear()
            node.update(kept)
    validator.validate(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 3),
        ("doubtful level", 0),
        ("doubtful clusters", [0]),
        ("method variant", "published"),
        ("method family", "kmeans"),
        ("privacy epsilon", 0),
        ("privacy unit", "household"),
        ("privacy neighbours", "swap"),
        ("privacy ledger", []),
        ("privacy ledger 0 mechanism", "Gauss"),
        ("privacy ledger 0 composition", "advanced"),
        ("domain bounds 0", [0, 1, 2]),
        ("domain bounds 0", [0]),
        ("domain outside", "keep"),
        ("parameters grid", 64),
        ("parameters clusters", 3),
        ("result kind", "centers"),
        ("result counts 0 0", "1"),
        ("result labels 0 0", -1),
        ("result labels 0 0", 0.5),
        ("result threshold", "none"),
    ],
)
def test_schema_rejects_wrong_values(validator, path, value):
    document = a_grid() | {"doubtful": {"clusters": [1], "level": 0.05, "how": "By its records."}}
    validator.validate(document)
    *where, last = (int(key) if key.isdigit() else key for key in path.split())
    node: Any = document
    for key in where:
        node = node[key]
    node[last] = value
    assert not validator.is_valid(document)


# Outlines


def shapes(document: Document) -> list[Any]:
    """Geometries by RFC 7946: rings are closed, outer rings counter-clockwise, holes clockwise."""
    collection = json.loads(files(document)["clusters.geojson"])
    assert collection["type"] == "FeatureCollection"
    found = []
    for expected, feature in enumerate(collection["features"], start=1):
        assert feature["type"] == "Feature"
        assert feature["properties"]["cluster"] == expected
        geometry = feature["geometry"]
        if geometry is None:
            found.append(shapely.Polygon())
            continue
        polygons = geometry["coordinates"]
        polygons = [polygons] if geometry["type"] == "Polygon" else polygons
        assert (geometry["type"] == "MultiPolygon") == (len(polygons) > 1)
        for polygon in polygons:
            for place, ring in enumerate(polygon):
                assert ring[0] == ring[-1]
                assert len(ring) >= 4
                assert shapely.LinearRing(ring).is_ccw == (place == 0)
        found.append(shapely.geometry.shape(geometry))
    return found


grids = st.tuples(st.integers(2, 9), st.integers(2, 9), st.integers(1, 3)).flatmap(
    lambda size: st.tuples(
        st.just(size),
        npst.arrays(bool, tuple(-(-side // size[2]) for side in size[:2])),
        st.sampled_from(PLACES),
    )
)

RING = np.array([[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=bool)


@quick
@given(grids)
@example(((8, 8, 2), RING, PLACES[0]))
@example(((7, 7, 2), RING, PLACES[2]))
def test_a_cluster_is_the_union_of_its_cells(drawn):
    (wide, high, block), significant, bounds = drawn
    counts = np.arange(wide * high).reshape(wide, high)
    document = of_cells(counts, significant, block, bounds)
    labels = np.array(document["result"]["labels"])
    labels = labels.repeat(block, axis=0).repeat(block, axis=1)[:wide, :high]
    polygons = shapes(document)
    features = geojson.clusters(document)["features"]
    (west, east), (south, north) = bounds
    borders = axis_edges(west, east, wide), axis_edges(south, north, high)
    # Corners are written with a hundredth of a cell.
    digits = [max(math.ceil(math.log10(100 / np.diff(ends).mean())), 0) for ends in borders]
    rounded = [np.round(ends, most) for ends, most in zip(borders, digits, strict=True)]
    for ends, (first, last) in zip(rounded, bounds, strict=True):
        ends[0], ends[-1] = first, last
    sizes = np.outer(*map(np.diff, rounded))
    x, y = ((edges[:-1] + edges[1:]) / 2 for edges in borders)
    middles = shapely.points(*np.meshgrid(x, y, indexing="ij"))
    assert len(polygons) == document["result"]["clusters"]
    for cluster, (polygon, feature) in enumerate(zip(polygons, features, strict=True), start=1):
        mine = labels == cluster
        # Exact digits of a small width at a large offset.
        exact = 1e-5 if west == 1e9 else 1e-12
        assert polygon.is_valid
        assert polygon.area == pytest.approx((mine * sizes).sum(), rel=exact)
        assert feature["properties"] == {
            "cluster": cluster,
            "cells": np.count_nonzero(np.array(document["result"]["labels"]) == cluster),
            "area_share": pytest.approx(mine.mean(), abs=1e-11),
            "count": counts[mine].sum(),
        }
        np.testing.assert_array_equal(shapely.contains(polygon, middles), mine)
        assert shapely.box(west, south, east, north).covers(polygon)
        # The outline has no points in the middle of a straight line.
        for ring in shapely.get_rings(polygon):
            ways = np.sign(np.diff(shapely.get_coordinates(ring), axis=0))
            assert (np.roll(ways, 1, axis=0) != ways).any(axis=1).all()


def test_holes_and_corners():
    ring = np.ones((3, 3), dtype=bool)
    ring[1, 1] = False
    (polygon,) = shapes(of_cells(np.zeros((6, 6), dtype=int), ring))
    assert polygon.geom_type == "Polygon"
    assert len(polygon.interiors) == 1
    assert polygon.exterior.equals(shapely.box(0, 0, 1, 1).exterior)
    (pair,) = shapes(of_cells(np.zeros((4, 4), dtype=int), np.eye(2, dtype=bool)))
    squares = [shapely.box(0, 0, 0.5, 0.5), shapely.box(0.5, 0.5, 1, 1)]
    assert pair.geom_type == "MultiPolygon"
    assert pair.equals(shapely.MultiPolygon(squares))


def test_whole_counts_are_written_as_such():
    text = files(of_cells(np.ones((4, 4)), np.eye(2, dtype=bool)))["clusters.geojson"].decode()
    assert '"count": 8\n' in text
    assert '"count": 2\n' in files(of_centers([[0, 0]], [2.4]))["clusters.geojson"].decode()


@given(st.integers(1, 40), st.floats(-170, 100), st.floats(0.01, 60))
def test_geojson_has_no_more_digits_than_the_cells_need(side, west, width):
    """A hundredth of a cell; declared bounds stay exact, and no corner moves by more."""
    bounds = [(west, west + width), (-1.23456789, 2.0)]
    exact = of_cells(np.full((side, 3), 7.123456789), np.ones((side, 3), dtype=bool), 1, bounds)
    drawn = geojson.clusters(exact)
    (short,) = geojson.published(drawn, exact)["features"]
    assert short["properties"]["count"] == round(side * 3 * 7.123456789)
    for one, other, cell, ends in zip(
        np.array(short["geometry"]["coordinates"][0]).T,
        np.array(drawn["features"][0]["geometry"]["coordinates"][0]).T,
        (width / side, 3.23456789 / 3),
        bounds,
        strict=True,
    ):
        assert np.abs(one - other).max() <= 0.005 * cell
        assert {one.min(), one.max()} == set(ends)
        digits = math.ceil(-math.log10(cell / 100))
        assert all(value in ends or value == round(value, max(digits, 0)) for value in one)


coordinates = st.floats(0, 1)


@quick
@given(
    st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=12),
    st.sampled_from(PLACES[:3]),
    st.integers(0, 2**32 - 1),
)
@example([(0.5, 0.5)] * 3, PLACES[0], 0)
@example([(0.5, 0.5), (0.5, np.nextafter(0.5, 1))], PLACES[0], 0)
@example([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)], PLACES[2], 0)
@example([(0.0, 0.0), (1e-9, 6e-8), (1e-9, 6e-8)], PLACES[0], 0)
def test_a_region_is_what_lies_nearest_to_its_centre(unit, bounds, seed):
    lows, highs = np.array(bounds, dtype=float).T
    centers = np.clip(lows + np.array(unit) * (highs - lows), lows, highs)
    document = of_centers(centers, bounds=bounds)
    polygons = shapes(document)
    assert len(polygons) == len(centers)
    box = shapely.box(*lows, *highs)
    assert all(box.covers(polygon) for polygon in polygons if not polygon.is_empty)
    shares = [one["properties"]["area_share"] for one in geojson.clusters(document)["features"]]
    assert math.fsum(shares) == pytest.approx(1, abs=1e-9)
    for polygon, share in zip(polygons, shares, strict=True):
        assert polygon.area / box.area == pytest.approx(share, abs=1e-9)
    points = np.random.default_rng(seed).random((50, 2))
    scaled = (centers - lows) / (highs - lows)
    # Equal centres are one position, which belongs to the first of the equal centres.
    places, first = np.unique(scaled, axis=0, return_index=True)
    distances = np.sqrt(((points[:, None] - places) ** 2).sum(axis=2))
    owner = first[distances.argmin(axis=1)]
    nearest = np.sort(np.column_stack([distances, np.full(len(points), np.inf)]), axis=1)
    clear = nearest[:, 1] - nearest[:, 0] > 1e-6
    located = shapely.points(lows + points * (highs - lows))
    for cluster, polygon in enumerate(polygons):
        inside = shapely.contains(polygon, located)
        np.testing.assert_array_equal(inside[clear], (owner == cluster)[clear])


def test_of_coinciding_centres_the_first_has_the_region():
    first, second, third = shapes(of_centers([[0.2, 0.5], [0.2, 0.5], [0.8, 0.5]]))
    assert first.equals(shapely.box(0, 0, 0.5, 1))
    assert second.is_empty
    assert third.equals(shapely.box(0.5, 0, 1, 1))


# Tables


def test_cells_as_a_table():
    document = a_grid(["x", "y, or so"], [(0, 0.7), (-5, 5)])
    table = pd.read_csv(io.BytesIO(files(document)["cells.csv"]))
    assert list(table) == ["x_low", "x_high", "y, or so_low", "y, or so_high", "count", "cluster"]
    counts = np.array(document["result"]["counts"])
    np.testing.assert_array_equal(table["count"].to_numpy().reshape(7, 10), counts)
    labels = np.array(document["result"]["labels"]).repeat(2, axis=0).repeat(2, axis=1)[:7, :10]
    np.testing.assert_array_equal(table["cluster"].to_numpy().reshape(7, 10), labels)
    places = {"x": np.arange(0, 8) / 10, "y, or so": np.arange(-5.0, 6)}
    for column, values in places.items():
        index = np.indices((7, 10))[list(places).index(column)].ravel()
        np.testing.assert_array_equal(table[f"{column}_low"], values[index])
        np.testing.assert_array_equal(table[f"{column}_high"], values[index + 1])


@pytest.mark.parametrize("counts", [None, [3.25, -4.0]])
def test_centers_as_a_table(counts):
    centers = [[0.1, 1 / 3], [0.2, 0.9]]
    document = of_centers(centers, counts, columns=["count", "b"])
    table = pd.read_csv(io.BytesIO(files(document)["centers.csv"]))
    assert list(table) == ["cluster", "count_center", "b", "count"]
    assert table["cluster"].tolist() == [1, 2]
    assert table[["count_center", "b"]].to_numpy().tolist() == centers
    assert table["count"].isna().all() if counts is None else table["count"].tolist() == counts


# Pictures


def children(content: bytes, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(content).iter(SVG + tag))


@pytest.mark.parametrize(("shape", "step"), [((5, 9), (1, 1)), ((600, 3), (3, 1))])
def test_counts_have_the_colour_of_their_sign_and_size(shape, step):
    counts = np.rint(np.random.default_rng(1).laplace(0, 5, shape)).astype(int)
    blocks = tuple(-(-side // 2) for side in shape)
    drawn = files(of_cells(counts, np.zeros(blocks, dtype=bool)))["counts.svg"]
    sums = np.add.reduceat(counts, range(0, shape[0], step[0]), axis=0)
    colours = np.full(sums.shape, "", dtype=object)
    for path in children(drawn, "path"):
        for x, y, length in re.findall(r"M(\d+) -?(\d+)h(\d+)", path.get("d", "")):
            assert (colours[int(x) : int(x) + int(length), int(y)] == "").all()
            colours[int(x) : int(x) + int(length), int(y)] = path.get("stroke")
    brown_to_blue = [
        (red - blue) for red, blue in np.vectorize(_red_blue, otypes=[object])(colours).ravel()
    ]
    signs = -np.sign(brown_to_blue).reshape(sums.shape)
    top = np.abs(sums).max()
    # Values near zero have the background colour.
    visible = np.abs(sums) > top / 40
    np.testing.assert_array_equal(signs[visible], np.sign(sums)[visible])
    assert (colours[sums == 0] == "").all()
    darkest = zero_centred(-1, 1, "light")[-1 if sums.max() == top else 0][1]
    assert colours.ravel()[np.abs(sums).argmax()] == darkest


def _red_blue(colour: str) -> tuple[int, int]:
    return (int(colour[1:3], 16), int(colour[5:7], 16)) if colour else (0, 0)


def test_every_cluster_is_drawn_and_has_its_number():
    document = a_grid()
    drawn = files(document)["clusters.svg"]
    clusters = [str(number) for number in range(1, document["result"]["clusters"] + 1)]
    assert len(clusters) > 1
    titles = [path.findtext(f"{SVG}title") for path in children(drawn, "path")]
    assert [title for title in titles if title] == [f"cluster {one}" for one in clusters]
    bold = [text.text for text in children(drawn, "text") if text.get("stroke")]
    assert sorted(bold, key=int) == clusters


def test_numbers_without_room_are_counted():
    centers = np.random.default_rng(2).random((1000, 2))
    drawn = files(of_centers(centers))["clusters.svg"]
    labelled = len([text for text in children(drawn, "text") if text.get("stroke")])
    texts = [text.text or "" for text in children(drawn, "text")]
    assert 0 < labelled < 1000
    assert f"PrivTHR, ε = 1; {1000 - labelled} without a number, because there is no space" in texts
    assert len(children(drawn, "circle")) == 1000


def test_pictures_are_told_in_words(document):
    for name, content in files(document).items():
        if not name.endswith(".svg"):
            continue
        root = ElementTree.fromstring(content)
        title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None
        assert desc is not None
        assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert "PrivTHR, ε = 1" in (title.text or "")
        # Characters that XML can't contain are replaced; all other text is unchanged.
        names = [re.sub("[\x00\ud800]", "\ufffd", one) for one in document["domain"]["columns"]]
        for column in names:
            assert column in (desc.text or "")
            assert column in [text.text for text in root.iter(f"{SVG}text")]


@quick
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e7), st.integers(2, 8))
@example(0.0, 1.0, 5)
@example(-180.0, 360.0, 8)
def test_ticks_are_few_round_and_different(lo, width, wanted):
    found = ticks(lo, lo + width, wanted)
    values, texts = zip(*found, strict=True) if found else ((), ())
    assert len(found) <= wanted + 1
    assert len(set(texts)) == len(texts)
    for value, text in found:
        assert lo - 1e-6 * width <= value <= lo + width * (1 + 1e-6)
        assert float(text.replace(",", "")) == pytest.approx(value, rel=1e-9, abs=1e-9 * width)
    if wanted >= 5:
        assert len(values) >= 2


# Report


def report(document: Document) -> tuple[str, ElementTree.Element, str]:
    page = files(document)["report.html"].decode()
    root = ElementTree.fromstring(page)
    return page, root, " ".join("".join(root.itertext()).split())


def test_pages_and_pictures_load_nothing_and_run_nothing(document):
    for name, content in files(document).items():
        if not name.endswith((".svg", ".html")):
            continue
        root = ElementTree.fromstring(content)
        for element in root.iter():
            tag = element.tag.split("}")[1]
            assert tag not in {"script", "link", "iframe", "object", "embed", "img", "image", "use"}
            assert tag not in {"a", "base", "form", "input", "foreignObject"}
            for attribute in element.attrib:
                assert attribute.split("}")[-1] not in {"src", "href", "style", "data", "action"}
                assert not attribute.startswith("on")
        text = content.decode()
        assert "url(" not in text
        assert "@import" not in text
        left = text.replace(SVG[1:-1], "").replace(HTML[1:-1], "")
        assert not re.search(r"https?:|//", left.split("</style>")[-1].replace("/*", ""))


def test_what_was_typed_stays_text():
    document = a_grid(NASTY)
    document["title"] = "<script>alert('&amp;')</script> {{ 7 * 7 }} {% raw %}"
    for part in ("summary", "proof", "paper", "algorithm", "title"):
        document["method"][part] = f"<img src=x onerror=1> {part}"
    document["privacy"]["odds"] = document["privacy"]["map"] = "</p><i>odds</i>"
    document["privacy"]["ledger"][0]["step"] = "<u>step</u>"
    _, root, text = report(document)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert not tags & {"script", "img", "i", "u"}
    assert root.findtext(f".//{HTML}h1") == document["title"]
    for typed in (*document["method"].values(), "</p><i>odds</i>", "<u>step</u>", NASTY[0]):
        if typed not in ("privthr", "wavecluster", "sound"):
            assert typed in text


def test_a_fact_that_is_missing_is_no_blank_in_the_report():
    document = a_grid()
    del document["privacy"]["odds"]
    with pytest.raises(jinja2.UndefinedError, match="odds"):
        files(document)


def test_templates_cost_no_time_at_the_start():
    code = (
        "import sys, dpviz.commands.command_line, dpviz.release.files; "
        "assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_report_says_what_there_is_to_know(document):
    _, root, text = report(document)
    privacy, method = document["privacy"], document["method"]
    for part in (privacy["odds"], privacy["map"], *list(method.values())[3:6], method["proof"]):
        assert part in text
    assert "certified ε = 0.9999999" in text
    assert "dpviz 0.1.0 with OpenDP 0.16.0" in text
    maps = [name for name in files(document) if name.endswith(".svg")]
    assert len(list(root.iter(f"{SVG}svg"))) == len(maps) + ("counts.svg" in maps)
    headings = [heading.text for heading in root.iter(f"{HTML}h2")]
    assert ("The clusters" in headings) == (document["result"].get("clusters") != 0)


def rows(root: ElementTree.Element, place: int) -> list[list[str]]:
    table = list(root.iter(f"{HTML}table"))[place]
    return [["".join(cell.itertext()) for cell in row] for row in table.iter(f"{HTML}tr")]


def test_table_of_clusters_of_cells():
    counts = np.full((4, 4), 10)
    significant = np.array([[True, False], [False, False]])
    document = of_cells(counts, significant, bounds=[(0, 8), (-1, 1)], columns=["x", "y"])
    document["accuracy"] = {
        "level": 0.95, "counts": [[33, 47]], "how": "By a rule.",
        "places": [{"at": [2.0, -0.5], "within": [1.25, 0.3]}],
    }  # fmt: skip
    _, root, text = report(document)
    assert rows(root, 0) == [
        ["cluster", "dense blocks", "records (noisy)", "95% range", "x", "y", "mean place",
         "place within"],
        ["1", "1", "40", "33 to 47", "0.0 to 4.0", "-1.00 to 0.00", "2.0, -0.50",
         "1.2 in x and 0.3 in y"],
    ]  # fmt: skip
    assert "about 40 records (33 to 47)" in text
    assert "By a rule." in text
    assert "within ±\xa04 of" not in text  # "\xa0" was replaced by a blank above
    assert "A single count is within ± 4 of the true one in 95% of cases." in text
    assert "All 16 counts together make 160 ± 13 records." in text


def test_table_of_centres_and_counts_without_a_scale():
    _, root, text = report(of_centers([[0.25, 0.5]], [41.75]))
    assert rows(root, 0) == [
        ["cluster", "records (noisy)", "c0", "c1"],
        ["1", "42", "0.250", "0.500"],
    ]
    document = of_centers([[0.25, 0.5]], [41.75])
    document["privacy"]["ledger"] = [spend("cells: records", 0.02), spend("cells", 0.98)]
    _, root, text = report(document)
    assert rows(root, 0)[0] == ["cluster", "records (noisy)", "c0", "c1"]
    assert "No band is known for the numbers of this method" in text
    assert "±" not in text


def test_ledger_puts_parallel_parts_together():
    document = of_centers([[0.1, 0.5], [0.5, 0.5]], [40.0, 50.0])
    parts = [spend("iteration 2", eps, 3, composition="parallel") for eps in (0.25, 0.5)]
    document["privacy"]["ledger"][1:] = parts
    _, root, text = report(document)
    head, first, second = rows(root, 1)
    assert first[3:] == ["0.5", "3", "6", "0.5"]
    assert second[3:] == ["0.25 to 0.5", "3", "6 to 12", "0.25 to 0.5"]
    assert "2 parts with different records" in second[1]
    assert len(head) == len(first) == 7
    # The noisiest part gives the bound for all parts: 12 ln 20.
    assert "± 36" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "one record is in only one of them"),
        ({"neighbours": "replace_one"}, "The number of records in the data is taken as public."),
        ({"unit": "person", "cap": 3}, "at most 3 records of a person took part"),
        ({"unit": "person"}, "at most 1 record of a person took part"),
        ({"unit": "person", "neighbours": "replace_one"}, "The number of persons in the data"),
    ],
)
def test_the_promise_in_words(changes, said):
    document = a_grid()
    document["privacy"].update(changes)
    assert said in report(document)[2]


@pytest.mark.parametrize(
    ("outside", "said"), [("clip", "moved to the nearest bound"), ("drop", "left out")]
)
def test_what_became_of_records_outside(outside, said):
    document = a_grid()
    document["domain"]["outside"] = outside
    assert f"Records outside were {said}; how many" in report(document)[2]


# Numbers


@pytest.mark.parametrize("scale", [0.2, 1, 1 / 0.9, 2.9, 10])
@pytest.mark.parametrize("counted", [1, 2, 3, 10, 100])
def test_noise_exceeds_its_margin_in_a_twentieth_of_cases(scale, counted):
    # Exact distribution of the sum, by convolution; values outside the array have negligible
    # weight.
    reach = int(scale * 60) + 60
    ratio = math.exp(-1 / scale)
    one = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-reach, reach + 1))
    size = counted * 2 * reach + 1
    law = np.fft.irfft(np.fft.rfft(one, size) ** counted, size)
    errors = np.abs(np.arange(size) - counted * reach)
    bound = margin(scale, counted)
    assert law.sum() == pytest.approx(1)
    assert law[errors > bound].sum() <= 0.0505
    # The margin exceeds this bound by at most 15% plus rounding up. (Whole numbers with little
    # noise vary less than the scale suggests.)
    if scale >= 1:
        assert law[errors > bound / 1.15 - 2].sum() > 0.05


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (-0.0, "0"), (1e6, "1,000,000"), (1 / 0.9, "1.11111"), (0.0875, "0.0875"),
     (-1234.5678, "-1,234.57"), (2**-20, "9.53674e-07"), (1e20, "1e+20"), (0.9999999999, "1")],
)  # fmt: skip
def test_numbers_for_people(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "spacing", "text"),
    [(163.125, 2.8125, "163.1"), (-1e-9, 0.1, "0.00"), (625000, 25000, "625,000"),
     (1.5e-9, 1e-9, "1.5e-09")],
)  # fmt: skip
def test_numbers_of_a_column(value, spacing, text):
    assert fixed(value, spacing) == text

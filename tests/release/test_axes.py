"""Longitude is the horizontal axis, latitude the vertical, for any order of the columns' names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from dpviz.commands.command_line import main
from dpviz.data.cities import cities
from dpviz.data.geographic import in_degrees, map_axes
from dpviz.grid.domain import Domain
from dpviz.privacy.lifetime_budget import Budget
from dpviz.release.files import files
from dpviz.release.geojson import clusters, on_earth
from dpviz.release.pictures import domain_svg
from tests.release.test_files import Document, of_cells, of_centers
from tests.support.countries import country_of, read_map, town
from tests.support.tiers import daily, examples

#: Options of a method of each family.
METHODS = {"privthr": ("--grid", "32"), "eugkm": ("--clusters", "2")}

#: Cities in the four quadrants of the globe, and the files released for each city in daily tests.
CITIES = {
    "Leipzig, Sachsen, Germany": ("lat,lon", "privthr"),
    "Denver, Colorado, United States of America": ("lat,lon", "eugkm"),
    "Brasília, Distrito Federal, Brazil": ("lat,lon", "privthr"),
    "Alice Springs, Northern Territory, Australia": ("lon,lat", "eugkm"),
    "Nairobi, Kenya": ("lon,lat", "privthr"),
    "Quito, Pichincha, Ecuador": ("lat,lon", "eugkm"),
}
RELEASES = [
    (city, order, method)
    for city in CITIES
    for order in ("lat,lon", "lon,lat")
    for method in METHODS
]


def released(folder: Path, points: np.ndarray, columns: str, domain: object, method: str) -> Path:
    """Release points (n, 2), longitude first, on the command line; return the bundle."""
    table, bundle = folder / "places.csv", folder / "bundle"
    pd.DataFrame(points, columns=["lon", "lat"]).to_csv(table, index=False)
    status = main(
        [
            *("release", str(table), "--columns", columns, "--domain", str(domain)),
            *("--outside", "drop", "--method", method, *METHODS[method]),
            *("--epsilon", "5", "--total", "9"),
            *("--budget-file", str(folder / "b.db"), "--out", str(bundle)),
        ]
    )
    assert status == 0
    return bundle


@pytest.mark.exhaustive(reason="another test releases in degrees daily")
@pytest.mark.parametrize(
    ("title", "columns", "method"), daily(RELEASES, lambda one: CITIES[one[0]] == one[1:])
)
def test_programs_for_maps_find_a_release_in_its_country(
    tmp_path: Path, title: str, columns: str, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    city = cities()[title]
    assert country_of(city.lon, city.lat) == city.country
    lon, lat = ((at - 0.5, at + 0.5) for at in (city.lon, city.lat))
    domain = Domain((lat, lon) if columns == "lat,lon" else (lon, lat))
    bundle = released(tmp_path, town(city.lon, city.lat), columns, domain, method)
    said = "".join(capsys.readouterr())
    assert (
        said.count("maps show lon to the right and lat upwards, and GeoJSON has [lon, lat].") == 1
    )
    assert "The largest city inside is" in said

    system, shapes, fields = read_map(bundle / "clusters.geojson")
    assert system == "EPSG:4326"
    places = [shapes[np.argmax(fields["count"])].representative_point()]
    if method == "eugkm":
        places += shapely.points(list(fields["center"])).tolist()
    assert {country_of(place.x, place.y) for place in places} == {city.country}
    assert shapely.box(lon[0], lat[0], lon[1], lat[1]).covers(
        shapely.box(*shapely.total_bounds(shapes))
    )

    # The tables keep the order of the columns that the user gave.
    document = json.loads((bundle / "release.json").read_text())
    assert document["domain"]["columns"] == columns.split(",")
    assert document["domain"]["bounds"] == [list(one) for one in domain.bounds]
    for name in ("report.html", "README.txt"):
        assert "lon is the longitude (x) and lat the latitude (y)" in (bundle / name).read_text()


def test_both_sides_of_the_180th_meridian_are_on_one_map(tmp_path: Path) -> None:
    """Fiji and Tonga have longitudes from 175 to 188; RFC 7946 allows only -180 to 180."""
    suva, tonga = (178.44, -18.13), (184.8, -21.14)
    points = np.concatenate([town(*suva, spread=0.5), town(*tonga, spread=0.5)])
    domain = "-25,-15;175,188"
    for method in METHODS:
        folder = tmp_path / method
        folder.mkdir()
        bundle = released(folder, points, "lat,lon", domain, method)
        _, shapes, fields = read_map(bundle / "clusters.geojson")
        west, south, east, north = shapely.total_bounds(shapes)
        assert -180 <= west < -170 < 170 < east <= 180
        assert -25 <= south < north <= -15
        assert shapely.is_valid(shapes).all()
        for lon, lat in (suva, (tonga[0] - 360, tonga[1])):
            assert shapely.contains_xy(shapes, lon, lat).sum() == 1
        if method == "eugkm":
            found = sorted(one.tolist() for one in fields["center"])
            np.testing.assert_allclose(found, [(tonga[0] - 360, tonga[1]), suva], atol=0.1)
        # The SVG keeps the longitudes of the domain.
        assert ">184<" in (bundle / "clusters.svg").read_text()


# -- either order, the same places ---------------------------------------------------------


def turned(document: Document) -> Document:
    domain = {**document["domain"]}
    domain |= {name: domain[name][::-1] for name in ("columns", "bounds")}
    result = {**document["result"]}
    if result["kind"] == "cells":
        result |= {name: np.transpose(result[name]).tolist() for name in ("counts", "labels")}
    else:
        result["centers"] = [place[::-1] for place in result["centers"]]
    grid = (
        {"grid": document["parameters"]["grid"][::-1]} if "grid" in document["parameters"] else {}
    )
    return {
        **document, "domain": domain, "result": result,
        "parameters": document["parameters"] | grid,
    }  # fmt: skip


NAMES = st.sampled_from(
    [
        *(("lon", "lat"), ("pickup_longitude", "pickup_latitude"), ("XLONG", "XLAT")),
        *(("Länge", "Breite"), ("longitudeE7", "latitudeE7"), ("x", "y"), ("income", "age")),
        ("POINT_X", "POINT_Y"),
    ]
)


@st.composite
def bounds(draw: st.DrawFn) -> list[list[float]]:
    """Random bounds, in degrees or not; longitudes may exceed 180."""
    if draw(st.integers(0, 4)) == 0:
        lon, lat = draw(st.integers(-(10**6), 10**6)), draw(st.integers(-(10**6), 10**6))
        return [[lon, lon + draw(st.integers(1, 10**6))], [lat, lat + draw(st.integers(1, 10**6))]]
    lon, lat = draw(st.integers(-360, 350)), draw(st.integers(-90, 80))
    return [
        [float(lon), lon + draw(st.floats(0.5, min(360, 360 - lon)))],
        [float(lat), lat + draw(st.floats(0.5, 90 - lat))],
    ]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    names, box = list(draw(NAMES)), draw(bounds())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        sides = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
        counts = rng.integers(-3, 9, (2 * sides[0], 2 * sides[1]))
        return of_cells(counts, rng.random(sides) < 0.5, bounds=box, columns=names)
    lows, highs = np.array(box).T
    centers = lows + rng.random((draw(st.integers(1, 5)), 2)) * (highs - lows)
    return of_centers(centers, rng.integers(0, 99, len(centers)).tolist(), box, names)


#: Files that show positions.
PLACED = ("clusters.geojson", "clusters.svg", "counts.svg")


@examples(60)
@given(documents())
def test_either_order_of_columns_gives_the_same_places(document: Document) -> None:
    one, other = files(document), files(turned(document))
    domain = document["domain"]
    columns, bounds = domain["columns"], domain["bounds"]
    if map_axes(columns, bounds) != map_axes(columns[::-1], bounds[::-1]):
        for name in PLACED:
            assert one.get(name) == other.get(name), name
        return
    # Other columns keep their order.
    for first, second in zip(
        *(shapes(made["clusters.geojson"]) for made in (one, other)), strict=True
    ):
        assert shapely.equals(first, shapely.transform(second, lambda at: at[:, ::-1]))


def shapes(content: bytes) -> list[Any]:
    features = json.loads(content)["features"]
    empty = shapely.Polygon()
    return [
        shapely.geometry.shape(one["geometry"]) if one["geometry"] else empty for one in features
    ]


@examples(60)
@given(documents())
def test_places_are_those_of_the_domain_and_on_the_earth(document: Document) -> None:
    flat, names = clusters(document), document["domain"]["columns"]
    found, box = on_earth(flat, document), document["domain"]["bounds"]
    if not in_degrees(names, box):
        assert found is flat
        return
    for one, plain in zip(found["features"], flat["features"], strict=True):
        assert {**one["properties"], "center": 0} == {**plain["properties"], "center": 0}
        if plain["geometry"] is None:
            assert one["geometry"] is None
            continue
        on, off = (shapely.geometry.shape(part["geometry"]) for part in (one, plain))
        west, south, east, north = on.bounds
        assert -180 <= west <= east <= 180
        assert (south, north) == pytest.approx((off.bounds[1], off.bounds[3]), abs=1e-9)
        assert on.is_valid
        assert all(part.exterior.is_ccw for part in shapely.get_parts(on))
        if box[0][1] - box[0][0] <= 360:
            assert on.area == pytest.approx(off.area, rel=1e-6)
        inside = off.representative_point()
        turns = [inside.x + turn for turn in (-360, 0, 360) if abs(inside.x + turn) <= 180]
        assert any(on.distance(shapely.Point(x, inside.y)) < 1e-9 for x in turns)
        if "center" in one["properties"]:
            lon, lat = one["properties"]["center"]
            assert -180 <= lon <= 180
            assert (lon - plain["properties"]["center"][0]) % 360 == pytest.approx(0, abs=1e-9) or (
                lon - plain["properties"]["center"][0]
            ) % 360 == pytest.approx(360, abs=1e-9)
            assert lat == plain["properties"]["center"][1]


# -- before the debit ----------------------------------------------------------------------


@pytest.mark.parametrize("command", ["run", "sweep", "release"])
@pytest.mark.parametrize("columns", ["lat,lon", "2,1"])
def test_bounds_of_the_other_column_are_refused_and_nothing_is_spent(
    tmp_path: Path, command: str, columns: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table, budget, out = (tmp_path / name for name in ("places.csv", "b.db", "out"))
    pd.DataFrame(town(12.3, 51.3, 50), columns=["lon", "lat"]).to_csv(table, index=False)
    given = [command, str(table), "--columns", columns, "--domain", "-180,180;-90,90"]
    given += {
        "run": ["--method", "privthr"],
        "sweep": ["--methods", "privthr", "--epsilons", "1", "--out", f"{out}.csv"],
        "release": [
            *("--method", "privthr", "--epsilon", "1", "--total", "1"),
            *("--budget-file", str(budget), "--out", str(out)),
        ],
    }[command]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "domain of lat is -180,180, but latitudes are between -90 and 90" in said
    assert 'for lat,lon for example "-90.0,90.0;-180.0,180.0"' in said
    assert not out.exists()
    assert not budget.exists() or not Budget(budget).datasets()
    given[given.index("-180,180;-90,90")] = "-90,90;-180,180"
    assert main(given) == 0


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("columns", "domain"),
    [
        *(("y,x", "51.2,51.5;12.2,12.6"), ("N,E", "51.2,51.5;12.2,12.6")),
        *(("ycoord,xcoord", "51.2,51.5;12.2,12.6"), ("a,b", "-90,90;-180,180")),
    ],
)
def test_a_plane_and_bounds_of_degrees_are_released_as_a_map_has_them(
    tmp_path: Path, columns: str, domain: str, capsys: pytest.CaptureFixture[str]
) -> None:
    up, across = columns.split(",")
    frame = pd.DataFrame(town(12.3, 51.3, 500), columns=[across, up])
    frame.to_csv(tmp_path / "places.csv", index=False)
    given = ["release", str(tmp_path / "places.csv"), "--columns", columns, "--domain", domain]
    given += ["--method", "eugkm", "--clusters", "1", "--epsilon", "5", "--total", "9"]
    given += ["--budget-file", str(tmp_path / "b.db"), "--out", str(tmp_path / "bundle")]
    assert main(given) == 0
    said = f"Maps show {across} to the right (x) and {up} upwards (y)"
    assert said in capsys.readouterr().out
    _, shapes, fields = read_map(tmp_path / "bundle" / "clusters.geojson")
    lon, lat = fields["center"][0]
    assert abs(lat) <= 90
    if domain.startswith("51"):
        assert (lon, lat) == pytest.approx((12.3, 51.3), abs=0.2)
        assert country_of(lon, lat) == "Germany"
    _, south, _, north = shapely.total_bounds(shapes)
    assert -90 <= south < north <= 90


def test_bounds_that_look_exchanged_are_refused_before_the_debit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(columns: str, domain: str) -> tuple[int, str]:
        frame = pd.DataFrame(town(12.3, 51.3, 500)[:, ::-1], columns=columns.split(","))
        frame.to_csv(tmp_path / "places.csv", index=False)
        given = ["release", str(tmp_path / "places.csv"), "--columns", columns]
        given += ["--domain", domain, "--method", "eugkm", "--clusters", "1", "--epsilon", "1"]
        given += ["--total", "9", "--budget-file", str(tmp_path / "b.db")]
        status = main([*given, "--out", str(tmp_path / domain)])
        said = capsys.readouterr()
        return status, said.out + said.err

    status, said = run("lat,lon", "12.2,12.6;51.2,51.5")
    assert status == 2
    assert "with the bounds of lat and lon exchanged, Leipzig, Sachsen, Germany would be" in said
    assert 'Give "51.2,51.5;12.2,12.6"' in said
    assert not (tmp_path / "b.db").exists()
    # Users who really mean these columns give them these names.
    assert run("north,east", "12.2,12.6;51.2,51.5")[0] == 0
    assert run("lat,lon", "51.2,51.5;12.2,12.6")[0] == 0
    # Exchanged bounds would not match a city, so there is no warning.
    assert run("lat,lon", "30,40;-50,-40")[0] == 0


def test_the_map_of_a_domain_has_longitude_to_the_right() -> None:
    germany = Domain(((5.0, 15.0), (47.0, 55.0)))
    map_ = domain_svg(("lon", "lat"), germany)
    assert domain_svg(("lat", "lon"), germany.select((1, 0))) == map_
    assert ">Berlin<" in map_
    assert map_.count("M") > 5
    assert "lon to the right, lat upwards" in map_
    plain = domain_svg(("a", "b"), germany)
    assert "Berlin" not in plain
    assert "a to the right, b upwards" in plain
    assert domain_svg(("y", "x"), germany.select((1, 0))) == domain_svg(("x", "y"), germany)
    assert "Auckland" in domain_svg(("lon", "lat"), Domain(((170.0, 190.0), (-50.0, -30.0))))

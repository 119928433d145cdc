"""Longitude is to the right on every page, for any order of clicks, links and columns."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.support.controls import source_box
from tests.support.countries import country_of, read_map, town
from tests.support.tiers import daily
from tests.ui.test_release import press
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import link_of, load, opened, visit


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def table(names: str, points: np.ndarray) -> bytes:
    """A file of points (n, 2), and an hour for each point."""
    rows = (f"{x:.5f},{y:.5f},{at % 24}\n" for at, (x, y) in enumerate(points.tolist()))
    return f"{names},hour\n".encode() + "".join(rows).encode()


LEIPZIG = table("lat,lon", town(12.37, 51.34, 1500)[:, ::-1])

#: Link of a user who chose the columns in the order in which they are in the file.
LINK = {"data": "own", "columns": "lat,lon", "domain": "51,52;12,13.5"}
BOUNDS = "12.0,13.5;51.0,52.0"


def boxes(test: AppTest) -> dict[str, str]:
    end = ": from, to"
    return {
        one.label.removesuffix(end): one.value for one in test.text_input if one.label.endswith(end)
    }


def chosen(test: AppTest) -> list[str]:
    """Columns of the two axes: the horizontal column first; the release page has its own order."""
    if named := [one.value for one in test.multiselect if one.label == "Columns"]:
        return list(named[0])
    return [one.value for one in test.selectbox if one.label in ("Across", "Upwards")]


@pytest.mark.parametrize(
    "first",
    daily(["wavecluster", "kmeans", "release", "compare"], lambda one: one == "wavecluster"),
)
def test_a_link_is_turned_with_its_bounds_and_cells(first: str) -> None:
    method = {"methods": "privqt", "draws": 1, "points": 1} if first == "compare" else {}
    test = load(opened(first, **LINK, g="32,16", **method), "t.csv", LEIPZIG)
    # The k-means explorer has no grid.
    assert first == "kmeans" or link_of(test)["g"] == "16,32"
    for place in (first, "kmeans", "release"):
        found = link_of(test) if place == first else visit(test, place)
        assert (found["columns"], found["domain"]) == ("lon,lat", BOUNDS), place
        assert boxes(test) == {"lon": "12, 13.5", "lat": "51, 52"}
        assert chosen(test) == ["lon", "lat"]


def test_no_click_puts_latitude_across() -> None:
    test = load(opened("wavecluster", data="own", domain=""), "t.csv", LEIPZIG)
    assert chosen(test) == ["lon", "lat"]
    assert any("longitude is shown across" in one.value for one in test.caption)
    (across,) = (one for one in test.selectbox if one.label == "Across")
    checked(across.set_value("lat").run())
    assert chosen(test) == ["lon", "lat"]
    (across,) = (one for one in test.selectbox if one.label == "Across")
    checked(across.set_value("hour").run())
    assert chosen(test) == ["hour", "lat"]
    assert not any("longitude is shown across" in one.value for one in test.caption)
    (upwards,) = (one for one in test.selectbox if one.label == "Upwards")
    checked(upwards.set_value("lon").run())
    assert chosen(test) == ["hour", "lon"]
    (across,) = (one for one in test.selectbox if one.label == "Across")
    checked(across.set_value("lat").run())
    assert chosen(test) == ["lon", "lat"]
    # The same is true on the release page for the order of clicks.
    visit(test, "release")
    for named in (["lat", "lon"], ["lon", "lat"], ["lat", "hour"]):
        (columns,) = (one for one in test.multiselect if one.label == "Columns")
        checked(columns.set_value(named).run())
        assert chosen(test) == (["lon", "lat"] if "lon" in named else named)


@pytest.mark.exhaustive
def test_bounds_of_three_columns_are_those_of_the_same_columns_in_a_release() -> None:
    link = {"data": "own", "columns": "lon,lat,hour", "domain": "51,52;12,13;0,24"}
    test = load(opened("kmeans", method="eugkm", **link), "t.csv", LEIPZIG)
    declared = {"lat": "51, 52", "lon": "12, 13", "hour": "0, 24"}
    assert boxes(test) == declared
    visit(test, "release", method="eugkm", **link)
    assert boxes(test) == declared
    assert chosen(test) == ["lon", "lat", "hour"]


@pytest.mark.exhaustive(reason="tests/release/test_axes.py releases in degrees daily")
@pytest.mark.parametrize("method", daily(["privthr", "eugkm"], lambda one: one == "eugkm"))
def test_a_release_of_the_page_is_in_its_country(home: Path, method: str) -> None:
    more = {"g": 32, "k": 2, "choose": "given", "epsilon": 3, "outside": "drop"}
    more |= {"several": "no", "nhat": 300}
    test = load(opened("release", method=method, **more, **LINK), "t.csv", LEIPZIG)
    checked(source_box(test.text_input).set_value("trips").run())
    press(test, "Review the release")
    review = next(one.value for one in test.markdown if "This is published" in one.value)
    assert "lon is the longitude (x) and lat the latitude (y)" in review
    assert "GeoJSON has \\[lon, lat\\]" in review
    assert "The largest city inside is Leipzig" in review
    (map_,) = (one.proto.body for one in test.get("html") if "Declared domain" in one.proto.body)
    drawn = base64.b64decode(map_.split("base64,")[1].split('"')[0]).decode()
    assert ">Leipzig<" in drawn
    press(test, "Debit")
    (bundle,) = (home / "releases").iterdir()
    system, shapes, fields = read_map(bundle / "clusters.geojson")
    assert system == "EPSG:4326"
    place = shapes[np.argmax(fields["count"])].representative_point()
    assert country_of(place.x, place.y) == "Germany"


@pytest.mark.exhaustive
def test_mixed_bounds_are_refused_where_they_are_typed_and_before_the_review(home: Path) -> None:
    link = LINK | {"columns": "lon,lat", "domain": "-90,90;-180,180"}
    said = "domain of lat is -180,180, but latitudes are between"
    test = load(opened("wavecluster", **link), "t.csv", LEIPZIG)
    assert any(said in one.value for one in test.warning)
    boxes_ = [one for one in test.text_input if one.label.endswith(": from, to")]
    checked(boxes_[1].set_value("51, 100").run())
    assert any("domain of lat is 51,100" in one.value for one in test.error)
    test = load(opened("release", method="privthr", **link), "t.csv", LEIPZIG)
    assert any(said in one.value for one in test.error)
    assert not any(one.label.startswith("Review") for one in test.button)
    assert not home.exists() or not (home / "budget.db").exists()


@pytest.mark.exhaustive
def test_exchanged_values_are_said_where_data_are_looked_at() -> None:
    tokyo = table("lat,lon", town(139.7, 35.7, 500))
    test = load(opened("wavecluster", data="own"), "t.csv", tokyo)
    said = "most latitudes are beyond 90"
    assert any(said in one.value for one in test.warning)
    visit(test, "release")
    assert not any(said in one.value for one in test.warning)

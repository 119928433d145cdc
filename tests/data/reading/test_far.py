"""Rows that are far from all other rows are named, and the proposed box leaves them out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.data.reading.far import box_without_far, far_sentence, over_180, turned
from dpviz.data.reading.read import read_table
from dpviz.data.samples import load_sample, sample_names
from dpviz.grid.domain import Domain
from tests.support.tiers import examples

PLACE = ("lon", "lat")


def city(rows: int = 8000, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal([13.4, 52.5], [0.1, 0.05], (rows, 2))


def planted(points: np.ndarray, rows: list[int], value: object) -> np.ndarray:
    points = points.copy()
    points[rows] = value
    return points


FAR = {
    "a slip of the decimal point": ([4711], [13.4, 513412]),
    "beyond the pole": (list(range(0, 800, 2)), [13.4, 91]),
    "beyond the date line twice": ([5], [361, 52.5]),
    "nines for no value": (list(range(0, 800)), [-9999, -9999]),
    "other nines": (list(range(0, 800)), [999.99, 99.99]),
    "nowhere": (list(range(0, 1500)), [0, 0]),
    "another continent": ([7, 9], [-70, -33]),
}


@pytest.mark.parametrize("name", FAR)
def test_far_places_are_outside_of_the_box_and_all_others_inside(name: str) -> None:
    rows, value = FAR[name]
    points = planted(city(), rows, value)
    box = box_without_far(points, PLACE)
    assert box is not None
    assert np.flatnonzero(~box.contains(points)).tolist() == rows
    # The bounds are round numbers, not coordinates of points, and are never beyond a pole.
    assert all(len(f"{bound:.15g}") < 8 for pair in box.bounds for bound in pair)
    others = np.delete(points, rows, axis=0)
    widths = np.ptp(others, axis=0)
    assert (np.subtract(*np.transpose(box.bounds)[::-1]) <= 1.1 * widths).all()


@pytest.mark.parametrize(("value", "says"), [
    (513412, True), (-9999, True), (52.9, False), (53.5, False), (0, True),
])  # fmt: skip
def test_a_column_of_any_name_is_stretched_by_a_factor_of_20_or_not_at_all(value, says) -> None:
    points = planted(city(), [17], [13.4, value])
    assert (box_without_far(points, ("a", "b")) is not None) == says


@pytest.mark.some(10)
@pytest.mark.parametrize("points", [
    np.exp(2 * np.random.default_rng(1).normal(size=(8000, 2))),
    np.random.default_rng(2).standard_cauchy((8000, 2)),
    np.random.default_rng(3).normal([389_000, 5_820_000], 5000, (8000, 2)),
    np.concatenate([city(4000), city(4000) + 60]),
    planted(city(8000), list(range(4000)), [0, 0]),
    planted(np.random.default_rng(4).uniform([-20, -35], [50, 37], (8000, 2)), [4, 5], [0, 0]),
    np.zeros((8000, 2)), np.zeros((0, 2)), city(10),
    planted(np.zeros((8000, 2)), [3], [1, 1]),
], ids=["skew", "heavy tails", "metres", "two cities", "half at 0", "Africa", "equal", "none",
        "few", "one other"])  # fmt: skip
def test_what_is_no_slip_is_left_alone(points: np.ndarray) -> None:
    small = len(points) and np.abs(points).max() < 90
    assert box_without_far(points, PLACE if small else ("x", "y")) is None
    if points.min(initial=0) > 1000:  # places in metres, with any column names
        assert box_without_far(points, PLACE) is None


@pytest.mark.parametrize("names", [
    ("pickup_longitude", "pickup_latitude"), ("XLAT", "XLONG"), ("Längengrad", "Breitengrad"),
])  # fmt: skip
def test_places_are_found_by_any_names_and_beside_other_columns(names: tuple[str, str]) -> None:
    order = slice(None, None, -1 if names[0] == "XLAT" else 1)
    rows = list(range(1200))
    for value in ([361, 52], [0, 0], [13.4, -90.5]):
        points = planted(city(), rows, value)[:, order]
        third = np.random.default_rng(1).normal(size=(8000, 1))
        box = box_without_far(np.hstack([third, points]), ("size", *names))
        assert box is not None
        assert np.flatnonzero(~box.select((1, 2)).contains(points)).tolist() == rows
    # A single column is not a place: "long" may also mean a length.
    assert box_without_far(planted(city(), rows, [361, 52])[:, :1], ("long",)) is None


@pytest.mark.parametrize(("value", "says"), [
    (-9999, True), (999, True), (99.99, True), (-9998, False), (99, False),
])  # fmt: skip
def test_nines_in_many_rows_of_any_column_stand_for_no_value(value: float, says: bool) -> None:
    rows = list(range(0, 1600, 2))
    points = planted(city(), rows, [13.4, value])
    box = box_without_far(points, ("x", "y"))
    assert (box is not None) == says
    if box is not None:
        assert np.flatnonzero(~box.contains(points)).tolist() == rows


def test_no_sample_set_has_any() -> None:
    for name in sample_names():
        data = load_sample(name)
        if data.points is not None:
            assert box_without_far(data.points, data.columns) is None


def test_the_rows_are_named() -> None:
    lines = [f"{lon:.4f},{lat:.4f}" for lon, lat in city(100)]
    lines[41], lines[7], lines[9] = "13.4,513412", "x,513412", ",513412"
    table = read_table("\n".join(["lon,lat", *lines]).encode())
    data = table.select(unreadable="leave out", columns=PLACE)
    assert data.points is not None
    box = box_without_far(data.points, data.columns)
    assert box is not None
    rows = table.outside(data.columns, box.bounds)
    assert rows.first == ((43, "lat", "513412"),)
    said = far_sentence(rows, box, data.columns)
    assert said.startswith("1 row lies far from all others, which have lon 13.")
    assert said.endswith(': row 43, column "lat": "513412".')


@examples(60)
@given(
    st.integers(20, 400),
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=25),
    st.sampled_from([PLACE, ("lat", "lon"), ("x", "y")]),
    st.sampled_from([1.0, 1e-6, 1e200]),
    st.integers(0, 9),
)
def test_a_box_leaves_out_few_rows_and_holds_where_they_lie(rows, odd, names, unit, seed) -> None:
    points = np.concatenate([city(rows, seed), np.reshape(odd, (-1, 2))]) * unit
    box = box_without_far(points, names)
    if box is not None:
        outside = ~box.contains(points)
        assert 0 < outside.sum() <= len(points) / 4
        # If these rows are removed, no row is far away.
        assert np.ptp(points[~outside], axis=0).max() > 0


# -- both sides of 180 degrees -------------------------------------------------------------

FIJI = np.array([[179.5, -17.0], [-179.5, -18.0], [178.2, -17.5], [-179.9, -16.0]])


@pytest.mark.parametrize(("change", "expected"), [
    ({}, 0),
    ({"columns": ("a", "b")}, None),
    ({"columns": ("lat", "lon")}, 1),
    ({"more": [[-9999, -9999], [0, 0]]}, 0),  # not places
    ({"more": [[13.4, 52.5], [-60, 1]]}, None),  # there are people between them
    ({"more": [[181.0, -17]]}, None),  # already more than 180
    ({"points": [[-74.0, 40.7], [2.3, 48.9]]}, None),
    ({"points": [[179.5, -17], [178.0, -18]]}, None),
    ({"points": [[-179.5, -17], [-178.0, -18]]}, None),
    ({"points": [[90.0, 1], [-90.0, 1]]}, None),  # both spans are equal
])  # fmt: skip
def test_longitudes_on_both_sides_of_180_are_found(change, expected) -> None:
    points = np.array(change.get("points", FIJI.tolist() + change.get("more", [])), dtype=float)
    columns = change.get("columns", PLACE)
    if columns == ("lat", "lon"):
        points = points[:, ::-1]
    assert over_180(points, columns) == expected


@settings(deadline=None)
@given(st.lists(st.floats(-180, 180), min_size=2, max_size=30))
def test_longitudes_are_turned_only_if_they_span_less_then(values: list[float]) -> None:
    points = np.array([[one, 1.0] for one in values])
    if over_180(points, PLACE) is None:
        return
    after = turned(points[:, 0])
    assert np.ptp(after) < 180 < np.ptp(points[:, 0])
    assert ((after - points[:, 0]) % 360 == 0).all()
    assert (after >= 0).all()


def test_a_table_is_turned_for_exploring_and_never_for_a_release(tmp_path) -> None:
    path = tmp_path / "fiji.csv"
    path.write_text("lon,lat\n" + "".join(f"{lon},{lat}\n" for lon, lat in FIJI))
    table = read_table(path)
    shown = table.select()
    assert shown.points[:, 0].tolist() == [179.5, 180.5, 178.2, 360 - 179.9]
    assert any("180th meridian" in note for note in shown.notes)
    # Bounds apply to the longitudes that are shown.
    assert table.outside(PLACE, [(178, 182), (-19, -15)]).rows == 0
    assert table.outside(PLACE, [(178, 180), (-19, -15)]).rows == 2
    released = read_table(path, unreadable="missing").select(unreadable="missing")
    assert released.points.tolist() == FIJI.tolist()
    world = Domain(((-180, 180), (-90, 90)))
    for plain in (table.select(domain=world), table.select(turn=False)):
        assert plain.points.tolist() == FIJI.tolist()
        assert not plain.notes

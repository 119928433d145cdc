"""The two columns of a table that are shown first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import read_table
from dpviz.data.reading.table import Table
from tests.support.tiers import examples


def table(**columns: object) -> Table:
    content = pd.DataFrame(columns).to_csv(index=False).encode()
    return read_table(content, name="own.csv")


def named(*names: str) -> Table:
    rng = np.random.default_rng(0)
    return table(**{name: rng.normal(size=50).round(3) for name in names})


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("person", "lon", "lat"), ("lon", "lat")),
        (("Latitude", "Longitude", "depth"), ("Longitude", "Latitude")),
        (("Wert", "Breitengrad", "Längengrad"), ("Längengrad", "Breitengrad")),
        (("valor", "latitud", "longitud"), ("longitud", "latitud")),
        (("age", "y", "x"), ("x", "y")),
        (("x", "y", "LNG", "LAT"), ("LNG", "LAT")),
        (("a", "pickup_latitude", "dropoff_longitude", "pickup_longitude"),
         ("pickup_longitude", "pickup_latitude")),
        (("a", "dropoffLat", "dropoffLon"), ("dropoffLon", "dropoffLat")),
        (("size", "x2", "y1", "y2"), ("x2", "y2")),
        (("Easting (m)", "z", "Northing (m)"), ("Easting (m)", "Northing (m)")),
    ],
)  # fmt: skip
def test_a_place_comes_first(names: tuple[str, ...], expected: tuple[str, str]) -> None:
    one = named(*names)
    assert first_columns(one, one.numeric_columns) == expected


def test_words_inside_others_are_no_axes() -> None:
    one = named("salon", "plate", "xylem", "lat")
    assert first_columns(one, one.numeric_columns) == ("salon", "plate")


def test_else_the_two_most_continuous() -> None:
    rng = np.random.default_rng(1)
    n = 200
    one = table(
        row=np.arange(n) + 7, sex=rng.integers(2, size=n), customer_id=rng.normal(size=n),
        height=rng.normal(170, 9, n).round(1), visits=rng.poisson(9, n), weight=rng.normal(size=n),
    )  # fmt: skip
    numeric = one.numeric_columns
    assert first_columns(one, numeric) == ("height", "weight")
    assert first_columns(one, numeric, but=("weight",)) == ("height", "visits")
    # Row numbers are used only if no other columns remain.
    assert first_columns(one, ("row", "sex", "visits")) == ("sex", "visits")
    assert first_columns(one, ("row", "sex")) == ("row", "sex")
    assert first_columns(one, ("sex", "visits"), but=("sex",)) == ("sex", "visits")


def test_names_of_rows_and_constants_come_last() -> None:
    rng = np.random.default_rng(2)
    one = table(
        fee=np.full(50, 1.5), customerIDs=rng.normal(size=50), Köy=rng.normal(size=50),
        Köx=rng.normal(size=50), naïve_y=rng.integers(40, size=50),
    )  # fmt: skip
    assert first_columns(one, one.numeric_columns) == ("Köy", "Köx")
    assert first_columns(one, ("fee", "Köx", "naïve_y")) == ("Köx", "naïve_y")
    # Constant columns are not used, even if their names match, or only columns in ``but`` remain.
    flat = table(x=np.ones(50), y=np.ones(50), a=rng.normal(size=50), b=rng.normal(size=50))
    assert first_columns(flat, flat.numeric_columns) == ("a", "b")
    assert first_columns(flat, ("x", "a", "b"), but=("b",)) == ("a", "b")
    assert first_columns(flat, ("x", "y", "a")) == ("x", "y")


def test_gaps_and_empty_columns_are_no_obstacle() -> None:
    one = table(a=[1.5, None, 2.5, 3.5], b=[1, 1, None, 1], c=[None, 4, 4.5, 9])
    assert first_columns(one, one.numeric_columns) == ("a", "c")


@examples(60)
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, unique=True))
def test_any_names_give_two_different_columns(names: list[str]) -> None:
    rng = np.random.default_rng(0)
    one = read_table(
        pd.DataFrame(rng.normal(size=(5, len(names)))).to_csv(index=False).encode(), name="own.csv"
    )
    renamed = Table(name="own", columns=tuple(names), cells=one.cells)
    across, up = first_columns(renamed, names)
    assert {across, up} <= set(names)
    assert across != up

"""Exploring writes the table that it shows as CSV; a release reads the same values from CSV."""

from __future__ import annotations

import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.conversion import as_csv, free_name
from dpviz.data.reading.apart import Upload
from dpviz.data.reading.read import read_counts, read_table
from tests.support.tiers import examples

MESSY = {
    "decimal commas": b"a;b;w\n1,5;2,25;x\n3;4,125;y z\n-0,5;1;\n",
    "thousands": b'a,b\n"1,234.5",2\n"12,000",3\n"1,000,000",4\n',
    "mixed": "a;b\n1,5;2\nn.v.;3\n2,5;€ 4\n3,5;5\n4,5;6\n".encode(),
    "quoted breaks": b'a,b,t\n1,2,"two\nlines"\n3,4,"say ""hi"", x"\n',
    "marks": b"a,b,c\n1,-,NA\n2,3,n/a\n4,?,x\n",
    "ids": b"id,x,y\n007,1e3,+2\n0010,1.50,-.5\n",
    "one column": b"a\n1\n\n2\n",
    "degrees": "longitude,latitude\n13° 30' E,52° 30' N\n73° 58' W,40° 45' N\n".encode(),
    "odd names": b'"a;b","c ""d""","e,f",a;b\n1,2,3,4\n5,6,7,8\n',
}


def both(content: bytes, name: str = "a.csv"):
    table = read_table(content, name=name, unreadable="leave out")
    again = read_table(as_csv(table), name="b.csv", unreadable="missing")
    assert again.columns == table.columns
    assert again.rows == table.rows
    return table, again


@pytest.mark.parametrize("name", MESSY)
def test_a_release_reads_the_values_that_are_shown(name: str) -> None:
    table, again = both(MESSY[name])
    columns = [*table.numeric_columns, *table.nearly_numeric]
    seen = table.first_numbers([table.columns.index(one) for one in columns], 10**6)
    read = again.first_numbers([again.columns.index(one) for one in columns], 10**6)
    np.testing.assert_array_equal(seen, read)


def test_identifiers_and_missing_cells_stay_as_they_are() -> None:
    assert as_csv(read_table(MESSY["ids"])) == b"id,x,y\n007,1e3,2\n0010,1.50,-.5\n"
    assert as_csv(read_table(MESSY["marks"])) == b"a,b,c\n1,,\n2,3,\n4,,x\n"
    big = pd.DataFrame({"id": [2**62 + 1, 5], "x": [0.1, np.nan], "t": ["a\r\nb", None]})
    assert as_csv(read_table(big)) == b"id,x,t\n4611686018427387905,0.1,a b\n5,,\n"


def test_no_cell_has_a_line_break() -> None:
    cells = ["a\nb", "a\rb", "a\r\nb", "a\0b", "a\n\nb"]
    lines = as_csv(read_table(pd.DataFrame({"x": [1, 2, 3, 4, 5], "t": cells}))).splitlines()
    assert lines == [b"x,t", b"1,a b", b"2,a b", b"3,a b", b"4,a b", b"5,a  b"]


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
            st.text(string.printable + "äß€\u2028", max_size=8),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_frame_comes_back(rows: list[tuple[float, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["x", "t"])
    table = read_table(frame)
    again = read_table(as_csv(table), name="b.csv", unreadable="missing")
    assert again.rows == len(rows)
    np.testing.assert_array_equal(again.first_numbers([0], 100)[:, 0], frame["x"].to_numpy())


def test_places_around_180_are_written_as_they_are_shown() -> None:
    content = b"n,lat,lon\n1,-17,179.5\n2,-18,-179.5\n3,,-179.25\n"
    table, again = both(content)
    shown = table.select(["lon", "lat"])
    assert shown.points.tolist() == [[179.5, -17], [180.5, -18]]
    assert (
        again.select(["lon", "lat"], unreadable="missing").points.tolist() == shown.points.tolist()
    )


def test_an_upload_is_written_in_its_own_process_within_a_limit() -> None:
    content = MESSY["thousands"]
    upload = Upload("a.csv", len(content), lambda: content, 2**20)
    try:
        table = upload.table(unreadable="leave out")
        assert table.guessed
        assert table.csv(2**20) == as_csv(read_table(content))
        with pytest.raises(InputError, match=r"a\.csv would have more than 10 bytes as CSV"):
            table.csv(10)
    finally:
        upload.close()


def test_counts_have_no_names() -> None:
    counts = read_counts(np.array([[1, 2], [3, 40]]))
    assert as_csv(counts) == b"1,2\n3,40\n"
    assert read_counts(as_csv(counts), any_total=True).counts.tolist() == [[1, 2], [3, 40]]
    with pytest.raises(InputError, match="3 axes"):
        as_csv(read_counts(np.ones((2, 2, 2), dtype=int)))


def test_large_tables_come_back() -> None:
    table = read_table(np.random.default_rng(0).normal(size=(200_000, 3)))
    again = read_table(as_csv(table), name="a.csv", unreadable="missing")
    np.testing.assert_array_equal(again.select().points, table.select().points)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "free"),
    [("a.xlsx", "a-read.csv"), ("a.csv.gz", "a-read.csv"), ("v1.2 b.csv", "v1.2 b-read.csv"),
     (".hidden", ".hidden-read.csv"), ("plain", "plain-read.csv")],
)  # fmt: skip
def test_the_name_is_that_of_the_file(name: str, free: str) -> None:
    assert free_name(name) == free
    assert free_name(name, {free}) == free.replace("-read", "-read-2")

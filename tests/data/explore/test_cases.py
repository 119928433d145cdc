"""Files of real users: the result is in ``cases/expected.csv``, or is an error message."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from dpviz.base.errors import InputError
from dpviz.data.cities import exchanged
from dpviz.data.reading.far import box_without_far
from dpviz.data.reading.proposal import proposed
from dpviz.data.reading.read import read_table

CASES = Path(__file__).parent / "cases"
EXPECTED = list(csv.DictReader((CASES / "expected.csv").read_text("utf-8").splitlines()))

#: Rows of the table that can't be correct. This row gives three records, but the file has four
#: lines of numbers, and this row also says that the first line is a record.
MISCOUNTED = {"double_colon.txt": "4"}

#: Text that must be in the notes, in the questions, or in the error message about a file.
SAID = {
    "age_income.csv": "thousands", "comma_decimals_comma_sep_quoted.csv": "Decimal commas",
    "comments.csv": "2 lines above", "comments_nocomma.csv": "1 line above",
    "cp1252_data.csv": "cp1252", "dms.csv": "Degrees, minutes", "double_colon.txt": "double colons",
    "erddap.csv": "line of units", "footer_total.csv": '"Total"',
    "g_poly_mixed.geojson": "not a point", "geo.parquet": '"geometry"',
    "german_money.csv": "thousands", "header_ws.txt": "spaces",
    "list.parquet": "holds lists", "metres_named_lonlat.geojson": "too large for degrees",
    "na_dash.csv": '6 rows hold "-"', "na_dash_wide.csv": '6 rows hold "-"',
    "na_nul.csv": 'rows hold "\\N"', "noheader_tdrive.txt": "read as data",
    "preamble.csv": "lines above", "pts.npz": '"X"', "quote_last_column.csv": "line 22",
    "quote_pair_mid.csv": "lines 12, 72", "repeated_header.csv": "repeats the names",
    "sentinel_9999.csv": "far", "sentinel_zero.csv": "far", "swapped_lat149.geojson": "exchanged?",
    "three_decimals.csv": "Decimal commas", "units_row.csv": "line of units",
    "wkt.csv": '"geometry"', "wkt_amount.csv": '"geometry"',
}  # fmt: skip


@pytest.mark.some(1000)
@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["file"])
def test_a_file_is_read_as_people_expect(row: dict[str, str]) -> None:
    name, said = row["file"], SAID.get(row["file"], "")
    if row["records"] == "refuse":
        with pytest.raises(InputError, match=said) as caught:
            read_table(CASES / name)
        assert "separat" not in str(caught.value)
        return
    table = read_table(CASES / name)
    columns = proposed(table, table.numeric_columns, table.nearly_numeric)
    data = table.select(columns)
    assert data.points is not None
    records = MISCOUNTED.get(name, row["records"])
    assert not records or data.n == int(records)
    for axis, first in enumerate((row["first_x"], row["first_y"])):
        wanted = row["xy"[axis]]
        assert not wanted or columns[axis] in (wanted, f"column {wanted}")
        assert not first or data.points[0, axis] == pytest.approx(float(first), abs=1e-6)
    notes = [*data.notes, exchanged(columns, data.points)]
    if (box := box_without_far(data.points, columns)) is not None:
        notes.append(f"far: {table.outside(columns, box.bounds).rows} rows")
    assert said in " ".join(notes)


@pytest.mark.parametrize("name", ["release_quoted_word.csv", "release_trailing_comma.csv"])
def test_a_release_reads_every_row_that_exploring_reads(name: str) -> None:
    explored = read_table(CASES / name).select(["lon", "lat"])
    released = read_table(CASES / name, unreadable="missing")
    found = released.select(["lon", "lat"], unreadable="missing")
    assert (found.n, found.dropped) == (explored.n, 0)


def test_an_open_quotation_mark_ends_at_its_line_if_the_line_is_a_record() -> None:
    """A mark for inches is at the start of one field and at the end of another."""
    table = read_table(b'x,y,size\n1,2,"5\n3,4,6"\n5,6,7\n')
    assert table.select(["x", "y"]).points.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_more_lines_above_than_the_file_has_end_at_once() -> None:
    with pytest.raises(InputError):
        read_table(b"x,y\n1,2\n", skip=10**12)


def test_the_table_lists_every_file() -> None:
    assert {row["file"] for row in EXPECTED} == {one.name for one in CASES.iterdir()} - {
        "expected.csv"
    }
    assert {*SAID} <= {row["file"] for row in EXPECTED}

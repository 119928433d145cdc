"""A few unreadable rows are named; exploring leaves out the same rows as a release."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.reading import apart
from dpviz.data.reading.apart import Upload
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import read_table
from dpviz.data.reading.unread import NAMED, NO_ROWS, NamedRows, UnreadableError
from dpviz.data.stored import stored
from tests.support.files import sheet, workbook
from tests.support.tiers import examples

ROWS = 8000
NAMES = ("id", "lon", "lat")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    apart.dismiss()


def table_of(rows: int = ROWS, **cells: object) -> list[list[object]]:
    """Rows of ids and places; "r4712lat" is the cell in line 4712 of the CSV, column lat."""
    found: list[list[object]] = [[at, 13 + at % 97 / 100, 52 + at % 89 / 100] for at in range(rows)]
    for place, cell in cells.items():
        line, name = int(place[1:-3]), place[-3:]
        found[line - 2][NAMES.index(name)] = cell
    return found


def as_csv(rows: list[list[object]], mark: str = ",") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows([NAMES, *rows])
    return text.getvalue().encode()


def as_xlsx(rows: list[list[object]]) -> bytes:
    return workbook({"places": sheet([list(NAMES), *rows])})


def as_geojson(rows: list[list[object]]) -> bytes:
    """The columns are properties of features with a valid point."""
    return json.dumps({
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [0.5, at]},
                "properties": dict(zip(("id", "h lon", "h lat"), row, strict=True)),
            }
            for at, row in enumerate(rows)
        ],
    }).encode()  # fmt: skip


WRITERS = {
    "a.csv": as_csv, "a.tsv": lambda rows: as_csv(rows, "\t"), "a.xlsx": as_xlsx,
    "a.geojson": as_geojson,
}  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize("name", WRITERS)
def test_one_cell_of_8000_rows_is_named_and_left_out_at_one_word(name: str) -> None:
    data = WRITERS[name](table_of(r4712lat="n.v."))
    columns = ["h lon", "h lat"] if name == "a.geojson" else ["lon", "lat"]
    table = read_table(data, name=name)
    row = 4711 if name == "a.geojson" else 4712  # number of the feature, or of the line
    with pytest.raises(UnreadableError, match=rf"^row {row}, column .* holds \"n.v.\"") as caught:
        table.select(columns)
    assert caught.value.rows == NamedRows(rows=1, first=((row, columns[1], "n.v."),))
    assert str(caught.value).endswith(
        'or leave this row out (--leave-out on the command line, unreadable="leave out" in Python).'
    )
    left = table.select(columns, unreadable="leave out")
    assert (left.n, left.dropped, left.unread) == (ROWS - 1, 1, caught.value.rows)
    # Only this row is missing; all other rows are the same as in a table without the error.
    whole = read_table(WRITERS[name](table_of()), name=name).select(columns)
    assert np.array_equal(np.delete(whole.points, 4710, axis=0), left.points)
    assert whole.unread is None
    if name in ("a.csv", "a.tsv"):
        released = read_table(data, name=name, unreadable="missing")
        assert released.select(columns, unreadable="missing").notes[-1:] == left.notes[-1:]
    # Another process gives the same result.
    upload = Upload(name, len(data), lambda: data, 2**24).table(unreadable="leave out")
    assert columns[1] in upload.nearly_numeric
    with pytest.raises(UnreadableError) as away:
        upload.select(columns)
    assert (str(away.value), away.value.rows) == (str(caught.value), caught.value.rows)
    assert upload.select(columns, unreadable="leave out").unread == left.unread
    assert upload.first_columns(columns) == tuple(columns)


def test_ten_rows_are_named_and_all_are_counted() -> None:
    long = "x" * 10_000
    cells = {f"r{line}lat": long for line in range(100, 120)}
    data = as_csv(table_of(r50lon="what", **cells))
    with pytest.raises(UnreadableError) as caught:
        read_table(data).select(["lon", "lat"])
    rows = caught.value.rows
    assert (rows.rows, len(rows.first)) == (21, NAMED)
    assert rows.first[0] == (50, "lon", "what")
    assert [row for row, _, _ in rows.first[1:]] == list(range(100, 109))
    assert all(len(cell) <= 40 for _, _, cell in rows.first)
    assert rows.lines()[0] == 'row 50, column "lon": "what"'
    assert rows.lines()[-1] == "and 11 more rows"
    assert len(str(caught.value)) < 500


def test_a_row_of_another_number_of_fields_is_one_of_them() -> None:
    lines = as_csv(table_of(r4712lat="n.v.")).splitlines()
    lines[99] += b",7"
    lines[300:301] = [b"1,2", b"", b"   "]
    data = b"\n".join(lines)
    table = read_table(data, unreadable="leave out")
    with pytest.raises(UnreadableError, match=r'"n\.v\."') as caught:
        table.select(["lon", "lat"])
    fields = (f"{many} fields where most have 3" for many in (4, 2))
    named = ((100, "", next(fields)), (301, "", next(fields)), (4714, "lat", "n.v."))
    assert caught.value.rows == NamedRows(rows=3, first=named)
    with pytest.raises(UnreadableError, match="row 100 has 4 fields where most have 3"):
        table.select(["id", "lon"])
    left = table.select(["lon", "lat"], unreadable="leave out")
    released = read_table(data, unreadable="missing").select(["lon", "lat"], unreadable="missing")
    assert (left.n, left.dropped) == (released.n, released.dropped) == (ROWS - 3, 3)
    assert np.array_equal(left.points, released.points)
    assert left.notes == released.notes
    assert left.notes[0].endswith("number, or the row has more or fewer fields than the first row.")
    # If many rows are unreadable, they are not mistakes.
    many = read_table(b"a,b,c\n1,2,3\n1,2\n1,2,3\n", unreadable="leave out")
    with pytest.raises(InputError, match="row 3 has 2 fields where most have 3") as caught:
        many.select(["a", "b"], unreadable="leave out")
    assert not isinstance(caught.value, UnreadableError)


def test_many_words_are_no_slips() -> None:
    data = b"x,y\n1,2\n2,a\n3,b\n4,5\n5,c\n"
    for unreadable in ("refuse", "leave out"):
        with pytest.raises(InputError, match='row 3, column "y" holds "a"') as caught:
            read_table(data).select(["x", "y"], unreadable=unreadable)
        assert not isinstance(caught.value, UnreadableError)
    # The first mistake is in a late row, but all rows are checked.
    late = b"x,y\n" + b"1,2\n" * 2000 + b"1,a\n" * 1500
    assert read_table(late).nearly_numeric == ("y",)
    with pytest.raises(InputError) as caught:
        read_table(late).select(["x", "y"])
    assert not isinstance(caught.value, UnreadableError)


def test_numbers_too_large_and_numbers_that_may_be_two_are_among_them() -> None:
    large = read_table(as_csv(table_of(r7lat="1e305")))
    with pytest.raises(UnreadableError, match="holds 1e305: numbers beyond") as caught:
        large.select(["lon", "lat"])
    assert caught.value.rows.first == ((7, "lat", "1e305"),)
    assert large.select(["lon", "lat"], unreadable="leave out").n == ROWS - 1
    frame = pd.DataFrame({"x": ["1.5", "2.5", "?", *["3"] * 9], "y": range(12)})
    assert read_table(frame).select(unreadable="leave out").unread == NamedRows(
        rows=1, first=((3, "x", "?"),)
    )


def test_nothing_to_leave_out_changes_nothing() -> None:
    table = read_table(as_csv(table_of(100)))
    kept, left = table.select(), table.select(unreadable="leave out")
    assert kept.digest == left.digest
    assert (kept.notes, kept.unread, left.unread) == (left.notes, None, NO_ROWS)


def test_columns_with_slips_are_shown_first_by_their_names_alone() -> None:
    rows = "".join(f"{at},{at % 7}.5,{at % 9}.25,{at % 11}.125\n" for at in range(100))
    data = f"id,b,lat,lon\n{rows}1,2,x,3\n"
    table = read_table(data.encode())
    assert table.numeric_columns == ("id", "b", "lon")
    assert table.nearly_numeric == ("lat",)
    offered = ["id", "b", "lat", "lon"]
    assert first_columns(table, offered) == ("lon", "lat")
    table = read_table(data.replace("lat", "c").encode())
    assert first_columns(table, ["id", "b", "c", "lon"]) == ("b", "lon")


@pytest.mark.parametrize(
    "answer",
    ['{"rows": "many", "first": []}', '{"rows": 1, "first": [[1, 2]]}', '{"rows": 1}', "7"],
)
def test_what_another_process_says_of_rows_is_not_believed(answer: str) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        NamedRows.of(json.loads(answer))
    found = NamedRows.of({"rows": 99, "first": [[1, "a" * 10**6, "\x1b" * 10**6]] * 500})
    assert len(found.first) == NAMED
    assert max(map(len, found.lines())) < 200


#: Numbers, missing values and other cells; some contain a comma, quotation mark or separator.
CELLS = st.sampled_from([
    "1", "2.5", "-3e2", "", " ", "NA", "nan", "inf", "?", "n/a?", "1.2.3", '"', "1e301",
    "-", "x y", "0x1f", "1;2", "one or two", "1_000", "\t7",
])  # fmt: skip


@examples(80)
@given(st.lists(st.tuples(CELLS, CELLS, st.booleans()), max_size=12), st.sampled_from(",;\t"))
def test_explorers_leave_out_as_many_rows_as_a_release(
    odd: list[tuple[str, str, bool]], mark: str
) -> None:
    rows = [["a", f"{at}.5", f"{at % 7}"] for at in range(60)]
    for at, (one, other, longer) in enumerate(odd):
        rows.insert(at * 5, ["b", one, other, *(["more"] if longer else [])])
    text = io.StringIO()
    csv.writer(text, delimiter=mark, lineterminator="\n").writerows([["who", "x", "y"], *rows])
    data = text.getvalue().encode()
    columns = ["x", "y"]
    released = read_table(data, unreadable="missing").select(columns, unreadable="missing")
    left = read_table(data, unreadable="leave out").select(columns, unreadable="leave out")
    assert (left.n, left.dropped) == (released.n, released.dropped)
    assert np.array_equal(left.points, released.points)
    said = [[one for one in data.notes if "left out" in one] for data in (left, released)]
    assert said[0] == said[1]
    assert len(said[0]) == bool(left.dropped)
    assert left.unread is not None
    assert left.unread.rows <= left.dropped
    # Each named row contains its cell, even for a program that reads the file line by line.
    lines = data.decode().splitlines()
    for row, column, cell in left.unread.first:
        fields = next(csv.reader([lines[row - 1]], delimiter=mark))
        if column:
            assert fields[1 + columns.index(column)].strip() == cell
        else:
            assert len(fields) == 4


def test_a_folder_leaves_out_the_same_rows(tmp_path) -> None:
    data = as_csv(table_of(r4712lat="n.v.", r9lon="?", r12lat=""))
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "b.csv").write_bytes(as_csv(table_of(50), ";"))
    with pytest.raises(InputError, match=r"leave out rows without a number \(--leave-out\)"):
        stored(tmp_path, ["lon", "lat"])
    data += b"1,2\n\n1,2,3,4\n"
    (tmp_path / "a.csv").write_bytes(data)
    found = stored(tmp_path, ["lon", "lat"], leave_out=True)
    chunks = [one for part in found.parts for one in part.chunks()]
    single = read_table(data, unreadable="leave out").select(["lon", "lat"], unreadable="leave out")
    assert sum(gone for _, gone in chunks) == single.dropped == 5
    points = np.concatenate([points for points, _ in chunks])
    assert np.array_equal(points[:-50], single.points)


@pytest.mark.parametrize("size", [2**22, 200])
def test_a_release_names_lines_of_the_file(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Empty lines, lines with too many fields and block ends change no number of a line."""
    monkeypatch.setattr("dpviz.data.strict.lines._BLOCK", size)
    lines = ["", "x,y", *(f"{at},1" for at in range(60))]
    for at, text in {9: "n/a?,1", 20: "", 21: "1,2,3", 40: "2,bad", 61: "worse,1"}.items():
        lines[at] = text
    table = read_table("\n".join(lines).encode(), name="a.csv", unreadable="missing")
    data = table.select(["x", "y"], unreadable="missing")
    assert data.unread is not None
    named = {(row, cell) for row, column, cell in data.unread.first if column}
    assert named == {(10, "n/a?"), (41, "bad"), (62, "worse")}
    assert data.unread.rows == 4

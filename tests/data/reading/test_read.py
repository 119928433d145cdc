"""Tables and grids of counts are read exactly; for every invalid input there is a message."""

from __future__ import annotations

import csv
import dataclasses
import decimal
import gzip
import io
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.reading.cells import Cells
from dpviz.data.reading.files import MAX_BYTES
from dpviz.data.reading.grids import count_of
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.reading.table import Table
from dpviz.grid.domain import MAX_CELLS, Domain, grid_shape
from tests.support.files import sheet, workbook
from tests.support.limits import limits
from tests.support.parquet_by_hand import (
    BYTE_ARRAY,
    DELTA_BYTE_ARRAY,
    DOUBLE,
    RLE_DICTIONARY,
    Column,
    deep,
    page,
    parquet,
    same_entry,
    struct,
    varint,
    wide,
)
from tests.support.tiers import examples

POINTS = np.array([[1.0, 2.5], [3.25, -4.0], [0.1, 1e-7]])


def csv_bytes(points, header="x,y", delimiter=","):
    lines = [delimiter.join(map(repr, row)) for row in np.asarray(points).tolist()]
    return "\n".join([header.replace(",", delimiter), *lines, ""]).encode()


def npy_bytes(array, allow_pickle=False):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def parquet_bytes(table):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


ARROW = pa.table({"x": POINTS[:, 0], "y": POINTS[:, 1]})


def sentence(call, *fragments):
    """Expect an InputError whose message is one sentence that contains every fragment."""
    with pytest.raises(InputError) as caught:
        call()
    message = str(caught.value)
    assert message.endswith(".")
    assert message.isprintable()
    assert len(message) <= 300
    for fragment in fragments:
        assert fragment in message, message


def refused(source, *fragments, columns=None, least=1, **options):
    sentence(lambda: read_table(source, **options).select(columns, least=least), *fragments)


# --- the same numbers from every source -------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", csv_bytes(POINTS)),
        ("a.tsv", csv_bytes(POINTS, delimiter="\t")),
        ("a.csv", csv_bytes(POINTS, delimiter=";")),
        ("a.txt", csv_bytes(POINTS, delimiter="|")),
        ("a.csv", csv_bytes(POINTS).replace(b"\n", b"\r\n")),
        ("a.csv", csv_bytes(POINTS).replace(b"\n", b"\r")),
        ("a.csv", b"\xef\xbb\xbf" + csv_bytes(POINTS)),
        ("a.csv", csv_bytes(POINTS, header=' x ,"y"')),
        ("a.csv", csv_bytes(POINTS).rstrip()),
        ("a.parquet", parquet_bytes(ARROW)),
        ("a.pq", parquet_bytes(ARROW)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_file_format_gives_the_same_points(tmp_path, name, data, packed):
    if packed:
        name, data = f"{name}.gz", gzip.compress(data, mtime=0)
    path = tmp_path / name
    path.write_bytes(data)
    with path.open("rb") as file:
        for source in (path, str(path), data, bytearray(data), io.BytesIO(data), file):
            table = read_table(source)
            dataset = table.select()
            assert table.columns == dataset.columns == ("x", "y")
            assert dataset.points.tolist() == POINTS.tolist()
            assert (dataset.dropped, dataset.notes, dataset.domain) == (0, (), None)
    assert read_table(path).name == name
    assert read_table(path, name="Survey").select().name == "Survey"


@pytest.mark.parametrize(
    "source",
    [
        POINTS,
        np.asfortranarray(POINTS),
        POINTS.astype(">f8"),
        POINTS.astype(np.longdouble),
        npy_bytes(POINTS),
        npy_bytes(np.asfortranarray(POINTS)),
        gzip.compress(npy_bytes(POINTS), mtime=0),
        npy_bytes(np.rec.fromarrays(POINTS.T, names="column 1,column 2")),
        pd.DataFrame(POINTS, columns=["column 1", "column 2"], index=[7, 7, 9]),
        ARROW.rename_columns(["column 1", "column 2"]),
    ],
)
def test_memory_and_npy_give_the_same_points(source):
    dataset = read_table(source).select()
    assert dataset.points.tolist() == POINTS.tolist()
    assert dataset.columns == ("column 1", "column 2")
    assert dataset.points.flags.c_contiguous
    assert dataset.points.dtype == np.float64


finite = st.floats(-1e300, 1e300)


@settings(deadline=None)
@given(
    st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=30),
    st.sampled_from(",;\t|"),
    st.booleans(),
)
def test_csv_round_trip_is_exact(rows, delimiter, header):
    data = csv_bytes(rows, header="a,b,c", delimiter=delimiter)
    if not header:
        data = data.split(b"\n", 1)[1]
    dataset = read_table(data).select()
    assert dataset.points.tolist() == [list(row) for row in rows]
    assert dataset.columns == (("a", "b", "c") if header else ("column 1", "column 2", "column 3"))


def test_reading_leaves_the_source_alone():
    frame = pd.DataFrame({"a": ["1", "2"], 0: [3, 4]})
    before = frame.copy()
    dataset = read_table(frame).select()
    dataset.points[:] = -1
    pd.testing.assert_frame_equal(frame, before)
    points = POINTS.copy()
    read_table(points).select().points[:] = 0
    assert (points == POINTS).all()


def test_an_upload_read_before_is_read_from_its_beginning():
    upload = io.BytesIO(csv_bytes(POINTS))
    upload.name = "up.csv"
    upload.read()
    assert read_table(upload).name == "up.csv"


def test_stream_that_can_not_seek(tmp_path):
    class Pipe:
        name = "<stdin>"

        def __init__(self, data):
            self.read = io.BytesIO(data).read

    assert read_table(Pipe(csv_bytes(POINTS)), name="stdin").select().n == 3
    assert read_table(Pipe(npy_bytes(POINTS))).name == "<stdin>"
    refused(Pipe(csv_bytes(POINTS)), "<stdin> has more than 10 bytes", max_bytes=10)


# --- header, names, separators ----------------------------------------------------------


def test_header_is_found():
    assert read_table(b"1,2\n3,4\n").select().points.tolist() == [[1, 2], [3, 4]]
    assert "read as data" in read_table(b"1,2\n3,4\n").notes[0]
    assert read_table(b"1,2\n3,4\n", header=True).columns == ("1", "2")
    assert read_table(b"1,2\n3,4\n", header=True).select().n == 1
    assert read_table(b"1,2\n3,4\n", header=False).notes == ()
    assert read_table(b"nan,2\n3,4\n").select().n == 1
    assert read_table(b",0,1\n0,3,4\n1,5,6\n").columns == ("column 1", "0", "1")
    assert read_table(b"3,1;2\n4;2\n").select().points.tolist() == [[3.1, 2], [4, 2]]


def test_names_become_unique_and_printable():
    table = read_table(b'a, a ,,a (2),"b\n\tc",a,\x1b\n1,2,3,4,5,6,7\n')
    assert table.columns == ("a", "a (2)", "column 3", "a (2) (2)", "b c", "a (3)", "column 7")
    assert len(set(table.columns)) == 7
    assert read_table(pd.DataFrame([[1, 2]], columns=["x", "x"])).columns == ("x", "x (2)")
    assert read_table(pa.table([[1], [2]], names=["x", "x"])).columns == ("x", "x (2)")


def test_quoted_text_with_separators_and_newlines():
    data = b'place,x,y\n"a\n\nb, ""c""",1,2\n"d;e;f",3,"4"\n\n'
    table = read_table(data)
    assert table.select(unit="place").units.tolist() == ['a\n\nb, "c"', "d;e;f"]
    assert table.numeric_columns == ("x", "y")
    assert table.select().points.tolist() == [[1, 2], [3, 4]]
    quoted_header = b'"x\n1",y\n1,2\n3,oops\n'
    refused(quoted_header, "row 4", 'column "y"', '"oops"', columns=["x 1", "y"])


def test_semicolons_win_over_commas_inside_numbers():
    table = read_table(b"x;y\n3,14;1\n-,5;2\n2;1\n")
    assert table.select().points.tolist() == [[3.14, 1], [-0.5, 2], [2, 1]]
    assert table.select().notes == ('Decimal commas are read as points (3,14 as 3.14) in "x".',)
    # Semicolons also separate a file without a header, although commas would split both lines, too.
    assert read_table(b"1,5;2,5\n3,5;4,5\n").select().points.tolist() == [[1.5, 2.5], [3.5, 4.5]]


def test_a_column_of_numbers_with_a_slip_is_left_out_with_a_word():
    data = b"x,y,z,name\n1,2,3,a\n2,3,oops,b\n3,4,5,c\n4,5,6,d\n5,6,7,e\n"
    table = read_table(data)
    (note,) = table.select().notes
    assert note == (
        'Row 3, column "z" holds "oops" where a number is expected: correct the cell or choose '
        "another column. The column is left out."
    )
    # Also with decimal commas.
    table = read_table(b"x;y;z\n1,5;2;3,5\n2,5;3;oops\n3,5;4;5,5\n4,5;5;6,5\n5,5;6;7,5\n")
    assert table.select().notes[-1] == note
    table = read_table(data)
    # If the user chose columns there is no note; a release does not describe cells.
    assert table.select(["x", "y"]).notes == ()
    assert table.select(["x", "y", "z"], unreadable="missing").notes[0].startswith("1 row")
    assert table.select(unit="z").notes == ()


def test_decimal_commas_that_are_not_safe():
    way_out = ("decimal commas", "semicolons")
    refused(b"x;y\n3,14;1\n2.5;2\n", "row 2", '"x"', '"3,14"', *way_out, columns=["x", "y"])
    assert read_table(b'x,y\n1,"3,14"\n').select().points.tolist() == [[1, 3.14]]
    refused(b"x;y\n1.234,5;1\n1234,5;2\n", '"1.234,5"', columns=["x", "y"])


def test_numbers_in_unusual_forms():
    data = b'x,y\n+5, 6 \n5.,.5\n" 7","1E2"\n007,1e-400\n\xc2\xa08,9\n'
    dataset = read_table(data).select()
    assert dataset.points.tolist() == [[5, 6], [5, 0.5], [7, 100], [7, 0], [8, 9]]


# --- rows left out, and rows named in messages ------------------------------------------


def test_missing_values_are_dropped_counted_and_said():
    data = b"x,y,z\n1,2,a\n,2,b\n3,NaN,c\n4,inf,d\n-Infinity,5,e\n6, ,f\nNA,8,g\n9,10,\n"
    table = read_table(data)
    assert table.numeric_columns == ("x", "y")
    dataset = table.select()
    assert dataset.points.tolist() == [[1, 2], [9, 10]]
    assert dataset.dropped == 6
    assert dataset.notes == (
        '6 rows were left out: a value in "x", "y" is missing, infinite or not a number.',
    )
    one = read_table(pd.DataFrame({"x": [1, None], "y": [1, 2], "z": [None, 1.0]}))
    assert one.select(["x", "y"]).notes[0].startswith("1 row was left out")
    assert one.select(["x", "y"]).dropped == 1


def test_blank_lines_are_no_rows_but_keep_the_numbers():
    data = b"\n \nx,y\n\n1,2\n,\n\n  \n3,4\n\n5,oops\n\n"
    table = read_table(data)
    assert table.rows == 4
    assert (table.row(0), table.row(2), table.row(3)) == (5, 9, 11)
    refused(data, "row 11,", columns=["x", "y"])
    dataset = read_table(data.replace(b"oops", b"6")).select()
    assert dataset.points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert dataset.dropped == 1


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_row_numbers_with_and_without_header(newline):
    data = b"x,y\n1,2\n3,n/a?\n".replace(b"\n", newline)
    refused(data, 'row 3, column "y" holds "n/a?" where a number is expected', columns=[1, 2])
    refused(
        data.split(newline, 1)[1],
        'row 2, column "column 2" holds "n/a?"',
        "correct the cell or choose another column",
        columns=[1, 2],
        header=False,
    )
    flags = b"x,y\n1,1\n3,true\n".replace(b"\n", newline)
    refused(flags, "row 3", '"true"', columns=[1, 2])
    assert read_table(data).row(0) == 2
    assert read_table(b"1,2\n3,4\n").row(0) == 1
    refused(pd.DataFrame({"x": [1, 2], "y": [3, "q"]}), "row 2,", '"q"', columns=["x", "y"])


def test_ragged_rows():
    refused(b"x,y\n1,2\n1,2,3\n", "row 3 has 3 fields where most have 2")
    refused(b"x;y\n1;2\n\n1;2;3;4\n", "row 4 has 4 fields")
    refused(b"1,2\n1,2\n1\n", "row 3 has 1 field where most have 2")
    # A separator that is not in the line of names, and quotation marks that are never closed.
    for data in (b"x,y\n" + b"1;2\n" * 9, b'x,y\n"1,2\n3,4\n', b'"x,y\n1,2\n'):
        assert read_table(data).select().columns == ("x", "y")
        assert read_table(data).select().points[0].tolist() == [1, 2]
    long = csv_bytes(np.ones((200_000, 2)))
    refused(long + b"1\n", "row 200002 has 1 field")


def test_large_and_wide_files():
    rows = np.arange(400_000.0).reshape(-1, 2)
    text = csv_bytes(rows).replace(b"\n", b"\n\n", 5)
    dataset = read_table(text).select()
    assert (dataset.points == rows).all()
    wide = csv_bytes(np.ones((2, 3000)), header=",".join(f"c{k}" for k in range(3000)))
    assert read_table(wide).select().ndim == 3000
    record = b'x,y,t\n1,2,"' + b"word\n" * 350 + b'"\n3,4,\n'
    assert read_table(record).select().n == 2
    too_wide = b",".join([b"a"] * 20_000)
    refused(too_wide + b"\n" + too_wide, "20,000 columns", "limit is 10,000")
    refused(np.ones((1, 10_001)), "10,001 columns")
    refused(pa.table([[1]] * 10_001, names=["a"] * 10_001), "10,001 columns")


# --- columns, units, domain -------------------------------------------------------------


def test_columns_by_name_and_number():
    table = read_table(b"a,b,2\n1,2,3\n")
    assert table.select(["2", "a"]).points.tolist() == [[3, 1]]
    assert table.select([2, 1]).columns == ("b", "a")
    assert table.select(["3", "a"]).columns == ("2", "a")


@pytest.mark.parametrize("column", ["z", 0, 4, "0", "4", -1, "²", "\n\x1b", "z" * 999])
def test_unknown_column(column):
    table = read_table(b"a,b,c\n1,2,3\n")
    sentence(lambda: table.select(["a", column]), "is not in data", 'choose from "a", "b", "c"')
    sentence(lambda: table.select(unit=column), "is not in data", 'choose from "a", "b", "c"')


def test_many_columns_are_not_all_listed():
    table = read_table(np.ones((2, 500)))
    sentence(lambda: table.select(["z", 1]), 'choose from "column 1"', "more")


def test_one_column_is_enough_unless_somebody_needs_two():
    assert read_table(b"x\n1\n2\n").select().points.tolist() == [[1], [2]]
    assert read_table(np.ones((3, 1))).select().points.shape == (3, 1)
    assert read_table(b"x,t\n1,a\n").select().columns == ("x",)
    assert read_table(b"x,y\n1,2\n").select(["y"]).points.tolist() == [[2]]
    assert read_table(b"id,x\na,1\nb,2\n").select(unit="id").points.tolist() == [[1], [2]]
    refused(b"x\n1\n2\n", 'one column, "x"', "at least two", "add a column of numbers", least=2)
    refused(np.ones((3, 1)), "one column", "at least two", least=2)
    refused(b"x,t\n1,a\n", '1 numeric column "x"', "least two", 'from "x", "t"', least=2)
    refused(b"x,y\n1,2\n", "1 chosen column", "at least two", columns=["x"], least=2)


def test_too_few_columns():
    refused(b"a\n1;2\n3\n4\n", "one column", "semicolons")
    refused(b"a\n1\t2\n3\n4\n", "one column", "tabs")
    refused(b"a\n1|2\n3\n4\n", "one column", "pipes")
    refused(b"s,t\na,b\n", "no numeric column", "at least one", 'choose from "s", "t"')
    refused(b"x,y\n1,2\n", "no chosen column", columns=[])
    refused(b"x,y\n1,2\n", "name each column once", columns=["x", 1])


def test_units():
    table = read_table(b"id,x,y\n7,1,2\n8,3,4\n7,5,\n,6,7\n")
    dataset = table.select(unit="id")
    assert dataset.columns == ("x", "y")
    assert dataset.units.tolist() == ["7", "8"]
    assert dataset.dropped == 2
    assert 'there is nothing in "id"' in dataset.notes[0]
    text = read_table(b"id,x,y\nann,1,2\nbob,3,4\n").select(["x", "y"], unit=1)
    assert text.units.tolist() == ["ann", "bob"]
    long = read_table(b"id,x,y\n900719925474099267,1,2\n900719925474099268,1,2\n,1,2\n")
    assert long.select(unit="id").units.tolist() == ["900719925474099267", "900719925474099268"]
    times = pd.DataFrame({"t": pd.to_datetime(["2020-01-01", None]), "x": [1, 2], "y": [1, 2]})
    assert len(read_table(times).select(unit="t").units) == 1
    flags = pd.DataFrame({"t": [True, False], "x": [1, 2], "y": [1, 2]})
    assert read_table(flags).select(unit="t").units.tolist() == [True, False]


@pytest.mark.parametrize("kind", ["Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]"])
def test_long_whole_numbers_in_a_frame_stay_whole(kind):
    largest = 2**63 - 1 if kind.lower().startswith("int") else 2**64 - 1
    who = pd.array([largest, None, largest - 1], dtype=kind)
    frame = pd.DataFrame({"x": [1, 2, 3], "who": who})
    assert read_table(frame).select(["x"], unit="who").units.tolist() == [largest, largest - 1]


def test_names_that_somebody_gave_are_not_doubtful():
    assert read_table(b"x,0\n3,4\n").doubtful == ("0",)
    assert read_table(b"x,0\n3,4\n", header=True).doubtful == ()
    assert read_table(b"1,2\n3,4\n").doubtful == ()
    for header, doubtful in ((None, ("0", "-inf")), (True, ()), ("x,0,-inf", ())):
        table = read_table(b"x,0,-inf\n3,4,5\n", header=header, unreadable="missing")
        assert (table.columns, table.doubtful) == (("x", "0", "-inf"), doubtful)


def test_domain_is_passed_on_and_checked():
    domain = Domain(((0, 1), (0, 2)))
    assert read_table(POINTS).select(domain=domain).domain is domain
    sentence(
        lambda: read_table(POINTS).select(domain=domain.select([0])),
        "1 lo,hi pair",
        "2 chosen columns",
    )


def test_no_row_left():
    refused(b"x,y\n1,\n,2\n", "no row with a finite number in each", '"x", "y"')
    refused(b"x,y\n,\n", "no row", columns=["x", "y"])
    refused(b"x,y\n,\n,\n", "no numeric column")


def test_all_points_equal_is_said():
    dataset = read_table(b"x,y\n1,2\n1,2\n").select()
    assert dataset.n == 2
    assert dataset.notes == ("All 2 points are equal, so there is only one cluster to find.",)
    assert read_table(b"x,y\n1,2\n").select().notes == ()


def test_numbers_too_large():
    assert read_table(b"x,y\n1,1e300\n-1e300,0\n").select().n == 2
    refused(b"x,y\n1,2\n3,1.5e300\n", "row 3", '"y"', "1.5e300", "rescale")
    refused(b"x,y\n,2\n-2e301,2\n", "row 3", '"x"', "-2e301")
    assert read_table(b"x,y\n,1e305\n1,2\n").select().n == 1
    assert read_table(b"x,y\n1e999,1\n1,2\n").select().dropped == 1
    wide = np.array([[1, 2], [np.longdouble("1e4000"), 3]], dtype=np.longdouble)
    assert read_table(wide).select().dropped == 1


# --- files that are not tables ----------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "npy", "parquet", "dat", "csv.gz"])
@pytest.mark.parametrize("data", [b"", b" \n\r\n\t\n"])
def test_empty_file(ending, data):
    data = gzip.compress(data, mtime=0) if ending.endswith("gz") else data
    refused(data, f"a.{ending} is empty", name=f"a.{ending}")
    sentence(lambda: read_counts(data, name=f"a.{ending}"), "is empty")


@pytest.mark.parametrize("data", [b"x,y", b"x,y\n", b"\n\nx,y\n\n \n\n", b"\xef\xbb\xbfx,y\r\n"])
def test_header_only(data):
    refused(data, "only a header", "at least one row")


def test_only_a_byte_order_mark():
    refused(b"\xef\xbb\xbf", "no row")


def test_binary_named_csv():
    refused(b"x,y\n1,\0\n", "line 2 has a NUL byte")
    # If the bytes can't be text, they decide the format, whatever the file name is.
    assert read_table(npy_bytes(POINTS), name="a.csv").select().n == 3
    assert read_table(parquet_bytes(ARROW), name="a.csv").select().n == 3
    assert read_table(gzip.compress(csv_bytes(POINTS), mtime=0), name="a.csv").select().n == 3


def test_a_damaged_character_far_behind_leaves_the_others_alone():
    line = "1,2,Straße é\n".encode()
    table = read_table(b"x,y,z\n" + line * 2**17 + b"3,4,\xe9\n" + line * 2**17)
    assert table.select(["x", "y"]).n == 2**18 + 1
    assert set(table.select(["x"], unit="z").units) == {"Straße é"}
    assert any("Damaged characters" in note for note in table.notes)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *((one, "Straße,x,y\nä,1,2\n") for one in ("utf-16", "utf-16-le", "utf-16-be", "cp1252")),
        ("cp1251", "название,x,y\n" + "Невский проспект,1,2\nулица Ленина,3,4\n" * 20),
        ("utf-8-sig", "Straße,x,y\nä,1,2\n"),
    ],
)
def test_encodings(encoding, text):
    table = read_table(text.encode(encoding))
    assert table.columns == (text.partition(",")[0], "x", "y")
    assert table.select(["x", "y"]).points[0].tolist() == [1, 2]
    known = read_table(text.encode(encoding), encoding=encoding)
    assert (known.columns, known.notes) == (table.columns, ())
    assert bool(table.notes) == (encoding != "utf-8-sig")


def test_paths(tmp_path):
    refused(tmp_path / "none.csv", "none.csv does not exist")
    refused(tmp_path, "is a directory")
    refused("a\0b", "can't be read")
    refused("", "is a directory")
    refused("x" * 5000, "can't be read")
    refused(io.StringIO("x,y\n1,2\n"), "binary mode")
    refused([[1, 2]], "can't be read from list")
    (tmp_path / "a.csv").write_bytes(b"x,y\n1,2\n")
    with (tmp_path / "a.csv").open("rb") as closed:
        pass
    refused(closed, "a.csv can't be read", "closed")


def test_size_limit(tmp_path):
    path = tmp_path / "big.csv"
    path.write_bytes(csv_bytes(POINTS))
    size = path.stat().st_size
    assert read_table(path, max_bytes=size).select().n == 3
    refused(path, "big.csv has more than 10 bytes, the limit", max_bytes=10)
    refused(path.read_bytes(), "more than 10 bytes", max_bytes=10)
    with path.open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    refused(path, "has more than 2,048 MB, the limit: give fewer rows")
    sentence(lambda: read_counts(path), "more than 2,048 MB, the limit")


def test_gzip_bomb():
    member = gzip.compress(b"0,0\n" * 2**20, mtime=0)
    bomb = member * 100
    limit = len(bomb) + 1
    refused(bomb, "unpacked", "limit", name="bomb.csv.gz", max_bytes=limit)
    sentence(lambda: read_counts(bomb, max_bytes=limit), "unpacked", "limit")
    tracemalloc.start()
    refused(bomb, "unpacked", max_bytes=limit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * limit  # not the 400 MB that the bomb holds


@pytest.mark.parametrize("cut", [3, 11, 30, -9, -1])
def test_cut_off_files(cut):
    refused(gzip.compress(csv_bytes(POINTS), mtime=0)[:cut], "damaged gzip", "cut off")
    refused(parquet_bytes(ARROW)[:cut], "not a whole Parquet", name="a.parquet")
    refused(npy_bytes(POINTS)[:cut], ".npy" if cut > 0 else "cut off", name="a.npy")


def test_wrong_endings():
    refused(csv_bytes(POINTS), "not a gzip file", name="a.csv.gz")
    refused(csv_bytes(POINTS), "not a .npy file", name="a.npy")
    refused(csv_bytes(POINTS), "not a whole Parquet", name="a.parquet")


# --- time and memory --------------------------------------------------------------------


def taken(data, call, **options):
    with limits(len(data)):
        try:
            return call(read_table(data, **options))
        except InputError as error:
            return str(error)


LONG = 50_000


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("data", "points"),
    [
        (b"x,y\n1,2\n" + b" " * LONG + b"a,3\n", [[2], [3]]),
        (b"x,y\n1,2\n" + b" " * LONG + b"3," + b" " * LONG + b"4\n", [[1, 2], [3, 4]]),
        (
            b"1 2\n" + b" " * LONG + b"3" + b" " * LONG + b"4" + b" " * LONG + b"\n",
            [[1, 2], [3, 4]],
        ),
        (b"1 2\r\n3" + b" " * LONG + b"4" + b" \r" * LONG + b"\n", [[1, 2], [3, 4]]),
        (b" " * 300_000 + b"x,y\n1,2\n", "262,144 bytes or more in line 1"),
        (b"\n" * 300_000 + b"x,y\n1,2\n", [[1, 2]]),
        (b"1" * 120_000 + b"x,y\n3,4\n", [[3, 4]]),
        (b"x,y\n" + b"1" * 120_000 + b"x,3\n4,5\n", [[3], [5]]),
        (b"x;y\n" + b"1" * 120_000 + b",;3\n4,5;5\n", [[4.5, 5]]),
        (b"x;y\n" + b"1,5;2,5\n" * 10**6, 10**6),
        (b"x,y\n1,2\n" + b"\n" * 10**6 + b"3,4\n", [[1, 2], [3, 4]]),
        (b"x,y\n1,2\n" + b"  \n" * 101_000 + b"3,4\n", [[1, 2], [3, 4]]),
        (b"x,y\n1,2\n" + b'"' * 10**6 + b"\n", [[1, 2]]),  # below the table
        (b"x,y\n1,2\n" + b'"a""' * 10**6 + b"\n", [[1, 2]]),
        (b'"' + b'x""' * 30_000 + b'",y\n1,2\n', [[1, 2]]),
        (b"x" * 2**20 + b",y\n1,2\n", "262,144 bytes or more in line 1"),
        (b"x,y\n1,2\n" + b"3," * 10**6 + b"\n", "row 3 has 1,000,001 fields"),
        (b"x,t\n1,b\n2," + b"a" * 10**8 + b"\n3,b\n", [[1], [2], [3]]),
        (b"x,t\n1,b\n" + b'2,"' + b"a\n" * 10**7 + b'"\n3,b\n', "one column"),
        ("x,y,t\n1,2,\U0001f600\n".encode() + "3,4,ä\n".encode() * 10**6, 10**6 + 1),
    ],
    ids=range(20),
)
def test_a_long_run_takes_no_long_time(data, points):
    outcome = taken(data, lambda table: table.select().points)
    if isinstance(points, str):
        assert points in outcome
    elif isinstance(points, int):
        assert len(outcome) == points
    else:
        numbers = [[value for value in row if value < 1e300] for row in outcome.tolist()]
        assert numbers == points


def test_lines_above_may_be_more_than_are_looked_at():
    above = "".join(f"# note {number}; of, many\n" for number in range(600))
    data = f"{above}lon,lat\n1.5,2\n3,4\n".encode()
    table = read_table(data, skip=600)
    assert table.select().points.tolist() == [[1.5, 2], [3, 4]]
    assert table.columns == ("lon", "lat")
    with pytest.raises(InputError, match="no row below line 603"):
        read_table(data, skip=700)


@pytest.mark.exhaustive(reason="test_one_record.py tells rows by their lines")
def test_row_numbers_count_every_blank_line():
    data = b"x,y\n1,2\n" + b"\n  \n,\n" * 1000 + b"3,4\n" * 10**6 + b"\n5,q\n"
    with limits(len(data)):
        refused(data, "row 1003004, ", '"q"', columns=["x", "y"])
    with limits(len(data)):
        refused(data.replace(b"5,q", b"5,6,7"), "row 1003004 has 3 fields")


@pytest.mark.some(1)
@pytest.mark.daily("1,2\\n-10000000-False", "1,2\\n-10000000-True", "1;2,5\\n-5000000-False")
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("line", "n"),
    [(b"1 2\n", 10**7), (b"1,2\n", 10**7), (b"1,\n", 10**7), (b"1;2,5\n", 5 * 10**6)],
)
def test_memory_for_text_grows_with_the_file_alone(line, n, packed):
    data = line * n
    data = gzip.compress(data, 1, mtime=0) if packed else data
    assert taken(data, lambda table: table.select([1]).n, header=False) == n


def test_text_is_parsed_in_blocks():
    data = b"x,t\n" + (b"1," + b"a" * 98 + b"\n") * (2 * 10**6)
    with limits(len(data), most=2**29):
        assert read_table(data).select().n == 2 * 10**6


@pytest.mark.exhaustive
def test_memory_for_wide_tables_and_identifiers():
    wide = (b",".join([b"7"] * 10_000) + b"\n") * 1_000
    assert taken(wide, lambda table: table.select().points.shape) == (1_000, 10_000)
    persons = b"id,x\n" + b"".join(b"p%x,1\n" % number for number in range(10**6))
    units = taken(persons, lambda table: table.select(unit="id").units)
    assert len(units) == 10**6
    assert units[12] == "pc"


def test_what_does_not_fit_into_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr("dpviz.data.reading.files._MORE", 2**27 + 2**24)
    data = gzip.compress(b"1,2\n" * 10**6, mtime=0)
    outcome = taken(data, lambda table: table.select())
    assert "has too many rows, because 2 columns would need" in outcome
    assert outcome.endswith("give fewer rows, or choose fewer columns.")
    assert taken(data, lambda table: table.select([2]).n) == 10**6
    outcome = taken(gzip.compress(b"1,2\n" * 4 * 10**7, 1, mtime=0), lambda table: table.select())
    assert " unpacked, the limit: give fewer" in outcome
    assert "a random sample" in outcome
    names = b"id,x\n" + b"".join(b"%07x,1\n" % number for number in range(5 * 10**5))
    outcome = taken(names, lambda table: table.select(unit="id"))
    assert 'column "id" of data holds too many identifiers' in outcome
    assert taken(names.replace(b",1", b",2"), lambda table: table.select().n) == 5 * 10**5


# --- Parquet files that are larger than they look ---------------------------------------


def repeated(name, rows, kind=DOUBLE, entry=bytes(8)):
    """Column that repeats one value; it takes only a few bytes."""
    pages = [page(entry, 1, dictionary=True), page(same_entry(rows), rows, RLE_DICTIONARY)]
    return Column(name, kind, pages, dictionary=True)


def entry(text):
    return len(text).to_bytes(4, "little") + text


def test_parquet_by_hand_is_what_pyarrow_reads():
    columns = [repeated(b"x", 9), repeated(b"t", 9, BYTE_ARRAY, entry(b"me"))]
    columns.append(Column(b"y", DOUBLE, [page(np.arange(9.0).tobytes(), 9)]))
    data = parquet(columns, 9)
    read = pyarrow.parquet.ParquetFile(io.BytesIO(data)).read().to_pydict()
    assert read == {"x": [0.0] * 9, "t": ["me"] * 9, "y": list(map(float, range(9)))}
    table = read_table(data)
    assert table.numeric_columns == ("x", "y")
    assert table.select(unit="t").units.tolist() == ["me"] * 9
    assert table.select().points.tolist() == [[0, number] for number in range(9)]


@pytest.mark.exhaustive(reason="reads 100 million rows; smaller limits are daily")
def test_parquet_rows_that_would_fill_the_memory():
    n = 10**8
    data = parquet([repeated(b"c%d" % number, n) for number in range(6)], n)
    outcome = taken(data, lambda table: table.select())
    assert "has too many rows, because 6 columns would need more memory" in outcome
    assert outcome.endswith("give fewer rows, or choose fewer columns.")
    assert taken(data, lambda table: table.select(["c3"]).points.shape) == (n, 1)


@pytest.mark.exhaustive(reason="it only saves memory; the next test limits the memory of rows")
def test_parquet_decodes_chosen_columns_alone():
    n = 10**6
    text = repeated(b"t", n, BYTE_ARRAY, entry(b"a" * 20))
    zeros = Column(b"z", DOUBLE, [page(bytes(2**28), n)])
    data = parquet([repeated(b"x", n), text, zeros, repeated(b"y", n)], n)
    assert taken(data, lambda table: table.select(["x", "y"]).points.shape) == (n, 2)
    assert {"x", "y"} <= {*taken(data, lambda table: table.numeric_columns)}
    assert taken(data, lambda table: table.select(["x", "z"]).points.shape) == (n, 2)
    units = taken(data, lambda table: table.select(["x", "y"], unit="t").units)
    assert (len(units), units[-1]) == (n, "a" * 20)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (wide(10**6), "not a whole Parquet file"),
        (deep(10**5), "not a whole Parquet file"),
        (
            parquet([repeated(b"x", 9)], 10**15),
            "too many rows, because a column would need more memory",
        ),
        (
            parquet(
                [
                    Column(
                        b"x",
                        DOUBLE,
                        [page(bytes(8), 2**31 - 1, dictionary=True), page(same_entry(9), 9, 8)],
                        dictionary=True,
                    )
                ],
                9,
            ),
            "memory that is free",
        ),
        (parquet([repeated(b"x", 9)], 10**6), "not a whole Parquet file"),
        (parquet([Column(b"x", DOUBLE, [page(bytes(80), 10, says=8)])], 10), "not a whole Parquet"),
        (
            # The page header states the size of a list of 2**60 numbers.
            parquet([Column(b"x", DOUBLE, [struct({9: (9, b"\xf7" + varint(2**60))})[1]])], 9),
            "not a whole Parquet file",
        ),
        (
            parquet([Column(b"x", DOUBLE, [page(bytes(80), 10, says=2**30)])], 10),
            "not a whole Parquet file",
        ),
        (
            parquet([Column(b"x", BYTE_ARRAY, [page(bytes(2**27), 2**25)])], 2**25),
            "no row with a finite number",
        ),
        (
            parquet([Column(b"x", BYTE_ARRAY, [page(entry(b"1"), 9, DELTA_BYTE_ARRAY)])], 9),
            "not a whole Parquet file",
        ),
        (parquet([Column(b"x", DOUBLE, [page(b"", 0)] * 201_000)], 9), "not a whole Parquet file"),
    ],
    ids=range(11),
)
def test_parquet_that_lies_or_is_too_large(data, said):
    assert said in taken(data, lambda table: table.select(["x"]))
    taken(data, lambda table: table.select())


def test_more_rows_than_any_column_may_have_are_refused_at_once():
    data = parquet([repeated(b"x", 9)], 10**15)
    with limits(len(data), most=2**24):
        sentence(lambda: read_table(data), "too many rows, because a column", "give fewer rows.")


@pytest.mark.exhaustive
def test_thirty_million_points_are_read(tmp_path):
    n = 30 * 10**6
    rows = np.arange(n, dtype=float)
    path = tmp_path / "big.npy"
    np.save(path, np.column_stack([rows, rows]))
    with limits(path.stat().st_size):
        assert (read_table(path).select().points[-3:, 1] == rows[-3:]).all()
    path.unlink()
    path = tmp_path / "big.parquet"
    with pyarrow.parquet.ParquetWriter(path, ARROW.schema, use_dictionary=False) as writer:
        for part in np.split(rows, 10):
            writer.write_table(pa.table({"x": part, "y": part}))
    with limits(path.stat().st_size):
        assert (read_table(path).select().points[-3:, 1] == rows[-3:]).all()


# --- types ------------------------------------------------------------------------------


class Unpickled:
    """An object that creates a file when it is unpickled."""

    trace: Path

    def __reduce__(self):
        return Path.touch, (self.trace,)


def test_pickles_are_never_loaded(tmp_path):
    Unpickled.trace = tmp_path / "trace"
    array = np.array([[Unpickled(), 1], [2, 3]], dtype=object)
    data = npy_bytes(array, allow_pickle=True)
    refused(data, "never loaded", name="a.npy")
    refused(data, "never loaded")
    sentence(lambda: read_counts(data), "never loaded")
    refused(pickle.dumps(Unpickled()), "a pickle of Python, which is never loaded", name="a.npy")
    assert not Unpickled.trace.exists()


@pytest.mark.parametrize("kind", [bool, complex, "U3", "M8[s]", "V4"])
def test_arrays_of_other_types(kind):
    array = np.zeros((2, 2), dtype=kind)
    for source in (array, npy_bytes(array)):
        refused(source, str(array.dtype)[:20], "convert")
        sentence(lambda source=source: read_counts(source), "convert")
    refused(array.astype(object), "object", "convert")


@pytest.mark.parametrize("shape", [(), (4,), (2, 2, 2), (0, 2), (2, 0)])
def test_arrays_of_other_shapes(shape):
    said = "has no row" if shape == (0, 2) else f"shape {shape}"
    refused(np.zeros(shape), said)
    refused(npy_bytes(np.zeros(shape)), said)


def of_shape(shape, descr=b"'<f8'"):
    header = b"{'descr': %s, 'fortran_order': False, 'shape': %s, }\n" % (descr, shape)
    return b"\x93NUMPY\x01\0" + len(header).to_bytes(2, "little") + header + bytes(32)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (b"(2, 2)", None),
        (b"(True, 2)", "without a usable shape"),
        (b"(2, False)", "without a usable shape"),
        (b"(-2, 2)", "without a usable shape"),
        (b"(-2, -2)", "without a usable shape"),
        (b"(2.0, 2)", "damaged .npy header"),
        (b"((2,), 2)", "damaged .npy header"),
        (b"[2, 2]", "damaged .npy header"),
        (b"2", "damaged .npy header"),
        (b"'22'", "damaged .npy header"),
        (b"(" * 5000 + b"2", "damaged .npy header"),
        (b"(%d, 2)" % 2**58, "because its header states shape (288230376151711744, 2) but"),
        (b"(0, %d)" % 2**62, "has shape (0, 4611686018427387904)"),
        (b"(%d, 2)" % 2**64, "without a usable shape"),
        (b"(" + b"9" * 4000 + b", 2)", "without a usable shape"),
        (b"(0x" + b"f" * 6000 + b", 2)", "without a usable shape"),
        (b"(2, 3)", "is cut off, because its header states shape (2, 3) but only 32 bytes"),
        (b"(" + b"1, " * 70 + b")", "has shape"),
        (b"(0, 0)", "has shape (0, 0)"),
    ],
)
def test_shapes_in_a_header(shape, said):
    data = of_shape(shape)
    if said is None:
        assert read_table(data).select().points.tolist() == [[0, 0], [0, 0]]
        return
    refused(data, said)
    sentence(lambda: read_counts(data))


@pytest.mark.parametrize(
    "descr",
    [
        b"('<f8', (2, 2))",
        b"'|O'",
        b"[('a', '|O'), ('b', '<f8')]",
        b"[('a', '<f8', (999999999,))]",
        b"[('a', [('b', [('c', '<c16')])])]",
        b"'|V2147483647'",
        b"'<M8[as]'",
        b"'|S0'",
        b"[]",
        b"True",
        b"'<f8' * 10**9",
    ],
)
def test_types_in_a_header(descr):
    for shape in (b"(1,)", b"(1, 2)", b"(2, 2)", b"(%d,)" % 2**62):
        refused(of_shape(shape, descr))
        sentence(lambda shape=shape: read_counts(of_shape(shape, descr)))


def test_a_grid_of_many_columns_is_refused_in_few_words():
    for sides, ndim in ((64, 128), (10**15, 2), (10**400, 3), (64, 20_000)):
        sentence(lambda sides=sides, ndim=ndim: grid_shape(sides, ndim), "10^", "choose")
    sentence(lambda: grid_shape(64, 128), "has 10^231 cells", "at most 25 columns")
    sentence(lambda: grid_shape((8192, 8192), 2), "8192 x 8192 has 67,108,864 cells", "per axis")
    sentence(lambda: grid_shape(-(10**5000), 2), "grid = -10^5000")
    sentence(lambda: grid_shape("9" * 500, 2), "whole number")


def test_masked_values_are_missing():
    array = np.ma.masked_equal([[1, 2], [3, 99], [5, 6]], 99)
    assert read_table(array).select().points.tolist() == [[1, 2], [5, 6]]


def test_signalling_nan_gives_no_warning():
    bits = np.array([[1, 2], [3, 0x7FF0000000000001], [5, 6]], dtype=np.uint64)
    bits[:, 0] = np.array([1.0, 2.0, 3.0]).view(np.uint64)
    bits[::2, 1] = np.array([4.0, 5.0]).view(np.uint64)
    array = bits.view(np.float64)
    assert read_table(npy_bytes(array)).select().points.tolist() == [[1, 4], [3, 5]]
    sentence(lambda: read_counts(npy_bytes(array)), "row 2, column 2 holds nan")
    narrow = np.array([[0x3F800000, 0x7F800001], [0x3F800000, 0x3F800000]], dtype=np.uint32)
    assert read_table(narrow.view(np.float32)).select().n == 1


def test_structured_array():
    kind = [("x", ">i4"), ("naïve", "f2"), ("t", "U3"), ("s", "S3"), ("v", "f8", 2), ("c", "c16")]
    array = np.zeros(3, dtype=kind)
    array["x"], array["s"], array["t"] = [1, 2, 3], b"ab", "7"
    for source in (array, npy_bytes(array)):
        table = read_table(source)
        assert table.columns == ("x", "naïve", "t", "s")
        assert table.numeric_columns == ("x", "naïve", "t")
        assert table.select(["x", "naïve"], unit="s").units.tolist() == ["ab"] * 3
        assert table.notes == ('Columns without numbers and text are left out: "v", "c".',)
        assert table.select(["x", "naïve"]).points[:, 0].tolist() == [1, 2, 3]
    refused(array[["v"]], "no column of numbers")
    # A damaged file may contain code points that are not characters.
    array["x"], array["t"] = 1, "\ud7ff"
    damaged = npy_bytes(array).replace("\ud7ff".encode("utf-32-le"), b"\xff" * 4)
    assert read_table(damaged).columns == ("x", "naïve", "t", "s")


def test_parquet_types():
    table = pa.table(
        {
            "price": [decimal.Decimal("1.25"), None],
            "small": pa.array([1, 2], type=pa.int8()),
            "code": pa.array([3, 4]).dictionary_encode(),
            "day": pa.array([1, 2], type=pa.date32()),
            "flag": [True, False],
            "nested": [[1], [2]],
            "none": pa.nulls(2),
            "label": ["a", "b"],
        }
    )
    for source in (table, parquet_bytes(table)):
        read = read_table(source)
        assert read.numeric_columns == ("price", "small", "code")
        assert '"nested"' in read.notes[0]
        assert read.select().points.tolist() == [[1.25, 1, 3]]
        sentence(lambda r=read: r.select(["small", "day"]), "row 1", '"1970-01-02"')
        sentence(lambda r=read: r.select(["small", "flag"]), "row 1", '"True"')
    assert read_table(parquet_bytes(table.select(["nested", "label", "price", "code"]))).select(
        unit="label"
    ).points.tolist() == [[1.25, 3]]


def test_text_that_is_a_number_in_a_frame():
    frame = pd.DataFrame(
        {
            "a": pd.Series(["1", "2", None], dtype=object),
            "b": pd.Categorical(["3", "4", "5"]),
            "c": pd.array([6, None, 8], dtype="Int64"),
            "d": [1, "x\n\x1b[31m" + "y" * 99, 2.5],
            "e": [1j, 2, 3],
        }
    )
    table = read_table(frame)
    assert table.numeric_columns == ("a", "b", "c")
    assert table.select(["a", "b"]).points.tolist() == [[1, 3], [2, 4]]
    assert table.select(["b", "c"]).dropped == 1
    refused(frame, "row 2", r'"x\n\x1b[31myyy', '..."', columns=["a", "d"])
    refused(frame, "row 1", '"e"', columns=["a", "e"])


def test_table_is_public():
    class Diagonal(Cells):
        rows = 3

        def blocks(self, axes):
            for row in range(self.rows):
                yield [pa.array([float(row == axis)]) for axis in axes]

    table = Table(name="t", columns=("x", "y"), cells=Diagonal())
    assert table.select().points.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_long_names_fit_into_the_sentence():
    name = "name " * 99 + "\n.csv"
    wide = ",".join('"' + f"{k}" * 300 + '"' for k in range(20)).encode()
    refused(wide + b"\n" + b"text," * 19 + b"1\n", "row 2", name=name, columns=[1, 2])
    refused(wide + b"\n" + b"text," * 19 + b"1\n", "numeric", name=name, least=2)
    refused(wide + b"\n" + b"text," * 19 + b"1\n", "choose", name=name, columns=[1, 99])
    refused(wide + b"\n" + b"," * 19 + b"\n", "no row", name=name, columns=list(range(1, 21)))
    refused(b"", "empty", name=name)


# --- counts -----------------------------------------------------------------------------

COUNTS = np.array([[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(
    "source",
    [
        COUNTS,
        COUNTS.astype(float),
        COUNTS.astype(">u2"),
        npy_bytes(COUNTS),
        npy_bytes(np.asfortranarray(COUNTS)),
        b"0,1,2\n3,4,5\n",
        b"0;1;2\n3;4;5.0\n\n",
        gzip.compress(b"0\t1\t2\n3\t4\t5e0\n", mtime=0),
        pd.DataFrame(COUNTS),
        pa.table({"a": [0, 3], "b": [1, 4], "c": [2, 5]}),
        parquet_bytes(pa.table({"a": [0, 3], "b": [1, 4], "c": [2, 5]})),
    ],
)
def test_counts(source):
    dataset = read_counts(source)
    assert dataset.counts.tolist() == COUNTS.tolist()
    assert dataset.counts.dtype == np.int64
    assert dataset.domain == Domain(((0, 2), (0, 3)))
    assert dataset.domain.declared
    assert dataset.columns == ("column 1", "column 2")
    assert (dataset.n, dataset.points) == (15, None)


def test_counts_options(tmp_path):
    domain = Domain(((-1, 1), (0, 9)))
    path = tmp_path / "grid.csv"
    path.write_bytes(b"1,2\n3,4\n")
    assert read_counts(path, domain=domain).domain is domain
    assert read_counts(path).name == "grid.csv"
    assert read_counts(path, name="G").name == "G"
    sentence(
        lambda: read_counts(path, domain=domain.select([0])), "1 lo,hi pair", "has 2 dimensions"
    )
    assert read_counts(np.ones((2, 3, 4), dtype=int)).counts.shape == (2, 3, 4)
    for line in (np.array([1, 2, 3]), npy_bytes(np.array([1, 2, 3])), b"1\n2\n3\n"):
        assert read_counts(line).counts.tolist() == [1, 2, 3]
    sentence(lambda: read_counts(b"1\n2\n\n3.5\n"), "row 4, column 1 holds 3.5")
    grid = COUNTS.copy()
    read_counts(grid).counts[:] = 7
    assert (grid == COUNTS).all()


@pytest.mark.parametrize("bad", ["1.5", "-1", "", "NaN", "inf", "9007199254740992"])
def test_cells_that_are_no_counts(bad):
    text = f"1,2\n\n3,{bad}\n"
    sentence(lambda: read_counts(text.encode()), "row 3, column 2 holds", "whole numbers")
    cells = np.array([[1, 2], [3, float(bad or "nan")]])
    sentence(lambda: read_counts(cells), "row 2, column 2 holds")
    sentence(lambda: read_counts(np.stack([cells] * 2, axis=2)), "cell 2, 2, 1 holds")


def test_grids_that_are_refused():
    sentence(lambda: read_counts(b"1,2\n3,x\n"), "row 2", '"column 2"', '"x"', "whole numbers")
    sentence(lambda: read_counts(b"a,b\n3,4\n"), "row 1", '"a"', "without names above")
    sentence(lambda: read_counts(b"1,2,3\n"), "1 x 3 cells", "at least 2")
    sentence(lambda: read_counts(b"1\n"), "1 cell:")
    sentence(lambda: read_counts(b"1,2\n3\n"), "row 2 has 1 field")
    sentence(lambda: read_counts(np.array(5.0)), "has 1 cell:", "at least 2 cells on each axis")
    sentence(lambda: read_counts(b"0,0\n0,0\n"), "all 0")
    big = np.full((2, 2), 2**52)
    sentence(lambda: read_counts(big), "2**53")
    big[0, 0], big[0, 1], big[1] = 2**53 - 1, 0, 0
    assert read_counts(big).n == 2**53 - 1
    big[1, 1] = 1
    sentence(lambda: read_counts(big), "sum is not below 2**53")
    many = np.lib.stride_tricks.as_strided(np.zeros(1, dtype=np.int8), (2, MAX_CELLS), (0, 0))
    sentence(lambda: read_counts(many), f"more than the {MAX_CELLS:,}")
    huge = np.full((2048, 2048), 2**52)  # the sum of int64 overflows
    sentence(lambda: read_counts(huge), "sum is not below 2**53")


def test_a_long_path_is_named_by_its_end(tmp_path: Path) -> None:
    refused(tmp_path / ("deep" * 30) / "none.csv", "deep/none.csv does not exist", "...")


def test_numbers_set_apart_by_spaces_are_read_and_said() -> None:
    table = read_table(b"  664159   550946\n  665845 557965 \n\n597173   575538\n", name="s1.txt")
    data = table.select()
    assert data.points.tolist() == [[664159, 550946], [665845, 557965], [597173, 575538]]
    assert "Fields are separated by spaces." in data.notes
    refused(b"1 2\n" * 20 + b"3 4 5\n", "row 21 has 3 fields")


# --- for a release --------------------------------------------------------------------


def each(data: object, header: str | None = None, unit: str | None = None) -> Dataset:
    table = read_table(data, name="t.csv", header=header, unreadable="missing")
    return table.select(["x", "y"], unit=unit, unreadable="missing")


@pytest.mark.parametrize(
    "row",
    [
        *(b"abc,1", b",1", b"1", b"1,2,3", b'"1,2', b'1,"2', b'"1"2,3', b'1,2"""', b"\xff,1"),
        *(b"1e301,1", b"inf,1", b"nan,1", b"\x00,1", b"0x10,1", b"true,1", b"", b"  ", b'"1,5",1'),
        *(b"\xd9\xa3,1", b"1_0,1", b"2020-01-01,1", b'"x"",1', b"1;2", b"1 2", b"," * 9),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_row_that_can_not_be_read_is_missing_by_itself(row, end):
    lines = [b"x,y", b"1,2", row, b'"3"," 4 "', b"+5.,1e2"]
    assert each(end.join(lines)).points.tolist() == [[1, 2], [3, 4], [5, 100]]
    assert each(end.join([b"", *lines[:3], b""])).points.tolist() == [[1, 2]]


def test_a_byte_that_is_no_utf8_leaves_the_other_rows_alone():
    long = "é" + "z" * 2**18
    others = f"x,y,c\n1,1,{long}\n2,2,a\n".encode()
    for row in (b"", b"3,3,\xff\n", b'3,3,"\xff"\n', b'3,3,"\n'):
        assert each(others + row).points.tolist()[:2] == [[1, 1], [2, 2]]


def test_a_field_in_quotation_marks_may_be_long_and_hold_separators():
    lines = f'x,y,c\n1,1,"{"z," * 2**17}"\n2,2,"a ""b"", c"\n'
    assert each(lines.encode()).points.tolist()[:2] == [[1, 1], [2, 2]]


@examples(400)
@given(
    st.lists(st.lists(st.sampled_from(['"', '""', ",", "a", "é", "1", " ", "\ufffd"]), max_size=9)),
    st.integers(1, 3),
)
def test_each_line_is_read_by_itself_as_csv(parts, extra):
    lines = ["".join(one) for one in parts]
    expected = []
    for line in lines:
        try:
            fields = next(csv.reader([line], strict=True), [])
        except csv.Error:  # the quotation mark is an ordinary character
            fields = line.split(",")
        ends = len(line) - len(line.rstrip(","))  # separators at the end
        if 3 < len(fields) <= 3 + min(extra, ends):
            del fields[3:]
        expected += [fields] if len(fields) == 3 else []
    body = "".join(f"{line}\n" for line in ["x,y,z" + "," * (extra - (extra == 1)), *lines])
    table = read_table(body.encode(), name="t.csv", unreadable="missing")
    assert table.ragged.rows == sum(map(bool, map(str.strip, lines))) - len(expected)
    found = [row for few in table.cells.batches(range(3)) for row in zip(*few, strict=True)]
    assert [[cell.as_py() for cell in row] for row in found] == expected


def test_a_line_may_end_in_as_many_separators_as_the_line_of_names():
    lines = b"1,2,,\n3,4,\n5,6\n7,8,,,\n,,,\n"
    assert each(b"x,y,,\n" + lines).points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert each(b"x,y\n" + lines).points.tolist() == [[3, 4], [5, 6]]
    assert each(b'x,y,,\n1,"2"",,\n"1","2",,\n"3"",4,,,\n').points.tolist() == [[1, 2]]


def test_names_longer_than_a_field_may_be_are_read():
    names = [f"measurement_{number:06}" for number in range(9000)]
    data = ",".join(names) + "\n" + ",".join(["1"] * 9000) + "\n"
    table = read_table(data.encode(), name="t.csv", unreadable="missing")
    assert table.columns == tuple(names)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "data",
    [b"\n" * 50_000_000 + b"x,y\n1,2\n", b"x,y,c\n" + b'1.5,2.5,"a"\n' * 4_000_000],
    ids=["blank lines", "quotes"],
)
def test_a_release_reads_long_files_in_short_time(data):
    with limits(len(data)):
        assert len(each(data).points)


def test_persons_whose_name_can_not_be_read_do_not_become_one():
    data = each(b"x,y,who\n1,1,J\xfc\n2,2,J\xf6\n3,3,J\xc3\xbc\n4,4,\n5,5, a \n", unit="who")
    assert data.units.tolist() == ["Jü", "a"]


def test_one_odd_date_does_not_take_a_column_away():
    days = pa.array([1, 2**31 - 1, 5], pa.int32()).view(pa.date32())
    data = pa.table({"x": [1, 2, 3], "y": ["1", "b", "3"], "day": days})
    assert each(data, unit="day").points.tolist() == [[1, 1], [3, 3]]
    assert each(data, unit="day").units.tolist() == ["1970-01-02", "1970-01-06"]


def test_the_line_of_names_tells_the_separator():
    for mark in ",;\t|":
        rows = f"1{mark}2\n3.5{mark}4\n"
        assert each(f"x{mark}y\n{rows}".encode()).points.tolist() == [[1, 2], [3.5, 4]]
        assert each(rows.encode(), f"x{mark}y").points.tolist() == [[1, 2], [3.5, 4]]
        assert each(b"", f"x{mark}y").points.shape == (0, 2)
    assert each(b" 1  2\n\n3 4 5\n6 7", "x y").points.tolist() == [[1, 2], [6, 7]]
    assert each(b"x;y\n1,5;2\n1.5;,5\n").points.tolist() == [[1.5, 2], [1.5, 0.5]]
    # The format does not depend on the first bytes of a record.
    for first in (b"PAR1", b"\x93NUMPY", b"\x1f\x8b", b"PK\x03\x04", b"\xff\xfe"):
        assert each(first + b"\n1,2\n", "x,y").points.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("data", "header", "said"),
    [
        (b"1,2\n3,4\n", False, "give it as the header"),
        (b"x;y,z,w\n1;2\n", None, "separated by commas as well as by semicolons"),
        (b'"x,y\n1,2\n"\n', None, "close every quotation mark"),
        (b"x," + b"y" * 2**18 + b"\n1,2\n", None, "give short names"),
        (b"x,\xff\n1,2\n", None, "not text in UTF-8"),
        (b"x,\0\n1,2\n", None, "not text in UTF-8"),
        (b"\xff\xfex\0,\0y\0\n\0", None, "UTF-16"),
        (b"PK\x03\x04\n", None, "not text in UTF-8"),
        (b"\n \n", None, "is empty"),
    ],
)
def test_what_the_first_line_says_is_public(data, header, said):
    sentence(lambda: read_table(data, name="t.csv", header=header, unreadable="missing"), said)


@pytest.mark.parametrize("before", [b"", b"5,6\n", b"x\n", b"\n"])
@pytest.mark.parametrize("line", [b"1,2\n", b'"1","2"\n', b'1,"2"""\n3,4\n'])
def test_a_byte_order_mark_reads_alike_in_front_of_any_line(before, line):
    def points(mark):
        table = read_table(b"x,y\n" + before + mark + line, name="t.csv", unreadable="missing")
        return table.select(unreadable="missing").points.tolist()

    assert points(b"\xef\xbb\xbf") == points(b"")
    # A second byte order mark in a line is an ordinary character.
    assert len(points(b"\xef\xbb\xbf" * 2)) == len(points(b"u"))


def invalid(cells):
    return pa.array(cells, pa.binary()).view(pa.string())


@pytest.mark.parametrize("cell", [b"a\xffb", b"\xffa", b"5\xff", b"a", b"\xed\xa0\x80b"])
def test_a_cell_that_is_no_utf8_is_read_by_itself(cell):
    stream = io.BytesIO()
    table = pa.table({"x": [1.0, 2.0, 3.0], "who": invalid([b"p", cell, None])})
    pa.parquet.write_table(table, stream)
    read = read_table(stream.getvalue(), name="t.parquet", unreadable="missing")
    units = read.select(["x"], unit="who", unreadable="missing").units
    assert units[0] == "p"
    assert len(units) == (2 if cell == b"a" else 1)
    stream = io.BytesIO()
    pa.parquet.write_table(pa.table({"x": [1, 2], "y": invalid([b"7", cell])}), stream)
    counts = read_counts(stream.getvalue(), name="t.parquet", any_total=True).counts
    assert counts.tolist() == [[1, 7], [2, 0]]


@pytest.mark.parametrize("kind", ["<U2", ">U2"])
def test_damaged_characters_take_no_column_of_an_array_away(kind):
    for odd in (0xD800, 0x110000, 0xFFFFFFFF):
        array = np.zeros(2, dtype=[("x", "f8"), ("who", kind)])
        array["who"] = ["ab", "cd"]
        array["who"][1:].view(f"{kind[0]}u4")[:] = [0x61, odd]
        data = read_table(npy_bytes(array), name="t.npy", unreadable="missing")
        assert data.columns == ("x", "who")
        assert data.select(["x"], unit="who", unreadable="missing").units.tolist() == ["ab"]


@pytest.mark.filterwarnings("ignore:The 'generic' unit")  # NumPy 2.5 will remove this unit
def test_dates_without_a_unit_are_no_column_whatever_they_hold():
    for cells in (["NaT"], [], [0]):
        array = np.zeros(len(cells), dtype=[("x", "f8"), ("when", "M8")])
        array["when"] = np.array(cells, dtype="M8[s]" if cells == [0] else "M8").view("M8")
        assert read_table(npy_bytes(array), name="t.npy", unreadable="missing").columns == ("x",)


@pytest.mark.parametrize("kind", [pa.decimal32(7, 2), pa.decimal64(13, 2)])
def test_persons_may_be_short_decimals(kind):
    numbers = [decimal.Decimal(one) for one in ("1.50", "7.00", "0.00")]
    table = pa.table({"x": [1.0, 2.0, 3.0], "who": pa.array(numbers, kind)})
    stream = io.BytesIO()
    pa.parquet.write_table(table, stream)
    for source in (table, stream.getvalue()):
        data = read_table(source, name="t.parquet", unreadable="missing")
        units = data.select(["x"], unit="who", unreadable="missing").units
        assert units.tolist() == ["1.5", "7", "0"]


@pytest.mark.parametrize("zone", [None, "UTC", "Moon/Crater"])
def test_a_column_of_times_is_no_column_of_counts(zone):
    table = pa.table({"a": [1, 2], "when": pa.array([1, 2], pa.timestamp("s", tz=zone))})
    sentence(lambda: read_counts(table, any_total=True), '"when"', "timestamp", "whole numbers")


def test_whether_persons_are_different_does_not_tell_whether_they_fit():
    rows, said = 3_000, set()
    for names in ([f"p{row:05}" for row in range(rows)], ["p00000"] * rows):
        table = read_table(pa.table({"x": np.zeros(rows), "who": names}), unreadable="missing")
        table = dataclasses.replace(table, memory=150_000)
        with pytest.raises(InputError) as raised:
            table.select(["x"], unit="who", unreadable="missing")
        said.add(str(raised.value))
    assert len(said) == 1


def test_a_header_that_is_given_is_for_releases():
    sentence(lambda: read_table(b"1,2\n", header="x,y"), 'unreadable = "missing"')


def test_grids_of_counts_for_a_release_say_nothing_of_their_cells():
    assert not read_counts(b"0,0\n0,0\n", any_total=True).counts.any()
    most = 2**53 // 4
    for large in (b"99999999999999999999,1\n1,1\n", b"9007199254740993,1\n1,1\n"):
        assert read_counts(large, any_total=True).counts.tolist() == [[most, 1], [1, 1]]
    huge = np.array([[2**64 - 1, 0], [3, 0]], dtype=np.uint64)
    assert read_counts(huge, any_total=True).counts.tolist() == [[most, 0], [3, 0]]
    for cell in (b"1.5", b"-4", b"nan", b"inf", b"-", b"", b"abc", b'"', b"\xff", b"1e-400"):
        found = read_counts(b"1,1\n" + cell + b",1\n", any_total=True)
        assert found.counts.tolist() == [[1, 1], [0, 1]], cell
    for names in (b"a,b\n1,2\n3,4\n", b"lon;lat\n1;2\n"):
        with pytest.raises(InputError, match="has no header"):
            read_counts(names, any_total=True)


ONE_AXIS = Domain(((0, 9),))


@pytest.mark.parametrize(
    ("one", "other", "domain"),
    [
        ("999\n2,000\n", "1,000\n2,000\n", ONE_AXIS),
        ("5\n\n", "5\n1\n", ONE_AXIS),
        ("\n5\n", "1\n5\n", ONE_AXIS),
        ("999\n3;4\n", "1 000\n3;4\n", ONE_AXIS),
        ("1,2\n3,4\n6,7\n", "1,2\n3,4,5\n6,7\n", None),
        ("1;2\n3;4\n", "1;2\n3\n", None),
        ("999 5\n3 4\n", "1\u00a0000 5\n3 4\n", None),
        ("3 4\n999 5\n", "3 4\n1,000 5\n", None),
        ("3;4\n999;5\n", "3;4\n1\t000;5\n", None),
        ("none;none\n3;4\n", "one;none\n3;4\n", None),
    ],
)
def test_no_count_tells_the_shape_of_a_grid(one, other, domain):
    shapes = [
        read_counts(text.encode(), domain=domain, any_total=True).counts.shape
        for text in (one, other)
    ]
    assert shapes[0] == shapes[1]


def test_the_first_line_and_the_declared_axes_tell_how_a_release_reads_a_grid():
    def read(text, domain=None):
        return read_counts(text.encode(), domain=domain, any_total=True).counts.tolist()

    assert read('"1,000"\n\n7', ONE_AXIS) == [1000, 0, 7]
    assert read("\n  1   2 \n\n 3 4 5\n6\n\n") == [[0, 0], [1, 2], [0, 0], [3, 4], [6, 0]]
    assert read('"1 000" 2\n3 4\n') == [[1000, 2], [3, 4]]
    sentence(lambda: read("1\n2\n"), "one cell in its first line", "domain of one axis")


@pytest.mark.parametrize("separator", [b";", b"\t", b"|", b","])
@pytest.mark.parametrize("group", [".", ",", " ", "'", "\u2019", "\u00a0", "\u202f"])
def test_one_record_does_not_change_how_a_release_reads_a_grid(separator, group):
    """One record changes 999 to 1.000, so only one count may change, by one."""
    sign = group.encode("cp1252" if group == "\u00a0" else "utf-8")
    rows = [[b"1#500", b"7"], [b"999", b"2#250#000"]]
    before = b"\n".join(separator.join(b'"' + one + b'"' for one in row) for row in rows)
    if sign != separator:
        before = before.replace(b'"', b"")
    before = before.replace(b"#", sign)
    for grid, count in ((before, 999), (before.replace(b"999", b"1" + sign + b"000"), 1000)):
        found = read_counts(grid, name="grid", any_total=True)
        assert found.counts.tolist() == [[1500, 7], [count, 2_250_000]]
    assert read_counts(b"999;3\n4;5\n", any_total=True).counts.tolist() == [[999, 3], [4, 5]]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1000", 1000), ("1.000", 1000), ("1,000", 1000), ("1.000,00", 1000), ("1,000.0", 1000),
        ("1.000.000", 10**6), ("1,00,000", 10**5), ("1000.000", 1000), ("1000,0", 1000),
        ("1e3", 1000), ("1,5E+03", 1500), ("+7", 7), ("007", 7), ("5.0", 5), ("-", 0), ("NA", 0),
        ("", 0), ("-3", 0), ("1.5", 0), ("0x10", 0), ("\u0663", 0), ("1_0", 0), ("-0", 0),
        ("9" * 400, 2**54), ("1e999", 2**54),
    ],
)  # fmt: skip
def test_a_count_is_read_by_itself(text, count):
    assert count_of(text) == count


def test_a_release_reads_grids_as_programs_write_them():
    text = io.BytesIO()
    np.savetxt(text, np.array([[1000, 3], [0, 12345]]))
    assert read_counts(text.getvalue(), any_total=True).counts.tolist() == [[1000, 3], [0, 12345]]
    table = pa.table({"a": [1000, 2], "b": pa.array(["3", "1e3"]).dictionary_encode()})
    assert read_counts(table, any_total=True).counts.tolist() == [[1000, 3], [2, 1000]]
    table = pa.table({"a": [1, 2], "b": ["3", "1.000"]})
    assert read_counts(table, any_total=True).counts.tolist() == [[1, 3], [2, 1000]]
    book = workbook({"s": sheet([[1, 3], [0, 7]])})
    sentence(lambda: read_counts(book, name="a.xlsx", any_total=True), "for exploring", "convert")


def test_a_column_of_unknown_time_does_not_take_the_others_away():
    day = pa.array([1, 2], pa.timestamp("s", tz="Moon/Crater"))
    table = read_table(pa.table({"when": day, "x": [1.0, 2.0], "y": [3.0, 4.0]}))
    assert table.numeric_columns == ("x", "y")
    assert table.select().points.tolist() == [[1, 3], [2, 4]]

"""In a release, one record of a file must not decide limits, types, shapes or messages."""

from __future__ import annotations

import gzip
import io
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.base.errors import InputError
from dpviz.data.conversion import as_csv
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.strict import lines
from dpviz.data.units import identified
from tests.support.tiers import examples


def released(data, columns=("x",), unit="who", name=None):
    table = read_table(data, name=name, unreadable="missing")
    return table.select(list(columns), unit=unit, unreadable="missing")


def stored_as(columns, **options):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(columns, stream, **options)
    return stream.getvalue()


def test_more_texts_than_the_type_of_a_stored_dictionary_has_numbers_are_read():
    kind = pa.dictionary(pa.int8(), pa.string())
    stream = io.BytesIO()
    schema = pa.schema([("x", pa.float64()), ("who", kind)])
    with pyarrow.parquet.ParquetWriter(stream, schema, use_dictionary=False) as writer:
        for first in (0, 79):
            names = pa.array([f"p{number}" for number in range(first, first + 100)])
            cells = [pa.array([1.0] * 100), names.dictionary_encode().cast(kind)]
            writer.write_table(pa.table(cells, schema=schema))
    assert len({*released(stream.getvalue()).units}) == 179


def test_a_text_that_is_no_utf_8_is_read_from_columns_of_the_same_name():
    texts = pa.array([b"1", b"\xff"], pa.binary()).view(pa.string()).dictionary_encode()
    texts = texts.cast(pa.dictionary(pa.int16(), pa.string()))
    data = stored_as(pa.Table.from_arrays([texts] * 2, names=["x", "x"]))
    assert released(data, ("x", "x (2)"), None).points.tolist() == [[1, 1]]


@pytest.mark.parametrize("wide", [1, 2, 3])
def test_columns_behind_one_of_a_registered_type_are_those_that_are_named(wide):
    inner = pa.struct([(f"c{number}", pa.float64()) for number in range(wide)])
    cells = pa.array([{f"c{number}": 7.0 for number in range(wide)}] * 2, inner)
    odd = pa.ExtensionArray.from_storage(pa.opaque(inner, "n", "v"), cells)
    data = stored_as(pa.table({"e": odd, "x": [1.0, 2.0], "y": [3.0, 4.0]}))
    assert released(data, ("y", "x"), None).points.tolist() == [[3, 1], [4, 2]]


def said(make):
    try:
        make()
    except InputError as error:
        return str(error)
    return "read"


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "last", [b"z" * 900, b"z" * 5000, "\U0001f600".encode() * 900, b"", b"5,5", b"NA"]
)
def test_no_record_decides_whether_identifiers_fit_into_the_memory(monkeypatch, last):
    tables = [b"x,who\n" + b"1,p\n" * 99 + b"1," + one for one in (b"q", last)]
    # Pad the file, because its size is public and must be the same.
    longest = max(map(len, tables)) + 1
    tables = [one.ljust(longest, b"\n") for one in tables]
    seen = set()
    for most in range(500, 12_000, 100):
        monkeypatch.setattr("dpviz.data.reading.files._MORE", 2**27 + most - 3 * longest)
        found = {said(partial(released, one)) for one in tables}
        assert len(found) == 1
        seen |= found
    assert len(seen) == 3


def test_a_digest_stands_for_a_long_identifier():
    names = ["a" * 41, "a" * 42, " " + "a" * 41, "0" * 60 + "7", "7", "\uff41" * 41, "b" * 1001]
    found = released(("x,who\n" + "".join(f"1,{name}\n" for name in names)).encode())
    assert max(map(len, found.units)) == 37
    assert identified(found.units).codes.tolist() == [0, 1, 0, 2, 2, 0]
    assert identified(np.array(names, dtype=object)).codes.tolist() == [0, 1, 0, 2, 2, 0, -1]


def test_what_is_said_of_packed_text_has_no_number_that_a_record_changes(monkeypatch):
    monkeypatch.setattr("dpviz.data.reading.files._MORE", 2**27 + 5_000)
    for rows, what in ((2_000, "a column would need more"), (2**26, "a file of its size may have")):
        packed = (
            gzip.compress(b"x\n" + b"1\n" * rows + one, 1, mtime=0) for one in (b"1", b"%" * 99)
        )
        found = {said(lambda one=one: released(one, unit=None, name="t.csv.gz")) for one in packed}
        assert len(found) == 1
        assert what in found.pop()


@pytest.mark.parametrize("piece", [b",", b"ab,", b'",', b'"",', b"x", b'"', b"\xff", b"\t"])
@pytest.mark.parametrize("begin", [b"", b'"', b"2,"])
def test_a_long_line_is_no_row_and_is_not_split(piece, begin, monkeypatch):
    split = []
    whole = lines.fields_of
    monkeypatch.setattr(
        lines, "fields_of", lambda line, mark: split.append(line) or whole(line, mark)
    )
    row = begin + piece * (2**20 // len(piece) + 1)
    for line in (row, row * 9):
        found = released(b"x,who\n1,a\n" + line + b"\n3,b\n" + line)
        assert found.points.tolist() == [[1], [3]]
    assert not split


@pytest.mark.parametrize("first", ["x,y", "x,y,", "x"])
def test_lines_are_rows_by_their_separators_as_they_are_when_split(first):
    random = np.random.default_rng(7)
    for _ in range(200):
        line = "".join(random.choice([*'1,,,"" '], random.integers(1, 9)))
        table = read_table(f"{first}\n{line}\n".encode(), unreadable="missing")
        # All lines are split in another way if any line has a quotation mark.
        mark = f'{first}\n{line}\n"9"{"," * (len(table.columns) - 1)}\n'.encode()
        other = read_table(mark, unreadable="missing")
        assert (other.rows - 1, other.ragged) == (table.rows, table.ragged)


@given(st.data())
@examples(100)
def test_zeros_that_are_left_out_at_line_ends_change_no_shape(data):
    height, wide = data.draw(st.integers(2, 5)), data.draw(st.integers(2, 4))
    counts = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=height * wide, max_size=height * wide))
    )
    counts = counts.reshape(height, wide)
    mark = data.draw(st.sampled_from(";,\t| "))
    whole = data.draw(st.integers(0, height - 2))
    counts[:whole], counts[-1, 0] = 0, 1
    texts = []
    for at, row in enumerate(counts.tolist()):
        kept = (
            row
            if at == whole
            else row[: 1 + max((n for n, one in enumerate(row) if one), default=-1)]
        )
        texts.append(mark.join(map(str, kept)))
    found = read_counts("\n".join(texts).encode(), any_total=True).counts
    assert found.tolist() == counts.tolist()


@given(st.lists(st.text('a\n\r\0\u2028\x0b\x0c\x1c\x85,"', max_size=5), min_size=1, max_size=5))
@examples(100)
def test_a_converted_csv_has_a_line_for_each_row(texts):
    table = read_table(pa.table({"x": [1.0] * len(texts), "name": texts}))
    data = as_csv(table)
    assert len(data.replace(b"\r", b"\n").split(b"\n")) == len(texts) + 2
    assert released(data, unit=None).n == len(texts)

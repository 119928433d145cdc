"""Identifiers in a column of persons: persons are never merged, and never split."""

from __future__ import annotations

import decimal
import io
import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.dataset import Dataset
from dpviz.data.reading.read import read_table
from dpviz.data.stored import stored
from dpviz.data.stored_units import capped
from dpviz.data.units import cap_records, identified, is_rounded
from tests.support.files import sheet, workbook
from tests.support.tiers import examples

#: Largest number up to which all whole numbers of a type are exact.
LIMITS = {"float16": 2**11, "float32": 2**24, "float64": 2**53}


def names_of(source: Any, name: str | None = None) -> list[str | None]:
    """The person of each row (x is the row number); None if the cell does not identify a person."""
    explored = name is not None and name.endswith((".geojsonl", ".xlsx"))
    for unreadable in ("refuse",) if explored else ("refuse", "missing"):
        table = read_table(source, name=name, unreadable=unreadable)
        data = table.select([table.columns[0], table.columns[1]], "who", unreadable=unreadable)
        persons = identified(data.units)
        assert (persons.codes >= 0).all()
        found: list[str | None] = [None] * table.rows
        for row, person in zip(data.points[:, 0], persons, strict=True):
            found[int(row)] = person
    return found


# -- files with such cells -----------------------------------------------------------------


def csv(cells: Sequence[str]) -> bytes:
    quoted = ('"' + one.replace('"', '""') + '"' for one in cells)
    return "".join(["x,y,who\n", *(f"{i},0,{one}\n" for i, one in enumerate(quoted))]).encode()


def arrow(cells: Any, kind: pa.DataType | None = None) -> pa.Table:
    places = np.arange(len(cells), dtype=float)
    return pa.table({"x": places, "y": places, "who": pa.array(cells, kind)})


def parquet(cells: Any, kind: pa.DataType | None = None, **how: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(arrow(cells, kind), stream, **how)
    return stream.getvalue()


def frame(cells: Any, kind: Any = None) -> pd.DataFrame:
    places = np.arange(len(cells), dtype=float)
    return pd.DataFrame({"x": places, "y": places, "who": pd.Series(cells, dtype=kind)})


def npy(cells: Any, kind: Any) -> bytes:
    stream = io.BytesIO()
    made = np.zeros(len(cells), dtype=[("x", "f8"), ("y", "f4"), ("who", kind)])
    made["x"], made["who"] = np.arange(len(cells)), cells
    np.save(stream, made)
    return stream.getvalue()


def book(cells: Sequence[Any]) -> bytes:
    rows = [[i, 0, one] for i, one in enumerate(cells)]
    return workbook({"s": sheet([["x", "y", "who"], *rows])})


def geojson(cells: Sequence[str]) -> bytes:
    """Each cell is a value in JSON syntax."""
    return b"\n".join(
        b'{"type":"Feature","geometry":{"type":"Point","coordinates":[%d,0]},'
        b'"properties":{"who":%s}}' % (i, one.encode())
        for i, one in enumerate(cells)
    )


# -- beyond the exact range of their type --------------------------------------------------


def as_parquet(cells: Any, kind: str) -> Any:
    return parquet(np.array(cells, dtype=kind)), "a.parquet"


def as_dictionary(cells: Any, kind: str) -> Any:
    return parquet(pa.array(np.array(cells, dtype=kind)).dictionary_encode()), "a.parquet"


def as_arrow(cells: Any, kind: str) -> Any:
    return arrow(np.array(cells, dtype=kind)), "a"


def as_npy(cells: Any, kind: str) -> Any:
    return npy(cells, kind), "a.npy"


def as_big_endian(cells: Any, kind: str) -> Any:
    return npy(cells, np.dtype(kind).newbyteorder(">")), "a.npy"


def as_array(cells: Any, kind: str) -> Any:
    values = np.array(cells, dtype=kind)
    made = np.zeros(len(cells), dtype=[("x", "f8"), ("y", "f4"), ("who", kind)])
    made["x"], made["who"] = np.arange(len(cells)), values
    return made, "a"


def as_frame(cells: Any, kind: str) -> Any:
    return frame(np.array(cells, dtype=kind)), "a"


def as_objects(cells: Any, kind: str) -> Any:
    return frame([np.dtype(kind).type(one) for one in cells], object), "a"


def as_extension(cells: Any, kind: str) -> Any:
    own = pd.ArrowDtype(pa.from_numpy_dtype(np.dtype(kind)))
    return frame(np.array(cells, dtype=kind)).astype({"who": own}), "a"


def as_categories(cells: Any, kind: str) -> Any:
    return frame(np.array(cells, dtype=kind)).astype({"who": "category"}), "a"


def as_sparse(cells: Any, kind: str) -> Any:
    return frame(np.array(cells, dtype=kind)).astype({"who": pd.SparseDtype(kind)}), "a"


TYPED = [
    as_parquet, as_dictionary, as_arrow, as_npy, as_big_endian, as_array, as_frame, as_objects,
    as_extension, as_categories, as_sparse,
]  # fmt: skip


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("make", TYPED)
def test_beyond_its_exact_range_a_float_names_nobody(make: Callable[..., Any], kind: str) -> None:
    if kind == "float16" and make in (as_categories, as_sparse):
        pytest.skip("pandas has none")
    limit = LIMITS[kind]
    many = [0, 7, limit - 1, limit, limit + 1, limit + 2, 1.5, 0.1, -limit + 1, -limit, np.inf]
    with np.errstate(over="ignore"):
        source, name = make(many, kind)
    none = (3, 4, 5, 9, 10)
    texts = ["0", "7", f"{limit - 1}", "", "", "", "1.5", "0.1", f"{-limit + 1}", "", ""]
    assert names_of(source, name) == [None if i in none else one for i, one in enumerate(texts)]


@examples(60)
@given(
    make=st.sampled_from(TYPED[:9]),
    kind=st.sampled_from([*LIMITS]),
    near=st.lists(
        st.integers(-30, 30) | st.integers(-576, 576).map(lambda one: decimal.Decimal(one) / 64),
        max_size=20,
    ),
)
def test_no_two_numbers_become_one_person(make: Any, kind: str, near: list[Any]) -> None:
    """Numbers that a type contains exactly stay different."""
    limit = LIMITS[kind]
    many = [7 * limit // 8, *(limit + one if isinstance(one, int) else one for one in near)]
    source, name = make([float(one) for one in many], kind)
    whole: dict[str, decimal.Decimal] = {}
    for number, person in zip(many, names_of(source, name), strict=True):
        if isinstance(number, int):
            assert (person is None) == (number >= limit)
        if person is not None:
            assert whole.setdefault(person, decimal.Decimal(number)) == number


def test_long_whole_numbers_and_decimals_keep_all_digits() -> None:
    long = [2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2]
    texts = [str(one) for one in long]
    more = [2**64 - 1, 2**64 - 2]
    for source, name, there in (
        (parquet(long), "a.parquet", texts),
        (parquet(more, pa.uint64()), "a.parquet", [str(one) for one in more]),
        (parquet(texts), "a.parquet", texts),
        (parquet(list(map(decimal.Decimal, texts)), pa.decimal128(38, 9)), "a.parquet", texts),
        (parquet(list(map(decimal.Decimal, texts)), pa.decimal256(60, 9)), "a.parquet", texts),
        (frame(long), "a", texts),
        (frame(long, "Int64"), "a", texts),
        (frame(list(map(decimal.Decimal, texts))), "a", texts),
        (npy(long, "i8"), "a.npy", texts),
        (csv(texts), "a.csv", texts),
        (book(texts), "a.xlsx", texts),
        (geojson(texts), "a.geojsonl", texts),
        (geojson([json.dumps(one) for one in texts]), "a.geojsonl", texts),
    ):
        assert names_of(source, name) == there
    small = [decimal.Decimal(one) for one in ("0E-8", "0.00000001", "7.5")]
    kind = pa.decimal128(30, 8)
    assert names_of(parquet(small, kind), "a.parquet") == ["0", "0.00000001", "7.5"]


def test_excel_keeps_fifteen_digits_of_a_number() -> None:
    cells = [10**15 - 1, 10**15, 1234567890123456, 1.1, "<c><v>1.1000000000000001</v></c>"]
    cells += ["<c><v>1E3</v></c>", "<c><v>1.23457E+15</v></c>", "<c><v>1E999</v></c>", -7, 7.0]
    cells += ["1234567890123456", "<c><v>0.12345678901234568</v></c>", -(10**15)]
    there = ["999999999999999", None, None, "1.1", "1.1", "1000", None, None, "-7", "7"]
    there += ["1234567890123456", "0.12345678901234568", None]
    assert names_of(book(cells), "a.xlsx") == there
    numbers = [1.1, 0.12345678901234568, 1234567890123456, 2.5e-7, -1e300]
    kept = workbook({"s": sheet([["x", "y"], *([one, 0] for one in numbers)])})
    assert read_table(kept, name="a.xlsx").select().points[:, 0].tolist() == numbers


# -- spellings -----------------------------------------------------------------------------

#: Groups of text cells. Each group is one person, or no person, or as many persons as cells.
SAME = [
    ("7", "007", "7.0", "7.", "+7", " 7 ", "\u00a07", "7\u200b", "\ufeff7", "７"),
    ("0", "-0", "-0.0", "00", "0.000"),
    ("1000", "1000.0"),
    ("1.5", "01.50"),
    ("Jürg", "Ju\u0308rg", "Jürg "),
    ("2020-01-01 00:00:00", "2020-01-01 00:00:00.000", "2020-01-01 00:00:00.000000000"),
    ("2020-01-01 00:00:00.12", "2020-01-01 00:00:00.120"),
]
NOBODY = [
    "", " ", "\u200b", "NA", "null", "J\ufffdrg", "1.23457E+15", "1,23457E+15", "1e+05", "1.0E10",
    "1E-05", "1.2D+15", "１.２Ｅ+15", "9007199254740992.0", "12345678901234567.", "-1.5e+300",
    "1.23456789012346E+015", "inf", "-Infinity", "#REF!", "#VALUE!", "#NUM!", "#NAME?", "#DIV/0!",
    "####", "#", "#NV", "#N/D", "#BEZUG!", "#SPILL!", "Err:502", " #ref! ",
]  # fmt: skip
APART = [
    "1e3", "12e3", "12000", "1E5", "5e1", "9007199254740991.0", "9007199254740993", "True",
    "true", "1", "1.0000000000000000001", "1.0000000000000000002", "ab", "AB", "a b", "a  b",
    "2020-01-01", "2020-01-01 00:00:01", "1,000", "0x10", "x²", "e", "1e", "1e999", "p1e+5",
    "#1", "#A7", "#7!", "##a", "Err:5021", "Err", "No!", "#N/12",
]  # fmt: skip


def test_which_spellings_are_one_person() -> None:
    cells = [*itertools.chain(*SAME), *NOBODY, *APART]
    sources: list[tuple[Any, str]] = [
        (csv(cells), "a.csv"),
        (csv(cells).replace(b'"', b""), "a.csv"),
        (book(cells), "a.xlsx"),
        (geojson([json.dumps(one) for one in cells]), "a.geojsonl"),
        (parquet(cells), "a.parquet"),
        (parquet(pa.array(cells).dictionary_encode()), "a.parquet"),
        (parquet(cells, pa.large_string(), use_dictionary=False), "a.parquet"),
        (frame(cells), "a"),
        (frame(cells).astype({"who": "category"}), "a"),
        (frame(cells, object), "a"),
    ]
    for number, (source, name) in enumerate(sources):
        if number == 1:  # these cells need quotation marks
            used = [one for one in cells if "," not in one]
            source = csv(used).replace(b'"', b"")
        else:
            used = cells
        person = dict(zip(used, names_of(source, name), strict=True))
        for group in SAME:
            assert len({person[one] for one in group}) == 1, group
        assert {one for one in used if person[one] is None} == {*NOBODY} & {*used}
        apart = [person[one] for one in used if one in APART]
        apart += [person[group[0]] for group in SAME]
        assert len({*apart}) == len(apart)


def test_cells_of_several_types_are_read_each_by_its_own() -> None:
    cells = [2.0**53, 1, True, "1", np.float32(2**24), decimal.Decimal("1E+3"), None, 7.0, b"7"]
    there = [None, "1", "True", "1", None, "1000", None, "7", "7"]
    assert names_of(frame(cells, object)) == there
    data = Dataset(
        name="", points=np.arange(18.0).reshape(9, 2), units=np.array(cells, dtype=object)
    )
    assert {*cap_records(data, 1).points[:, 0]} in ({2, 4, 10, 14}, {2, 4, 10, 16})
    for units, rows in (
        (np.array([1, 2**24 + 1], dtype=np.float32), [0]),
        (np.array(["a", np.nan, "b"]), [0, 2]),
        (np.array(["2020-01-01", "NaT"], dtype="M8[s]"), [0]),
    ):
        data = Dataset(name="", points=np.arange(len(units))[:, None] * 1.0, units=units)
        kept = cap_records(data, 1)
        assert kept.points[:, 0].tolist() == rows
        assert "no person is named" in kept.notes[0]


# -- messages, and stored records -----------------------------------------------------------


def test_rounded_identifiers_are_said_where_records_are_looked_at() -> None:
    table = read_table(csv(["a", "1.5E+15", "2.5E+15", ""]), name="a.csv")
    notes = table.select(["x", "y"], unit="who").notes
    assert notes[0].startswith("3 rows were left out")
    assert notes[1].startswith('2 rows have no person in "who": an identifier is rounded or has an')


#: Files of a folder in which the column of persons has different types.
PARTS = [
    arrow(np.array([1.5, 0.1, 2**24, 7, np.nan], np.float32)),
    arrow(np.array([1.5, 0.1, 2**24, 7, 2**53], np.float64)),
    arrow([7, 2**24, 2**53, 2**53 + 1]),
    arrow(["7.0", "0.10", "1.5E+3", "12e3", "Jürg", "Ju\u0308rg"]),
    arrow([decimal.Decimal("7.00"), decimal.Decimal("0.10")], pa.decimal128(20, 2)),
    arrow(np.array([1, 3], "M8[us]")),
    arrow(np.array([1000, 3000], "M8[ns]")),
]


def test_stored_and_held_records_have_the_same_persons(tmp_path: Path) -> None:
    held: set[str] = set()
    for number, part in enumerate(PARTS):
        pq.write_table(part, tmp_path / f"{number}.parquet")
        held |= {one for one in names_of(part) if one is not None}
    with capped(stored(tmp_path, ["x", "y"]), "who", 1) as found:
        kept = sum(len(points) for part in found.parts for points, _ in part.chunks())
    assert kept == len(held) == 10
    assert any(one.startswith("3 records left out: an identifier is") for one in found.notes)


def test_persons_of_many_rows_are_capped_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    units = rng.integers(0, 300, 5_000).astype(float)
    units[::7] = 2.0**60
    data = Dataset(name="", points=rng.normal(size=(5_000, 2)), units=units)
    whole = cap_records(data, 3, 1)
    monkeypatch.setattr("dpviz.data.units._ROWS", 400)
    some = cap_records(data, 3, 1)
    assert some.notes == whole.notes
    np.testing.assert_array_equal(some.points, whole.points)
    np.testing.assert_array_equal(some.units, whole.units)
    assert some.digest == whole.digest


@pytest.mark.parametrize(
    "text", ["\u0345\u0301" * 50_000, "0" * 100_000 + "x", ":00." + "1" * 10**5]
)
def test_a_long_name_names_nobody_at_once(text: str) -> None:
    before = time.process_time()
    assert identified(np.array([text, "a" * 1_000], dtype=object)).codes.tolist() == [-1, 0]
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    ("text", "rounded"),
    [("9007199254740992.0", True), ("009007199254740993.", True), ("9007199254740991.0", False),
     ("0000000000000001.0", False), ("-10000000000000000.00", True), ("9007199254740992", False)],
)  # fmt: skip
def test_zeros_in_front_do_not_round(text: str, rounded: bool) -> None:
    assert is_rounded(text) == rounded

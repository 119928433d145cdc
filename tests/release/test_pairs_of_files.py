"""In any file format, no record influences whether there is a release, or the messages.

For each format the tests make valid records, unusual records or no records, and pairs of files that
differ in one record. The tests use the readers only through the command, so they also cover future
readers.
"""

from __future__ import annotations

import argparse
import decimal
import gzip
import io
import random
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpviz.base.errors import InputError
from dpviz.commands.command_line import main
from dpviz.commands.source import load_for_release
from dpviz.data.stored import stored
from dpviz.data.stored_units import capped
from tests.release.test_pairs import ODD
from tests.support.tiers import daily

#: Number of pairs per format, of pairs per test, and of pairs for which a bundle is made.
PAIRS, BATCH, WHOLE = 2_000, 100, 500

#: More texts for a cell; see also ``ODD``.
TEXTS = (
    *(one.decode("latin-1") for one in ODD), "1.000", "1,000", "1 000", "1\u00a0000", "1'000",
    "1e3", "1.23457E+15", "9007199254740993", "-", "--", "inf", "Infinity", "-nan", "NaN(1)",
    "\u0663", "\uff15", "\u00b2", "\U0010ffff", "\u2028", "\u0085", "\x1b[31m", "x" * 5000,
    "7" * 400, "'5", "\u201c5\u201d", "5 #", "#5", "# 5", "//", "12:30:00", "31.12.2020", "%",
    "5%", "\u20ac5", "\u2212 5", "\ufeff5", "\u200b", "e", "E5", ".", "+", "1..2", "1e", "0x1p3",
    "TRUE", "=A1", "NULL", "\\N", "\\", "\t5", "5\r", "a\nb", "{}", "[1]", "None", "\ufffd",
)  # fmt: skip


def text(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return "".join(
            rng.choices("0123456789.,;'\"+-eE \u00a0\t|_#/nNaAiIfF", k=rng.randint(1, 9))
        )
    return rng.choice(TEXTS)


def number(rng: random.Random) -> float:
    return rng.choice([rng.uniform(-6, 11), rng.randint(-3, 12), 0.0, -0.0, 1e299, 5e300, 1e-320])


def raw(one: str, rng: random.Random) -> bytes:
    return one.encode(rng.choice(["utf-8", "utf-8", "latin-1"]), errors="replace")


# -- formats: a usual record, an odd record, and a file of records ---------------------------


def usual_line(rng: random.Random, mark: str) -> bytes:
    return mark.join([f"{number(rng):g}", f"{number(rng):g}", f"p{rng.randint(0, 3)}"]).encode()


def odd_line(rng: random.Random, mark: str) -> bytes:
    fields = [raw(text(rng), rng) for _ in range(rng.choice([3, 3, 3, 0, 1, 2, 4, 9]))]
    fields += [b""] * rng.choice([0, 0, 0, 1])
    if rng.random() < 0.2:  # quotation marks in a field, or an opening mark without a closing mark
        fields = [rng.choice([b'"%s"x', b'"%s', b'%s"', b'x"%s"', b'"%s"']) % one for one in fields]
    line = mark.encode().join(fields).replace(b"\n", b" ").replace(b"\r", b" ")
    return (
        rng.choice([b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 2, b"\0"]) + line
        if rng.random() < 0.1
        else line
    )


class Lines:
    """Text with a header line and one separator, sometimes packed."""

    columns, unit, grid = ("x", "y"), "who", False

    def __init__(self, mark: str, name: str, *, ends: bytes = b"\n", header: bool = False) -> None:
        self.mark, self.name, self.ends, self.header = mark, name, ends, header

    def given(self) -> dict[str, Any]:
        return {"header": self.mark.join(["x", "y", "who"])} if self.header else {}

    def usual(self, rng: random.Random) -> bytes:
        return usual_line(rng, self.mark)

    def odd(self, rng: random.Random) -> bytes:
        return odd_line(rng, self.mark)

    def file(self, records: Sequence[Any]) -> bytes:
        names = [] if self.header else [self.mark.join(["x", "y", "who"]).encode()]
        data = self.ends.join([*names, *records]) + self.ends
        return gzip.compress(data, mtime=0) if self.name.endswith(".gz") else data


def _values(kind: pa.DataType, rng: random.Random) -> Any:
    types = pa.types
    if rng.random() < 0.2:
        return None
    if types.is_floating(kind):
        return rng.choice([0.0, 1.5, -0.0, float("nan"), float("inf"), -3e38, 6e4, 1e-40])
    if types.is_boolean(kind):
        return rng.random() < 0.5
    if types.is_decimal(kind):
        return decimal.Decimal(rng.choice(["0", "1.50", "-99999.99", "0.01"]))
    if types.is_integer(kind):
        bits = kind.bit_width
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return rng.choice([0, 7, low, high, 1]) if types.is_signed_integer(kind) else high
    return raw(text(rng), rng) + rng.choice([b"", b"", b"\xffb", b"\xff"])


#: Types of the index numbers of a dictionary.
CODES = (
    pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(),
    pa.uint64(),
)  # fmt: skip

#: Types of the two number columns, and of the persons' column.
TYPES = [
    (pa.float64(), pa.string()), (pa.float32(), pa.int64()), (pa.float16(), pa.float32()),
    (pa.int8(), pa.float64()), (pa.uint64(), pa.uint64()), (pa.decimal128(20, 2), pa.float16()),
    (pa.string(), pa.large_string()), (pa.int64(), pa.decimal128(20, 2)), (pa.bool_(), pa.bool_()),
    (pa.decimal32(7, 2), pa.decimal32(7, 2)), (pa.int8(), pa.decimal64(13, 2)),
    (pa.float64(), pa.timestamp("us")), (pa.date32(), pa.date32()), (pa.float64(), pa.time64("us")),
    *((pa.float64(), pa.dictionary(kind, pa.string())) for kind in CODES),
    *((pa.dictionary(kind, pa.large_string()), pa.string()) for kind in CODES),
]  # fmt: skip


def _typed(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Column of a type; its text may be invalid UTF-8."""
    if pa.types.is_dictionary(kind):
        return _typed(cells, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_string(kind):
        return pa.array(list(cells), pa.binary()).view(kind)
    if pa.types.is_large_string(kind):
        return pa.array(list(cells), pa.large_binary()).view(kind)
    return pa.array(list(cells), kind)


#: Types with persons in a dictionary, for folders.
DICTIONARIES = [kinds for kinds in TYPES if pa.types.is_dictionary(kinds[1])]


class Typed:
    """Rows of a Parquet file, or of several files that are read part by part."""

    columns, unit, grid = ("x", "y"), "who", False

    def __init__(self, name: str, types: Sequence[tuple[Any, Any]] = TYPES) -> None:
        self.name, self.types, self.kinds = name, types, types[0]

    def given(self) -> dict[str, Any]:
        return {}

    def choose(self, rng: random.Random) -> None:
        self.kinds = rng.choice(self.types)

    def usual(self, rng: random.Random) -> tuple[Any, ...]:
        return self.odd(rng)

    def odd(self, rng: random.Random) -> tuple[Any, ...]:
        value, who = self.kinds
        return tuple(self.one(kind, rng) for kind in (value, value, who))

    def one(self, kind: pa.DataType, rng: random.Random) -> Any:
        if pa.types.is_temporal(kind):
            size = 32 if kind == pa.date32() else 64
            if pa.types.is_time(kind):
                return pa.scalar(rng.choice([0, 1, 86_399_999_999]), pa.int64()).cast(kind)
            far = 2 ** (size - 1) - 1
            value = rng.choice([0, 1, -1, 18_000, far, -far])
            return pa.scalar(value, pa.int64() if size == 64 else pa.int32()).cast(kind)
        return _values(kind, rng)

    def file(self, records: Sequence[Any]) -> bytes:
        kinds = [self.kinds[0], self.kinds[0], self.kinds[1]]
        columns = list(zip(*records, strict=True)) or [(), (), ()]
        table = pa.table(
            {
                name: _typed(cells, kind)
                for name, kind, cells in zip(("x", "y", "who"), kinds, columns, strict=True)
            }
        )
        stream = io.BytesIO()
        pq.write_table(table, stream, use_dictionary=bool(len(records) % 2))
        return stream.getvalue()


class Arrays:
    columns, unit, grid, name = ("x", "y"), "who", False, "t.npy"
    KINDS = ("f8", "f4", "f2", "i8", "u8", ">f8", "b1", "U4", "S4", "M8[s]", "M8", ">U4")

    def __init__(self) -> None:
        self.kinds = ("f8", "U4")

    def given(self) -> dict[str, Any]:
        return {}

    def choose(self, rng: random.Random) -> None:
        self.kinds = (rng.choice(self.KINDS), rng.choice(self.KINDS))

    def usual(self, rng: random.Random) -> tuple[Any, ...]:
        return self.odd(rng)

    def odd(self, rng: random.Random) -> tuple[Any, ...]:
        value, who = self.kinds
        return tuple(
            bytes(rng.choices(self.bytes(kind, rng), k=1)[0]) for kind in (value, value, who)
        )

    def bytes(self, kind: str, rng: random.Random) -> list[bytes]:
        """Cells of the type; any bytes are a valid number."""
        size = np.dtype(kind).itemsize
        if kind == "U4" and rng.random() < 0.7:
            return [text(rng)[:4].encode("utf-32-le", "replace").ljust(size, b"\0")[:size]]
        if kind == "b1":
            return [b"\0", b"\1"]
        if np.dtype(kind).kind in "SUM":  # also incomplete characters, and no valid date
            half = b"\0\xd8\0\0" if kind == "U4" else b"\0\0\xd8\0"
            return [bytes(size), half.ljust(size, b"\0"), rng.randbytes(size)]
        return [np.array(one, dtype=kind).tobytes() for one in (0, 1, 5)] + [rng.randbytes(size)]

    def file(self, records: Sequence[Any]) -> bytes:
        value, who = self.kinds
        kind = np.dtype([("x", value), ("y", value), ("who", who)])
        stream = io.BytesIO()
        np.save(stream, np.frombuffer(b"".join(map(b"".join, records)), kind))
        return stream.getvalue()


class Grid:
    """Counts in any notation that programs write; one count is larger by one in the second file.

    The first line is public, so a separator in one of its cells is in quotation marks. Further
    lines may have any number of cells.
    """

    columns, unit, grid = None, None, True

    def __init__(self, name: str, mark: str = ";") -> None:
        self.name, self.mark = name, mark

    def given(self) -> dict[str, Any]:
        return {"counts": True, "domain": "0,10;0,10" if self.mark else "0,10"}

    def shape(self, rng: random.Random) -> tuple[int, int]:
        return rng.randint(2, 4), rng.randint(2, 4) if self.mark else 1

    def written(self, count: int, rng: random.Random, first: bool = False) -> Any:
        ways = [f"{count}", f"{count:,}".replace(",", rng.choice(".'\u00a0\u202f\u2019 ")),
                f"{count}.0", f"{count:e}", f"+{count}", f"{count:,}", f"{count} ",
                *(["", "-", "NA", "0.0", "-0", " "] if not count else []), text(rng)]  # fmt: skip
        found = rng.choice(ways).replace("\n", "").replace("\r", "")
        if self.mark == " " and not found.strip(" "):
            return "-"
        if any(sign in found for sign in f';,\t|"{self.mark}') and (first or rng.random() < 0.5):
            found = '"' + found.replace('"', '""') + '"'
        return found

    def file(self, records: Sequence[Any]) -> bytes:
        return "".join(self.mark.join(row) + "\n" for row in records).encode()


class NumberGrid(Grid):
    def file(self, records: Sequence[Any]) -> bytes:
        stream = io.BytesIO()
        np.save(stream, np.array(records, dtype=self.mark))
        return stream.getvalue()

    def written(self, count: int, rng: random.Random, first: bool = False) -> Any:
        if np.dtype(self.mark).kind != "f":
            return count % 100
        return rng.choice([count % 6000, float("nan"), float("inf"), -1.0, 0.5, 6e4])


MAKERS: dict[str, Callable[[], Any]] = {
    "comma": lambda: Lines(",", "t.csv"),
    "semicolon": lambda: Lines(";", "t.csv", ends=b"\r\n"),
    "tab": lambda: Lines("\t", "t.tsv"),
    "pipe": lambda: Lines("|", "t.txt", ends=b"\r"),
    "header": lambda: Lines(",", "t.csv", header=True),
    "spaces": lambda: Lines(" ", "t.txt", header=True),
    "packed": lambda: Lines(",", "t.csv.gz"),
    "parquet": lambda: Typed("t.parquet"),
    "stored": lambda: Typed("stored", [*TYPES[:6], *DICTIONARIES]),
    "npy": Arrays,
    "grid-semicolon": lambda: Grid("g.csv"),
    "grid-comma": lambda: Grid("g.csv", ","),
    "grid-tab": lambda: Grid("g.tsv", "\t"),
    "grid-pipe": lambda: Grid("g.txt", "|"),
    "grid-spaces": lambda: Grid("g.txt", " "),
    "grid-column": lambda: Grid("g.csv", ""),
    "grid-floats": lambda: NumberGrid("g.npy", "f2"),
    "grid-numbers": lambda: NumberGrid("g.npy", "u1"),
}


def pair_of(form: Any, rng: random.Random) -> tuple[list[Any], list[Any]]:
    if form.grid:
        shape = form.shape(rng)
        counts = [
            [rng.choice([0, 1, 7, 999, 1000, 10**6]) for _ in range(shape[1])]
            for _ in range(shape[0])
        ]
        cells = [[form.written(one, rng, not at) for one in row] for at, row in enumerate(counts)]
        if form.name != "g.npy" and form.mark:
            for line in cells[1:]:
                if rng.random() < 0.2:  # missing cells, or too many cells
                    line[rng.randint(2, shape[1]) :] = [form.written(7, rng)] * rng.randint(0, 2)
        other = [list(line) for line in cells]
        row = rng.randrange(shape[0])
        column = rng.randrange(min(shape[1], len(cells[row])))
        other[row][column] = form.written(counts[row][column] + 1, rng, not row)
        # A first line that contains only names is refused, but this refusal depends only on the
        # file.
        if shape[1] > 1:
            one = counts[0][at := 0 if row or column else 1]
            cells[0][at] = other[0][at] = one % 100 if form.name == "g.npy" else f"{one}"
        return cells, other
    records = [
        (form.odd if rng.random() < 0.2 else form.usual)(rng)
        for _ in range(rng.choice([0, 1, 2, 6]))
    ]
    other = list(records)
    place = rng.randint(0, len(records))
    if records and rng.random() < 0.6:
        other[place - 1] = form.odd(rng)
    elif records and rng.random() < 0.3:
        del other[place - 1]
    else:
        other.insert(place, form.odd(rng))
    return records, other


def outcome(form: Any, data: bytes, folder: Path, unit: str | None) -> Any:
    """Whether a release can read a file, with all messages and the columns found."""
    path = folder / form.name
    given = {
        "data": str(path), "part": None, "skip": None, "encoding": None, "missing": None,
        "columns": form.columns, "unit": unit, "header": None,
        "no_header": False, "has_header": False, "counts": False, "grid": None, "classes": None,
        "labels": None, "domain": None,
    } | form.given()  # fmt: skip
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(said):
        try:
            if form.name == "stored":
                path.mkdir(exist_ok=True)
                (path / "part.parquet").write_bytes(data)
                source = stored(path, form.columns)
                if unit:
                    with capped(source, unit, 2) as kept:
                        columns = kept.columns
                else:
                    for part in source.parts:
                        for _ in part.chunks():
                            pass
                    columns = source.columns
                shape = None
            else:
                path.write_bytes(data)
                found = load_for_release(argparse.Namespace(**given))
                columns = found.columns
                shape = None if found.counts is None else found.counts.shape
        except InputError as error:
            return "refused", str(error), said.getvalue()
    return "read", columns, shape, said.getvalue()


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("kind", "first"),
    daily(
        [(kind, first) for kind in MAKERS for first in range(0, PAIRS, BATCH)],
        lambda case: case[1] == 0,
    ),
)
def test_one_record_of_a_file_decides_nothing(kind: str, first: int, tmp_path: Path) -> None:
    form, seen = MAKERS[kind](), set()
    for seed in range(first, first + BATCH):
        rng = random.Random(f"{kind} {seed}")
        if hasattr(form, "choose"):
            form.choose(rng)
        unit = rng.choice([None, form.unit])
        one, other = pair_of(form, rng)
        before, after = (outcome(form, form.file(part), tmp_path, unit) for part in (one, other))
        assert before == after, (kind, seed, one, other)
        seen.add(before[0])
    # Only the types of columns, which are public, can be a reason for a refusal.
    assert seen == {"read"} or kind in ("parquet", "npy", "stored")
    assert "read" in seen


@pytest.mark.parametrize(
    ("kind", "first"),
    daily(
        [(kind, first) for kind in MAKERS for first in range(6)],
        lambda case: case == ("comma", 0),
    ),
)
def test_one_record_of_a_file_changes_no_word_of_a_release(
    kind: str, first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form = MAKERS[kind]()
    rng = random.Random(f"{kind} whole {first}")
    seen = []
    for number_, records in enumerate(pair_of(form, rng)):
        data, path = form.file(records), tmp_path / form.name
        if form.name == "stored":
            path.mkdir(exist_ok=True)
            (path / "part.parquet").write_bytes(data)
        else:
            path.write_bytes(data)
        more = ["--columns", ",".join(form.columns)] if form.columns else ["--counts"]
        more += ["--header", form.given()["header"]] if "header" in form.given() else []
        more += ["--grid", "4"] if form.columns else []
        given = ["release", path, "--method", "privqt", "--epsilon", "1", "--total", "9"]
        given += [
            "--domain",
            form.given().get("domain", "0,10;0,10"),
            "--budget-file",
            tmp_path / f"{number_}.db",
            *more,
        ]
        folder = tmp_path / f"out{number_}"
        status = main([str(one) for one in (*given, "--out", folder)])
        names = sorted(one.name for one in folder.iterdir()) if folder.exists() else None
        seen.append((status, names, capsys.readouterr().err))
    assert seen[0] == seen[1]
    assert seen[0][0] == 0


def test_counts_of_text_are_said_to_have_no_decimals(tmp_path: Path) -> None:
    said = outcome(Grid("g.csv"), b"5.000;1\n2;3\n", tmp_path, None)[-1]
    assert said == "note: a release reads 5.000 as five thousand: write counts as whole numbers\n"
    numbers = NumberGrid("g.npy", "u1")
    assert outcome(numbers, numbers.file([[5, 1], [2, 3]]), tmp_path, None)[-1] == ""

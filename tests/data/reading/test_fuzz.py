"""Reading any bytes gives data or an InputError of one sentence, no warning, and keeps limits."""

from __future__ import annotations

import gzip
import io
import random
import warnings
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.reading.read import read_counts, read_table
from tests.support import parquet_by_hand as by_hand
from tests.support.files import dbf, sheet, shp, workbook, zipped
from tests.support.limits import limits
from tests.support.tiers import daily

ENDINGS = ["csv", "tsv", "txt", "npy", "parquet", "csv.gz", "npy.gz", "dat"]
ENDINGS += ["xlsx", "zip", "geojson", "geojsonl"]
INPUTS = 10_000
PARTS = 10

ALPHABET = [
    *"0123456789.,;|\t \"\n\r'+-eE_#%=\\/",
    *("\r\n", '""', '","', "\n\n", "nan", "inf", "1e999", "0x1F", "NA", "1_0", "\x1b[31m", "\x85"),
    *("\u2028", "\u202e", "²", "٣", "１", "𝟙", "Ⅷ", "é", "\ufeff", "\U0010ffff", "true", "1,5"),
    *("9" * 25, "x" * 99, "2020-01-01", "1;2\n", "3,4\n", "5\t6\n", "7 8\n", "  ", "nan(1)"),
]

SIDES = ["0", "1", "2", "3", "4", "True", "-1", "-0", "2.0", "1e9", "0x10", "٣", "None", "(2,)"]
SIDES += ["2**9", str(2**31), str(2**62), str(2**64), "9" * 40, "9" * 4301, "1_0", "'2'", "[2]"]
TYPES = ["'<f8'", "'>f4'", "'|i1'", "'<u8'", "'<f2'", "'|b1'", "'<U3'", "'|S5'", "'<M8[D]'"]
TYPES += ["'|O'", "'|V9'", "'<c16'", "'|S0'", "('<f8', (2,))", "'<M8[as]'", "'<m8'", "'<f16'"]
TYPES += ["[('x', '<f8'), ('t', '<U2')]", "[('x', '<f4'), ('x', '<f4')]", "[('', '|u1')]", "[]"]
TYPES += ["[('a', [('b', '<f8')])]", "[('s', '|S3'), ('d', '<M8[s]'), ('y', '>i2')]", "None", "9"]


SHEET = sheet(
    [["x", "y", "who"], [1, 2.5, "a"], None, [3, "<c t='s'><v>0</v></c>", True], [4, 5, "b"]],
    "<mergeCells><mergeCell ref='A3:B3'/></mergeCells>",
)
SHP = shp([[(1.0, 2.0)], [(3.0, 4.0)], None])
DBF = dbf([("id", "N", 3), ("t", "C", 4)], [[b"1", b"a"], [b"*", b"2", b"b"], [b"3", b"\xe9"]])
GEOJSON = [
    b'{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"a": 1},'
    b' "geometry": {"type": "Point", "coordinates": [1.5, -2e3]}},\n{"geometry": null,'
    b' "properties": {"a": "\xc3\xa4", "b": [1]}}], "crs": {"properties": {"name": "EPSG:1"}}}',
    b'{"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}\n'
    b'{"type":"Point","coordinates":[5,6]}',
]


def _book(xml: str | bytes) -> bytes:
    return workbook({"s": xml, "empty": sheet([])}, shared=["seven", "1,5"], formats=["d.m.yy"])


def _shapes(shapes: bytes, table: bytes) -> bytes:
    return zipped({"p.shp": shapes, "p.dbf": table, "p.prj": 'GEOGCS["a"', "p.cpg": "UTF-8"})


def _repacked(rng: random.Random) -> bytes:
    """A valid archive with damaged content."""
    kind = rng.randrange(4)
    if kind == 0:
        return _shapes(_damaged(SHP, rng), DBF)
    if kind == 1:
        return _shapes(SHP, _damaged(DBF, rng))
    return _book(_damaged(SHEET.encode(), rng))


def _seeds() -> list[bytes]:
    points = np.random.default_rng(1).normal(size=(12, 3))
    text = "\n".join(",".join(map(repr, row)) for row in points.tolist()).encode()
    table = pa.table(
        {
            "x": points[:, 0],
            "n": pa.array([1, None] * 6),
            "label": ["ä", "b"] * 6,
            "code": pa.array(["u", "v"] * 6).dictionary_encode(),
            "day": pa.array(range(12), type=pa.date32()),
            "time": pa.array(range(12), type=pa.timestamp("ns", tz="UTC")),
            "price": pa.array(range(12), type=pa.decimal128(5)),
            "list": [[1.0], []] * 6,
            "deep": [{"a": [[{"b": [1]}]]}] * 12,
        }
    )
    files = [text, b"a,b,c\n" + text, b"a;b;c\n" + text.replace(b",", b";").replace(b".", b",")]
    files.append(b'name,x,y\n"q\n""r""",1,2\n\ns,3,\n')
    files += [b"1,2,3\n4,5,6\n", text.replace(b",", b"  "), b"1\n2\n\n3\n"]
    for compression in ("NONE", "SNAPPY", "ZSTD"):
        stream = io.BytesIO()
        pyarrow.parquet.write_table(table, stream, compression=compression)
        files.append(stream.getvalue())
    columns = [
        by_hand.Column(b"x", by_hand.DOUBLE, [by_hand.page(points[:, 0].tobytes(), 12)]),
        by_hand.Column(b"y", by_hand.DOUBLE, [by_hand.page(points[:, 1].tobytes(), 12)]),
    ]
    files.append(by_hand.parquet(columns, 12))
    structured = np.zeros(5, dtype=[("x", "f8"), ("t", "U2"), ("s", "S2"), ("é", "i4")])
    for array in (points, points.astype(">f4").T, structured, np.arange(24).reshape(2, 3, 4)):
        stream = io.BytesIO()
        np.save(stream, array)
        files.append(stream.getvalue())
    files += [_book(SHEET), _shapes(SHP, DBF), *GEOJSON]
    return files + [gzip.compress(file, mtime=0) for file in files]


def _damaged(seed: bytes, rng: random.Random) -> bytes:
    data = bytearray(seed)
    # Often damage headers and footers, where most errors of readers are.
    edge = rng.choice([len(data), len(data), 24, 130])
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        place = rng.randrange(min(edge, len(data)) or 1)
        place = rng.choice([place, len(data) - 1 - place])
        copied = bytes(data[place : place + rng.randrange(30)])
        piece = rng.choice([bytes([rng.randrange(256)]), b"\0", b"\xff" * 4, b'"', b"\n", b"9"])
        piece = rng.choice([b"", b"7", b",", copied, piece, piece])
        cut = rng.choice([0, len(piece), len(piece), rng.randrange(9)])
        data[place : place + cut] = piece
    return bytes(data[: rng.randrange(len(data) + 1)] if rng.random() < 0.05 else data)


def _runs(rng: random.Random) -> bytes:
    """A few pieces that are repeated often, to find slow patterns and errors at block borders."""
    parts = [rng.choice(["x,y\n1,2\n", "1 2\n3 4\n", "x;y\n1,5;2\n", "x\ty\n", "x\n1\n", ""])]
    for _ in range(rng.randrange(1, 4)):
        piece = "".join(rng.choices(ALPHABET, k=rng.choice([1, 1, 1, 2, 4])))
        parts.append(piece * (rng.choice([3, 300, 30_000, 30_000, 300_000]) // len(piece) + 1))
        parts.append(rng.choice(["", "\n", "x,3\n", ",4\n", " 5\n", '"\n', "\r\n"]))
    return "".join(parts).encode()


def _array(rng: random.Random) -> bytes:
    shape = ", ".join(rng.choices(SIDES if rng.random() < 0.5 else SIDES[1:5], k=rng.randrange(4)))
    order = rng.choice(["True", "False", "False", "None"])
    header = f"{{'descr': {rng.choice(TYPES)}, 'fortran_order': {order}, 'shape': ({shape},), }}\n"
    head = header.encode()
    start = b"\x93NUMPY" + rng.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0"])
    size = len(head).to_bytes(2 if start[6] == 1 else 4, "little")
    return start + size + head + rng.randbytes(rng.choice([0, 8, 64, 200]))


def _parquet(rng: random.Random) -> bytes:
    """A Parquet file with false metadata, or with far more values than bytes."""
    rows = rng.choice([3, 100, 10**5, 10**6 if rng.random() < 0.2 else 50])
    columns = []
    for number in range(rng.randrange(1, 4)):
        kind = rng.choice([by_hand.DOUBLE, by_hand.DOUBLE, by_hand.INT32, by_hand.BYTE_ARRAY])
        text = rng.choice([b"7", b"a" * 10**5, b"", b"\xff", b" 1,5", b"nan"])
        entry = {by_hand.DOUBLE: bytes(8), by_hand.INT32: b"\1\0\0\0"}.get(
            kind, len(text).to_bytes(4, "little") + text
        )
        values = rng.choice([rows] * 5 + [0, 1, 2**31 - 1])
        says = rng.choice([None] * 8 + [0, 9, 2**31 - 1])
        encoding = rng.choice([by_hand.PLAIN] * 6 + [2, 3, 4, 5, 6, 7, 8, 9])
        if rng.random() < 0.6:
            count = rng.choice([1, 1, 1, 0, 2**31 - 1])
            first = by_hand.page(entry, count, encoding, dictionary=True, says=says)
            coded = rng.choice([by_hand.RLE_DICTIONARY] * 5 + [by_hand.PLAIN])
            pages = [first, by_hand.page(by_hand.same_entry(values), values, coded)]
        else:
            many = min(rows, 10**4)
            pages = [by_hand.page(entry * many, values, encoding, says=says)]
        name = rng.choice([b"x%d" % number, b"x", b"a.b", b"\xff", b""])
        columns.append(by_hand.Column(name, kind, pages, len(pages) == 2, rng.choice([1000, -1])))
    told = rng.choice([rows] * 6 + [0, rows - 1, rows + 1, 10**8, 10**18, -1])
    data = by_hand.parquet(columns, told)
    return _damaged(data, rng) if rng.random() < 0.3 else data


def _bombs() -> list[bytes]:
    """Files that unpack to a hundred or a thousand times their size."""
    zeros = gzip.compress(b"0,0\n" * 2**20, mtime=0)
    blank = gzip.compress(b"\n" * 2**22, mtime=0)
    stream = io.BytesIO()
    np.save(stream, np.zeros((2**21, 2), dtype=np.int8))
    n = 10**8
    entries = (b"\1\0\0\0" + b"1", b"\x40\x42\x0f\0" + b"a" * 10**6)
    texts = [
        by_hand.Column(
            b"t%d" % number,
            by_hand.BYTE_ARRAY,
            [
                by_hand.page(entry, 1, dictionary=True),
                by_hand.page(by_hand.same_entry(n), n, by_hand.RLE_DICTIONARY),
            ],
            dictionary=True,
        )
        for number, entry in enumerate(entries)
    ]
    return [
        zeros * 30,
        zeros * 200,
        b"x,y\n1,2\n" + b"\n" * 10**6,
        gzip.compress(b"x,y\n1,2\n", mtime=0) + blank * 100,
        gzip.compress(stream.getvalue(), mtime=0),
        gzip.compress(zeros * 30, mtime=0),
        by_hand.parquet(texts, n),
        by_hand.parquet(texts[:1], n),
        by_hand.wide(100_000),
        by_hand.deep(100_000),
    ]


def _inputs(part: int) -> list[bytes]:
    """Return one part of the inputs, which is the same in each call."""
    rng = random.Random(part)
    seeds = _seeds()
    inputs = [_bombs()[part]]
    for number in range(1, INPUTS // PARTS):
        match number % 10:
            case 0:
                inputs.append(rng.randbytes(rng.choice([0, 1, 2, 5, 30, 300, 3000])))
            case 1 | 2:
                length = rng.choice([1, 3, 10, 50, 500])
                inputs.append("".join(rng.choices(ALPHABET, k=length)).encode())
            case 3:  # unpacks, but the content is damaged
                inputs.append(gzip.compress(_damaged(rng.choice(seeds), rng), mtime=0))
            case 4:
                inputs.append(_runs(rng))
            case 5:
                inputs.append(_array(rng))
            case 6:
                inputs.append(_parquet(rng))
            case 7:
                packed = number % 20 < 10
                inputs.append(_repacked(rng) if packed else _damaged(rng.choice(GEOJSON), rng))
            case _:
                inputs.append(_damaged(rng.choice(seeds), rng))
    return inputs


def _complaint(message: str, data: bytes = b"") -> str:
    """Return the fault in the form of a message, or ''."""
    if not message.endswith(".") or not message.isprintable():
        return "is not one sentence on one line"
    # Parquet may announce false sizes. The decoder requests this memory, which is beyond the limit.
    if "memory that is free" in message and not data.startswith(b"PAR1"):
        return "tells that memory was asked for without bounds"
    return "is too long" if len(message) > 300 else ""


def _as_table(data: bytes, name: str | None) -> Dataset:
    return read_table(data, name=name).select()


def _by_persons(data: bytes, name: str | None) -> Dataset:
    table = read_table(data, name=name)
    return table.select(unit=len(table.columns))


def _as_counts(data: bytes, name: str | None) -> Dataset:
    return read_counts(data, name=name)


def _for_release(data: bytes, name: str | None) -> Dataset:
    table = read_table(data, name=name, unreadable="missing")
    return table.select(unit=1 if len(table.columns) > 2 else None, unreadable="missing")


def _without_header(data: bytes, name: str | None) -> Dataset:
    table = read_table(data, name=name, header="x,y", unreadable="missing")
    return table.select(unreadable="missing")


WAYS = [_as_table, _as_table, _by_persons, _as_counts, _for_release, _without_header]


@pytest.mark.daily("4-0")
@pytest.mark.parametrize("seventh", daily(range(7), (0).__eq__))
@pytest.mark.parametrize("part", range(PARTS))
def test_only_input_errors_come_out(part, seventh):
    outcomes: Counter[str] = Counter()
    rng = random.Random(part)
    # A step of seven meets all kinds of inputs, since every tenth is of one kind.
    inputs = _inputs(part)[seventh::7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in inputs:
            way = rng.choice(WAYS)
            ending = rng.choice([*ENDINGS, *[None] * len(ENDINGS)])
            outcomes[_outcome(way, data, ending and f"file.{ending}")] += 1
    # The test is useless if all inputs are refused immediately.
    assert outcomes["read"] > len(inputs) / 10
    assert outcomes["refused"] > len(inputs) / 10


def _outcome(way, data: bytes, name: str | None) -> str:
    """Read with all warnings as errors, and check the result."""
    try:
        with limits(len(data)):
            dataset = way(data, name)
    except InputError as error:
        complaint = _complaint(str(error), data)
        assert not complaint, (complaint, str(error), way, name, data[:999])  # noqa: PT017
        return "refused"
    except (Exception, pytest.fail.Exception) as error:
        raise AssertionError((way, name, data[:999])) from error
    _check(dataset, released=way in (_for_release, _without_header))
    return "read"


@pytest.mark.some(1)
@pytest.mark.parametrize("block", [2, 7, 30])
def test_blocks_of_any_size_give_the_same(block, monkeypatch):
    """A record may be longer than a block, and the last cell may decide the kind of a column."""
    rng = random.Random(block)
    outcomes: Counter[str] = Counter()
    cells = [
        "1",
        "2.5",
        "3,5",
        "-4e2",
        "",
        "NA",
        " 7 ",
        "inf",
        "q",
        '"8"',
        '"1,234"',
        "1.234",
        "7 000",
        '"a\n""b"',
        "nan(1)",
    ]
    for _ in range(300):
        mark, width = rng.choice(",;\t|"), rng.randrange(1, 4)
        kinds = [rng.choices(cells, k=rng.choice([1, 2, 2, 3, 12])) for _ in range(width)]
        rows = [mark.join(map(rng.choice, kinds)) for _ in range(rng.randrange(1, 20))]
        for _ in range(rng.choice([0, 0, 1, 3])):
            rows.insert(rng.randrange(len(rows) + 1), rng.choice(["", "", " ", "1", mark, "\t"]))
        data = rng.choice(["\n", "\n", "\r\n"]).join(rows).encode()
        way = rng.choice([_as_table, _by_persons, _as_counts, _for_release])
        whole = _told(way, data)
        with monkeypatch.context() as patched:
            patched.setattr("dpviz.data.explore.text._BLOCK", block)
            patched.setattr("dpviz.data.strict.lines._BLOCK", block)
            assert _told(way, data) == whole, (way, data)
        outcomes[whole.split("(")[0]] += 1
    assert min(outcomes["read"], outcomes["refused"]) > 50, outcomes


def _told(way, data: bytes) -> str:
    try:
        found = way(data, "a.csv")
    except InputError as error:
        return f"refused({error})"
    values = found.counts if found.points is None else found.points
    units = None if found.units is None else found.units.tolist()
    return f"read({values.tolist()}, {units}, {found.dropped}, {found.notes}, {found.columns})"


def _check(dataset, released):
    assert all(not _complaint(note) for note in dataset.notes), dataset.notes
    assert len(set(dataset.columns)) == dataset.ndim >= 1
    if dataset.points is not None:
        assert released or len(dataset.points) >= 1
        assert np.isfinite(dataset.points).all()
        assert dataset.units is None or len(dataset.units) == len(dataset.points)
    else:
        assert dataset.counts.min() >= 0
        assert dataset.n > 0

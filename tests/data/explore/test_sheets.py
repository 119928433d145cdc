# ruff: noqa: E501
"""Workbooks from other programs are read correctly; files that would fill memory are refused."""

from __future__ import annotations

import io
import random
import resource
import struct
from dataclasses import replace
from datetime import date, datetime, time

import openpyxl
import pandas as pd
import pytest
import xlwt

from dpviz.base.errors import InputError
from dpviz.data.explore.archive import member, members
from dpviz.data.explore.heading import headed
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.sheets import read_sheet, sheet_names
from dpviz.data.reading import apart
from dpviz.data.reading.files import File
from tests.support.files import sheet, workbook, zipped
from tests.support.tiers import daily

ROWS = [["x", "y", "who"], [1.5, -2, "a"], [1e-300, 12345678, "ä & <b>"], [3, None, "c"]]


def saved(book) -> bytes:
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def by_openpyxl(rows, left=0, write_only=False, **cells) -> bytes:
    book = openpyxl.Workbook(write_only=write_only)
    one = book.create_sheet("a") if write_only else book.active
    for row in rows:
        one.append([None] * left + list(row))
    for place, value in cells.items():
        one[place] = value
    return saved(book)


def by_xlwt(rows) -> bytes:
    book = xlwt.Workbook()
    one = book.add_sheet("a")
    for at, row in enumerate(rows):
        for column, value in enumerate(row):
            if value is not None:
                one.write(at, column, value)
    return saved(book)


def by_odfpy(rows) -> bytes:
    stream = io.BytesIO()
    pd.DataFrame(rows[1:], columns=rows[0]).to_excel(stream, engine="odf", index=False)
    return stream.getvalue()


def record(kind: int, body: bytes) -> bytes:
    first = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
    size = len(body)
    return first + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + body


def text_of(word: str) -> bytes:
    return struct.pack("<I", len(word)) + word.encode("utf-16-le")


def by_hand_xlsb(cells, shared=("x", "y"), extern=None) -> bytes:
    """An .xlsb file with cells: row, column, and a number or the position of a shared text."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    book = record(0x9C, struct.pack("<II", 0, 1) + text_of("r1") + text_of("a"))
    if extern is not None:
        book += record(0x16A, struct.pack("<I", extern))
    body = record(0x94, bytes(16)) + record(0x91, b"")
    for row, column, value in cells:
        body += record(0, struct.pack("<I", row) + bytes(13))
        number = isinstance(value, float)
        body += record(
            5 if number else 7, struct.pack("<II" + ("d" if number else "I"), column, 0, value)
        )
    texts = b"".join(record(0x13, b"\0" + text_of(one)) for one in shared)
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.bin": record(0x8F, b"") + book + record(0x90, b"") + record(0x84, b""),
            "xl/_rels/workbook.bin.rels": f'<Relationships><Relationship Id="r1" '
            f'Type="{kind}/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
            "xl/sharedStrings.bin": record(0x9F, struct.pack("<II", 2, 2))
            + texts
            + record(0xA0, b""),
            "xl/worksheets/sheet1.bin": record(0x81, b"") + body + record(0x92, b""),
        }
    )


def ods_of(body: str) -> bytes:
    xml = by_odfpy(ROWS)
    parts = {one: member(xml, "t", one) for one in members(xml, "t")}
    text = parts["content.xml"].decode()
    start, end = text.index("<table:table-row"), text.index("</table:table>")
    return zipped(parts | {"content.xml": text[:start] + body + text[end:]})


def read(data: bytes, **options) -> Rows:
    chosen = Options(**options)
    rows, heading = headed(read_sheet(File("t.xlsx", "sheet", data, None), chosen), chosen)
    names = heading.names if heading.given else None
    return replace(rows, names=names, notes=(*rows.notes, *heading.notes))


def said(data: bytes, **options) -> str:
    with pytest.raises(InputError) as caught:
        read(data, **options)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    return sentence


def cells_of(rows: Rows) -> list[list[object]]:
    return [list(row) for row in zip(*(one.to_pylist() for one in rows.columns), strict=True)]


@pytest.mark.parametrize("write", [by_openpyxl, by_xlwt, by_odfpy])
def test_values_of_other_programs_are_read(write) -> None:
    found = read(write(ROWS))
    assert found.names == ROWS[0]
    assert cells_of(found) == [
        ["1.5", "-2", "a"], ["1e-300", "12345678", "ä & <b>"], ["3", None, "c"],
    ]  # fmt: skip
    assert found.numbers().tolist() == [2, 3, 4]
    assert found.notes == ()


def test_a_binary_workbook_is_read() -> None:
    cells = [(0, 0, 0), (0, 1, 1), (1, 0, 1.5), (1, 1, 2.5), (2, 0, 3.5), (2, 1, -1.0)]
    found = read(by_hand_xlsb(cells))
    assert (found.names, cells_of(found)) == (["x", "y"], [["1.5", "2.5"], ["3.5", "-1"]])


def test_dates_and_truth_values_are_text() -> None:
    moments = [
        datetime(2024, 3, 1),
        datetime(2024, 3, 1, 12, 0, 1),
        date(1900, 2, 28),
        time(6),
        True,
    ]
    found = read(by_openpyxl([["x", "when"], *([at + 0.5, one] for at, one in enumerate(moments))]))
    assert found.columns[1].to_pylist() == [
        "2024-03-01", "2024-03-01 12:00:01", "1900-02-28", "06:00:00", "True",
    ]  # fmt: skip


def test_titles_empty_rows_and_other_tables_are_left_out() -> None:
    body = [[at + 0.5, at] for at in range(5)]
    rows = [["Survey"], [], ["x", "y"], *body[:2], [], *body[2:], [], ["Source: me"]]
    found = read(by_openpyxl(rows, left=2))
    assert (found.names, cells_of(found)[2]) == (["x", "y"], ["2.5", "2"])
    assert found.numbers().tolist() == [4, 5, 7, 8, 9]
    assert found.notes == ('Rows outside the table are left out: "1 to 1", "11 to 11".',)
    found = read(by_openpyxl([["x", "y"], *body, [], ["p", "q"], [1, 2]]))
    assert found.rows == 5
    assert '"8 to 9"' in found.notes[0]


def test_rows_keep_their_numbers_below_empty_ones() -> None:
    found = read(by_openpyxl([[], [], *ROWS]))
    assert (found.names, found.numbers().tolist()) == (ROWS[0], [4, 5, 6])
    assert read(by_openpyxl([[], ["a"], *ROWS]), skip=2).numbers().tolist() == [4, 5, 6]


@pytest.mark.exhaustive(reason="other sheets are read daily")
def test_units_and_missing_names() -> None:
    found = read(by_openpyxl([["x", "t"], ["m", "s"], [1, 2.5], [3, 4]], write_only=True))
    assert (found.names, cells_of(found)) == (["x", "t"], [["1", "2.5"], ["3", "4"]])
    assert "units" in found.notes[0]
    assert read(by_openpyxl([[1.5, 2], [3, 4]])).names is None
    assert read(by_openpyxl(ROWS), header=False).names is None
    assert read(by_openpyxl([["a", "b"], *ROWS]), skip=1).names == ROWS[0]


def test_numbers_that_a_program_may_have_rounded_are_text() -> None:
    found = read(by_openpyxl([["id"], [1234567890123456], [7]]))
    assert found.columns[0].to_pylist() == ["1.234567890123456e+15", "7"]


def test_formulas_without_results_are_named() -> None:
    data = workbook(
        {"a": sheet([["x", "y"], [1, "<c><f>A2</f></c>"], [2, "<c><f>A3</f><v>3</v></c>"]])}
    )
    found = read(data)
    assert cells_of(found) == [["1", None], ["2", "3"]]
    assert found.notes[0].startswith("Formulas have no result, as in B2")


def test_the_sheet_is_named_where_several_hold_cells() -> None:
    one = sheet([["x"], [1]])
    data = workbook({"a": one, "b & c": one, "none": sheet([]), "d": one}, hidden=["d"])
    assert sheet_names(File("t", "sheet", data, None)) == ("a", "b & c")
    assert '2 sheets: name the sheet to read, "a", "b & c"' in said(data)
    assert 'sheet = "e"' in said(data, part="e")
    assert read(data, part="d").rows == 1
    assert "no sheet with data" in said(workbook({"a": sheet([])}))


def far_xls(change) -> bytes:
    data = bytearray(by_xlwt([["x"], *([one] for one in range(400))]))
    change(data)
    return bytes(data)


def _put(data: bytearray, before: bytes, after: bytes) -> None:
    at = data.index(before)
    data[at : at + len(after)] = after


CELL = "<table:table-cell {} office:value-type='float' office:value='1'/>"
WIDE = CELL.format('table:number-columns-repeated="16384"')
FAR = "<worksheet><sheetData><row r='1'><c r='A1'><v>1</v></c></row><row><c r='XFD1048576'><v>2</v></c></row></sheetData></worksheet>"  # fmt: skip

#: The headers of these files state larger sizes than the files have.
READ_WITHIN_LIMITS = {"no places", "xlsb room", "xls sectors"}
DANGERS = {
    "far": lambda: workbook({"a": FAR}),
    "no places": lambda: workbook({"a": "<worksheet><sheetData><row r='1048576'>" + "<c><v>1</v></c>" * 99+ "</row></sheetData></worksheet>"}),
    "count": lambda: workbook({"a": sheet([["x"], ["<c t='s'><v>0</v></c>"]])}, parts={"xl/sharedStrings.xml": "<sst uniqueCount='99999999999'><si><t>a</t></si></sst>"}),
    "texts": lambda: workbook({"a": "<worksheet><sheetData><row>" + "<c t='s'><v>0</v></c>" * 9000 + "</row></sheetData></worksheet>"}, shared=["a" * 2**20]),
    "ods": lambda: ods_of("<table:table-row table:number-rows-repeated='1048576'>" + WIDE + "</table:table-row>"),
    "ods rows": lambda: ods_of(f"<table:table-row>{CELL.format('')}<table:table-cell table:number-columns-repeated='16000'/>{CELL.format('')}</table:table-row>" * 800),
    "xlsb": lambda: by_hand_xlsb([(0, 0, 0), (1_000_000, 16_000, 1.0)]),
    "xlsb room": lambda: by_hand_xlsb([(0, 0, 0), (1, 0, 1.0)], extern=2**32 - 1),
    "xls cell": lambda: far_xls(lambda d: _put(d, struct.pack("<HHHH", 0x27E, 10, 390, 0), struct.pack("<HHHH", 0x27E, 10, 65535, 65535))),
    "xls room": lambda: far_xls(lambda d: _put(d, struct.pack("<HHII", 0x200, 14, 0, 401), struct.pack("<HHII", 0x200, 14, 0, 2**32 - 1))),
    "xls sectors": lambda: far_xls(lambda d: _put(d, d[44:48], b"\xff\xff\xff\x7f")),
    "password": lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
    "no end": lambda: ods_of("<table:table-row></tabl:row>"),
    "nothing": lambda: b"PK\x03\x04",
}  # fmt: skip


# Each case starts a process. The limits are the same as in test_apart.py and test_bombs.py.
@pytest.mark.some(2)
@pytest.mark.parametrize("kind", DANGERS)
def test_what_would_fill_the_memory_ends_in_a_sentence(kind, monkeypatch) -> None:
    monkeypatch.setattr(apart, "SECONDS", 3.0)
    data, before = DANGERS[kind](), resource.getrusage(resource.RUSAGE_CHILDREN)
    if kind in READ_WITHIN_LIMITS:
        assert read(data).rows
    else:
        sentence = said(data)
        assert ("password" in sentence) == (kind == "password")
        assert ("XFD1048576" in sentence) == (kind == "far")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime < 10
    assert after.ru_maxrss <= max(2**21, before.ru_maxrss)


def test_new_errors_of_cells_are_named() -> None:
    data = workbook({"a": sheet([["x"], ["<c t='e'><v>#SPILL!</v></c>"], [2]])})
    assert "has a cell with the error #SPILL!" in said(data)


def test_a_process_with_limits_starts_no_other(monkeypatch) -> None:
    monkeypatch.setattr(apart, "limited", True)
    monkeypatch.setattr(apart, "subprocess", None)
    assert read(by_openpyxl(ROWS)).names == ROWS[0]


def test_empty_cells_that_only_have_a_format_take_no_room() -> None:
    styled = FAR.replace("<c r='XFD1048576'><v>2</v></c>", "<c r='XFD1048576' s='0'/>")
    assert read(workbook({"a": styled})).rows == 1
    empty = "<table:table-cell table:number-columns-repeated='16384'/>"
    row = f"<table:table-row>{CELL.format('')}</table:table-row>"
    rest = f"<table:table-row table:number-rows-repeated='1048575'>{empty}</table:table-row>"
    assert read(ods_of(row + rest)).rows == 1


def _damaged(rng: random.Random) -> bytes:
    """A workbook with a few changed bytes; in an archive, a part is changed before packing."""
    seed = rng.choice([by_openpyxl, by_xlwt, by_odfpy])(ROWS)
    parts = {one: member(seed, "t", one) for one in members(seed, "t")} if seed[:2] == b"PK" else {}
    which = rng.choice([one for one in parts if parts[one]]) if parts else ""
    data = bytearray(parts.get(which, seed))
    for _ in range(rng.choice([1, 1, 2, 6])):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
    return zipped(parts | {which: bytes(data)}) if parts else bytes(data)


@pytest.mark.parametrize("number", daily(range(150), lambda number: number % 25 == 0))
def test_damage_gives_rows_or_one_sentence(number, monkeypatch) -> None:
    monkeypatch.setattr(apart, "SECONDS", 2.0)
    data = _damaged(random.Random(number))
    try:
        sentence = "." * len(read(data).columns)
    except InputError as error:
        sentence = str(error)
    assert sentence.endswith(".")


def test_files_of_an_archive() -> None:
    one = zipped({"__MACOSX/._a.csv": "", "a.csv": "x,y\n1,2\n", "README.txt": "about"})
    assert member(one, "t.zip", "a.csv") == b"x,y\n1,2\n"
    for data, which in (
        (zipped({"a.zip": one}), "a.zip"),
        (zipped({"a.csv": bytes(2**27)}), "a.csv"),
    ):
        with pytest.raises(InputError, match=r"another archive|unpacked"):
            member(data, "t.zip", which)
    # The archive gives a small size, but another program would unpack all bytes.
    short = bytearray(zipped({"a.csv": b"1\n" * 99}))
    for at in (short.index(b"PK\x03\x04") + 22, short.index(b"PK\x01\x02") + 24):
        short[at : at + 4] = struct.pack("<I", 2)
    with pytest.raises(InputError, match="not a whole zip archive"):
        member(bytes(short), "t.zip", "a.csv")

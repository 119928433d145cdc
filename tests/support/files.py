"""Make workbooks and shapefiles byte by byte, in the form in which other programs write them."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            # Without a date of its own, an entry takes the current time, and no two archives agree.
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def cell(place: str, value: object) -> str:
    """XML of one cell, whose value is a number, a text, a truth value, or the XML itself."""
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith("<c"):
        return value.replace("<c", f'<c r="{place}"', 1)
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value!r}</v></c>'


def letters(at: int) -> str:
    return (letters(at // 26 - 1) if at > 25 else "") + chr(65 + at % 26)


def sheet(rows: Sequence[Sequence[object] | None], after: str = "") -> str:
    """XML of a sheet; a row that is None is left out."""
    lines = "".join(
        f'<row r="{number}">'
        + "".join(cell(f"{letters(at)}{number}", value) for at, value in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, start=1)
        if row is not None
    )
    return f"<worksheet {_MAIN}><sheetData>{lines}</sheetData>{after}</worksheet>"


def workbook(
    sheets: Mapping[str, str | bytes],
    shared: Sequence[str] = (),
    formats: Sequence[str] = (),
    hidden: Sequence[str] = (),
    parts: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """An .xlsx file of sheets, shared texts and cell formats (the first format is s="1")."""
    numbers = range(1, len(sheets) + 1)
    entries = "".join(
        f"<sheet name={quoteattr(name)} sheetId='{at}' r:id='r{at}' "
        f"state='{'hidden' if name in hidden else 'visible'}'/>"
        for at, name in zip(numbers, sheets, strict=True)
    )
    kinds = {f"r{at}": ("worksheet", f"worksheets/sheet{at}.xml") for at in numbers}
    kinds |= {"t": ("sharedStrings", "sharedStrings.xml"), "s": ("styles", "styles.xml")}
    relations = "".join(
        f'<Relationship Id="{key}" Type="{_REL}/{kind}" Target="{target}"/>'
        for key, (kind, target) in kinds.items()
    )
    texts = "".join(f"<si><t>{escape(text)}</t></si>" for text in shared)
    codes = "".join(
        f'<numFmt numFmtId="{170 + at}" formatCode={quoteattr(code)}/>'
        for at, code in enumerate(formats)
    )
    styles = "".join(f'<xf numFmtId="{170 + at}"/>' for at in range(len(formats)))
    made: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships><Relationship Id="r1" Type="{_REL}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_REL}"><sheets>{entries}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f"<Relationships>{relations}</Relationships>",
        "xl/sharedStrings.xml": f"<sst {_MAIN}>{texts}</sst>",
        "xl/styles.xml": f"<styleSheet {_MAIN}><numFmts>{codes}</numFmts><cellStyleXfs>"
        f'<xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>{styles}</cellXfs>'
        "</styleSheet>",
    }
    made |= {
        f"xl/worksheets/sheet{at}.xml": xml
        for at, xml in zip(numbers, sheets.values(), strict=True)
    }
    return zipped(made | dict(parts or {}))


def shp(shapes: Sequence[Sequence[tuple[float, float]] | None], kind: int = 1) -> bytes:
    """A .shp file; None is a null shape."""
    records = b""
    for number, points in enumerate(shapes, start=1):
        if points is None:
            content = struct.pack("<i", 0)
        elif kind in (1, 11, 21):
            content = struct.pack("<idd", kind, *points[0]) + bytes(8 * {1: 0, 11: 2, 21: 1}[kind])
        else:
            content = struct.pack("<i4di", kind, 0, 0, 0, 0, len(points))
            content += b"".join(struct.pack("<dd", *one) for one in points)
        records += struct.pack(">ii", number, len(content) // 2) + content
    head = struct.pack(">i20xi", 9994, 50 + len(records) // 2) + struct.pack("<ii64x", 1000, kind)
    return head + records


def dbf(fields: Sequence[tuple[str, str, int]], rows: Sequence[Sequence[bytes]]) -> bytes:
    """A .dbf file of fields (name, type, width); a row that starts with b"*" counts as deleted."""
    width = 1 + sum(one[2] for one in fields)
    start = 32 + 32 * len(fields) + 1
    head = struct.pack("<4BIHH20x", 3, 126, 1, 1, len(rows), start, width)
    for name, kind, size in fields:
        head += (
            name.encode().ljust(11, b"\0") + kind.encode() + bytes(4) + bytes([size]) + bytes(15)
        )
    body = b""
    for row in rows:
        gone = row[:1] == [b"*"]
        values = row[1:] if gone else row
        body += b"*" if gone else b" "
        body += b"".join(value.ljust(one[2]) for value, one in zip(values, fields, strict=True))
    return head + b"\r" + body + b"\x1a"

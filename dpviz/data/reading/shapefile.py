"""Zipped ESRI shapefiles of points: coordinates and attributes become lines of text.

Read here, not by a library: the two layouts are records of known size, and so a file takes no more
memory than its bytes, and a deleted record takes its point along. Source: ESRI Shapefile Technical
Description, 1998; dBASE III file header.
"""

from __future__ import annotations

import codecs
import posixpath
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace

from dpviz.data.reading.archive import Archive
from dpviz.data.reading.files import File
from dpviz.data.reading.lines import TAB, Lines
from dpviz.errors import InputError, listed, shown

#: Kinds of shapes, each also with heights and measures.
_POINT, _MANY = (1, 11, 21), (8, 18, 28)
_OTHERS = {3: "lines", 5: "areas", 31: "surfaces"}

_HEADER = 100

#: Types of attributes that are text: characters, numbers, dates, truth values.
_TEXT = "CNFDL"

#: Encodings of text, as Python names them.
_CODE_PAGES = re.compile(
    r"cp\d+|iso8859-\d+|utf-8|koi8-[rut]|mac-\w+|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|"
    "euc_jp|euc_kr|johab|tis-620"
)

#: Of every release: it may not depend on whether there are such shapes.
EACH_POINT = "Each point is a record by itself, also of a MultiPoint."


class _DamagedError(Exception):
    """The bytes are no shapefile."""


def shapefile_as_text(file: File, archive: Archive, released: bool) -> File:
    """Make lines of text of all points; the first line has the names.

    Parameters
    ----------
    released
        No sentence may tell how many records there are.

    Raises
    ------
    InputError
        If there is not exactly one shapefile, it is damaged, or its shapes are no points.
    """
    shape = _shape(archive, file.name)
    parts = {part.lower(): part for part in archive.names}
    stem = shape.lower().removesuffix(".shp")

    def part(ending: str) -> bytes | bytearray:
        name = parts.get(stem + ending)
        return b"" if name is None else archive.whole(name)

    place, note = _place(part(".prj").decode(errors="replace"))
    try:
        points = _points(archive.whole(shape), file.name, released)
        table = part(".dbf")
        names, records = _attributes(table, part(".cpg")) if table else ([], None)
        lines = Lines(file.name, (file.memory - archive.held) // 2)
        lines.add([*place, *names])
        split = 0
        for found in points:
            fields = [] if records is None else next(records, _END)
            if fields is _END:
                raise _DamagedError
            if fields is None:  # deleted
                continue
            split += len(found) > 1
            for point in found or [("", "")]:
                lines.add([*point, *fields])
        if records is not None and next(records, _END) is not _END:
            raise _DamagedError
    except (_DamagedError, struct.error):
        raise InputError(
            f"{shown(file.name)} holds a shapefile that is not whole, or whose .shp and .dbf don't "
            "fit together: write it again, with all its files in one .zip."
        ) from None
    notes = [note]
    if released:
        notes.append(EACH_POINT)
    elif split:
        notes.append(f"Points of {split:,} MultiPoint shapes are rows by themselves.")
    text = lines.text()
    return replace(file, format="text", data=text, separator=TAB, notes=tuple(filter(None, notes)))


def _shape(archive: Archive, name: str) -> str:
    """Name of the only .shp in the archive."""
    shapes = [one for one in archive.names if is_shape(one)]
    if len(shapes) > 1:
        stems = listed(posixpath.basename(one) for one in shapes)
        raise InputError(
            f"{shown(name)} holds {len(shapes):,} shapefiles, {stems}: give a .zip with one."
        )
    return shapes[0]


def is_shape(part: str) -> bool:
    """Whether a file of an archive holds shapes; macOS adds others that only look like it."""
    return part.lower().endswith(".shp") and "__MACOSX" not in part


def _place(projection: str) -> tuple[tuple[str, str], str]:
    """Names of the coordinates by the .prj file, and a sentence where they are no degrees."""
    found = re.search(r'(PROJCR?S|GEOGCR?S|GEODCRS)\s*\[\s*"([^"]*)"', projection)
    if found and not found[1].startswith("PROJ"):
        return ("lon", "lat"), ""
    if found:
        return ("x", "y"), (
            f"The coordinates are projected ({shown(found[2])}), so the columns are x and y, not "
            "lon and lat."
        )
    return ("x", "y"), (
        "There is no .prj file that tells what the coordinates are, so the columns are x and y."
    )


def _points(data: bytes | bytearray, name: str, released: bool) -> Iterator[list[tuple[str, str]]]:
    """Points of successive records; of a release, a record that is none has no place."""
    if len(data) < _HEADER or data[:4] != b"\0\0\x27\x0a":
        raise _DamagedError
    kind = struct.unpack_from("<i", data, 32)[0]
    if kind % 10 in _OTHERS or kind in _OTHERS:
        what = _OTHERS[kind if kind in _OTHERS else kind % 10]
        raise InputError(
            f"{shown(name)} holds a shapefile of {what}, and only points can be clustered: make "
            "points of them first (QGIS: Vector, Geometry Tools, Centroids)."
        )
    return _records(data, released)


def _records(data: bytes | bytearray, released: bool) -> Iterator[list[tuple[str, str]]]:
    place = _HEADER
    while place < len(data):
        _, words = struct.unpack_from(">ii", data, place)
        start, place = place + 8, place + 8 + 2 * words
        if words < 2 or place > len(data):
            raise _DamagedError
        kind = struct.unpack_from("<i", data, start)[0]
        many = struct.unpack_from("<i", data, start + 36)[0] if words >= 20 else -1
        if kind in _POINT and words >= 10:
            yield [_pair(data, start + 4)]
        elif kind in _MANY and 0 <= many <= (2 * words - 40) // 16:
            yield [_pair(data, start + 40 + 16 * at) for at in range(many)]
        elif kind == 0 or released:
            yield []
        else:
            raise _DamagedError


def _pair(data: bytes | bytearray, place: int) -> tuple[str, str]:
    x, y = struct.unpack_from("<dd", data, place)
    return repr(x), repr(y)


#: After the last record.
_END: list[str] = ["end"]


def _attributes(
    data: bytes | bytearray, code_page: bytes | bytearray
) -> tuple[list[str], Iterator[list[str] | None]]:
    """Names of the attributes that are text, and their values; None for a deleted record."""
    rows, start, size = struct.unpack_from("<IHH", data, 4)
    if start + rows * size > len(data) or size < 1:
        raise _DamagedError
    decode = _decoder(code_page.decode("ascii", "replace").strip())
    names, spans = [], []
    end = 1
    for place in range(32, min(start, len(data)) - 31, 32):
        field = data[place : place + 32]
        if field[0] == 0x0D:
            break
        width, kind = field[16], chr(field[11])
        if kind == "C":  # long texts keep the high byte where numbers keep their decimals
            width += 256 * field[17]
        if kind in _TEXT:
            names.append(decode(field[:11].split(b"\0")[0]))
            spans.append((end, end + width, kind))
        end += width
    if end > size:
        raise _DamagedError

    def records() -> Iterator[list[str] | None]:
        for place in range(start, start + rows * size, size):
            if data[place] == ord("*"):
                yield None
            else:
                yield [_text(data[place + a : place + b], kind, decode) for a, b, kind in spans]

    return names, records()


def _text(value: bytes | bytearray, kind: str, decode: Callable[[bytes | bytearray], str]) -> str:
    """Text of one attribute; nothing where it is not filled in."""
    text = decode(value.strip(b" \0"))
    if kind in "NF":
        return "" if text.startswith("*") else text  # stars: too long for its field
    if kind == "D" and re.fullmatch("[0-9]{8}", text):
        return f"{text[:4]}-{text[4:6]}-{text[6:]}"
    if kind == "L":
        return {"t": "True", "y": "True", "f": "False", "n": "False"}.get(text.lower(), "")
    return text


def _decoder(code_page: str) -> Callable[[bytes | bytearray], str]:
    """How text is decoded. Without a known code page every byte is a sign: no two become one."""
    name = "utf-8" if code_page in ("65001", "UTF8", "UTF-8") else code_page
    try:
        known = codecs.lookup(f"cp{name}" if name.isdigit() else name).name
    except (LookupError, ValueError):
        known = ""
    if not _CODE_PAGES.fullmatch(known):  # others need not decode every byte
        known = "latin-1"
    return lambda value: value.decode(known, "replace")

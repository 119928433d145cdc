"""Text for a release: the first line is public, and every other line is read by itself.

A line with more or fewer fields than the first is missing, and so is a cell that is not UTF-8. A
line break inside quotes ends a row, too; a quotation mark that is not closed in its line is a
character like others. A byte order mark in front of a line, as joined files have it, is no part of
it.
"""

from __future__ import annotations

import csv
import re
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.data.reading.cells import TableCells, check_width
from dpviz.data.reading.files import BOM, ZIP, File
from dpviz.data.reading.table import Table, doubtful, named_table
from dpviz.data.reading.unread import NamedRows

#: Possible separators of the fields of a row, and their names; the first line tells which it is.
MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}

#: Bytes of lines that are looked at together.
_BLOCK = 2**23

_COMMAS = (
    "In a release a comma is a decimal mark in files separated by {mark}s: write numbers without "
    "thousands separators."
)


def read_lines(file: File, header: bool | str | None) -> Table:
    """Read a text; every cell is text, and there may be no row at all.

    Raises
    ------
    InputError
        If its first line (or ``header``, the line of names that the file lacks) can't be read.
    """
    lines, names, mark, ragged = independent_lines(file.data, file.name, header)
    notes = (_COMMAS.format(mark=MARKS[mark]),) if mark != "," else ()
    return named_table(
        file.name,
        names,
        TableCells(_columns(lines, mark, len(names)), style="point" if mark == "," else "either"),
        memory=file.memory,
        notes=notes,
        doubtful=[] if header is not None else doubtful(names),
        ragged=NamedRows(rows=ragged),
    )


def _columns(lines: bytes, mark: str, width: int) -> list[pa.ChunkedArray]:
    """Fields as text; all lines have as many of them."""
    names = [str(axis) for axis in range(width)]
    if not re.search(rb"\S", lines):
        return [pa.chunked_array([], pa.string()) for _ in names]
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
    longest = int(np.diff(ends, prepend=-1, append=len(lines)).max())
    table = pyarrow.csv.read_csv(
        # Arrow removes one such mark, and so must not meet that of a record.
        pa.BufferReader(BOM + lines),
        pyarrow.csv.ReadOptions(
            use_threads=False, column_names=names, block_size=max(_BLOCK, longest + 5)
        ),
        pyarrow.csv.ParseOptions(delimiter=mark),
        pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False
        ),
    )
    return list(table.columns)


def independent_lines(
    data: bytes, name: str, header: bool | str | None
) -> tuple[bytes, list[str], str, int]:
    """Lines of a text, names of its columns, their separator, and how many lines are left out.

    Every line is a row, unless its number of fields differs from the line of names or is unclear.
    """
    if header is False:
        raise InputError(
            f"{shown(name)} is to be read without a line of names, but a record must not tell "
            "how many columns there are, and what separates them: put such a line first, or give "
            'it as the header, for example "x,y".'
        )
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    data = data.removeprefix(BOM).replace(b"\n" + BOM, b"\n")
    first, start = header, 0
    if not isinstance(first, str):
        written = re.search(rb"\S", data)
        start = data.rfind(b"\n", 0, written.start()) + 1 if written else len(data)
        end = data.find(b"\n", start) + 1 or len(data)
        _check_names(data[start:end], name)
        first, start = data[start:end].decode().removesuffix("\n"), end
    delimiter, fields = _named(first, name, spaces=isinstance(header, str))
    names = list(fields)
    while len(names) > 1 and not names[-1].strip():  # separators at the end
        names.pop()
    check_width(len(names), name)
    extra = max(1, len(fields) - len(names))
    mark = "," if delimiter == " " else delimiter
    parts, ragged = [], 0
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK) + 1 or len(data)
        lines = data[start:end]
        if delimiter == " ":
            lines = b"\n".join(b",".join(line.split()) for line in lines.split(b"\n"))
        lines, others = _lines_of_width(lines, mark, len(names), extra)
        parts.append(lines)
        ragged += others
        start = end
    return b"".join(parts), names, mark, ragged


def _named(line: str, name: str, *, spaces: bool) -> tuple[str, list[str]]:
    """Separator and fields of the line that names the columns; it may be a run of spaces."""
    found = {}
    for mark in MARKS:
        # With a mark that does not separate, the whole line is one field, maybe a too long one.
        with suppress(csv.Error):
            found[mark] = next(csv.reader([line], delimiter=mark, strict=True), [])
    if not found:
        raise InputError(
            f"{shown(name)} has a line of names that can't be read: close every quotation mark, "
            "and give short names."
        )
    width = max(map(len, found.values()))
    marks = [mark for mark, fields in found.items() if len(fields) == width]
    if width == 1 and spaces and len(line.split()) > 1:
        return " ", line.split()
    if marks == [","]:
        marks = [mark for mark, fields in found.items() if len(fields) > 1] or marks
    elif "," in marks and width > 1:
        marks.remove(",")  # of a name such as "height, in m": a decimal mark below
    if width > 1 < len(marks):
        words = " as well as by ".join(f"{MARKS[mark]}s" for mark in marks)
        raise InputError(
            f"{shown(name)} has a line of names that is separated by {words}: remove one of them "
            "from the names."
        )
    return marks[0], found[marks[0]]


def _check_names(line: bytes, name: str) -> None:
    """Refuse a line of names that is no text."""
    if not line.strip():
        raise InputError(f"{shown(name)} is empty: give a line of names and one row per record.")
    if b"\0" not in line and not line.startswith(ZIP) and _is_utf8(line):
        return
    way_out = "save the table as CSV in UTF-8, or give the file its right ending (.parquet, .npy)."
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        way_out = "it is UTF-16: save it as CSV in UTF-8."
    raise InputError(f"{shown(name)} has a first line that is no text in UTF-8: {way_out}")


def _is_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines_of_width(data: bytes, mark: str, width: int, extra: int) -> tuple[bytes, int]:
    """Lines of ``width`` fields; lines with another or an unclear number of fields are left out.

    Separators at the end are cut off, up to ``extra`` of them: as many as the line of names has, or
    one. The second part is the number of lines left out, without blank ones.

    Parameters
    ----------
    data
        Lines that end in a newline; the last one may lack it.
    """
    if not data.endswith(b"\n"):
        data += b"\n"
    if not _is_utf8(data):
        # No line changes another one: invalid UTF-8 never extends past a line break.
        data = data.decode(errors="replace").encode()
    signs = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(signs == ord("\n")) + 1
    starts = np.concatenate(([0], ends[:-1]))
    sizes = ends - starts
    separators, unclear = signs == ord(mark), np.zeros(len(ends), dtype=bool)
    if b'"' in data:
        inside, doubtful = _quoted(signs, starts, sizes, mark)
        separators &= ~inside
        unclear = np.logical_or.reduceat(doubtful, starts)
    found = np.add.reduceat(separators, starts, dtype=np.intp) + 1
    sizes_kept, kept = sizes.copy(), np.ones(len(signs), dtype=bool)
    ends_with_mark = ~unclear
    for _ in range(extra):
        ends_with_mark &= (found > width) & separators[starts + sizes_kept - 2] & (sizes_kept > 1)
        if not ends_with_mark.any():
            break
        kept[(starts + sizes_kept - 2)[ends_with_mark]] = False
        sizes_kept -= ends_with_mark
        found -= ends_with_mark
    keep = unclear | (found == width)
    others = 0 if keep.all() else int((np.logical_or.reduceat(signs > 32, starts) & ~keep).sum())
    data = signs[kept & np.repeat(keep, sizes)].tobytes()
    ends = np.cumsum(sizes_kept[keep])[unclear[keep]]
    data, wrong = _with_rows(data, ends - sizes[unclear], ends, mark, width, extra)
    return data, others + wrong


def _with_rows(
    data: bytes,
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
    mark: str,
    width: int,
    extra: int,
) -> tuple[bytes, int]:
    """Lines, of which some are read one by one, and how many of these are left out."""
    parts, upto, wrong = [], 0, 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        row = _row(data[start : end - 1], mark, width, extra)
        wrong += not row
        parts += [data[upto:start], row]
        upto = end
    return b"".join([*parts, data[upto:]]), wrong


def _quoted(
    signs: NDArray[np.uint8], starts: NDArray[np.intp], sizes: NDArray[np.intp], mark: str
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the signs inside quotation marks, and of the marks that need a detailed check.

    The latter are not around a whole field, or are not closed in their line.
    """
    quotes = signs == ord('"')
    before = np.cumsum(quotes, dtype=np.int32) - quotes
    inside = (before - np.repeat(before[starts], sizes)) % 2 == 1
    border = quotes | (signs == ord(mark)) | (signs == ord("\n"))
    opened = np.concatenate(([True], border[:-1]))
    closed = np.concatenate((border[1:], [True]))
    doubtful = quotes & ~np.where(inside, closed, opened)
    # A line break inside quotation marks: the last mark is not closed.
    return inside, doubtful | (inside & (signs == ord("\n")))


def _row(line: bytes, mark: str, width: int, extra: int) -> bytes:
    """Line of ``width`` quoted fields, or nothing if their number differs or is unclear."""
    try:
        fields = next(csv.reader([line.decode()], delimiter=mark, strict=True), [])
    except csv.Error:  # a quotation mark that is a character like others; this line alone tells
        fields = line.decode().split(mark)
    end = line.decode()
    while width < len(fields) <= width + extra and end.endswith(mark):
        fields.pop()
        end = end.removesuffix(mark)
    if len(fields) != width:
        return b""
    return (mark.join('"' + field.replace('"', '""') + '"' for field in fields) + "\n").encode()

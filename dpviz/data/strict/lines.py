"""Text for a release: the first line is public, and every other line is read separately.

Every function treats each line of an Arrow array separately. A line is missing if it has more or
fewer fields than the first line, or more than 1 MB. A cell is missing if it is not UTF-8. A line
break ends a row even inside quotes. A quotation mark without a partner in its line is an ordinary
character. A byte order mark at the start of a line, as in joined files, is removed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from dpviz.base.arrays import Ints
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.cells import Style, TableCells, check_width
from dpviz.data.reading.files import BOM, ZIP, File
from dpviz.data.reading.table import Table, doubtful, named_table
from dpviz.data.reading.unread import NamedRows

#: Possible field separators and their names. The first line determines the separator.
MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}

_BLOCK = 2**22

#: Largest number of bytes of a row; the fields of a longer line would need too much memory.
_LONGEST = 2**20

#: Lines with at least this number of bytes are checked before they are split.
_LONG = 2**16

_COMMAS = (
    "In a release a comma is a decimal mark in files separated by {mark}s: write numbers without "
    "thousands separators."
)


def read_lines(file: File, header: bool | str | None) -> Table:
    """Table of text, perhaps without rows; InputError if the header can't be read."""
    if header is False:
        raise InputError(
            f"{shown(file.name)} can't be read without a line of names, because a record must not "
            "reveal how many columns there are, or their separator: put a line of names first, or "
            'give it as the header, for example "x,y".'
        )
    data = file.data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    data = data.removeprefix(BOM).replace(b"\n" + BOM, b"\n")
    first, start = (header, 0) if isinstance(header, str) else _first_line(data, file.name)
    mark, names, more = _named(first, file.name, spaces=isinstance(header, str))
    by_spaces, mark = mark == " ", mark.replace(" ", ",")
    blocks, ragged, places = [], 0, []
    line = data.count(b"\n", 0, start) + 1
    for lines in _blocks(data, start):
        at = pa.array(np.arange(line, line + len(lines)))
        # A line break ends a line; after the last line break of a block there is no line.
        line += len(lines) - (lines[-1].as_py() == "")
        is_long = pc.greater(pc.binary_length(lines), _LONGEST)
        ragged += _written(lines.filter(is_long))
        lines, at = (_only(one, pc.invert(is_long)) for one in (lines, at))
        if by_spaces:
            lines = pc.replace_substring_regex(pc.ascii_trim_whitespace(lines), r"[\s\v]+", mark)
        columns, others, at = _columns(lines, at, mark, len(names), more)
        blocks.append(columns)
        places.append(at.to_numpy())
        ragged += others
    cells = [
        pa.chunked_array([columns[axis] for columns in blocks], pa.large_string())
        for axis in range(len(names))
    ]
    return named_table(
        file.name,
        names,
        _LineCells(cells, "point" if mark == "," else "either", places),
        memory=file.memory,
        notes=() if mark == "," else (_COMMAS.format(mark=MARKS[mark]),),
        doubtful=[] if header is not None else doubtful(names),
        ragged=NamedRows(rows=ragged),
    )


def _first_line(data: bytes, name: str) -> tuple[str, int]:
    written = re.search(rb"\S[^\n]*", data)
    if not written:
        raise InputError(f"{shown(name)} is empty: give a line of names and one row per record.")
    start, end = data.rfind(b"\n", 0, written.start()) + 1, written.end()
    line = data[start:end]
    if b"\0" not in line and not line.startswith(ZIP):
        with suppress(UnicodeDecodeError):
            return line.decode(), end + 1
    way_out = "save the table as CSV in UTF-8, or give the file the right ending (.parquet, .npy)"
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        way_out = "it is UTF-16: save it as CSV in UTF-8"
    way_out += f" (dpviz convert {shown(name)} FILE.csv)."
    raise InputError(f"{shown(name)} has a first line that is not text in UTF-8: {way_out}")


def _named(line: str, name: str, *, spaces: bool) -> tuple[str, list[str], int]:
    """Separator, column names, and number of empty fields that a row may have at its end."""
    found = {}
    for mark in MARKS:
        # With a wrong separator, the whole line is one field, which may be too long.
        with suppress(csv.Error):
            found[mark] = next(csv.reader([line], delimiter=mark, strict=True), [])
    if not found:
        raise InputError(
            f"{shown(name)} has a line of names that can't be read: close every quotation mark on "
            f"it, and give short names without line breaks (dpviz convert {shown(name)} FILE.csv)."
        )
    width = max(map(len, found.values()))
    marks = [mark for mark, fields in found.items() if len(fields) == width]
    if width == 1 and spaces and len(line.split()) > 1:
        marks, found = [" "], {" ": line.split()}
    elif marks == [","]:
        marks = [mark for mark, fields in found.items() if len(fields) > 1] or marks
    elif "," in marks and width > 1:
        marks.remove(",")  # it is in a name such as "height, in m"
    if width > 1 < len(marks):
        words = " as well as by ".join(f"{MARKS[mark]}s" for mark in marks)
        raise InputError(
            f"{shown(name)} has a line of names that is separated by {words}: remove one of them "
            "from the names."
        )
    names = found[marks[0]]
    fields = len(names)
    while len(names) > 1 and not names[-1].strip():
        names.pop()
    check_width(len(names), name)
    return marks[0], names, max(1, fields - len(names))


def _blocks(data: bytes, start: int) -> Iterator[pa.Array]:
    """Lines of a text from the position ``start`` on, in blocks; invalid UTF-8 becomes U+FFFD."""
    while start < len(data):
        end = stop = data.find(b"\n", start + _BLOCK) + 1 or len(data)
        if end - start > _BLOCK + _LONGEST:  # the last line is too long for a row
            stop = max(data.rfind(b"\n", start, start + _BLOCK) + 1, start) + _LONGEST + 1
        # Invalid UTF-8 never extends past a line break, so lines do not affect each other.
        text = pa.array([data[start:stop].decode(errors="replace")], pa.large_string())
        yield pc.split_pattern(text, "\n").flatten()
        start = end


class _LineCells(TableCells):
    """Cells, and for each block the line numbers of its rows, which only the screen shows."""

    def __init__(self, columns: list[pa.ChunkedArray], style: Style, places: list[Ints]) -> None:
        super().__init__(columns, style)
        self._ends = np.cumsum([len(one) for one in places])
        # Most blocks have a row in every line; a range needs no memory.
        self._places = [
            range(int(one[0]), int(one[-1]) + 1)
            if len(one) and one[-1] - one[0] == len(one) - 1
            else one
            for one in places
        ]

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        blocks = np.searchsorted(self._ends, positions, side="right").tolist()
        starts = np.concatenate([[0], self._ends]).tolist()
        return [
            int(self._places[block][position - starts[block]])
            for block, position in zip(blocks, positions, strict=True)
        ]


def _columns(
    lines: pa.Array, at: pa.Array, mark: str, width: int, more: int
) -> tuple[list[pa.Array], int, pa.Array]:
    """Columns of rows (``width`` fields, then up to ``more`` empty); other lines; line numbers."""
    lines, at = (_only(one, pc.not_equal(lines, "")) for one in (lines, at))
    ragged = 0
    if (pc.max(pc.binary_length(lines)).as_py() or 0) > _LONG:
        # Lines with more or fewer separators than a row are not split, to save memory.
        separators = pc.count_substring(lines, mark)
        may_be_row = pc.and_(
            pc.greater_equal(separators, width - 1),
            pc.or_(pc.less(separators, width + more), pc.match_substring(lines, '"')),
        )
        ragged = _written(lines.filter(pc.invert(may_be_row)))
        lines, at = (one.filter(may_be_row) for one in (lines, at))
    fields = _fields(lines, mark)
    beyond = pc.subtract(pc.list_value_length(fields), width)
    is_row = pc.equal(beyond, 0)
    if pc.any(pc.greater(beyond, 0)).as_py():
        at_end = pc.subtract(pc.binary_length(lines), pc.binary_length(pc.ascii_rtrim(lines, mark)))
        empty = pc.less_equal(beyond, pc.min_element_wise(at_end, more))
        is_row = pc.and_(pc.greater_equal(beyond, 0), empty)
    rows, ragged = _only(fields, is_row), ragged + _written(lines.filter(pc.invert(is_row)))
    return [pc.list_element(rows, axis) for axis in range(width)], ragged, _only(at, is_row)


def _only(cells: pa.Array, chosen: pa.Array) -> pa.Array:
    return cells if chosen.true_count == len(chosen) else cells.filter(chosen)


def _written(lines: pa.Array) -> int:
    return int(pc.match_substring_regex(lines, r"[^\x00-\x20]").true_count)


def _fields(lines: pa.Array, mark: str) -> pa.Array:
    if not pc.any(pc.match_substring(lines, '"')).as_py():
        return pc.split_pattern(lines, mark)
    # Lines contain no line breaks, so line breaks can separate the fields. Quotation marks around
    # whole fields are removed here; lines with other quotation marks need :func:`_separated`.
    plain = f'[^"{mark}]*'
    is_other = pc.invert(_consist_of(lines, f'"{plain}"|{plain}', mark))
    texts = pc.replace_substring(pc.replace_substring(lines, '"', ""), mark, "\n")
    texts = pc.replace_with_mask(texts, is_other, _separated(lines.filter(is_other), mark))
    return pc.split_pattern(texts, "\n")


def _separated(lines: pa.Array, mark: str) -> pa.Array:
    quoted, plain = '"((?:[^"]|"")*)"', f'([^"{mark}]*)'
    first, end = (pa.scalar(text, lines.type) for text in (mark, ""))
    begun = pc.binary_join_element_wise(first, lines, end)
    field = f"{re.escape(mark)}(?:{quoted}|{plain})"
    texts = pc.replace_substring_regex(begun, field, "\n\\1\\2")
    texts = pc.replace_substring(pc.utf8_slice_codeunits(texts, 1), '""', '"')
    # If quotation marks are inside fields or not closed, Python reads the line.
    is_odd = pc.invert(_consist_of(lines, f"{quoted}|{plain}", mark))
    odd = ["\n".join(fields_of(line, mark)) for line in lines.filter(is_odd).to_pylist()]
    return pc.replace_with_mask(texts, is_odd, pa.array(odd, lines.type))


def _consist_of(lines: pa.Array, field: str, mark: str) -> pa.Array:
    return pc.match_substring_regex(lines, f"^({field})({re.escape(mark)}({field}))*$")


def fields_of(line: str, mark: str) -> list[str]:
    """Fields of one line; a quotation mark that is not closed is an ordinary character."""
    try:
        return next(csv.reader([line], delimiter=mark, strict=True), [""])
    except csv.Error:
        return line.split(mark)

"""Grids of counts: how many records lie in every cell."""

from __future__ import annotations

import csv
import math
import re

import numpy as np
from numpy.typing import NDArray

from dpviz.counts import MAX_EXACT
from dpviz.data.reading.arrays import check_real, native
from dpviz.data.reading.cells import as_numbers, text_cells
from dpviz.data.reading.files import File
from dpviz.data.reading.kinds import MISSING, holds_numbers
from dpviz.data.reading.lines import TAB
from dpviz.data.reading.table import Table
from dpviz.domain import MAX_CELLS
from dpviz.errors import InputError, shown

#: Thousands set apart, by the same sign throughout, and zeros behind a decimal mark. Code pages
#: have spaces that are no UTF-8.
_APART = re.compile(
    r"\+?(\d{1,3}(?P<mark>[ .,'\u2019\u00a0\u2009\u202f\ufffd])(?:\d{2,3}(?P=mark))*\d{3})"
    r"(?:[.,]0*)?",
    re.ASCII,
)

#: A number without such signs; with a point or a comma.
_NUMBER = re.compile(r"\+?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?", re.ASCII)

#: What separates cells, in this order: signs between thousands come last.
_SEPARATORS = (TAB, ";", "|", ",", " ")


def counts_of(
    source: NDArray[np.generic] | Table | File, name: str, *, any_total: bool
) -> NDArray[np.int64]:
    """Return the counts as integers, or raise an error with the cell that is not a count.

    Parameters
    ----------
    any_total
        For a release, also of a file of text: large counts are cut, all may be 0, and what is no
        count is 0. One record turns 999 into 1.000, or nothing into 1: no cell may decide whether
        a release comes.
    """
    if isinstance(source, File):
        cells: NDArray[np.generic] = _cells_of_text(source)
    else:
        cells = _matrix(source, any_total=any_total) if isinstance(source, Table) else source
    check_real(cells, name)
    _check_cells(cells.shape, name)
    values = native(cells)
    with np.errstate(invalid="ignore"):  # signalling NaN
        whole = values >= 0 if any_total else (values >= 0) & (values < MAX_EXACT)
        if values.dtype.kind == "f":
            whole &= values == np.floor(values)
    if any_total:
        most = MAX_EXACT // values.size
        if values.dtype.kind != "f":  # a narrow type has no such number
            most = min(most, np.iinfo(values.dtype).max)
        counts = np.minimum(np.where(whole, values, 0), most)
        return np.array(counts, dtype=np.int64, order="C")
    if not whole.all():
        assert not isinstance(source, File)  # noqa: S101 - of a release alone
        place = np.unravel_index(int(whole.argmin()), whole.shape)
        raise InputError(
            f"{_place(place, source)} holds {values[place]:g}: counts are whole numbers "
            "from 0 to 2**53; correct the cell."
        )
    counts = np.array(values, dtype=np.int64, order="C")
    # The sum of integers might overflow; the sum of floats is accurate enough here.
    if counts.sum(dtype=np.float64) > 2 * MAX_EXACT or int(counts.sum()) >= MAX_EXACT:
        raise InputError(f"{shown(name)} has counts whose sum is not below 2**53: rescale them.")
    if not counts.any():
        raise InputError(f"{shown(name)} has counts that are all 0: give at least one record.")
    return counts


def _matrix(table: Table, *, any_total: bool) -> NDArray[np.float64]:
    """All columns as floats (rows, columns); one column is one axis.

    For a release each cell is read by itself, and what is no count is 0.
    """
    shape = (table.rows, len(table.columns))
    _check_cells(shape[: 1 + (shape[1] > 1)], table.name)
    way_out = "write whole numbers alone, without names above them, since this is a grid of counts"
    matrix = np.empty(shape)
    start = 0
    axes = range(shape[1])
    if any_total:
        for columns in table.cells.blocks(axes):
            for axis, column in enumerate(columns):
                matrix[start : start + len(column), axis] = (
                    as_numbers(column)[0]
                    if holds_numbers(column.type)
                    else [count_of(one or "") for one in text_cells(column).to_pylist()]
                )
            start += len(columns[0])
    else:
        for values in table.numbers(axes, way_out):
            matrix[start : start + len(values)] = values
            start += len(values)
    return matrix if shape[1] > 1 else matrix[:, 0]


def count_of(text: str) -> float:
    """Count that a cell of text holds by itself: 1.000 is a thousand, and what is no count is 0.

    A count is whole, so three digits behind a sign are a thousand's.
    """
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    if found := _APART.fullmatch(text):
        return float(re.sub(r"\D", "", found[1]))
    if _NUMBER.fullmatch(text):
        value = float(text.replace(",", "."))
        value = min(value, 2.0 * MAX_EXACT)
        return value if value == math.floor(value) else 0.0
    return 0.0


def _cells_of_text(file: File) -> NDArray[np.float64]:
    """Counts (rows, columns) of a text for a release; one column is one axis.

    Only the number of cells in each line matters, not what stands in any of them.

    Raises
    ------
    InputError
        If lines have different numbers of cells, or names stand above the counts.
    """
    data = file.data.removeprefix(b"\xef\xbb\xbf")
    text = data.decode(errors="replace").replace("\0", "\ufffd").strip("\r\n")
    lines = re.split(r"\r\n|\r|\n", text)
    if file.separator is None:
        lines = [line for line in lines if line.strip(" ")]
    mark = _separator(file, lines)
    first = _fields(lines[0], mark)
    named = (re.match(r"[^\W\d_]", one) and one not in MISSING for one in map(str.strip, first))
    if len(first) > 1 and all(named):
        raise InputError(
            f"{shown(file.name)} has names above its cells, but a grid of counts has no header: "
            "remove the line."
        )
    width = max(_width(line, mark) for line in lines)
    _check_cells((len(lines), width)[: 1 + (width > 1)], file.name)
    matrix = np.zeros((len(lines), width))
    for row, line in enumerate(lines):
        counts = [count_of(one) for one in _fields(line, mark)[:width]]
        matrix[row, : len(counts)] = counts
    return matrix if width > 1 else matrix[:, 0]


def _separator(file: File, lines: list[str]) -> str:
    """Sign that gives all lines of a text as many cells, more than one; a tab if none does."""
    if file.separator is not None:
        return file.separator
    for mark in _SEPARATORS:
        width = _width(lines[0], mark)
        if width > 1 and all(_width(line, mark) == width for line in lines):
            return mark
    if any(mark in line for line in lines for mark in _SEPARATORS[:3]):
        raise InputError(
            f"{shown(file.name)} has lines with different numbers of cells: give all lines of a "
            "grid of counts the same number."
        )
    return TAB


def _width(line: str, mark: str) -> int:
    """Number of fields of one line; what stands in quotation marks separates none."""
    plain = re.sub('"[^"]*"', "0", line)
    return len(plain.split()) if mark == " " else plain.count(mark) + 1


def _fields(line: str, mark: str) -> list[str]:
    """Fields of one line."""
    if mark == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=mark, strict=True), [""])
    except csv.Error:  # an open quotation mark
        return line.split(mark)


def _check_cells(shape: tuple[int, ...], name: str) -> None:
    """Refuse shapes that are not a grid."""
    sides = " x ".join(f"{side:,}" for side in shape) or "1"
    if min(shape, default=0) < 2:
        raise InputError(
            f"{shown(name)} has {shown(sides)} cell{'' if sides == '1' else 's'}: a grid of "
            "counts needs at least 2 cells on each axis."
        )
    if math.prod(shape) > MAX_CELLS:
        raise InputError(
            f"{shown(name)} has {shown(sides)} = {math.prod(shape):,} cells, more than the "
            f"{MAX_CELLS:,} that fit into memory: merge cells."
        )


def _place(place: tuple[np.intp, ...], source: NDArray[np.generic] | Table) -> str:
    """Describe the place of a cell, counted from 1."""
    if isinstance(source, Table) or len(place) == 2:
        row = source.row(int(place[0])) if isinstance(source, Table) else place[0] + 1
        return f"row {row}, column {place[1] + 1 if len(place) > 1 else 1}"
    return f"cell {', '.join(str(index + 1) for index in place)}"

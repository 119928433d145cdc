"""Grids of counts in text files for a release; each cell is read separately."""

from __future__ import annotations

import math
import re

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.data.reading.files import BOM, File
from dpviz.data.reading.kinds import MISSING
from dpviz.data.strict.lines import fields_of
from dpviz.grid.counts import MAX_EXACT
from dpviz.grid.domain import MAX_CELLS

#: Whole number with separators; zeros may follow a decimal mark; U+FFFD: space of old encodings.
_APART = re.compile(
    r"\+?(\d{1,3}(?P<mark>[ .,'\u2019\u00a0\u2009\u202f\ufffd])(?:\d{2,3}(?P=mark))*\d{3})"
    r"(?:[.,]0*)?",
    re.ASCII,
)

#: A number without thousands separators; its decimal mark is a point or a comma.
_NUMBER = re.compile(r"\+?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?", re.ASCII)

#: Possible cell separators; the first that occurs is used, so thousands separators are last.
_SEPARATORS = ("\t", ";", "|", ",", " ")


def count_of(text: str) -> float:
    """Count in a cell of text: 1.000 is a thousand. Returns 0 if the cell is not a count."""
    # Counts are whole numbers, so a separator before three digits is a thousands separator.
    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 16:
        return int(text)
    if found := _APART.fullmatch(text):
        return float(re.sub(r"\D", "", found[1]))
    if not _NUMBER.fullmatch(text):
        return 0.0
    value = min(float(text.replace(",", ".")), 2.0 * MAX_EXACT)
    return value if value == math.floor(value) else 0.0


def cells_of_text(file: File, axes: int) -> Floats:
    """Counts (rows,) from text if the declared ``axes`` is 1; otherwise counts (rows, columns).

    With one axis, each line is one cell, even a blank line; a blank last line needs a line break.
    With two axes, the first line that is not blank determines separator and width. Longer lines are
    cut, shorter lines are filled with zeros, and blank lines at the end are ignored. Cells of the
    first line must not contain a separator outside quotation marks, because 1,000 would make the
    comma the separator of cells. InputError if this line has names, or only one cell.
    """
    text = file.data.removeprefix(BOM).decode(errors="replace")
    lines = re.split(r"\r\n|\r|\n", text)
    width, mark = 1, ""
    if axes == 1:
        lines = lines[: len(lines) - (not lines[-1])]
    else:
        lines = [line.strip(" ") for line in lines]
        while lines and not lines[-1]:
            lines.pop()
        width, mark = _width(next(filter(None, lines), ""), file.name)
    if len(lines) * width > MAX_CELLS:
        raise InputError(
            f"{shown(file.name)} has {len(lines):,} x {width:,} cells, more than the "
            f"{MAX_CELLS:,} that fit into memory: merge cells."
        )
    matrix = np.zeros((len(lines), width))
    for row, line in enumerate(lines):
        counts = [count_of(one) for one in _fields(line, mark)[:width]]
        matrix[row, : len(counts)] = counts
    return matrix[:, 0] if axes == 1 else matrix


def _width(line: str, name: str) -> tuple[int, str]:
    plain = re.sub('"[^"]*"', "0", line)
    mark = next((mark for mark in _SEPARATORS if mark in plain), "")
    fields = _fields(line, mark)
    if len(fields) < 2:
        raise InputError(
            f"{shown(name)} has one cell in its first line, but a grid of two axes needs several: "
            "separate them by tabs, semicolons, pipes or commas, or declare a domain of one axis."
        )
    # Marks for missing counts may also be words, but then not all cells of the line are different.
    named = (re.match(r"[^\W\d_]", one) and one not in MISSING for one in map(str.strip, fields))
    if len(set(fields)) == len(fields) and all(named):
        raise InputError(
            f"{shown(name)} has names above its cells, but a grid of counts has no header: "
            "remove the line."
        )
    return len(fields), mark


def _fields(line: str, mark: str) -> list[str]:
    if not mark:
        return [line.strip(' "')]
    return fields_of(re.sub(" +", " ", line) if mark == " " else line, mark)

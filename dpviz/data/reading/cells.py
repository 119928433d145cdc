"""Cells of a table: a column is decoded in blocks of rows, and read as numbers or text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.errors import InputError, shown

#: Rows that are decoded together.
BLOCK_ROWS = 2**16

#: Wider tables are refused: handling them takes minutes.
MAX_COLUMNS = 10_000

#: Cells that mean "no value", besides those that are empty or blank.
MISSING = (
    "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None",
    "n/a", "nan", "none", "null",
)  # fmt: skip

#: A number, as both Python and RE2 (inside pyarrow) read it. Only one match is possible; otherwise
#: long runs of digits would take quadratic time.
NUMBER = r"^[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"

#: The same with a decimal comma.
COMMA_NUMBER = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"

#: Number format: decimal point, decimal comma in all cells (whole numbers have neither), or either
#: of the two in each cell.
Style: TypeAlias = Literal["point", "comma", "either"]

#: What the cells of a column hold: numbers in one of two styles, other things, or nothing.
Kind: TypeAlias = Literal["point", "comma", "text", "nothing"]

_PATTERNS = {
    "point": NUMBER,
    "comma": rf"{COMMA_NUMBER}|^[+-]?\d+([eE][+-]?\d+)?$",
    "either": f"{NUMBER}|{COMMA_NUMBER}",
}


class TooLargeError(InputError):
    """Decoding a column would take more memory than the file's size allows."""


class Cells(ABC):
    """Rows and columns of a source; a column is decoded on request.

    Attributes
    ----------
    rows
        Number of rows.
    style
        Number format for reading single cells.
    """

    rows: int
    style: Style = "point"

    @abstractmethod
    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of the columns at some positions, one array for each.

        Arrays of numbers hold numbers, all others text (or what can be cast to it); both are null
        where a value is missing.
        """

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column as in the source, each read independently."""
        return (columns[0] for columns in self.blocks([axis]))

    def row(self, position: int) -> int:
        """Number in the source, from 1, of the row at ``position``."""
        return position + 1

    @cached_property
    def kinds(self) -> dict[int, Kind]:
        """Known kinds of columns by position."""
        return {}

    def kind(self, axis: int) -> Kind:
        """Kind of the column at position ``axis``; decodes no more of it than necessary."""
        if axis not in self.kinds:
            detector = KindDetector(commas=False)
            try:
                for column in self.blocks([axis]):
                    detector.add(column[0])
                    if detector.settled:
                        break
            except TooLargeError:  # nobody has chosen it yet
                return "text"
            self.kinds[axis] = detector.kind
        return self.kinds[axis]


def check_width(columns: int, name: str) -> None:
    """Refuse too many columns."""
    if columns > MAX_COLUMNS:
        raise InputError(
            f"{shown(name)} has {columns:,} columns; the limit is {MAX_COLUMNS:,}: "
            "give only the columns that are needed."
        )


def holds_numbers(kind: pa.DataType) -> bool:
    """Tell whether every value of an Arrow type is a real number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def holds_text(kind: pa.DataType) -> bool:
    """Tell whether every value of an Arrow type is text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def as_text(cell: object) -> str:
    """Text of a cell; U+FFFD replaces invalid characters."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    return str(cell).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def text_cells(cells: pa.Array) -> pa.Array:
    """Return the trimmed text of every cell (n,), null where the value is missing."""
    if pa.types.is_boolean(cells.type):
        cells = pc.if_else(cells, "True", "False")
    cells = cells.cast(pa.large_string())
    try:
        cells = pc.utf8_trim_whitespace(cells)
    except pa.ArrowInvalid:  # no UTF-8
        raw = cells.cast(pa.large_binary()).to_pylist()
        texts = [None if cell is None else as_text(cell).strip() for cell in raw]
        cells = pa.array(texts, type=pa.large_string())
    missing = pc.is_in(cells, pa.array(["", *MISSING], type=pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, type=pa.large_string()), cells)


def as_numbers(
    cells: pa.Array, style: Style = "point"
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read every cell independently of the others.

    Returns
    -------
    tuple
        Values (n,), NaN for a missing value or one that is not a number; mask (n,) of the
        present values that are not numbers.
    """
    if pa.types.is_dictionary(cells.type):
        entries, places = used_entries(cells)
        numbers, wrong = as_numbers(entries, style)
        there = np.array(cells.is_valid())
        return np.where(there, numbers[places], np.nan), wrong[places] & there
    fine = np.zeros(len(cells), dtype=bool)
    if holds_numbers(cells.type):
        return _floats(pc.cast(cells, pa.float64(), safe=False)), fine
    if not holds_text(cells.type):
        return np.full(len(cells), np.nan), np.array(cells.is_valid())
    values = _all_numbers(cells, style)
    if values is None:
        cells = text_cells(cells)
        values = _all_numbers(cells, style)
    if values is not None:
        return values, fine
    pattern = rf"{_PATTERNS[style]}|^(?i:-?nan)$"
    right = pc.match_substring_regex(cells, pattern).fill_null(True)
    cells = pc.if_else(right, cells, pa.scalar(None, type=pa.large_string()))
    if style != "point":
        cells = pc.replace_substring(cells, ",", ".")
    try:
        values = _floats(pc.cast(cells, pa.float64()))
    except pa.ArrowInvalid:  # a form that only Python knows
        values = np.array([np.nan if c is None else float(c) for c in cells.to_pylist()])
    return values, ~np.asarray(right)


def _all_numbers(cells: pa.Array, style: Style) -> NDArray[np.float64] | None:
    """Values (n,) of text, or None if a cell may not be a number: matching is slow."""
    if style == "comma" and pc.any(pc.match_substring(cells, ".")).as_py():
        return None
    if style != "point":
        cells = pc.replace_substring(cells, ",", ".")
    try:
        values = _floats(pc.cast(cells, pa.float64()))
    except pa.ArrowInvalid:
        return None
    # "nan(1)" is read as well, and "inf" is never written with a comma.
    odd = np.count_nonzero(np.isnan(values)) > cells.null_count
    return None if odd or (style == "comma" and np.isinf(values).any()) else values


def _floats(cells: pa.Array) -> NDArray[np.float64]:
    """NumPy's floats (n,) of Arrow's, NaN where one is null."""
    values: NDArray[np.float64] = cells.to_numpy(zero_copy_only=False)
    return values


def used_entries(cells: pa.DictionaryArray) -> tuple[pa.Array, NDArray[np.intp]]:
    """Entries that a dictionary-encoded array uses, and the position (n,) of each cell's.

    A dictionary may hold many more entries, and one copy of an entry for each cell would take
    too much memory. Cells without a value have an arbitrary position.
    """
    codes, places = np.unique(cells.indices.fill_null(0).to_numpy(), return_inverse=True)
    if not len(cells.dictionary):
        return pa.nulls(len(codes), cells.dictionary.type), places
    return cells.dictionary.take(pa.array(codes)), places


class KindDetector:
    """Detects the kind of a column from its successive blocks.

    Parameters
    ----------
    commas
        Whether ``3,14`` may be read as 3.14, if no cell has a decimal point.
    """

    def __init__(self, *, commas: bool) -> None:
        self.points, self.commas, self.seen, self.typed = True, commas, False, False

    def add(self, cells: pa.Array) -> None:
        """Process the next cells."""
        if self.settled:
            return
        self.typed = holds_numbers(cells.type)
        if self.points:
            values, wrong = as_numbers(cells)
            self.seen |= not np.isnan(values).all()
            self.points = not wrong.any()
            if self.points and self.commas:  # no number with a point, or infinite, has a comma
                pointed = self.typed or pc.any(pc.match_substring(cells, ".")).as_py()
                self.commas = not (pointed or np.isinf(values).any())
        if self.commas and not self.points:
            values, wrong = as_numbers(cells, "comma")
            self.seen |= not np.isnan(values).all()
            self.commas = not wrong.any()

    @property
    def settled(self) -> bool:
        """Whether no further cell can change the kind."""
        return (self.typed and self.seen) or not (self.points or self.commas)

    @property
    def kind(self) -> Kind:
        """Kind of the column, based on the cells so far."""
        if not (self.points or self.commas):
            return "text"
        if not self.seen:
            return "nothing"
        return "point" if self.points else "comma"

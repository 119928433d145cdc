"""Cells of a table: a column is decoded in blocks of rows, and read as numbers or text."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.data.reading.kinds import MISSING, exact, holds_numbers, holds_text, plain

#: Rows that are decoded together.
BLOCK_ROWS = 2**16

#: Wider tables are refused: handling them takes minutes.
MAX_COLUMNS = 10_000

#: A number, as both Python and RE2 (inside pyarrow) read it. Only one match is possible; otherwise
#: long runs of digits would take quadratic time.
NUMBER = r"^[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"

#: The same with a decimal comma.
COMMA_NUMBER = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"

#: Thousands set apart, in all cells: what stands between them, and the decimal mark.
Grouped: TypeAlias = Literal["commas", "points", "spaces.", "spaces,", "quotes.", "quotes,"]

#: Number format: decimal point, decimal comma in all cells (whole numbers have neither), either
#: of the two in each cell, or thousands set apart.
Style: TypeAlias = Literal["point", "comma", "either"] | Grouped

#: What the cells of a column hold: numbers in one of the styles for all cells, numbers in one of
#: two that differ by a factor of a thousand, other things, or nothing.
Kind: TypeAlias = Literal["point", "comma", "unclear", "text", "nothing"] | Grouped

#: Signs between thousands, and decimal marks, as in regular expressions.
_GROUPS: dict[Grouped, tuple[str, str]] = {
    "commas": (",", r"\."),
    "points": (r"\.", ","),
    "spaces.": ("[ \u00a0\u2009\u202f]", r"\."),
    "spaces,": ("[ \u00a0\u2009\u202f]", ","),
    "quotes.": ("['\u2019]", r"\."),
    "quotes,": ("['\u2019]", ","),
}

#: Numbers with thousands set apart; short ones, and those behind the mark, are not.
_GROUPED: dict[Style, str] = {
    style: rf"^[+-]?([1-9]\d{{0,2}}({group}\d{{3}})+|\d{{1,3}})({mark}\d+)?$"
    for style, (group, mark) in _GROUPS.items()
}

#: Numbers that may have a thousand set apart, or three decimals; or are less than a thousand.
UNCLEAR = r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$"
_UNCLEAR_OR_SHORT = rf"{UNCLEAR}|^[+-]?\d{{1,3}}$"

_PATTERNS: dict[Style, str] = {
    "point": NUMBER,
    "comma": rf"{COMMA_NUMBER}|^[+-]?\d+([eE][+-]?\d+)?$",
    "either": f"{NUMBER}|{COMMA_NUMBER}",
    **_GROUPED,
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
        return self.row_numbers([position])[0]

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Numbers in the source, from 1, of the rows at some positions, in ascending order."""
        return [position + 1 for position in positions]

    def marks(self, axes: Sequence[int]) -> dict[str, int]:
        """How many rows hold which mark for no value in some columns; for exploring alone."""
        return {}

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


class TableCells(Cells):
    """Columns in memory.

    Parameters
    ----------
    columns
        All of the same length.
    style
        Number format for reading single cells.
    """

    def __init__(self, columns: Sequence[pa.ChunkedArray], style: Style = "point") -> None:
        self.table = pa.table(list(columns), names=[str(axis) for axis in range(len(columns))])
        self.rows, self.style = len(self.table), style

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns."""
        for columns in self.batches(axes):
            yield [plain(column) for column in columns]

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column as in the source."""
        return (exact(columns[0]) for columns in self.batches([axis]))

    def batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, of their own types."""
        for batch in self.table.select(list(axes)).to_batches(max_chunksize=BLOCK_ROWS):
            yield batch.columns


def check_width(columns: int, name: str) -> None:
    """Refuse too many columns."""
    if columns > MAX_COLUMNS:
        raise InputError(
            f"{shown(name)} has {columns:,} columns; the limit is {MAX_COLUMNS:,}: "
            "give only the columns that are needed."
        )


def as_text(cell: object) -> str:
    """Text of a cell; U+FFFD replaces invalid characters."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    return str(cell).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def cell_text(cell: object) -> str:
    """Text of a cell with an identifier, by the type of its own; see :func:`float_text`."""
    if isinstance(cell, float | np.floating):
        return float_text(cell)
    return f"{cell:f}" if isinstance(cell, Decimal) else as_text(cell)


def float_text(value: Any, most: float = np.inf) -> str:
    """Text of a float with an identifier: with an exponent if it may stand for other numbers, too.

    Those are whole numbers from 2**p on, for p binary digits of the type (or from ``most`` on), and
    others with more decimal digits than the type keeps.
    """
    facts = np.finfo(type(value))
    whole = value == np.trunc(value)
    if not np.isfinite(value):
        return "nan"
    if whole and abs(value) < min(2.0 ** (1 + min(facts.nmant, 52)), most):
        return str(int(value))
    text = np.format_float_positional(value, trim="-")
    digits = text.strip("-0").replace(".", "").lstrip("0")
    return f"{value:.16e}" if whole or len(digits) > min(facts.precision, 15) else text


def float_identifiers(
    values: NDArray[np.floating[Any]],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Identifiers (n,) by their own type as doubles, and the mask of those that stand for several.

    0.1 in 32 bits is that of 64 bits.
    """
    with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
        found = values.astype(np.float64)
        rounded = np.abs(values) >= 2.0 ** (1 + min(np.finfo(values.dtype).nmant, 52))
        for at in np.flatnonzero(~rounded & (values != np.trunc(values)) & ~np.isnan(values)):
            text = float_text(values[at])
            rounded[at] = "e" in text
            found[at] = float(text)
    return found, rounded


def text_cells(cells: pa.Array) -> pa.Array:
    """Return the trimmed text of every cell (n,), null where the value is missing."""
    if pa.types.is_boolean(cells.type):
        cells = pc.if_else(cells, "True", "False")
    cells = cells.cast(pa.large_string())
    try:
        cells.validate(full=True)  # trimming looks at the ends alone
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
    if style in _GROUPS:
        cells = pc.replace_substring_regex(cells, _GROUPS[style][0], "")
    if style != "point":
        cells = pc.replace_substring(cells, ",", ".")
    try:
        values = _floats(pc.cast(cells, pa.float64()))
    except pa.ArrowInvalid:  # a form that only Python knows
        values = np.array([np.nan if c is None else float(c) for c in cells.to_pylist()])
    return values, ~np.asarray(right)


def _all_numbers(cells: pa.Array, style: Style) -> NDArray[np.float64] | None:
    """Values (n,) of text, or None if a cell may not be a number: matching is slow."""
    if style in _GROUPS:
        return None
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


def looks_grouped(text: str) -> bool:
    """Tell whether text may be a number with thousands set apart."""
    return any(re.search(pattern, text) for pattern in _GROUPED.values())


class GroupDetector:
    """Detects how thousands are set apart in a column, from its successive blocks.

    Parameters
    ----------
    typed
        Whether numbers were written by a program, with a decimal point: then no point sets
        thousands apart.
    """

    def __init__(self, *, typed: bool) -> None:
        styles = [style for style in _GROUPS if not (typed and style == "points")]
        self._left = dict.fromkeys(styles, False)  # whether a cell has thousands set apart
        self._told = False  # whether a cell can't be read with a decimal comma

    def add(self, cells: pa.Array) -> bool:
        """Process the next cells; return whether any style is left."""
        cells = text_cells(cells)
        for style in tuple(self._left):
            right = pc.match_substring_regex(cells, _GROUPED[style]).fill_null(True)
            if not np.asarray(right).all():
                del self._left[style]
            elif not self._left[style]:
                apart = pc.match_substring_regex(cells, rf"\d{_GROUPS[style][0]}\d{{3}}")
                self._left[style] = bool(pc.any(apart).as_py())
        if "commas" in self._left and not self._told:
            self._told = bool(pc.any(pc.match_substring_regex(cells, r"\.|,\d+,")).as_py())
        return bool(self._left)

    @property
    def kind(self) -> Kind:
        """Kind of the column, based on the cells so far."""
        found = [style for style, seen in self._left.items() if seen]
        if not found:
            return "text"
        # Spaces and apostrophes are no decimal marks: their styles differ only where there is one.
        doubtful = {"commas", "points"} <= set(found) or (found == ["commas"] and not self._told)
        return "unclear" if doubtful else found[0]


class KindDetector:
    """Detects the kind of a column from its successive blocks.

    Parameters
    ----------
    commas
        Whether ``3,14`` may be read as 3.14, if no cell has a decimal point.
    """

    def __init__(self, *, commas: bool) -> None:
        self.points, self.commas, self.seen, self.typed = True, commas, False, False
        #: Whether all numbers so far may have a thousand set apart, and whether one does.
        self.unclear, self.marked = True, False
        #: The first cell that is no plain number.
        self.odd = ""

    def add(self, cells: pa.Array) -> None:
        """Process the next cells."""
        if self.settled:
            return
        self.typed = holds_numbers(cells.type)
        self._look(cells)
        if self.points:
            values, wrong = as_numbers(cells)
            self.seen |= not np.isnan(values).all()
            self.points = not wrong.any()
            if not self.points:
                with suppress(pa.ArrowInvalid):  # dates of an unknown time zone
                    self.odd = str(text_cells(cells[int(wrong.argmax()) :][:1])[0].as_py())
            if self.points and self.commas:  # no number with a point, or infinite, has a comma
                pointed = self.typed or pc.any(pc.match_substring(cells, ".")).as_py()
                self.commas = not (pointed or np.isinf(values).any())
        if self.commas and not self.points:
            values, wrong = as_numbers(cells, "comma")
            self.seen |= not np.isnan(values).all()
            self.commas = not wrong.any()

    def _look(self, cells: pa.Array) -> None:
        """Note whether the cells could have thousands set apart."""
        if not self.unclear or not holds_text(cells.type):
            self.unclear = False
            return
        self.marked |= bool(pc.any(pc.match_substring_regex(cells, "[.,]")).as_py())
        right = pc.match_substring_regex(text_cells(cells), _UNCLEAR_OR_SHORT).fill_null(True)
        self.unclear = bool(np.asarray(right).all())

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

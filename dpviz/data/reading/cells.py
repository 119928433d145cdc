"""Cells of a table: columns are decoded in blocks of rows and interpreted as numbers or text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices, Mask
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.kinds import MISSING, exact, holds_numbers, holds_text, plain

BLOCK_ROWS = 2**16

#: Number of first cells that usually show whether a column contains text.
_FIRST = 100

#: Largest number of columns; reading a table with more columns would take minutes.
MAX_COLUMNS = 10_000

#: A number for Python and RE2. Several possible matches would take quadratic time in digits.
NUMBER = r"^[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"

COMMA_NUMBER = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"

#: Number format of a column: decimal points in all cells; decimal commas in all cells (whole
#: numbers have no decimal mark); a point or a comma in each cell; or thousands separators in all
#: cells. In the last formats, a sign at the end of the name is the decimal mark.
Style: TypeAlias = Literal[
    "point", "comma", "either", "commas", "points", "spaces.", "spaces,", "quotes.", "quotes,"
]

#: Content of a column; "unclear" numbers fit two styles that differ by a factor of a thousand.
Kind: TypeAlias = Style | Literal["unclear", "text", "nothing"]

#: Thousands separator and decimal mark of each style, as regular expressions.
GROUPS: dict[Style, tuple[str, str]] = {
    "commas": (",", r"\."),
    "points": (r"\.", ","),
    "spaces.": ("[ \u00a0\u2009\u202f]", r"\."),
    "spaces,": ("[ \u00a0\u2009\u202f]", ","),
    "quotes.": ("['\u2019]", r"\."),
    "quotes,": ("['\u2019]", ","),
}

#: Numbers whose mark is either a thousands separator or a decimal mark before three digits.
UNCLEAR = r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$"

#: Numbers below 1000, and digits after the decimal mark, have no thousands separator.
PATTERNS: dict[Style, str] = {
    "point": NUMBER,
    "comma": rf"{COMMA_NUMBER}|^[+-]?\d+([eE][+-]?\d+)?$",
    "either": f"{NUMBER}|{COMMA_NUMBER}",
    **{
        style: rf"^[+-]?([1-9]\d{{0,2}}({group}\d{{3}})+|\d{{1,3}})({mark}\d+)?$"
        for style, (group, mark) in GROUPS.items()
    },
}

_GROUPED = re.compile("|".join(PATTERNS[style] for style in GROUPS))


class Cells:
    """Rows and columns of a source. A column is decoded on request."""

    rows: int

    style: Style = "point"  # number format if each cell is read separately

    def batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of the columns at some positions: one array for each column."""
        raise NotImplementedError

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """The same rows as numbers, or as types that can be cast to text; null if missing."""
        return ([plain(column) for column in columns] for columns in self.batches(axes))

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column, unchanged; each cell is read independently."""
        return (exact(cells) for (cells,) in self.batches([axis]))

    def row(self, position: int) -> int:
        """Row number in the source, from 1, of the row at a position."""
        return self.row_numbers([position])[0]

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Row numbers in the source, from 1, of the rows at ascending positions."""
        return [position + 1 for position in positions]

    def marks(self, axes: Sequence[int]) -> dict[str, int]:
        """For each mark for a missing value, the number of rows with it; for exploring only."""
        return {}

    @cached_property
    def kinds(self) -> dict[int, Kind]:
        """Kinds of columns that are already known, by position."""
        return {}

    def kind(self, axis: int) -> Kind:
        """Kind of the column at position ``axis``; only the necessary cells are decoded."""
        if axis not in self.kinds:
            self.kinds[axis] = self.fitting(axis, ["point"])
        return self.kinds[axis]

    def fitting(self, axis: int, styles: Sequence[Style]) -> Kind:
        """The first style in which all cells of a column are numbers; otherwise "text"."""
        first: str | None = None
        for style in styles:
            if style in GROUPS:  # there are many styles: one cell excludes most
                first = self._first_text(axis) if first is None else first
                if first and not re.search(PATTERNS[style], first):
                    continue
            seen = False
            for (cells,) in self.blocks([axis]):
                values, wrong = as_numbers(cells[:_FIRST], style)  # detects text early
                if not wrong.any():
                    values, wrong = as_numbers(cells, style)
                if wrong.any():
                    break
                seen |= not np.isnan(values).all()
                if seen and holds_numbers(cells.type):
                    return style
            else:
                return style if seen else "nothing"
        return "text"

    def _first_text(self, axis: int) -> str:
        [cells] = next(self.blocks([axis]), [pa.nulls(0, pa.string())])
        texts = text_cells(cells[:_FIRST]).drop_null().to_pylist()
        return next((one for one in texts if one.lower() not in ("nan", "-nan")), "")

    def style_of(self, axis: int) -> Style:
        """Number style of a column; the default style for mixed columns."""
        kind = self.kind(axis)
        return self.style if kind == "text" or kind == "unclear" or kind == "nothing" else kind


class TableCells(Cells):
    """Columns of the same length in memory."""

    def __init__(self, columns: Sequence[pa.ChunkedArray], style: Style = "point") -> None:
        self.table = pa.table(list(columns), names=[str(axis) for axis in range(len(columns))])
        self.rows, self.style = len(self.table), style

    def batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, with their own types."""
        for batch in self.table.select(list(axes)).to_batches(max_chunksize=BLOCK_ROWS):
            yield batch.columns


def check_width(columns: int, name: str) -> None:
    """Raise InputError if there are too many columns."""
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
    """Text of an identifier, based only on the type of its own cell; see :func:`float_text`."""
    if isinstance(cell, float | np.floating):
        return float_text(cell)
    return f"{cell:f}" if isinstance(cell, Decimal) else as_text(cell)


def float_text(value: Any) -> str:
    """Text of a float identifier, with an exponent if it may also represent other numbers."""
    # These are whole numbers from 2**p on (p binary digits), and more decimals than are stored.
    facts = np.finfo(type(value))
    whole = value == np.trunc(value)
    if not np.isfinite(value):
        return "nan"
    if whole and abs(value) < 2.0 ** (1 + min(facts.nmant, 52)):
        return str(int(value))
    text = np.format_float_positional(value, trim="-")
    digits = text.strip("-0").replace(".", "").lstrip("0")
    return f"{value:.16e}" if whole or len(digits) > min(facts.precision, 15) else text


def float_identifiers(values: NDArray[np.floating[Any]]) -> tuple[Floats, Mask]:
    """Float identifiers (n,) as doubles, and the mask of those that may mean several numbers."""
    # 0.1 in 32 bits becomes the same identifier as 0.1 in 64 bits.
    with np.errstate(all="ignore"):  # overflow of a wider float gives infinity
        found = values.astype(np.float64)
        rounded = np.abs(values) >= 2.0 ** (1 + min(np.finfo(values.dtype).nmant, 52))
        for at in np.flatnonzero(~rounded & (values != np.trunc(values)) & ~np.isnan(values)):
            text = float_text(values[at])
            rounded[at] = "e" in text
            found[at] = float(text)
    return found, rounded


def text_cells(cells: pa.Array) -> pa.Array:
    """Return the trimmed text of each cell (n,); null if the value is missing."""
    if pa.types.is_boolean(cells.type):
        cells = pc.if_else(cells, "True", "False")
    cells = cells.cast(pa.large_string())
    try:
        cells.validate(full=True)  # trimming checks only the ends
        cells = pc.utf8_trim_whitespace(cells)
    except pa.ArrowInvalid:  # not UTF-8
        raw = cells.cast(pa.large_binary()).to_pylist()
        texts = [None if cell is None else as_text(cell).strip() for cell in raw]
        cells = pa.array(texts, type=pa.large_string())
    return emptied(cells, pa.array(["", *MISSING], type=pa.large_string()))


def emptied(cells: pa.Array, marks: pa.Array) -> pa.Array:
    """Replace cells that are in ``marks`` by null."""
    return pc.if_else(pc.is_in(cells, marks), pa.scalar(None, cells.type), cells)


def as_numbers(cells: pa.Array, style: Style = "point") -> tuple[Floats, Mask]:
    """Values (n,) of cells, NaN if no number; mask of cells neither number nor missing."""
    if pa.types.is_dictionary(cells.type):
        entries, places = used_entries(cells)
        numbers, wrong = as_numbers(entries, style)
        there = np.array(cells.is_valid())
        return np.where(there, numbers[places], np.nan), wrong[places] & there
    fine = np.zeros(len(cells), dtype=bool)
    if holds_numbers(cells.type):
        return np.asarray(pc.cast(cells, pa.float64(), safe=False)), fine
    if not holds_text(cells.type):
        return np.full(len(cells), np.nan), np.array(cells.is_valid())
    values = _all_numbers(cells, style)
    if values is None:
        cells = text_cells(cells)
        values = _all_numbers(cells, style)
    if values is not None:
        return values, fine
    pattern = rf"{PATTERNS[style]}|^(?i:-?nan)$"
    right = pc.match_substring_regex(cells, pattern).fill_null(True)
    cells = pc.if_else(right, cells, pa.scalar(None, type=pa.large_string()))
    if style in GROUPS:
        cells = pc.replace_substring_regex(cells, GROUPS[style][0], "")
    if style != "point":
        cells = pc.replace_substring(cells, ",", ".")
    try:
        values = np.asarray(pc.cast(cells, pa.float64()))
    except pa.ArrowInvalid:  # a format that only Python reads
        values = np.array([np.nan if c is None else float(c) for c in cells.to_pylist()])
    return values, ~np.asarray(right)


def _all_numbers(cells: pa.Array, style: Style) -> Floats | None:
    """Values (n,) of text, or None if not all cells are surely numbers. Faster than a pattern."""
    if style in GROUPS or (style == "comma" and pc.any(pc.match_substring(cells, ".")).as_py()):
        return None
    if style != "point":
        cells = pc.replace_substring(cells, ",", ".")
    try:
        values = np.asarray(pc.cast(cells, pa.float64()))
    except pa.ArrowInvalid:
        return None
    # The parser also accepts "nan(1)", and "inf" with decimal commas; both are not numbers.
    odd = np.count_nonzero(np.isnan(values)) > cells.null_count
    return None if odd or (style == "comma" and np.isinf(values).any()) else values


def used_entries(cells: pa.DictionaryArray) -> tuple[pa.Array, Indices]:
    """Entries that a dictionary-encoded array uses, and each cell's position in them."""
    codes, places = np.unique(cells.indices.fill_null(0).to_numpy(), return_inverse=True)
    if not len(cells.dictionary):
        return pa.nulls(len(codes), cells.dictionary.type), places
    return cells.dictionary.take(pa.array(codes)), places


def looks_grouped(text: str) -> bool:
    """Return whether text may be a number with a thousands separator."""
    return _GROUPED.search(text) is not None

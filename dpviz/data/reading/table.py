"""A table as it was read: from it, the columns are chosen that become points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.errors import InputError, listed, shown

#: Cells that mean "no value", besides those that are empty or blank.
MISSING = (
    "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None",
    "n/a", "nan", "none", "null",
)  # fmt: skip

#: A number, as Python and RE2 (inside pyarrow) agree to read it. There is one way to match, or long
#: runs of digits would take quadratic time.
NUMBER = r"^[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"

#: The same with a decimal comma.
COMMA_NUMBER = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"

#: Sums and squares of larger numbers might overflow.
LARGEST = 1e300

#: What becomes of a cell that is no number: it is named in a sentence, or counts as missing. For a
#: release it counts as missing: a sentence, or how other cells are read, would tell of one record.
Unreadable: TypeAlias = Literal["refuse", "missing"]

#: How numbers are written: with a decimal point, with a decimal comma throughout (whole numbers
#: have neither), or each cell with one of the two.
Style: TypeAlias = Literal["point", "comma", "either"]

#: What the cells of a column hold: numbers in one of two styles, other things, or nothing.
Kind: TypeAlias = Literal["point", "comma", "text", "nothing"]

_PATTERNS = {
    "point": NUMBER,
    "comma": rf"{COMMA_NUMBER}|^[+-]?\d+([eE][+-]?\d+)?$",
    "either": f"{NUMBER}|{COMMA_NUMBER}",
}

#: What one identifier takes in memory besides its characters, in bytes.
_STRING = 64


class TooLargeError(InputError):
    """Decoding a column would take more memory than the size of its file allows for."""


class Cells(ABC):
    """Rows and columns of a source; a column is decoded when somebody asks for it.

    Attributes
    ----------
    rows
        Number of rows.
    """

    rows: int

    @abstractmethod
    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of the columns at some positions, one array for each.

        Arrays of numbers hold numbers, all others text (or what can be cast to it); both are null
        where a value is missing.
        """

    def written(self, axis: int) -> Iterator[pa.Array | pd.Series]:
        """Successive cells of a column as the source has them, each by itself."""
        return (columns[0] for columns in self.blocks([axis]))

    def offset(self, position: int) -> int:
        """Rows and blank lines in the source between the first row and the one at ``position``."""
        return position


# --- cells ------------------------------------------------------------------------------


def is_numeric(column: pd.Series) -> bool:
    """Tell whether the column is stored as real numbers (not truth values, not complex)."""
    types = pd.api.types
    return bool(
        types.is_numeric_dtype(column.dtype)
        and not types.is_bool_dtype(column.dtype)
        and not types.is_complex_dtype(column.dtype)
    )


def holds_numbers(kind: pa.DataType) -> bool:
    """Tell whether every value of an Arrow type is a real number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def holds_text(kind: pa.DataType) -> bool:
    """Tell whether every value of an Arrow type is text."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def as_text(cell: object) -> str:
    """Text of a cell; what is no character is replaced by U+FFFD."""
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
    """Read every cell by itself.

    Returns
    -------
    tuple
        Values (n,), NaN where one is missing or no number; mask (n,) of what is there and no
        number.
    """
    if pa.types.is_dictionary(cells.type):
        return _of_dictionary(cells, style)
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
    """Values (n,) of text, or None where perhaps not every cell is a number: matching is slow."""
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

    A dictionary may hold far more, and each entry as often as there are cells would be far too
    much. Cells without a value have any position.
    """
    codes, places = np.unique(cells.indices.fill_null(0).to_numpy(), return_inverse=True)
    if not len(cells.dictionary):
        return pa.nulls(len(codes), cells.dictionary.type), places
    return cells.dictionary.take(pa.array(codes)), places


def _of_dictionary(
    cells: pa.DictionaryArray, style: Style
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read the entries, then look up every cell's."""
    entries, places = used_entries(cells)
    values, wrong = as_numbers(entries, style)
    there = np.array(cells.is_valid())
    return np.where(there, values[places], np.nan), wrong[places] & there


class Judgement:
    """What a column holds, from its blocks one after the other.

    Parameters
    ----------
    commas
        Whether ``3,14`` may be read as 3.14, if no cell has a decimal point.
    """

    def __init__(self, *, commas: bool) -> None:
        self.points, self.commas, self.seen, self.typed = True, commas, False, False

    def take(self, cells: pa.Array) -> None:
        """Look at the next cells."""
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
        """Whether no further cell changes it."""
        return (self.typed and self.seen) or not (self.points or self.commas)

    @property
    def kind(self) -> Kind:
        """What the column holds, as far as it was seen."""
        if not (self.points or self.commas):
            return "text"
        if not self.seen:
            return "nothing"
        return "point" if self.points else "comma"


def megabytes(size: int) -> str:
    """Size in the unit that reads best."""
    if size >= 2**40:
        return f"over {2**20:,} MB"
    return f"{size / 2**20:,.4g} MB" if size >= 2**20 else f"{size:,} bytes"


@contextmanager
def enough_memory(name: str) -> Iterator[None]:
    """Say in a sentence that the memory does not suffice."""
    try:
        yield
    except MemoryError:
        raise InputError(
            f"{shown(name)} does not fit into the memory that is free: give fewer rows, or only "
            "the columns that are needed."
        ) from None


# --- the table --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Named columns of numbers or text, decoded from a file or from memory when they are chosen.

    Parameters
    ----------
    name
        What to call the data on the screen and in messages.
    columns
        Names of all columns, none twice.
    cells
        Their cells.
    first_row
        Number, from 1, of the first row in the source, where no blank lines stand before it.
    notes
        Sentences about what was done on reading; every Dataset inherits them.
    doubtful
        Columns whose name may be the value of a first record that was taken for names.
    decimal_comma
        Whether ``3,14`` is 3.14 where every cell is read by itself.
    memory
        Bytes that points and identifiers may take; None where there is no limit.
    kinds
        What the columns at some positions hold, where that is known.
    """

    name: str
    columns: tuple[str, ...]
    cells: Cells
    first_row: int = 1
    notes: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    decimal_comma: bool = False
    memory: int | None = None
    kinds: dict[int, Kind] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.cells.rows

    @cached_property
    def numeric_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold numbers throughout, and at least one of them."""
        with enough_memory(self.name):
            return tuple(
                name
                for axis, name in enumerate(self.columns)
                if self._kind(axis) in ("point", "comma")
            )

    def select(
        self,
        columns: Sequence[str | int] | None = None,
        unit: str | int | None = None,
        domain: Domain | None = None,
        *,
        least: int = 1,
        unreadable: Unreadable = "refuse",
    ) -> Dataset:
        """Make points of some columns; rows without a finite number in each are left out.

        Parameters
        ----------
        columns
            By name or by number from 1 (text that is no name but a whole number counts as a
            number); all numeric columns by default.
        unit
            Column that tells which person a row belongs to; rows without are left out.
        domain
            Declared bounds of the chosen columns, in their order.
        least
            How many columns it takes at least: a picture of points has two.
        unreadable
            ``"missing"``, for a release: every cell is read by itself, and one that holds text or
            a number beyond ±1e300 counts as missing. All columns are chosen by default, since
            which of them hold numbers is read off the data.

        Returns
        -------
        Dataset
            Points (n, d); notes say what was left out. Only with ``"missing"`` may n be 0.

        Raises
        ------
        InputError
            Where a column is unknown, fewer than ``least`` are left, the domain has another
            dimension, or the points don't fit into memory; unless such cells count as missing,
            also where a column holds text, no row is left, or a number is beyond ±1e300.
        """
        refuse = unreadable == "refuse"
        owner = None if unit is None else self._position(unit)
        with enough_memory(self.name):
            axes = self._axes(columns, owner, least, refuse)
            names = tuple(self.columns[axis] for axis in axes)
            if domain is not None and domain.ndim != len(axes):
                raise InputError(
                    f"the domain has {domain.ndim} axes but {len(axes)} columns are chosen: "
                    "give one lo,hi pair per column."
                )
            self.check_memory(len(axes), owner)
            units, known = (None, None) if owner is None else self._units(owner, len(axes))
            points, keep = self._points(axes, known, refuse)
            dropped = len(keep) - len(points)
            if refuse and not len(points):
                owner_said = "" if unit is None else f" and anything in {shown(unit)}"
                raise InputError(
                    f"{shown(self.name)} has no row with a finite number in each of "
                    f"{listed(names)}{owner_said}: choose other columns."
                )
            return Dataset(
                name=self.name,
                points=points,
                columns=names,
                domain=domain,
                units=units[keep] if units is not None and dropped else units,
                dropped=dropped,
                notes=(*self.notes, *_notes(points, dropped, names, unit)),
                doubtful=tuple(column for column in names if column in self.doubtful),
            )

    def numbers(self, axes: Sequence[int], way_out: str = "") -> Iterator[NDArray[np.float64]]:
        """Successive rows of some columns as floats (m, d), NaN where a value is missing.

        Raises
        ------
        InputError
            Where a cell holds text; the sentence ends with ``way_out``.
        """
        styles: list[Style] = []
        for axis in axes:
            kind = self._kind(axis)
            if kind == "text":
                raise self._no_number(axis, way_out)
            styles.append("comma" if kind == "comma" else "point")
        return self._decoded(axes, styles)

    def row(self, position: int) -> int:
        """Return the number in the source, from 1, of the row at ``position``, which has values."""
        return self.first_row + self.cells.offset(position)

    def _kind(self, axis: int) -> Kind:
        """What the column at position ``axis`` holds; looks at no more of it than it takes."""
        if axis not in self.kinds:
            judgement = Judgement(commas=False)
            try:
                for (column,) in self.cells.blocks([axis]):
                    judgement.take(column)
                    if judgement.settled:
                        break
            except TooLargeError:  # nobody has chosen it yet
                return "text"
            self.kinds[axis] = judgement.kind
        return self.kinds[axis]

    def _decoded(
        self, axes: Sequence[int], styles: Sequence[Style]
    ) -> Iterator[NDArray[np.float64]]:
        """Successive rows of some columns as floats (m, d), NaN where there is no number."""
        for columns in self.cells.blocks(axes):
            values = np.empty((len(columns[0]), len(axes)))
            for target, (column, style) in enumerate(zip(columns, styles, strict=True)):
                values[:, target] = as_numbers(column, style)[0]
            yield values

    def _points(
        self, axes: list[int], known: NDArray[np.bool_] | None, refuse: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Points (n, d) of the rows with a finite number in each column, and the mask of these."""
        either: Style = "either" if self.decimal_comma else "point"
        blocks = self.numbers(axes) if refuse else self._decoded(axes, [either] * len(axes))
        keep = np.ones(self.rows, dtype=bool) if known is None else known
        points = np.empty((self.rows, len(axes)))
        start = kept = 0
        for values in blocks:
            stay = keep[start : start + len(values)]
            for column in values.T:
                stay &= np.isfinite(column)
            large = np.abs(values) > LARGEST
            if large.any():
                if refuse and (large & stay[:, None]).any():
                    raise self._too_large(axes, values, large & stay[:, None], start)
                stay &= ~large.any(axis=1)
            number = int(np.count_nonzero(stay))
            points[kept : kept + number] = values if number == len(values) else values[stay]
            start, kept = start + len(values), kept + number
        points.resize((kept, len(axes)), refcheck=False)  # gives the rest back without a copy
        return points, keep

    def _too_large(
        self,
        axes: list[int],
        values: NDArray[np.float64],
        large: NDArray[np.bool_],
        start: int,
    ) -> InputError:
        """Name the first number so large that later arithmetic would overflow."""
        position, target = np.argwhere(large)[0]
        return InputError(
            f'row {self.row(start + int(position))}, column "{shown(self.columns[axes[target]])}" '
            f"holds {values[position, target]:g}: numbers beyond ±1e300 are too large to compute "
            "with; rescale the column."
        )

    def _no_number(self, axis: int, way_out: str) -> InputError:
        """Name the first cell of a column that holds text."""
        cell, place, start = "text", "", 0
        for (column,) in self.cells.blocks([axis]):
            wrong = as_numbers(column)[1]
            if wrong.any():
                position = int(wrong.argmax())
                cell = _one_cell(column, position)
                place = f"row {self.row(start + position)}, "
                break
            start += len(column)
        if as_numbers(pa.array([cell]), "comma")[1].sum() == 0:
            way_out = (
                "write a decimal point throughout the column, or decimal commas "
                "throughout with semicolons between the fields"
            )
        return InputError(
            f'{place}column "{shown(self.columns[axis])}" holds '
            f'"{shown(cell)}" where a number is expected: '
            f"{way_out or 'correct the cell or choose another column'}."
        )

    def _units(self, owner: int, ndim: int) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
        """Identifiers (n,) of the persons, and where there is one.

        Both depend on the cell alone. In a column that is read as numbers, dates or text as a
        whole, one person with an odd identifier would decide who the others are: 1.0 and 1, a
        date and its midnight, a blank that means nothing or is somebody.
        """
        units: NDArray[np.generic] = np.empty(0, dtype=object)
        known = np.zeros(self.rows, dtype=bool)
        start = size = 0
        for cells in self.cells.written(owner):
            values, there, held = (
                _listed_units(cells) if isinstance(cells, pd.Series) else _arrow_units(cells)
            )
            if not start:
                units = np.empty(self.rows, dtype=values.dtype)
            size += held
            if self.memory is not None and size + self._needed(ndim, owner) > self.memory:
                raise InputError(
                    f'column "{shown(self.columns[owner])}" of {shown(self.name)} holds too many '
                    "different identifiers to keep them in memory as text: write them as whole "
                    "numbers in a .parquet file."
                )
            units[start : start + len(values)] = values
            known[start : start + len(values)] = there
            start += len(values)
        return units, known

    def _needed(self, ndim: int, owner: int | None) -> int:
        """Bytes of the points, the identifiers and the masks."""
        return self.rows * (8 * ndim + 1 + 9 * (owner is not None))

    def check_memory(self, ndim: int, owner: int | None = None) -> None:
        """Refuse more points than the size of the file allows for.

        The sentence may be one about a release, so it does not tell how many rows there are.
        """
        if self.memory is not None and self._needed(ndim, owner) > self.memory:
            columns = "a column" if ndim == 1 else f"{ndim:,} columns"
            raise InputError(
                f"{shown(self.name)} has more rows than {columns} may have within "
                f"{megabytes(self.memory)} of memory, the limit for a file of its size: give "
                f"fewer rows{', or choose fewer columns' if ndim > 1 else ''}."
            )

    def _axes(
        self, columns: Sequence[str | int] | None, owner: int | None, least: int, refuse: bool
    ) -> list[int]:
        """Positions of the chosen columns; enough of them, none twice."""
        if columns is not None:
            axes = [self._position(column) for column in columns]
        else:
            proposed = set(self.numeric_columns if refuse else self.columns)
            named = enumerate(self.columns)
            axes = [axis for axis, name in named if name in proposed and axis != owner]
        if len(set(axes)) != len(axes):
            names = listed(self.columns[axis] for axis in axes)
            raise InputError(f"the chosen columns are {names}: name each column once.")
        if len(axes) >= max(least, 1):
            return axes
        needed = "at least two are needed" if least > 1 else "at least one is needed"
        if len(self.columns) == 1:
            raise InputError(self._single_column(needed, 20 if refuse else 0))
        kind = "numeric" if refuse and columns is None else "chosen"
        names = listed(self.columns[axis] for axis in axes)
        raise InputError(
            f"{shown(self.name)} has {len(axes) or 'no'} {kind} column"
            f"{' ' if axes else ''}{names}, but {needed}: choose from {listed(self.columns)}."
        )

    def _single_column(self, needed: str, rows: int) -> str:
        """Return the sentence for a table with one column; a separator may be the cause."""
        text = [self.columns[0]]
        for (cells,) in self.cells.blocks([0]):
            left = rows + 1 - len(text)
            text += [_one_cell(cells, position) for position in range(min(left, len(cells)))]
            if len(text) > rows:
                break
        separators = {";": "semicolons", "\t": "tabs", "|": "pipes", ",": "commas"}
        found = [word for mark, word in separators.items() if any(mark in cell for cell in text)]
        if not found and len(text[-1].split()) > 1:
            found = ["spaces"]
        hint = (
            f"its text contains {found[0]}; separate all fields of every row by the same "
            "comma, semicolon, tab or pipe"
            if found
            else "add a column of numbers, separated by a comma, semicolon, tab or pipe"
        )
        return (
            f'{shown(self.name)} has one column, "{shown(self.columns[0])}", but {needed}: {hint}.'
        )

    def _position(self, column: str | int) -> int:
        """Position of a column given by its name or its number from 1."""
        text = str(column)
        if isinstance(column, str) and column in self.columns:
            return self.columns.index(column)
        if (
            text.isascii()
            and text.isdigit()
            and len(text) < 9
            and 1 <= int(text) <= len(self.columns)
        ):
            return int(text) - 1
        raise InputError(
            f'column "{shown(column)}" is not in {shown(self.name)}: '
            f"choose from {listed(self.columns)}."
        )


def _one_cell(cells: pa.Array, position: int) -> str:
    """Text of one cell."""
    cell = cells[position : position + 1]
    if pa.types.is_dictionary(cell.type):
        cell = used_entries(cell)[0]
    try:
        return str(text_cells(cell)[0].as_py())
    except (pa.ArrowException, ValueError, TypeError):  # a date that can't be written
        return str(cell.type)


def _listed_units(
    column: pd.Series,
) -> tuple[NDArray[np.generic], NDArray[np.bool_], int]:
    """Identifiers (m,) from objects in memory, where there are any, and bytes of their text."""
    known = column.notna().to_numpy(copy=True)
    if is_numeric(column) or pd.api.types.is_bool_dtype(column.dtype):
        values = np.zeros(len(column), dtype=_plain_type(column))
        values[known] = column[known].to_numpy(dtype=values.dtype)
        return values, known, 0
    cells = zip(column, known, strict=True)
    texts = pa.array([as_text(cell) if there else None for cell, there in cells], pa.large_string())
    return _arrow_units(texts)


def _arrow_units(
    cells: pa.Array,
) -> tuple[NDArray[np.generic], NDArray[np.bool_], int]:
    """Identifiers (m,) from a file, where there are any, and bytes that their text takes."""
    known = np.array(cells.is_valid())
    if pa.types.is_boolean(cells.type):
        return np.asarray(cells.fill_null(False)), known, 0
    if pa.types.is_integer(cells.type):
        kind = pa.uint64() if cells.type == pa.uint64() else pa.int64()
        return cells.cast(kind).fill_null(0).to_numpy(), known, 0
    if pa.types.is_floating(cells.type):
        values = as_numbers(cells)[0]
        return values, known & ~np.isnan(values), 0
    if not pa.types.is_dictionary(cells.type):
        try:
            cells = text_cells(cells).dictionary_encode()
        except pa.ArrowInvalid:  # dates of a time zone that nobody knows
            return np.full(len(cells), "", dtype=object), np.zeros(len(cells), dtype=bool), 0
    known &= np.array(cells.is_valid())
    entries, places = used_entries(cells)
    entries = text_cells(entries)
    # Two persons must not become one because their names can't be read.
    entries = pc.if_else(pc.match_substring(entries, "\ufffd"), "", entries.fill_null(""))
    texts = np.array(entries.to_pylist(), dtype=object)
    held = (pc.sum(pc.utf8_length(entries)).as_py() or 0) + _STRING * len(texts)
    return texts[places], known & (texts != "")[places], held


def _plain_type(column: pd.Series) -> np.dtype[Any]:
    """NumPy's type for identifiers: not by way of floats, long whole numbers stay whole."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return np.dtype(bool)
    if pd.api.types.is_integer_dtype(column.dtype):
        return np.dtype(np.uint64 if str(column.dtype).lower() == "uint64" else np.int64)
    return np.dtype(np.float64)


def _notes(
    points: NDArray[np.float64], dropped: int, names: tuple[str, ...], unit: str | int | None
) -> list[str]:
    """Sentences about the rows left out and about points that are all equal."""
    notes = []
    if dropped:
        rows = "1 row was" if dropped == 1 else f"{dropped:,} rows were"
        owner = "" if unit is None else f', or there is nothing in "{shown(unit)}"'
        notes.append(
            f"{rows} left out: a value in {listed(names)} is missing, NaN or infinite{owner}."
        )
    if len(points) > 1 and (points == points[0]).all():
        notes.append(f"All {len(points):,} points are equal, so there is only one cluster to find.")
    return notes

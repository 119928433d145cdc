"""A table as it was read: from it, the columns are chosen that become points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.errors import InputError

#: Cells that mean "no value", besides those that are empty or blank.
MISSING = (
    "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None",
    "n/a", "nan", "none", "null",
)  # fmt: skip

#: A number, as Python and RE2 (inside pyarrow) agree to read it.
NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity))$"

#: The same with a decimal comma.
COMMA_NUMBER = r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$"

#: Sums and squares of larger numbers might overflow.
LARGEST = 1e300

#: What becomes of a cell that is no number: it is named in a sentence, or counts as missing. For a
#: release it counts as missing: a sentence, or how other cells are read, would tell of one record.
Unreadable: TypeAlias = Literal["refuse", "missing"]


def shown(value: object, length: int = 40) -> str:
    """Return ``value`` for a message: on one line, nothing unprintable, not too long."""
    text = str(value)
    head = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:length])
    return head if len(text) <= length and len(head) <= length else head[: length - 3] + "..."


def listed(names: Iterable[str], length: int = 90) -> str:
    """Return quoted names for a message: as many as fit, then how many more there are."""
    quoted = [f'"{shown(name, 30)}"' for name in names]
    kept = quoted[:1]
    for name in quoted[1:]:
        if len(", ".join(kept)) + len(name) > length:
            return ", ".join(kept) + f" and {len(quoted) - len(kept):,} more"
        kept.append(name)
    return ", ".join(kept)


def is_numeric(column: pd.Series) -> bool:
    """Tell whether the column is stored as real numbers (not truth values, not complex)."""
    types = pd.api.types
    return bool(
        types.is_numeric_dtype(column.dtype)
        and not types.is_bool_dtype(column.dtype)
        and not types.is_complex_dtype(column.dtype)
    )


def floats(column: pd.Series) -> NDArray[np.float64]:
    """Return a numeric column as floats (n,), NaN where the value is missing."""
    with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
        values: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def text_cells(column: pd.Series) -> pa.Array:
    """Return the trimmed text of every cell (n,), null where the value is missing."""
    try:
        cells = pa.array(column, type=pa.large_string(), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):  # mixed types
        gone = column.isna()
        texts = [None if skip else as_text(cell) for cell, skip in zip(column, gone, strict=True)]
        cells = pa.array(texts, type=pa.large_string())
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    cells = pc.utf8_trim_whitespace(cells)
    missing = pc.is_in(cells, pa.array(["", *MISSING], type=pa.large_string()))
    return pc.if_else(missing, pa.scalar(None, type=pa.large_string()), cells)


def as_text(cell: object) -> str:
    """Text of a cell; what is no character is replaced by U+FFFD."""
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    return str(cell).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def matches(cells: pa.Array, pattern: str) -> bool:
    """Tell whether every cell that is not missing matches; a few are tried first."""
    return all(
        pc.all(pc.match_substring_regex(part, pattern), min_count=0).as_py()
        for part in (cells[:1000], cells[1000:])
    )


def numbers_from_text(column: pd.Series, decimal_comma: bool) -> tuple[pd.Series, bool]:
    """Turn a column of text into numbers, where every cell is one.

    Parameters
    ----------
    column
        Cells (n,) of any type that is not numeric.
    decimal_comma
        Whether ``3,14`` may be read as 3.14, if no cell has a decimal point.

    Returns
    -------
    tuple
        The column, as floats if possible and otherwise as it was; whether decimal
        commas were read.
    """
    if pd.api.types.is_bool_dtype(column.dtype):
        return column, False
    cells = text_cells(column)
    comma = False
    if not matches(cells, NUMBER):
        comma = decimal_comma and matches(cells, rf"{COMMA_NUMBER}|^[+-]?\d+([eE][+-]?\d+)?$")
        if not comma:
            return column, False
        cells = pc.replace_substring(cells, ",", ".")
    return pd.Series(parsed(cells), index=column.index, dtype=np.float64), comma


def parsed(cells: pa.Array) -> NDArray[np.float64]:
    """Return cells that match ``NUMBER`` as floats (n,), NaN where one is missing."""
    try:
        values = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:  # a form that only Python knows
        values = np.array([np.nan if c is None else float(c) for c in cells.to_pylist()])
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Named columns of numbers or text, as read from a file or from memory.

    Parameters
    ----------
    name
        What to call the data on the screen and in messages.
    frame
        The cells; column names are unique strings. The index starts at 0 and
        counts rows of the source; blank lines of a file leave gaps in it.
    first_row
        Number, from 1, that the row with index 0 has in the source.
    notes
        Sentences about what was done on reading; every Dataset inherits them.
    doubtful
        Columns whose name may be the value of a first record that was taken for names.
    written
        Called with a position, returns the cells of that column (n,) as the source has them,
        each by itself: the type that a column is read as depends on all of its cells.
    decimal_comma
        Whether ``3,14`` is 3.14 where every cell is read by itself.
    """

    name: str
    frame: pd.DataFrame
    first_row: int = 1
    notes: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    written: Callable[[int], Iterable[object]] | None = None
    decimal_comma: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.frame.columns)

    @cached_property
    def numeric_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold numbers throughout, and at least one of them."""
        return tuple(
            name
            for name, column in self.frame.items()
            if is_numeric(column) and column.notna().any()
        )

    def select(
        self,
        columns: Sequence[str | int] | None = None,
        unit: str | int | None = None,
        domain: Domain | None = None,
        *,
        unreadable: Unreadable = "refuse",
    ) -> Dataset:
        """Make points of some columns; rows without a finite number in each are left out.

        Parameters
        ----------
        columns
            At least two, by name or by number from 1 (text that is no name but a
            whole number counts as a number); all numeric columns by default.
        unit
            Column that tells which person a row belongs to; rows without are left out.
        domain
            Declared bounds of the chosen columns, in their order.
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
            Where a column is unknown, fewer than two are left, or the domain has another
            dimension; unless such cells count as missing, also where a column holds text, no row
            is left, or a number is beyond ±1e300.
        """
        refuse = unreadable == "refuse"
        owner = None if unit is None else self._position(unit)
        axes = self._axes(columns, owner, refuse)
        names = tuple(self.frame.columns[axes])
        if domain is not None and domain.ndim != len(axes):
            raise InputError(
                f"the domain has {domain.ndim} axes but {len(axes)} columns are chosen: "
                "give one lo,hi pair per column."
            )
        points = np.empty((len(self.frame), len(axes)))
        for target, axis in enumerate(axes):
            points[:, target] = self.numbers(axis) if refuse else self._each_number(axis)
        keep = np.asarray(np.isfinite(points).all(axis=1))
        units = None
        if owner is not None:
            units, known = self._units(owner)
            keep &= known
        dropped = int(len(keep) - keep.sum())
        if refuse and dropped == len(keep):
            owner_said = "" if unit is None else f" and anything in {shown(unit)}"
            raise InputError(
                f"{shown(self.name)} has no row with a finite number in each of {listed(names)}"
                f"{owner_said}: choose other columns."
            )
        if refuse:
            self._check_size(points, keep, names)
        if dropped:
            points = points[keep]
        return Dataset(
            name=self.name,
            points=points,
            columns=names,
            domain=domain,
            units=None if units is None else units[keep],
            dropped=dropped,
            notes=(*self.notes, *_notes(points, dropped, names, unit)),
            doubtful=tuple(column for column in names if column in self.doubtful),
        )

    def _units(self, owner: int) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
        """Identifiers (n,) of the persons, and where there is one.

        Both depend on the cell alone. In a column that is read as numbers, dates or text as a
        whole, one person with an odd identifier would decide who the others are: 1.0 and 1, a
        date and its midnight, a blank that means nothing or is somebody.
        """
        cells = self.frame.iloc[:, owner] if self.written is None else self.written(owner)
        column = cells if isinstance(cells, pd.Series) else pd.Series(list(cells), dtype=object)
        known = column.notna().to_numpy(copy=True)
        if is_numeric(column) or pd.api.types.is_bool_dtype(column.dtype):
            values = np.zeros(len(column), dtype=_plain_type(column))
            values[known] = column[known].to_numpy(dtype=values.dtype)
            return values, known
        texts = [
            as_text(cell).strip() if there else ""
            for cell, there in zip(column, known, strict=True)
        ]
        # Two persons must not become one because their names can't be read.
        texts = ["" if "\ufffd" in text else text for text in texts]
        known &= ~np.isin(np.array(texts, dtype=object), ["", *MISSING])
        return np.array(texts, dtype=object), known

    def _each_number(self, axis: int) -> NDArray[np.float64]:
        """Column at position ``axis`` as floats (n,), each cell by itself; NaN if it is none."""
        column = self.frame.iloc[:, axis]
        if is_numeric(column):
            values = floats(column)
        else:
            cells = text_cells(column)
            if self.decimal_comma:
                comma = pc.match_substring_regex(cells, COMMA_NUMBER)
                cells = pc.if_else(comma, pc.replace_substring(cells, ",", "."), cells)
            number = pc.match_substring_regex(cells, NUMBER)
            values = parsed(pc.if_else(number, cells, pa.scalar(None, type=pa.large_string())))
        return np.where(np.abs(values) <= LARGEST, values, np.nan)

    def row(self, position: int) -> int:
        """Return the number in the source, from 1, of the frame's row at ``position``."""
        return self.first_row + int(self.frame.index[position])

    def numbers(self, axis: int, way_out: str = "") -> NDArray[np.float64]:
        """Return the column at position ``axis`` as floats (n,), NaN where one is missing.

        Raises
        ------
        InputError
            Where a cell holds text; the sentence ends with ``way_out``.
        """
        column = self.frame.iloc[:, axis]
        if is_numeric(column):
            return floats(column)
        cells = text_cells(column)
        wrong = pc.invert(pc.match_substring_regex(cells, NUMBER))
        position = pc.index(wrong, True).as_py()
        if position < 0:  # nothing but missing values
            return np.full(len(column), np.nan)
        cell = cells[position].as_py()
        if matches(cells[position : position + 1], COMMA_NUMBER):
            way_out = (
                "write a decimal point throughout the column, or decimal commas "
                "throughout with semicolons between the fields"
            )
        raise InputError(
            f'row {self.row(position)}, column "{shown(self.columns[axis])}" holds '
            f'"{shown(cell)}" where a number is expected: '
            f"{way_out or 'correct the cell or choose another column'}."
        )

    def _axes(
        self, columns: Sequence[str | int] | None, owner: int | None, refuse: bool
    ) -> list[int]:
        """Positions of the chosen columns; at least two, none twice."""
        if self.frame.shape[1] == 1:
            raise InputError(self._single_column(20 if refuse else 0))
        if columns is None:
            proposed = self.numeric_columns if refuse else self.columns
            numeric = self.frame.columns.get_indexer(proposed)
            axes = [int(axis) for axis in numeric if axis != owner]
        else:
            axes = [self._position(column) for column in columns]
        if len(set(axes)) != len(axes):
            names = listed(self.columns[axis] for axis in axes)
            raise InputError(f"the chosen columns are {names}: name each column once.")
        if len(axes) < 2:
            kind = "numeric" if refuse and columns is None else "chosen"
            names = listed(self.columns[axis] for axis in axes)
            raise InputError(
                f"{shown(self.name)} has {len(axes) or 'no'} {kind} column"
                f"{' ' if axes else ''}{names}, but at least two are needed: "
                f"choose from {listed(self.columns)}."
            )
        return axes

    def _single_column(self, rows: int) -> str:
        """Return the sentence for a table with one column; a separator may be the cause."""
        text = [self.columns[0], *map(str, self.frame.iloc[:rows, 0])]
        separators = {";": "semicolons", "\t": "tabs", "|": "pipes", ",": "commas"}
        found = [word for mark, word in separators.items() if any(mark in cell for cell in text)]
        if not found and len(text[-1].split()) > 1:
            found = ["spaces"]
        hint = (
            f"its text contains {found[0]}; separate all fields of every row by the same "
            "comma, semicolon, tab or pipe"
            if found
            else "add a second column, separated by a comma, semicolon, tab or pipe"
        )
        return (
            f'{shown(self.name)} has one column, "{shown(self.columns[0])}", '
            f"but at least two are needed: {hint}."
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

    def _check_size(
        self, points: NDArray[np.float64], keep: NDArray[np.bool_], names: tuple[str, ...]
    ) -> None:
        """Refuse finite numbers so large that later arithmetic would overflow."""
        if points.max(where=keep[:, None], initial=0.0) <= LARGEST and (
            points.min(where=keep[:, None], initial=0.0) >= -LARGEST
        ):
            return
        position, axis = np.argwhere((np.abs(points) > LARGEST) & keep[:, None])[0]
        raise InputError(
            f'row {self.row(position)}, column "{shown(names[axis])}" holds '
            f"{points[position, axis]:g}: numbers beyond ±1e300 are too large to compute "
            "with; rescale the column."
        )


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

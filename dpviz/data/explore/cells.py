"""Cells of a table that is in memory as Arrow arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.data.explore.text import may_be_number
from dpviz.data.reading.cells import (
    GROUPS,
    PATTERNS,
    UNCLEAR,
    Cells,
    Kind,
    Style,
    TableCells,
    as_numbers,
    emptied,
    text_cells,
)
from dpviz.data.reading.kinds import holds_numbers, holds_text

#: Marks that stand for no value where numbers are explored; a release leaves them to its own rule.
MARKS = (
    "-", "--", "---", "\u2013", "\u2014", "?", "??", ".", "..", "...", "*", "**", "\\N", "NIL",
    "nil", "MM", "na", "Na", "NAN", "Nan", "n.a.", "N.A.", "n/d", "N/D", "nd", "ND", "n.d.", "k.A.",
    "k. A.", "k.a.", "(null)", "(none)", "Null", "NONE", "missing", "Missing", "MISSING", "nodata",
    "NoData", "no data", "No data", "NODATA", "unknown", "Unknown", "UNKNOWN", "undefined",
    "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A N/A", "NaT",
)  # fmt: skip

#: Signs around numbers: of currencies, parts of a hundred, and other signs than "-" for minus.
_MINUS = "[\u2212\u2013\ufe63\uff0d]"
_MONEY = r"\s*(?:[€$£¥₹%]|EUR|USD|GBP|CHF)?\s*"
_CURRENCY = rf"^\s*([+-]?){_MONEY}([+-]?[\d.,'\s" + "\u2019\u00a0\u202f" + rf"]*\d[.,]?){_MONEY}$"

#: First cells that tell whether a column holds numbers.
_LOOKED_AT = 1000


class ArrowCells(TableCells):
    """Columns in memory, as people write them.

    Parameters
    ----------
    columns
        All of the same length.
    numbers
        Returns the number in the source, from 1, of each row (n,); None where they follow each
        other from 1.
    missing
        Cells of text that stand for no value, besides the usual ones.
    commas
        Whether ``3,14`` may be 3.14.
    written
        Whether a program wrote the numbers of text, with decimal points.
    tidy
        Whether marks for no value and signs of currencies are looked for.
    degrees
        Largest absolute values of columns of degrees, by position.
    """

    def __init__(
        self,
        columns: Sequence[pa.ChunkedArray],
        *,
        numbers: Callable[[], NDArray[np.int64]] | None = None,
        missing: Collection[str] = (),
        commas: bool = False,
        written: bool = False,
        tidy: bool = True,
        degrees: dict[int, float] | None = None,
    ) -> None:
        super().__init__(columns, "either" if commas else "point")
        self._numbers, self._typed, self._degrees = numbers, written, degrees or {}
        self._tidies, self._missing = tidy, marks_of(missing)
        self._tidied: set[int] = set()

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, null where a value is missing."""
        for columns in super().blocks(axes):
            yield [
                tidied(one, self._missing) if axis in self._tidied else one
                for axis, one in zip(axes, columns, strict=True)
            ]

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Numbers in the source, from 1, of the rows at some positions."""
        if self._numbers is None or not positions:
            return super().row_numbers(positions)
        found: list[int] = self._numbers()[list(positions)].tolist()
        return found

    def marks(self, axes: Sequence[int]) -> dict[str, int]:
        """How many rows hold which mark for no value in one of some columns of text."""
        found: Counter[str] = Counter()
        for columns in self.batches(axes):
            texts = [text_cells(one) for one in columns if holds_text(one.type)]
            held = [one.filter(pc.is_in(one, self._missing)) for one in texts]
            for mark in {cell for some in held for cell in some.unique().to_pylist()}:
                rows = [np.asarray(pc.equal(one, mark).fill_null(False)) for one in texts]
                found[mark] += int(np.count_nonzero(np.any(rows, axis=0)))
        return found

    @cached_property
    def kinds(self) -> dict[int, Kind]:
        """Kinds of all columns of text: how numbers are written in one tells about the others."""
        marks: list[Style] = ["point"] if self._typed else ["point", "comma"]
        kinds: dict[int, Kind] = {}
        plainly: dict[int, Kind] = {}
        for axis in (at for at, one in enumerate(self.table.schema) if holds_text(one.type)):
            kind = self.fitting(axis, marks)
            if kind == "text" and self._needs_tidying(axis):
                self._tidied.add(axis)
                kind = self.fitting(axis, marks)
            plainly[axis] = kinds[axis] = kind
            if kind == "text":
                kinds[axis] = self._grouping(axis)
            elif kind == "comma" and self._may_be_thousands(axis):
                kinds[axis] = "unclear"
        by_comma = bool({"comma", "points", "spaces,", "quotes,"} & {*kinds.values()})
        for axis, kind in kinds.items():
            # A point may set thousands apart.
            doubtful = by_comma and not self._typed and kind == "point"
            if kind == "unclear" or (doubtful and self._may_be_thousands(axis)):
                mark: Style = "comma" if plainly[axis] == "comma" else "point"
                kinds[axis] = self._decided(axis, mark, by_comma=by_comma)
        return kinds

    def _needs_tidying(self, axis: int) -> bool:
        """Tell whether the first cells of a column are numbers once they are tidied."""
        cells = self.table.column(axis).slice(0, _LOOKED_AT).combine_chunks()
        tidy = [one for one in text_cells(tidied(cells, self._missing)).to_pylist() if one]
        right = sum(may_be_number(one, ";") for one in tidy)
        return self._tidies and right * 2 > len(tidy)

    def _may_be_thousands(self, axis: int) -> bool:
        """Tell whether all signs in a column may be decimal marks, or set thousands apart."""
        marked = False
        for (cells,) in self.blocks([axis]):
            if not _all(text_cells(cells), rf"{UNCLEAR}|^[+-]?\d{{1,3}}$"):
                return False
            marked = marked or _any(cells, "[.,]")
        return marked

    def _decided(self, axis: int, mark: Style, *, by_comma: bool) -> Kind:
        """Kind of numbers that may have thousands set apart, where something else tells."""
        most = self._degrees.get(axis)
        if most is not None:  # as thousands they are no degrees
            values = np.concatenate([as_numbers(one, mark)[0] for (one,) in self.blocks([axis])])
            return mark if np.nanmax(np.abs(values), initial=0) <= most else "unclear"
        # Who separates fields by commas writes decimals with points, unless other numbers don't.
        return "commas" if self.style == "point" and mark == "comma" and not by_comma else "unclear"

    def _grouping(self, axis: int) -> Kind:
        """How thousands are set apart in a column; text where they are not."""
        # Where a program wrote the numbers, a point is a decimal mark.
        fits = dict.fromkeys((one for one in GROUPS if not self._typed or one != "points"), False)
        clear = False  # whether a cell can't be read with a decimal comma
        for (column,) in self.blocks([axis]):
            cells = text_cells(column)
            fits = {
                style: seen or _any(cells, rf"\d{GROUPS[style][0]}\d{{3}}")
                for style, seen in fits.items()
                if _all(cells, PATTERNS[style])
            }
            if not fits:
                return "text"
            clear = clear or _any(cells, r"\.|,\d+,")
        found = [style for style, seen in fits.items() if seen]
        # Spaces and apostrophes are no decimal marks: their styles differ only where there is one.
        if {"commas", "points"} <= {*found} or (found == ["commas"] and not clear):
            return "unclear"
        return found[0] if found else "text"

    def reading(self, axis: int) -> tuple[Style, bool]:
        """How the cells of a column are read: their style, and whether they are tidied before."""
        return self.style_of(axis), axis in self._tidied


class NamedCells(Cells):
    """Cells of any source without values that a person names, such as -9999, also of numbers.

    Parameters
    ----------
    cells
        The cells.
    missing
        What stands for no value, as text.
    """

    def __init__(self, cells: Cells, missing: Collection[str]) -> None:
        self._cells, self.rows, self.style = cells, cells.rows, cells.style
        self._marks = {mark: as_numbers(pa.array([mark]))[0] for mark in missing}

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, null where a value is missing."""
        for columns in self._cells.blocks(axes):
            yield [
                pc.if_else(pa.array(self._holding(one, self._marks)), None, one)
                for one in map(_whole, columns)
            ]

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column as in the source."""
        return self._cells.written(axis)

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Numbers in the source, from 1, of the rows at some positions."""
        return self._cells.row_numbers(positions)

    def kind(self, axis: int) -> Kind:
        """Kind of a column; those of text that is in memory tell about each other."""
        known = isinstance(self._cells, ArrowCells)
        return self._cells.kind(axis) if known else super().kind(axis)

    def marks(self, axes: Sequence[int]) -> dict[str, int]:
        """How many rows hold which mark for no value in one of some columns."""
        found: Counter[str] = Counter()
        for columns in self._cells.blocks(axes):
            for mark in self._marks:
                held = [self._holding(_whole(one), [mark]) for one in columns]
                found[mark] += int(np.count_nonzero(np.any(held, axis=0)))
        # What is null already is known.
        return {**self._cells.marks(axes), **{mark: many for mark, many in found.items() if many}}

    def _holding(self, cells: pa.Array, marks: Collection[str]) -> NDArray[np.bool_]:
        """Mask (m,) of the cells that hold one of some marks, as text or as a number."""
        if not holds_numbers(cells.type) and not holds_text(cells.type):
            return np.zeros(len(cells), dtype=bool)
        numbers = [one for mark in marks for one in self._marks[mark] if np.isfinite(one)]
        held = np.isin(as_numbers(cells, self.style)[0], numbers)
        if holds_text(cells.type):
            held |= np.asarray(pc.is_in(text_cells(cells), pa.array([*marks], pa.large_string())))
        return held


def tidied(cells: pa.Array, missing: pa.Array) -> pa.Array:
    """Text, null where it stands for no value; numbers without signs of currencies."""
    cells = pc.utf8_trim_whitespace(cells)
    for pattern, kept in ((_MINUS, "-"), (r'^="([^"]*)"$', r"\1"), (_CURRENCY, r"\1\2")):
        cells = pc.replace_substring_regex(cells, pattern, kept)
    return emptied(pc.utf8_trim_whitespace(cells), missing)


def marks_of(missing: Collection[str] = ()) -> pa.Array:
    """Text that stands for no value, with some that a person names."""
    return pa.array([*MARKS, *missing], pa.large_string())


def _whole(cells: pa.Array) -> pa.Array:
    """The same cells without a dictionary."""
    return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells


def _any(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())


def _all(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py())

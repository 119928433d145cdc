"""Cells of a table that is in memory as Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.data.explore.text import may_be_number
from dpviz.data.reading.cells import (
    Cells,
    GroupDetector,
    Kind,
    KindDetector,
    Style,
    TableCells,
    as_numbers,
    looks_grouped,
    text_cells,
)
from dpviz.data.reading.kinds import holds_numbers, holds_text, plain

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
        As in :class:`~dpviz.data.reading.cells.TableCells`.
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
        self._tidies = tidy
        self._missing = marks_of(missing)
        self._tidied: set[int] = set()

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, null where a value is missing."""
        for columns in self.batches(axes):
            yield [
                tidied(plain(one), self._missing) if axis in self._tidied else plain(one)
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
        found: dict[str, int] = {}
        for columns in self.batches(axes):
            texts = [text_cells(one) for one in columns if holds_text(one.type)]
            held = [one.filter(pc.is_in(one, self._missing)) for one in texts]
            for mark in {cell.as_py() for some in held for cell in some.unique()}:
                rows = np.any(
                    [np.asarray(pc.equal(one, mark).fill_null(False)) for one in texts], 0
                )
                found[mark] = found.get(mark, 0) + int(np.count_nonzero(rows))
        return found

    @cached_property
    def kinds(self) -> dict[int, Kind]:
        """Kinds of all columns: how numbers are written in one tells about the others."""
        axes = [axis for axis, field in enumerate(self.table.schema) if holds_text(field.type)]
        detectors = self._detected(axes)
        odd = [
            axis for axis in axes if detectors[axis].kind == "text" and self._needs_tidying(axis)
        ]
        self._tidied.update(odd)
        detectors.update(self._detected(odd))
        kinds: dict[int, Kind] = {}
        for axis, one in detectors.items():
            kinds[axis] = one.kind
            if one.kind == "text" and looks_grouped(one.odd):
                kinds[axis] = self._grouping(axis)
            elif one.kind == "comma" and one.unclear:
                kinds[axis] = "unclear"
        by_comma = {"comma", "points", "spaces,", "quotes,"} & {*kinds.values()}
        for axis, one in detectors.items():
            if by_comma and not self._typed and one.kind == "point" and one.unclear and one.marked:
                kinds[axis] = "unclear"  # a point may set thousands apart
            if kinds[axis] == "unclear":
                kinds[axis] = self._decided(axis, one, bool(by_comma))
        return kinds

    def _detected(self, axes: Sequence[int]) -> dict[int, KindDetector]:
        """What the cells of some columns of text hold."""
        detectors = {axis: KindDetector(commas=not self._typed) for axis in axes}
        for columns in self.blocks(axes) if axes else ():
            for axis, column in zip(axes, columns, strict=True):
                detectors[axis].add(column)
        return detectors

    def _needs_tidying(self, axis: int) -> bool:
        """Tell whether the first cells of a column are numbers once they are tidied."""
        cells = self.table.column(axis).slice(0, _LOOKED_AT).combine_chunks()
        tidy = [one for one in text_cells(tidied(cells, self._missing)).to_pylist() if one]
        right = sum(may_be_number(one, ";") for one in tidy)
        return self._tidies and right * 2 > len(tidy)

    def _decided(self, axis: int, detector: KindDetector, by_comma: bool) -> Kind:
        """Kind of numbers that may have thousands set apart, where something else tells."""
        marked: Literal["comma", "point"] = "comma" if detector.kind == "comma" else "point"
        most = self._degrees.get(axis)
        if most is not None:  # as thousands they are no degrees
            values = np.concatenate([as_numbers(one, marked)[0] for (one,) in self.blocks([axis])])
            return marked if np.nanmax(np.abs(values), initial=0) <= most else "unclear"
        # Who separates fields by commas writes decimals with points, unless other numbers don't.
        if self.style == "point" and marked == "comma" and not by_comma:
            return "commas"
        return "unclear"

    def _grouping(self, axis: int) -> Kind:
        """Kind of a column with a cell that looks as if thousands were set apart."""
        detector = GroupDetector(typed=self._typed)
        for (column,) in self.blocks([axis]):
            if not detector.add(column):
                break
        return detector.kind

    def reading(self, axis: int) -> tuple[Style, bool]:
        """How the cells of a column are read: their style, and whether they are tidied before."""
        kind = self.kind(axis)
        mixed = kind in ("text", "unclear", "nothing")
        return self.style if mixed else kind, axis in self._tidied  # type: ignore[return-value]


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
        numbers = {mark: as_numbers(pa.array([mark]))[0][0] for mark in missing}
        self._marks = {mark: one if np.isfinite(one) else None for mark, one in numbers.items()}

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, null where a value is missing."""
        for columns in self._cells.blocks(axes):
            yield [self._without(one) for one in columns]

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
        found = self._cells.marks(axes)
        for mark in self._marks:
            rows = 0
            for columns in self._cells.blocks(axes):
                held = [self._holding(one, [mark]) for one in columns]
                rows += int(np.count_nonzero(np.any(held, axis=0)))
            # What is null already is known.
            if rows:
                found[mark] = rows
        return found

    def _without(self, cells: pa.Array) -> pa.Array:
        """Cells, null where somebody says that they hold no value."""
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        gone = self._holding(cells, self._marks)
        return pc.if_else(pa.array(gone), pa.scalar(None, cells.type), cells)

    def _holding(self, cells: pa.Array, marks: Collection[str]) -> NDArray[np.bool_]:
        """Mask (m,) of the cells that hold one of some marks, as text or as a number."""
        numbers = [one for one in map(self._marks.__getitem__, marks) if one is not None]
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if not holds_numbers(cells.type) and not holds_text(cells.type):
            return np.zeros(len(cells), dtype=bool)
        held = np.isin(as_numbers(cells, self.style)[0], numbers)
        if holds_text(cells.type):
            held |= np.asarray(pc.is_in(text_cells(cells), pa.array([*marks], pa.large_string())))
        return held


def tidied(cells: pa.Array, missing: pa.Array) -> pa.Array:
    """Text, null where it stands for no value; numbers without signs of currencies."""
    cells = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), _MINUS, "-")
    cells = pc.replace_substring_regex(cells, r'^="([^"]*)"$', r"\1")
    cells = pc.replace_substring_regex(cells, _CURRENCY, r"\1\2")
    cells = pc.utf8_trim_whitespace(cells)
    return pc.if_else(pc.is_in(cells, missing), pa.scalar(None, cells.type), cells)


def marks_of(missing: Collection[str] = ()) -> pa.Array:
    """Text that stands for no value, with some that a person names."""
    return pa.array([*MARKS, *missing], pa.large_string())

"""Cells of a table that is in memory as Arrow arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from dpviz.base.arrays import Mask
from dpviz.base.cached import cached_property
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.explore.rows import Rows
from dpviz.data.explore.text import may_be_number
from dpviz.data.geographic import LAT_WORDS, LON_WORDS, words_of
from dpviz.data.reading.cells import (
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
from dpviz.data.reading.kinds import holds_numbers, holds_text, whole
from dpviz.data.words import WORDS

#: Marks for a missing value in columns of numbers. For exploring only; a release has another rule.
MARKS = tuple(WORDS["missing"])

#: Patterns for minus signs other than "-", and for currency and percent signs next to numbers.
_MINUS = "[\u2212\u2013\ufe63\uff0d]"
_MONEY = r"\s*(?:[€$£¥₹%]|EUR|USD|GBP|CHF)?\s*"
_CURRENCY = rf"^\s*([+-]?){_MONEY}([+-]?[\d.,'\s" + "\u2019\u00a0\u202f" + rf"]*\d[.,]?){_MONEY}$"

#: Number of cells that decide whether a column contains numbers.
_LOOKED_AT = 1000


class ArrowCells(TableCells):
    """Rows of a file that people may have written by hand, with column names."""

    # ``missing`` are marks of the user; ``tidy`` also allows currency signs and the usual marks.

    def __init__(
        self, rows: Rows, names: Sequence[str], missing: Collection[str], *, tidy: bool = True
    ) -> None:
        super().__init__(rows.columns, "either" if rows.commas else "point")
        self._numbers, self._typed = rows.numbers, rows.written
        self._tidies, self._missing = tidy, marks_of(missing)
        self._tidied: set[int] = set()
        words = [set(words_of(name)) for name in names]
        #: Largest absolute value of columns whose names mean longitude or latitude.
        self._degrees = {axis: 360.0 for axis, one in enumerate(words) if one & LON_WORDS}
        self._degrees |= {axis: 90.0 for axis, one in enumerate(words) if one & LAT_WORDS}

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, null where a value is missing."""
        for columns in super().blocks(axes):
            yield [
                tidied(one, self._missing) if axis in self._tidied else one
                for axis, one in zip(axes, columns, strict=True)
            ]

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Row numbers in the source, from 1, of the rows at some positions."""
        if self._numbers is None or not positions:
            return super().row_numbers(positions)
        found: list[int] = self._numbers()[list(positions)].tolist()
        return found

    def marks(self, axes: Sequence[int]) -> dict[str, int]:
        """Number of rows with each mark for a missing value in some text columns."""
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
        """Kinds of all text columns. A column's style may decide the style of another column."""
        axes = [axis for axis, one in enumerate(self.table.schema) if holds_text(one.type)]
        kinds = {axis: self._alone(axis) for axis in axes}
        doubtful: dict[int, Style] = {
            axis: "comma" for axis in axes if kinds[axis] == "comma" and self._may_group(axis)
        }
        certain = {kind for axis, kind in kinds.items() if axis not in doubtful}
        by_comma = bool({"comma", "points", "spaces,", "quotes,"} & certain)
        if by_comma and not self._typed:
            points = [axis for axis in axes if kinds[axis] == "point" and self._may_group(axis)]
            doubtful |= dict.fromkeys(points, "point")
        for axis, mark in doubtful.items():
            kinds[axis] = self._decided(axis, mark, by_comma=by_comma)
        return kinds

    def _alone(self, axis: int) -> Kind:
        # In numbers that a program wrote, a point is a decimal mark.
        but = ("either", "points") if self._typed else ("either",)
        styles = [style for style in PATTERNS if style not in but]
        kind = self.fitting(axis, styles)
        if kind == "text" and self._needs_tidying(axis):
            self._tidied.add(axis)
            kind = self.fitting(axis, styles)
        if self._typed and kind == "comma":
            return "text" if self.fitting(axis, ["commas"]) == "text" else "unclear"
        both = kind == "commas" and not self._typed and self.fitting(axis, ["points"]) != "text"
        return "unclear" if both else kind

    def _needs_tidying(self, axis: int) -> bool:
        cells = self.table.column(axis).slice(0, _LOOKED_AT).combine_chunks()
        tidy = [one for one in text_cells(tidied(cells, self._missing)).to_pylist() if one]
        right = sum(may_be_number(one, ";") for one in tidy)
        return self._tidies and right * 2 > len(tidy)

    def _may_group(self, axis: int) -> bool:
        """Whether all marks in a column may be either decimal marks or thousands separators."""
        marked = False
        for (cells,) in self.blocks([axis]):
            right = pc.match_substring_regex(text_cells(cells), rf"{UNCLEAR}|^[+-]?\d{{1,3}}$")
            if not pc.all(right, min_count=0).as_py():
                return False
            marked = marked or pc.any(pc.match_substring_regex(cells, "[.,]")).as_py() is True
        return marked

    def _decided(self, axis: int, mark: Style, *, by_comma: bool) -> Kind:
        most = self._degrees.get(axis)
        if most is not None:  # with thousands separators they would not be degrees
            values = np.concatenate([as_numbers(one, mark)[0] for (one,) in self.blocks([axis])])
            return mark if np.nanmax(np.abs(values), initial=0) <= most else "unclear"
        # If commas separate fields, the decimal mark is a point, unless other numbers have a comma.
        return "commas" if self.style == "point" and mark == "comma" and not by_comma else "unclear"

    def reading(self, axis: int) -> tuple[Style, bool]:
        """Style of the numbers in a column, and whether :func:`tidied` must first be applied."""
        return self.style_of(axis), axis in self._tidied


class NamedCells(Cells):
    """Cells of any source; a cell with a user's mark for a missing value is null."""

    def __init__(self, cells: Cells, missing: Collection[str]) -> None:
        self._cells, self.rows, self.style = cells, cells.rows, cells.style
        self._marks = {mark: as_numbers(pa.array([mark]))[0] for mark in missing}

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, null where a value is missing."""
        for columns in self._cells.blocks(axes):
            plain = map(whole, columns)
            yield [pc.if_else(self._holding(one, self._marks), None, one) for one in plain]

    def batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns, with their own types."""
        return self._cells.batches(axes)

    def row_numbers(self, positions: Sequence[int]) -> list[int]:
        """Row numbers in the source, from 1, of the rows at some positions."""
        return self._cells.row_numbers(positions)

    def kind(self, axis: int) -> Kind:
        """Kind of a column. The kind of a text column in memory may depend on other columns."""
        known = isinstance(self._cells, ArrowCells)
        return self._cells.kind(axis) if known else super().kind(axis)

    def marks(self, axes: Sequence[int]) -> dict[str, int]:
        """Number of rows with each mark for a missing value in some columns."""
        found: Counter[str] = Counter()
        for columns in self._cells.blocks(axes):
            for mark in self._marks:
                held = [self._holding(whole(one), [mark]) for one in columns]
                found[mark] += int(np.count_nonzero(np.any(held, axis=0)))
        # The inner cells count the usual marks, which are null already.
        return {**self._cells.marks(axes), **{mark: many for mark, many in found.items() if many}}

    def _holding(self, cells: pa.Array, marks: Collection[str]) -> Mask:
        if not holds_numbers(cells.type) and not holds_text(cells.type):
            return np.zeros(len(cells), dtype=bool)
        numbers = [one for mark in marks for one in self._marks[mark] if np.isfinite(one)]
        held = np.isin(as_numbers(cells, self.style)[0], numbers)
        if holds_text(cells.type):
            held |= np.asarray(pc.is_in(text_cells(cells), pa.array([*marks], pa.large_string())))
        return held


def tidied(cells: pa.Array, missing: pa.Array) -> pa.Array:
    """Remove currency signs around numbers, and replace marks for a missing value by null."""
    cells = pc.utf8_trim_whitespace(cells)
    for pattern, kept in ((_MINUS, "-"), (r'^="([^"]*)"$', r"\1"), (_CURRENCY, r"\1\2")):
        cells = pc.replace_substring_regex(cells, pattern, kept)
    return emptied(pc.utf8_trim_whitespace(cells), missing)


def marks_of(missing: Collection[str] = ()) -> pa.Array:
    """Texts that mean a missing value: the usual texts and the user's own."""
    return pa.array([*MARKS, *missing], pa.large_string())

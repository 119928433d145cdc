"""A table as it was read. Its chosen columns become points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Mask
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, listed, shown
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.dataset import Classes, Dataset, position_of, positions_of
from dpviz.data.reading.cells import (
    UNCLEAR,
    Cells,
    Style,
    as_numbers,
    float_identifiers,
    looks_grouped,
    text_cells,
    used_entries,
)
from dpviz.data.reading.far import HALF, impossible, longitude, over_180, turned, turned_sentence
from dpviz.data.reading.files import enough_memory
from dpviz.data.reading.kinds import LARGEST, MISSING
from dpviz.data.reading.unread import FEW, NAMED, NO_ROWS, NamedRows, UnreadableError
from dpviz.data.reading.watch import passed
from dpviz.data.units import ROUNDED, SHORT, identified, is_rounded, plain_text, short_name
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin

#: What to do with a cell that is not a number: raise an error that names its place, leave its row
#: out, or treat it as missing. A release treats it as missing, because an error or an effect on
#: other cells would reveal one record. With "leave out", rows are read as for a release, but the
#: rows that are left out are named; if they are many, this is an error.
Unreadable: TypeAlias = Literal["refuse", "leave out", "missing"]

#: Largest number of known classes. If there are more classes, they are identifiers or measurements.
MOST_CLASSES = 1000

#: Class of the records without a value in the class column.
NO_CLASS = "none"

#: Number of cells that decide whether only a few cells of a column are not numbers.
_LOOKED_AT = 1000

#: Suffix for repeated column names, see :func:`unique_names`.
_NUMBERED = re.compile(r" \([0-9]+\)\Z")

#: Approximate memory of one text identifier in bytes.
_STRING = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Named columns of numbers or text. A column is decoded when it is chosen."""

    name: str
    columns: tuple[str, ...]  # names of all columns, without duplicates
    cells: Cells
    notes: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    memory: int | None = None  # maximum bytes of points and identifiers; None for no limit
    origins: tuple[Origin, ...] = ()
    ragged: NamedRows = NO_ROWS  # rows with a different number of fields, which are left out
    guessed: bool = False  # whether the reader guessed or skipped something (see notes)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.cells.rows

    @cached_property
    def numeric_columns(self) -> tuple[str, ...]:
        """Names of the columns that contain at least one number, and no other values."""
        with enough_memory(self.name):
            return tuple(
                name
                for axis, name in enumerate(self.columns)
                if self.cells.kind(axis) not in ("unclear", "text", "nothing")
            )

    @cached_property
    def nearly_numeric(self) -> tuple[str, ...]:
        """Names of the other columns in which only a few of the first cells are not numbers."""
        with enough_memory(self.name):
            return tuple(
                name
                for axis, name in enumerate(self.columns)
                if self._is_mixed(axis) and self._mostly(axis, self.cells.style)
            )

    def _is_mixed(self, axis: int) -> bool:
        return self.cells.kind(axis) in ("text", "unclear")

    def select(
        self,
        columns: Sequence[str | int] | None = None,
        unit: str | int | None = None,
        domain: Domain | None = None,
        *,
        classes: str | int | None = None,
        least: int = 1,
        unreadable: Unreadable = "refuse",
        turn: bool = True,
    ) -> Dataset:
        """Convert columns to points; leave out rows without a finite number in each column.

        ``columns`` (at least ``least``) are given by name or by number from 1. By default, they are
        all numeric columns except ``unit`` (the column of persons) and ``classes`` (the column of
        known classes; no private run may depend on it). Rows without a person are left out; rows
        without a class form a class. ``domain`` has declared bounds of the columns.

        For a release (``unreadable="missing"``), each cell is read separately, and text or a number
        beyond ±1e300 is missing. By default, all columns are chosen, because data must not decide
        which columns are numeric. For exploring ("leave out"), a few rows with such cells are left
        out and named. ``turn`` adds 360 to longitudes below 0 if places on both sides of 180
        degrees are then neighbours. It never does so for a release, or if a domain ends at 180.

        Raises InputError if a column is unknown, there are too few columns, ``classes`` is chosen
        or has more than ``MOST_CLASSES`` classes, the domain has another dimension, or the points
        don't fit into memory. If cells do not count as missing, it also raises an error if no row
        remains or a cell is unreadable (:class:`UnreadableError` if such rows are few).
        """
        refuse, released = unreadable == "refuse", unreadable == "missing"
        owner, known = (
            None if one is None else position_of(one, self.columns, self.name)
            for one in (unit, classes)
        )
        if owner is not None and released:
            self._check_name(self.columns[owner])
        others = {axis for axis in (owner, known) if axis is not None}
        with enough_memory(self.name):
            axes = self._axes(columns, others, least, unreadable)
            if known in axes:
                raise InputError(
                    f'column "{shown(self.columns[known])}" holds the known classes, which no '
                    "method may see: leave it out of the columns, or name another class column."
                )
            names = tuple(self.columns[axis] for axis in axes)
            left_out = self._left_out({*axes, *others}) if refuse and columns is None else ()
            if domain is not None:
                domain.check_ndim(len(axes), "chosen column", shown(self.name))
            self.check_memory(len(axes), len(others), capped=owner is not None)
            found = None if known is None else self._classes(known)
            units, there, rounded = None, None, 0
            if owner is not None:
                units, there, rounded = self._units(owner, len(axes))
            points, keep, rows = self._points(axes, there, released=released)
            few = 0 if refuse else FEW * len(points)
            if not released and (rows.rows > few or (refuse and any(map(self._is_mixed, axes)))):
                raise self._refusal(axes, rows, len(points))
            if not released and not len(points):
                with_unit = "" if unit is None else f' and an identifier in "{shown(unit)}"'
                raise InputError(
                    f"{shown(self.name)} has no row with a finite number in each of "
                    f"{listed(names)}{with_unit}: choose other columns."
                )
            if found is not None:
                found = replace(found, codes=found.codes[keep])
            dropped = len(keep) - len(points) + self.ragged.rows
            notes = [*self.notes, *left_out, *self._dropped(dropped, names, unit, rounded)]
            if len(points) > 1 and (points.min(axis=0) == points.max(axis=0)).all():
                notes.append(
                    f"All {len(points):,} points are equal, so there is only one cluster to find."
                )
            if dropped and not released:
                notes += [
                    f'{_rows(many, "holds", "hold")} "{shown(mark)}" in these columns, which is '
                    "read as no value."
                    for mark, many in sorted(self.cells.marks(axes).items())
                ]
            across = None if released or not turn else over_180(points, names)
            if across is not None and (domain is None or domain.bounds[across][1] > HALF):
                points[:, across] = turned(points[:, across])
                notes.append(turned_sentence(names[across]))
            notes += [] if released else impossible(points, names)
            return Dataset(
                name=self.name,
                points=points,
                columns=names,
                domain=domain,
                units=units[keep] if units is not None and len(points) < len(keep) else units,
                classes=found,
                dropped=dropped,
                unread=None if refuse else rows,
                notes=(*notes, *_unclassed(found)),
                doubtful=tuple(column for column in names if column in self.doubtful),
                unit=None if owner is None else self.columns[owner],
                origins=self.origins,
            )

    def numbers(self, axes: Sequence[int], way_out: str = "") -> Iterator[Floats]:
        """Successive rows of columns as floats (m, d) or NaN; InputError ends with ``way_out``."""
        for axis in axes:
            if self._is_mixed(axis):
                raise self._no_number(axis, way_out)
        return (values for values, _, _ in self._decoded(axes))

    def first_numbers(self, axes: Sequence[int], most: int) -> Floats:
        """First rows of some columns as floats (m, d), NaN where a cell is not a number."""
        seen: list[Floats] = []
        for values, _, _ in self._decoded(axes):
            seen.append(values[:most].copy())
            if sum(map(len, seen)) >= most:
                break
        return np.concatenate(seen)[:most]

    def row(self, position: int) -> int:
        """Return the number in the source, from 1, of the row at ``position``."""
        return self.cells.row(position)

    def outside(self, columns: Sequence[str], bounds: Sequence[tuple[float, float]]) -> NamedRows:
        """Rows with a number in each column, of which at least one is outside the closed bounds."""
        axes = [position_of(column, self.columns, self.name) for column in columns]
        across = longitude([self.columns[axis] for axis in axes])
        found = _Found(self, axes)
        with enough_memory(self.name):
            for values, _, cells in self._decoded(axes):
                known = np.isfinite(values).all(axis=1)
                out = [
                    # The bounds may be bounds of longitudes to which 360 was added, see `select`.
                    ((one < lo) | (one > hi))
                    & ((turned(one) < lo) | (turned(one) > hi) if at == across else True)
                    for at, (one, (lo, hi)) in enumerate(zip(values.T, bounds, strict=True))
                ]
                found.add(np.stack([one & known for one in out], axis=1), cells)
            return found.named

    def _decoded(
        self, axes: Sequence[int], styles: Sequence[Style] | None = None
    ) -> Iterator[tuple[Floats, Mask, list[pa.Array]]]:
        """Successive rows: floats (m, d) or NaN, mask of unreadable cells, and the cells."""
        styles = styles or [self.cells.style_of(axis) for axis in axes]
        read = 0
        for columns in self.cells.blocks(axes):
            values = np.empty((len(columns[0]), len(axes)))
            wrong = np.empty(values.shape, dtype=bool)
            for target, (column, style) in enumerate(zip(columns, styles, strict=True)):
                values[:, target], wrong[:, target] = as_numbers(column, style)
            read += len(values)
            passed(read, self.rows)
            yield values, wrong, columns

    def _points(
        self, axes: list[int], known: Mask | None, *, released: bool = False
    ) -> tuple[Floats, Mask, NamedRows]:
        """Points (n, d) of rows with finite numbers, mask of these rows, and unreadable rows."""
        keep = np.ones(self.rows, dtype=bool) if known is None else known
        points = np.empty((self.rows, len(axes)))
        found = _Found(self, axes)
        start = stop = 0  # positions in the rows read and in the remaining rows
        styles = [self.cells.style] * len(axes) if released else None
        for values, wrong, cells in self._decoded(axes, styles):
            stay = keep[start : start + len(values)]
            for column in values.T:
                stay &= np.isfinite(column)
            large = np.abs(values) > LARGEST
            if large.any():
                wrong |= large & stay[:, None]
                stay &= ~large.any(axis=1)
            found.add(wrong, cells)
            number = int(np.count_nonzero(stay))
            points[stop : stop + number] = values if number == len(values) else values[stay]
            start, stop = start + len(values), stop + number
        points.resize((stop, len(axes)), refcheck=False)  # frees the rest without a copy
        return points, keep, found.named | self.ragged

    def _refusal(self, axes: list[int], rows: NamedRows, fine: int) -> InputError:
        mixed = [axis for axis in axes if self._is_mixed(axis)]
        worse = [axis for axis in mixed if self.columns[axis] not in self.nearly_numeric]
        few = not worse and 0 < rows.rows <= FEW * fine
        if mixed:
            error = self._no_number((worse or mixed)[0])
        elif self.ragged.rows:
            row, _, cell = self.ragged.first[0]
            error = InputError(f"row {row} has {cell}: correct the row.")
        else:
            row, column, cell = rows.first[0]
            error = InputError(
                f'row {row}, column "{shown(column)}" holds {cell}: numbers beyond ±1e300 are too '
                "large to compute with; rescale the column."
            )
        return UnreadableError(str(error), rows) if few else error

    def _check_name(self, unit: str) -> None:
        plain = _NUMBERED.sub("", unit)
        same = [one for one in self.columns if _NUMBERED.sub("", one) == plain]
        if plain in same and len(same) > 1:
            raise InputError(
                f'{shown(self.name)} has several columns "{shown(plain)}", and one of them is '
                "the column of persons: name each column differently, since their order may change."
            )

    def _no_number(self, axis: int, way_out: str = "") -> InputError:
        unclear = self.cells.kind(axis) == "unclear"
        # Search in the style of most cells; if all cells have it, search with decimal points.
        mark = self._mark(axis) or "point"
        found = self._first(axis, "unclear" if unclear else mark) or self._first(axis, "point")
        row, cell = found or (0, "text")
        holds = f'{f"row {row}, " if found else ""}column "{shown(self.columns[axis])}" holds '
        if unclear:
            one, other = (re.sub("[.,]", mark, cell) for mark in ("", "."))
            return InputError(
                f'{holds}"{shown(cell)}", which may be {one} or {other}, and no other cell of the '
                "column decides: write its numbers without thousands separators and with a "
                "decimal point."
            )
        if not as_numbers(pa.array([cell]), "comma")[1].any():
            way_out = (
                "write decimal points in the whole column, or decimal commas in the whole "
                "column and semicolons between the fields"
            )
        elif looks_grouped(cell):
            way_out = "write all numbers of the column in one style without thousands separators"
        way_out = way_out or "correct the cell or choose another column"
        return InputError(f'{holds}"{shown(cell)}" where a number is expected: {way_out}.')

    def _mark(self, axis: int) -> Style | None:
        marks: tuple[Style, ...] = ("point", "comma")
        return next((mark for mark in marks if self._mostly(axis, mark)), None)

    def _mostly(self, axis: int, style: Style) -> bool:
        numbers = slips = seen = 0
        for (cells,) in self.cells.blocks([axis]):
            values, wrong = as_numbers(cells[: _LOOKED_AT - seen], style)
            numbers += int(np.count_nonzero(np.isfinite(values)))
            slips += int(np.count_nonzero(wrong))
            seen += len(values)
            if seen == _LOOKED_AT:
                break
        return numbers > 0 and slips <= FEW * numbers

    def _first(self, axis: int, what: Style | Literal["unclear"]) -> tuple[int, str] | None:
        start = 0
        for (cells,) in self.cells.blocks([axis]):
            if what == "unclear":
                match = pc.match_substring_regex(text_cells(cells), UNCLEAR)
                found = np.asarray(match.fill_null(False))
            else:
                found = as_numbers(cells, what)[1]
            if found.any():
                at = int(found.argmax())
                return self.row(start + at), _one_cell(cells, at)
            start += len(cells)
        return None

    def _left_out(self, taken: set[int]) -> Iterator[str]:
        for axis in range(len(self.columns)):
            if axis not in taken and self.cells.kind(axis) == "text" and self._mark(axis):
                said = str(self._no_number(axis))
                yield f"{said[0].upper()}{said[1:]} The column is left out."

    def _dropped(
        self, dropped: int, names: tuple[str, ...], unit: str | int | None, rounded: int
    ) -> Iterator[str]:
        if dropped:
            owner = "" if unit is None else f', or there is nothing in "{shown(unit)}"'
            ragged = ", or the row has more or fewer fields than the first row"
            yield (
                f"{_rows(dropped, 'was', 'were')} left out: a value in {listed(names)} is missing, "
                f"infinite or not a number{owner}{ragged if self.ragged.rows else ''}."
            )
        if rounded:
            yield f'{_rows(rounded, "has", "have")} no person in "{shown(unit)}": {ROUNDED}.'

    def _units(self, owner: int, ndim: int) -> tuple[NDArray[np.generic], Mask, int]:
        # Each identifier depends only on its own cell. If the whole column determined its type
        # (numbers, dates or text), one person's unusual identifier would change other identities: 1
        # could become 1.0, a date could become a time, and a blank could become a person.
        units: NDArray[np.generic] = np.empty(0, dtype=object)
        known = np.zeros(self.rows, dtype=bool)
        start = many = 0
        for cells in self.cells.written(owner):
            values, there, rounded = identifiers(cells, short=True)
            many += int(np.count_nonzero(there & rounded))
            if not start:
                units = np.empty(self.rows, dtype=values.dtype)
                size = self._needed(ndim, 1, capped=True, texts=units.dtype == object)
            if self.memory is not None and size > self.memory:
                raise InputError(
                    f'column "{shown(self.columns[owner])}" of {shown(self.name)} holds too many '
                    "identifiers to keep them in memory as text: write them as whole numbers in a "
                    ".parquet file."
                )
            units[start : start + len(values)] = values
            known[start : start + len(values)] = there & ~rounded
            start += len(values)
        return units, known, many

    def _classes(self, axis: int) -> Classes:
        """Classes of all rows; 1 and 1.0 mean the same class, as they mean the same person."""
        column = self.columns[axis]
        codes = np.full(self.rows, -1, dtype=np.intp)
        known: dict[str, int] = {}
        start = 0
        for cells in self.cells.written(axis):
            values, there, _ = identifiers(cells)
            found = identified(values[there], rounded=True)
            places = [known.setdefault(name, len(known)) for name in found.categories]
            if len(known) > MOST_CLASSES:
                raise InputError(
                    f'column "{shown(column)}" holds more than {MOST_CLASSES:,} different classes: '
                    "name a column of classes, not of identifiers or measurements."
                )
            codes[start : start + len(values)][there] = np.array(places, dtype=np.intp)[found.codes]
            start += len(values)
        rest = (NO_CLASS,) if (codes < 0).any() else ()
        codes[codes < 0] = len(known)
        return Classes(column=column, names=(*known, *rest), codes=codes)

    def _needed(self, ndim: int, others: int, *, capped: bool = False, texts: bool = False) -> int:
        """Memory of points, identifiers and masks in bytes; twice as much if records are capped."""
        # Rows with a wrong number of fields are included, so the content of rows has no effect.
        each = (8 * ndim + 1 + 9 * others) * (1 + capped) + _STRING * texts
        return (self.rows + self.ragged.rows) * each

    def check_memory(self, ndim: int, others: int = 0, *, capped: bool = False) -> None:
        """Raise InputError if the points need more memory than the file's size allows."""
        # A release shows this text, so it has no number of rows: records change a packed file.
        if self.memory is not None and self._needed(ndim, others, capped=capped) > self.memory:
            columns = "a column" if ndim == 1 else f"{ndim:,} columns"
            raise InputError(
                f"{shown(self.name)} has too many rows, because {columns} would need "
                "more memory than a file of its size may use: give "
                f"fewer rows{', or choose fewer columns' if ndim > 1 else ''}."
            )

    def _axes(
        self,
        columns: Sequence[str | int] | None,
        others: set[int],
        least: int,
        unreadable: Unreadable,
    ) -> list[int]:
        refuse = unreadable != "missing"
        if columns is not None:
            axes = positions_of(columns, self.columns, self.name)
        else:
            proposed = {*(self.numeric_columns if refuse else self.columns)}
            if unreadable == "leave out":
                proposed |= {*self.nearly_numeric}
            named = enumerate(self.columns)
            axes = [axis for axis, name in named if name in proposed and axis not in others]
        if len(axes) >= max(least, 1):
            return axes
        if columns is None and refuse:
            for axis in range(len(self.columns)):
                if axis not in others and self.cells.kind(axis) == "unclear":
                    raise self._no_number(axis)
        needed = f"at least {'two are' if least > 1 else 'one is'} needed"
        if len(self.columns) == 1:
            fault = f"but {needed}" if least > 1 else "which holds no numbers"
            raise self._single_column(fault, 20 if refuse else 0)
        kind = "numeric" if refuse and columns is None else "chosen"
        names = listed(self.columns[axis] for axis in axes)
        raise InputError(
            f"{shown(self.name)} has {len(axes) or 'no'} {kind} column"
            f"{' ' if axes else ''}{names}, but {needed}: choose from {listed(self.columns)}."
        )

    def _single_column(self, fault: str, rows: int) -> InputError:
        blocks = self.cells.blocks([0])
        cells = (_one_cell(cells, place) for (cells,) in blocks for place in range(len(cells)))
        text = [self.columns[0], *islice(cells, rows)]
        separators = {";": "semicolons", "\t": "tabs", "|": "pipes", ",": "commas"}
        held = [word for mark, word in separators.items() if any(mark in cell for cell in text)]
        held += ["spaces"] if len(text[-1].split()) > 1 else []
        hint = (
            f"its text contains {held[0]}; separate all fields of every row by the same"
            if held
            else "add a column of numbers, separated by a"
        )
        return InputError(
            f'{shown(self.name)} has one column, "{shown(self.columns[0])}", {fault}: {hint} '
            "comma, semicolon, tab or pipe."
        )


class _Found:
    def __init__(self, table: Table, axes: Sequence[int]) -> None:
        self._table, self._names = table, [table.columns[axis] for axis in axes]
        self._rows = self._start = 0
        self._first: list[tuple[int, str, str]] = []  # position, column and text of the cell

    def add(self, mask: Mask, cells: Sequence[pa.Array]) -> None:
        if mask.any():
            found = np.flatnonzero(mask.any(axis=1))
            for position in found[: NAMED - len(self._first)].tolist():
                target = int(mask[position].argmax())
                cell = _one_cell(cells[target], position)
                self._first.append((self._start + position, self._names[target], shown(cell)))
            self._rows += len(found)
        self._start += len(mask)

    @property
    def named(self) -> NamedRows:
        return named_rows(self._table.cells, self._rows, self._first)


def named_rows(cells: Cells, many: int, first: Sequence[tuple[int, str, str]]) -> NamedRows:
    """Describe ``many`` rows; ``first`` has position, column and cell of the first rows."""
    rows = cells.row_numbers([position for position, _, _ in first])
    named = ((row, name, cell) for row, (_, name, cell) in zip(rows, first, strict=True))
    return NamedRows(rows=many, first=tuple(named))


def _one_cell(cells: pa.Array, position: int) -> str:
    cell = cells[position : position + 1]
    if pa.types.is_dictionary(cell.type):
        cell = used_entries(cell)[0]
    try:
        return str(text_cells(cell)[0].as_py())
    except (pa.ArrowException, ValueError, TypeError):  # a date that can't be written as text
        return str(cell.type)


def identifiers(cells: pa.Array, *, short: bool = False) -> tuple[NDArray[np.generic], Mask, Mask]:
    """Identifiers (m,), mask of known persons, mask of rounded identifiers; see `short_name`."""
    known, none = np.array(cells.is_valid()), np.zeros(len(cells), dtype=bool)
    if pa.types.is_boolean(cells.type):
        return np.asarray(cells.fill_null(False)), known, none
    if pa.types.is_integer(cells.type):
        kind = pa.uint64() if cells.type == pa.uint64() else pa.int64()
        return cells.cast(kind).fill_null(0).to_numpy(), known, none
    if pa.types.is_floating(cells.type):
        values, rounded = float_identifiers(cells.to_numpy(zero_copy_only=False))
        return values, known & ~np.isnan(values), rounded
    if not pa.types.is_dictionary(cells.type):
        try:
            cells = text_cells(cells).dictionary_encode()
        except pa.ArrowInvalid:  # dates with an unknown time zone
            return np.full(len(cells), "", dtype=object), none, none
    known = np.array(cells.is_valid())
    entries, places = used_entries(cells)
    found = text_cells(entries).fill_null("").to_pylist()
    plain = [plain_text(text) for text in found]
    names = np.array([one is not None for one in plain], dtype=bool)
    shared = np.array([one is not None and is_rounded(one) for one in plain], dtype=bool)
    if short:
        found = [
            "" if one is None else text if len(text) <= SHORT else short_name(one)
            for text, one in zip(found, plain, strict=True)
        ]
    texts = np.array(found, dtype=object)
    return texts[places], known & names[places], shared[places]


def _rows(many: int, one: str, more: str) -> str:
    return f"{counted(many, 'row')} {one if many == 1 else more}"


def _unclassed(classes: Classes | None) -> list[str]:
    if classes is None or classes.names[-1:] != (NO_CLASS,):
        return []
    rows = int((classes.codes == len(classes.names) - 1).sum())
    said = f'no value in "{shown(classes.column)}": such rows form a separate class.'
    return [f"{_rows(rows, 'has', 'have')} {said}"] if rows else []


def named_table(
    name: str,
    columns: Sequence[str],
    cells: Cells,
    *,
    flat: Sequence[int] | None = None,
    memory: int | None = None,
    notes: tuple[str, ...] = (),
    doubtful: Sequence[int] = (),
    ragged: NamedRows = NO_ROWS,
) -> Table:
    """Make a table with unique column names; only columns at positions ``flat`` have cells."""
    # Names at positions ``doubtful`` may be values. InputError if there are no cells, or no memory.
    unique = unique_names(columns)
    flat = range(len(unique)) if flat is None else flat
    others = listed(unique[axis] for axis in sorted({*range(len(unique))} - {*flat}))
    if not flat:
        raise InputError(
            f"{shown(name)} has no column of numbers: {others} can't be read."
            if others
            else f"{shown(name)} has no column: give a table with one row of numbers per record."
        )
    if others:
        notes = (*notes, f"Columns without numbers and text are left out: {others}.")
    table = Table(
        name=name,
        columns=tuple(unique[axis] for axis in flat),
        cells=cells,
        notes=notes,
        doubtful=tuple(unique[axis] for axis in doubtful),
        memory=memory,
        ragged=ragged,
    )
    table.check_memory(1)
    return table


def doubtful(names: Sequence[str]) -> list[int]:
    """Positions of names that may be values (a number, a date, or empty) instead of names."""
    return [
        axis
        for axis, field in enumerate(map(str.strip, names))
        if field in MISSING
        or field.lower() in ("inf", "infinity")
        or not re.search(r"^[^\W\d_]", field)  # does not begin with a letter
    ]


def unique_names(names: Sequence[str]) -> list[str]:
    """Make names printable, non-empty and unique."""
    taken: dict[str, int] = {}  # how often each name has occurred
    unique = []
    for number, raw in enumerate(names, start=1):
        name = "".join(char if char.isprintable() else " " for char in raw)
        name = wanted = " ".join(name.split()) or f"column {number}"
        while name in taken:
            taken[wanted] += 1
            name = f"{wanted} ({taken[wanted]})"
        taken[name] = 1
        unique.append(name)
    return unique

"""Convert a table of exploring to CSV or Parquet; a release reads the same values from it."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

import numpy as np

from dpviz.base.arrays import Mask
from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import FORMATS, PACKINGS
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.dataset import Dataset, position_of
from dpviz.data.reading.cells import Style, as_numbers, float_text, text_cells
from dpviz.data.reading.far import degrees_of, over_180, turned
from dpviz.data.reading.files import MAX_BYTES, megabytes
from dpviz.data.reading.kinds import holds_numbers, whole
from dpviz.data.reading.table import Table, named_rows
from dpviz.data.reading.unread import FEW, NAMED, NO_ROWS, NamedRows, UnreadableError
from dpviz.grid.counts import MAX_EXACT

#: Patterns of numbers, and of whole numbers, that every reader interprets in the same way.
_PLAIN, _WHOLE = r"^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$", r"^-?\d+$"

#: Patterns of whole numbers with at most 64 bits, and of whole numbers that a float may round.
_SHORT, _LONG = r"^-?\d{1,18}$", r"^-?\d{16,}$"

#: Line breaks and NUL are replaced, because a release reads lines separately, and without NUL.
_BREAKS = "\r\n|[\r\n\\x00]"


@dataclass(frozen=True, kw_only=True, eq=False)
class Converted:
    """Columns in the form that exploring shows: numbers, and cells that remain text."""

    columns: pa.Table  # of text, integers or floats, null where a value is missing
    unread: NamedRows  # rows that were left out
    notes: tuple[str, ...]  # sentences about changed cells

    @classmethod
    def of(
        cls, table: Table, columns: Sequence[str | int] | None = None, *, leave_out: bool = False
    ) -> Converted:
        """Decode columns of a table that was read for exploring; by default all columns.

        A row is unreadable if its number of fields is unusual, or if a cell in a column of numbers
        is not a number. With ``leave_out``, a few unreadable rows are left out. Otherwise an
        unusual number of fields raises an :class:`UnreadableError`, and a cell that is not a number
        stays text. Raises InputError if a column is unknown or too many rows are unreadable.
        """
        wanted = table.columns if columns is None else columns
        axes = list(dict.fromkeys(position_of(one, table.columns, table.name) for one in wanted))
        if table.ragged.rows and not leave_out:
            row, _, cell = table.ragged.first[0]
            raise UnreadableError(f"row {row} has {cell}: correct the row.", table.ragged)
        names = [table.columns[axis] for axis in axes]
        across = _across(table)
        found = [_decoded(table, axis, turn=axis == across) for axis in axes]
        wrong = np.stack([one for _, one, _ in found], axis=1)
        made = pa.table([cells for cells, _, _ in found], names=names)
        unread, notes = table.ragged, []
        if breaks := {name: many for name, (_, _, many) in zip(names, found, strict=True) if many}:
            notes.append(
                f"Line breaks in {counted(sum(breaks.values()), 'cell')} of {listed(breaks)} are "
                "written as spaces, because a release reads each line separately."
            )
        if leave_out:
            keep = ~wrong.any(axis=1)
            places = np.flatnonzero(~keep)
            first = [(place, int(wrong[place].argmax())) for place in places[:NAMED].tolist()]
            cells = [(at, names[c], shown(made.column(c)[at].as_py())) for at, c in first]
            unread |= named_rows(table.cells, len(places), cells)
            if unread.rows > FEW * np.count_nonzero(keep):
                raise InputError(
                    f"{shown(table.name)} has {counted(unread.rows, 'row')} of "
                    f"{table.rows + table.ragged.rows:,} that can't be read, too many to leave "
                    "out: choose other columns."
                )
            made = made.filter(pa.array(keep))
        else:
            for name, many in zip(names, wrong.sum(axis=0).tolist(), strict=True):
                if many:
                    are, numbers = ("is", "a number") if many == 1 else ("are", "numbers")
                    notes.append(
                        f'{counted(many, "cell")} of "{shown(name)}" {are} not {numbers}: the '
                        "text is kept, but a release reads such cells as missing."
                    )
        return cls(columns=made, unread=unread, notes=tuple(notes))

    def write_csv(self, file: BinaryIO) -> None:
        """Write UTF-8 with commas and decimal points; a missing value is an empty field."""
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        names = self.columns.column_names
        # Names are quoted, because a separator inside quotes has no effect.
        quoted = bool(set("".join(names)) & set(',;\t|"'))
        csv.writer(
            text, lineterminator="\n", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
        ).writerow(names)
        rows = csv.writer(text, lineterminator="\n")
        for batch in self.columns.to_batches(max_chunksize=2**16):
            cells = [one.cast(pa.large_string()).to_pylist() for one in batch.columns]
            rows.writerows(zip(*cells, strict=True))
        text.flush()
        text.detach()

    def write_parquet(self, file: BinaryIO) -> None:
        """Write numbers as integers or floats. Other cells stay text."""
        columns = [_typed(one) for one in self.columns.columns]
        pa.parquet.write_table(pa.table(columns, names=self.columns.column_names), file)


def _decoded(table: Table, axis: int, *, turn: bool) -> tuple[pa.ChunkedArray, Mask, int]:
    cells, style = table.cells, table.cells.style_of(axis)
    is_mixed = cells.kind(axis) in ("text", "unclear")
    is_text = is_mixed and table.columns[axis] not in table.nearly_numeric
    # Whole numbers from a program keep all digits.
    typed = is_text or any(holds_numbers(one.type) for one in next(cells.blocks([axis]), []))
    texts, wrong, breaks = [], [], 0
    for one in cells.written(axis) if typed else chain.from_iterable(cells.blocks([axis])):
        one = whole(one)
        nothing = np.zeros(len(one), dtype=bool)
        found, others = (text_cells(one), nothing) if is_text else _numbers(one, style)
        found = _turned(found, style) if turn else found
        if pa.types.is_large_string(found.type):
            breaks += pc.sum(pc.match_substring_regex(found, _BREAKS)).as_py() or 0
            found = pc.replace_substring_regex(found, _BREAKS, " ")
        texts.append(found)
        wrong.append(others)
    if len({one.type for one in texts}) != 1:
        texts = [one.cast(pa.large_string()) for one in texts]
    made = pa.chunked_array(texts, None if texts else pa.large_string())
    return made, np.concatenate(wrong), breaks


def as_csv(table: Table | Dataset, most: int = MAX_BYTES) -> bytes:
    """CSV file of a table, or of a grid with one or two axes; InputError above ``most`` bytes."""
    stream = io.BytesIO()
    if isinstance(table, Table):
        Converted.of(replace(table, ragged=NO_ROWS)).write_csv(stream)
        if stream.tell() > most:
            raise InputError(
                f"{shown(table.name)} would have more than {megabytes(most)} as CSV: give fewer "
                "rows or columns."
            )
        return stream.getvalue()
    counts = table.counts
    if counts is None or counts.ndim > 2:
        raise InputError(
            f"{shown(table.name)} has {table.ndim} axes, and a CSV file has two: save it as .npy."
        )
    np.savetxt(stream, counts, fmt="%d", delimiter=",")
    return stream.getvalue()


def _across(table: Table) -> int | None:
    """Position of the longitudes if exploring adds 360 degrees to some of them; otherwise None."""
    names = table.numeric_columns
    axes = [table.columns.index(names[at]) for at in degrees_of(names)]
    if not axes:
        return None
    points = np.concatenate(list(table.numbers(axes)))
    points = points[np.isfinite(points).all(axis=1)]
    return None if over_180(points, [table.columns[axis] for axis in axes]) is None else axes[0]


def _turned(texts: pa.Array, style: Style) -> pa.Array:
    values = as_numbers(texts, "point" if style != "either" else style)[0]
    found = pa.array(turned(values)).cast(pa.large_string())
    return pc.if_else(pa.array(values < 0), found, texts.cast(pa.large_string()))


def _numbers(cells: pa.Array, style: Style) -> tuple[pa.Array, Mask]:
    """Numbers, or text that each reader interprets as the same number; and mask of other cells."""
    values, wrong = as_numbers(cells, style)
    if pa.types.is_integer(cells.type):
        return cells, wrong
    made = pa.array(values, mask=np.isnan(values))
    if holds_numbers(cells.type):
        if not (np.abs(values) >= MAX_EXACT).any():
            return made, wrong
        # Write the number with an exponent, because its digits could identify a person.
        spelled = [float_text(one) if one == one else None for one in values.tolist()]
        return pa.array(spelled, pa.large_string()), wrong
    # Long identifiers keep all digits.
    texts = text_cells(cells)
    pattern = _PLAIN if style in ("point", "comma", "either") else _WHOLE
    same = pc.match_substring_regex(texts, pattern).fill_null(False)
    kept = pc.or_(same, pa.array(wrong))
    return pc.if_else(kept, texts, made.cast(pa.large_string())), wrong


def _typed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert text to numbers if all cells are numbers and the conversion changes no value."""
    if not pa.types.is_large_string(column.type) or column.null_count == len(column):
        return column

    def matches(pattern: str, some: bool = False) -> bool:
        found = pc.match_substring_regex(column, pattern)
        return bool((pc.any if some else pc.all)(found).as_py())

    if matches(_SHORT):
        return column.cast(pa.int64())
    if matches(_PLAIN) and not matches(_LONG, some=True):
        return column.cast(pa.float64())
    return column


def free_name(name: str, taken: Collection[str] = ()) -> str:
    """Name for the CSV copy of a file, such as ``survey-read.csv``, that is not in ``taken``."""
    stem = name
    for ending in (*PACKINGS, *FORMATS):
        if stem.lower().endswith(ending):
            stem = stem[: -len(ending)]
    names = (f"{stem}-read{more}.csv" for more in ("", *(f"-{at}" for at in range(2, 10**6))))
    return next(one for one in names if one not in taken)

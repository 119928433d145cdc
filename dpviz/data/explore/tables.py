"""Convert rows of fields to a table: find column names, places, and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpviz.base.errors import InputError, listed, shown
from dpviz.data.explore.cells import ArrowCells
from dpviz.data.explore.heading import Heading, headed
from dpviz.data.explore.places import with_places
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.geographic import LAT_WORDS, LON_WORDS, words_of
from dpviz.data.reading.cells import GROUPS, as_numbers, check_width
from dpviz.data.reading.kinds import holds_text, plain, readable
from dpviz.data.reading.table import Table, doubtful, named_table


def table_of(
    rows: Rows, name: str, options: Options, memory: int | None = None, *, exact: bool = False
) -> Table:
    """Convert rows to a table, with ``exact`` unchanged; InputError without rows or columns."""
    check_width(len(rows.columns), name)
    if exact:
        names = rows.names or [""] * len(rows.columns)
        heading = Heading(names=names, above=0, given=rows.names is not None)
    else:
        rows, heading = headed(rows, options)
    if not rows.rows:
        raise InputError(
            f"{shown(name)} holds only a header: add at least one row of numbers below it."
            if heading.given
            else f"{shown(name)} has no row: give a table with one row of numbers per record."
        )
    # A separator at the end of each line makes a column without a name and values.
    kept = [
        (column, title)
        for column, title in zip(rows.columns, heading.names, strict=True)
        if title.strip() or not _is_empty(column)
    ]
    columns, names = [column for column, _ in kept], [title for _, title in kept]
    said: tuple[str, ...] = ()
    if not exact:
        columns, names, said = with_places(columns, names)
        said = (*said, *_in_whole_degrees(columns, names))
    flat = [axis for axis, column in enumerate(columns) if readable(column.type)]
    rows = replace(rows, columns=[columns[axis] for axis in flat])
    cells = ArrowCells(rows, [names[axis] for axis in flat], options.missing, tidy=not exact)
    table = named_table(
        name,
        names,
        cells,
        flat=flat,
        memory=memory,
        doubtful=doubtful(names) if heading.given and options.header is None else (),
        ragged=rows.ragged,
    )
    found = (*rows.notes, *heading.notes, *said, *_styles(table))
    return replace(table, notes=(*found, *table.notes), guessed=bool(found))


def _in_whole_degrees(columns: list[pa.ChunkedArray], names: Sequence[str]) -> Iterator[str]:
    """Convert integers of phones in units of 1e-7 degrees, such as latitudeE7, to degrees."""
    found = []
    for axis, name in enumerate(names):
        words = words_of(name)
        if words[-2:] == ("e", "7") and {*words} & (LON_WORDS | LAT_WORDS):
            values = [as_numbers(plain(one))[0] / 1e7 for one in columns[axis].chunks]
            if np.nanmax(np.abs(np.concatenate([[0], *values]))) <= 360:
                columns[axis] = pa.chunked_array(values)
                found.append(name)
    if found:
        yield f"Ten millionths of a degree are converted to degrees in {listed(found)}."


def _is_empty(column: pa.ChunkedArray) -> bool:
    if not holds_text(column.type):
        return bool(column.null_count == len(column))
    return not pc.any(pc.match_substring_regex(column, r"\S")).as_py()


def _styles(table: Table) -> Iterator[str]:
    for kinds, said in (
        (("comma",), "Decimal commas are read as points (3,14 as 3.14) in {}."),
        (
            GROUPS,
            "Numbers are read without their thousands separators in {}; a release reads each cell "
            "separately, so remove these separators before a release.",
        ),
        (
            ("unclear",),
            "Not read as numbers, since they may have thousands separators or three decimals: {}.",
        ),
    ):
        axes = [axis for axis, kind in sorted(table.cells.kinds.items()) if kind in kinds]
        if axes:
            yield said.format(listed(table.columns[axis] for axis in axes))

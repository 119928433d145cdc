"""Choose the reader of a file for exploring; make tables from rows of fields or columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import Format, format_of
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.explore.archive import member, members
from dpviz.data.explore.cells import ArrowCells
from dpviz.data.explore.heading import Heading, headed
from dpviz.data.explore.objects import read_objects
from dpviz.data.explore.places import may_be_places, with_places
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.sheets import read_sheet, sheet_names
from dpviz.data.explore.text import read_text
from dpviz.data.geographic import LAT_WORDS, LON_WORDS, words_of
from dpviz.data.parquet import ParquetCells
from dpviz.data.reading.arrays import arrow_cells, check_real, read_array, read_npy
from dpviz.data.reading.cells import GROUPS, as_numbers, check_width, text_cells
from dpviz.data.reading.files import File, load, refusing
from dpviz.data.reading.kinds import holds_text, plain, readable
from dpviz.data.reading.table import Table, doubtful, named_table


def table_of(
    rows: Rows, name: str, options: Options, memory: int | None = None, *, exact: bool = False
) -> Table:
    """Convert rows to a table (unchanged if ``exact``); InputError without rows or columns."""
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


#: Number of cells, and of characters per cell, that decide whether a column contains places.
_LOOKED_AT, _LONG = 100, 200


def read_parquet(file: File, options: Options) -> Table:
    """Read a Parquet file to a table; a column of points becomes two columns of numbers."""
    cells = ParquetCells(file.data, file.name)
    may_be = [axis for axis, one in enumerate(cells.schema) if may_be_places(one.type)]
    first = next(cells.stored(may_be), []) if may_be and cells.rows else []
    places = {axis for axis, one in zip(may_be, first, strict=False) if _holds_places(one)}
    if places:
        every = sorted({*cells.flat, *places})
        batches = list(cells.stored(every))
        columns = []
        for at, axis in enumerate(every):
            column = pa.chunked_array([batch[at] for batch in batches])
            texts = axis in places and pa.types.is_dictionary(column.type)
            columns.append(column.cast(pa.large_string()) if texts else column)
        return of_columns(columns, [cells.names[axis] for axis in every], file, options)
    _check_flat(cells.schema, file.name)
    return named_table(file.name, cells.names, cells, flat=cells.flat, memory=file.memory)


def read_feather(file: File, options: Options) -> Table:
    """Read a Feather or Arrow file to a table."""
    said = f"{shown(file.name)} is not a whole Feather file, perhaps cut off: transfer or write it "
    with refusing(f"{said}again.", pa.ArrowException, ValueError, OSError, TypeError):
        table = pa.feather.read_table(pa.BufferReader(file.data), memory_map=False)
        table.validate(full=True)
    return read_arrow(table, file.name, options, memory=file.memory)


def read_arrow(
    table: pa.Table, name: str, options: Options | None = None, memory: int | None = None
) -> Table:
    """Convert the columns of an Arrow table, except nested columns, to a table."""
    _check_flat(table.schema, name)
    return of_columns(
        table.columns, table.column_names, File(name, "feather", b"", memory), options
    )


def of_columns(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str], file: File, options: Options | None
) -> Table:
    """Convert columns in memory to a table."""
    found, titles, notes = with_places(columns, names)
    rows = Rows(columns=found, names=titles, notes=notes, written=True)
    return table_of(rows, file.name, options or Options(), file.memory, exact=True)


def _holds_places(column: pa.Array) -> bool:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    few = column.slice(0, _LOOKED_AT)
    if holds_text(column.type):
        short = [cell and cell[:_LONG] for cell in text_cells(few).to_pylist()]
        few = pa.array(short, pa.large_string())
    return bool(with_places([pa.chunked_array([few])], [""])[2])


def _check_flat(schema: pa.Schema, name: str) -> None:
    flat = [one.name for one in schema if readable(one.type)]
    lists = [one.name for one in schema if pa.types.is_nested(one.type)]
    numbers = [one for one in schema if readable(one.type) and not holds_text(one.type)]
    if lists and len(numbers) < 2:
        raise InputError(
            f"column {listed(lists)} of {shown(name)} holds lists: write each of their values into "
            f"a new column{f', next to {listed(flat)}' if flat else ''}."
        )


def tables_within(file: File) -> tuple[str, ...]:
    """Names of the two-axis arrays in a .npz file, if the user must choose between several."""
    found = []
    for one in _array_names(file):
        with suppress(InputError):  # reading the array later shows its error
            found += [one] * (_array(file, one).ndim == 2)
    return tuple(found) if len(found) > 1 else ()


def read_npz(file: File, options: Options) -> Table:
    """Read an array of a .npz file, or several arrays (n,) of equal length; or InputError."""
    names = _array_names(file)
    if options.part is not None and options.part not in names:
        raise InputError(
            f'{shown(file.name)} has no array "{shown(options.part)}": choose from {listed(names)}.'
        )
    arrays = {one: _array(file, one) for one in names if options.part in (None, one)}
    tables = [one for one, array in arrays.items() if array.ndim == 2]
    columns = {one: array for one, array in arrays.items() if array.ndim == 1}
    if len(tables) == 1 or len(arrays) == 1 != len(columns):
        table = read_array(arrays[(*tables, *arrays)[0]], file.name, file.memory)
        said = (f'The array "{shown(tables[0])}" is read.',) if len(names) > 1 else ()
        return replace(table, notes=(*table.notes, *said))
    if not tables and columns and len({*map(len, columns.values())}) == 1:
        for one, array in columns.items():
            if array.dtype.names or array.dtype.kind == "O":
                return read_array(array, file.name, file.memory)
            if array.dtype.kind == "c" or array.dtype in ("M8", "m8"):  # times without a unit
                check_real(array, f"{file.name}, {one}")
        made = [pa.chunked_array([arrow_cells(one)]) for one in columns.values()]
        return of_columns(made, list(columns), file, options)
    raise InputError(
        f"{shown(file.name)} has several arrays, {listed(names)}: choose one (--array on the "
        "command line)."
        if names
        else f"{shown(file.name)} has no array: write one with numpy.savez."
    )


def _array_names(file: File) -> list[str]:
    names = members(file.data, file.name)
    return [one.removesuffix(".npy") for one in names if one.endswith(".npy")]


def _array(file: File, name: str) -> NDArray[Any]:
    data = member(file.data, file.name, f"{name}.npy", (file.memory or 2**31) // 2)
    return read_npy(File(f"{file.name}, {name}", "npy", data, file.memory))


def _layers() -> Any:
    from dpviz.data.explore import layers  # loads large libraries

    return layers


#: Readers of all formats except archives, and functions that list the parts of a file.
_READERS: dict[Format, Callable[[File, Options], Rows | Table]] = {
    "text": read_text, "json": read_objects, "sheet": read_sheet, "parquet": read_parquet,
    "feather": read_feather, "npz": read_npz,
    "layer": lambda file, options: _layers().read_layer(file, options),
    "npy": lambda file, _: read_array(read_npy(file), file.name, file.memory),
}  # fmt: skip
_PARTS: dict[Format, Callable[[File], tuple[str, ...]]] = {
    "sheet": sheet_names, "layer": lambda file: _layers().layer_names(file), "npz": tables_within,
}  # fmt: skip


def read_file(file: File, options: Options, *, exact: bool = False) -> Table:
    """Read a file to a table; with ``exact``, all rows and cells stay unchanged."""
    file, options = _opened(file, options)
    if file.format not in _PARTS and options.part is not None:
        raise InputError(
            f'part = "{shown(options.part)}": {shown(file.name)} holds a single table: leave the '
            "part out."
        )
    found = _READERS[file.format](file, options)
    if isinstance(found, Table):
        return found
    return table_of(found, file.name, options, file.memory, exact=exact)


def parts_of(file: File) -> tuple[str, ...]:
    """Names of sheets, layers, arrays or archive members to choose from; () for a single table."""
    file, tables = _seen(file)
    return _PARTS[file.format](file) if file.format in _PARTS else tables


def _opened(file: File, options: Options) -> tuple[File, Options]:
    file, tables = _seen(file)
    if file.format != "zip":
        return file, options
    if options.part is None and len(tables) != 1:
        raise InputError(
            f"{shown(file.name)} is an archive of several files, {listed(tables, 400)}: choose one "
            "(--part on the command line)."
            if tables
            else f"{shown(file.name)} is an archive without a table: it holds "
            f"{listed(members(file.data, file.name))}."
        )
    which = options.part or tables[0]
    inner = load(member(file.data, file.name, which), which.rpartition("/")[2], 2**40)
    return replace(inner, name=file.name, memory=file.memory), replace(options, part=None)


def _seen(file: File) -> tuple[File, tuple[str, ...]]:
    """The file with its real format, because some formats use zip; and the tables in an archive."""
    if file.format != "zip":
        return file, ()
    names = members(file.data, file.name)
    low = [name.lower() for name in names]
    if {"xl/workbook.xml", "xl/workbook.bin", "content.xml"} & {*low}:
        return replace(file, format="sheet"), ()
    if any(name.endswith((".shp", ".kml", ".tab", ".mif")) for name in low):
        return replace(file, format="layer"), ()
    if low and all(name.endswith(".npy") for name in low):
        return replace(file, format="npz"), ()
    names = tuple(
        name for name in names
        if not name.rpartition("/")[2].startswith(".") and not name.startswith("__MACOSX/")
    )  # fmt: skip
    tables = tuple(
        name for name in names
        if format_of(name) and not name.lower().startswith(("readme", "license"))
    )  # fmt: skip
    return file, tables or (names if len(names) == 1 else ())

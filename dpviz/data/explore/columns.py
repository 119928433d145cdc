"""Columns of programs: Parquet, Feather, NumPy's files, Arrow tables, data frames and arrays."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
from numpy.typing import NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.data.explore.places import is_degrees, points_of, with_places
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.tables import table_of
from dpviz.data.parquet import ParquetCells
from dpviz.data.reading.arrays import read_array, read_npy
from dpviz.data.reading.cells import text_cells
from dpviz.data.reading.files import File, too_large
from dpviz.data.reading.kinds import holds_text, readable
from dpviz.data.reading.table import Table, named_table

#: First cells that tell whether a column holds places, and characters of each.
_LOOKED_AT, _LONG = 100, 200

#: First bytes of a well-known-binary point, in both byte orders.
_WKB = (b"\x01\x01\x00\x00", b"\x01\xe9\x03\x00", b"\x01\x01\x00\x00\x20", b"\x00\x00\x00\x00\x01")

#: Longest header of an array.
_HEADER = 10_000


def read_parquet(file: File, options: Options) -> Table:
    """Make a table of the columns of a Parquet file; points in geometry columns become two."""
    cells = ParquetCells(file.data, file.name)
    may_be = [axis for axis, one in enumerate(cells.schema) if _may_be_places(one.type)]
    first = next(cells.batches(may_be), []) if may_be and cells.rows else []
    places = {axis for axis, one in zip(may_be, first, strict=False) if _holds_places(one)}
    if places:
        every = sorted({*cells.flat, *places})
        batches = list(cells.batches(every))
        columns = []
        for at, axis in enumerate(every):
            column = pa.chunked_array([batch[at] for batch in batches])
            texts = axis in places and pa.types.is_dictionary(column.type)
            columns.append(column.cast(pa.large_string()) if texts else column)
        return of_columns(columns, [cells.names[axis] for axis in every], file, options)
    _check_flat(cells.schema, file.name)
    return named_table(file.name, cells.names, cells, flat=cells.flat, memory=file.memory)


def read_feather(file: File, options: Options) -> Table:
    """Make a table of a Feather or Arrow file."""
    try:
        table = pa.feather.read_table(pa.BufferReader(file.data), memory_map=False)
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError, TypeError):
        raise InputError(
            f"{shown(file.name)} is no whole Feather file, perhaps cut off: transfer or write it "
            "again."
        ) from None
    return read_arrow(table, file.name, options, memory=file.memory)


def read_arrow(
    table: pa.Table, name: str, options: Options | None = None, memory: int | None = None
) -> Table:
    """Make a table of the columns of an Arrow table that are not nested."""
    _check_flat(table.schema, name)
    return of_columns(
        table.columns, table.column_names, File(name, "feather", b"", memory), options
    )


def of_columns(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str], file: File, options: Options | None
) -> Table:
    """Make a table of columns in memory."""
    found: list[pa.ChunkedArray] = []
    titles: list[str] = []
    notes: list[str] = []
    for column, name in zip(columns, names, strict=True):
        points = _points(column)
        if points is None:
            found.append(column)
            titles.append(name)
            continue
        two = ["lon", "lat"] if is_degrees(points[np.isfinite(points).all(axis=1)]) else ["x", "y"]
        found += [pa.chunked_array([np.ascontiguousarray(points[:, axis])]) for axis in (0, 1)]
        titles += two
        notes.append(f'Points of "{shown(name)}" are read as {" and ".join(two)}.')
    found, titles, said = with_places(found, titles)
    rows = Rows(columns=found, names=titles, notes=(*notes, *said), written=True)
    return table_of(rows, file.name, options or Options(), file.memory, exact=True)


def _may_be_places(kind: pa.DataType) -> bool:
    """Tell whether a column of this type may hold points, or text that stands for them."""
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or holds_text(kind)
        or (types.is_struct(kind) and {"x", "y"} <= {one.name for one in kind})
    )


def _points(column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Points (n, 2) of a column of geometries; None of other columns."""
    kind = column.type
    if pa.types.is_struct(kind) and {"x", "y"} <= {one.name for one in kind}:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts = [
            np.stack(
                [np.asarray(one.field(axis).fill_null(np.nan), float) for axis in "xy"], axis=1
            )
            for one in chunks
        ]
        return np.concatenate(parts) if parts else None
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return None
    some = list(islice((cell for cell in column.slice(0, 100).to_pylist() if cell), 20))
    if not some or not all(cell.startswith(_WKB) for cell in some):
        return None
    import shapely

    shapes = shapely.from_wkb(column.to_pylist(), on_invalid="ignore")
    return points_of(np.asarray(shapes, dtype=object))


def _holds_places(column: pa.Array) -> bool:
    """Tell whether the first cells of a column are places."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary
    if not holds_text(column.type):
        return _points(column) is not None
    short = [cell and cell[:_LONG] for cell in text_cells(column.slice(0, _LOOKED_AT)).to_pylist()]
    return bool(with_places([pa.chunked_array([pa.array(short, pa.large_string())])], [""])[2])


def _check_flat(schema: pa.Schema, name: str) -> None:
    """Refuse a table whose numbers stand in lists alone."""
    flat = [one.name for one in schema if readable(one.type)]
    lists = [one.name for one in schema if pa.types.is_nested(one.type)]
    numbers = [one for one in schema if readable(one.type) and not holds_text(one.type)]
    if lists and len(numbers) < 2:
        raise InputError(
            f"column {listed(lists)} of {shown(name)} holds lists: write each of their values into "
            f"a column of its own{f', beside {listed(flat)}' if flat else ''}."
        )


# -- arrays ----------------------------------------------------------------------------------


def array_names(data: bytes, name: str) -> tuple[str, ...]:
    """Names of the arrays in a .npz file."""
    with _archive(data, name) as archive:
        return tuple(one.removesuffix(".npy") for one in archive.namelist() if one.endswith(".npy"))


def tables_within(data: bytes, name: str) -> tuple[str, ...]:
    """Names of the arrays to choose from in a .npz file: those of two axes, if several have two."""
    found = []
    with _archive(data, name) as archive:
        for one in array_names(data, name):
            with suppress(Exception):  # a damaged header may raise any; reading the array says so
                with archive.open(f"{one}.npy") as stream:
                    version = np.lib.format.read_magic(stream)
                    read = np.lib.format.read_array_header_1_0
                    if version != (1, 0):
                        read = np.lib.format.read_array_header_2_0
                    shape, _, _ = read(stream, max_header_size=_HEADER)
                if len(shape) == 2:
                    found.append(one)
    return tuple(found) if len(found) > 1 else ()


def read_npz(file: File, options: Options) -> Table:
    """Make a table of an array of a .npz file, or of several of one axis and the same length.

    Raises
    ------
    InputError
        If several arrays may be meant.
    """
    names = array_names(file.data, file.name)
    if options.part is not None and options.part not in names:
        raise InputError(
            f'{shown(file.name)} has no array "{shown(options.part)}": choose from {listed(names)}.'
        )
    wanted = names if options.part is None else (options.part,)
    arrays = {one: _array(file, one) for one in wanted}
    tables = {one: array for one, array in arrays.items() if array.ndim == 2}
    columns = {one: array for one, array in arrays.items() if array.ndim == 1}
    if len(tables) == 1:
        ((name, array),) = tables.items()
        table = read_array(array, file.name, file.memory)
        said = f'The array "{shown(name)}" is read.' if len(names) > 1 else ""
        return _with_note(table, said)
    if not tables and columns and len({len(one) for one in columns.values()}) == 1:
        if any(array.dtype.kind in "OV" for array in columns.values()):
            return read_array(next(iter(columns.values())), file.name, file.memory)
        made = [pa.chunked_array([pa.array(np.asarray(one))]) for one in columns.values()]
        return of_columns(made, list(columns), file, options)
    raise InputError(
        f"{shown(file.name)} has several arrays, {listed(names)}: choose one (--array on the "
        "command line)."
        if names
        else f"{shown(file.name)} has no array: write one with numpy.savez."
    )


def _with_note(table: Table, said: str) -> Table:
    from dataclasses import replace

    return replace(table, notes=(*table.notes, said)) if said else table


def _archive(data: bytes, name: str) -> zipfile.ZipFile:
    """Archive of arrays."""
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError):
        raise InputError(
            f"{shown(name)} is no whole .npz file, perhaps cut off: transfer or save it again."
        ) from None


def _array(file: File, name: str) -> NDArray[Any]:
    """One array, unpacked within the memory for a file of its size."""
    limit = (file.memory or 2**31) // 2
    with _archive(file.data, file.name) as archive:
        try:
            with archive.open(f"{name}.npy") as stream:
                data = stream.read(limit + 1)
        except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, NotImplementedError, KeyError):
            raise InputError(
                f"{shown(file.name)} is no whole .npz file, perhaps cut off: transfer or save it "
                "again."
            ) from None
    if len(data) > limit:
        raise too_large(file.name, limit)
    return read_npy(File(f"{file.name}, {name}", "npy", data, file.memory))

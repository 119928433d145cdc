"""Choose the reader for a file, for exploring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import Format, format_of
from dpviz.data.explore.archive import member, members
from dpviz.data.explore.objects import read_objects
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.sheets import read_sheet, sheet_names
from dpviz.data.explore.tables import read_feather, read_npz, read_parquet, table_of, tables_within
from dpviz.data.explore.text import read_text
from dpviz.data.reading.arrays import read_array, read_npy
from dpviz.data.reading.files import File, load
from dpviz.data.reading.table import Table


def _read_layer(file: File, options: Options) -> Rows:
    from dpviz.data.explore.layers import read_layer  # loads large libraries

    return read_layer(file, options)


def _layer_names(file: File) -> tuple[str, ...]:
    from dpviz.data.explore.layers import layer_names

    return layer_names(file)


#: Readers of all formats except archives, and functions that list the parts of a file.
_READERS: dict[Format, Callable[[File, Options], Rows | Table]] = {
    "text": read_text, "json": read_objects, "sheet": read_sheet, "layer": _read_layer,
    "parquet": read_parquet, "feather": read_feather, "npz": read_npz,
    "npy": lambda file, _: read_array(read_npy(file), file.name, file.memory),
}  # fmt: skip
_PARTS: dict[Format, Callable[[File], tuple[str, ...]]] = {
    "sheet": sheet_names, "layer": _layer_names, "npz": tables_within,
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
    """The chosen file of an archive, and options for it; any other file is returned unchanged."""
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

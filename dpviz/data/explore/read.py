"""Which reader a file for exploring goes to."""

from __future__ import annotations

from dataclasses import replace

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import format_of
from dpviz.data.explore.archive import member, members
from dpviz.data.explore.columns import read_feather, read_npz, read_parquet, tables_within
from dpviz.data.explore.objects import read_objects
from dpviz.data.explore.rows import Options
from dpviz.data.explore.sheets import read_sheet, sheet_names
from dpviz.data.explore.tables import table_of
from dpviz.data.explore.text import read_text
from dpviz.data.reading.arrays import read_array, read_npy
from dpviz.data.reading.files import File, load
from dpviz.data.reading.table import Table


def read_file(file: File, options: Options, *, exact: bool = False) -> Table:
    """Make a table of a file; an ``exact`` one keeps all rows and cells as they are."""
    file, options = _opened(file, options)
    form, data, name = file.format, file.data, file.name
    if form not in ("sheet", "layer", "npz") and options.part is not None:
        raise InputError(
            f'part = "{shown(options.part)}": {shown(name)} holds a single table, so leave it out.'
        )
    if form == "parquet":
        return read_parquet(file, options)
    if form == "feather":
        return read_feather(file, options)
    if form == "npz":
        return read_npz(file, options)
    if form == "npy":
        return read_array(read_npy(file), name, file.memory)
    if form == "layer":
        from dpviz.data.explore.layers import read_layer  # its libraries are large

        rows = read_layer(data, name, options)
    else:
        read = read_sheet if form == "sheet" else read_objects if form == "json" else read_text
        rows = read(data, name, options)
    return table_of(rows, name, options, file.memory, exact=exact)


def parts_of(file: File) -> tuple[str, ...]:
    """Names of the sheets, layers, arrays or files to choose from; none of a single table."""
    file, tables = _seen(file)
    if file.format == "npz":
        return tables_within(file.data, file.name)
    if file.format == "sheet":
        return sheet_names(file.data, file.name)
    if file.format == "layer":
        from dpviz.data.explore.layers import layer_names

        return layer_names(file.data, file.name)
    return tables


def _opened(file: File, options: Options) -> tuple[File, Options]:
    """The file inside of an archive, and what is said about it; any other file as it is."""
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
    """An archive with the format of the program that wrote it; else, the tables packed in it."""
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

"""Which reader a file for exploring goes to."""

from __future__ import annotations

from dataclasses import replace

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.formats import FORMATS, PACKINGS, Format
from dpviz.data.explore.columns import read_feather, read_npz, read_parquet, tables_within
from dpviz.data.explore.rows import Options
from dpviz.data.explore.tables import table_of
from dpviz.data.explore.text import read_text
from dpviz.data.reading.arrays import read_array, read_npy
from dpviz.data.reading.files import File, load
from dpviz.data.reading.table import Table


def read_file(file: File, options: Options, *, exact: bool = False) -> Table:
    """Make a table of a file.

    Parameters
    ----------
    file
        Unpacked bytes.
    options
        What a person says about it.
    exact
        Whether all rows are kept and cells are left as they are, as of a grid of counts.

    Raises
    ------
    InputError
        If it can't be read, holds no row, or several tables of which ``options.part`` names none.
    """
    packed, file = file, opened(file, options)
    if file.data is not packed.data:
        options = replace(options, part=None)  # it named the file in the archive
    if file.format not in _WITH_PARTS and options.part is not None:
        raise InputError(
            f'part = "{shown(options.part)}": {shown(file.name)} holds a single table, so leave it '
            "out."
        )
    if file.format == "parquet":
        return read_parquet(file, options)
    if file.format == "feather":
        return read_feather(file, options)
    if file.format == "npz":
        return read_npz(file, options)
    if file.format == "npy":
        return read_array(read_npy(file), file.name, file.memory)
    if file.format == "sheet":
        from dpviz.data.explore.sheets import read_sheet

        rows = read_sheet(file.data, file.name, options)
    elif file.format == "layer":
        from dpviz.data.explore.layers import read_layer

        rows = read_layer(file.data, file.name, options)
    elif file.format == "json":
        from dpviz.data.explore.objects import read_objects

        rows = read_objects(file.data, file.name, options)
    else:
        rows = read_text(file.data, file.name, options)
    return table_of(rows, file.name, options, file.memory, exact=exact)


#: Formats of files that hold several tables.
_WITH_PARTS: frozenset[Format] = frozenset(("sheet", "layer", "npz", "zip"))


def parts_of(file: File) -> tuple[str, ...]:
    """Names of the sheets, layers, arrays or files to choose from; none of a single table."""
    if file.format == "zip":
        from dpviz.data.explore.archive import members

        found = members(file.data, file.name)
        if (kind := _kind_of_archive(found)) is None:
            return _tables_in(found)
        file = replace(file, format=kind)
    if file.format == "npz":
        return tables_within(file.data, file.name)
    if file.format == "sheet":
        from dpviz.data.explore.sheets import sheet_names

        return sheet_names(file.data, file.name)
    if file.format == "layer":
        from dpviz.data.explore.layers import layer_names

        return layer_names(file.data, file.name)
    return ()


def opened(file: File, options: Options) -> File:
    """The file inside of an archive; any other file as it is."""
    if file.format != "zip":
        return file
    from dpviz.data.explore.archive import member, members

    found = members(file.data, file.name)
    if (kind := _kind_of_archive(found)) is not None:
        return replace(file, format=kind)
    tables = _tables_in(found)
    if options.part in found:
        tables = (str(options.part),)
    if len(tables) != 1 or (options.part is not None and options.part not in tables):
        if not tables:
            raise InputError(
                f"{shown(file.name)} is an archive without a table: it holds {listed(found)}."
            )
        raise InputError(
            f"{shown(file.name)} is an archive of several files, {listed(tables, 400)}: choose one "
            "(--part on the command line)."
        )
    data = member(file.data, file.name, tables[0])
    inner = load(data, tables[0].rpartition("/")[2], 2**40)
    return replace(inner, name=file.name, memory=file.memory)


def _kind_of_archive(names: tuple[str, ...]) -> Format | None:
    """Format of an archive that a program wrote; None where people packed files."""
    low = [name.lower() for name in names]
    if {"xl/workbook.xml", "xl/workbook.bin", "content.xml"} & {*low}:
        return "sheet"
    if any(name.endswith((".shp", ".kml", ".tab", ".mif")) for name in low):
        return "layer"
    return "npz" if low and all(name.endswith(".npy") for name in low) else None


def _tables_in(names: tuple[str, ...]) -> tuple[str, ...]:
    """Files of an archive that hold tables by their names; all, if none does."""
    names = tuple(
        name for name in names
        if not name.rpartition("/")[2].startswith(".") and not name.startswith("__MACOSX/")
    )  # fmt: skip

    def is_table(name: str) -> bool:
        low = name.lower()
        for packing in PACKINGS:
            low = low.removesuffix(packing)
        return low.endswith(tuple(FORMATS)) and not low.startswith(("readme", "license"))

    return tuple(filter(is_table, names)) or (names if len(names) == 1 else ())

"""Read tables, and grids of counts, from files, uploads and objects in memory.

Whatever the bytes, the only error is :class:`~dpviz.errors.InputError`, with one
sentence that names the place and the way out. Parsing is left to pyarrow and NumPy;
pickled content is never loaded.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import BinaryIO, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.data.reading.archive import Archive
from dpviz.data.reading.arrays import read_array, read_npy
from dpviz.data.reading.arrow import read_arrow
from dpviz.data.reading.files import MAX_BYTES, File, enough_memory, load
from dpviz.data.reading.frames import read_frame
from dpviz.data.reading.geojson import geojson_as_text
from dpviz.data.reading.grids import counts_of
from dpviz.data.reading.parquet import read_parquet
from dpviz.data.reading.shapefile import is_shape, shapefile_as_text
from dpviz.data.reading.spreadsheet import WORKBOOK, Workbook, sheet_as_text
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.reading.text import read_lines, read_text
from dpviz.data.source import local_path
from dpviz.domain import Domain
from dpviz.errors import InputError, shown
from dpviz.privacy.origin import origins

Source: TypeAlias = (
    "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | pd.DataFrame "
    "| pa.Table | NDArray[np.generic]"
)


def read_table(
    source: Source,
    *,
    name: str | None = None,
    header: bool | str | None = None,
    max_bytes: int | None = None,
    unreadable: Unreadable = "refuse",
    sheet: str | None = None,
) -> Table:
    """Read named columns; :meth:`Table.select` makes points of them.

    Parameters
    ----------
    source
        Path, bytes, binary file object, pandas DataFrame, pyarrow Table, or NumPy
        array (n, d). Files are of the kinds in :data:`~dpviz.formats.KINDS` (text is
        separated by commas, semicolons, tabs or pipes), each also with ``.gz``; without a
        known ending the content decides. Of GeoJSON and shapefiles, points are read: the
        first two columns are ``lon`` and ``lat``, or ``x`` and ``y`` where the file says
        that its coordinates are projected.
    name
        Name of the data, whose ending also gives the format of bytes without a file name;
        by default the name of the file.
    header
        Whether the first row of a CSV file holds names; by default it does unless
        all of its fields are numbers. With ``unreadable="missing"`` it does by default,
        and text is the first line that the file lacks.
    max_bytes
        Limit to the size of a file, also after unpacking (:data:`MAX_BYTES`).
        Reading takes at most four times the size of a file and 1 GB of memory.
    unreadable
        ``"missing"``, for a release: no content of one record affects whether or how the others
        are read; see Notes. ``"leave out"``: a few records that would stop the reading don't.
        Features that are no points, and formulas without results, are cells without numbers; rows
        of another number of fields are left out.
    sheet
        Name of the sheet of an Excel workbook; needed where several hold data.

    Raises
    ------
    InputError
        Where the source can't be read or holds no row of a table.

    Notes
    -----
    With ``unreadable="missing"`` the first line of a CSV file is public: it gives the names and
    number of the columns, and the separator. Every other line is a row. A line with more or fewer
    fields, or with a quotation mark that is not closed in it, counts as missing; so does a cell
    with bytes that are not UTF-8. A line break inside quotes also ends a row: use Parquet for text
    with line breaks. There may be no row at all. In a workbook the first row that is not empty
    is that line. GeoJSON has no such line: only the coordinates of its features are read, and the
    reference system that a first object with a list of features names.

    Public too, and so a reason to refuse: the kind and size of the file, the types of the columns
    of Parquet and NumPy files and shapefiles, the sheets of workbooks, and whether files that are
    not text, or hold one list of GeoJSON, are whole. Of GeoJSON with a feature on each line, each
    line is read by itself. Rows that would not fit into the
    memory for a file of its size are refused without telling how many there are.
    """
    if isinstance(header, str) and unreadable != "missing":
        raise InputError(
            f'header = "{shown(header)}" goes with unreadable = "missing" alone: leave one of them '
            "out."
        )
    source = local_path(source) if isinstance(source, str) else source
    with enough_memory(name or "the table"):
        if isinstance(source, np.ndarray | pd.DataFrame | pa.Table):
            table = _from_memory(source, name or "data")
        else:
            limit = MAX_BYTES if max_bytes is None else max_bytes
            headerless, released = isinstance(header, str), unreadable == "missing"
            file = load(source, name, limit, headerless=headerless, released=released)
            table = _from_file(file, header, unreadable, sheet)
            table = replace(table, origins=origins(source))
    if not table.rows and unreadable != "missing":
        raise InputError(
            f"{shown(table.name)} has no row: give a table with one row of numbers per record."
        )
    return table


def read_counts(
    source: Source,
    *,
    name: str | None = None,
    domain: Domain | None = None,
    max_bytes: int | None = None,
    any_total: bool = False,
    sheet: str | None = None,
) -> Dataset:
    """Read a ready grid of counts: how many records lie in every cell.

    Parameters
    ----------
    source
        As in :func:`read_table`: an array of one or more axes, or a table without
        header whose rows run along the first axis (the only one, if it has one column).
    name
        What to call the data, by default the name of the file.
    domain
        Box that the grid covers; by default ``(0, side)`` on every axis.
    max_bytes
        Limit to the size of a file (:data:`MAX_BYTES`).
    any_total
        For a release, which must not reveal one record: all counts may be 0, and large ones
        are clipped to 2**53 / cells, so that their total stays exact. Each cell is read by itself,
        and is 0 where it holds no count.
    sheet
        As in :func:`read_table`.

    Returns
    -------
    Dataset
        With ``counts`` as int64.

    Raises
    ------
    InputError
        Where the source can't be read, a cell is no whole number of at least 0, an
        axis has fewer than 2 cells, there are more than ``MAX_CELLS`` cells, the
        total is 0 or not below 2**53 (unless any will do), or the domain has another
        dimension.
    """
    source = local_path(source) if isinstance(source, str) else source
    with enough_memory(name or "the grid"):
        read = origins(source)
        if not isinstance(source, np.ndarray | pd.DataFrame | pa.Table):
            file = load(source, name, MAX_BYTES if max_bytes is None else max_bytes)
            name = file.name
            cells = _cells(file, sheet, any_total=any_total)
        else:
            cells = source if isinstance(source, np.ndarray) else read_table(source, name=name)
        name = name or "data"
        counts = counts_of(cells, name, any_total=any_total)
    sides = tuple((0.0, float(side)) for side in counts.shape)
    if domain is not None:
        domain.check_ndim(counts.ndim, "dimension", shown(name))
    return Dataset(name=name, counts=counts, domain=domain or Domain(sides), origins=read)


def _cells(file: File, sheet: str | None, *, any_total: bool) -> NDArray[np.generic] | Table | File:
    """Cells of a grid of counts; of a release of text the text itself."""
    if file.format == "npy":
        return read_npy(file)
    if not any_total or file.format not in ("text", "zip"):
        return _from_file(file, False, "refuse", sheet)
    archive = Archive(file) if file.format == "zip" else None
    if archive is not None and WORKBOOK in archive.names:
        return sheet_as_text(file, archive, sheet, False, released=True)
    if sheet is not None:
        raise _no_sheets(sheet, file.name)
    return file if archive is None else _of_archive(file, archive, released=True)


def _no_sheets(sheet: str, name: str) -> InputError:
    return InputError(
        f'sheet = "{shown(sheet)}" goes with Excel files alone, and {shown(name)} is none: leave '
        "it out."
    )


def _from_memory(source: NDArray[np.generic] | pd.DataFrame | pa.Table, name: str) -> Table:
    """Make a table of an object."""
    if isinstance(source, np.ndarray):
        return read_array(source, name)
    return (
        read_frame(source, name) if isinstance(source, pd.DataFrame) else read_arrow(source, name)
    )


def sheets_of(
    source: Source,
    *,
    name: str | None = None,
    max_bytes: int | None = None,
    unreadable: Unreadable = "refuse",
) -> tuple[str, ...]:
    """Names of the sheets of an Excel workbook to choose from; none for other sources.

    Parameters
    ----------
    source, name, max_bytes
        As in :func:`read_table`.
    unreadable
        With ``"missing"``, for a release, sheets that hold nothing are among them.

    Raises
    ------
    InputError
        Where the source can't be read.
    """
    if isinstance(source, np.ndarray | pd.DataFrame | pa.Table):
        return ()
    source = local_path(source) if isinstance(source, str) else source
    file = load(source, name, MAX_BYTES if max_bytes is None else max_bytes)
    if file.format != "zip":
        return ()
    archive = Archive(file)
    is_book = WORKBOOK in archive.names
    if not is_book:
        return ()
    return tuple(Workbook(archive, file.name).names(empty=unreadable == "missing"))


def _from_file(
    file: File, header: bool | str | None, unreadable: Unreadable, sheet: str | None
) -> Table:
    """Make a table, which may have no row, of a file."""
    released, lenient = unreadable == "missing", unreadable == "leave out"
    archive = Archive(file) if file.format == "zip" else None
    if archive is not None and WORKBOOK in archive.names:
        file = sheet_as_text(file, archive, sheet, header, released, lenient=lenient)
        header = None if isinstance(header, str) else header
    elif sheet is not None:
        raise _no_sheets(sheet, file.name)
    elif archive is not None:
        file, header = _of_archive(file, archive, released), None if released else True
    elif file.format == "geojson":
        file, header = geojson_as_text(file, released, lenient=lenient), None if released else True
    if file.format == "npy":
        return read_array(read_npy(file), file.name, file.memory)
    if file.format == "parquet":
        return read_parquet(file)
    if released:
        return read_lines(file, header)
    return read_text(file, header, skip_ragged=lenient)  # type: ignore[arg-type]


def _of_archive(file: File, archive: Archive, released: bool) -> File:
    """Text of the shapefile in an archive that is no workbook of today."""
    if any(map(is_shape, archive.names)):
        return shapefile_as_text(file, archive, released)
    if "xl/workbook.bin" in archive.names or "content.xml" in archive.names:
        raise InputError(
            f"{shown(file.name)} is a spreadsheet of another kind (.xlsb or .ods): save it as "
            ".xlsx, or the sheet as CSV in UTF-8."
        )
    raise InputError(
        f"{shown(file.name)} is an archive without a shapefile or a workbook: unpack it, and give "
        "the table in it."
    )

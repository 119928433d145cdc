"""Read tables and grids of counts from files, uploads and objects in memory.

Whatever the bytes are, the only possible error is InputError, which names the place in the file and
a remedy. Pickled content is never loaded.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.dataset import Dataset
from dpviz.data.explore.cells import NamedCells
from dpviz.data.explore.read import parts_of, read_arrow, read_file
from dpviz.data.explore.rows import Options
from dpviz.data.reading.arrays import read_array, read_frame, read_npy
from dpviz.data.reading.files import MAX_BYTES, enough_memory, load
from dpviz.data.reading.grids import counts_of
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.source import local_path
from dpviz.data.strict.read import read_cells, read_strictly
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin, content, origins

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
    skip: int | None = None,
    encoding: str | None = None,
    missing: tuple[str, ...] = (),
    part: str | None = None,
    sheet: str | None = None,
) -> Table:
    """Read a table of named columns, which :meth:`Table.select` converts to points.

    Parameters
    ----------
    source
        Path, bytes, binary file object, pandas DataFrame, pyarrow Table, or NumPy array (n, d). The
        kinds of files are in :data:`~dpviz.base.formats.KINDS`; files may be packed. If the ending
        of a name is unknown, the content decides. Points of GeoJSON and other geographic formats
        become two columns: ``lon`` and ``lat``, or ``x`` and ``y`` if they are not degrees.
    name
        Name of the data, by default the file name. The ending of the name also determines the
        format of bytes.
    header
        Whether the first row contains column names. By default, a comparison with the rows below
        decides this. If a file for a release has no header line, a string can replace this line.
    max_bytes
        Largest size of a file, before and after unpacking (:data:`MAX_BYTES`). Reading takes at
        most four times the size of the file plus 1 GB of memory.
    unreadable
        ``"missing"``, for a release: no record affects whether or how other records are read, see
        :mod:`dpviz.data.strict`. The other values are for exploring; then the notes of the table
        describe all guesses.
    skip
        Number of lines to skip above the names; by default all lines above the table.
    encoding
        Encoding of text; by default UTF-8, or a guess if the bytes are not UTF-8.
    missing
        Further cells that mean a missing value, besides the usual cells such as ``"-"`` and
        ``"NA"``.
    part, sheet
        Name of the sheet, layer, array or archive member; required if several of them contain data.

    Raises
    ------
    InputError
        If the source can't be read or contains no table row. For a release, a table without rows is
        allowed.
    """
    released = unreadable == "missing"
    if isinstance(header, str) and not released:
        raise InputError(
            f'header = "{shown(header)}" needs unreadable = "missing": leave the header out.'
        )
    options = Options(
        skip=skip,
        header=None if isinstance(header, str) else header,
        encoding=encoding,
        missing=tuple(missing),
        part=part or sheet,
    )
    source = _local(source)
    with enough_memory(name or "the table"):
        if isinstance(source, np.ndarray | pd.DataFrame | pa.Table):
            table = _from_memory(source, name or "data")
        else:
            headerless = isinstance(header, str)
            file = load(
                source, name, max_bytes or MAX_BYTES, released=released, headerless=headerless
            )
            table = read_strictly(file, header, options) if released else read_file(file, options)
            table = replace(table, origins=_origins(source, file.data, released=released))
    if released:
        return table
    if options.missing:
        table = replace(table, cells=NamedCells(table.cells, options.missing))
    if not table.rows:
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
    part: str | None = None,
    sheet: str | None = None,
) -> Dataset:
    """Read a grid of counts: the number of records in each cell.

    Parameters
    ----------
    source, name, max_bytes, part, sheet
        As in :func:`read_table`: an array with one or more axes, or a table without header. The
        rows of a table are the first axis of the grid, its columns are the second axis. A table
        with one column has only the first axis.
    domain
        Box that the grid covers; by default ``(0, side)`` on each axis. For a release, the domain
        also determines the number of axes of a text file, which is two by default.
    any_total
        For a release, which must not reveal one record: all counts may be 0, and large counts are
        clipped to 2**53 / (number of cells), so that their total remains exact. Each cell is read
        separately, and becomes 0 if it is not a count.

    Returns
    -------
    Dataset
        A data set with ``counts`` as int64.

    Raises
    ------
    InputError
        If the source can't be read, a cell is not a whole number of at least 0, an axis has fewer
        than 2 cells, there are more than ``MAX_CELLS`` cells, the total is 0 or not below 2**53
        (unless ``any_total``), or the domain has a different dimension.
    """
    cells: NDArray[np.generic] | Table
    source = _local(source)
    with enough_memory(name or "the grid"):
        read = origins(source)
        if isinstance(source, np.ndarray | pd.DataFrame | pa.Table):
            cells = (
                source if isinstance(source, np.ndarray) else _from_memory(source, name or "data")
            )
        else:
            file = load(source, name, max_bytes or MAX_BYTES, released=any_total)
            name, read = file.name, _origins(source, file.data, released=any_total)
            options = Options(header=False, skip=None if any_total else 0, part=part or sheet)
            if any_total:
                cells = read_cells(file, options, domain.ndim if domain else 2)
            elif file.format == "npy":
                cells = read_npy(file)
            else:
                cells = read_file(file, options, exact=True)
        name = name or "data"
        counts = counts_of(cells, name, any_total=any_total)
    if domain is not None:
        domain.check_ndim(counts.ndim, "dimension", shown(name))
    box = domain or Domain(tuple((0.0, float(side)) for side in counts.shape))
    return Dataset(name=name, counts=counts, domain=box, origins=read)


def _origins(source: object, data: bytes, *, released: bool) -> tuple[Origin, ...]:
    """Origins of a file or pipe; a release also recognizes its copies by their content."""
    found = origins(source)
    known = released and not isinstance(source, bytes | bytearray | memoryview)
    return (*found, content(data)) if known else found


def parts(
    source: Source, *, name: str | None = None, max_bytes: int | None = None
) -> tuple[str, ...]:
    """Names of sheets, layers, arrays or members to choose from; () if there is no choice."""
    # The parameters and errors are those of :func:`read_table`.
    source = _local(source)
    if isinstance(source, np.ndarray | pd.DataFrame | pa.Table):
        return ()
    return parts_of(load(source, name, max_bytes or MAX_BYTES))


def _local(source: Source) -> Source:
    return local_path(source) if isinstance(source, str) else source


def _from_memory(source: NDArray[np.generic] | pd.DataFrame | pa.Table, name: str) -> Table:
    if isinstance(source, np.ndarray):
        return read_array(source, name)
    read = read_frame if isinstance(source, pd.DataFrame) else read_arrow
    return read(source, name)

"""Read tables, and grids of counts, from files, uploads and objects in memory.

Whatever the bytes, the only error is :class:`~dpviz.base.errors.InputError`, with one
sentence that names the place and the way out. Pickled content is never loaded.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import BinaryIO, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Dataset
from dpviz.data.explore.cells import NamedCells
from dpviz.data.explore.columns import read_arrow
from dpviz.data.explore.read import parts_of, read_file
from dpviz.data.explore.rows import Options
from dpviz.data.reading.arrays import read_array, read_frame, read_npy
from dpviz.data.reading.files import MAX_BYTES, enough_memory, load
from dpviz.data.reading.grids import counts_of
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.source import local_path
from dpviz.data.strict.read import read_cells, read_strictly
from dpviz.grid.domain import Domain
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
    skip: int | None = None,
    encoding: str | None = None,
    missing: tuple[str, ...] = (),
    part: str | None = None,
    sheet: str | None = None,
) -> Table:
    """Read named columns; :meth:`Table.select` makes points of them.

    Parameters
    ----------
    source
        Path, bytes, binary file object, pandas DataFrame, pyarrow Table, or NumPy
        array (n, d). Files are of the kinds in :data:`~dpviz.base.formats.KINDS`, also packed;
        without a known ending the content decides. Points of GeoJSON and of other geographic
        formats become two columns, ``lon`` and ``lat``, or ``x`` and ``y`` where they are no
        degrees.
    name
        Name of the data, by default that of the file. Its ending also gives the format of bytes.
    header
        Whether the first row holds names; by default it does unless its fields are like those
        below. For a release, text is the first line that the file lacks.
    max_bytes
        Limit to the size of a file, also after unpacking (:data:`MAX_BYTES`).
        Reading takes at most four times the size of a file and 1 GB of memory.
    unreadable
        ``"missing"``, for a release: no content of one record affects whether or how the others
        are read, see :mod:`dpviz.data.strict`. Otherwise for exploring: the notes of the table say
        what was taken for what.
    skip
        Lines above the names that are left out; by default those before the table begins.
    encoding
        Of text; by default UTF-8, or what the text looks like.
    missing
        Cells that stand for no value, besides the usual ones, such as ``"-"`` and ``"NA"``.
    part, sheet
        Name of the sheet, layer, array, or file of an archive; needed where several hold data.

    Raises
    ------
    InputError
        Where the source can't be read or holds no row of a table; there may be no row for a
        release.
    """
    released = unreadable == "missing"
    if isinstance(header, str) and not released:
        raise InputError(
            f'header = "{shown(header)}" goes with unreadable = "missing" alone: leave one of them '
            "out."
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
        if isinstance(source, _IN_MEMORY):
            table = _from_memory(source, name or "data")
        else:
            headerless = isinstance(header, str)
            file = load(
                source, name, max_bytes or MAX_BYTES, released=released, headerless=headerless
            )
            table = read_strictly(file, header, options) if released else read_file(file, options)
            table = replace(table, origins=origins(source))
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
    """Read a ready grid of counts: how many records lie in every cell.

    Parameters
    ----------
    source, name, max_bytes, part, sheet
        As in :func:`read_table`: an array of one or more axes, or a table without
        header whose rows run along the first axis (the only one, if it has one column).
    domain
        Box that the grid covers; by default ``(0, side)`` on every axis. For a release it also
        tells how many axes a text has: two without it.
    any_total
        For a release, which must not reveal one record: all counts may be 0, and large ones
        are clipped to 2**53 / cells, so that their total stays exact. Each cell is read by itself,
        and is 0 where it holds no count.

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
    cells: NDArray[np.generic] | Table
    source = _local(source)
    with enough_memory(name or "the grid"):
        read = origins(source)
        if isinstance(source, _IN_MEMORY):
            cells = (
                source if isinstance(source, np.ndarray) else _from_memory(source, name or "data")
            )
        else:
            file = load(source, name, max_bytes or MAX_BYTES, released=any_total)
            name = file.name
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


def parts(
    source: Source, *, name: str | None = None, max_bytes: int | None = None
) -> tuple[str, ...]:
    """Names of the sheets, layers, arrays or files to choose from; none of other sources.

    The parameters are those of :func:`read_table`, and the errors those of a file that can't be
    read.
    """
    source = _local(source)
    if isinstance(source, _IN_MEMORY):
        return ()
    return parts_of(load(source, name, max_bytes or MAX_BYTES))


#: Sources that are no files.
_IN_MEMORY = (np.ndarray, pd.DataFrame, pa.Table)


def _local(source: Source) -> Source:
    """A path in place of an address of a file here; any other source as it is."""
    return local_path(source) if isinstance(source, str) else source


def _from_memory(source: NDArray[np.generic] | pd.DataFrame | pa.Table, name: str) -> Table:
    """Make a table of an object."""
    if isinstance(source, np.ndarray):
        return read_array(source, name)
    read = read_frame if isinstance(source, pd.DataFrame) else read_arrow
    return read(source, name)

"""Read files for a release: text, Parquet and arrays; errors depend only on public facts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import RELEASED
from dpviz.data.explore.rows import Options
from dpviz.data.parquet import ParquetCells
from dpviz.data.reading.arrays import read_array, read_npy
from dpviz.data.reading.files import File
from dpviz.data.reading.table import Table, named_table
from dpviz.data.strict.counts import cells_of_text
from dpviz.data.strict.lines import read_lines


def read_strictly(file: File, header: bool | str | None, options: Options) -> Table:
    """Read a file to a table, which may have no rows."""
    _check(file, options)
    if file.format == "text":
        return read_lines(file, header)
    if file.format == "npy":
        return read_array(read_npy(file), file.name, file.memory)
    cells = ParquetCells(file.data, file.name)
    return named_table(file.name, cells.names, cells, flat=cells.flat, memory=file.memory)


def read_cells(file: File, options: Options, axes: int) -> NDArray[np.generic] | Table:
    """Cells of a grid of counts; a text file has one or two axes."""
    _check(file, options)
    if file.format == "text":
        return cells_of_text(file, axes)
    return read_npy(file) if file.format == "npy" else read_strictly(file, None, options)


def _check(file: File, options: Options) -> None:
    if file.format not in RELEASED:
        raise InputError(
            f"{shown(file.name)} is read only for exploring: a release reads CSV, Parquet and "
            f".npy, so save it in such a format first (dpviz convert {shown(file.name)} FILE.csv)."
        )
    for name in ("skip", "encoding", "missing", "part"):
        if getattr(options, name) not in (None, ()):
            raise InputError(
                f"{name} (--{name} on the command line) is only for exploring: save the "
                f"table as CSV first (dpviz convert {shown(file.name)} FILE.csv --{name} ...)."
            )

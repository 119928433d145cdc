"""NumPy arrays, in memory and in .npy files, which are never unpickled."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.data.reading.cells import BLOCK_ROWS, Cells, check_width
from dpviz.data.reading.files import NPY, File, megabytes
from dpviz.data.reading.frames import frame_cells, written_cells
from dpviz.data.reading.table import Table, named_table

#: Bytes in which the header of a .npy file ends; NumPy refuses longer ones.
_HEADER = 2**17


def read_npy(file: File) -> NDArray[np.generic]:
    """Read an array without ever unpickling; the values are not copied."""
    name, data = shown(file.name), file.data
    if not data.startswith(NPY):
        raise InputError(f"{name} is no .npy file: write one array with numpy.save.")
    stream = io.BytesIO(data[:_HEADER])
    formats = np.lib.format
    try:
        with warnings.catch_warnings():  # about headers of old or damaged files
            warnings.simplefilter("ignore")
            first_version = formats.read_magic(stream)[0] == 1
            # Version 3 differs from 2 only in how field names are encoded.
            read = formats.read_array_header_1_0 if first_version else formats.read_array_header_2_0
            shape, fortran, dtype = read(stream)
    except Exception:  # NumPy evaluates the header as a Python literal: many errors are possible
        raise InputError(
            f"{name} has a damaged .npy header: write it again with numpy.save."
        ) from None
    if dtype.hasobject:
        raise InputError(
            f"{name} holds pickled Python objects, which are never loaded: convert the array to "
            "numbers and save it again."
        )
    # True is a whole number for Python, and a header may announce any number of digits.
    if any(type(side) is not int or not 0 <= side < 2**63 for side in shape):
        raise InputError(
            f"{name} has a .npy header without a usable shape: write it again with numpy.save."
        )
    room = math.prod(max(side, 1) for side in shape) * max(dtype.itemsize, 1)
    if dtype.subdtype or not dtype.itemsize or len(shape) > 32 or room >= 2**63:
        raise InputError(f"{name} has shape {shown(shape)}: give rows and columns of numbers.")
    start, size = stream.tell(), math.prod(shape) * dtype.itemsize
    if start + size > len(data):
        raise InputError(
            f"{name} is cut off, its header announces shape {shown(shape)} but only "
            f"{megabytes(len(data) - start)} of values are there: transfer or save it again."
        )
    if not size:
        return np.empty(shape, dtype)
    values = np.frombuffer(data, dtype, count=math.prod(shape), offset=start)
    return values.reshape(shape, order="F" if fortran else "C")


def read_array(array: NDArray[Any], name: str, memory: int | None = None) -> Table:
    """Make a table of an array (n, d), or of the fields of a structured array (n,)."""
    names = array.dtype.names if array.ndim == 1 else None
    if names:
        columns = [array[field] for field in names]
        flat = [axis for axis, column in enumerate(columns) if _is_column(column)]
    elif array.ndim != 2 or not array.shape[1]:
        raise InputError(
            f"{shown(name)} has shape {shown(array.shape)}: give an array of two axes, one row "
            "per record and one column per value."
        )
    else:
        check_real(array, name)
        check_width(array.shape[1], name)
        columns = list(array.T)
        flat = list(range(len(columns)))
    cells = _ArrayCells([columns[axis] for axis in flat], len(array))
    return named_table(name, names or [""] * len(columns), cells, flat=flat, memory=memory)


def check_real(array: NDArray[np.generic], name: str) -> None:
    """Refuse values that are not real numbers."""
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"{shown(name)} has values of type {shown(array.dtype)}: convert them to whole or "
            "floating-point numbers."
        )


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return real numbers in a type that Arrow and pandas compute with."""
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind != "f":
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
        return array.astype(np.float64, copy=False)


class _ArrayCells(Cells):
    """Columns of an array, or fields of a structured one.

    Parameters
    ----------
    columns
        One array (n,) for each.
    rows
        n.
    """

    def __init__(self, columns: list[NDArray[Any]], rows: int) -> None:
        self._columns, self.rows = columns, rows
        widest = max((column.dtype.itemsize for column in columns), default=1)
        self._step = max(1, min(BLOCK_ROWS, 2**26 // max(widest, len(columns))))

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Successive rows of some columns."""
        for start in range(0, self.rows, self._step):
            yield [_cells(self._columns[axis][start : start + self._step]) for axis in axes]

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Successive cells of a column, floats in their own type."""
        column = self._columns[axis]
        for start in range(0, self.rows, self._step):
            values = column[start : start + self._step]
            if isinstance(values, np.ma.MaskedArray) or values.dtype.kind not in "fO":
                yield _cells(values)
            else:
                own = values.astype(values.dtype.newbyteorder("="), copy=False)
                yield written_cells(pd.Series(own))


def _is_column(values: NDArray[Any]) -> bool:
    """Tell, by its type alone, whether a field of a structured array holds numbers or text."""
    kind = values.dtype.kind
    # No unit: nobody knows what a number of such a date means.
    if values.ndim != 1 or (kind == "M" and np.datetime_data(values.dtype)[0] == "generic"):
        return False
    return kind in "iufbSUMmO"


def _cells(values: NDArray[Any]) -> pa.Array:
    """Values (m,) of an array as Arrow's."""
    kind = values.dtype.kind
    if kind in "iuf":
        return pa.array(native(values))
    if kind == "O":
        return frame_cells(pd.Series(values))
    if kind == "S":
        values = np.strings.decode(values.astype(np.bytes_), "latin-1")
    if kind == "U":
        # A damaged file may hold numbers that are no character, or half of one.
        signs = np.ascontiguousarray(values).view(f"{values.dtype.byteorder}u4")
        odd = (signs > sys.maxunicode) | (signs >> 11 == 0xD800 >> 11)
        values = (
            np.where(odd, 0xFFFD, signs).astype(np.uint32).view(f"U{values.dtype.itemsize // 4}")
        )
    texts = values.astype(str).tolist()
    gone = np.isnat(values) if kind in "Mm" else None
    return pa.array(texts, type=pa.large_string(), mask=gone)

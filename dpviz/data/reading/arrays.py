"""Read NumPy arrays, pandas DataFrames, and .npy files; nothing is ever unpickled."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.cells import BLOCK_ROWS, Cells, cell_text, check_width
from dpviz.data.reading.files import NPY, File, megabytes, refusing
from dpviz.data.reading.kinds import plain
from dpviz.data.reading.table import Table, named_table

#: Bytes that contain the header of a .npy file. NumPy refuses longer headers.
_HEADER = 2**17


def read_npy(file: File) -> NDArray[np.generic]:
    """Read an array without unpickling and without copying its values."""
    name, data = shown(file.name), file.data
    if not data.startswith(NPY):
        raise InputError(f"{name} is not a .npy file: write one array with numpy.save.")
    stream = io.BytesIO(data[:_HEADER])
    formats = np.lib.format
    damaged = f"{name} has a damaged .npy header: write it again with numpy.save."
    # NumPy evaluates the header as a Python literal, which may raise many kinds of errors.
    with refusing(damaged, Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for headers of old or damaged files
        first_version = formats.read_magic(stream)[0] == 1
        # Version 3 differs from version 2 only in the encoding of field names.
        read = formats.read_array_header_1_0 if first_version else formats.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        raise InputError(
            f"{name} holds pickled Python objects, which are never loaded: convert the array to "
            "numbers and save it again."
        )
    # True is an integer in Python, and a header may contain an integer with any number of digits.
    if any(type(side) is not int or not 0 <= side < 2**63 for side in shape):
        raise InputError(
            f"{name} has a .npy header without a usable shape: write it again with numpy.save."
        )
    room = math.prod(max(side, 1) for side in shape) * dtype.itemsize
    if dtype.subdtype or len(shape) > 32 or not 0 < room < 2**63:
        raise InputError(f"{name} has shape {shown(shape)}: give rows and columns of numbers.")
    start, size = stream.tell(), math.prod(shape) * dtype.itemsize
    if start + size > len(data):
        raise InputError(
            f"{name} is cut off, because its header states shape {shown(shape)} but only "
            f"{megabytes(len(data) - start)} of values follow: transfer or save it again."
        )
    if not size:
        return np.empty(shape, dtype)
    values = np.frombuffer(data, dtype, count=math.prod(shape), offset=start)
    return values.reshape(shape, order="F" if fortran else "C")


def read_frame(frame: pd.DataFrame, name: str) -> Table:
    """Convert a pandas DataFrame to a table."""
    check_width(frame.shape[1], name)
    columns = [frame.iloc[:, axis] for axis in range(frame.shape[1])]
    columns = [one.to_numpy() if _is_real(one.dtype) else one.array for one in columns]
    names = [str(column) for column in frame.columns]
    return named_table(name, names, _ColumnCells(columns, len(frame)))


def read_array(array: NDArray[Any], name: str, memory: int | None = None) -> Table:
    """Convert an array (n, d), or the fields of a structured array (n,), to a table."""
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
    cells = _ColumnCells([columns[axis] for axis in flat], len(array))
    return named_table(name, names or [""] * len(columns), cells, flat=flat, memory=memory)


def check_real(array: NDArray[np.generic], name: str) -> None:
    """Raise InputError if values are not real numbers."""
    if array.dtype.kind not in "iuf":
        raise InputError(
            f"{shown(name)} has values of type {shown(array.dtype)}: convert them to whole or "
            "floating-point numbers."
        )


def _is_real(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and kind.kind in "iuf"


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Convert real numbers to a type with which Arrow and pandas can compute."""
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind != "f":
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    with np.errstate(all="ignore"):  # overflow of a wider float gives infinity
        return array.astype(np.float64, copy=False)


class _ColumnCells(Cells):
    def __init__(self, columns: Sequence[Any], rows: int) -> None:
        self._columns, self.rows = columns, rows
        sizes = [getattr(column.dtype, "itemsize", 1) for column in columns]
        self._step = max(1, min(BLOCK_ROWS, 2**26 // max(1, len(columns), *sizes)))

    def _parts(self, axes: Sequence[int]) -> Iterator[list[Any]]:
        for start in range(0, self.rows, self._step):
            yield [self._columns[axis][start : start + self._step] for axis in axes]

    def batches(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        return ([*map(arrow_cells, parts)] for parts in self._parts(axes))

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """The same rows as :meth:`batches`, as numbers of the usual types or as text."""
        for parts in self._parts(axes):
            yield [plain(arrow_cells(native(one) if _is_real(one.dtype) else one)) for one in parts]


def _is_column(values: NDArray[Any]) -> bool:
    kind = values.dtype.kind
    # A date without a unit is a number without a meaning.
    if values.ndim != 1 or (kind == "M" and np.datetime_data(values.dtype)[0] == "generic"):
        return False
    return kind in "iufbSUMmO"


def arrow_cells(values: Any) -> pa.Array:
    """Cells (m,) of an array; numbers keep their type, so that rounding can't make them equal."""
    kind = values.dtype.kind
    if kind == "O" or not isinstance(values, np.ndarray):
        return _of_pandas(pd.Series(values, dtype=values.dtype))  # text stays an object
    if isinstance(values, np.ma.MaskedArray) and kind in "iuf":
        values = native(values)
    if kind in "iuf":
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
        return pa.array(values) if values.dtype.itemsize <= 8 else _texts(pd.Series(values))
    if kind == "S":
        values = np.strings.decode(values.astype(np.bytes_), "latin-1")
    if kind == "U":
        # A damaged file may contain code points that are not characters.
        signs = np.ascontiguousarray(values).view(f"{values.dtype.byteorder}u4")
        odd = (signs > sys.maxunicode) | (signs >> 11 == 0xD800 >> 11)
        values = (
            np.where(odd, 0xFFFD, signs).astype(np.uint32).view(f"U{values.dtype.itemsize // 4}")
        )
    gone = np.isnat(values) if kind in "Mm" else None
    return pa.array(values.astype(str).tolist(), type=pa.large_string(), mask=gone)


def _of_pandas(column: pd.Series) -> pa.Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
        categories = _of_pandas(pd.Series(column.cat.categories))
        return categories.take(pa.array(codes, mask=codes < 0))
    kind = column.dtype.kind
    if kind in "biu":
        known = column.notna().to_numpy()
        values = np.zeros(len(column), dtype={"b": bool, "i": np.int64, "u": np.uint64}[kind])
        values[known] = column[known].to_numpy(dtype=values.dtype)
        return pa.array(values, mask=~known)
    own = getattr(column.dtype, "subtype", column.dtype)  # the type inside sparse columns
    own = getattr(own, "numpy_dtype", own)  # the type inside types of pandas and Arrow
    if isinstance(own, np.dtype) and own.kind == "f":
        return arrow_cells(column.to_numpy(dtype=own, na_value=np.nan))
    if kind in "OU":
        own = getattr(column.dtype, "pyarrow_dtype", None)
        kept = own if own is not None and pa.types.is_decimal(own) else pa.large_string()
        with suppress(pa.ArrowException, TypeError, ValueError):  # fails if a cell has another type
            cells = pa.array(column, type=kept, from_pandas=True)
            return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    return _texts(column)


def _texts(column: pd.Series) -> pa.Array:
    cells = zip(column, column.isna(), strict=True)
    return pa.array([None if gone else cell_text(cell) for cell, gone in cells], pa.large_string())

"""Columns of a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from dpviz.data.reading.cells import Cells, as_text, cell_text, check_width
from dpviz.data.reading.table import Table, named_table


def read_frame(frame: pd.DataFrame, name: str) -> Table:
    """Make a table of a pandas DataFrame."""
    check_width(frame.shape[1], name)
    return named_table(name, [str(column) for column in frame.columns], _FrameCells(frame))


class _FrameCells(Cells):
    """Columns of a DataFrame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame, self.rows = frame, len(frame)

    def blocks(self, axes: Sequence[int]) -> Iterator[list[pa.Array]]:
        """All rows of some columns at once: they are in memory."""
        if self.rows:
            yield [frame_cells(self._frame.iloc[:, axis]) for axis in axes]

    def written(self, axis: int) -> Iterator[pa.Array]:
        """Numbers and truth values as they are, anything else as the text of each cell."""
        yield written_cells(self._frame.iloc[:, axis])


def written_cells(column: pd.Series) -> pa.Array:
    """Identifiers (n,) of a column, numbers in their own type: rounded ones would become equal."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    kind = column.dtype.kind
    if kind in "biu":
        known = column.notna().to_numpy()
        values = np.zeros(len(column), dtype={"b": bool, "i": np.int64, "u": np.uint64}[kind])
        values[known] = column[known].to_numpy(dtype=values.dtype)
        return pa.array(values, mask=~known)
    own = getattr(column.dtype, "subtype", column.dtype)  # of sparse columns
    own = getattr(own, "numpy_dtype", own)  # of pandas' and of Arrow's types
    if isinstance(own, np.dtype) and own.kind == "f":
        floats = column.to_numpy(dtype=own, na_value=np.nan)
        return pa.array(floats) if own.itemsize <= 8 else _texts(pd.Series(floats), cell_text)
    return _texts(column, cell_text)


def frame_cells(column: pd.Series) -> pa.Array:
    """Numbers or text (n,) of a column."""
    if _is_numeric(column):
        with np.errstate(all="ignore"):  # a wider float may overflow: that gives an infinity
            return pa.array(column.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        cells = pa.array(column, type=pa.large_string(), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):  # mixed types
        return _texts(column)
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _texts(column: pd.Series, spell: Callable[[object], str] = as_text) -> pa.Array:
    """Text (n,) of each cell by itself."""
    cells = zip(column, column.isna(), strict=True)
    return pa.array([None if gone else spell(cell) for cell, gone in cells], pa.large_string())


def _is_numeric(column: pd.Series) -> bool:
    """Tell whether the column is stored as real numbers (not truth values, not complex)."""
    types = pd.api.types
    return bool(
        types.is_numeric_dtype(column.dtype)
        and not types.is_bool_dtype(column.dtype)
        and not types.is_complex_dtype(column.dtype)
    )

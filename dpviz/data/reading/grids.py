"""Grids of counts: the number of records in each cell."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.arrays import check_real, native
from dpviz.data.reading.cells import as_numbers, text_cells
from dpviz.data.reading.kinds import holds_numbers
from dpviz.data.reading.table import Table
from dpviz.data.strict.counts import count_of
from dpviz.grid.counts import MAX_EXACT
from dpviz.grid.domain import MAX_CELLS


def counts_of(source: NDArray[np.generic] | Table, name: str, *, any_total: bool) -> Ints:
    """Return the counts as integers; InputError names a cell that is not a count."""
    # With ``any_total`` (for a release), large counts are clipped, all counts may be 0, and cells
    # without a count become 0. No cell may cause an error: one record may change 999 to 1.000.
    cells = _matrix(source, any_total=any_total) if isinstance(source, Table) else source
    check_real(cells, name)
    _check_cells(cells.shape, name)
    values = native(cells)
    with np.errstate(invalid="ignore"):  # signalling NaN
        whole = values >= 0 if any_total else (values >= 0) & (values < MAX_EXACT)
        if values.dtype.kind == "f":
            whole &= values == np.floor(values)
    if any_total:
        most = MAX_EXACT // values.size
        if values.dtype.kind != "f":  # a narrow type can't contain this number
            most = min(most, np.iinfo(values.dtype).max)
        counts = np.minimum(np.where(whole, values, 0), most)
        return np.array(counts, dtype=np.int64, order="C")
    if not whole.all():
        place = np.unravel_index(int(whole.argmin()), whole.shape)
        raise InputError(
            f"{_place(place, source)} holds {values[place]:g}: counts are whole numbers "
            "from 0 to 2**53; correct the cell."
        )
    counts = np.array(values, dtype=np.int64, order="C")
    # The integer sum might overflow; the float sum is accurate enough here.
    if counts.sum(dtype=np.float64) > 2 * MAX_EXACT or int(counts.sum()) >= MAX_EXACT:
        raise InputError(f"{shown(name)} has counts whose sum is not below 2**53: rescale them.")
    if not counts.any():
        raise InputError(f"{shown(name)} has counts that are all 0: give at least one record.")
    return counts


def _matrix(table: Table, *, any_total: bool) -> Floats:
    if table.ragged.rows:
        row, _, fields = table.ragged.first[0]
        raise InputError(
            f"row {row} has {fields}: give all lines of a grid of counts the same number of cells."
        )
    shape = (table.rows, len(table.columns))
    _check_cells(shape[: 1 + (shape[1] > 1)], table.name)
    way_out = "write whole numbers alone, without names above them, since this is a grid of counts"
    matrix = np.empty(shape)
    start = 0
    axes = range(shape[1])
    if any_total:
        for columns in table.cells.blocks(axes):
            for axis, column in enumerate(columns):
                if pa.types.is_temporal(column.type):
                    raise InputError(
                        f'column "{shown(table.columns[axis])}" of {shown(table.name)} is of type '
                        f"{shown(column.type)}: {way_out}."
                    )
                matrix[start : start + len(column), axis] = (
                    as_numbers(column)[0]
                    if holds_numbers(column.type)
                    else [count_of(one or "") for one in text_cells(column).to_pylist()]
                )
            start += len(columns[0])
    else:
        for values in table.numbers(axes, way_out):
            matrix[start : start + len(values)] = values
            start += len(values)
    return matrix if shape[1] > 1 else matrix[:, 0]


def _check_cells(shape: tuple[int, ...], name: str) -> None:
    sides = " x ".join(f"{side:,}" for side in shape) or "1"
    if min(shape, default=0) < 2:
        raise InputError(
            f"{shown(name)} has {shown(sides)} cell{'' if sides == '1' else 's'}: a grid of "
            "counts needs at least 2 cells on each axis."
        )
    if math.prod(shape) > MAX_CELLS:
        raise InputError(
            f"{shown(name)} has {shown(sides)} = {math.prod(shape):,} cells, more than the "
            f"{MAX_CELLS:,} that fit into memory: merge cells."
        )


def _place(place: tuple[np.intp, ...], source: NDArray[np.generic] | Table) -> str:
    if isinstance(source, Table) or len(place) == 2:
        row = source.row(int(place[0])) if isinstance(source, Table) else place[0] + 1
        return f"row {row}, column {place[1] + 1 if len(place) > 1 else 1}"
    return f"cell {', '.join(str(index + 1) for index in place)}"

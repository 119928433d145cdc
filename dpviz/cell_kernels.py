"""Compiled loops over the cells of points; imported on first use, since the import is slow.

All follow the rule of :func:`dpviz.domain.axis_cells`, to the last bit. They work in blocks that
stay in the processor's nearest cache, axis by axis, so that the compiler can treat several points
at once. They release the interpreter lock.
"""

from __future__ import annotations

import numpy as np

from dpviz.compiled import compiled

#: Points of a block.
BLOCK = 1024


@compiled(inline="always")
def locate(points, box, sides, values, cells, outside):  # type: ignore[no-untyped-def]
    """Write the cell of each point of a block, and whether it lies outside; returns how many do.

    Parameters
    ----------
    points
        Shape (n, d), at most ``BLOCK`` of them.
    box
        Of each axis: lower and upper bound, cells per unit, and width of a cell; shape (4, d).
    sides
        Cells per axis.
    values, cells, outside
        Room for a block: one coordinate, flat cell numbers (int32), flags.
    """
    size = points.shape[0]
    cells[:] = 0
    outside[:] = False
    for axis in range(points.shape[1]):
        low, high, scale, step = box[0, axis], box[1, axis], box[2, axis], box[3, axis]
        side = np.int32(sides[axis])
        last = side - np.int32(1)
        for i in range(size):
            values[i] = points[i, axis]
        for i in range(size):
            value = values[i]
            outside[i] |= (value < low) | (value > high)
            value = value if value > low else low
            value = value if value < high else high
            cell = np.int32((value - low) * scale)
            cell = cell if cell < last else last
            # Rounding moves a value by one cell at most: compare it with both edges of the cell.
            edge = low + np.float64(cell) * step
            cell = cell - (np.int32(1) if value < edge else np.int32(0))
            edge = low + np.float64(cell + np.int32(1)) * step
            cell = cell + (np.int32(1) if value >= edge else np.int32(0))
            cell = cell if cell < last else last
            cells[i] = cells[i] * side + cell
    found = 0
    for i in range(size):
        found += outside[i]
    return found


@compiled()
def flat(points, box, sides, result):  # type: ignore[no-untyped-def]
    """Write the flat cell number of every point; those outside get the border cell."""
    values, cells = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32)
    outside = np.empty(BLOCK, dtype=np.bool_)
    for begin in range(0, points.shape[0], BLOCK):
        block, room = points[begin : begin + BLOCK], result[begin : begin + BLOCK]
        locate(block, box, sides, values, cells, outside)
        for i in range(room.shape[0]):
            room[i] = cells[i]


@compiled()
def count(points, weights, box, sides, drop, counts):  # type: ignore[no-untyped-def]
    """Add the records to their cells; returns how many points lie outside.

    Parameters
    ----------
    weights
        Records at each point, int64; of length 0 for one each.
    drop
        Whether points outside are left out; otherwise they go to the border cell.
    counts
        Shape (cells,).
    """
    values, cells = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32)
    outside = np.empty(BLOCK, dtype=np.bool_)
    total = 0
    for begin in range(0, points.shape[0], BLOCK):
        block = points[begin : begin + BLOCK]
        found = locate(block, box, sides, values, cells, outside)
        total += found
        if weights.shape[0] or (drop and found):
            for i in range(block.shape[0]):
                if not (drop and outside[i]):
                    counts[np.uint32(cells[i])] += weights[begin + i] if weights.shape[0] else 1
        else:
            for i in range(block.shape[0]):
                counts[np.uint32(cells[i])] += 1
    return total


@compiled()
def look_up(points, box, sides, drop, table, result):  # type: ignore[no-untyped-def]
    """Write what a table says of the cell of each point; -1 outside, where those are dropped.

    Parameters
    ----------
    table
        One number per cell, shape (cells,).
    """
    values, cells = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32)
    outside = np.empty(BLOCK, dtype=np.bool_)
    for begin in range(0, points.shape[0], BLOCK):
        block, room = points[begin : begin + BLOCK], result[begin : begin + BLOCK]
        found = locate(block, box, sides, values, cells, outside)
        for i in range(room.shape[0]):
            room[i] = table[np.uint32(cells[i])]
        if drop and found:
            for i in range(room.shape[0]):
                if outside[i]:
                    room[i] = -1

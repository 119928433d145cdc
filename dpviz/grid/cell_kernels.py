"""Compiled loops that compute the cells of points; imported at first use, as the import is slow.

They give exactly the cells of :func:`dpviz.grid.domain.axis_cells`. They have no branches, release
the interpreter lock, and process blocks that fit into the processor's caches.
"""

from __future__ import annotations

import numpy as np

from dpviz.base.compiled import compiled

#: Number of points in a block. With smaller blocks, the overhead is a third of the time.
BLOCK = 4096

#: Number of blocks that use :func:`locate` after :func:`between` failed: it may fail again.
ALIKE = 3


@compiled(inline="always")
def between(block, box, sides, near, cells):  # type: ignore[no-untyped-def]
    """Write the cell of each point of the plane without comparing points with the edges of cells.

    Returns False if a point is outside or ``near`` (:func:`nearness`) an edge; then cells are not
    valid. The block has x, y, x, y, ... of at most ``BLOCK`` points.
    """
    low_x, scale_x, side_x = box[0, 0], box[2, 0], np.float64(sides[0])
    low_y, scale_y, side_y = box[0, 1], box[2, 1], np.float64(sides[1])
    half_x, half_y, most = side_x / 2, side_y / 2, 0.5 - near
    bad = np.int32(0)
    for i in range(len(block) // 2):
        x = (block[2 * i] - low_x) * scale_x
        y = (block[2 * i + 1] - low_y) * scale_y
        column, row = np.floor(x), np.floor(y)
        clear = (abs(x - column - 0.5) < most) & (abs(y - row - 0.5) < most)
        clear &= (abs(x - half_x) < half_x) & (abs(y - half_y) < half_y)
        bad |= np.int32(0) if clear else np.int32(1)
        # This cell number is valid if the point is clear.
        cells[i] = np.int32(column * side_y + row)
    return bad == 0


@compiled(inline="always")
def nearness(box, sides):  # type: ignore[no-untyped-def]
    """Upper bound on the rounding error of a value or an edge, in cells.

    A value and an edge are rounded three times, each time by at most 2**-53 of the number. The last
    addition for an edge adds 2**-53 of the larger bound.
    """
    found = 0.0
    for axis in range(len(sides)):
        bound = max(abs(box[0, axis]), abs(box[1, axis]))
        found = max(found, 2.0**-50 * sides[axis] + 2.0**-51 * bound * box[2, axis])
    return found


@compiled(inline="always")
def cells_of(points, begin, box, sides, near, exact, room):  # type: ignore[no-untyped-def]
    """Write the cells of a block of points with the fastest loop; return how many are outside.

    ``exact`` is the number of next blocks that use :func:`locate`; its new value is returned, too.
    """
    values, cells, outside = room
    block = points[begin : begin + BLOCK]
    if exact == 0 and points.shape[1] == 2:
        # This copies only a block that is not stored row by row.
        rows = np.ascontiguousarray(block).reshape(-1)
        if between(rows, box, sides, near, cells):
            return 0, 0
        exact = ALIKE + 1
    return locate(block, box, sides, values, cells, outside), max(0, exact - 1)


@compiled(inline="always")
def locate(points, box, sides, values, cells, outside):  # type: ignore[no-untyped-def]
    """Write each point's cell and whether it is outside; return the number of points outside.

    At most ``BLOCK`` points (n, d). ``box`` (4, d): lower and upper bound, cells per unit, width of
    a cell. ``values``, ``cells`` (int32) and ``outside`` are memory for one block.
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
            # Rounding may change the cell by one: compare the value with both edges of the cell.
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
    """Write the flat cell number of every point; a point outside gets the border cell."""
    room = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32), np.empty(BLOCK, dtype=np.bool_)
    _, cells, _ = room
    near, exact = nearness(box, sides), 0
    for begin in range(0, points.shape[0], BLOCK):
        _, exact = cells_of(points, begin, box, sides, near, exact, room)
        part = result[begin : begin + BLOCK]
        for i in range(len(part)):
            part[i] = cells[i]


@compiled()
def count(points, weights, box, sides, drop, counts):  # type: ignore[no-untyped-def]
    """Add the records to ``counts`` (cells,); return the number of points outside.

    An empty array of weights (int64) means 1. Points outside are left out (``drop``) or clipped.
    """
    room = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32), np.empty(BLOCK, dtype=np.bool_)
    _, cells, outside = room
    near, exact = nearness(box, sides), 0
    total = 0
    for begin in range(0, points.shape[0], BLOCK):
        found, exact = cells_of(points, begin, box, sides, near, exact, room)
        total += found
        size = min(BLOCK, len(points) - begin)
        if weights.shape[0] or (drop and found):
            for i in range(size):
                if not (drop and outside[i]):
                    counts[np.uint32(cells[i])] += weights[begin + i] if weights.shape[0] else 1
        else:
            for i in range(size):
                counts[np.uint32(cells[i])] += 1
    return total


@compiled()
def look_up(points, box, sides, drop, table, result):  # type: ignore[no-untyped-def]
    """For each point, write its cell's entry of a table (cells,), or -1 if the point is dropped."""
    room = np.empty(BLOCK), np.empty(BLOCK, dtype=np.int32), np.empty(BLOCK, dtype=np.bool_)
    _, cells, outside = room
    near, exact = nearness(box, sides), 0
    for begin in range(0, points.shape[0], BLOCK):
        found, exact = cells_of(points, begin, box, sides, near, exact, room)
        part = result[begin : begin + BLOCK]
        for i in range(len(part)):
            part[i] = table[np.uint32(cells[i])]
        if drop and found:
            for i in range(len(part)):
                if outside[i]:
                    part[i] = -1

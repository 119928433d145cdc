"""Compiled, cached loops of the data passes, without the interpreter lock; slow to import."""

from __future__ import annotations

import numpy as np

from dpviz.base.compiled import compiled

#: Random halving of a block: an axis length gets a random factor of at most 1 + LONGEST, and a cut
#: leaves at least the share LEAST_CUT on either side.
LONGEST, LEAST_CUT = 0.9, 0.3

#: Number of points in a block: their distances fit into the processor's nearest cache.
BLOCK = 128


@compiled(inline="always")
def square(points, i, centers, k):  # type: ignore[no-untyped-def]
    """Squared distance of a point, given by its number, to a centre."""
    distance = 0.0
    for j in range(points.shape[1]):
        difference = points[i, j] - centers[k, j]
        distance += difference * difference
    return distance


def rooms(ndim):  # type: ignore[no-untyped-def]
    """Make memory for :func:`nearest`: columns, sums, best and second best squares, numbers."""
    return np.zeros((ndim + 3, BLOCK)), np.empty(BLOCK, dtype=np.int64)


def plain_nearest(points, centers, room, own, two):  # type: ignore[no-untyped-def]
    """Do the same as :func:`nearest` by NumPy."""
    n, ndim = points.shape
    squares, best, second = np.zeros((n, len(centers))), room[ndim + 1], room[ndim + 2]
    for j in range(ndim):
        squares += (points[:, j, None] - centers[:, j]) ** 2
    own[:n], best[:n] = squares.argmin(axis=1), squares.min(axis=1)
    if two:
        second[:n] = np.partition(squares, 1, axis=1)[:, 1] if len(centers) > 1 else np.inf
    return best, second


@compiled(plain=plain_nearest)
def nearest(points, centers, room, own, two):  # type: ignore[no-untyped-def]
    """Find the nearest centre of each of at most ``BLOCK`` points, centre by centre.

    So the processor treats several points at a time, with exactly the result of a plain loop.
    Writes nearest centres (if several are equal, the lowest number) to ``own``. Returns squared
    distances to these centres and, if ``two``, to the second nearest centres. Callers pass no
    literal ``two``, because numba would compile a version for each literal.
    """
    last = points.shape[1] - 1
    squares, best, second = room[last + 1], room[last + 2], room[last + 3]
    for j in range(last + 1):
        for i in range(points.shape[0]):
            room[j, i] = points[i, j]
    best[:] = np.inf
    second[:] = np.inf
    own[:] = 0
    for k in range(centers.shape[0]):
        # The first column starts the sums; sums with the last column are compared directly.
        for j in range(last):
            column, place = room[j], centers[k, j]
            if j == 0:
                for i in range(BLOCK):
                    difference = column[i] - place
                    squares[i] = difference * difference
            else:
                for i in range(BLOCK):
                    difference = column[i] - place
                    squares[i] += difference * difference
        column, place = room[last], centers[k, last]
        for i in range(BLOCK):
            difference = column[i] - place
            square = squares[i] + difference * difference
            closer = square < best[i]
            if two:
                other = best[i] if closer else square
                second[i] = other if other < second[i] else second[i]
            own[i] = k if closer else own[i]
            best[i] = square if closer else best[i]
    return best, second


@compiled()
def add_sums(points, centers, room, numbers, table):  # type: ignore[no-untyped-def]
    """Add counts (column 0) and sums (other columns) of the points of each nearest centre."""
    for begin in range(0, points.shape[0], BLOCK):
        block = points[begin : begin + BLOCK]
        nearest(block, centers, room, numbers, np.bool_(False))
        for i in range(block.shape[0]):
            own = np.uint64(numbers[i])
            table[own, 0] += 1
            for j in range(points.shape[1]):
                table[own, j + 1] += block[i, j]


@compiled()
def add_weighted_sums(points, weights, centers, room, numbers, table):  # type: ignore[no-untyped-def]
    """Add errors, weights and weighted sums (d columns) of the points of each nearest centre."""
    for begin in range(0, points.shape[0], BLOCK):
        block = points[begin : begin + BLOCK]
        firsts, _ = nearest(block, centers, room, numbers, np.bool_(False))
        for i in range(block.shape[0]):
            own, weight = numbers[i], weights[begin + i]
            table[own, 0] += weight * firsts[i]
            table[own, 1] += weight
            for j in range(points.shape[1]):
                table[own, j + 2] += weight * block[i, j]


@compiled()
def assign(points, centers, room, numbers, labels, squares, weights, table):  # type: ignore[no-untyped-def]
    """Find the nearest centre of each point and the squared distance to it: one loop for all uses.

    If the table is not empty, adds counts, errors, losses and contour coefficients of each centre
    to it. Otherwise writes labels and squares, or (if labels are empty) returns the sum of squares.
    """
    total, two = 0.0, table.shape[0] > 0
    for begin in range(0, points.shape[0], BLOCK):
        block = points[begin : begin + BLOCK]
        firsts, seconds = nearest(block, centers, room, numbers, two)
        for i in range(block.shape[0]):
            own, best, second = numbers[i], firsts[i], seconds[i]
            if not two:
                if labels.shape[0]:
                    labels[begin + i], squares[begin + i] = own, best
                else:
                    total += best
                continue
            weight = weights[begin + i]
            if weight == 0:  # otherwise 0 times an infinite loss would be NaN
                continue
            table[own, 0] += weight
            table[own, 1] += weight * best
            table[own, 2] += weight * (second - best)
            if 0 < second < np.inf:
                table[own, 3] += weight * (1 - np.sqrt(best / second))
    return total


@compiled()
def add_excess(points, weights, places, members, unit, room, whole, table):  # type: ignore[no-untyped-def]
    """For each set of centres, add the excess of its error over the least error of all sets.

    Weights are int64; empty weights are 1. ``members`` (m, K) of the sets are indices of distinct
    ``places`` (p, d). Squared distances are rounded down to multiples of ``unit``, a power of 2;
    the table (m,) has whole units. ``room`` (1 + d, width) and ``whole`` (p + m + 1, width) are
    memory, for squares and for their multiples. If 32 bits are enough for a multiple, they are
    faster than 64 bits.
    """
    width = whole.shape[1]  # size of a block of points: its distances stay in the cache
    columns, squares = room, room[points.shape[1]]
    errors = whole[places.shape[0] :]
    least = errors[members.shape[0]]
    for begin in range(0, points.shape[0], width):
        size = min(width, points.shape[0] - begin)
        for j in range(points.shape[1]):
            for i in range(size):
                columns[j, i] = points[begin + i, j]
        for p in range(places.shape[0]):
            squares[:] = 0.0
            for j in range(points.shape[1]):
                column, place = columns[j], places[p, j]
                for i in range(width):
                    difference = column[i] - place
                    squares[i] += difference * difference
            row = whole[p]
            for i in range(width):
                row[i] = squares[i] / unit  # rounded down before the minimum is searched
        for c in range(members.shape[0]):
            error, row = errors[c], whole[members[c, 0]]
            for i in range(width):
                error[i] = row[i]
            for k in range(1, members.shape[1]):
                row = whole[members[c, k]]
                for i in range(width):
                    error[i] = min(error[i], row[i])
            for i in range(width):
                least[i] = min(least[i], error[i]) if c else error[i]
        for c in range(members.shape[0]):
            error, total = errors[c], 0
            if weights.size:
                for i in range(size):
                    total += weights[begin + i] * (error[i] - least[i])
            else:
                for i in range(size):
                    total += error[i] - least[i]
            table[c] += total


@compiled()
def difference(candidates, farthest):  # type: ignore[no-untyped-def]
    """Upper bound on the difference of a record's squared distances to two sets of (m, K, d)."""
    largest = 0.0
    for v in range(candidates.shape[0]):
        for w in range(candidates.shape[0]):
            bound = 0.0
            for k in range(candidates.shape[1]):
                gap = 0.0
                for j in range(candidates.shape[2]):
                    one, other = candidates[v, k, j], candidates[w, k, j]
                    gap += one * one - other * other + 2 * abs(one - other)
                bound = max(bound, gap)
            largest = max(largest, min(bound, farthest[v]))
    return largest


@compiled()
def add_contours(points, centers, room, numbers, averages, table):  # type: ignore[no-untyped-def]
    """Add counts, distances and contour coefficients with averages (K,) for each nearest centre."""
    for begin in range(0, points.shape[0], BLOCK):
        block = points[begin : begin + BLOCK]
        firsts, seconds = nearest(block, centers, room, numbers, np.bool_(True))
        for i in range(block.shape[0]):
            own, best, second = numbers[i], firsts[i], seconds[i]
            table[own, 0] += 1
            table[own, 1] += np.sqrt(best)
            a, b = averages[own], np.sqrt(second)
            if 0 < max(a, b) < np.inf:
                table[own, 2] += (b - a) / max(a, b)


@compiled()
def squared_radii(points, centers, labels, radii):  # type: ignore[no-untyped-def]
    """Write the largest squared distance of a cluster's points from its centre, shape (K,)."""
    radii[:] = 0
    for i in range(points.shape[0]):
        radii[labels[i]] = max(radii[labels[i]], square(points, i, centers, labels[i]))


@compiled()
def neighbours(centers, radii, numbers, squares):  # type: ignore[no-untyped-def]
    """Find possible nearest and second nearest centres for the points of each cluster, in order.

    Takes squared radii. Row k gets the indices of these centres and their squared distances from
    centre k; the distances end with infinity.
    """
    clusters = centers.shape[0]
    for k in range(clusters):
        nearest, row = np.inf, squares[k]
        for other in range(clusters):
            row[other] = square(centers, k, centers, other)
            if other != k:
                nearest = min(nearest, row[other])
        # Every point is within radius + distance of the nearest other centre, so the point's second
        # nearest centre is within 2 * radius + distance of the point's own centre. The factor
        # covers rounding errors.
        reach = (2 * np.sqrt(radii[k]) + np.sqrt(nearest)) ** 2 * (1 + 1e-9)
        many = 0
        for other in range(clusters):
            distance = row[other]
            if other != k and distance <= reach:
                place = many
                while place > 0 and row[place - 1] > distance:
                    numbers[k, place], row[place] = numbers[k, place - 1], row[place - 1]
                    place -= 1
                numbers[k, place], row[place] = other, distance
                many += 1
        row[many:] = np.inf


def tables(clusters, ndim):  # type: ignore[no-untyped-def]
    """Make memory for :func:`lloyd` and :func:`prospects`: radii, numbers, squares, sums."""
    return (
        np.empty(clusters),
        np.zeros((clusters, clusters), dtype=np.int32),
        np.empty((clusters, clusters)),
        np.empty((clusters, 1 + ndim)),
    )


@compiled()
def lloyd(  # type: ignore[no-untyped-def]
    points, centers, labels, least, most, goal, radii, numbers, squares, sums
):
    """Run Lloyd's iteration in place from labels (n,) with :func:`squared_radii`; return the error.

    Stops after ``most`` iterations, when no label changes, when the error decreases by at most the
    share ``least``, or when five times the last decrease would not reach ``goal``. Centres of empty
    clusters do not move.
    """
    clusters, ndim = centers.shape
    last = np.inf
    for iteration in range(most):
        neighbours(centers, radii, numbers, squares)
        radii[:] = 0
        sums[:] = 0
        total, changes = 0.0, 0
        for i in range(points.shape[0]):
            first = labels[i]
            distance = square(points, i, centers, first)
            best, own = distance, first
            for place in range(clusters):
                # A centre is not nearer if it is twice as far from ``first`` as the point is.
                if squares[first, place] >= 4 * distance:
                    break
                k = numbers[first, place]
                other = square(points, i, centers, k)
                if other < best:
                    best, own = other, k
            changes += own != first
            labels[i] = own
            total += best
            radii[own] = max(radii[own], best)
            sums[own, 0] += 1
            for j in range(ndim):
                sums[own, j + 1] += points[i, j]
        gain = last - total
        if iteration and (changes == 0 or gain <= least * total or total - 5 * gain >= goal):
            break
        last = total
        for k in range(clusters):
            if sums[k, 0] > 0 and iteration < most - 1:
                step = 0.0
                for j in range(ndim):
                    place = sums[k, j + 1] / sums[k, 0]
                    step += (place - centers[k, j]) ** 2
                    centers[k, j] = place
                radii[k] = (np.sqrt(radii[k]) + np.sqrt(step)) ** 2
    return total


@compiled()
def prospects(  # type: ignore[no-untyped-def]
    points, centers, labels, numbers, apart, spread, second, losses, halves
):
    """Estimate the loss from removing each centre, and split each cluster along its widest axis.

    Takes each cluster's :func:`neighbours` and their distances. Writes second nearest centres (n,),
    losses (K,), and the halves' counts and sums (K, 2, 1 + d); a cluster is split at its centre.
    """
    clusters, ndim = centers.shape
    spread[:] = 0
    for i in range(points.shape[0]):
        own, distance = labels[i], 0.0
        for j in range(ndim):
            difference = points[i, j] - centers[own, j]
            distance += difference * difference
            spread[own, j] += difference * difference
        next_best, away = np.inf, np.sqrt(distance)
        for place in range(clusters):
            # This is a lower bound on the distance of the point to this centre.
            gap = apart[own, place] - away
            if gap > 0 and gap * gap >= next_best:
                break
            k = numbers[own, place]
            other = square(points, i, centers, k)
            if other < next_best:
                next_best, second[i] = other, k
        losses[own] += next_best - distance
    for i in range(points.shape[0]):
        own, axis = labels[i], 0
        for j in range(1, ndim):
            if spread[own, j] > spread[own, axis]:
                axis = j
        side = 1 if points[i, axis] > centers[own, axis] else 0
        halves[own, side, 0] += 1
        for j in range(ndim):
            halves[own, side, j + 1] += points[i, j]


@compiled()
def add_residuals(points, weights, centers, labels, squares, radius, unit, table):  # type: ignore[no-untyped-def]
    """Add counts, squares and residuals for each nearest centre; the radius limits their size.

    Weights are int64; empty weights are 1. Residuals are divided by the radius and projected into
    the unit ball. The table (K, 2 + d) has whole units; values are truncated towards 0.
    """
    for i in range(points.shape[0]):
        own, weight = labels[i], 1
        if weights.size:
            weight = weights[i]
        length = np.sqrt(squares[i])
        factor = 1 / (max(length, radius) * unit)
        table[own, 0] += weight * np.int64(1 / unit)
        table[own, 1] += weight * np.int64(min(length / radius, 1.0) ** 2 / unit)
        for j in range(points.shape[1]):
            table[own, 2 + j] += weight * np.int64((points[i, j] - centers[own, j]) * factor)


@compiled()
def grid_cells(points, side, parts, firsts, found):  # type: ignore[no-untyped-def]
    """Write the row-major number of each point's cell in a grid of [-1, 1]^d with equal sides.

    If ``parts`` is not empty, write the point's subcell instead, or -1 if its cell has one part.
    """
    for i in range(points.shape[0]):
        cell = 0
        for j in range(points.shape[1]):
            cell = cell * side + min(np.int64((points[i, j] + 1) / 2 * side), side - 1)
        found[i] = -1 if len(parts) else cell
        if len(parts) and parts[cell] > 1:
            number, split = 0, parts[cell]
            for j in range(points.shape[1]):
                place = (points[i, j] + 1) / 2 * side
                place -= min(np.int64(place), side - 1)
                number = number * split + min(max(np.int64(place * split), 0), split - 1)
            found[i] = firsts[cell] + number


@compiled(inline="always")
def fraction(known, total, law, logs):  # type: ignore[no-untyped-def]
    """Expected share of a total in the first of two halves, from their noisy sums and variances.

    Noise is treated as normal. Takes the law of shares, as :func:`denoise`, and memory.
    """
    one, one_variance, other, other_variance = known[0], known[1], known[2], known[3]
    most = -np.inf
    for q in range(law.shape[1]):
        first, second = one - law[0, q] * total, other - (1 - law[0, q]) * total
        logs[q] = -(first * first / one_variance + second * second / other_variance) / 2
        most = max(most, logs[q])
    mass, mean = 0.0, 0.0
    for q in range(law.shape[1]):
        # Skip shares that are less likely by a factor of e^40, because they change nothing.
        if logs[q] >= most - 40:
            weight = law[1, q] * np.exp(logs[q] - most)
            mass += weight
            mean += weight * law[0, q]
    return mean / mass


@compiled(inline="always")
def box_sum(sums, origin, values, begin, side, lows, highs, row):  # type: ignore[no-untyped-def]
    """Two sums over the cells [lows, highs) of a grid of equal sides, from its prefix sums.

    Takes rows of arrays by their numbers here and below, because numba compiles this faster. The
    grid's first corner and first cell are ``origin`` and ``begin``.
    """
    ndim, cells, one, two = lows.shape[1], 1, 0.0, 0.0
    for j in range(ndim):
        cells *= highs[row, j] - lows[row, j]
    # The sum over the cells is faster if there are not more cells than corners.
    if cells <= 1 << ndim:
        for cell in range(cells):
            place, rest, stride = 0, cell, 1
            for j in range(ndim - 1, -1, -1):
                wide = highs[row, j] - lows[row, j]
                place += (lows[row, j] + rest % wide) * stride
                rest //= wide
                stride *= side
            one += values[begin + place, 0]
            two += values[begin + place, 1]
    else:
        for corner in range(1 << ndim):
            place, sign = 0, 1.0
            for j in range(ndim):
                low = (corner >> j) & 1
                place = place * (side + 1) + (lows[row, j] if low else highs[row, j])
                sign = -sign if low else sign
            one += sign * sums[origin + place, 0]
            two += sign * sums[origin + place, 1]
    return one, two


@compiled(inline="always")
def halve(lows, highs, row, generator):  # type: ignore[no-untyped-def]
    """Choose one of the longest axes at random, and a cut; the axis is -1 for a single cell."""
    axis, longest, cut = -1, 0.0, 1
    for j in range(lows.shape[1]):
        if highs[row, j] - lows[row, j] > 1:
            length = (highs[row, j] - lows[row, j]) * (1 + LONGEST * generator.random())
            if length > longest:
                axis, longest = j, length
    if axis >= 0 and highs[row, axis] - lows[row, axis] > 2:
        width = highs[row, axis] - lows[row, axis]
        place = width * (LEAST_CUT + (1 - 2 * LEAST_CUT) * generator.random()) + 0.5
        cut = min(max(np.int64(place), 1), width - 1)
    return axis, cut


@compiled()
def denoise(  # type: ignore[no-untyped-def]
    values, firsts, sums, corners, sides, totals, law, least, passes, generator, blocks, room, found
):
    """Add estimated counts of grids to ``found``: halve each grid until halves are cells.

    ``values`` (m, 2) are noisy counts and variances of all cells; ``sums`` are their prefix sums. A
    grid has equal sides, an index of its first cell and of its first corner, and a total. A block
    of at most ``least`` records gets 0. The result is the mean of ``passes`` random ways. ``law``
    (2, m): possible shares of a half, their prior. ``blocks`` and ``room`` are memory.
    """
    # A stack of blocks: the first half of a block waits here while the second half is halved.
    lows, highs = blocks[0], blocks[1]
    waiting, logs, known = room[0], room[1], room[2]
    ndim = lows.shape[1]
    for grid in range(len(sides)):
        side, begin = sides[grid], firsts[grid]
        for _ in range(passes):
            for j in range(ndim):
                lows[0, j], highs[0, j] = 0, side
            waiting[0], top = totals[grid], 0
            while top >= 0:
                sum_ = waiting[top]
                if sum_ <= least:
                    top -= 1
                    continue
                axis, cut = halve(lows, highs, top, generator)
                if axis < 0:
                    number = 0
                    for j in range(ndim):
                        number = number * side + lows[top, j]
                    found[begin + number] += sum_ / passes
                    top -= 1
                    continue
                # The first half replaces the whole block; the second half is above it on the stack.
                for j in range(ndim):
                    lows[top + 1, j], highs[top + 1, j] = lows[top, j], highs[top, j]
                lows[top + 1, axis] = highs[top, axis] = lows[top, axis] + cut
                for half in range(2):
                    known[2 * half], known[2 * half + 1] = box_sum(
                        sums, corners[grid], values, begin, side, lows, highs, top + half
                    )
                part = fraction(known, sum_, law, logs)
                waiting[top + 1], waiting[top] = sum_ * (1 - part), sum_ * part
                top += 1


@compiled()
def squares_to(points, centers, labels, squares):  # type: ignore[no-untyped-def]
    """Write the squared distance of every point to the centre of its label."""
    for i in range(points.shape[0]):
        squares[i] = square(points, i, centers, labels[i])


@compiled()
def project(points, center, directions, projected):  # type: ignore[no-untyped-def]
    """Write each point's coordinates along directions (d, m) from a centre, clipped to [-1, 1]."""
    for i in range(points.shape[0]):
        for k in range(directions.shape[1]):
            place = 0.0
            for j in range(points.shape[1]):
                place += (points[i, j] - center[j]) * directions[j, k]
            projected[i, k] = min(max(place, -1.0), 1.0)


@compiled()
def plus_plus(points, weights, first, draws, room, chosen):  # type: ignore[no-untyped-def]
    """Choose points by D^2 sampling after a given first point; write their indices (K,).

    A row of ``draws`` (K - 1, tries) proposes points; the point with the least error is chosen.
    """
    n, (later, tries) = points.shape[0], draws.shape
    closest, sums, tried, best = room[0], room[1], room[2], room[3]
    closest[:] = np.inf
    chosen[0] = first
    for number in range(later + 1):
        least = np.inf
        for one in range(tries if number else 1):
            at = first
            if number:
                goal, at, end = draws[number - 1, one] * sums[n - 1], 0, n - 1
                while at < end:  # find the first sum that is not below the goal
                    middle = (at + end) // 2
                    if sums[middle] < goal:
                        at = middle + 1
                    else:
                        end = middle
            error = 0.0
            for i in range(n):
                tried[i] = min(closest[i], square(points, i, points, at))
                error += weights[i] * tried[i]
            if one == 0 or error < least:
                least, chosen[number] = error, at
                tried, best = best, tried
        closest, best = best, closest
        total = 0.0
        for i in range(n):
            total += weights[i] * closest[i]
            sums[i] = total


@compiled()
def add_blocks(weights, sides, middles, table):  # type: ignore[no-untyped-def]
    """Add weights (column 0) and moments (other columns) of a grid's cells, block by block.

    ``sides`` (3, d): cells, cells per block, and blocks on each axis. The table is (blocks, 1 + d).
    ``middles`` is memory.
    """
    shape, widths, blocks = sides
    last = len(shape) - 1
    for row in range(len(weights) // shape[last]):
        # All cells of a row have the same position on every axis except the last axis.
        rest, block, stride = row, 0, blocks[last]
        for axis in range(last - 1, -1, -1):
            place = rest % shape[axis]
            rest //= shape[axis]
            middles[axis] = (2 * place + 1) / shape[axis] - 1
            block += place // widths[axis] * stride
            stride *= blocks[axis]
        begin = row * shape[last]
        for number in range(blocks[last]):
            total, moment = 0.0, 0.0
            first = number * widths[last]
            for place in range(first, min(first + widths[last], shape[last])):
                weight = weights[begin + place]
                total += weight
                moment += weight * ((2 * place + 1) / shape[last] - 1)
            table[block + number, 0] += total
            for axis in range(last):
                table[block + number, axis + 1] += total * middles[axis]
            table[block + number, last + 1] += moment


@compiled()
def add_weighed(points, weights, owner, unit, table):  # type: ignore[no-untyped-def]
    """Add counts and sums of the weighted lattice points of each owner, in whole units."""
    one = np.int64(1 / unit)
    for i in range(points.shape[0]):
        own, weight = owner[i], weights[i]
        table[own, 0] += one * weight
        for j in range(points.shape[1]):
            table[own, j + 1] += np.int64(points[i, j] / unit) * weight

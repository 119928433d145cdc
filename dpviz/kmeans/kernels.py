"""Compiled loops of the data passes; imported on first use, since that takes a moment.

The loops let go of the interpreter, so several threads can run them; their machine code is
kept on disk.
"""

from __future__ import annotations

import numpy as np

from dpviz.kmeans.compiled import compiled


@compiled(inline="always")
def own_center(points, i, centers):  # type: ignore[no-untyped-def]
    """Nearest centre of point i and the squared distance to it."""
    best, own = np.inf, 0
    for k in range(centers.shape[0]):
        distance = 0.0
        for j in range(points.shape[1]):
            difference = points[i, j] - centers[k, j]
            distance += difference * difference
        if distance < best:
            best, own = distance, k
    return own, best


@compiled()
def add_sums(points, centers, table):  # type: ignore[no-untyped-def]
    """Add counts (column 0) and sums (the others) by nearest centre."""
    for i in range(points.shape[0]):
        own, _ = own_center(points, i, centers)
        table[own, 0] += 1
        for j in range(points.shape[1]):
            table[own, j + 1] += points[i, j]


@compiled()
def label(points, centers, labels):  # type: ignore[no-untyped-def]
    """Write the nearest centre of every point."""
    for i in range(points.shape[0]):
        labels[i], _ = own_center(points, i, centers)


@compiled()
def error(points, centers, unit):  # type: ignore[no-untyped-def]
    """Sum of squared distances to the nearest centres, each cut to multiples of a unit above 0."""
    total = 0.0
    for i in range(points.shape[0]):
        _, best = own_center(points, i, centers)
        total += np.floor(best / unit) * unit if unit > 0 else best
    return total


@compiled()
def add_fit(points, centers, weights, table):  # type: ignore[no-untyped-def]
    """Add counts, errors, losses and contour coefficients by nearest centre."""
    for i in range(points.shape[0]):
        weight = weights[i]
        if weight == 0:  # or nothing times an infinite loss would be no number
            continue
        best, second, own = np.inf, np.inf, 0
        for k in range(centers.shape[0]):
            distance = 0.0
            for j in range(points.shape[1]):
                difference = points[i, j] - centers[k, j]
                distance += difference * difference
            if distance < best:
                second, best, own = best, distance, k
            elif distance < second:
                second = distance
        table[own, 0] += weight
        table[own, 1] += weight * best
        table[own, 2] += weight * (second - best)
        if 0 < second < np.inf:
            table[own, 3] += weight * (1 - np.sqrt(best / second))

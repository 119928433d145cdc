"""A plain program of Chen, Yu, Chirkova 2015: written from the paper's text, with only NumPy.

It does not use the code of the app, and each draw has its own generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def haar(counts: NDArray[Any]) -> Floats:
    """Average subband of a grid with even sides: half the sum of each block of four."""
    height, width = counts.shape
    blocks = np.asarray(counts, dtype=float).reshape(height // 2, 2, width // 2, 2)
    halves: Floats = blocks.sum(axis=(1, 3)) / 2
    return halves


def rank(density: float, values: int) -> int:
    """(1 - p) |L|, rounded up."""
    return math.ceil((1 - density) * values - 1e-9)


def components(significant: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Number of the component of each cell, or 0; the search goes from cell to cell."""
    labels: NDArray[np.intp] = np.zeros(significant.shape, dtype=np.intp)
    for row, column in np.argwhere(significant).tolist():
        if labels[row, column]:
            continue
        waiting, number = [(row, column)], labels.max() + 1
        while waiting:
            x, y = waiting.pop()
            inside = 0 <= x < labels.shape[0] and 0 <= y < labels.shape[1]
            if inside and significant[x, y] and not labels[x, y]:
                labels[x, y] = number
                waiting += [(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return labels


def quantized(points: Floats, cells: int) -> NDArray[np.intp]:
    """Counts of points in the unit square on a grid."""
    places = np.minimum((points * cells).astype(np.intp), cells - 1)
    flat = np.bincount(places[:, 0] * cells + places[:, 1], minlength=cells**2)
    return flat.reshape(cells, cells)


def drawn_rank(
    method: str, points: Floats, cells: int, density: float, epsilon: float
) -> Callable[[int], float]:
    """Return the function from a seed to k', by Algorithm 1, 2 or 3 with all of its steps."""
    unit = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    counts = quantized(unit, cells)
    if method == "baseline":
        publish = _publishing(unit, epsilon)

    def number(seed: int) -> float:
        generator = np.random.default_rng([seed, 2015])
        if method == "baseline":
            return _rank_of(quantized(publish(generator), cells), 0, density)
        if method == "privqt":
            return _rank_of(counts + generator.laplace(0, 1 / epsilon, counts.shape), 0, density)
        noisy = counts + generator.laplace(0, 1 / (0.9 * epsilon), counts.shape)
        empty = (haar(counts) <= 0).sum() + generator.laplace(0, 1 / (0.1 * epsilon))
        return _rank_of(noisy, round(empty / 2), density)

    return number


def _rank_of(counts: NDArray[Any], removed: int, density: float) -> int:
    return rank(density, int((haar(counts) > 0).sum()) - removed)


def _publishing(unit: Floats, epsilon: float) -> Callable[[np.random.Generator], Floats]:
    """Adaptive grid of Qardaji, Yang, Li 2013; each leaf gets its noisy count of uniform points."""
    side = max(10, math.ceil(math.sqrt(len(unit) * epsilon / 10) / 4))
    corners = np.minimum((unit * side).astype(np.intp), side - 1)
    order = np.argsort(corners[:, 0] * side + corners[:, 1], kind="stable")
    first = quantized(unit, side).ravel()
    within = np.split((unit * side - corners)[order], np.cumsum(first)[:-1])
    noise = 2 / epsilon

    def publish(generator: np.random.Generator) -> Floats:
        drawn = []
        for cell, own in enumerate(within):
            total = first[cell] + generator.laplace(0, noise)
            parts = max(math.ceil(math.sqrt(max(total, 0) * epsilon / 2 / 5)), 1)
            leaves = quantized(own, parts) + generator.laplace(0, noise, (parts, parts))
            agreed = (parts**2 * total + leaves.sum()) / (parts**2 + 1)
            leaves += (agreed - leaves.sum()) / parts**2
            many = np.maximum(np.round(leaves), 0).astype(np.intp).ravel()
            leaf = np.repeat(np.arange(parts**2), many)
            low = np.column_stack(np.divmod(leaf, parts))
            inside = (low + generator.random(low.shape)) / parts
            drawn.append((inside + np.divmod(cell, side)) / side)
        return np.concatenate(drawn)

    return publish

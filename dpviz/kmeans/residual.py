"""Lloyd's step on residuals: the noise depends on the clusters' width, not on the domain's width.

A record contributes its offset from the nearest centre, in units of a clip radius that comes from
noisy numbers. Count, square and residual together get K-norm noise. This noise grows like the
number d of columns; Laplace noise grows like d^(3/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Labels
from dpviz.data.engine.tables import Tables
from dpviz.grid.counts import tally
from dpviz.kmeans.grid import onto_simplex
from dpviz.kmeans.passes import assigned, residuals
from dpviz.kmeans.records import Records, Rows, Weights
from dpviz.kmeans.space import Space
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import LATTICE

#: Bins of the distances, in units of a cluster's scale; the last bin contains all larger distances.
EDGES = np.geomspace(0.05, 6, 31)
MIDDLES = np.concatenate([[0.025], (EDGES[1:] + EDGES[:-1]) / 2])

#: Budget share of the distances in a step: DISTANCES / (records * epsilon), between these bounds.
DISTANCES, LEAST_SHARE, MOST_SHARE = 30.0, 0.04, 0.25

#: Limits of a cluster's scale, as multiples of the median scale.
NARROWEST, WIDEST = 0.25, 2.5

#: Least scale of a cluster; the box has sides of length 2.
LEAST_SCALE = 1e-4

#: Least mean square of residuals, in clip radii; largest share of it that a move can explain.
LEAST_SQUARE, MOVED = 0.02, 0.9


@dataclass(frozen=True, eq=False)
class Prototypes:
    """Scaled centres (m, d), noisy counts (m,), and root mean square distances (m,) of clusters."""

    centers: Floats
    counts: Floats
    scales: Floats


def spread(scales: Floats) -> Floats:
    """Clip scales to an interval around their median."""
    middle = float(np.median(scales))
    return np.clip(scales, NARROWEST * middle, WIDEST * middle)


def noise_deviation(columns: int, scale: float) -> float:
    """Standard deviation of K-norm noise in D columns, for an entry in [-1, 1]."""
    return math.sqrt((columns + 1) * (columns + 2) / 3) * scale


def length_variance(ball: int, scale: float) -> float:
    """Mean squared length of K-norm noise in d columns of a ball, if there are two more entries.

    With D = d + 2 it is (D + 1) (D + 2) d / (d + 2): the mean square of the Gamma distributed
    radius times the mean square length of a random point in the ball.
    """
    columns = ball + 2
    return ball * (columns + 1) * (columns + 2) / (ball + 2) * scale**2


def residual_step(
    records: Records,
    space: Space,
    accountant: Accountant,
    prototypes: Prototypes,
    *,
    number: int,
    epsilon: float,
    size: float,
    least: float | None = None,
    rows: Rows | None = None,
) -> Prototypes:
    """Move centres to the noisy means of their clusters; ``number`` names the step in the ledger.

    If ``least`` is given, a move is shortened by its share of noise (empirical Bayes); true moves
    have at least ``least`` times the mean square distance. ``rows`` have squared distances, and
    clusters (n,) that depend only on the record and on released numbers (None: nearest).
    """
    d = records.domain.ndim
    centers, m = np.ascontiguousarray(prototypes.centers), len(prototypes.centers)
    times = accountant.neighbours.multiplier
    share = min(max(DISTANCES * times / (size * epsilon), LEAST_SHARE), MOST_SHARE)
    if rows is None:
        rows = records.rows(space).then(partial(_nearest, centers))
    # All clusters have one clip radius: a radius per cluster needs its scale, which has more noise.
    scale = max(float(np.median(prototypes.scales)), LEAST_SCALE)
    (found,) = rows.total(partial(_distances, scale))
    noisy = accountant.laplace(f"distances {number}", found, sensitivity=1, epsilon=share * epsilon)
    left = epsilon - share * epsilon
    noise = times / left
    radius = clip_radius(noisy, size, d, noise * m / size) * scale
    radius = min(radius, 2 * math.sqrt(d))
    (found,) = rows.total(partial(_residuals, centers, radius))
    table = accountant.k_norm(f"residuals {number}", found, ball=d, sensitivity=1, epsilon=left)
    least = None if least is None else least * scale**2
    return _moved(centers, table, radius, noise, least=least)


def _nearest(centers: Floats, points: Floats) -> tuple[NDArray[Any], ...]:
    return (points, *assigned(points, centers))


def _distances(
    scale: float, weights: Weights, points: Floats, labels: Labels, squares: Floats
) -> Tables:
    bins = np.minimum(np.searchsorted(EDGES, np.sqrt(squares) / scale), len(EDGES) - 1)
    return (tally(bins, len(EDGES), weights),)


def _residuals(
    centers: Floats,
    radius: float,
    weights: Weights,
    points: Floats,
    labels: Labels,
    squares: Floats,
) -> Tables:
    return (residuals(points, weights, centers, labels, squares, radius, LATTICE),)


def clip_radius(noisy: Floats, size: float, ndim: int, noise: float) -> float:
    """Radius, in units of the scale, with the least error from noise and from clipping."""
    parts = onto_simplex(noisy, size) / size
    beyond = np.maximum(MIDDLES - EDGES[:, None], 0) @ parts
    return float(EDGES[np.argmin(length_variance(ndim, noise) * EDGES**2 + beyond**2)])


def _moved(
    centers: Floats, table: Floats, radius: float, noise: float, *, least: float | None
) -> Prototypes:
    d = centers.shape[1]
    counts, sums, totals = table[:, 0], table[:, 2:], table[:, 1]
    deviation = noise_deviation(d + 2, noise)
    known = np.maximum(counts, deviation)
    step = sums / known[:, None]
    step *= (radius / np.maximum(np.linalg.norm(step, axis=1), 1))[:, None]
    moved = (step**2).sum(axis=1)
    variances = length_variance(d, noise) * (radius / known) ** 2
    if least is not None:
        signal = max(float(np.average(moved - variances, weights=1 / variances**2)), least)
        step *= (signal / (signal + variances))[:, None]
    # Shrink mean squares towards the common mean square, with the weight of two noisy records.
    mean = max(float(totals.sum()), 0.0) / max(float(counts.sum()), 1.0)
    square = (np.maximum(totals, 0) + 2 * deviation * mean) / (known + 2 * deviation)
    square = np.clip(square, LEAST_SQUARE, 1) * radius**2
    # The records are nearer to the moved centre, by the part of the move that is not noise.
    real = np.maximum(0, 1 - variances / np.maximum(moved, 1e-12))
    square -= np.minimum(moved, MOVED * square) * real
    return Prototypes(np.clip(centers + step, -1, 1), counts, spread(np.sqrt(square)))

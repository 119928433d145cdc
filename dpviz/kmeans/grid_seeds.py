"""Find clusters in noisy counts of a grid, where the noise is too large for a tree with levels.

With many columns the grid covers a random projection of the box to fewer dimensions. The grid's
k-means centres make groups of records; a residual step in all columns estimates the groups' means.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.kmeans.choose_clusters import choose_clusters
from dpviz.kmeans.nested_grid import NestedGrid, nested_grid
from dpviz.kmeans.passes import assigned, projected, squares_to
from dpviz.kmeans.residual import Prototypes, residual_step, spread
from dpviz.kmeans.residual_tree import Seeding, Seeds, mean_noise, most_prototypes, root, settled
from dpviz.kmeans.weighted import k_means

#: Up to WHOLE_BOX columns the grid covers the box, else a projection to DIMENSIONS columns.
WHOLE_BOX, DIMENSIONS = 7, 8

#: Replaces WHOLE_BOX for few records, since a residual step's noise would hide a group's mean.
SPARSE_BOX = 12

#: Shares of the budget for the root, for the grid of a projection, and for the groups' means.
ROOT, GRID, MEANS = 0.1, 0.3, 0.6

#: Groups per cluster; half the width of the projection, in units of the spread of a column.
GROUPS, WIDTH = 1.5, 2.2


def grid_seeds(task: Seeding) -> Seeds:
    """Find K clusters in a grid."""
    records, accountant = task.records, task.accountant
    if records.domain.ndim > (SPARSE_BOX if task.sparse else WHOLE_BOX):
        return _projected(task)
    noise, K, choice = accountant.noise, task.usual, None
    grid = nested_grid(
        records.rows(task.space), records.domain.ndim, accountant,
        epsilon=task.epsilon, clusters=K, size=task.size, sparse=task.sparse,
        most=records.most_cells,
    )  # fmt: skip
    if task.clusters is None:
        choice = choose_clusters(grid.points, int(noise.generator("choice").integers(2**31)))
        K = choice.clusters
    return Seeds(
        clusters=found(grid, K, noise.generator("restarts")),
        size=float(grid.points.weights.sum()),
        steps=0,
        choice=choice,
        grid=grid.cells,
    )


def found(grid: NestedGrid, clusters: int, generator: np.random.Generator) -> Prototypes:
    """Find K clusters of a grid's estimated records by k-means, with their counts and scales."""
    places, weights = grid.points.places, grid.points.weights
    centers = k_means(
        places, weights, clusters, generator, few=grid.means, few_weights=grid.cells.weights
    )
    labels, squares = assigned(places, centers)
    counts = np.bincount(labels, weights, clusters).astype(float)
    errors = np.bincount(labels, weights * squares, clusters)
    return Prototypes(centers, counts, spread(np.sqrt(errors / np.maximum(counts, 1e-9))))


def _projected(task: Seeding) -> Seeds:
    records, space, accountant = task.records, task.space, task.accountant
    epsilon, clusters, size = task.epsilon, task.clusters, task.size
    d, noise = records.domain.ndim, accountant.noise
    times = accountant.neighbours.multiplier
    whole, records_size = root(records, space, accountant, ROOT * epsilon, size)
    room = MEANS * epsilon * records_size / mean_noise(d, times)
    groups = most_prototypes(GROUPS, task.usual, room)
    # Random orthogonal directions, in units of the projection's half-width.
    normal = noise.generator("directions").normal(size=(d, DIMENSIONS))
    directions = np.linalg.qr(normal)[0]
    width = WIDTH * float(whole.scales[0]) / math.sqrt(d)
    scaled = np.ascontiguousarray(directions / width)
    rows = records.rows(space).then(partial(_with_places, whole.centers[0], scaled))
    grid = nested_grid(
        rows.then(_places), DIMENSIONS, accountant,
        epsilon=GRID * epsilon, clusters=groups, size=size, most=records.most_cells,
    )  # fmt: skip
    middles = found(grid, groups, noise.generator("groups")).centers
    start = Prototypes(
        np.clip(whole.centers + middles @ directions.T * width, -1, 1),
        np.zeros(groups),
        np.repeat(whole.scales, groups),
    )
    tree = residual_step(
        records, space, accountant, start,
        number=1, epsilon=MEANS * epsilon, size=records_size,
        rows=rows.then(partial(_grouped, middles, np.ascontiguousarray(start.centers))),
    )  # fmt: skip
    return settled(tree, clusters, accountant, MEANS * epsilon, records_size, 1)


def _with_places(center: Floats, directions: Floats, points: Floats) -> tuple[NDArray[Any], ...]:
    return points, projected(points, center, directions)


def _places(points: Floats, places: Floats) -> tuple[NDArray[Any], ...]:
    return (places,)


def _grouped(
    middles: Floats, centers: Floats, points: Floats, places: Floats
) -> tuple[NDArray[Any], ...]:
    labels = assigned(places, middles)[0]
    return points, labels, squares_to(points, centers, labels)

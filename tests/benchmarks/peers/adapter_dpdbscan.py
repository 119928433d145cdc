"""Adapter for DP-DBSCAN, with the noise, failure probability and cells of its authors.

``clusters`` has its public settings: radius alpha, minimum number of neighbours, and the box. The
points are in the unit of alpha. A row of the answer is a clustered cell: the middle of the cell,
its width and its cluster.
"""

import sys

import numpy as np
from protocol import serve

sys.path.insert(0, sys.argv[2])

from datatype_grid import GridSpace
from datatype_point import Points
from histogram import GridLabels, Histogram, NoisyHistogram, SumHistogram
from noise import get_noise_gen

BETA = 0.5

_KNOWN = {}


def fit(points, clusters, epsilon, seed):
    """Clustered cells of one run with Laplace noise; the number of points is public."""
    low, high = np.array(clusters["low"]), np.array(clusters["high"])
    if not _KNOWN:
        grid = GridSpace(points.shape[1], low, high, clusters["alpha"], 1.0)
        _KNOWN.update(grid=grid, counts=Histogram.build_from_pts(Points(points), grid))
    grid, counts = _KNOWN["grid"], _KNOWN["counts"]
    source = get_noise_gen("Laplace", seed % 2**32, 1, epsilon)
    bound = source.max_sum_noise(BETA, grid.num_grids, grid.kappa)
    # Above two cells a point, its authors keep only noisy counts above a cut.
    excess = grid.num_grids / len(points)
    if excess < 2:
        noisy = NoisyHistogram.naive_build(counts, source, grid.num_grids)
    else:
        cut = np.log(excess) / epsilon if excess > 2 else bound / grid.kappa
        bound += cut * grid.kappa
        noisy = NoisyHistogram.linear_time_build(counts, source, grid.num_grids, cut)
    sums = SumHistogram.build_from_counts(noisy, grid)
    labels = GridLabels.label_high_freq(sums, clusters["least"] + bound)
    labels.merge_neighbors(grid)
    return [
        [*grid.get_low_point_of_grid(grid.decode_from_key(key)) + grid.width / 2, grid.width, one]
        for key, one in sorted(labels.items())
    ]


serve(fit)

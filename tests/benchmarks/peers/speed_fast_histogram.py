"""Measure median CPU seconds of fast-histogram and of the floor, in the peer's environment.

``python speed_fast_histogram.py RECORDS GRID`` prints both times as JSON, for the points of the
benchmark.
"""

import json
import sys
import time
from statistics import median

import numpy as np
from fast_histogram import histogram2d


def seconds(work):
    """Median of seven runs after one warm-up."""
    work()
    times = []
    for _ in range(7):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


records, grid = map(int, sys.argv[1:])
points = np.random.default_rng(0).random((records, 2))
square = [[0, 1], [0, 1]]
peer = seconds(lambda: histogram2d(points[:, 0], points[:, 1], grid, square))
print(json.dumps({"floor": seconds(points.sum), "peer": peer}))

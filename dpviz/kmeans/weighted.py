"""k-means of weighted points: it starts on a few points, swaps centres, and ends on all points."""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.kmeans.passes import fit, loops
from dpviz.kmeans.start import enough, plus_plus

#: Number of starts; failed swaps after which a search ends, on few points and on all points.
STARTS, FEW_SWAPS, SWAPS = 5, 8, 4

#: Points with fewer records than this are left out.
LIGHT = 0.02

#: Largest number of iterations, and least decrease of the error per iteration, as a share.
ITERATIONS, GAIN = 60, 1e-5

#: Distance between two centres in one cluster, in root mean square distances of an average cluster.
APART = 0.3

#: From SEVERAL clusters on, a swap after a failure chooses among CANDIDATES candidates.
SEVERAL, CANDIDATES = 6, 3

#: Least decrease of the error by a swap, as a share of the error.
BETTER = 1e-6


def k_means(
    points: Floats,
    weights: Floats,
    clusters: int,
    generator: np.random.Generator,
    *,
    few: Floats | None = None,
    few_weights: Floats | None = None,
) -> Floats:
    """Centres (K, d) of points (n, d) with weights (n,); starts on representative ``few``."""
    if few is None or few_weights is None:
        few, few_weights = points, weights
    start, start_weights = _heavy(few, few_weights, clusters, generator)
    tried: list[tuple[float, Floats]] = []
    for _ in range(STARTS):
        centers = plus_plus(start, start_weights, clusters, generator, 2 + int(np.log(clusters)))
        tried.append((float(lloyd(start, start_weights, centers)[0].sum()), centers))
    _, best = min(tried, key=itemgetter(0))
    best = swapped(start, start_weights, best, generator, FEW_SWAPS)
    if len(points) == len(few):
        return best
    return swapped(*_heavy(points, weights, clusters, generator), best, generator, SWAPS)


def swapped(
    points: Floats, weights: Floats, centers: Floats, generator: np.random.Generator, failures: int
) -> Floats:
    """Run Lloyd's iteration, then move useless centres into clusters with a large error.

    Ends after ``failures`` moves in a row without a gain. This is k-means-u* (Fritzke 2017, arXiv
    1706.09059) with a random choice among the best candidates.
    """
    best = centers.copy()
    errors, losses = lloyd(points, weights, best)
    clusters, d = best.shape
    failed = 0
    while failed < failures and clusters > 1:
        # The first try uses the best centre of each order; later tries use one of the best centres.
        several = CANDIDATES if clusters >= SEVERAL and failed else 1
        useless = int(np.argsort(losses)[generator.integers(several)])
        worst = int(np.argsort(-errors)[generator.integers(several)])
        if useless == worst:
            failed += 1
            continue
        direction = generator.normal(size=d)
        length = APART * np.sqrt(errors[worst] * clusters / max(weights.sum(), 1e-300))
        offset = length * direction / np.linalg.norm(direction)
        moved = best.copy()
        moved[useless], moved[worst] = best[worst] + offset, best[worst] - offset
        moved_errors, moved_losses = lloyd(points, weights, moved)
        if moved_errors.sum() < errors.sum() * (1 - BETTER):
            best, errors, losses, failed = moved, moved_errors, moved_losses, 0
        else:
            failed += 1
    return best


def _heavy(
    points: Floats, weights: Floats, clusters: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    found, shares = enough(points, np.where(weights > LIGHT, weights, 0), clusters, generator)
    assert shares is not None  # noqa: S101 - there were weights
    return np.ascontiguousarray(found), np.ascontiguousarray(shares)


def lloyd(
    points: Floats, weights: Floats, centers: Floats, most: int = ITERATIONS, least: float = GAIN
) -> tuple[Floats, Floats]:
    """Run Lloyd's iteration in place; return errors and losses before the last step, each (K,).

    Takes finite points, and weights that are not negative. Stops when the gain is below the share
    ``least`` of the error, or after ``most`` iterations. Centres of empty clusters do not move.
    """
    (clusters, ndim), last = centers.shape, np.inf
    room, table = loops().rooms(ndim), np.empty((clusters, 2 + ndim))
    for _ in range(most):
        table[:] = 0
        loops().add_weighted_sums(points, weights, centers, *room, table)
        before = centers.copy()
        error = table[:, 0].cumsum()[-1]  # added up in the same order on every processor
        if error >= last * (1 - least):
            break
        last, full = error, table[:, 1] > 0
        centers[full] = table[full, 2:] / table[full, 1:2]
    return table[:, 0], fit(points, before, weights).losses

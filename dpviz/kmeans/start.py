"""Initial centres in scaled coordinates, chosen without the data or from given points."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.threads import ALONE
from dpviz.kmeans.passes import fit, loops

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

#: With at least this number of points, several threads save time.
MANY = 200_000

#: Tries per centre after which a packing radius is too large (as in Su et al. 2015).
_TRIES = 100
_BISECTIONS = 12

#: In the program of Su et al.: tries per attempt to place a centre; failed attempts after which the
#: program gives up; least and largest number of failed attempts with a good length.
_TRIES_OF_ATTEMPT, _MOST_FAILED, _TOO_EASY, _TOO_HARD = 10, 20, 3, 16

#: Hu et al., Algorithm 3: length of the offset (from the paper); number of retries (our choice).
OFFSET = 0.01
RETRIES = 3

#: Least relative decrease of the error that is more than rounding.
BETTER = 1e-9

#: End of k-means, which the papers do not state: scikit-learn's default steps and tolerance.
STEPS = 300
TOLERANCE = 1e-4


def sphere_packing(clusters: int, ndim: int, generator: np.random.Generator) -> Floats:
    """Random centres (K, d) in [-1, 1]^d that are far from each other and from the border.

    Centres are at least 2a from each other and at least a from the border, for the largest a that
    random placing reaches (Su, Cao, Li, Bertino, Jin 2015, section 3). Uses no data.
    """
    candidates = generator.uniform(-1, 1, (_TRIES * clusters, ndim))
    return _loosest(candidates.tobytes(), clusters, ndim).copy()


@lru_cache(maxsize=64)
def _loosest(drawn: bytes, clusters: int, ndim: int) -> Floats:
    """Packing with the largest radius; cached, because a moving slider needs it many times."""
    candidates = np.frombuffer(drawn).reshape(-1, ndim)
    low, high = 0.0, 1.0
    found = _packed(candidates, clusters, low)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        placed = _packed(candidates, clusters, middle)
        if len(placed) == clusters:
            low, found = middle, placed
        else:
            high = middle
    return found


def _packed(candidates: Floats, clusters: int, radius: float) -> Floats:
    left = candidates * (1 - radius)
    placed: list[Floats] = []
    while len(left) and len(placed) < clusters:
        placed.append(left[0])
        apart = ((left - left[0]) ** 2).sum(axis=1) >= (2 * radius) ** 2
        apart[0] = False
        left = left[apart]
    return np.array(placed)


def spread(clusters: int, ndim: int, generator: np.random.Generator) -> Floats:
    """Random centres (K, d) in [-1, 1]^d at least 2a from each other and at least a from corners.

    With this a, some attempts of ten tries fail, but fewer than 17. It is smaller than the a of
    :func:`sphere_packing`. From the program of Su, Cao, Li, Bertino, Jin 2016
    (github.com/DongSuIBM/PrivKmeans). Uses no data.
    """
    low, high = 0.0, float(np.sqrt(ndim))
    found = uniform(clusters, ndim, generator)
    while low < (middle := (low + high) / 2) < high:
        placed, failed = _attempts(clusters, ndim, middle, generator)
        if len(placed) == clusters:
            found = placed
        if failed < _TOO_EASY:
            low = middle
        elif failed > _TOO_HARD:
            high = middle
        else:
            break
    return found


def _attempts(
    clusters: int, ndim: int, radius: float, generator: np.random.Generator
) -> tuple[Floats, int]:
    placed, failed = np.empty((0, ndim)), 0
    while len(placed) < clusters and failed < _MOST_FAILED:
        tries = generator.uniform(-1, 1, (_TRIES_OF_ATTEMPT, ndim))
        free = ((1 - np.abs(tries)) ** 2).sum(axis=1) >= radius**2
        gaps = ((tries[:, None] - placed) ** 2).sum(axis=2)
        free &= (gaps >= (2 * radius) ** 2).all(axis=1)
        if free.any():
            placed = np.vstack([placed, tries[free][:1]])
        else:
            failed += 1
    return placed, failed


def uniform(clusters: int, ndim: int, generator: np.random.Generator) -> Floats:
    """Centres (K, d) anywhere in [-1, 1]^d, "random" in the papers. Uses no data."""
    return generator.uniform(-1, 1, (clusters, ndim))


def drawn(
    points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
) -> Floats:
    """K of the points (n, d), sampled by weight without replacement; leaks these points.

    Hu et al., Algorithm 1, line 2, which does not state from which points the k points are chosen.
    """
    points, weights = enough(points, weights, clusters, generator)
    chances = None if weights is None else weights / weights.sum()
    return points[generator.choice(len(points), clusters, replace=False, p=chances)]


def plus_plus(
    points: Floats,
    weights: Floats | None,
    clusters: int,
    generator: np.random.Generator,
    tries: int = 1,
) -> Floats:
    """Centres (K, d) by D^2 sampling from points (n, d) (Arthur 2007); leaks these points.

    Each centre is the best of ``tries`` sampled points (Hu et al., Algorithm 2). scikit-learn
    samples the same points, but its matrix products use threads that wait longer than they
    multiply. These threads can't be limited for one session.
    """
    points, weights = enough(points, weights, clusters, generator)
    if weights is None:
        weights = np.ones(len(points))
    draws = np.random.RandomState(int(generator.integers(2**31)))
    first = draws.choice(len(points), p=weights / weights.sum())
    shares = draws.uniform(size=(clusters - 1, tries))
    chosen, room = np.empty(clusters, dtype=np.int64), np.empty((4, len(points)))
    loops().plus_plus(np.ascontiguousarray(points), weights, first, shares, room, chosen)
    return points[chosen]


def utility_plus(
    points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
) -> Floats:
    """k-means++ and k-means, then the least useful centre moves to the worst cluster.

    The centre whose removal increases the error least moves next to the centre with the largest
    error. Then k-means runs again, and the better result is kept. This is repeated until more than
    ``RETRIES`` failures in a row.

    Hu et al., Algorithm 3, which is k-means-u* of Fritzke 2017, arXiv 1706.09059. Line 9 has argmin
    for the largest error, and line 25 would discard the best centres; this function follows the
    text. The search also ends if the least useful centre belongs to the worst cluster (not in the
    paper).
    """
    points, weights = enough(points, weights, clusters, generator)
    best = converged(points, weights, plus_plus(points, weights, clusters, generator))
    found = fit(points, best, weights)
    failures = 0
    while failures <= RETRIES and clusters > 1:
        useless, worst = int(np.argmin(found.losses)), int(np.argmax(found.errors))
        if useless == worst:
            break
        step = OFFSET * np.sqrt(found.errors[worst] / max(found.counts[worst], 1e-300))
        direction = generator.normal(size=points.shape[1])
        offset = step * direction / np.linalg.norm(direction)
        moved = best.copy()
        moved[useless], moved[worst] = best[worst] + offset, best[worst] - offset
        moved = converged(points, weights, moved)
        tried = fit(points, moved, weights)
        if tried.errors.sum() < found.errors.sum() * (1 - BETTER):
            best, found, failures = moved, tried, 0
        else:
            failures += 1
    return best


def converged(points: Floats, weights: Floats | None, centers: Floats) -> Floats:
    """Run scikit-learn's k-means from given centres (K, d) until it converges."""
    return best_of(points, weights, len(centers), 0, start=centers)


def best_of(
    points: Floats,
    weights: Floats | None,
    clusters: int,
    seed: int,
    *,
    restarts: int = 1,
    start: Floats | None = None,
) -> Floats:
    """Centres (K, d) of the best of several runs of scikit-learn's k-means; some may be equal."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(
        clusters,
        init="k-means++" if start is None else start,
        n_init=restarts,
        max_iter=STEPS,
        tol=TOLERANCE,
        random_state=seed,
    )
    # With few points, threads cost time; on a busy machine, they may wait a second for each other.
    threads = None if len(points) > MANY and not ALONE.get() else 1
    with warnings.catch_warnings(), _threads().limit(limits=threads, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points, sample_weight=weights)
    return np.asarray(model.cluster_centers_)


@cache
def _threads() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def enough(
    points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
) -> tuple[Floats, Floats | None]:
    """Points with positive weight; if they are fewer than K, also points with a tiny weight."""
    if weights is not None:
        points, weights = points[weights > 0], weights[weights > 0]
    missing = clusters - len(points)
    if missing <= 0:
        return points, weights
    given = np.ones(len(points)) if weights is None else weights
    points = np.vstack([points, sphere_packing(missing, points.shape[1], generator)])
    return points, np.concatenate([given, np.full(missing, 1e-9)])

"""Initial centres, in scaled coordinates: without the data, or from points that are given."""

from __future__ import annotations

import warnings
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.kmeans.passes import fit, loops

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

#: From as many points on, several threads pay.
MANY = 200_000

#: Tries per centre before a packing radius counts as too large (Su et al. 2015 give up too).
_TRIES = 100
_BISECTIONS = 12

#: Hu et al., Algorithm 3: length of the offset, in root mean square distances, as printed; number
#: of retries, which the paper leaves open.
OFFSET = 0.01
RETRIES = 3

#: A smaller error is an improvement from this share on: less is rounding.
BETTER = 1e-9

#: Where k-means ends, which papers leave open: scikit-learn's own largest number of steps, and
#: movement of the centres as a share of the variance.
STEPS = 300
TOLERANCE = 1e-4


def sphere_packing(clusters: int, ndim: int, generator: np.random.Generator) -> Floats:
    """Random centres (K, d) in [-1, 1]^d that keep away from each other and from the border.

    Centres lie at least 2a apart and a from the border, the largest a for which random
    placing succeeds being found by bisection. Looks at no data.

    Notes
    -----
    Su, Cao, Li, Bertino, Jin 2015, section 3.
    """
    candidates = generator.uniform(-1, 1, (_TRIES * clusters, ndim))
    return _loosest(candidates.tobytes(), clusters, ndim).copy()


@lru_cache(maxsize=64)
def _loosest(drawn: bytes, clusters: int, ndim: int) -> Floats:
    """Packing with the largest radius; a drag of epsilon asks for that of one seed many times."""
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
    """First candidates, drawn away from the border by the radius, that are 2 radii apart."""
    left = candidates * (1 - radius)
    placed: list[Floats] = []
    while len(left) and len(placed) < clusters:
        placed.append(left[0])
        apart = ((left - left[0]) ** 2).sum(axis=1) >= (2 * radius) ** 2
        apart[0] = False
        left = left[apart]
    return np.array(placed)


def uniform(clusters: int, ndim: int, generator: np.random.Generator) -> Floats:
    """Centres (K, d) anywhere in [-1, 1]^d: "random" of the papers. Looks at no data."""
    return generator.uniform(-1, 1, (clusters, ndim))


def drawn(
    points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
) -> Floats:
    """K of the points (n, d), drawn by their weights without replacement; leaks them.

    Notes
    -----
    Hu et al., Algorithm 1, line 2, which does not say what the k points are drawn from.
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
    """Centres (K, d) by D^2 sampling from points (n, d), which it leaks (Arthur 2007).

    Of so many tries for each centre, the point with the least error is taken.

    Notes
    -----
    Hu et al., Algorithm 2. By our own hand, draw for draw as scikit-learn does it with as many
    tries: its products use threads, which for so few columns wait longer for each other than they
    multiply, and their number can't be limited for one session alone.
    """
    points, weights = enough(points, weights, clusters, generator)
    if weights is None:
        weights = np.ones(len(points))
    draws = np.random.RandomState(int(generator.integers(2**31)))
    first = draws.choice(len(points), p=weights / weights.sum())
    shares = draws.uniform(size=(clusters - 1, tries))
    chosen: NDArray[np.int64] = loops().plus_plus(
        np.ascontiguousarray(points), weights, first, shares
    )
    return points[chosen]


def utility_plus(
    points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
) -> Floats:
    """k-means++ and k-means, then the least useful centre moves to where the error is largest.

    The least useful centre is the one without which the error grows least. It is put beside the
    centre of the cluster with the largest error, k-means runs again, and the better result stays;
    after more than ``RETRIES`` failures in a row that is the start, shape (K, d). Points are
    records, or cells of a noisy grid with their weights.

    Notes
    -----
    Hu et al., Algorithm 3 (its line 9 prints argmin for the largest error; its line 25 would
    throw the best centres away: both are read as the text means them), which is k-means-u* of
    Fritzke 2017, arXiv 1706.09059. Ends where the least useful centre is the worst cluster's own,
    a case that the paper leaves open.
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
    """k-means from given centres (K, d) to convergence, by scikit-learn."""
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
    """Centres (K, d) of the best of several k-means runs, by scikit-learn.

    Where there are fewer distinct points than clusters, centres repeat.
    """
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
    # The threads of small fits cost more than they save, and on a busy machine stand in each
    # other's way for a second.
    threads = None if len(points) > MANY else 1
    with warnings.catch_warnings(), _threads().limit(limits=threads, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points, sample_weight=weights)
    centers: Floats = model.cluster_centers_
    return centers


@cache
def _threads() -> ThreadpoolController:
    """Controller of scikit-learn's threads, once scikit-learn is there."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def enough(
    points: Floats, weights: Floats | None, clusters: int, generator: np.random.Generator
) -> tuple[Floats, Floats | None]:
    """Points that weigh something; made up to K of them by ones that weigh next to nothing."""
    if weights is not None:
        points, weights = points[weights > 0], weights[weights > 0]
    missing = clusters - len(points)
    if missing <= 0:
        return points, weights
    given = np.ones(len(points)) if weights is None else weights
    points = np.vstack([points, sphere_packing(missing, points.shape[1], generator)])
    return points, np.concatenate([given, np.full(missing, 1e-9)])

"""The best k-means clustering that a search finds: the reference for every private result.

Most local optima have one centre too many in one place and one too few in another. So the search
moves the centre with the smallest loss to the cluster with the largest gain; random moves follow.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from dpviz.base.arrays import Floats, Labels
from dpviz.kmeans.passes import loops
from dpviz.kmeans.start import plus_plus

#: Largest number of records that the search uses; with more records it uses samples.
SAMPLE = 2**15

#: Sample size, number of chains, moves per chain of each level, which continues the level before.
_LEVELS = ((2**12, 6, 25), (SAMPLE, 2, 8))

#: Limit for chains times clusters and for moves times clusters, since these may take seconds.
_MOST = 2_500

#: Minimum number of records per cluster in a chain.
_PER_CLUSTER = 64

#: Number of moves of a centre that may fail in a row: in the search, and after a random move.
_TRIES, _FEW = 10, 3

#: Lloyd's iteration ends at this decrease (share of the error) or after this number of iterations.
_ROUGH, _FINE, _EXACT = (1e-4, 20), (1e-6, 200), (0.0, 10_000)

#: A relative gain below this limit is a rounding error.
_ROUNDING = 1e-7


_error = attrgetter("error")


@dataclass(frozen=True, eq=False)
class _Found:
    """Centres (K, d), index of each point's nearest centre (n,), and error of the centres."""

    centers: Floats
    labels: Labels
    error: float


def optimum(points: Floats, clusters: int) -> Floats:
    """Search for centres (K, d) with the smallest sum of squared distances to points (n, d).

    The result is deterministic; some centres are equal if there are fewer distinct points. This is
    an iterated local search: a step moves a centre to split another cluster (Hu et al., Algorithm
    3); random moves are as in random swap (Fränti 2018).
    """
    generator = np.random.default_rng(0)
    begun: list[Floats | None] = [None] * _LEVELS[0][1]
    for level, (size, chains, kicks) in enumerate(_LEVELS, start=1):
        size = max(size, _PER_CLUSTER * clusters)
        # The best chain on its own sample may not be best on all records: compare on more records.
        judge = points if level == len(_LEVELS) else _sample(points, _LEVELS[level][0], generator)
        kicks = min(kicks, _MOST // clusters) if clusters > 1 else 0
        chains = max(min(chains, _MOST // clusters), 1)
        chain = partial(_chain, points, judge, size, clusters, kicks)
        with ThreadPoolExecutor() as threads:
            found = list(threads.map(chain, begun[:chains], generator.spawn(chains)))
        found.sort(key=_error)
        begun = [one.centers for one in found]
    best = _swapped(points, found[0], _TRIES)
    return _lloyd(points, best.centers, _EXACT, best.labels).centers


def descended(points: Floats, centers: Floats) -> Floats:
    """Local optimum (K, d) of Lloyd's iteration; its error is at most the given centres' error."""
    return _lloyd(points, centers, _EXACT).centers


def _sample(points: Floats, size: int, generator: np.random.Generator) -> Floats:
    if len(points) <= size:
        return points
    return points[generator.choice(len(points), size, replace=False)]


def _lloyd(
    points: Floats,
    centers: Floats,
    effort: tuple[float, int],
    labels: Labels | None = None,
    goal: float = np.inf,
) -> _Found:
    centers = centers.copy()
    labels = np.zeros(len(points), dtype=np.int32) if labels is None else labels.copy()
    tables = loops().tables(*centers.shape)
    loops().squared_radii(points, centers, labels, tables[0])
    return _Found(centers, labels, loops().lloyd(points, centers, labels, *effort, goal, *tables))


def _chain(
    points: Floats,
    judge: Floats,
    size: int,
    clusters: int,
    kicks: int,
    centers: Floats | None,
    generator: np.random.Generator,
) -> _Found:
    """Search on a sample: repeatedly move one or two of the best centres to random points."""
    seen = _sample(points, size, generator)
    if centers is None:
        few = _sample(seen, max(1024, 20 * clusters), generator)
        centers = plus_plus(few, None, clusters, generator)
    best = _swapped(seen, _lloyd(seen, centers, _ROUGH), _TRIES)
    for kick in range(kicks):
        kicked, moved = best.centers.copy(), 1 + kick % 2
        places = generator.integers(len(seen), size=moved)
        kicked[generator.integers(clusters, size=moved)] = seen[places]
        found = _swapped(seen, _lloyd(seen, kicked, _ROUGH, best.labels), _FEW)
        found = _lloyd(seen, found.centers, _FINE, found.labels, best.error)
        best = min(best, found, key=_error)
    return _lloyd(judge, best.centers, _FINE)


def _swapped(points: Floats, best: _Found, tries: int) -> _Found:
    while True:
        second, losses, gains, halves = prospects(points, best.centers, best.labels)
        # The best ``tries`` pairs consist of these sources and targets.
        sources, targets = np.argsort(losses)[: tries + 1], np.argsort(-gains)[: tries + 1]
        worth = gains[targets] - losses[sources, None]
        for move in np.argsort(-worth, axis=None)[:tries]:
            source, target = sources[move // len(targets)], targets[move % len(targets)]
            if source == target or gains[target] == 0:
                continue
            centers = best.centers.copy()
            centers[[source, target]] = halves[target]
            labels = np.where(best.labels == source, second, best.labels)
            found = _lloyd(points, centers, _ROUGH, labels, best.error)
            if found.error < best.error * (1 - _ROUNDING):
                best = found
                break
        else:
            return best


def prospects(
    points: Floats, centers: Floats, labels: Labels
) -> tuple[Labels, Floats, Floats, Floats]:
    """Second nearest centres (n,); losses (K,) and gains (K,), for ranking; halves (K, 2, d)."""
    K, d = centers.shape
    second, losses, gains = np.zeros(len(points), dtype=np.int32), np.zeros(K), np.zeros(K)
    halves = np.zeros((K, 2, 1 + d))
    radii, numbers, apart, spread = loops().tables(K, d)
    loops().squared_radii(points, centers, labels, radii)
    loops().neighbours(centers, radii, numbers, apart)
    np.sqrt(apart, out=apart)
    loops().prospects(points, centers, labels, numbers, apart, spread, second, losses, halves)
    counts, means = halves[:, :, 0], halves[:, :, 1:]
    split = (counts > 0).all(axis=1)
    means[split] /= counts[split][:, :, None]
    one, other = counts[split].T
    # A running sum adds in a fixed order, for any number of columns.
    between = ((means[split, 0] - means[split, 1]) ** 2).cumsum(axis=1)[:, -1]
    gains[split] = one * other / (one + other) * between
    return second, losses, gains, means

"""Choose the number of clusters K from noisy counts: reads no records, so it costs no budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices
from dpviz.kmeans.passes import fit, nearest
from dpviz.kmeans.start import best_of

#: Smallest and largest number of clusters that are tried.
LEAST, MOST = 2, 40

#: If K is chosen from a synopsis, the synopsis is designed for this number of clusters.
USUAL = 8

#: Number of groups of points, per cluster of the largest K tried; groups are joined into clusters.
_GROUPS = 3

#: Largest number of points; for a fast slider, more points are first merged in cells.
_POINTS = 2**13

#: A group is ignored if its noisy count is at most SOME standard deviations of its noise. A K is
#: refused if a cluster's count is below SURE standard deviations: noise makes small, far clusters.
SOME, SURE = 1.0, 3.0

#: Number of Lloyd iterations after each join.
_STEPS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyPoints:
    """Noisy counts (m,) of records at scaled places (m, d), with the variances of their noise.

    ``weights`` are estimated numbers of records, at least 0; a search for clusters uses them.
    """

    places: Floats
    weights: Floats
    counts: Floats
    variances: Floats

    def coarse(self, most: int) -> NoisyPoints:
        """Merge the points of a cell at their centre of mass; a grid has at most ``most`` cells."""
        m, d = self.places.shape
        side = int(most ** (1 / d) + 1e-9)
        if m <= most or side < 2:
            return self
        cells = np.clip(((self.places + 1) * (side / 2)).astype(np.int64), 0, side - 1)
        numbers = np.ravel_multi_index(tuple(cells.T), (side,) * d)
        _, numbers = np.unique(numbers, return_inverse=True)
        # The small constant gives cells without weight a centre of mass, too.
        shares = self.weights + 1e-9
        total = np.bincount(numbers, shares)
        places = [np.bincount(numbers, shares * axis) / total for axis in self.places.T]
        return NoisyPoints(
            places=np.stack(places, axis=1),
            weights=_sums(numbers, self.weights),
            counts=_sums(numbers, self.counts),
            variances=_sums(numbers, self.variances),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterChoice:
    """The chosen K, and for every K tried: centres (K, d), silhouettes, surest (m,).

    ``silhouettes`` are means over all noisy points, ``least`` those over the worst cluster.
    ``surest`` are smallest counts, in standard deviations. ``stands``: clusters exceed the noise.
    """

    clusters: int
    tried: Indices
    centers: tuple[Floats, ...]
    silhouettes: Floats
    least: Floats
    surest: Floats
    stands: bool

    @property
    def words(self) -> str:
        """A sentence that states the choice and its price."""
        chosen = f"K = {self.clusters} was chosen from the noisy counts"
        hidden = "" if self.stands else f"; noise hides whether there are more than {LEAST}"
        return f"{chosen}, which are released anyway: this choice cost no further ε{hidden}."


#: The choice if noise hides all clusters.
NOTHING = ClusterChoice(
    clusters=LEAST,
    tried=np.empty(0, dtype=np.intp),
    centers=(),
    silhouettes=np.empty(0),
    least=np.empty(0),
    surest=np.empty(0),
    stands=False,
)


def choose_clusters(points: NoisyPoints, seed: int, most: int = MOST) -> ClusterChoice:
    """Choose the number of clusters that are best separated, among the numbers that noise allows.

    Our method. k-means with many centres makes groups of the places in [-1, 1]^d. Groups within
    ``SOME`` standard deviations of 0 are ignored; the others are joined pair by pair (Ward 1963),
    with Lloyd's iteration after each join. A K is allowed if the noisy count around each centre,
    including ignored groups, exceeds 0 by ``SURE`` standard deviations. The chosen K has the
    largest sum of two simplified silhouettes: the mean over all records and the mean over the worst
    cluster. K is 2 if noise hides whether there are two clusters.
    """
    points = points.coarse(_POINTS)
    heavy = points.weights > 0
    if min(heavy.sum(), most) < LEAST:
        return NOTHING
    places, weights = points.places[heavy], points.weights[heavy]
    groups = best_of(places, weights, min(_GROUPS * most, len(places)), seed)
    # Empty points are included, because they balance the noise that made other counts too large.
    owner = nearest(points.places, groups)
    counts, variances = (
        _sums(owner, each, len(groups)) for each in (points.counts, points.variances)
    )
    own = owner[heavy]
    sizes = _sums(own, weights, len(groups))
    kept = (sizes > 0) & (counts > SOME * np.sqrt(variances))
    if kept.sum() < LEAST:
        return NOTHING
    places, weights = places[kept[own]], weights[kept[own]]
    tried, places_of, silhouettes, least, surest = [], [], [], [], []
    for K, labels in _joins(groups[kept], sizes[kept], min(most, int(kept.sum()))):
        centers = _settled(groups[kept], sizes[kept], labels, K)
        # These counts are sums over all groups, including the ignored groups.
        region = nearest(groups, centers)
        count, variance = (_sums(region, each, K) for each in (counts, variances))
        tried.append(K)
        places_of.append(centers)
        found = fit(places, centers, weights)
        silhouettes.append(found.contours.sum() / weights.sum())
        least.append((found.contours / np.where(found.counts > 0, found.counts, 1)).min())
        # A cluster that lost all its groups has count 0 and variance 0.
        surest.append((count / np.sqrt(np.maximum(variance, 1e-300))).min())
    # Reverse the order, because the joins started with many clusters and ended with few clusters.
    mean, worst, sure = (np.array(each)[::-1] for each in (silhouettes, least, surest))
    best = int(np.argmax(np.where(sure >= SURE, mean + worst, -np.inf)))
    stands = bool((sure >= SURE).any())
    return ClusterChoice(
        clusters=tried[::-1][best] if stands else LEAST,
        tried=np.array(tried)[::-1],
        centers=tuple(reversed(places_of)),
        silhouettes=mean,
        least=worst,
        surest=sure,
        stands=stands,
    )


def _sums(labels: NDArray[np.integer], values: Floats, size: int = 0) -> Floats:
    return np.bincount(labels, values, size).astype(np.float64)


def _joins(places: Floats, weights: Floats, most: int) -> list[tuple[int, Indices]]:
    places, weights = places.copy(), weights.copy()
    labels = np.arange(len(places))
    costs = _cost(places[:, None], weights[:, None], places, weights)
    np.fill_diagonal(costs, np.inf)
    found = []
    for K in range(len(places), LEAST - 1, -1):
        if most >= K:
            found.append((K, np.unique(labels, return_inverse=True)[1]))
        one, other = divmod(int(np.argmin(costs)), len(places))
        total = weights[one] + weights[other]
        places[one] = (weights[one] * places[one] + weights[other] * places[other]) / total
        weights[one] = total
        labels[labels == other] = one
        gone = ~np.isfinite(costs[one])
        row = _cost(places[one], weights[one], places, weights)
        row[gone] = row[other] = np.inf
        costs[other] = costs[:, other] = np.inf
        costs[one] = costs[:, one] = row
    return found


def _cost(place: Floats, weight: Floats, places: Floats, weights: Floats) -> Floats:
    squares = ((place - places) ** 2).sum(axis=-1)
    return np.asarray(weight * weights / (weight + weights) * squares)


def _settled(places: Floats, weights: Floats, labels: Indices, clusters: int) -> Floats:
    centers = np.empty((clusters, places.shape[1]))
    for step in range(_STEPS + 1):
        total = np.bincount(labels, weights, clusters)
        filled = total > 0
        for axis in range(places.shape[1]):
            sums = np.bincount(labels, weights * places[:, axis], clusters)
            centers[filled, axis] = sums[filled] / total[filled]
        moved = nearest(places, centers).astype(np.intp)
        if step == _STEPS or (moved == labels).all():
            break
        labels = moved
    return centers

"""EUGkM, Hybrid, GUPT and PrivGene again, in plain NumPy.

These programs follow the papers and the authors' code, and use no code of the package. Records are
in [-1, 1]^d; each function returns K centres. EUGkM is as in github.com/DongSuIBM/PrivKmeans.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def squares(points: Floats, centers: Floats) -> Floats:
    """Squared distances of all points to all centres."""
    return ((points[:, None] - centers[None]) ** 2).sum(axis=2)


def in_box(points: Floats) -> Floats:
    """Records scaled to [-1, 1]^d by their range."""
    low, high = points.min(axis=0), points.max(axis=0)
    scaled: Floats = 2 * (points - low) / (high - low) - 1
    return scaled


def nicv(points: Floats, centers: Floats) -> float:
    """Normalized intra-cluster variance, in a cube of side 1."""
    return float(squares(points, centers).min(axis=1).mean()) / 4


# -- EUGkM and Hybrid ----------------------------------------------------------------------


def eugkm(points: Floats, clusters: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """One run of k-means on the noisy counts of a uniform grid."""
    n, d = points.shape
    cells = (n * epsilon / 10) ** (2 * d / (2 + d))
    up, down = math.ceil(cells ** (1 / d)), math.floor(cells ** (1 / d))
    raised = next((one for one in range(1, d) if up**one * down ** (d - one) > cells), d)
    sides = [up] * raised + [down] * (d - raised)
    counts, edges = np.histogramdd(points, bins=sides, range=[(-1, 1)] * d)
    weights = counts.ravel() + rng.laplace(scale=1 / epsilon, size=counts.size)
    middles = [(edge[1:] + edge[:-1]) / 2 for edge in edges]
    places = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, d)
    return weighted_kmeans(places, weights, far_apart(clusters, d, rng))


def far_apart(clusters: int, d: int, rng: np.random.Generator) -> Floats:
    """Random centres at least ``2 * radius`` from each other, and ``radius`` from the corners."""
    low, high = 0.0, math.sqrt(d)
    while True:
        radius = (low + high) / 2
        centers: list[Floats] = []
        failed = 0
        while failed < 20 and len(centers) < clusters:
            for _ in range(10):
                one = rng.uniform(-1, 1, d)
                at_corner = np.linalg.norm(one - np.where(one < 0, -1, 1)) < radius
                if not at_corner and all(
                    np.linalg.norm(one - other) >= 2 * radius for other in centers
                ):
                    centers.append(one)
                    break
            else:
                failed += 1
        if failed < 3:
            low = radius
        elif failed > 16:
            high = radius
        else:
            return np.array(centers)


def weighted_kmeans(places: Floats, weights: Floats, centers: Floats) -> Floats:
    """At most 101 Lloyd iterations, until the movement changes by less than a millionth."""
    last, movement, loops, before = math.inf, float(((centers + 1) ** 2).sum()), 0, centers
    while abs(last - movement) >= 1e-6 and loops <= 100:
        before, last = centers, movement
        owner = squares(places, before).argmin(axis=1)
        means = []
        for k in range(len(before)):
            own = owner == k
            total = weights[own].sum()
            mean = (places[own] * weights[own, None]).sum(axis=0)
            means.append(np.clip(mean / total if total else mean, -1, 1))
        centers = np.array(means)
        movement = float(((centers - before) ** 2).sum())
        loops += 1
    return before


def hybrid(points: Floats, clusters: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """EUGkM, then a noisy iteration with half of the budget if this half is at least the bound."""
    n, d = points.shape
    bound = math.sqrt(500 * clusters**3 * (d + (4 * d * 0.225**2) ** (1 / 3)) ** 3) / n
    if epsilon / 2 < bound:
        return eugkm(points, clusters, epsilon, rng)
    centers = eugkm(points, clusters, epsilon / 2, rng)
    owner, scale = squares(points, centers).argmin(axis=1), (d + 1) / (epsilon / 2)
    counts = np.bincount(owner, minlength=clusters) + rng.laplace(scale=scale, size=clusters)
    sums = np.array([points[owner == k].sum(axis=0) for k in range(clusters)])
    sums += rng.laplace(scale=scale, size=sums.shape)
    return np.clip(sums / counts[:, None], -1, 1)


# -- GUPT ----------------------------------------------------------------------------------


def gupt(points: Floats, clusters: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """Noisy average of the ordered centres of N^0.4 slices of the list."""
    n, d = points.shape
    parts = np.array_split(points, round(n**0.4))
    found = []
    for part in parts:
        tries = [kmeans(part, clusters, rng) for _ in range(10)]
        best = np.clip(min(tries, key=lambda one: nicv(part, one)), -1, 1)
        found.append(best[np.lexsort(best.T[::-1])])
    scale = 2 * clusters * d / (epsilon * len(parts))
    noise = rng.laplace(scale=scale, size=(clusters, d))
    return np.clip(np.mean(found, axis=0) + noise, -1, 1)


def kmeans(points: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """Lloyd's iteration from random points until nothing moves."""
    centers = points[rng.choice(len(points), clusters, replace=False)]
    while True:
        owner = squares(points, centers).argmin(axis=1)
        means = [
            points[owner == k].mean(axis=0) if (owner == k).any() else centers[k]
            for k in range(clusters)
        ]
        if np.allclose(means, centers):
            return centers
        centers = np.array(means)


# -- PrivGene ------------------------------------------------------------------------------


def privgene(points: Floats, clusters: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """200 sets of centres evolve; an exponential mechanism picks ten sets, and in the end one."""
    n, d = points.shape
    generations = max(8, int(n * epsilon / 8000))
    sets = rng.uniform(-1, 1, (200, clusters, d))
    for generation in range(generations):
        last = generation == generations - 1
        parents = chosen(points, sets, 1 if last else 10, epsilon / generations, rng)
        if last:
            return parents[0]
        children = []
        for _ in range(190):
            one, other = rng.choice(10, 2, replace=False)
            cut = rng.integers(clusters)
            child = np.concatenate([parents[one, :cut], parents[other, cut:]])
            child[rng.integers(clusters)] += rng.normal(0, 0.2 * 0.95**generation, d)
            children.append(np.clip(child, -1, 1))
        sets = np.concatenate([parents, children])
    raise AssertionError("there is a last generation")


def chosen(
    points: Floats, sets: Floats, number: int, epsilon: float, rng: np.random.Generator
) -> Floats:
    """Pick different sets by an exponential mechanism; a small sum of squares is a good score."""
    scores = np.array([-squares(points, one).min(axis=1).sum() for one in sets])
    left = list(range(len(sets)))
    most = difference(sets)
    for _ in range(number):
        logs = scores[left] * epsilon / number / (2 * most)
        chances = np.exp(logs - logs.max())
        left.remove(rng.choice(left, p=chances / chances.sum()))
    return sets[[one for one in range(len(sets)) if one not in left]]


def difference(sets: Floats) -> float:
    """Largest difference of the squared distances from a point of the box to two sets."""
    farthest = ((1 + np.abs(sets)) ** 2).sum(axis=2).min(axis=1)
    corners = [(one**2 - sets**2 + 2 * np.abs(one - sets)).sum(axis=2).max(axis=1) for one in sets]
    return float(np.minimum(corners, farthest[:, None]).max())

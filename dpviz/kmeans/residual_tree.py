"""A tree of residual steps: it finds K centres if there are many columns and many records.

The root is the mean of all records. Each level splits the widest prototypes first and moves the
parts. k-means on the last level gives K centres, which further residual steps improve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.data.engine.tables import Tables
from dpviz.kmeans.choose_clusters import MOST, USUAL, ClusterChoice, NoisyPoints, choose_clusters
from dpviz.kmeans.grid import NoisyGrid, onto_simplex
from dpviz.kmeans.nested_grid import Estimate
from dpviz.kmeans.passes import assigned
from dpviz.kmeans.records import Records, Weights
from dpviz.kmeans.residual import Prototypes, noise_deviation, residual_step
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import sphere_packing
from dpviz.kmeans.weighted import k_means
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import LATTICE, on_lattice

#: Largest number of prototypes per cluster, and per ``room``; budget share of the last level.
PER_CLUSTER, ROOM, TREE_NOISE = 4.0, 0.75, 0.55

#: A limit above this share of the number of clusters is replaced by the number of clusters.
NEARLY = 0.6

#: Number of prototypes of a level divided by the number of the level before.
GROWTH = 3.0

#: Budget of a level or last step divided by the budget of the level or step before.
LEVEL_GROWTH, LAST_GROWTH = 2.0, 1.5

#: Distance of parts from a split prototype, and scale of parts, in units of the prototype's scale.
OFFSET, PART_SCALE = 0.5, 0.9

#: Largest distance of parts if there are fewer prototypes than clusters, so that some are split.
LAST_OFFSET = 0.7

#: Least mean square of the root, as a share of the largest possible mean square.
LEAST_SQUARE = 0.02

#: Number of points that represent a prototype when K is chosen.
DRAWN = 30

#: Relocation: largest share of the clusters that can move, offset and scale of both halves.
RELOCATED, HALF_OFFSET, HALF_SCALE = 0.2, 0.05, 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class Seeds:
    """Clusters before the last steps: noisy size, steps so far, choice of K, grid of the box."""

    clusters: Prototypes
    size: float
    steps: int
    choice: ClusterChoice | None
    grid: NoisyGrid | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Seeding:
    """Input for K clusters, before the last steps; K is None if it is chosen from released numbers.

    If ``sparse``, the cells of a grid have few records compared with the noise.
    """

    records: Records
    space: Space
    accountant: Accountant
    epsilon: float
    clusters: int | None
    size: Estimate
    sparse: bool = False

    @property
    def usual(self) -> int:
        """K, or a typical number as long as K is not chosen."""
        return self.clusters or USUAL


def mean_noise(ndim: int, times: int) -> float:
    """Noise of a cluster's mean, in clip radii, times records and epsilon."""
    return math.sqrt(ndim * (ndim + 3)) * times


def most_prototypes(per_cluster: float, clusters: int, room: float) -> int:
    """Return the number of prototypes that exceed the noise, up to ``per_cluster`` per cluster.

    ``room`` is records times epsilon divided by the noise of a mean.
    """
    most = int(max(min(per_cluster * clusters, ROOM * room), 1))
    return clusters if NEARLY * clusters < most < clusters else most


def residual_tree(task: Seeding) -> Seeds:
    """Find K clusters with a tree of residual steps."""
    records, space, accountant = task.records, task.space, task.accountant
    d, K, noise = records.domain.ndim, task.usual, accountant.noise
    times = accountant.neighbours.multiplier
    room = TREE_NOISE * task.epsilon * task.size.value / mean_noise(d, times)
    most = most_prototypes(PER_CLUSTER, K, room)
    levels = math.ceil(math.log(most) / math.log(GROWTH) - 1e-9) + 1
    shares = geometric(task.epsilon, LEVEL_GROWTH, levels)
    tree, records_size = root(records, space, accountant, shares[0], task.size)
    for level in range(1, levels):
        grown = min(math.ceil(len(tree.centers) * GROWTH), most)
        want = most if level == levels - 1 else grown
        tree = _split(tree, want, OFFSET, noise.generator(f"splits {level}"))
        tree = residual_step(
            records, space, accountant, tree,
            number=level, epsilon=shares[level], size=records_size,
        )  # fmt: skip
    return settled(tree, task.clusters, accountant, shares[-1], records_size, levels - 1)


def settled(
    tree: Prototypes,
    clusters: int | None,
    accountant: Accountant,
    epsilon: float,
    size: float,
    steps: int,
) -> Seeds:
    """Make K clusters from the prototypes of a step with budget ``epsilon``; choose K if None."""
    d, noise = tree.centers.shape[1], accountant.noise
    choice, K = None, clusters
    if K is None:
        deviation = noise_deviation(d + 2, accountant.neighbours.multiplier / epsilon)
        choice = _chosen(tree, deviation, size, noise.generator("choice"))
        K = choice.clusters
    if len(tree.centers) > K:
        tree = _merged(tree, K, size, noise.generator("restarts"))
    elif len(tree.centers) < K:
        # This offset splits a ball best.
        offset = min(LAST_OFFSET, math.sqrt(2 * math.log(K) / d))
        tree = _split(tree, K, offset, noise.generator("splits"))
    return Seeds(clusters=tree, size=size, steps=steps, choice=choice)


def last_steps(
    records: Records,
    space: Space,
    accountant: Accountant,
    seeds: Seeds,
    *,
    epsilon: float,
    steps: int,
    least: float | None,
) -> Prototypes:
    """Run residual steps on the clusters; relocate clusters before each step except the first."""
    tree = seeds.clusters
    for step, share in enumerate(geometric(epsilon, LAST_GROWTH, steps)):
        if step:
            tree = relocated(tree, accountant.noise.generator("relocations"))
        tree = residual_step(
            records, space, accountant, tree,
            number=seeds.steps + step + 1, epsilon=share, size=seeds.size, least=least,
        )  # fmt: skip
    return tree


def _chosen(
    tree: Prototypes, deviation: float, size: float, generator: np.random.Generator
) -> ClusterChoice:
    """Choose K from prototypes, each represented by random points at its records' distance."""
    m, d = tree.centers.shape
    moves = generator.normal(size=(m, DRAWN, d)) * tree.scales[:, None, None] / math.sqrt(d)
    points = NoisyPoints(
        places=np.clip(tree.centers[:, None] + moves, -1, 1).reshape(-1, d),
        weights=np.repeat(onto_simplex(tree.counts, size) / DRAWN, DRAWN),
        counts=np.repeat(tree.counts / DRAWN, DRAWN),
        variances=np.full(m * DRAWN, deviation**2 / DRAWN),
    )
    return choose_clusters(points, int(generator.integers(2**31)), most=min(m, MOST))


def packed(clusters: int, ndim: int, generator: np.random.Generator) -> Prototypes:
    """Return centres far from each other, with the scale of records that fill the box."""
    centers = sphere_packing(clusters, ndim, generator)
    scale = math.sqrt(ndim / 3) * clusters ** (-1 / ndim)
    return Prototypes(centers, np.zeros(clusters), np.full(clusters, scale))


def geometric(total: float, growth: float, steps: int) -> list[float]:
    """Budgets that grow by a factor and sum to a total."""
    parts = growth ** np.arange(steps)
    return [float(part) for part in total * parts / parts.sum()] if steps else []


def root(
    records: Records, space: Space, accountant: Accountant, epsilon: float, size: Estimate
) -> tuple[Prototypes, float]:
    """Noisy count, mean and scale of all records, and the count averaged with an earlier count."""
    d = records.domain.ndim
    scale = accountant.neighbours.multiplier / epsilon
    (sums,) = records.rows(space).total(_all_sums)
    (noisy,) = accountant.k_norm("root", sums[None], ball=0, sensitivity=1, epsilon=epsilon)
    deviation = noise_deviation(d + 2, scale)
    count = max(float(noisy[0]), deviation, size.least)
    mean = np.clip(noisy[1 : d + 1] / count, -1, 1)
    # James-Stein: shrink the mean to the middle of the box, in proportion to its noise.
    length = max(float((mean**2).sum()), 1e-12)
    mean *= max(0.0, 1 - d * (deviation / count) ** 2 / length)
    square = d * (np.clip(noisy[-1] / count, -1, 1) + 1) / 2
    left = max(float(square - (mean**2).sum()), LEAST_SQUARE * d)
    whole_box = Prototypes(mean[None], noisy[:1], np.array([math.sqrt(left)]))
    return whole_box, size.pooled(float(noisy[0]), deviation**2)


def _all_sums(weights: Weights, points: Floats) -> Tables:
    """Number of points (n, d), their sums, and the sum of their squares, exact on the lattice."""
    # Shift squares to [-1, 1] as well, because a smaller range needs less noise.
    values = np.column_stack([points, 2 * (points**2).sum(axis=1) / points.shape[1] - 1])
    whole = np.column_stack([np.ones(len(points)), on_lattice(values)])
    units = (whole / LATTICE).astype(np.int64)
    total = units.sum(axis=0) if weights is None else weights @ units
    return (np.asarray(total * LATTICE),)


def _split(
    tree: Prototypes, want: int, offset: float, generator: np.random.Generator
) -> Prototypes:
    m, d = tree.centers.shape
    parts = np.full(m, want // m)
    errors = np.maximum(tree.counts, 0) * tree.scales**2
    parts[np.argsort(-errors)[: want % m]] += 1
    owners = np.repeat(np.arange(m), parts)
    directions = generator.normal(size=(want, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    firsts = np.cumsum(parts) - parts
    # Two parts are on opposite sides.
    pairs = firsts[parts == 2]
    directions[pairs + 1] = -directions[pairs]
    split = parts[owners] > 1
    moves = np.where(split, offset * tree.scales[owners], 0)
    return Prototypes(
        np.clip(tree.centers[owners] + moves[:, None] * directions, -1, 1),
        tree.counts[owners] / parts[owners],
        tree.scales[owners] * np.where(split, PART_SCALE, 1),
    )


def _merged(
    tree: Prototypes, clusters: int, size: float, generator: np.random.Generator
) -> Prototypes:
    typical = float(np.median(tree.scales))
    weights = onto_simplex(tree.counts, size)
    centers = k_means(tree.centers, weights, clusters, generator)
    labels, squares = assigned(tree.centers, centers)
    counts = np.bincount(labels, weights, clusters).astype(float)
    errors = np.bincount(labels, weights * (squares + tree.scales**2), clusters)
    scales = np.sqrt(np.maximum(errors / np.maximum(counts, 1e-9), (typical / 4) ** 2))
    return Prototypes(centers, counts, scales)


def relocated(tree: Prototypes, generator: np.random.Generator) -> Prototypes:
    """Join two clusters if this costs little, and split a wide cluster, as long as the error falls.

    The gain of a split is half of the cluster's error above its error with the median scale.
    """
    centers, scales = tree.centers.copy(), tree.scales.copy()
    counts = np.maximum(tree.counts, 0)
    K, d = centers.shape
    done: list[int] = []
    for _ in range(max(1, int(RELOCATED * K))):
        between = ((centers[:, None] - centers) ** 2).sum(axis=2)
        costs = counts[:, None] * counts / np.maximum(counts[:, None] + counts, 1e-9) * between
        np.fill_diagonal(costs, np.inf)
        costs[done], costs[:, done] = np.inf, np.inf
        one, other = (int(place) for place in np.unravel_index(np.argmin(costs), costs.shape))
        gains = counts * np.maximum(scales**2 - np.median(scales) ** 2, 0) / 2
        gains[[one, other, *done]] = 0
        wide = int(np.argmax(gains))
        if not gains[wide] > costs[one, other]:
            break
        both = counts[one] + counts[other]
        joined = counts[one] * centers[one] + counts[other] * centers[other]
        centers[one], counts[one] = joined / max(both, 1e-9), both
        direction = generator.normal(size=d)
        step = HALF_OFFSET * scales[wide] * direction / np.linalg.norm(direction)
        centers[other], centers[wide] = centers[wide] + step, centers[wide] - step
        scales[[other, wide]] = HALF_SCALE * scales[wide]
        counts[[other, wide]] = counts[wide] / 2
        done += [one, other, wide]
    return Prototypes(centers, counts, scales)

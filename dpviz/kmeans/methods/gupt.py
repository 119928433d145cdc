"""GUPT: k-means on disjoint blocks of the records, centres averaged with noise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.family.card import card_of
from dpviz.kmeans.grid import SIZE_SHARE
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun, canonical
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import best_of, enough
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import on_lattice

#: The number of blocks is the number of records to this power, up to a maximum.
POWER, MOST_BLOCKS = 0.4, 2048

#: Approximate time of a run on 30,000 records.
SECONDS = 0.1

CARD = card_of(__file__, takes("gupt"), MOST_BLOCKS=MOST_BLOCKS)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Average the blocks' centres with noise (Mohan et al. 2012)."""
    space, K, d = Space(records.domain), config.clusters, records.domain.ndim
    size, epsilon = float(records.n), config.epsilon
    if config.variant == "sound":
        share = SIZE_SHARE * epsilon
        size = float(accountant.laplace("records", size, sensitivity=1, epsilon=share))
        epsilon -= share
    blocks = min(max(round(max(size, 1.0) ** POWER), 1), MOST_BLOCKS)
    # A few blocks of a sketch represent all blocks.
    dealt = min(blocks, records.most_blocks)
    found = _found(records, space, config, dealt, accountant.noise.generator("blocks"))
    total = found.sum(axis=0) * (blocks / dealt)
    # The sum is on the lattice of a release. Published: noise on the average, which is equivalent.
    share = blocks if config.variant == "published" else 1
    noisy = accountant.laplace(
        "centers", total / share, sensitivity=2 * K * d / share, epsilon=epsilon
    )
    centers = np.clip(noisy * share / blocks, -1, 1)
    run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger)
    return restored(run, space)


def _found(
    records: Records,
    space: Space,
    config: KMeansConfig,
    blocks: int,
    generator: np.random.Generator,
) -> Floats:
    points, K = records.scaled(space), config.clusters
    if records.weights is not None and not records.one_weight:
        shares = records.shares(blocks, generator)
        parts = ((points[share > 0], share[share > 0].astype(float)) for share in shares)
        return _centers(parts, (blocks, K, records.domain.ndim))
    published = config.variant == "published"
    # The centres are kept, because a moving epsilon slider uses the same generator many times.
    key = ("blocks", K, blocks, published or str(generator.bit_generator.state))

    def build() -> Floats:
        order = None if published else generator.integers(blocks, size=len(points))
        return _block_centers(points, order, blocks, K)

    return records.kept(key, build)


def _block_centers(points: Floats, order: Ints | None, blocks: int, clusters: int) -> Floats:
    if order is None:
        parts = np.array_split(points, blocks)
    else:
        # Records of a block keep their order. Small integer types are sorted in one pass.
        small = order.astype(np.min_scalar_type(blocks))
        sizes = np.bincount(small, minlength=blocks)
        parts = np.split(points[np.argsort(small, kind="stable")], np.cumsum(sizes)[:-1])
    return _centers(((part, None) for part in parts), (blocks, clusters, points.shape[1]))


def _centers(parts: Iterable[tuple[Floats, Floats | None]], shape: tuple[int, int, int]) -> Floats:
    """Centres (blocks, K, d) of points, weighted or not, in canonical order, on the lattice."""
    found, clusters = np.empty(shape), shape[1]
    for block, part in enumerate(parts):
        # A block with fewer records than clusters gets additional centres that use no data.
        filled, weights = enough(*part, clusters, np.random.default_rng(block))
        centers = best_of(filled, weights, clusters, block)
        found[block] = on_lattice(np.clip(centers[canonical(centers)], -1, 1))
    return found

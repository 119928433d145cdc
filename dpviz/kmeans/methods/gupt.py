"""GUPT: k-means on disjoint blocks of the records, centres averaged with noise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
from dpviz.kmeans.grid import SIZE_SHARE
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun, canonical
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import best_of, enough
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import on_lattice

#: Number of blocks: the number of records to this power, and a maximum.
POWER, MOST_BLOCKS = 0.4, 2048

#: Rough time of a draw on 30,000 records.
SECONDS = 0.1

CARD = Card(
    name="gupt",
    family="kmeans",
    title="GUPT",
    estimator="GUPT",
    summary=(
        "Sample and aggregate: plain k-means on each of N^0.4 disjoint blocks; the centres, put in "
        "order, are averaged over the blocks, and the average gets noise."
    ),
    paper="Mohan, Thakurta, Shi, Song, Culler 2012; as in Lee, Kifer 2016",
    algorithm="GUPT",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Each record goes to a block by its own draw, so one record changes one block's K "
                "centres, each coordinate by at most the range 2: their sum over the blocks has "
                "sensitivity 2 K d, and is divided by the number of blocks after noise. That "
                "number comes from a noisy number of records (2% of epsilon)."
            ),
        ),
        Variant(
            name="published",
            private=False,
            reason=(
                "Blocks are cut from the list in order and their number is computed from the true "
                "number of records: one record more moves all records behind it into other blocks."
            ),
        ),
    ),
    parameters=takes("gupt"),
    needs_all_records=True,
    coarser="in few blocks",
    deviations=(
        "Centres of a block are ordered by their first coordinate, then the second.",
        "Lee, Kifer do not say how the records are cut into blocks: published, in the order of the "
        "list and N^0.4 of them, as the authors of GUPT do in their own program.",
        f"There are {MOST_BLOCKS:,} blocks at most.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Average of the blocks' centres with noise (Mohan et al. 2012)."""
    space, K, d = Space(records.domain), config.clusters, records.domain.ndim
    size, epsilon = float(records.n), config.epsilon
    if config.variant == "sound":
        share = SIZE_SHARE * epsilon
        size = float(accountant.laplace("records", size, sensitivity=1, epsilon=share))
        epsilon -= share
    blocks = min(max(round(max(size, 1.0) ** POWER), 1), MOST_BLOCKS)
    # Few blocks of a sketch stand for all.
    dealt = min(blocks, records.most_blocks)
    found = _found(records, space, config, dealt, accountant.noise.generator("blocks"))
    total = found.sum(axis=0) * (blocks / dealt)
    # As published, the average gets the noise. Noise on the sum is equivalent, and the sum lies on
    # the lattice that a release needs.
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
    """Centres (blocks, K, d) of all blocks, as :func:`_centers`."""
    points, K = records.scaled(space), config.clusters
    if records.weights is not None and not records.one_weight:
        shares = records.shares(blocks, generator)
        parts = ((points[share > 0], share[share > 0].astype(float)) for share in shares)
        return _centers(parts, (blocks, K, records.domain.ndim))
    published = config.variant == "published"
    # A drag of epsilon deals with the same generator again and again.
    key = ("blocks", K, blocks, published or str(generator.bit_generator.state))

    def build() -> Floats:
        order = None if published else generator.integers(blocks, size=len(points))
        return _block_centers(points, order, blocks, K)

    return records.kept(key, build)


def _block_centers(
    points: Floats, order: NDArray[np.int64] | None, blocks: int, clusters: int
) -> Floats:
    """Centres of blocks of the points, by ``order`` or cut from the list, as :func:`_centers`."""
    if order is None:
        parts = np.array_split(points, blocks)
    else:
        # Records of a block keep their order; small numbers are sorted in one pass.
        small = order.astype(np.min_scalar_type(blocks))
        sizes = np.bincount(small, minlength=blocks)
        parts = np.split(points[np.argsort(small, kind="stable")], np.cumsum(sizes)[:-1])
    return _centers(((part, None) for part in parts), (blocks, clusters, points.shape[1]))


def _centers(parts: Iterable[tuple[Floats, Floats | None]], shape: tuple[int, int, int]) -> Floats:
    """Centres (blocks, K, d) of points with weights or None, in canonical order, on the lattice."""
    found, clusters = np.empty(shape), shape[1]
    for block, part in enumerate(parts):
        # A block with fewer records than clusters gets additional centres that use no data.
        filled, weights = enough(*part, clusters, np.random.default_rng(block))
        centers = best_of(filled, weights, clusters, block)
        found[block] = on_lattice(np.clip(centers[canonical(centers)], -1, 1))
    return found

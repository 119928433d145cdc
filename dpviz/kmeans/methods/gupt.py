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

#: The number of blocks is the number of records to this power, up to a maximum.
POWER, MOST_BLOCKS = 0.4, 2048

#: Approximate time of a run on 30,000 records.
SECONDS = 0.1

CARD = Card(
    name="gupt",
    family="kmeans",
    title="GUPT",
    estimator="GUPT",
    summary=(
        "Sample and aggregate: plain k-means on each of N^0.4 disjoint blocks. The sorted centres "
        "are averaged over the blocks, and the average gets noise."
    ),
    paper="Mohan, Thakurta, Shi, Song, Culler 2012; as in Lee, Kifer 2016",
    algorithm="GUPT",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Each record joins a random block, independently of other records. So one record "
                "changes one block's K centres, each coordinate by at most 2, the width of the "
                "box. The sum over the blocks has sensitivity 2 K d, and is divided by the number "
                "of blocks after noise. The number of blocks is computed from a noisy number of "
                "records (2% of epsilon)."
            ),
        ),
        Variant(
            name="published",
            private=False,
            reason=(
                "Blocks are cut from the list in order, and their number is computed from the true "
                "number of records: one more record moves all records after it into other blocks."
            ),
        ),
    ),
    parameters=takes("gupt"),
    needs_all_records=True,
    coarser="in few blocks",
    deviations=(
        "Centres of a block are ordered by their first coordinate, then by the second; the program "
        "of GUPT's authors (github.com/prashmohan/GUPT) orders them only by the second coordinate.",
        "Lee, Kifer do not say how the records are cut into blocks. Published: there are N^0.4 "
        "blocks in the order of the list, as in that program. Here the blocks have equal sizes; in "
        "that program, a small block can be left over.",
        "k-means of a block starts with k-means++ and always with the same random numbers; that "
        "program starts from normally distributed numbers and takes ten steps. The range of the "
        "centres is the box and costs nothing; that program estimates it with two thirds of "
        "epsilon. On S1 (K 15), the mean NICV / true at epsilon 1 and 10 is 29 and 9.7 in the "
        "published variant. A plain version of this variant, with other random numbers for each "
        "draw, has the values 30 and 11. The plain version has 31 and 12 if centres are ordered by "
        "the second coordinate, 28 and 14 with the authors' k-means, 28 and 12 with a small block, "
        "and 56 and 13 with a third of epsilon (60 draws each).",
        f"The largest number of blocks is {MOST_BLOCKS:,}.",
    ),
)


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
    # Published: noise on the average. Noise on the sum is equivalent, and the sum is on the lattice
    # that a release needs.
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


def _block_centers(
    points: Floats, order: NDArray[np.int64] | None, blocks: int, clusters: int
) -> Floats:
    if order is None:
        parts = np.array_split(points, blocks)
    else:
        # Records of a block keep their order. Small integer types are sorted in one pass.
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

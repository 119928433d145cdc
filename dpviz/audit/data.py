"""Pairs of neighbouring data sets that reveal a leak, small enough for thousands of runs.

Each function takes the claim. In the second data set, one record is added or replaced.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpviz.audit.noise import public_choices
from dpviz.base.arrays import Floats
from dpviz.data.dataset import Dataset
from dpviz.families import family_of
from dpviz.family.card import VariantName
from dpviz.grid.domain import Domain
from dpviz.kmeans.grid import PER_CELL, SIZE_SHARE
from dpviz.kmeans.methods.privgene import FEWEST, PARENTS, PER_GENERATION, printed_generations
from dpviz.kmeans.records import Records
from dpviz.kmeans.start import uniform
from dpviz.wavecluster.pipeline import Source

Sources = tuple[Source, Source]
RecordPair = tuple[Records, Records]

UNIT_SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))


# -- grids of counts ---------------------------------------------------------------------


def _grids(before: ArrayLike, after: ArrayLike) -> Sources:
    one, other = (
        Source.build(Dataset(name="audit", counts=np.asarray(counts, dtype=np.int64)), 2)
        for counts in (before, after)
    )
    return one, other


def _record_in(cell: tuple[int, ...], before: ArrayLike, claim: float = 1.0) -> Sources:
    after = np.array(before, dtype=np.int64)
    after[cell] += 1
    return _grids(before, after)


#: Number of blocks of two cells; with this number, Two-stage has low counts at a budget of 1.
BLOCKS_APART = 64

#: The only record is in one cell, which gets a second record.
largest_cell = partial(_record_in, (0, 0), [[1, 0], [0, 0]])

#: Eleven cells of five records each; one of them gets a sixth record.
one_of_eleven = partial(_record_in, (0, 0), [[5, 0] * 11, [0] * 22])

#: No record; then one record.
first_in_cell = partial(_record_in, (0, 0), [[0, 0], [0, 0]])

#: No record, then one record; there are more cells, so that the number of zeros changes.
first_of_many_cells = partial(_record_in, (0,), np.zeros(2 * BLOCKS_APART))

#: Of many cells, every second cell has five records; one cell gets a sixth record.
one_of_many = partial(_record_in, (0,), [5, 0] * BLOCKS_APART)

#: A cell of ten records gets an eleventh record.
eleventh_in_cell = partial(_record_in, (0, 0), [[10, 0], [0, 0]])

#: The first of two adjacent cells of ten records gets an eleventh record.
eleventh_on_line = partial(_record_in, (0,), [10, 0])

#: An empty block beside a block of ten gets its first record: one more coefficient is positive.
second_block = partial(_record_in, (0, 2), [[10, 0, 0, 0], [0] * 4])

#: An empty block beside blocks of six and forty records gets its first record. With p = 1/2, the
#: threshold's rank increases from 1 to 2, so the scores decrease where nearly all candidates are.
third_block = partial(_record_in, (0, 4), [[6, 0, 40, 0, 0, 0], [0] * 6])

#: One of four blocks has ten records; one of the three empty blocks gets its first record.
fourth_block = partial(_record_in, (2, 2), [[10, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4])


def moved_record(claim: float) -> Sources:
    """A record moves between two cells that have ten records each."""
    return _grids([10, 10], [9, 11])


def moved_to_nobody(claim: float) -> Sources:
    """A record moves from a block of ten records to one of many empty blocks."""
    before, after = np.zeros((2, 2 * BLOCKS_APART), dtype=np.int64)
    before[0], after[[0, 2]] = 10, (9, 1)
    return _grids(before, after)


def synopsis_size(claim: float) -> Sources:
    """Records in one corner; one more record changes a uniform grid from 2 x 2 to 3 x 3 cells."""
    # The synopsis has ceil(sqrt(N epsilon / 10)) cells per axis; N is the true number of records.
    n = int(40 / claim + 1e-9)
    return _record_in((0, 0), np.pad([[n]], (0, 5)))


def crowd(claim: float, *, size: int, columns: int, place: float = 1.0) -> RecordPair:
    """Many records in one corner of a box, a new record at ``place`` of the diagonal (1: opposite).

    In the opposite corner, it changes each count and sum by the maximum amount, for any centres and
    clip radius. The first ``size`` records are one point with a weight, so a run is fast.
    """
    return _weighed(np.array([[0.0], [place]]) * np.ones(columns), size)


def _weighed(places: Floats, size: int) -> RecordPair:
    """Records at the first place (one point with a weight), then one more at the second place."""
    unit = Domain(((0.0, 1.0),) * places.shape[1])
    before = Records(points=places[:1], domain=unit, cut=True, weights=np.array([size]))
    return before, Records(points=places, domain=unit, cut=True, weights=np.array([size, 1]))


def far_move(claim: float, *, size: int, columns: int) -> RecordPair:
    """One of many records in one corner of a box moves to the opposite corner."""
    before, after = crowd(claim, size=size, columns=columns)
    return before, replace(after, weights=np.array([size - 1, 1]))


def first_of_all(method: str, claim: float) -> tuple[Any, Any]:
    """No record, then one record, in the form that the method's family reads."""
    family = family_of(method)
    config = family.config(method=method)
    before, after = (
        family.material(
            Dataset(name="audit", points=points), config, UNIT_SQUARE, "clip", secure=True
        )
        for points in (np.empty((0, 2)), np.full((1, 2), 0.9))
    )
    return before, after


# -- points on a grid --------------------------------------------------------------------


def _source(points: Floats, domain: Domain | None) -> Source:
    return Source.build(Dataset(name="audit", points=points), 16, domain)


def far_point(claim: float, *, declared: bool = True) -> Sources:
    """500 points in [0, 0.1]^2, then one more at (1, 1); the domain is declared or their range."""
    domain = UNIT_SQUARE if declared else None
    points = np.random.default_rng(0).uniform(0, 0.1, (500, 2))
    return _source(points, domain), _source(np.vstack([points, [[1.0, 1.0]]]), domain)


def eleventh_point(claim: float) -> Sources:
    """Ten points at one position of a line, then an eleventh point; no grid is chosen yet."""
    line = Domain(((0.0, 1.0),))
    return _source(np.full((10, 1), 0.3), line), _source(np.full((11, 1), 0.3), line)


# -- records of the k-means family -------------------------------------------------------


def _record_at(
    place: ArrayLike, points: Floats, claim: float = 1.0, *, declared: bool = True
) -> RecordPair:
    unit = Domain(((0.0, 1.0),) * points.shape[1])
    more = np.vstack([points, np.atleast_2d(np.asarray(place, dtype=float))])
    one, other = (
        Records(points=some, domain=unit if declared else Domain.from_data(some))
        for some in (points, more)
    )
    return one, other


#: No record, then one record at the end of a line.
first_record = partial(_record_at, [1.0], np.empty((0, 1)))

#: No record, then one record in the corner of a box with forty columns.
first_record_in_many_columns = partial(_record_at, [1.0] * 40, np.empty((0, 40)))

#: Ten records at one end of a line, then an eleventh record at the same position.
eleventh_record = partial(_record_at, [1.0], np.ones((10, 1)))

#: GUPT makes one block of two records, and two blocks of three records.
number_of_blocks = partial(_record_at, [0.25], np.full((2, 1), 0.25))

#: Step with the random choices that :data:`opposite_end` needs: the candidates of PrivGene.
BRED = "breeding"

#: A hundred records at one end of a line, then one at the other end (maybe far from both centres).
opposite_end = partial(_record_at, [1.0], np.zeros((100, 1)))


def far_record(claim: float, *, declared: bool = True) -> RecordPair:
    """Two tight groups of 500 records are in one corner; a new record is in the opposite corner."""
    rng = np.random.default_rng(0)
    middles = np.repeat([[0.02, 0.02], [0.05, 0.02]], 500, axis=0)
    points = middles + rng.uniform(-0.002, 0.002, middles.shape)
    return _record_at([1.0, 1.0], points, declared=declared)


#: Step with the random choices that :func:`lonely_record` needs: the random initial centres.
PUBLIC = "places"

#: For :func:`lonely_record`: number of clusters, and contour coefficient of the other clusters.
LONELY_CLUSTERS, LONELY_CONTOUR = 15, 0.02


def lonely_record(claim: float) -> RecordPair:
    """14 records, each nearly halfway to another public centre; a new one is at the 15th centre."""
    centers = uniform(LONELY_CLUSTERS, 2, public_choices(PUBLIC))
    # At a fraction f of the distance to the nearest other centre, the coefficient is 1 - f/(1 - f).
    share = (1 - LONELY_CONTOUR) / (2 - LONELY_CONTOUR)
    own = centers[:-1]
    distances = np.linalg.norm(own[:, None] - centers, axis=2)
    np.fill_diagonal(distances, np.inf)
    points = own + share * (centers[distances.argmin(axis=1)] - own)
    return _record_at((centers[-1] + 1) / 2, (points + 1) / 2)


#: Number of sets in :func:`shifted_sets`, one per cluster, and number of records in each set.
SETS, SET_SIZE = 40, 5


def shifted_sets(claim: float) -> RecordPair:
    """The list consists of sets whose first records alternate between opposite corners."""
    points = np.full((SETS * SET_SIZE, 2), 0.5)
    points[::SET_SIZE] = np.arange(SETS)[:, None] % 2
    return _record_at([0.0, 0.0], points)


#: For :func:`shifted_blocks`. The number of blocks is the number of records to the power of 0.4.
BLOCKS, BLOCK_SIZE = 16, 64


def shifted_blocks(claim: float) -> RecordPair:
    """Blocks of records that are all at 0 or all at 1, in turn; one more record shifts the list.

    Then each block except the first has a record of the other value, so its centres are far apart.
    """
    points = (np.arange(BLOCKS * BLOCK_SIZE)[:, None] // BLOCK_SIZE % 2).astype(float)
    return _record_at([0.0], points)


def grid_size(claim: float, *, variant: VariantName, share: float = 1.0) -> RecordPair:
    """So many records that EUGkM's grid has 10 x 10 cells; then one more record.

    Then the grid has 11 x 10 cells (published) or 11 x 11 cells (sound, if it knew the true
    number). All records are at one position. ``share`` is the part of the claim that the grid
    costs.
    """
    epsilon = share * claim * (1 - SIZE_SHARE if variant == "sound" else 1)
    # sqrt(N epsilon / per_cell) cells per axis are rounded up (published) or to the nearest number.
    most = 10.5 if variant == "sound" else 10.0
    n = int(PER_CELL[variant] * most**2 / epsilon + 1e-9)
    return _record_at([0.25, 0.25], np.full((n, 2), 0.25))


#: Lower limit for the number of records of :func:`number_of_generations`, multiplied by the claim.
_MANY = FEWEST * PER_GENERATION * PARENTS


def number_of_generations(claim: float) -> RecordPair:
    """Largest number of records with PrivGene's fewest generations; then one more record."""
    n = next(n for n in count(int(_MANY / claim)) if printed_generations(n + 1, claim) > FEWEST)
    return _weighed(np.full((2, 1), 0.25), n)


#: For :func:`swapped_centers`: number of records, and the usual number of blocks that follows.
SWAP_SIZE, SWAP_BLOCKS = 4_930, 30

#: Step with the random choices that :func:`swapped_centers` needs: the block of each record.
DEALT = "blocks"


def swapped_centers(claim: float) -> RecordPair:
    """One record is far from the others; a new record in its block is even farther away.

    The new record becomes the second centre of the block. So the order of the centres changes, and
    both move almost across the domain. The blocks are a public random choice; see :data:`DEALT`.
    """
    blocks = public_choices(DEALT).integers(SWAP_BLOCKS, size=SWAP_SIZE + 1)
    points = np.tile([0.005, 0.0], (SWAP_SIZE, 1))
    points[int(np.flatnonzero(blocks[:-1] == blocks[-1])[0])] = [0.0, 0.95]
    return _record_at([1.0, 1.0], points)

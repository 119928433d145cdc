"""Pairs of neighbouring data sets that bring out a leak, small enough for thousands of runs.

Each function takes the claim, which few of them need, and returns the data set without the person
and the one with; where a record is replaced, before and after.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.audit.noise import public_choices
from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.families import family_of
from dpviz.family.card import VariantName
from dpviz.kmeans.grid import PER_CELL, SIZE_SHARE
from dpviz.kmeans.records import Records
from dpviz.kmeans.start import uniform
from dpviz.wavecluster.pipeline import Source

Sources = tuple[Source, Source]
RecordPair = tuple[Records, Records]

Floats = NDArray[np.float64]

UNIT_SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))


# -- grids of counts ---------------------------------------------------------------------


def _grids(before: ArrayLike, after: ArrayLike) -> Sources:
    """Two grids of counts as data sets under the same declared domain."""
    one, other = (
        Source.build(Dataset(name="audit", counts=np.asarray(counts, dtype=np.int64)), 2)
        for counts in (before, after)
    )
    return one, other


def _record_in(cell: tuple[int, ...], before: ArrayLike, claim: float = 1.0) -> Sources:
    """A grid of counts, and the same with one more record in a cell; the claim has no effect."""
    after = np.array(before, dtype=np.int64)
    after[cell] += 1
    return _grids(before, after)


#: One occupied cell of one record gets a second one.
largest_cell = partial(_record_in, (0, 0), [[1, 0], [0, 0]])

#: Eleven cells of five records; one of them gets a sixth.
one_of_eleven = partial(_record_in, (0, 0), [[5, 0] * 11, [0] * 22])

#: No record at all, then one.
first_in_cell = partial(_record_in, (0, 0), [[0, 0], [0, 0]])

#: A cell of ten records gets an eleventh one.
eleventh_in_cell = partial(_record_in, (0, 0), [[10, 0], [0, 0]])

#: The first of two cells in a row, of ten records, gets an eleventh one.
eleventh_on_line = partial(_record_in, (0,), [10, 0])

#: Beside a block of ten records an empty one gets its first: a coefficient more is positive.
second_block = partial(_record_in, (0, 2), [[10, 0, 0, 0], [0] * 4])

#: Beside blocks of six and forty records an empty one gets its first. Where p = 1/2, the
#: threshold's rank rises from 1 to 2: its scores fall between the two large coefficients, where
#: nearly all candidates lie, and rise between the two small ones.
third_block = partial(_record_in, (0, 4), [[6, 0, 40, 0, 0, 0], [0] * 6])

#: One of four blocks holds ten records; one of the three empty ones gets its first.
fourth_block = partial(_record_in, (2, 2), [[10, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4])


def moved_record(claim: float) -> Sources:
    """A record moves from one of two cells of ten to the other."""
    return _grids([10, 10], [9, 11])


def synopsis_size(claim: float) -> Sources:
    """Records in one corner, at the number where a uniform grid of 2 x 2 cells becomes 3 x 3."""
    # The synopsis has ceil(sqrt(N epsilon / 10)) cells a side, N being the true number.
    n = int(40 / claim + 1e-9)
    return _record_in((0, 0), np.pad([[n]], (0, 5)))


def first_of_all(method: str, claim: float) -> tuple[Any, Any]:
    """No record at all, then one, as a method of any family reads them."""
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


def far_point(claim: float, domain: Domain | None = UNIT_SQUARE) -> Sources:
    """500 points in [0, 0.1]^2 and one at (1, 1), on 16 x 16 cells of a domain.

    None takes the range of the points, from the smallest to the largest value.
    """
    points = np.random.default_rng(0).uniform(0, 0.1, (500, 2))
    one, other = (
        Source.build(Dataset(name="audit", points=some), 16, domain)
        for some in (points, np.vstack([points, [[1.0, 1.0]]]))
    )
    return one, other


# -- records of the k-means family -------------------------------------------------------


def _record_at(place: ArrayLike, points: Floats, claim: float = 1.0) -> RecordPair:
    """Records of the unit cube without and with one more at the end; the claim has no effect."""
    domain = Domain(((0.0, 1.0),) * points.shape[1])
    more = np.vstack([points, np.atleast_2d(np.asarray(place, dtype=float))])
    return Records(points=points, domain=domain), Records(points=more, domain=domain)


#: No record at all, then one at the end of a line.
first_record = partial(_record_at, [1.0], np.empty((0, 1)))

#: No record at all, then one in the corner of a box of forty columns.
first_record_in_many_columns = partial(_record_at, [1.0] * 40, np.empty((0, 40)))

#: Ten records at one end of a line, and an eleventh one.
eleventh_record = partial(_record_at, [1.0], np.ones((10, 1)))

#: Two records, of which GUPT makes one block; of three it makes two.
number_of_blocks = partial(_record_at, [0.25], np.full((2, 1), 0.25))

#: Step whose choices go with :data:`opposite_end`: the candidates of PrivGene.
BRED = "breeding"

#: A hundred records at one end of a line, and one at the other end. Of pairs of centres the best
#: one for the hundred may lie far from the other end.
opposite_end = partial(_record_at, [1.0], np.zeros((100, 1)))


def far_record(claim: float) -> RecordPair:
    """Two tight groups of 500 side by side in a corner; a record joins in the opposite one."""
    rng = np.random.default_rng(0)
    middles = np.repeat([[0.02, 0.02], [0.05, 0.02]], 500, axis=0)
    return _record_at([1.0, 1.0], middles + rng.uniform(-0.002, 0.002, middles.shape))


#: Step whose choices :func:`lonely_record` knows: where random centres start.
PUBLIC = "places"

#: Clusters of :func:`lonely_record`, and the contour coefficient of all but the last.
LONELY_CLUSTERS, LONELY_CONTOUR = 15, 0.02


def lonely_record(claim: float) -> RecordPair:
    """14 clusters on the brink of another centre's; a record joins right on the 15th centre.

    The centres are those of a random start that everybody knows, see :data:`PUBLIC`.
    """
    centers = uniform(LONELY_CLUSTERS, 2, public_choices(PUBLIC))
    # A share f of the way to the nearest other centre the coefficient is 1 - f/(1 - f).
    share = (1 - LONELY_CONTOUR) / (2 - LONELY_CONTOUR)
    own = centers[:-1]
    distances = np.linalg.norm(own[:, None] - centers, axis=2)
    np.fill_diagonal(distances, np.inf)
    points = own + share * (centers[distances.argmin(axis=1)] - own)
    return _record_at((centers[-1] + 1) / 2, (points + 1) / 2)


#: Sets of :func:`shifted_sets`, one for each cluster, and records in each.
SETS, SET_SIZE = 40, 5


def shifted_sets(claim: float) -> RecordPair:
    """Sets cut from a list in order, their first records in opposite corners by turns."""
    points = np.full((SETS * SET_SIZE, 2), 0.5)
    points[::SET_SIZE] = np.arange(SETS)[:, None] % 2
    return _record_at([0.0, 0.0], points)


#: Blocks of :func:`shifted_blocks`: the number of records to the power of 0.4.
BLOCKS, BLOCK_SIZE = 16, 64


def shifted_blocks(claim: float) -> RecordPair:
    """Blocks cut from a list in order, all records of a block at 0 or at 1 by turns.

    With one record more each block but the first loses its first one and gets the next
    block's, of the other kind: then its two centres lie apart.
    """
    points = (np.arange(BLOCKS * BLOCK_SIZE)[:, None] // BLOCK_SIZE % 2).astype(float)
    return _record_at([0.0], points)


def grid_size(claim: float, *, variant: VariantName, share: float = 1.0) -> RecordPair:
    """As many records as give EUGkM's grid 10 x 10 cells; one more gives 11 x 11.

    The sound grid would have these sizes if it knew the true number of records. All records lie
    in one place, so only the number of cells can tell.

    Parameters
    ----------
    variant
        Which of the two grids.
    share
        Share of the claim that the method spends on its grid.
    """
    epsilon = share * claim * (1 - SIZE_SHARE if variant == "sound" else 1)
    # A grid has round(sqrt(N epsilon / per_cell)) cells a side.
    n = int(PER_CELL[variant] * 10.5**2 / epsilon + 1e-9)
    return _record_at([0.25, 0.25], np.full((n, 2), 0.25))


#: Records of :func:`swapped_centers`: so many that a noisy number of them nearly always makes
#: :data:`SWAP_BLOCKS` blocks.
SWAP_SIZE, SWAP_BLOCKS = 4_930, 30

#: Step whose choices :func:`swapped_centers` knows: which record goes to which block.
DEALT = "blocks"


def swapped_centers(claim: float) -> RecordPair:
    """Records of which one lies apart, in the block that another one joins farther off.

    That one then takes the second centre of the block, which comes first no longer: in both
    places of the list the centres change nearly from end to end. Blocks are those of draws that
    everybody knows, see :data:`DEALT`.
    """
    blocks = public_choices(DEALT).integers(SWAP_BLOCKS, size=SWAP_SIZE + 1)
    points = np.tile([0.005, 0.0], (SWAP_SIZE, 1))
    points[int(np.flatnonzero(blocks[:-1] == blocks[-1])[0])] = [0.0, 0.95]
    return _record_at([1.0, 1.0], points)

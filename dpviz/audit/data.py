"""Pairs of neighbouring data sets that bring out a leak, small enough for thousands of runs.

Each function takes the claim and returns the data set without the person and the one with;
where a record is replaced, before and after.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpviz.audit.noise import public_choices
from dpviz.data.dataset import Dataset
from dpviz.domain import Domain
from dpviz.families import family_of
from dpviz.kmeans.grid import PER_CELL, SIZE_SHARE
from dpviz.kmeans.records import Records
from dpviz.kmeans.start import uniform
from dpviz.wavecluster.pipeline import Source

Sources = tuple[Source, Source]
RecordPair = tuple[Records, Records]

Floats = NDArray[np.float64]

#: Step whose choices :func:`lonely_record` knows: where random centres start.
PUBLIC = "places"


# -- grids of counts ---------------------------------------------------------------------


def largest_cell(claim: float) -> Sources:
    """One occupied cell of one record gets a second one."""
    return _grids([[1, 0], [0, 0]], [[2, 0], [0, 0]])


def one_of_eleven(claim: float) -> Sources:
    """Eleven cells of five records; one of them gets a sixth."""
    before = np.zeros((2, 22), dtype=np.int64)
    before[0, ::2] = 5
    after = before.copy()
    after[0, 0] += 1
    return _grids(before, after)


def first_in_cell(claim: float) -> Sources:
    """No record at all, then one."""
    return _grids([[0, 0], [0, 0]], [[1, 0], [0, 0]])


def first_of_all(method: str, claim: float) -> tuple[Any, Any]:
    """No record at all, then one, as a method of any family reads them."""
    family = family_of(method)
    config, domain = family.config(method=method), Domain(((0.0, 1.0), (0.0, 1.0)))
    before, after = (
        family.material(Dataset(name="audit", points=points), config, domain, "clip", secure=True)
        for points in (np.empty((0, 2)), np.full((1, 2), 0.9))
    )
    return before, after


def eleventh_in_cell(claim: float) -> Sources:
    """A cell of ten records gets an eleventh one."""
    return _grids([[10, 0], [0, 0]], [[11, 0], [0, 0]])


def eleventh_on_line(claim: float) -> Sources:
    """The first of two cells in a row, of ten records, gets an eleventh one."""
    return _grids([10, 0], [11, 0])


def second_block(claim: float) -> Sources:
    """Beside a block of ten records an empty one gets its first: a coefficient more is positive."""
    return _grids([[10, 0, 0, 0], [0, 0, 0, 0]], [[10, 0, 1, 0], [0, 0, 0, 0]])


def third_block(claim: float) -> Sources:
    """Beside blocks of six and forty records an empty one gets its first.

    Where p = 1/2, the threshold's rank rises from 1 to 2: its scores fall between the two large
    coefficients, where nearly all candidates lie, and rise between the two small ones.
    """
    before = np.zeros((2, 6), dtype=np.int64)
    before[0, 0], before[0, 2] = 6, 40
    after = before.copy()
    after[0, 4] = 1
    return _grids(before, after)


def fourth_block(claim: float) -> Sources:
    """One of four blocks holds ten records; one of the three empty ones gets its first."""
    before = np.zeros((4, 4), dtype=np.int64)
    before[0, 0] = 10
    after = before.copy()
    after[2, 2] = 1
    return _grids(before, after)


def moved_record(claim: float) -> Sources:
    """A record moves from one of two cells of ten to the other."""
    return _grids([10, 10], [9, 11])


def _grids(before: ArrayLike, after: ArrayLike) -> Sources:
    """Two grids of counts as data sets under the same declared domain."""
    one, other = (
        Source.build(Dataset(name="audit", counts=np.asarray(counts, dtype=np.int64)), 2)
        for counts in (before, after)
    )
    return one, other


# -- points on a grid --------------------------------------------------------------------

UNIT_SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))


def far_point(claim: float) -> Sources:
    """500 points in [0, 0.1]^2 and one at (1, 1), on 16 x 16 cells of the unit square."""
    return _far_point(UNIT_SQUARE)


def far_point_in_data_range(claim: float) -> Sources:
    """The same on cells from the smallest to the largest value."""
    return _far_point(None)


def _far_point(domain: Domain | None) -> Sources:
    """Lay a grid over both; None takes the range of the points."""
    points = np.random.default_rng(0).uniform(0, 0.1, (500, 2))
    one, other = (
        Source.build(Dataset(name="audit", points=some), 16, domain)
        for some in (points, np.vstack([points, [[1.0, 1.0]]]))
    )
    return one, other


def synopsis_size(claim: float) -> Sources:
    """Records in one corner, at the number where a uniform grid of 2 x 2 cells becomes 3 x 3."""
    # The synopsis has ceil(sqrt(N epsilon / 10)) cells a side, N being the true number.
    n = int(40 / claim + 1e-9)
    counts = np.zeros((6, 6), dtype=np.int64)
    counts[0, 0] = n
    more = counts.copy()
    more[0, 0] += 1
    return _grids(counts, more)


# -- records of the k-means family -------------------------------------------------------


def far_record(claim: float) -> RecordPair:
    """Two tight groups of 500 side by side in a corner; a record joins in the opposite one."""
    rng = np.random.default_rng(0)
    middles = np.repeat([[0.02, 0.02], [0.05, 0.02]], 500, axis=0)
    points = middles + rng.uniform(-0.002, 0.002, middles.shape)
    return _joined(points, [1.0, 1.0])


def first_record(claim: float) -> RecordPair:
    """No record at all, then one at the end of a line."""
    return _joined(np.empty((0, 1)), [1.0])


def first_record_in_many_columns(claim: float) -> RecordPair:
    """No record at all, then one in the corner of a box of forty columns."""
    return _joined(np.empty((0, 40)), [1.0] * 40)


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
    return _joined((points + 1) / 2, (centers[-1] + 1) / 2)


#: Sets of :func:`shifted_sets`, one for each cluster, and records in each.
SETS, SET_SIZE = 40, 5


def shifted_sets(claim: float) -> RecordPair:
    """Sets cut from a list in order, their first records in opposite corners by turns."""
    points = np.full((SETS * SET_SIZE, 2), 0.5)
    points[::SET_SIZE] = np.arange(SETS)[:, None] % 2
    return _joined(points, [0.0, 0.0])


#: Blocks of :func:`shifted_blocks`: the number of records to the power of 0.4.
BLOCKS, BLOCK_SIZE = 16, 64


def shifted_blocks(claim: float) -> RecordPair:
    """Blocks cut from a list in order, all records of a block at 0 or at 1 by turns.

    With one record more each block but the first loses its first one and gets the next
    block's, of the other kind: then its two centres lie apart.
    """
    points = (np.arange(BLOCKS * BLOCK_SIZE)[:, None] // BLOCK_SIZE % 2).astype(float)
    return _joined(points, [0.0])


def grid_size(claim: float) -> RecordPair:
    """As many records as give EUGkM as printed 10 x 10 cells; one more gives 11 x 11."""
    return _at_finer_grid(claim, PER_CELL["published"])


def grid_size_of_half(claim: float) -> RecordPair:
    """The same for a method that spends half of its budget on the grid."""
    return grid_size(claim / 2)


def grid_size_when_sound(claim: float) -> RecordPair:
    """As many records as would give 10 x 10 and 11 x 11 cells if the sound grid knew them."""
    return _at_finer_grid(claim * (1 - SIZE_SHARE), PER_CELL["sound"])


def grid_size_of_half_when_sound(claim: float) -> RecordPair:
    """The same for a method that spends half of its budget on the grid."""
    return grid_size_when_sound(claim / 2)


def _at_finer_grid(epsilon: float, per_cell: float) -> RecordPair:
    """Records at the number where a grid of round(sqrt(N epsilon / per_cell)) cells a side grows.

    All lie in one place: only the number of cells can tell.
    """
    n = int(per_cell * 10.5**2 / epsilon + 1e-9)
    return _joined(np.full((n, 2), 0.25), [0.25, 0.25])


def number_of_blocks(claim: float) -> RecordPair:
    """Two records, of which GUPT makes one block; of three it makes two."""
    return _joined(np.full((2, 1), 0.25), [0.25])


#: Step whose choices go with :func:`opposite_end`: the candidates of PrivGene.
BRED = "breeding"


def opposite_end(claim: float) -> RecordPair:
    """A hundred records at one end of a line, and one at the other end.

    Of pairs of centres the best one for the hundred may lie far from the other end.
    """
    return _joined(np.zeros((100, 1)), [1.0])


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
    return _joined(points, [1.0, 1.0])


def eleventh_record(claim: float) -> RecordPair:
    """Ten records at one end of a line, and an eleventh one."""
    return _joined(np.ones((10, 1)), [1.0])


def _joined(points: Floats, record: ArrayLike) -> RecordPair:
    """Records of the unit cube without and with one more at the end of the list."""
    domain = Domain(((0.0, 1.0),) * points.shape[1])
    more = np.vstack([points, np.atleast_2d(np.asarray(record, dtype=float))])
    return Records(points=points, domain=domain), Records(points=more, domain=domain)

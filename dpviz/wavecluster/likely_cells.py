"""Which cells to report as significant, given the chance of each.

Post-processing alone: nothing here reads data.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from dpviz.base.arrays import Floats
from dpviz.base.compiled import compiled

#: A likely cell has at least this chance of being significant: a little more than one half, since
#: a false cell can also join clusters.
LIKELY = 0.6

#: A cell with less than this chance does not join clusters that both hold this share of all
#: reported cells, and at least so many.
WEAK, LARGE, FEW = 0.85, 0.2, 5

#: From this much doubt on, such a cell joins no clusters of at least ``FEW`` cells where it lies on
#: a saddle: the mean chance around it is below this share of the lower one of theirs.
MUCH, SADDLE = 0.3, 0.85

#: Mean chance of the cells, likeliest first, below which too few are right.
RIGHT = 0.4

#: So many doubtful cells side by side make a wide join, which stays where one of them is likely to
#: be significant. Narrower ones mostly stand in gaps that the field has closed.
WIDE = 4

#: Weight of a cell's surroundings in its rank where all cells are as doubtful as can be.
SURROUNDINGS = 0.6

_ROUNDING = 1e-12


def likely_cells(
    chance: Floats, expected: float, coarse: Floats | None = None, trust: float = 0.0
) -> NDArray[np.bool_]:
    """Mask of the cells to report: the likeliest, but for those that make a doubtful join.

    Where chances are near 0 or 1, these are the likely cells. Doubt is the expected number of
    wrong cells, were those reported that are rather significant than not, relative to the expected
    number of significant ones. The more of it, the nearer is the number of reported cells to the
    expected one, and the more do their surroundings count: where noise hides nearly all, few
    cells are likely, and to leave out most of the others costs more than to report some wrong
    ones. But so many that too few of them are right would cost more than none: the number is
    halfway, as a factor, to that up to which enough are right on average.

    Where noise hides single cells but not wide clusters, a coarse estimate of the coefficients
    knows better which cells are dense: it has a part in their rank, by the trust in it, 0 to 1. The
    number of likely cells then says nothing, and the expected one counts alone.

    A wrong cell costs a cell in DSG_C, whichever way it is wrong; but a wrong join costs a whole
    cluster in every score, and one of several doubtful cells is enough for one. A wrong gap costs
    as much: wide joins, as between two parts of a broad cluster, stay. Where doubt is large, all
    chances are so low that a gap shows as a saddle alone, less likely than the cells on both sides.
    """
    if not chance.any():
        return np.zeros(chance.shape, dtype=bool)
    doubt = doubt_of(chance)
    likely = max(int((chance >= LIKELY).sum()), 1)
    rank = with_surroundings(chance, SURROUNDINGS * doubt)
    if coarse is not None:
        rank = (1 - trust) * rank + trust * _in_order_of(coarse, chance)
    # Running sums leave rounding errors where all chances are 0.
    known = int((rank > _ROUNDING).sum())
    share = 1.0 if trust > 0.5 else doubt
    number = min(round(likely ** (1 - share) * expected**share), known)
    means = np.sort(rank, axis=None)[::-1].cumsum() / np.arange(1, rank.size + 1)
    number = round(math.sqrt(number * min(number, int((means >= RIGHT).sum()))))
    if not number:
        return np.zeros(chance.shape, dtype=bool)
    chosen = rank >= np.sort(rank, axis=None)[-number]
    padded = np.pad(np.where(chosen, chance, -1.0), 1, constant_values=-1.0)
    steps = np.argwhere(np.ones((3,) * chance.ndim)) - 1
    near = (steps[steps.any(axis=1)] * (np.array(padded.strides) // padded.itemsize)).sum(axis=1)
    flat = padded.ravel()
    order = np.flatnonzero(flat >= 0)
    order = order[np.argsort(-flat[order], kind="stable")]
    heights = np.pad(with_surroundings(chance, 1.0), 1).ravel()
    saddle = SADDLE if doubt > MUCH else 0.0
    large = max(LARGE * order.size, FEW)
    kept = grown(order, flat < WEAK, near, large, heights, saddle).reshape(padded.shape)
    found: NDArray[np.bool_] = kept[(slice(1, -1),) * chance.ndim]
    return found | _wide_joins(chosen & ~found, chance)


def doubt_of(chance: Floats) -> float:
    """Expected number of wrong cells over that of significant ones, see :func:`likely_cells`."""
    total = float(chance.sum())
    return float(np.minimum(chance, 1 - chance).sum()) / total if total else 0.0


def _wide_joins(cells: NDArray[np.bool_], chance: Floats) -> NDArray[np.bool_]:
    """Those of the cells left out that lie in wide groups, of which one is likely significant."""
    groups, number = ndimage.label(cells, np.ones((3,) * cells.ndim))
    sizes = np.bincount(groups.ravel(), minlength=number + 1)
    none = np.bincount(groups.ravel(), np.log1p(-chance.clip(max=1 - 1e-9)).ravel(), number + 1)
    wide = (sizes >= WIDE) & (none <= math.log(0.5))
    wide[0] = False
    found: NDArray[np.bool_] = wide[groups]
    return found


def _in_order_of(values: Floats, chance: Floats) -> Floats:
    """The same chances, so dealt out that the largest value has the largest one."""
    found = np.empty(chance.size)
    found[np.argsort(values, axis=None, kind="stable")] = np.sort(chance, axis=None)
    return found.reshape(chance.shape)


def with_surroundings(values: Floats, weight: float) -> Floats:
    """Values blended with the means of the 3 x 3 (x 3 ...) cells around, inside the grid."""
    around = ndimage.uniform_filter(values, 3, mode="constant")
    around /= ndimage.uniform_filter(np.ones(values.shape), 3, mode="constant")
    found: Floats = (1 - weight) * values + weight * around
    return found


@compiled()
def grown(
    order: NDArray[np.int64],
    weak: NDArray[np.bool_],
    near: NDArray[np.int64],
    large: float,
    heights: Floats,
    saddle: float,
) -> NDArray[np.bool_]:
    """Add cells one by one, but for weak ones that would join two clusters of those before.

    These are weak ones that touch two large clusters, or two of at least ``FEW`` cells on a saddle
    between them. All places are flat.

    Parameters
    ----------
    order, weak
        Places of the cells, none at the edge of the grid; mask of those that join nothing large.
    near, large
        Steps from a place to those that touch it; cells of a large cluster, at least.
    heights, saddle
        Height of each place. One whose height is below this share of the lower mean height of two
        clusters lies on a saddle; 0 where none does.
    """
    parent = np.full(weak.size, -1)
    size, sums = np.zeros(weak.size, np.int64), np.zeros(weak.size)
    roots = np.empty(near.size, np.int64)
    for cell in order:
        found, big, wide, lower = 0, 0, 0, np.inf
        for step in near:
            root = cell + step
            if parent[root] < 0:
                continue
            while parent[root] != root:
                root = parent[root]
            if not np.any(roots[:found] == root):
                roots[found] = root
                found += 1
                big += size[root] >= large
                if size[root] >= FEW:
                    wide += 1
                    lower = min(lower, sums[root] / size[root])
        if weak[cell] and (big > 1 or (wide > 1 and heights[cell] < saddle * lower)):
            continue
        parent[cell], size[cell], sums[cell] = cell, 1, heights[cell]
        for root in roots[:found]:
            parent[root] = cell
            size[cell] += size[root]
            sums[cell] += sums[root]
    return parent >= 0

"""Decides which cells are reported as significant, given each cell's chance to be significant."""

from __future__ import annotations

import math

import numpy as np

from dpviz.base.arrays import Floats, Ints, Mask
from dpviz.base.compiled import compiled
from dpviz.base.lazy import ndimage

#: Smallest chance of a likely cell: above one half, since a false cell can also join clusters.
LIKELY = 0.6

#: A weak cell (chance below WEAK) must not join two large clusters, which have at least the share
#: LARGE of all reported cells, and at least FEW cells.
WEAK, LARGE, FEW = 0.85, 0.2, 5

#: If doubt is above MUCH, a weak cell on a saddle must not join two clusters of at least FEW cells.
#: On a saddle, the mean chance nearby is below SADDLE times the lower mean of both clusters.
MUCH, SADDLE = 0.3, 0.85

#: Smallest mean chance of the reported cells at which enough of these cells are correct.
RIGHT = 0.4

#: A join of at least this number of adjacent doubtful cells is wide; it stays if one of them is
#: probably significant. Narrower joins are mostly false: the random field has closed a gap.
WIDE = 4

#: Weight of a cell's surroundings in its rank if doubt has its largest value, 1.
SURROUNDINGS = 0.6

_ROUNDING = 1e-12


def likely_cells(
    chance: Floats, expected: float, coarse: Floats | None = None, trust: float = 0.0
) -> Mask:
    """Mask of the cells to report: the likeliest cells, except cells that make a doubtful join.

    If all cells with a chance above one half are reported, doubt is the expected number of wrong
    cells divided by the expected number of significant cells. Without doubt, likely cells are
    reported. With more doubt, surroundings have more weight in the rank, and the number of cells is
    closer to the expected number, because leaving out most cells costs more than some wrong cells.
    The final number is the geometric mean of this number and of the largest number at which enough
    cells are correct.

    If noise hides cells but not wide clusters, a coarse estimate ranks better; ``trust`` (0 to 1)
    is its weight. If ``trust`` is above one half, only the expected number is used.

    A missing or false cell costs one cell in DSG_C; a wrong join or gap costs a cluster in every
    score. So doubtful cells must not join clusters, but wide joins stay. With much doubt a gap is a
    saddle: a cell with a lower chance than both sides.
    """
    if not chance.any():
        return np.zeros(chance.shape, dtype=bool)
    doubt = doubt_of(chance)
    likely = max(int((chance >= LIKELY).sum()), 1)
    rank = with_surroundings(chance, SURROUNDINGS * doubt)
    if coarse is not None:
        rank = (1 - trust) * rank + trust * _in_order_of(coarse, chance)
    # Running sums leave rounding errors in places where all chances are 0.
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
    large = float(max(LARGE * order.size, FEW))  # one type: numba compiles for each type
    parent, size, sums = np.full(flat.size, -1), np.zeros(flat.size, int), np.zeros(flat.size)
    roots = np.zeros(near.size, int)
    grown(order, flat < WEAK, near, large, heights, saddle, parent, size, sums, roots)
    found: Mask = (parent >= 0).reshape(padded.shape)[(slice(1, -1),) * chance.ndim]
    return found | _wide_joins(chosen & ~found, chance)


def doubt_of(chance: Floats) -> float:
    """Expected wrong cells divided by expected significant cells: see :func:`likely_cells`."""
    total = float(chance.sum())
    return float(np.minimum(chance, 1 - chance).sum()) / total if total else 0.0


def _wide_joins(cells: Mask, chance: Floats) -> Mask:
    """Mask of omitted cells in wide groups that probably have at least one significant cell."""
    groups, number = ndimage.label(cells, np.ones((3,) * cells.ndim))
    sizes = np.bincount(groups.ravel(), minlength=number + 1)
    none = np.bincount(groups.ravel(), np.log1p(-chance.clip(max=1 - 1e-9)).ravel(), number + 1)
    wide = (sizes >= WIDE) & (none <= math.log(0.5))
    wide[0] = False
    return np.asarray(wide[groups])


def _in_order_of(values: Floats, chance: Floats) -> Floats:
    """The same chances, reordered so that the largest value has the largest chance, and so on."""
    found = np.empty(chance.size)
    found[np.argsort(values, axis=None, kind="stable")] = np.sort(chance, axis=None)
    return found.reshape(chance.shape)


def with_surroundings(values: Floats, weight: float) -> Floats:
    """Mean of each value and the mean of its 3 x 3 (x 3 ...) window; the window has ``weight``."""
    around = ndimage.uniform_filter(values, 3, mode="constant")
    around /= ndimage.uniform_filter(np.ones(values.shape), 3, mode="constant")
    return np.asarray((1 - weight) * values + weight * around)


@compiled()
def grown(
    order: Ints, weak: Mask, near: Ints, large: float, heights: Floats, saddle: float, parent: Ints,
    size: Ints, sums: Floats, roots: Ints,
) -> None:  # fmt: skip
    """Add cells one by one to clusters; leave out weak cells that would join two clusters.

    The clusters are a forest: the ``parent`` of a cell that is left out remains -1. Sizes and sums
    of heights of the clusters start as zeros; ``roots`` is memory.

    A weak cell is left out if it touches two ``large`` clusters, or is on a saddle between two
    clusters of at least ``FEW`` cells: its height is below the share ``saddle`` of the lower mean
    height. ``order`` has flat indices of places that are not at the edge; ``near`` has index
    differences of touching places.
    """
    for cell in order:
        found, big, wide, lower = 0, 0, 0, np.inf
        for step in near:
            root = cell + step
            if parent[root] < 0:
                continue
            while parent[root] != root:
                root = parent[root]
            known = False
            for one in range(found):
                known |= roots[one] == root
            if not known:
                roots[found] = root
                found += 1
                big += size[root] >= large
                if size[root] >= FEW:
                    wide += 1
                    lower = min(lower, sums[root] / size[root])
        if weak[cell] and (big > 1 or (wide > 1 and heights[cell] < saddle * lower)):
            continue
        parent[cell], size[cell], sums[cell] = cell, 1, heights[cell]
        for one in range(found):
            root = roots[one]
            parent[root] = cell
            size[cell] += size[root]
            sums[cell] += sums[root]

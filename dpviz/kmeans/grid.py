"""A noisy uniform grid of counts: the input of EUGkM, and of a start that does not leak data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints
from dpviz.base.errors import InputError
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.choose_clusters import USUAL, NoisyPoints
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import loops
from dpviz.kmeans.records import UNLIMITED, Records
from dpviz.privacy.mechanisms import Accountant

#: Records per cell and per unit of 1/epsilon: the paper's number (Su et al. 2016) and our number.
#: With few records, 10 is too coarse: on S1 (K 15, epsilon 0.1) NICV is 2.2 times the true NICV
#: (1.1 with 3). If some clusters are much smaller than others, 3 is worse: on Unbalance (epsilon 1)
#: NICV is 1.7 times the true NICV (1.1 with 10).
PER_CELL = {"published": 10.0, "sound": 3.0}

#: Share of a grid's budget for the noisy number of records, which determines the grid's size.
SIZE_SHARE = 0.02

#: Rounds that remove values before a projection; tolerance for rounding errors in these rounds.
_CUTS, _ROUNDING = 4, 1e-9

#: Largest number of cells; a finer grid would take too long.
MAX_CELLS = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyGrid:
    """Noisy counts (m,) of a uniform grid over the domain, and weights that are not negative.

    ``scale`` is the scale of the Laplace noise. ``counts`` are empty after several releases.
    Weights are estimated numbers of records: the projection of the counts (in the published
    variant, negative counts become 0, as the view plots them).
    """

    shape: tuple[int, ...]
    weights: Floats
    scale: float
    counts: Floats = field(default_factory=lambda: np.empty(0))
    most_places: int = UNLIMITED

    @property
    def ndim(self) -> int:
        """Number of columns."""
        return len(self.shape)

    @property
    def centers(self) -> Floats:
        """Cell centres in scaled coordinates, shape (m, d)."""
        return self.centers_of(np.arange(math.prod(self.shape)))

    def centers_of(self, cells: NDArray[np.integer]) -> Floats:
        """Return centres of the cells of given numbers (m,), in scaled coordinates, (m, d)."""
        sides = np.unravel_index(cells, self.shape)
        axes = [(2 * np.arange(side) + 1) / side - 1 for side in self.shape]
        return np.stack([axis[side] for axis, side in zip(axes, sides, strict=True)], axis=-1)

    @property
    def points(self) -> NoisyPoints:
        """Places with noisy counts, from which a number of clusters can be chosen."""
        places, weights = self.places()
        counts, cells = self.counts, np.ones(len(self.counts))
        if len(counts) > self.most_places:
            counts, cells = self._in_blocks(counts)[:, 0], self._in_blocks(cells)[:, 0]
        # The variance of Laplace noise is twice the square of its scale.
        variances = cells * (2 * self.scale**2)
        return NoisyPoints(places=places, weights=weights, counts=counts, variances=variances)

    def places(self) -> tuple[Floats, Floats]:
        """Return at most ``most_places`` places (m, d) for a search for clusters, and weights (m,).

        Places are centres of cells, or centres of mass of blocks of cells.
        """
        if len(self.weights) <= self.most_places:
            return self.centers, self.weights
        table = self._in_blocks(self.weights)
        # The tiny minimum avoids a division by 0 for a block without weight.
        return table[:, 1:] / np.maximum(table[:, :1], 1e-300), table[:, 0]

    def _in_blocks(self, values: Floats) -> Floats:
        """Sums of the cells' values (column 0) and of their moments in blocks, shape (m, 1 + d)."""
        widths = block_widths(self.shape, self.most_places)
        blocks = [-(-side // width) for side, width in zip(self.shape, widths, strict=True)]
        table = np.zeros((math.prod(blocks), 1 + self.ndim))
        sides, memory = np.array([self.shape, widths, blocks]), np.empty(self.ndim)
        loops().add_blocks(np.ascontiguousarray(values), sides, memory, table)
        return table


def block_widths(shape: tuple[int, ...], most: int) -> list[int]:
    """Return widths of blocks of cells: similar powers of 2 that give at most ``most`` blocks."""
    widths = [1] * len(shape)
    while math.prod(blocks := [-(-n // w) for n, w in zip(shape, widths, strict=True)]) > most:
        widths[int(np.argmax(blocks))] *= 2
    return widths


@dataclass(frozen=True, kw_only=True)
class Size:
    """A number of records (at least 1) for a grid's size, its noise scale, and the budget left."""

    value: float
    scale: float
    left: float


def noisy_size(
    records: Records, config: KMeansConfig, accountant: Accountant, *, step: str, epsilon: float
) -> Size:
    """Return the number of records: noisy, for a share of ``epsilon``, or true if published."""
    if config.variant == "published":
        return Size(value=float(records.n), scale=0.0, left=epsilon)
    left = epsilon * (1 - SIZE_SHARE)
    noisy = accountant.laplace(f"{step}: records", records.n, sensitivity=1, epsilon=epsilon - left)
    scale = accountant.ledger.spends[-1].scale
    return Size(value=max(float(noisy), 1.0), scale=scale, left=left)


def noisy_grid(
    records: Records,
    config: KMeansConfig,
    accountant: Accountant,
    *,
    step: str,
    epsilon: float,
    size: Size | None = None,
) -> NoisyGrid:
    """Release a uniform grid of counts for ``epsilon``; a sound grid has at least K cells.

    If ``size`` is None, the number of records is released here. Raises InputError if there are too
    many columns. Su, Cao, Li, Bertino, Jin 2015, EUGkM; the sound variant projects the noisy counts
    onto the simplex with an estimated total.
    """
    if size is None:
        size = noisy_size(records, config, accountant, step=step, epsilon=epsilon)
        epsilon = size.left
    clusters = USUAL if config.choose == PRIVATE else config.clusters
    ndim, published = records.domain.ndim, config.variant == "published"
    if config.cells == "refined":
        shape = refined_sides(size.value, epsilon, ndim, clusters)
    elif published:
        shape = printed_sides(size.value, epsilon, ndim)
    else:
        shape = grid_sides(size.value, epsilon, ndim, clusters, PER_CELL[config.variant])
    counts = cell_counts(records, shape)
    noisy_counts = accountant.laplace(step, counts, sensitivity=1, epsilon=epsilon)
    scale = accountant.ledger.spends[-1].scale
    if published:
        weights = np.maximum(noisy_counts, 0)
    else:
        # Average the size and the sum of m cells; each is weighted by the other's variance.
        in_cells, of_size = len(counts) * scale**2, size.scale**2
        seen = size.value * in_cells + float(noisy_counts.sum()) * of_size
        weights = onto_simplex(noisy_counts, max(seen / (in_cells + of_size), 0.0))
    return NoisyGrid(
        shape=shape,
        weights=weights,
        counts=noisy_counts,
        scale=scale,
        most_places=records.most_places,
    )


def cell_counts(records: Records, shape: tuple[int, ...]) -> Ints:
    """Count the records in the cells of a uniform grid, in row-major order, shape (m,)."""
    return records.kept(("grid", shape), lambda: records.cells(shape).ravel())


def grid_sides(
    size: float, epsilon: float, ndim: int, clusters: int, per_cell: float
) -> tuple[int, ...]:
    """Cells per axis, at least 2: in total about (N epsilon / c)^(2d / (2 + d)), and at least K."""
    least, most = _ends(ndim, clusters)
    side = round((size * epsilon / per_cell) ** (2 / (2 + ndim)))
    return (min(max(side, least), most),) * ndim


def printed_sides(size: float, epsilon: float, ndim: int) -> tuple[int, ...]:
    """Cells per axis (at least 2) in the program of Su et al.; slightly more than the paper's M.

    M = (N epsilon / 10)^(2d / (2 + d)). Each axis has M^(1/d) cells, rounded up on the first axes
    until there are more than M cells, and rounded down on the other axes.
    """
    most = _ends(ndim, 1)[1]
    cells = (size * epsilon / PER_CELL["published"]) ** (2 * ndim / (2 + ndim))
    width = cells ** (1 / ndim)
    if width > most:
        return (most,) * ndim
    sides = [math.floor(width)] * ndim
    for axis in range(ndim):
        sides[axis] = math.ceil(width)
        if math.prod(sides) > cells:
            break
    return tuple(max(side, 2) for side in sides)


def refined_sides(size: float, epsilon: float, ndim: int, clusters: int) -> tuple[int, ...]:
    """Cells per axis that minimize a bound on the error in the box (arXiv 2603.26963).

    With m cells per axis of [-1, 1]^d the bound is N / (3 m^2) + 2 sqrt(N / 3) / (m K^(1/d)) +
    sqrt(2) m^(d/2) / (epsilon K^(2/d)): two terms are for moved records, and one term is for noise.
    """
    least, most = _ends(ndim, clusters)
    m, width = np.arange(least, most + 1), clusters ** (-1 / ndim)
    placed, noise = size / 3, math.sqrt(2) / epsilon * width**2
    bound = placed / m**2 + 2 * math.sqrt(placed) * width / m + noise * m ** (ndim / 2)
    return (int(m[np.argmin(bound)]),) * ndim


def _ends(ndim: int, clusters: int) -> tuple[int, int]:
    """Return the smallest number of cells per axis for K cells, and the largest allowed number."""
    if 2**ndim > MAX_CELLS:
        raise InputError(
            f"the data has {ndim} columns, and a grid over them would have 2^{ndim} cells or more: "
            "choose fewer columns, or a method without a grid such as dplloyd."
        )
    most = int(MAX_CELLS ** (1 / ndim) + 1e-9)
    return min(max(2, math.ceil(clusters ** (1 / ndim) - 1e-9)), most), most


def onto_simplex(values: Floats, total: float) -> Floats:
    """Nearest point (least squares) with the given total (at least 0) and no negative entry.

    Subtracts one amount from all values (m,); the sorted values give this amount (Held, Wolfe,
    Crowder 1974). Values below a lower bound of the amount are not sorted (Michelot 1986).
    """
    left = values
    for _ in range(_CUTS):
        # If negative results were allowed, this would be the amount, so it is a lower bound.
        least = (float(left.sum()) - total) / len(left)
        left = left[left >= least - _ROUNDING * abs(least)]
    descending = np.sort(left)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(left) + 1)
    last = int(np.flatnonzero(descending >= excess)[-1])
    return np.asarray(np.maximum(values - excess[last], 0))

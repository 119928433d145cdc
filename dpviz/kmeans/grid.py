"""A noisy uniform grid of counts: the input of EUGkM, and of a start without a leak."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.counts import quantize
from dpviz.errors import InputError
from dpviz.family.card import VariantName
from dpviz.kmeans.records import Records
from dpviz.privacy.mechanisms import Accountant

#: Records per cell and per unit of 1/epsilon: the printed value (Su et al. 2016), and ours. With
#: few records, ten is too coarse to separate clusters (S1, K 15, epsilon 0.1: NICV 2.2 times the
#: true one instead of 1.1). With many records it makes little difference. If some clusters are
#: small compared with the others, ours is worse (Unbalance on the range of its data, epsilon 1:
#: 1.7 instead of 1.1).
PER_CELL = {"published": 10.0, "sound": 3.0}

#: Share of a grid's budget for the noisy number of records, which determines the grid's size.
SIZE_SHARE = 0.02

#: A finer grid would take too long.
MAX_CELLS = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyGrid:
    """Noisy counts of a uniform grid over the domain, made consistent.

    Parameters
    ----------
    shape
        Cells per axis.
    weights
        Estimated records per cell in row-major order, none negative, shape (m,).
    scale
        Scale of the Laplace noise on each count.
    """

    shape: tuple[int, ...]
    weights: NDArray[np.float64]
    scale: float

    @property
    def centers(self) -> NDArray[np.float64]:
        """Cell centres in scaled coordinates, shape (m, d)."""
        axes = [(2 * np.arange(side) + 1) / side - 1 for side in self.shape]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(self.shape))


def noisy_grid(
    records: Records,
    accountant: Accountant,
    *,
    step: str,
    epsilon: float,
    clusters: int,
    variant: VariantName,
) -> NoisyGrid:
    """Release a uniform grid of counts for ``epsilon``.

    The sound variant spends ``SIZE_SHARE`` of it on a noisy number of records; the published
    variant uses the true number.

    Parameters
    ----------
    step
        Name of the release on the ledger.
    clusters
        K: the grid has at least as many cells.

    Raises
    ------
    InputError
        If there are too many columns for a grid.

    Notes
    -----
    Su, Cao, Li, Bertino, Jin 2015, EUGkM. The projection of the noisy counts onto the simplex of
    their total is not in the paper; dropping negative counts would inflate the total.
    """
    size, size_scale = float(records.n), 0.0
    cells_share = epsilon
    if variant == "sound":
        cells_share = epsilon * (1 - SIZE_SHARE)
        noisy = accountant.laplace(
            f"{step}: records", size, sensitivity=1, epsilon=epsilon - cells_share
        )
        size, size_scale = max(float(noisy), 1.0), accountant.ledger.spends[-1].scale
    shape = grid_sides(size, cells_share, records.domain.ndim, clusters, PER_CELL[variant])
    counts = records.kept(
        ("grid", shape),
        lambda: quantize(records.points, records.domain, shape, weights=records.weights)[0].ravel(),
    )
    noisy_counts = accountant.laplace(step, counts, sensitivity=1, epsilon=cells_share)
    scale = accountant.ledger.spends[-1].scale
    # Two noisy totals, each weighted by the other's variance; m cells have m times one's variance.
    in_cells, of_size = len(counts) * scale**2, size_scale**2
    total = (size * in_cells + float(noisy_counts.sum()) * of_size) / (in_cells + of_size)
    return NoisyGrid(shape=shape, weights=onto_simplex(noisy_counts, max(total, 0.0)), scale=scale)


def grid_sides(
    size: float, epsilon: float, ndim: int, clusters: int, per_cell: float
) -> tuple[int, ...]:
    """Cells per axis, equal on all axes, from (N epsilon / c)^(2d / (2 + d)) cells in total.

    At least as many cells as clusters, and at least 2 cells per axis.
    """
    if 2**ndim > MAX_CELLS:
        raise InputError(
            f"the data has {ndim} columns, and a grid over them would have 2^{ndim} cells or more: "
            "choose fewer columns, or a method without a grid such as dplloyd."
        )
    side = round((size * epsilon / per_cell) ** (2 / (2 + ndim)))
    side = max(side, 2, math.ceil(clusters ** (1 / ndim) - 1e-9))
    most = int(MAX_CELLS ** (1 / ndim) + 1e-9)
    return (min(side, most),) * ndim


def onto_simplex(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Nearest point (least squares) with no negative entry and the given total.

    Parameters
    ----------
    values
        Shape (m,).
    total
        At least 0.

    Notes
    -----
    Subtracts one amount from all values and sets negative results to 0; the amount comes from
    the sorted values (Held, Wolfe, Crowder 1974).
    """
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    last = int(np.flatnonzero(descending >= excess)[-1])
    return np.asarray(np.maximum(values - excess[last], 0))

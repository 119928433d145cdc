"""Stored records -> a grid of counts: one pass over them, by any engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpviz.counts import quantize
from dpviz.data.dataset import Dataset
from dpviz.domain import Domain, Outside, check_outside, grid_shape
from dpviz.engine.tables import Engine, Part, Tables


def counted(
    name: str,
    parts: Sequence[Part],
    grid: int | tuple[int, ...],
    domain: Domain,
    outside: Outside,
    engine: Engine,
    columns: tuple[str, ...] = (),
) -> Dataset:
    """Count the records of all parts in every cell of a grid.

    Parameters
    ----------
    name, columns
        As in :class:`dpviz.data.dataset.Dataset`.
    parts, engine
        Where the records are, and who reads them.
    grid, domain, outside
        As in :func:`dpviz.counts.quantize`.

    Returns
    -------
    dataset
        The counts, to the last unit those of the same records in memory, with their domain.

    Raises
    ------
    InputError
        Where the grid does not fit the domain or the memory, or a part can't be read.
    """
    check_outside(outside)
    shape = grid_shape(grid, domain.ndim)
    counts, others = engine.total(parts, partial(_count, domain, shape, outside))
    n_outside, dropped = (int(number) for number in others)
    fate = "left out" if outside == "drop" else "moved to its border"
    notes = (f"Outside the domain: {n_outside:,} points, {fate}.",) if n_outside else ()
    return Dataset(
        name=name, counts=counts, columns=columns, domain=domain, dropped=dropped, notes=notes
    )


def _count(domain: Domain, shape: tuple[int, ...], outside: Outside, part: Part) -> Tables:
    """Counts of a part, and the numbers of its points outside and of its rows left out."""
    counts: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
    others = np.zeros(2, dtype=np.int64)
    for points, dropped in part.chunks():
        found, n_outside = quantize(points, domain, shape, outside=outside)
        counts += found
        others += n_outside, dropped
    part.check()
    return counts, others

"""Count stored records on a grid, in one pass by any engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine, Part, Tables
from dpviz.data.stored import Stored
from dpviz.grid.counts import quantize_parts
from dpviz.grid.domain import Domain, Outside, check_outside, grid_shape


class Counted(NamedTuple):
    """Counts per cell, number of points outside the domain, and number of rows left out."""

    counts: Ints
    n_outside: int
    dropped: int


def count_cells(
    parts: Sequence[Part],
    grid: int | tuple[int, ...],
    domain: Domain,
    outside: Outside,
    engine: Engine,
) -> Counted:
    """Count the records of all parts in every cell; InputError if a part is unreadable."""
    check_outside(outside)
    shape = grid_shape(grid, domain.ndim)
    counts, others = engine.total(parts, partial(_count, domain, shape, outside))
    return Counted(counts, int(others[0]), int(others[1]))


def counted(
    source: Stored, grid: int | tuple[int, ...], domain: Domain, outside: Outside, engine: Engine
) -> Dataset:
    """Count stored records on a grid; return a data set of counts. See ``count_cells``."""
    found = count_cells(source.parts, grid, domain, outside, engine)
    fate = "left out" if outside == "drop" else "moved to its border"
    note = f"Outside the domain: {found.n_outside:,} points, {fate}."
    return Dataset(
        name=source.name,
        counts=found.counts,
        columns=source.columns,
        domain=domain,
        dropped=source.dropped + found.dropped,
        notes=(*source.notes, note) if found.n_outside else source.notes,
    )


def _count(domain: Domain, shape: tuple[int, ...], outside: Outside, part: Part) -> Tables:
    dropped = 0

    def all_points() -> Iterator[Floats]:
        nonlocal dropped
        for points, left_out in part.chunks():
            dropped += left_out
            yield points

    counts, n_outside = quantize_parts(all_points(), domain, shape, outside=outside)
    part.check()
    return counts, np.array([n_outside, dropped])

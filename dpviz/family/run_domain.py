"""The domain of a run if no domain is given."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine, Part, Tables
from dpviz.data.stored import Stored
from dpviz.family.card import VariantName
from dpviz.grid.domain import Domain, Outside, check_outside, grid_shape


def run_domain(dataset: Dataset, variant: VariantName, domain: Domain | None = None) -> Domain:
    """Bounds of a run: the given domain, or the default domain of the variant.

    A published variant uses the range of the data, a sound variant uses the declared domain, and a
    grid of counts has its box. Raises InputError if domain and data differ in the number of axes.
    """
    return dataset.bounds(domain, from_data=variant == "published")


def check_fit(dataset: Dataset, domain: Domain, outside: Outside) -> None:
    """Raise InputError if no method can run on these data and bounds."""
    check_outside(outside)
    if dataset.counts is not None:
        grid_shape(dataset.counts.shape, dataset.ndim)
    if dataset.points is not None:
        check_some(dataset.points)
        outside_points = np.count_nonzero(~domain.contains(dataset.points))
        dataset.check_some_inside(domain, int(outside_points))


def check_some(points: Floats) -> None:
    """Raise InputError if there are no points."""
    if not len(points):
        raise InputError("the data has no records: load at least one record.")


def stored_domain(
    source: Stored, variant: VariantName, engine: Engine, domain: Domain | None = None
) -> Domain:
    """Like :func:`run_domain`, for stored records; a pass over the data computes their range."""
    box = domain or (None if variant == "published" else source.domain)
    if box is None:
        return range_of(source, engine)
    box.check_ndim(source.ndim, "column", "the data")
    return box


def range_of(source: Stored, engine: Engine) -> Domain:
    """Smallest box around stored records (not private); InputError if there are no records."""
    ends = engine.tables(source.parts, partial(_range, source.ndim))
    lows, highs = (np.stack(column) for column in zip(*ends, strict=True))
    found = np.stack([lows.min(axis=0), highs.max(axis=0)])
    if not np.isfinite(found).all():
        raise InputError(f"{shown(source.name)} has no records: load at least one record.")
    return Domain.from_data(found)


def _range(ndim: int, part: Part) -> Tables:
    lows, highs = np.full(ndim, np.inf), np.full(ndim, -np.inf)
    for points, _ in part.chunks():
        lows = np.minimum(lows, points.min(axis=0, initial=np.inf))
        highs = np.maximum(highs, points.max(axis=0, initial=-np.inf))
    part.check()
    return lows, highs

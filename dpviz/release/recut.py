"""Counts of areas from a release that has cells: post-processing, which spends no budget.

A cell on a border is divided by surface, as if its records were spread evenly. Noise has a known
scale, but nobody knows how the records of a cell are spread. So there are two bands. ``noise`` is
the error of the estimate by noise alone. ``low`` to ``high`` holds for any spread: from the cells
that are entirely inside the area to all cells that touch it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Ints
from dpviz.base.errors import InputError
from dpviz.data.geographic import in_degrees
from dpviz.data.strict.areas import hexagons
from dpviz.grid.areas import Areas
from dpviz.grid.domain import Domain
from dpviz.release.geojson import on_earth
from dpviz.release.tables import Document, counting_step, edges, margin, on_map

#: Names of the columns of :func:`bands`.
_BANDS = ("count", "noise", "low", "high")

#: Share of a cell from which the cell is entirely inside an area.
_WHOLE = 1 - 1e-9


def recut(document: Document, areas: Areas) -> dict[str, Any]:
    """Estimate the number of records in each area, from the noisy counts of a release.

    Returns a FeatureCollection: one feature per area with its ``name``, the estimated ``count``,
    ``noise`` (in 95% of cases noise changes the estimate by less), and ``low`` to ``high`` (in 95%
    of cases these numbers contain the true number). ``about`` explains them. Raises InputError if
    the release has no noisy counts of cells over two columns.
    """
    document = on_map(document)
    counting, result, domain = counting_step(document), document["result"], document["domain"]
    if result["kind"] != "cells" or counting is None or len(domain["columns"]) != 2:
        raise InputError(
            "the release has no noisy counts of cells over two columns: only such a release, for "
            "example by PrivQT, can be cut into areas."
        )
    counts = np.array(result["counts"], dtype=float)
    borders = [np.array(edges(document, axis, side)) for axis, side in enumerate(counts.shape)]
    found = bands(areas, borders, counts, counting["scale"])
    import shapely

    features = [
        {
            "type": "Feature",
            "properties": {"name": name, **dict(zip(_BANDS, row, strict=True))},
            "geometry": shapely.geometry.mapping(polygon),
        }
        for name, polygon, row in zip(areas.names, areas.polygons, found.tolist(), strict=True)
    ]
    moved = " Records outside the domain were moved into cells at its border." * (
        domain["outside"] == "clip"
    )
    about = (
        "count: noisy counts of cells, divided among areas by surface. noise: in 95% of cases "
        "noise changes count by less; this says nothing about the error of dividing cells. low to "
        "high: in 95% of cases this contains the true number of records in the area and the "
        f"domain, however the records of a cell are spread.{moved}"
    )
    made = {"type": "FeatureCollection", "about": about, "columns": domain["columns"]}
    return on_earth({**made, "features": features}, document)


def hexagons_of(document: Document, resolution: int) -> Areas:
    """H3 cells over the domain of a release; InputError if its columns are not in degrees."""
    domain = on_map(document)["domain"]
    if not in_degrees(domain["columns"], domain["bounds"]):
        raise InputError("hexagons need a release over longitude and latitude, in degrees.")
    return hexagons(resolution, Domain(tuple(map(tuple, domain["bounds"]))))


def bands(areas: Areas, borders: Sequence[Floats], counts: Floats, scale: float) -> Ints:
    """Estimate, its error by noise, lower and upper bound of each area: whole numbers (m, 4).

    ``borders``: edges of the cells on each axis of the noisy ``counts``, whose noise has this
    ``scale``. Each bound fails in at most 2.5% of cases.
    """
    area, cell, share = areas.shares(borders)
    flat, number = counts.ravel()[cell], len(areas)
    inside = share >= _WHOLE

    def total(values: Any, where: Any = slice(None)) -> Floats:
        sums = np.bincount(area[where], np.broadcast_to(values, share.shape)[where], number)
        return np.asarray(sums)

    squares, fourths = total(share**2), total(share**4)
    # As in margin, but for a weighted sum, whose excess kurtosis is 3 fourths / squares^2.
    tails = 0.21 * fourths / np.maximum(squares, 1e-12) ** 2
    noise = scale * np.sqrt(2 * squares) * (1.96 + tails)
    errors = [
        np.array([margin(scale, int(each)) if each else 0 for each in total(1.0, where)])
        for where in (inside, slice(None))
    ]
    low = np.maximum(total(flat, inside) - errors[0], 0)
    high = np.maximum(total(flat) + errors[1], low)
    columns = (np.rint(total(share * flat)), np.ceil(noise), np.floor(low), np.ceil(high))
    return np.asarray(np.stack(columns, axis=1).astype(np.int64))

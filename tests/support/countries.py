"""Find the country of a place from the borders and cities of Natural Earth in dpviz."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from dpviz.data.background import _earth
from dpviz.data.cities import cities


@cache
def _areas() -> tuple[shapely.STRtree, dict[int, str]]:
    """Areas between borders and coasts; and, for each area, the country of most of its cities."""
    lines = shapely.node(shapely.multilinestrings(_earth()))
    areas = shapely.STRtree(shapely.get_parts(shapely.polygonize(shapely.get_parts(lines))))
    every = list(cities().values())
    inside = areas.query(shapely.points([[one.lon, one.lat] for one in every]), "within")
    found: dict[int, Counter[str]] = {}
    for city, area in inside.T.tolist():
        found.setdefault(area, Counter())[every[city].country] += 1
    return areas, {area: names.most_common(1)[0][0] for area, names in found.items()}


def country_of(lon: float, lat: float) -> str:
    """Country of a place; empty for the sea."""
    areas, names = _areas()
    return next((names[at] for at in areas.query(shapely.Point(lon, lat), "within")
                 if at in names), "")  # fmt: skip


def read_map(path: Path) -> tuple[str, Any, dict[str, Any]]:
    """Read a file as map programs do (with GDAL): its coordinate system, shapes (n,) and fields."""
    from pyogrio.raw import read

    meta, _, shapes, fields = read(path)
    return meta["crs"], shapely.from_wkb(shapes), dict(zip(meta["fields"], fields, strict=True))


def town(lon: float, lat: float, n: int = 4000, spread: float = 0.02) -> np.ndarray:
    """Records (n, 2) around a place, longitude first."""
    return np.random.default_rng(0).normal((lon, lat), spread, (n, 2))

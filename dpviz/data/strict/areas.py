"""Areas of a release: polygons of a GeoJSON file, or hexagons of H3; both are public."""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.base.errors import InputError, reason, shown
from dpviz.grid.areas import MOST_AREAS, Areas
from dpviz.grid.domain import Domain

#: Largest size of a file of areas, in bytes.
MOST_BYTES = 20 * 2**20

#: Properties that may name an area; the first that exists is used, other properties are ignored.
_NAMES = ("name", "label", "title", "id")

_LONGEST_NAME = 80

#: Latitude beyond which a hexagon may contain a pole, and width of a tile; both in degrees.
MOST_NORTH, _TILE = 80, 30


def read_areas(file: str | Path) -> Areas:
    """Read the polygons of a GeoJSON FeatureCollection (RFC 7946); InputError for other files."""
    path = Path(file)
    try:
        with path.open("rb") as opened:
            text = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"areas = {shown(path, 80)} can't be read ({reason(error)}): name a GeoJSON file."
        ) from None
    return parsed_areas(text, path.name)


def parsed_areas(text: bytes, name: str) -> Areas:
    """Read the polygons of the content of a file, as :func:`read_areas` does."""
    if len(text) > MOST_BYTES:
        raise InputError(
            f"{shown(name)} is larger than {MOST_BYTES >> 20} MiB: simplify its borders."
        )
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(f"{shown(name)} is no JSON file: give areas as GeoJSON.") from None
    return areas_of(content, name)


def areas_of(content: Any, name: str) -> Areas:
    """Polygons of a parsed FeatureCollection; ``name`` is for error messages."""
    import shapely

    features = content.get("features") if isinstance(content, dict) else None
    names, polygons = [], []
    for number, feature in enumerate(features if isinstance(features, list) else (), start=1):
        try:
            geometry, about = feature["geometry"], feature.get("properties") or {}
            if geometry is None or geometry["type"] not in ("Polygon", "MultiPolygon"):
                continue
            polygons.append(shapely.force_2d(shapely.geometry.shape(geometry)))
            by_lower = {str(key).lower(): value for key, value in {**feature, **about}.items()}
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, shapely.GEOSException):
            raise InputError(
                f"feature {number} of {shown(name)} is no valid polygon: repair or remove it."
            ) from None
        said = (by_lower[key] for key in _NAMES if by_lower.get(key) not in (None, ""))
        text = "".join(char for char in str(next(said, number)) if char.isprintable())
        names.append(text[:_LONGEST_NAME] or str(number))
    if not polygons:
        raise InputError(
            f"{shown(name)} has no polygons: give a GeoJSON FeatureCollection of polygons."
        )
    return Areas(tuple(names), tuple(polygons))


def hexagons(resolution: int, domain: Domain) -> Areas:
    """H3 cells that touch a box of (longitude, latitude); needs the package h3.

    Raises InputError if the resolution is not from 0 to 15, if the package is missing, or if there
    would be too many cells.
    """
    import shapely

    try:
        import h3
    except ModuleNotFoundError:
        raise InputError(
            "hexagons need the package h3: install it with pip install dpviz[hexagons]."
        ) from None
    if not 0 <= resolution <= 15:
        raise InputError(f"hexagons = {resolution}: give a resolution of H3, from 0 to 15.")
    (west, east), (south, north) = domain.bounds
    if west < -180 or east > 180 or south < -MOST_NORTH or north > MOST_NORTH:
        raise InputError(
            f'hexagons can\'t cover the domain "{domain}": declare longitudes from -180 to 180, '
            f"and latitudes from -{MOST_NORTH} to {MOST_NORTH}."
        )
    low, high = np.radians((south, north))
    steradians = np.radians(east - west) * (np.sin(high) - np.sin(low))
    # The areas of cells of one resolution differ by a factor of about two.
    if h3.get_num_cells(resolution) * steradians / (4 * np.pi) > 2 * MOST_AREAS:
        raise InputError(
            f"hexagons = {resolution} needs more than {MOST_AREAS:,} cells for the domain "
            f'"{domain}": give a smaller resolution, or a smaller domain.'
        )
    # If a shape is wider than half of the Earth, H3 takes the rest of the Earth: use tiles.
    lons, lats = (
        np.linspace(*ends, 2 + int((ends[1] - ends[0]) / _TILE)) for ends in domain.bounds
    )
    cells: set[str] = set()
    for (left, right), (low, high) in product(pairwise(lons), pairwise(lats)):
        tile = h3.LatLngPoly([(low, left), (low, right), (high, right), (high, left)])
        cells.update(h3.h3shape_to_cells_experimental(tile, resolution, contain="overlap"))
    shapes = {cell: [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)] for cell in cells}
    # A cell over the 180th meridian would be a band around the Earth on a map.
    names = sorted(
        cell
        for cell, shape in shapes.items()
        if all(abs(one[0] - other[0]) < 180 for one, other in pairwise(shape))
    )
    return Areas(tuple(names), tuple(shapely.Polygon(shapes[one]) for one in names))

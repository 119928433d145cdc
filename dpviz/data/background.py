"""Background lines (n, 2) of a map, separated by NaN: Natural Earth's, or the user's GeoJSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.base.lru import LRUCache
from dpviz.grid.domain import Domain

Lines = Floats

#: Natural Earth (https://www.naturalearthdata.com), see sample_data/natural_earth.py.
FOLDER = Path(__file__).with_name("natural_earth")

#: Largest size of a user's file, in bytes.
MOST_BYTES = 5 * 2**20

#: Details smaller than this fraction of the domain are removed, and islands below twice as much.
_DETAIL = 1 / 800

#: Largest number of points in a piece of a line. Each piece is simplified separately.
_PIECE = 1_000

_TYPES = {
    *("FeatureCollection", "Feature", "GeometryCollection", "Point", "MultiPoint"),
    *("LineString", "MultiLineString", "Polygon", "MultiPolygon"),
}

_DRAWN = LRUCache(32)


@dataclass(frozen=True, eq=False)
class Background:
    """Name and lines of a GeoJSON file. An object is equal only to itself."""

    name: str
    lines: Any

    def within(self, domain: Domain) -> Lines:
        """Lines inside the domain, shape (n, 2)."""
        return _DRAWN.get((id(self), self, domain.bounds), lambda: clipped(self.lines, domain))

    def missing(self, domain: Domain) -> str:
        """Error message if no line of the file is inside the domain; '' if a line is inside."""
        if len(self.within(domain)):
            return ""
        import shapely

        west, south, east, north = shapely.total_bounds(self.lines)
        return (
            f"{shown(self.name)}: no line is inside the domain {domain}; the file spans "
            f"{west:.6g} to {east:.6g} and {south:.6g} to {north:.6g}, first coordinate first."
        )


def coastlines(domain: Domain, *, swapped: bool = False) -> Lines:
    """Coastlines and borders (n, 2) in a domain of degrees; latitude is first if ``swapped``."""
    # Lines are accurate to some kilometres. Longitudes may be from 0 to 360 or from -180 to 180.

    def build() -> Lines:
        import shapely

        box = Domain(domain.bounds[::-1]) if swapped else domain
        low, high = box.bounds[0]
        turns = [turn for turn in (-360, 0, 360) if low < turn + 180 and high > turn - 180]
        parts = [
            shapely.transform(_earth(), lambda at, t=turn: at + np.array([t, 0])) for turn in turns
        ]
        lines = clipped(np.concatenate(parts), box, 2 * _DETAIL)
        return lines[:, ::-1] if swapped else lines

    return _DRAWN.get((swapped, domain.bounds), build)


@cache
def _earth() -> NDArray[Any]:
    import pyarrow.parquet as pq
    import shapely

    table = pq.read_table(FOLDER / "lines.parquet", columns=["line", "lon", "lat"])
    line, lon, lat = (table[name].to_numpy() for name in ("line", "lon", "lat"))
    lines: NDArray[Any] = shapely.linestrings(lon / 1000, lat / 1000, indices=line)
    return lines


def clipped(lines: Any, domain: Domain, least: float = 0.0) -> Lines:
    """Parts of shapely lines in a domain, without parts below the fraction ``least`` of it."""
    import shapely

    (west, east), (south, north) = domain.bounds
    inside = shapely.get_parts(shapely.clip_by_rect(lines, west, south, east, north))
    inside = inside[(shapely.get_type_id(inside) == 1) & ~shapely.is_empty(inside)]
    # Lengths are fractions of the domain, because its axes may have different units.
    lows, spans = domain.lows, domain.highs - domain.lows
    unit = shapely.transform(inside, lambda at: (at - lows) / spans)
    west, south, east, north = shapely.bounds(unit).T
    unit = unit[np.maximum(east - west, north - south) >= least]
    if not len(unit):
        return np.empty((0, 2))
    pieces, line = _pieces(*shapely.get_coordinates(unit, return_index=True))
    points, piece = shapely.get_coordinates(shapely.simplify(pieces, _DETAIL), return_index=True)
    # If a piece continues the previous piece, both pieces contain the point where they meet.
    goes_on = (np.diff(piece) > 0) & (np.diff(line[piece]) == 0)
    keep = np.r_[True, ~goes_on]
    points, line = points[keep], line[piece][keep]
    breaks = np.nonzero(np.diff(line))[0] + 1
    return np.insert(np.clip(lows + points * spans, lows, domain.highs), breaks, np.nan, axis=0)


def _pieces(points: Floats, line: NDArray[np.integer]) -> tuple[Any, NDArray[Any]]:
    import shapely

    # GEOS simplifies a line by recursion, so a long zigzag would overflow the stack of the server.
    goes_on = np.r_[False, np.diff(line) == 0]
    first = np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(line))))
    # Two successive pieces share the point between them.
    ends = goes_on & np.r_[goes_on[1:], False] & ((np.arange(len(line)) - first) % _PIECE == 0)
    order = np.repeat(np.arange(len(line)), 1 + ends)
    begins = ~goes_on[order] | np.r_[False, np.diff(order) == 0]
    number = np.cumsum(begins) - 1
    return shapely.linestrings(points[order], indices=number), line[order][begins]


def _has_place(feature: Any) -> bool:
    is_feature = isinstance(feature, dict) and feature.get("type") == "Feature"
    return not is_feature or feature.get("geometry") is not None


def read_background(content: bytes, name: str) -> Background:
    """Read lines and outlines of polygons of a GeoJSON file; InputError if there are none."""
    import shapely

    if len(content) > MOST_BYTES:
        raise InputError(
            f"{shown(name)} has more than {MOST_BYTES // 2**20} MB, the limit for a background: "
            "simplify its lines, or remove lines that are not needed."
        )
    try:
        whole = json.loads(content)
        kind = whole["type"]
        known = kind in _TYPES
        features = list(whole["features"]) if kind == "FeatureCollection" else [whole]
        # A feature without a geometry is valid (section 3.2), but shapely can't read it.
        texts = {at: json.dumps(one) for at, one in enumerate(features, 1) if _has_place(one)}
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise InputError(
            f"{shown(name)} is not GeoJSON: save it as GeoJSON (RFC 7946), for example with QGIS."
        )
    parts = shapely.from_geojson(np.array([*texts.values()], dtype=object), on_invalid="ignore")
    for number, one in zip(texts, parts, strict=True):
        if one is None:
            raise InputError(
                f"feature {number:,} of {shown(name)} has an unreadable geometry: correct it, or "
                "leave it out."
            )
    while (nested := shapely.get_type_id(parts) >= 4).any():
        parts = np.concatenate([parts[~nested], shapely.get_parts(parts[nested])])
    kinds = shapely.get_type_id(parts)
    # The boundary of a line is its two ends, so only boundaries of polygons are drawn.
    drawn = shapely.get_parts(np.where(kinds == 3, shapely.boundary(parts), parts)[kinds > 0])
    drawn = drawn[~shapely.is_empty(drawn)]
    if not len(drawn):
        what = "points" if (kinds == 0).any() else shown(str(kind))
        raise InputError(
            f"{shown(name)} has no lines and no polygons, only {what}: choose another file "
            "for the background, and load points as data."
        )
    if not np.isfinite(shapely.get_coordinates(drawn)).all():
        raise InputError(f"{shown(name)} has coordinates that are not finite: correct them.")
    return Background(name, drawn)

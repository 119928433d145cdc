"""Clusters as polygons: a GeoJSON FeatureCollection (RFC 7946) over a domain of two columns."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Indices
from dpviz.data.geographic import in_degrees
from dpviz.release.tables import (
    ClusterFacts,
    Document,
    cluster_facts,
    doubtful_clusters,
    edges,
    on_map,
    tidy,
)

Point = tuple[float, float]

#: GeoJSON object with closed rings; None if a cluster covers no area.
Geometry = dict[str, Any] | None

#: Corners of regions are rounded to this number of digits of the unit square. So neighbours have
#: equal coordinates at a common corner.
_DIGITS = 12


def clusters(document: Document) -> dict[str, Any]:
    """One feature per cluster, in the order of the clusters' numbers, for a domain of two columns.

    Coordinates are in the units of the data. If the columns are named longitude and latitude, in
    any order, a coordinate pair is (longitude, latitude), otherwise (first column, second column).
    ``columns`` and ``center`` have the same order. Outer rings are counter-clockwise, holes are
    clockwise. For cells, a polygon is the union of the cluster's cells. For centres, it is the part
    of the domain that is nearest to the centre, after both columns are scaled to the same length;
    if two centres are equal, the first centre gets the polygon. For areas, it is the union of the
    cluster's areas.
    """
    document = on_map(document)
    facts = cluster_facts(document)
    finders = {"cells": _of_cells, "areas": _of_areas, "centers": _of_centers}
    find = finders[document["result"]["kind"]]
    features = [_feature(*parts) for parts in zip(facts, *find(document), strict=True)]
    return _collection(document, features)


def areas(document: Document) -> dict[str, Any]:
    """One feature per area, with its name, noisy count, and cluster (0: none)."""
    result, doubts = document["result"], doubtful_clusters(document)
    rows = zip(result["names"], result["counts"], result["labels"], result["polygons"], strict=True)
    features = []
    for name, count, label, polygon in rows:
        about = {"name": name, "count": count, "cluster": label}
        about |= {} if doubts is None else {"doubtful": label in doubts}
        features.append({"type": "Feature", "properties": about, "geometry": polygon})
    return on_earth(_collection(document, features), document)


def _collection(document: Document, features: list[dict[str, Any]]) -> dict[str, Any]:
    columns = document["domain"]["columns"]
    return {"type": "FeatureCollection", "columns": columns, "features": features}


def published(collection: dict[str, Any], document: Document) -> dict[str, Any]:
    """Return the clusters as they are written: on the Earth, and with rounded numbers.

    Corners of cells are rounded to a hundredth of a cell, and centres to a millionth of the domain.
    Declared bounds are not rounded. Areas around centres are not rounded either, because the area
    between two near centres would collapse. Counts are noisy, so they are rounded to whole numbers.
    """
    mapped = on_map(document)
    bounds, of_cells = mapped["domain"]["bounds"], mapped["result"]["kind"] == "cells"
    sides = np.shape(mapped["result"]["counts"]) if of_cells else (10**4,) * 2
    digits = [
        max(math.ceil(math.log10(100 * side / (high - low))), 0)
        for (low, high), side in zip(bounds, sides, strict=True)
    ]

    def short(at: Any) -> Any:
        if not isinstance(at[0], float | int):
            return [short(one) for one in at]
        parts = zip(at, bounds, digits, strict=True)
        return [one if one in ends else round(one, most) for one, ends, most in parts]

    found = json.loads(json.dumps(on_earth(collection, document), allow_nan=False))
    for one in found["features"]:
        about = one["properties"]
        about["area_share"] = round(about["area_share"], 6)
        about |= {"count": round(about["count"])} if "count" in about else {}
        about |= {"center": short(about["center"])} if "center" in about else {}
        if of_cells:
            one["geometry"]["coordinates"] = short(one["geometry"]["coordinates"])
    return dict(found)


def on_earth(collection: dict[str, Any], document: Document) -> dict[str, Any]:
    """Return the clusters with longitudes from -180 to 180, cut at 180 degrees (RFC 7946, 3.1.9).

    The clusters change only if the bounds exceed this range, such as 170 to 190 or 0 to 360.
    """
    domain = on_map(document)["domain"]
    (west, east), _ = domain["bounds"]
    if not in_degrees(domain["columns"], domain["bounds"]) or (west >= -180 and east <= 180):
        return collection
    features = []
    for one in collection["features"]:
        properties = dict(one["properties"])
        if "center" in properties:
            lon, lat = properties["center"]
            properties["center"] = [tidy((lon + 180) % 360 - 180), lat]
        features.append({**one, "properties": properties, "geometry": _turned(one["geometry"])})
    return {**collection, "features": features}


def _turned(geometry: Geometry) -> Geometry:
    """Move each part of a geometry around the Earth into the range -180 to 180."""
    import shapely

    if geometry is None:
        return None
    shape = shapely.geometry.shape(geometry)
    parts = [
        shapely.transform(
            shapely.intersection(shape, shapely.box(turn - 180, -90, turn + 180, 90)),
            # Round, so that neighbours keep their common corners.
            lambda at, turn=turn: np.round(at - (turn, 0), _DIGITS),
        )
        for turn in (-360, 0, 360)
    ]
    areas = [one for one in shapely.get_parts(parts) if one.geom_type == "Polygon" and one.area]
    moved: Geometry = shapely.geometry.mapping(
        shapely.orient_polygons(shapely.normalize(shapely.union_all(areas)))
    )
    return moved


def without_doubtful(collection: dict[str, Any]) -> dict[str, Any]:
    """Return the clusters that are not doubtful; this spends no budget.

    The clusters keep their numbers; ``left_out`` is the number of removed clusters.
    """
    features = collection["features"]
    sure = [one for one in features if not one["properties"].get("doubtful")]
    return {**collection, "left_out": len(features) - len(sure), "features": sure}


def _feature(facts: ClusterFacts, geometry: Geometry, share: float) -> dict[str, Any]:
    properties: dict[str, Any] = {"cluster": facts.number}
    if facts.center is None:
        properties["cells"] = facts.cells
    else:
        properties["center"] = list(facts.center)
    properties["area_share"] = round(share, _DIGITS)
    if facts.count is not None:
        whole = round(facts.count)
        properties["count"] = whole if whole == facts.count else facts.count
    if facts.doubtful is not None:
        properties["doubtful"] = facts.doubtful
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def _of_cells(document: Document) -> tuple[list[Geometry], list[float]]:
    result = document["result"]
    labels, sides = np.array(result["labels"]), np.shape(result["counts"])
    # The last block may exceed the grid, but it ends at the end of the domain.
    ends = [
        np.minimum(np.arange(blocks + 1) * result["block"], side)
        for blocks, side in zip(labels.shape, sides, strict=True)
    ]
    borders = [np.array(edges(document, i, side))[ends[i]] for i, side in enumerate(sides)]
    covered = np.outer(*map(np.diff, ends))
    size = result["clusters"] + 1
    shares = np.bincount(labels.ravel(), covered.ravel(), size) / covered.sum()
    # Sort cells by cluster, because a separate search for each cluster would take too long.
    order = np.argsort(labels, axis=None, kind="stable")
    cells = np.stack(np.unravel_index(order, labels.shape), axis=1)
    _, *groups = np.split(cells, np.cumsum(np.bincount(labels.ravel(), minlength=size))[:-1])
    return [_union(group, borders) for group in groups], shares[1:].tolist()


def _of_areas(document: Document) -> tuple[list[Geometry], list[float]]:
    import shapely

    result = document["result"]
    shapes = np.array([shapely.geometry.shape(one) for one in result["polygons"]])
    labels = np.array(result["labels"])
    found = [shapely.union_all(shapes[labels == one]) for one in range(1, result["clusters"] + 1)]
    whole = float(shapely.area(shapes).sum())
    geometries = [shapely.geometry.mapping(shapely.orient_polygons(one)) for one in found]
    return geometries, [float(one.area) / whole for one in found]


def _union(cells: Indices, borders: Sequence[Floats]) -> Geometry:
    import shapely

    x, y = cells.T
    # The edges of unit cells match, so this exact and fast method needs no intersections.
    union = shapely.normalize(shapely.coverage_union_all(shapely.box(x, y, x + 1, y + 1)))
    # Keep only corners. The corners are whole numbers, so the topology can't change. The check of
    # the topology would take most of the time and is not needed.
    union = shapely.orient_polygons(shapely.simplify(union, 0, preserve_topology=False))
    placed = shapely.transform(
        union,
        lambda corners: np.column_stack(
            [ends[i] for ends, i in zip(borders, corners.T.astype(np.intp), strict=True)]
        ),
    )
    geometry: Geometry = shapely.geometry.mapping(placed)
    return geometry


def _of_centers(document: Document) -> tuple[list[Geometry], list[float]]:
    bounds = document["domain"]["bounds"]
    centers = np.array(document["result"]["centers"], dtype=float)
    lows, highs = np.array(bounds, dtype=float).T
    found = regions((centers - lows) / (highs - lows))
    geometries: list[Geometry] = []
    for region in found:
        ring = [
            # Weighted mean of both ends, instead of low + share * width, because it gives both
            # bounds exactly.
            [
                tidy(lo * (1 - share) + hi * share)
                for share, (lo, hi) in zip(point, bounds, strict=True)
            ]
            for point in region
        ]
        geometries.append({"type": "Polygon", "coordinates": [[*ring, ring[0]]]} if ring else None)
    return geometries, [_area(region) for region in found]


def regions(centers: Floats) -> list[list[Point]]:
    """Part of the unit square nearest to each centre (K, 2), as a convex polygon: K open rings.

    Rings are counter-clockwise. A ring is empty if its centre equals an earlier centre, or if no
    place is nearest to it. Each other centre, from near to far, cuts off a half-plane. The loop
    stops when the remaining centres are too far away to reach the polygon.
    """
    squares = ((centers[:, None] - centers) ** 2).sum(axis=2)
    orders = np.argsort(squares, axis=1, kind="stable")
    return [
        _region(number, centers, orders[number].tolist(), squares[number].tolist())
        for number in range(len(centers))
    ]


def _region(number: int, centers: Floats, order: list[int], squares: list[float]) -> list[Point]:
    x, y = centers[number].tolist()
    ring: list[Point] = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    reach = _reach(ring, x, y)
    for other in order:
        if squares[other] > 4 * reach or not ring:
            break
        if other == number:
            continue
        dx, dy = (centers[other] - centers[number]).tolist()
        if dx == dy == 0:
            if other < number:
                return []
            continue
        cut = _cut(ring, (x, y), (dx, dy))
        if cut is not ring:
            ring, reach = cut, _reach(cut, x, y)
    return _hull([(round(px, _DIGITS), round(py, _DIGITS)) for px, py in ring])


def _hull(points: list[Point]) -> list[Point]:
    import shapely

    hull = shapely.MultiPoint(points).convex_hull
    if hull.geom_type != "Polygon":
        return []
    hull = shapely.orient_polygons(shapely.normalize(hull))
    return [(x, y) for x, y in hull.exterior.coords[:-1]]


def _reach(ring: list[Point], x: float, y: float) -> float:
    return max(((px - x) ** 2 + (py - y) ** 2 for px, py in ring), default=0.0)


def _cut(ring: list[Point], center: Point, away: Point) -> list[Point]:
    """Part of a convex ring that is nearer to ``center`` than to ``center + away``."""
    (x, y), (dx, dy) = center, away
    # Positive beyond the bisector. Computed relative to the centre, to distinguish close centres.
    beyond = [(px - x - dx / 2) * dx + (py - y - dy / 2) * dy for px, py in ring]
    if max(beyond) <= 0:
        return ring
    kept: list[Point] = []
    for i, (end, after) in enumerate(zip(ring, beyond, strict=True)):
        start, before = ring[i - 1], beyond[i - 1]
        if (before > 0) != (after > 0):
            share = before / (before - after)
            kept.append(
                (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
            )
        if after <= 0:
            kept.append(end)
    return kept


def _area(ring: list[Point]) -> float:
    return sum(ring[i - 1][0] * y - x * ring[i - 1][1] for i, (x, y) in enumerate(ring)) / 2

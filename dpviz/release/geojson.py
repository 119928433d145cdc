"""Clusters as polygons: a GeoJSON FeatureCollection (RFC 7946) over a domain of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpviz.release.tables import ClusterFacts, Document, cluster_facts, edges, tidy

if TYPE_CHECKING:
    import shapely

Point = tuple[float, float]

#: Closed: the first point stands at the end again.
Ring = list[Point]

#: Outer ring, then holes.
Polygon = list[Ring]

#: Corners of regions are rounded to this many digits of the unit square, so that neighbours
#: that share a corner write it alike.
_DIGITS = 12


def clusters(document: Document) -> dict[str, Any]:
    """One feature per cluster, in the order of their numbers.

    Coordinates are (first column, second column), in the units of the data. Outer rings run
    counter-clockwise, holes clockwise.

    Parameters
    ----------
    document
        A release whose domain has two columns. For cells: a polygon is the union of the
        cluster's cells. For centres: the part of the domain that is nearest to the centre after
        both columns are scaled to one length; of coinciding centres the first one has it.
    """
    facts = cluster_facts(document)
    if document["result"]["kind"] == "cells":
        shapes, shares = _of_cells(document)
    else:
        shapes, shares = _of_centers(document)
    features = [_feature(*parts) for parts in zip(facts, shapes, shares, strict=True)]
    return {
        "type": "FeatureCollection",
        "columns": document["domain"]["columns"],
        "features": features,
    }


def _feature(facts: ClusterFacts, polygons: list[Polygon], share: float) -> dict[str, Any]:
    """One cluster with what is known of it."""
    properties: dict[str, Any] = {"cluster": facts.number}
    if facts.center is None:
        properties["cells"] = facts.cells
    else:
        properties["center"] = list(facts.center)
    properties["area_share"] = share
    if facts.count is not None:
        whole = round(facts.count)
        properties["count"] = whole if whole == facts.count else facts.count
    return {"type": "Feature", "properties": properties, "geometry": _geometry(polygons)}


def _geometry(polygons: list[Polygon]) -> dict[str, Any] | None:
    """Geometry of one polygon, of several, or of none."""
    if not polygons:
        return None
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    return {"type": "MultiPolygon", "coordinates": polygons}


def _of_cells(document: Document) -> tuple[list[list[Polygon]], list[float]]:
    """Union of each cluster's cells, and its share of the domain."""
    result = document["result"]
    labels, block = np.array(result["labels"]), result["block"]
    sides = np.shape(result["counts"])
    places = []
    for axis, side in enumerate(sides):
        borders = edges(document, axis, side)
        # The last block may reach beyond the grid: it ends where the domain does.
        places.append([borders[min(i * block, side)] for i in range(labels.shape[axis] + 1)])
    # Cells sorted by cluster: looking for one cluster after the other would take too long.
    order = np.argsort(labels, axis=None, kind="stable")
    ends = np.cumsum(np.bincount(labels.ravel(), minlength=result["clusters"] + 1))
    cells = np.stack(np.unravel_index(order, labels.shape), axis=1)
    covered = np.prod(
        [
            np.minimum(block, side - block * index)
            for index, side in zip(cells.T, sides, strict=True)
        ],
        axis=0,
    )
    shapes, shares = [], []
    for start, end in pairwise(ends.tolist()):
        outlines = _union(cells[start:end])
        shapes.append([[_placed(ring, places) for ring in polygon] for polygon in outlines])
        shares.append(_share(covered[start:end].sum() / (sides[0] * sides[1])))
    return shapes, shares


def _union(cells: NDArray[np.intp]) -> list[list[NDArray[np.intp]]]:
    """Outlines of a set of unit cells, corners as integers: per polygon outer ring and holes.

    Parameters
    ----------
    cells
        Lower corners, shape (m, 2).
    """
    import shapely

    x, y = cells.T
    # Edges of unit cells match, so this exact way needs no intersections: as fast as it gets.
    union = shapely.coverage_union_all(shapely.box(x, y, x + 1, y + 1))
    union = shapely.orient_polygons(shapely.normalize(union))
    return [
        [_corners(polygon.exterior), *(_corners(hole) for hole in polygon.interiors)]
        for polygon in shapely.get_parts(union)
    ]


def _corners(ring: shapely.LinearRing) -> NDArray[np.intp]:
    """Points of a ring where it turns, not closed, shape (m, 2)."""
    points = np.rint(np.asarray(ring.coords)[:-1]).astype(np.intp)
    before, after = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
    turns = before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]
    corners: NDArray[np.intp] = points[turns]
    return corners


def _placed(ring: NDArray[np.intp], places: Sequence[Sequence[float]]) -> Ring:
    """Closed ring in the units of the data."""
    points = [(places[0][i], places[1][j]) for i, j in ring.tolist()]
    return [*points, points[0]]


def _of_centers(document: Document) -> tuple[list[list[Polygon]], list[float]]:
    """Part of the domain nearest to each centre, and its share of the domain."""
    bounds = document["domain"]["bounds"]
    centers = np.array(document["result"]["centers"], dtype=float)
    lows, highs = np.array(bounds, dtype=float).T
    shapes: list[list[Polygon]] = []
    shares = []
    for region in regions((centers - lows) / (highs - lows)):
        ring = [
            # Weighted ends, not low + share * width: both bounds then come out exactly.
            tuple(
                tidy(lo * (1 - share) + hi * share)
                for share, (lo, hi) in zip(point, bounds, strict=True)
            )
            for point in region
        ]
        shapes.append([[[*ring, ring[0]]]] if ring else [])  # type: ignore[list-item]
        shares.append(_share(_area(region)))
    return shapes, shares


def regions(centers: NDArray[np.float64]) -> list[list[Point]]:
    """Part of the unit square nearest to each centre, as a convex polygon.

    Half-planes are cut off by the other centres from near to far, until the rest is too far
    away to reach the polygon.

    Parameters
    ----------
    centers
        Shape (K, 2).

    Returns
    -------
    list
        K rings, counter-clockwise, not closed; empty for a centre that coincides with an
        earlier one and for one that no place is nearest to.
    """
    squares = ((centers[:, None] - centers) ** 2).sum(axis=2)
    orders = np.argsort(squares, axis=1, kind="stable")
    return [
        _region(number, centers, orders[number].tolist(), squares[number].tolist())
        for number in range(len(centers))
    ]


def _region(
    number: int, centers: NDArray[np.float64], order: list[int], squares: list[float]
) -> list[Point]:
    """Region of one centre; the others by distance."""
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
    """Convex polygon of the corners of one, which rounding may have moved past each other."""
    import shapely

    hull = shapely.MultiPoint(points).convex_hull
    if hull.geom_type != "Polygon":
        return []
    hull = shapely.orient_polygons(shapely.normalize(hull))
    return [(x, y) for x, y in hull.exterior.coords[:-1]]


def _reach(ring: list[Point], x: float, y: float) -> float:
    """Squared distance of the farthest corner."""
    return max(((px - x) ** 2 + (py - y) ** 2 for px, py in ring), default=0.0)


def _cut(ring: list[Point], center: Point, away: Point) -> list[Point]:
    """Part of a convex ring on the centre's side of the bisector with center + away."""
    (x, y), (dx, dy) = center, away
    # Positive beyond the bisector. Relative to the centre, so that close ones are told apart.
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
    """Area of a ring that runs counter-clockwise."""
    return sum(ring[i - 1][0] * y - x * ring[i - 1][1] for i, (x, y) in enumerate(ring)) / 2


def _share(value: float) -> float:
    """Share of the domain, without digits that are rounding."""
    return round(float(value), _DIGITS)

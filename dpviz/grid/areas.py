"""Public areas of any form instead of cells: polygons, the area of a point, and shared borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Indices, Ints
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, shown
from dpviz.grid.domain import CHUNK, Domain

#: Smallest and largest number of areas, and largest number of corners of all areas.
FEWEST, MOST_AREAS, MOST_CORNERS = 2, 5_000, 500_000

#: Largest overlap of two areas, as a share of the smaller area: borders are drawn by hand.
OVERLAP = 0.01

#: Largest number of pairs of touching areas, per area; without overlaps, it is about three.
_MOST_TOUCHING = 30

#: Largest gap in a shared border, and smallest length of a shared border. Both are relative to the
#: side of a square that is as large as the median area.
_GAP, _BORDER = 1e-3, 1e-2

#: Decimal digits of corners, relative to the longer side of the whole map: 1 m for 1,000 km.
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Areas:
    """Named polygons (m,) of a map, the horizontal coordinate first.

    A record belongs to the first area that contains its point inside or on the border. So it is
    counted once, even if areas overlap a little. Raises InputError if there are too few or too many
    areas or corners, an area has no surface, or two areas overlap more.
    """

    names: tuple[str, ...]
    polygons: tuple[Any, ...]

    def __post_init__(self) -> None:
        """Round corners, and check the areas."""
        import shapely

        number, corners = len(self.polygons), int(shapely.get_num_coordinates(self.polygons).sum())
        if not FEWEST <= number <= MOST_AREAS or corners > MOST_CORNERS:
            raise InputError(
                f"the areas are {number:,} polygons with {corners:,} corners: give {FEWEST} to "
                f"{MOST_AREAS:,} polygons with at most {MOST_CORNERS:,} corners together."
            )
        bounds = shapely.total_bounds(self.polygons)
        if not np.isfinite(bounds).all() or (bounds[2:] <= bounds[:2]).any():
            raise InputError("the areas have no surface: give polygons with finite corners.")
        digits = int(_DIGITS - np.floor(np.log10((bounds[2:] - bounds[:2]).max())))
        rounded = shapely.transform(self.polygons, lambda at: np.round(at, digits))
        whole = [_surface(one) for one in shapely.make_valid(rounded)]
        for name, one in zip(self.names, whole, strict=True):
            if one.is_empty:
                raise InputError(f'area "{shown(name)}" has no surface: remove it.')
        object.__setattr__(self, "polygons", tuple(whole))
        self._check_overlaps()

    def _check_overlaps(self) -> None:
        import shapely

        one, other = self._tree.query(self.polygons, predicate="intersects")
        one, other = one[one < other], other[one < other]
        if len(one) > _MOST_TOUCHING * len(self):
            raise InputError("most areas overlap: give areas without overlaps.")
        shapes = np.array(self.polygons)
        both = shapely.area(shapely.intersection(shapes[one], shapes[other]))
        least = np.minimum(shapely.area(shapes[one]), shapely.area(shapes[other]))
        for at in np.flatnonzero(both > OVERLAP * least)[:1]:
            names = (f'"{shown(self.names[area[at]])}"' for area in (one, other))
            raise InputError(f"areas {' and '.join(names)} overlap: give areas without overlaps.")

    def __len__(self) -> int:
        """Return the number of areas."""
        return len(self.polygons)

    @cached_property
    def _tree(self) -> Any:
        import shapely

        return shapely.STRtree(self.polygons)

    @cached_property
    def domain(self) -> Domain:
        """Box around all areas; declared, because areas are public."""
        import shapely

        west, south, east, north = shapely.total_bounds(self.polygons).tolist()
        return Domain(((west, east), (south, north)))

    @cached_property
    def neighbours(self) -> Indices:
        """Pairs of areas with a common border (k, 2), the smaller number first.

        A common corner is no border. Borders may have small gaps, because two neighbours are often
        drawn separately.
        """
        import shapely

        shapes = np.array(self.polygons)
        side = float(np.sqrt(np.median(shapely.area(shapes))))
        one, other = self._tree.query(shapes, predicate="dwithin", distance=_GAP * side)
        one, other = one[one < other], other[one < other]
        wide = shapely.buffer(shapes, _GAP * side)
        common = shapely.length(shapely.intersection(shapely.boundary(shapes)[one], wide[other]))
        pairs: Indices = np.stack([one, other], axis=1)[common > _BORDER * side]
        return pairs

    def locate(self, points: Floats) -> Indices:
        """Number of the area of each of the points (n, 2), from 0, or -1 if no area contains it."""
        import shapely

        found = np.full(len(points), len(self))
        for start in range(0, len(points), CHUNK):
            part = shapely.points(points[start : start + CHUNK])
            record, area = self._tree.query(part, predicate="intersects")
            np.minimum.at(found, start + record, area)
        return np.where(found < len(self), found, -1)

    def count(self, points: Floats) -> Ints:
        """Number of points (n, 2) in each area, shape (m,); a point in no area is left out."""
        area = self.locate(points)
        return np.bincount(area[area >= 0], minlength=len(self)).astype(np.int64)

    def shares(self, edges: Sequence[Floats]) -> tuple[Indices, Indices, Floats]:
        """Overlaps of areas with the cells of a grid: area, flat cell, and share of the cell.

        ``edges``: borders of the cells on the horizontal and on the vertical axis.
        """
        import shapely

        x, y = np.meshgrid(*(np.arange(len(one) - 1) for one in edges), indexing="ij")
        across, up = edges
        cells = shapely.box(across[x], up[y], across[x + 1], up[y + 1]).ravel()
        cell, area = self._tree.query(cells, predicate="intersects")
        part = shapely.intersection(cells[cell], np.array(self.polygons)[area])
        share = shapely.area(part) / shapely.area(cells[cell])
        kept = share > 0
        return area[kept], cell[kept], np.minimum(share[kept], 1.0)


def _surface(shape: Any) -> Any:
    import shapely

    parts = [one for one in shapely.get_parts([shape]) if one.geom_type.endswith("Polygon")]
    whole = shapely.union_all(parts) if len(parts) != 1 else parts[0]
    return shapely.orient_polygons(whole)

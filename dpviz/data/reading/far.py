"""Find points that would make a plot hard to read: far rows, and both sides of 180 degrees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.base.errors import shown
from dpviz.base.numbers import counted, written_out
from dpviz.data.geographic import may_be_placed, placed
from dpviz.data.reading.unread import FEW, NamedRows
from dpviz.grid.domain import Domain

#: Largest absolute longitude and latitude.
_DEGREES = (360.0, 90.0)

#: Longitude of the left and right border of most maps.
HALF = 180.0

#: Factor by which far rows widen a range; their largest share (or this number); largest number.
_STRETCH, _SHARE, _LEAST, _MOST = 20.0, 0.01, 3, 20

#: Number of rows that a sentence names.
_NAMED = 3

#: Smallest number of rows for a decision, and number of rows that are sampled for it.
_ROWS, _LOOKED_AT = 20, 100_000

#: Quantiles between which most rows are; rows up to ``_NEAR`` times their distance are near.
_QUANTILES, _NEAR = (0.05, 0.95), 5.0


def box_without_far(points: Floats, columns: Sequence[str]) -> Domain | None:
    """Rounded box around all points (n, d) except for a few far points; None if no point is far."""
    # The box leaves out: impossible longitudes and latitudes; points at 0, 0 without other points
    # nearby; numbers such as -9999, if they are far from all other numbers; and at most 20 rows (at
    # most 1% of all rows, or 3) that make the range of a column more than 20 times as wide.
    if len(points) < _ROWS:
        return None
    degrees = degrees_of(columns)
    keep = np.ones(len(points), dtype=bool)
    for axis, most in degrees.items():
        keep &= np.abs(points[:, axis]) <= most
    if not _are_few(~keep):  # the columns are not degrees
        degrees = {}
        keep[:] = True
    for values in points.T:
        keep &= _without_nines(values, keep)
    keep &= _without_zeros(points[:, [*degrees]], keep)
    for values in points.T:
        keep &= _without_few(values, keep)
    if keep.all() or not _are_few(~keep):
        return None
    bounds = Domain.from_data(points[keep]).bounds
    wide = (_round(*pair, degrees.get(axis, math.inf)) for axis, pair in enumerate(bounds))
    return Domain(tuple(wide))


def far_sentence(rows: NamedRows, box: Domain, columns: Sequence[str]) -> str:
    """Return a sentence that names the far rows."""
    lie = "lies" if rows.rows == 1 else "lie"
    where = ", ".join(
        f"{shown(name)} {written_out(lo)} to {written_out(hi)}"
        for name, (lo, hi) in zip(columns, box.bounds, strict=True)
    )
    named = "; ".join(rows.lines(_NAMED))
    return f"{counted(rows.rows, 'row')} {lie} far from all others, which have {where}: {named}."


def impossible(points: Floats, columns: Sequence[str]) -> list[str]:
    """Sentences about numbers in many rows that are beyond all longitudes or latitudes."""
    said = []
    for axis, most in sorted(degrees_of(columns).items()):
        beyond = np.abs(points[:, axis]) > most
        values, many = np.unique(points[beyond, axis], return_counts=True)
        if len(many) and many.max() > max(FEW * len(points), 1):
            value = f"{values[many.argmax()]:.15g}"
            kind = "latitude" if most == _DEGREES[1] else "longitude"
            said.append(
                f'{counted(int(many.max()), "row")} hold {value} in "{shown(columns[axis])}", '
                f"which is not a {kind}: if this means a missing value, say so "
                f"(--missing={value} on the command line)."
            )
    return said


def over_180(points: Floats, columns: Sequence[str]) -> int | None:
    """Position of the longitude if points (n, d) form one region around 180 degrees; else None."""
    # Some longitudes are above 90, all others below -90, so adding 360 in the west joins them.
    degrees = degrees_of(columns)
    if not degrees:
        return None
    lon, lat = degrees
    # Ignore impossible values and points at 0, 0.
    fine = (np.abs(points[:, lon]) <= _DEGREES[0]) & (np.abs(points[:, lat]) <= _DEGREES[1])
    places = points[fine & (points[:, [lon, lat]] != 0).any(axis=1), lon]
    west, east = places[places < 0], places[places >= 0]
    if not west.size or not east.size or np.abs(places).max() > HALF:
        return None
    return lon if min(east.min(), -west.max()) > HALF / 2 else None


def longitude(columns: Sequence[str]) -> int | None:
    """Position of the longitude if the columns contain longitude and latitude; else None."""
    return next(iter(degrees_of(columns)), None)


def turned(values: Floats) -> Floats:
    """Longitudes (n,); 360 is added to negative longitudes, so that -180 becomes 180."""
    return np.where((values < 0) & (values >= -HALF), values + 2 * HALF, values)


def turned_sentence(column: str) -> str:
    """Return the sentence that 360 is added to longitudes on one side of the 180th meridian."""
    return (
        f'Places lie on both sides of the 180th meridian: 360 is added to each "{shown(column)}" '
        "below 0, so that they are together. A release does not do this: add 360 in the file."
    )


def degrees_of(columns: Sequence[str]) -> dict[int, float]:
    """Positions of longitude and latitude, with their largest values; empty for other columns."""
    # Among thousands of columns, only a few names contain words for an axis.
    some = [axis for axis, name in enumerate(columns) if may_be_placed(name)]
    for lon, lat in permutations(some, 2):
        if placed((columns[lon], columns[lat])) == "lonlat":
            return dict(zip((lon, lat), _DEGREES, strict=True))
    return {}


def _are_few(rows: Mask) -> bool:
    return bool(np.count_nonzero(rows) <= FEW * len(rows))


def _range(values: Floats) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _without_nines(values: Floats, keep: Mask) -> Mask:
    """Remove values such as -9999 from a mask (n,) if they are far from all other values."""
    if not keep.any():
        return keep
    for nines in _range(values[keep]):
        digits = f"{abs(nines):.15g}".replace(".", "")
        if len(digits) < 3 or {*digits} != {"9"}:
            continue
        others = keep & (values != nines)
        if others.any() and _are_few(~others):
            lo, hi = _range(values[others])
            if max(lo - nines, nines - hi) > hi - lo:
                return _without_nines(values, others)
    return keep


def _without_zeros(places: Floats, keep: Mask) -> Mask:
    """Remove points at 0, 0 from a mask (n,) if no point is near; 0, 0 does not mean a place."""
    others: Mask = keep & (places != 0).any(axis=1)
    if places.size and others.any() and _are_few(keep & ~others):
        for column in places.T:
            lo, hi = _range(column[others])
            if max(lo, -hi) > (hi - lo) / 2:
                return others
    return keep


def _without_few(values: Floats, keep: Mask) -> Mask:
    if not keep.any():
        return keep
    kept = values[keep]
    lo, hi = np.quantile(kept[:: max(len(kept) // _LOOKED_AT, 1)], _QUANTILES)
    width = hi - lo
    near = keep & (values >= lo - _NEAR * width) & (values <= hi + _NEAR * width)
    far = np.count_nonzero(keep) - np.count_nonzero(near)
    most = min(max(_SHARE * len(values), _LEAST), _MOST, len(values) / _ROWS)
    if width <= 0 or not 0 < far <= most:
        return keep
    whole, rest = _range(kept), _range(values[near])
    return near if whole[1] - whole[0] > _STRETCH * (rest[1] - rest[0]) else keep


def _round(lo: float, hi: float, most: float) -> tuple[float, float]:
    step = 10.0 ** (math.floor(math.log10(hi - lo)) - 2)
    digits = max(-round(math.log10(step)), 0)
    lo, hi = math.floor(lo / step) * step, math.ceil(hi / step) * step
    return round(max(lo, -most), digits), round(min(hi, most), digits)

"""Whether two axes have the same unit, and how large a cell is on the ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dpviz.data.geographic import PAIRS, Placed, placed, within, without, words_of
from dpviz.grid.domain import Domain

#: Relation of the axes: "auto" uses names and extents; the user may choose another value.
Axes = Literal["auto", "lonlat", "equal", "free"]

#: Length of a degree in metres, on a sphere with the Earth's mean radius of 6371.0088 km.
METRES_PER_DEGREE = 6_371_008.8 * math.pi / 180

#: Units that may end a name; lengths with their value in metres. "min" usually means minimum.
UNITS: dict[str, float | None] = {
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), 1.0),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), 1000.0),
    **dict.fromkeys(("cm", "mm", "inch", "inches", "s", "sec", "ms", "h", "hours", "days")),
    **dict.fromkeys(("kg", "deg", "degrees", "px", "pixels", "usd", "eur", "gbp", "percent")),
    **dict.fromkeys(("ft", "feet"), 0.3048),
    **dict.fromkeys(("mi", "mile", "miles"), 1609.344),
}

#: Axes whose extents differ by less than this factor probably have the same unit, as on a map.
_SIMILAR = 2.56

#: Largest ratio of a panel's long side to its short side. A longer panel would be unreadable.
_LONGEST = 8.0

#: Highest latitude with a scale: nearer to a pole, a degree of longitude has almost no length.
_HIGHEST = 89.0


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Ratio of the lengths on two axes."""

    ratio: float | None  # unit of the second axis / unit of the first axis, if comparable
    metres: float | None = None  # length of one unit of the first axis, if known
    degrees: Placed = ""  # order of longitude and latitude; "" for other axes
    reason: str = ""  # short explanation

    def panel(self, domain: Domain) -> float | None:
        """Height of a map of the domain divided by its width; None if the units differ."""
        (west, east), (south, north) = domain.bounds
        return self.ratio and self.ratio * (north - south) / (east - west)

    def lengths(self, sides: tuple[float, float]) -> str:
        """Width and height of a box as text; empty if the lengths are unknown."""
        if not self.ratio or not self.metres:
            return ""
        across, up = sides[0] * self.metres, sides[1] * self.ratio * self.metres
        return f"{length(across)} × {length(up)}"


def length(metres: float) -> str:
    """Format a length with two significant digits: 340 m, 4.2 km, 1,200 km."""
    number, unit = (metres, "m") if metres < 995 else (metres / 1000, "km")
    rounded = float(f"{number:.2g}")
    return f"{rounded:,.{max(1 - math.floor(math.log10(rounded)), 0)}f} {unit}"


def scale_of(columns: Sequence[str], domain: Domain, axes: Axes = "auto") -> Scale:
    """Ratio of the two axes of a map, from their names and bounds; ``axes`` overrides the names."""
    # Names decide if they are longitude and latitude with bounds in degrees, end with the same
    # unit, or are a pair such as x and y. Otherwise, axes with similar extents have the same unit.
    spans = [high - low for low, high in domain.bounds]
    apart = max(spans) / min(spans)
    order = placed(columns)
    degrees = axes == "lonlat" or (order and axes != "equal")
    swapped = order == "latlon" and axes != "lonlat"
    found = _lonlat(domain, swapped=swapped) if degrees else None
    if axes == "free":
        return Scale(ratio=None, degrees=found.degrees if found else "", reason="chosen by hand")
    if found:
        return found
    words = [words_of(name) for name in columns]
    ends = {name[-1] if name else "" for name in words}
    unit = ends.pop() if len(ends) == 1 and ends <= UNITS.keys() else ""
    metres = UNITS.get(unit)
    if axes in ("equal", "lonlat"):
        reason = "chosen by hand" if axes == "equal" else "bounds are not in degrees"
        return Scale(ratio=1.0, metres=metres, reason=reason)
    if apart > _LONGEST:
        return Scale(ratio=None, reason=f"one extent is {apart:,.0f} times the other")
    if unit:
        return Scale(ratio=1.0, metres=metres, reason=f"both columns are in {unit}")
    rests = [[*map(without, two, pair)] for two in (words, words[::-1]) for pair in PAIRS[1:]]
    if any(first is not None and first == second for first, second in rests):
        return Scale(ratio=1.0, reason="their names share a unit")
    if apart < _SIMILAR:
        return Scale(ratio=1.0, reason="both columns have similar extents")
    return Scale(ratio=None, reason=f"one extent is {apart:.1f} times the other")


def _lonlat(domain: Domain, *, swapped: bool) -> Scale | None:
    lon, lat = domain.bounds[::-1] if swapped else domain.bounds
    if not (within(lon, 360) and within(lat, 90)):
        return None
    order: Placed = "latlon" if swapped else "lonlat"
    middle = min(abs(lat[0] + lat[1]) / 2, _HIGHEST)
    shrunk = math.cos(math.radians(middle))
    at = f"{middle:.0f}° {'N' if lat[0] + lat[1] >= 0 else 'S'}" if middle >= 0.5 else "the equator"
    found = Scale(
        ratio=shrunk if swapped else 1 / shrunk,
        metres=METRES_PER_DEGREE * (1 if swapped else shrunk),
        degrees=order,
        reason=f"longitude and latitude, true at {at}",
    )
    if not 1 / _LONGEST <= (found.panel(domain) or 0.0) <= _LONGEST:
        return Scale(ratio=None, degrees=order, reason="the map would be a narrow strip")
    return found

"""Cities of Natural Earth by name, and boxes around them as public bounds.

Positions are from GeoNames, mostly the centres of cities, see ``sample_data/natural_earth.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.data.background import FOLDER
from dpviz.data.geographic import Bounds, in_degrees, map_axes, placed
from dpviz.data.scale import METRES_PER_DEGREE, length
from dpviz.grid.domain import Domain

#: Directions, clockwise; metres up to which a place is in the middle of a city, or near the city.
_WINDS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
_NEAR, _FAR = 300.0, 200_000.0

#: Cities whose names may also be ordinary words in a title.
_WORDS = frozenset(("Bath", "Hull", "Mobile", "Most", "Nice", "Of", "Orange", "Reading", "Split"))

#: Number of records that are sampled to determine where most records are.
_LOOKED_AT = 20_000


class City(NamedTuple):
    """A city with its country, its region, and its position in degrees."""

    name: str
    country: str
    region: str
    lon: float
    lat: float

    @property
    def title(self) -> str:
        """Unique name of the city."""
        parts = (self.name, self.region, self.country)
        return ", ".join(dict.fromkeys(part for part in parts if part))


@cache
def cities() -> dict[str, City]:
    """All cities by title, the most populous first; without smaller cities of the same title."""
    import pyarrow.parquet as pq

    found: dict[str, City] = {}
    for row in pq.read_table(FOLDER / "cities.parquet").to_pylist():
        place = row["lon"] / 1000, row["lat"] / 1000
        city = City(row["city"], row["country"], row["region"], *place)
        found.setdefault(city.title, city)
    return found


def cities_within(lon: Sequence[float], lat: Sequence[float]) -> list[City]:
    """Cities within ranges of longitude and latitude, the most populous first."""
    return [
        one
        for one in cities().values()
        if lat[0] <= one.lat <= lat[1]
        and any(lon[0] <= one.lon + turn <= lon[1] for turn in (-360, 0, 360))
    ]


def near_city(lon: float, lat: float) -> str:
    """Describe a place relative to the nearest city; "" if this city is far.

    "2.4 km north-west of the middle of Berlin".
    """
    every = list(cities().values())
    lons, lats = np.radians([(one.lon, one.lat) for one in every]).T
    here = np.radians([lon, lat])
    half = np.sin((lats - here[1]) / 2) ** 2
    half += np.cos(lats) * np.cos(here[1]) * np.sin((lons - here[0]) / 2) ** 2
    angles = 2 * np.arcsin(np.sqrt(half))
    nearest = int(np.argmin(angles))
    metres = float(np.degrees(angles[nearest])) * METRES_PER_DEGREE
    if metres > _FAR:
        return ""
    if metres < _NEAR:
        return f"in the middle of {every[nearest].name}"
    across = (lon - every[nearest].lon + 180) % 360 - 180
    bearing = math.atan2(across * math.cos(here[1]), lat - every[nearest].lat)
    wind = _WINDS[round(bearing / (math.pi / 4)) % 8]
    return f"{length(metres)} {wind} of the middle of {every[nearest].name}"


def city_words(columns: Sequence[str], bounds: Bounds) -> str:
    """Sentence about the largest city inside bounds or exchanged bounds; '' if not in degrees."""
    if not in_degrees(columns, bounds):
        return ""
    inside, instead = _largest(columns, bounds)
    if inside:
        return f"The largest city inside is {inside.title}."
    names = " and ".join(map(shown, columns))
    return "No city is inside" + (
        f": with the bounds of {names} exchanged, {instead.title} would be inside. Check them."
        if instead
        else "."
    )


def title_words(title: str, columns: Sequence[str], bounds: Bounds) -> str:
    """Return a sentence if a title names cities that are all far from the bounds; otherwise ''."""
    if not title or not in_degrees(columns, bounds):
        return ""
    box, named = [bounds[axis] for axis in map_axes(columns)], ""
    for one in cities().values():
        if one.name in _WORDS or one.name not in title:
            continue
        if re.search(rf"\b{re.escape(one.name)}\b", title):
            with suppress(InputError):
                around = box_around(one, city_width(one)).bounds
                if all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(around, box, strict=True)):
                    return ""
            named = named or f"The title names {one.name}, but the box lies elsewhere."
    return f"{named} {city_words(columns, bounds)}" if named else ""


def check_not_exchanged(columns: Sequence[str], domain: Domain) -> None:
    """Raise InputError if bounds contain a city only after latitude and longitude are exchanged."""
    # Names and bounds are public, so a release may be refused because of them.
    said = city_words(columns, domain.bounds)
    if said.endswith("Check them."):
        raise InputError(
            f'domain "{domain}": {said.removesuffix(" Check them.")} Give '
            f'"{domain.select((1, 0))}", bounds in the order of the columns; or, if no city is '
            "expected, name the columns north and east."
        )


def _largest(columns: Sequence[str], bounds: Bounds) -> tuple[City | None, City | None]:
    lon, lat = (bounds[axis] for axis in map_axes(columns))
    inside, instead = cities_within(lon, lat), cities_within(lat, lon)
    return next(iter(inside), None), next(iter(instead), None)


def exchanged(columns: Sequence[str], points: Floats, axes: tuple[int, int] = (0, 1)) -> str:
    """Question for the user if latitudes and longitudes seem to be exchanged; otherwise ''."""
    # For exploring only, because points (n, d) are read; ``columns`` have the positions ``axes``.
    if not len(points) or not placed(columns):
        return ""
    some = points[:: len(points) // _LOOKED_AT + 1][:, axes]
    box = np.quantile(some, (0.05, 0.95), axis=0).T.tolist()
    first, second = map(shown, columns)
    if not in_degrees(columns, box):
        why = "most latitudes are beyond 90" if in_degrees(columns, box[::-1]) else ""
    else:
        inside, instead = _largest(columns, box)
        why = (
            f"no city is where most records are, but {instead.title} would be after an exchange"
            if instead and not inside
            else ""
        )
    return why and (
        f"Are the values of {first} and {second} exchanged? It looks so: {why}. If so, exchange "
        "the two names in the file."
    )


def city_width(city: City) -> int:
    """Width in kilometres of the box that is proposed for a city: 120 km for the most populous.

    A city's number of people falls with its rank in the list, and its area grows with this number.
    So its width falls about with the fourth root of the rank: 40 km for Berlin (97th), 20 km for
    Leipzig (926th). The width is a multiple of 5 km.
    """
    rank = list(cities()).index(city.title) + 1
    return 5 * round(24 / math.pow(rank, 0.25))


def city_of(box: Domain, *, swapped: bool = False) -> tuple[City, int] | None:
    """City and width in whole kilometres that give this box; None for any other box."""
    lon, lat = box.bounds[:: -1 if swapped else 1]
    width = round((lat[1] - lat[0]) * METRES_PER_DEGREE / 1000)
    east, north = sum(lon) / 2, sum(lat) / 2
    for city in cities().values():
        if abs(city.lon - east) < 1e-4 and abs(city.lat - north) < 1e-4:
            with suppress(InputError):
                if box_around(city, width, swapped=swapped).bounds == box.bounds:
                    return city, width
    return None


def box_around(city: City, width: float, *, swapped: bool = False) -> Domain:
    """Square of ``width`` km around a city, perhaps ``swapped``; InputError over a pole or 180°."""
    up = width * 500 / METRES_PER_DEGREE
    across = up / max(math.cos(math.radians(city.lat)), 1e-9)
    beyond = ""
    if abs(city.lat) + up > 90 or across > 180:
        beyond = "a pole or around the Earth"
    elif abs(city.lon) + across > 180:  # records on the other side have longitudes far away
        beyond = "the 180th meridian, where longitudes start again"
    if beyond:
        raise InputError(
            f"width = {width:g} km around {shown(city.name)} reaches over {beyond}: choose a "
            "smaller width."
        )
    lon, lat = (
        (round(at - half, 3), round(at + half, 3))
        for at, half in ((city.lon, across), (city.lat, up))
    )
    return Domain((lat, lon) if swapped else (lon, lat))

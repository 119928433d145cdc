"""Cities by name, and boxes around them: bounds that are public knowledge.

Source: populated places of Natural Earth (https://www.naturalearthdata.com), public domain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.data.background import FOLDER
from dpviz.data.geographic import Bounds, in_degrees, map_axes, placed
from dpviz.data.scale import METRES_PER_DEGREE
from dpviz.grid.domain import Domain

#: Records that tell where most are.
_LOOKED_AT = 20_000


class City(NamedTuple):
    """A city with its country and part of it, and its place in degrees."""

    name: str
    country: str
    region: str
    lon: float
    lat: float

    @property
    def title(self) -> str:
        """Name that no other city has."""
        parts = (self.name, self.region, self.country)
        return ", ".join(dict.fromkeys(part for part in parts if part))


@cache
def cities() -> dict[str, City]:
    """All cities by their title, the most populous first: of two with one title it keeps it."""
    import pyarrow.parquet as pq

    found: dict[str, City] = {}
    for row in pq.read_table(FOLDER / "cities.parquet").to_pylist():
        place = row["lon"] / 1000, row["lat"] / 1000
        city = City(row["city"], row["country"], row["region"], *place)
        found.setdefault(city.title, city)
    return found


def cities_within(lon: Sequence[float], lat: Sequence[float]) -> list[City]:
    """Cities between two longitudes, which may be beyond 180, and two latitudes, by population."""
    return [
        one
        for one in cities().values()
        if lat[0] <= one.lat <= lat[1]
        and any(lon[0] <= one.lon + turn <= lon[1] for turn in (-360, 0, 360))
    ]


def city_words(columns: Sequence[str], bounds: Bounds) -> str:
    """Say in one sentence which city is inside bounds of degrees; empty for other columns.

    It reads names and bounds alone. Whoever has exchanged latitude and longitude sees it here.
    """
    if not in_degrees(columns, bounds):
        return ""
    inside, instead = _largest(columns, bounds)
    if inside:
        return f"The largest city inside is {inside.title}."
    names = " and ".join(map(shown, columns))
    return "No city is inside" + (
        f": with the bounds of {names} exchanged, {instead.title} would be. Check the bounds."
        if instead
        else "."
    )


def check_not_exchanged(columns: Sequence[str], domain: Domain) -> None:
    """Raise InputError where no city is inside bounds of degrees, and one would be in exchange.

    Names and bounds are public, so a release may be refused for it.
    """
    if not in_degrees(columns, domain.bounds):
        return
    inside, instead = _largest(columns, domain.bounds)
    if instead and not inside:
        raise InputError(
            f'domain "{domain}" has no city inside, and with the bounds of '
            f"{' and '.join(map(shown, columns))} exchanged it has {instead.title}: give "
            f'"{domain.select((1, 0))}", bounds in the order of the columns; or, where no city is '
            "meant, name the columns north and east."
        )


def _largest(columns: Sequence[str], bounds: Bounds) -> tuple[City | None, City | None]:
    """Largest city inside bounds of longitude and latitude, and inside the exchanged ones."""
    lon, lat = (bounds[axis] for axis in map_axes(columns))
    both = cities_within(lon, lat), cities_within(lat, lon)
    inside, instead = (next(iter(found), None) for found in both)
    return inside, instead


def exchanged(
    columns: Sequence[str], points: NDArray[np.float64], axes: tuple[int, int] = (0, 1)
) -> str:
    """Ask whether latitudes and longitudes are exchanged, if it looks so; else empty.

    It looks at records, so it is for exploring alone: at the two columns ``axes`` of points (n, d),
    which have the names ``columns``.
    """
    if not len(points) or not placed(columns):
        return ""
    # Most records: a few may be anywhere.
    some = points[:: len(points) // _LOOKED_AT + 1][:, axes]
    box = np.quantile(some, (0.05, 0.95), axis=0).T.tolist()
    first, second = map(shown, columns)
    if not in_degrees(columns, box):
        why = "most latitudes are beyond 90" if in_degrees(columns, box[::-1]) else ""
    else:
        inside, instead = _largest(columns, box)
        why = (
            f"{instead.title} is where most records would then be, and no city where they are"
            if instead and not inside
            else ""
        )
    return why and (
        f"Are the values of {first} and {second} exchanged? It looks so: {why}. Then exchange the "
        "two names in the file."
    )


def box_around(city: City, width: float, *, swapped: bool = False) -> Domain:
    """Square of a width in kilometres around a city, rounded to thousandths of a degree.

    Latitude is its first axis where ``swapped``. Raises InputError where it would reach over a
    pole, around the Earth or over the 180th meridian.
    """
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

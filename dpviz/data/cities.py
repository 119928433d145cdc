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
from dpviz.data.reading.proposal import LOOKED_AT
from dpviz.data.scale import METRES_PER_DEGREE
from dpviz.grid.domain import Domain


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
    """All cities by their title, the most populous first."""
    import pyarrow.parquet as pq

    rows = pq.read_table(FOLDER / "cities.parquet").to_pylist()
    found = [
        City(one["city"], one["country"], one["region"], one["lon"] / 1000, one["lat"] / 1000)
        for one in rows
    ]
    titled: dict[str, City] = {}
    for one in found:
        # Of two cities with one title, the more populous one keeps it.
        titled.setdefault(one.title, one)
    return titled


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
    lon, lat = (bounds[axis] for axis in map_axes(columns))
    if found := cities_within(lon, lat):
        return f"The largest city inside is {found[0].title}."
    if exchanged := cities_within(lat, lon):
        return (
            f"No city is inside: with the bounds of {' and '.join(map(shown, columns))} "
            f"exchanged, {exchanged[0].title} would be. Check the bounds."
        )
    return "No city is inside."


def check_not_exchanged(columns: Sequence[str], domain: Domain) -> None:
    """Raise InputError where no city is inside bounds of degrees, and one would be in exchange.

    Names and bounds are public, so a release may be refused for it.
    """
    if not in_degrees(columns, domain.bounds):
        return
    lon, lat = (domain.bounds[axis] for axis in map_axes(columns))
    if not cities_within(lon, lat) and (exchanged := cities_within(lat, lon)):
        raise InputError(
            f'domain "{domain}" has no city inside, and with the bounds of '
            f"{' and '.join(map(shown, columns))} exchanged it has {exchanged[0].title}: give "
            f'"{domain.select((1, 0))}", bounds in the order of the columns; or, where no city is '
            "meant, name the columns north and east."
        )


def exchanged(
    columns: Sequence[str], points: NDArray[np.float64], axes: tuple[int, int] = (0, 1)
) -> str:
    """Ask whether latitudes and longitudes are exchanged, if it looks so; else empty.

    It looks at records, so it is for exploring alone.

    Parameters
    ----------
    columns
        Two names.
    points, axes
        Shape (n, d), and the positions of the two columns.
    """
    if not len(points) or not placed(columns):
        return ""
    # Most records: a few may be anywhere.
    some = points[:: len(points) // LOOKED_AT + 1][:, axes]
    low, high = np.quantile(some, (0.05, 0.95), axis=0)
    box = np.stack([low, high], axis=1).tolist()
    first, second = map(shown, columns)
    why, bounds = "", box if placed(columns) == "lonlat" else box[::-1]
    if not in_degrees(columns, box):
        why = "most latitudes are beyond 90" if in_degrees(columns, box[::-1]) else ""
    elif not cities_within(*bounds) and (there := cities_within(*bounds[::-1])):
        why = f"{there[0].title} is where most records would then be, and no city where they are"
    return why and (
        f"Are the values of {first} and {second} exchanged? It looks so: {why}. Then exchange the "
        "two names in the file."
    )


def box_around(city: City, width: float, *, swapped: bool = False) -> Domain:
    """Square of a width in kilometres around a city, rounded to thousandths of a degree.

    Parameters
    ----------
    city
        Middle of the box.
    width
        Kilometres from side to side.
    swapped
        Whether latitude is the first axis.

    Raises
    ------
    InputError
        Where the box would reach over a pole, around the Earth or over the 180th meridian.
    """
    up = width * 500 / METRES_PER_DEGREE
    across = up / max(math.cos(math.radians(city.lat)), 1e-9)
    if abs(city.lat) + up > 90 or across > 180:
        raise InputError(
            f"width = {width:g} km around {shown(city.name)} reaches over a pole or around the "
            "Earth: choose a smaller width."
        )
    if abs(city.lon) + across > 180:  # records on the other side have longitudes far away
        raise InputError(
            f"width = {width:g} km around {shown(city.name)} reaches over the 180th meridian, "
            "where longitudes start again: choose a smaller width."
        )
    lon, lat = (
        (round(at - half, 3), round(at + half, 3))
        for at, half in ((city.lon, across), (city.lat, up))
    )
    return Domain((lat, lon) if swapped else (lon, lat))

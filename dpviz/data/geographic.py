"""Which column is horizontal on a map: public names and declared bounds decide, never records."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations, product
from typing import Literal

from dpviz.base.errors import InputError, shown
from dpviz.data.words import TABLES, WORDS
from dpviz.grid.domain import Domain

#: Order of two columns: longitude first, latitude first, or neither.
Placed = Literal["", "lonlat", "latlon"]

Bounds = Sequence[Sequence[float]]

#: Words for the horizontal and for the vertical axis, the most certain pair first.
PAIRS = tuple((tuple(pair["across"]), tuple(pair["up"])) for pair in TABLES["pairs"])

LON_WORDS, LAT_WORDS = map(frozenset, PAIRS[0])

#: Words that also mean length or width; a pair means axes if all other words are qualifiers.
_LENGTH, _WIDTH, _QUALIFIERS = (
    frozenset(WORDS[name]) for name in ("length", "width", "qualifiers")
)

#: Words for the axes of a plane, and words that may be joined to x or y, as in coordx and xcoord.
_PLANE = (*PAIRS[1:], (("e",), ("n",)))
_NEAR_AXIS = (
    r"coords?|coordinates?|koord|koordinate|pos|position|loc|point|center|centre|utm|map|geo"
)
_AXIS = re.compile(rf"\b(?:([xy])({_NEAR_AXIS})|({_NEAR_AXIS})([xy]))\b")

#: Words that may also be part of a longer word, as in pickuplon and XLAT.
_GLUED = tuple(
    [one for one in axis if one.isascii() and one.startswith(first)]
    for axis, first in zip(PAIRS[0], ("l", "lat"), strict=True)
)

_WORDS = re.compile("|".join(map(re.escape, sorted(LON_WORDS | LAT_WORDS | _LENGTH | _WIDTH))))


def words_of(name: str) -> tuple[str, ...]:
    """Split a name into words and numbers in lower case: pickupLat_2 gives pickup, lat, 2."""
    # A letter may be stored as two characters, for example as a and a diaeresis.
    apart = unicodedata.normalize("NFKC", name)
    apart = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", apart)
    # GPSLat gives GPS and Lat; IDs is one word.
    apart = re.sub(r"([A-ZÀ-ÖØ-Þ])([A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2})", r"\1 \2", apart)
    apart = re.sub(r"([a-zß-öø-ÿ])([A-ZÀ-ÖØ-Þ])", r"\1 \2", apart)
    return tuple(re.findall(r"[^\W_]+", apart.lower()))


def without(words: tuple[str, ...], axis: Sequence[str]) -> tuple[str, ...] | None:
    """Words of a name except the one word that means the axis; None unless exactly one does."""
    left = tuple(one for one in words if one not in axis)
    return left if len(left) == len(words) - 1 else None


def may_be_placed(column: str) -> bool:
    """Return whether a name contains longitude or latitude, even inside a longer word."""
    low = unicodedata.normalize("NFKC", column).lower()
    return _WORDS.search("".join(words_of(column)) + " " + low) is not None


def placed(columns: Sequence[str]) -> Placed:
    """Return the order of two columns named longitude and latitude; '' for other names."""
    if len(columns) != 2:
        return ""
    if _are_lon_and_lat(*columns):
        return "lonlat"
    return "latlon" if _are_lon_and_lat(*columns[::-1]) else ""


def lon_first(columns: Sequence[str]) -> list[str]:
    """Columns in map order: if one of the first two is a longitude, x or easting, it is first."""
    across, up = map_axes(columns)
    return [columns[across], columns[up], *columns[2:]] if len(columns) > 1 else list(columns)


def map_axes(columns: Sequence[str], bounds: Bounds = ()) -> tuple[int, int]:
    """Positions of the first two columns on a map: horizontal, then vertical."""
    # If the names are not clear, bounds of degrees decide, because only a longitude exceeds 90.
    pair = list(columns[:2])
    if len(pair) < 2 or _are_across_and_up(*pair):
        return (0, 1)
    only_first_is_lat = len(bounds) == 2 and within(bounds[0], 90) and _beyond_90(bounds[1])
    return (1, 0) if only_first_is_lat or _are_across_and_up(*pair[::-1]) else (0, 1)


def in_degrees(columns: Sequence[str], bounds: Bounds) -> bool:
    """Whether two columns are longitude and latitude by name, and within the ranges of degrees."""
    order = placed(columns)
    if not order or len(bounds) != 2:
        return False
    lon, lat = bounds if order == "lonlat" else bounds[::-1]
    return within(lon, 360) and within(lat, 90)


def mixed_up(columns: Sequence[str], domain: Domain | None) -> str:
    """Return an error message if a latitude has the bounds of a longitude; otherwise ''."""
    # Only a longitude exceeds 90 degrees. Bounds beyond 360 have another unit and are accepted.
    if domain is None or not domain.declared or len(columns) != domain.ndim:
        return ""
    for lon, lat in permutations(range(domain.ndim), 2):
        across, up = domain.bounds[lon], domain.bounds[lat]
        if _beyond_90(up) and within(across, 360) and _are_named(columns[lon], columns[lat]):
            bounds = list(domain.bounds)
            bounds[lon], bounds[lat] = (up, across) if within(across, 90) else (across, (-90, 90))
            return (
                f"domain of {shown(columns[lat])} is {up[0]:g},{up[1]:g}, but latitudes are "
                "between -90 and 90: give bounds in the order of the columns, for "
                f'{",".join(map(shown, columns))} for example "{Domain(tuple(bounds))}"; or rename '
                "a column that is not a latitude."
            )
    return ""


def check_bounds(columns: Sequence[str], domain: Domain | None) -> None:
    """Raise InputError if a latitude has the declared bounds of a longitude."""
    if said := mixed_up(columns, domain):
        raise InputError(said)


def axes_words(columns: Sequence[str], bounds: Bounds) -> str:
    """Return a sentence about two axes on maps and in GeoJSON; '' for other numbers of axes."""
    if len(columns) != 2:
        return ""
    x, y = (shown(columns[axis], 40) for axis in map_axes(columns, bounds))
    if in_degrees(columns, bounds):
        return (
            f"{x} is the longitude (x) and {y} the latitude (y): maps show {x} to the right and "
            f"{y} upwards, and GeoJSON has [{x}, {y}]."
        )
    unplaced = (
        "its bounds are not in degrees, so map programs can't place it"
        if placed(columns)
        else "map programs place it only if these columns are longitude and latitude"
    )
    return (
        f"Maps show {x} to the right (x) and {y} upwards (y), and GeoJSON has [{x}, {y}]: "
        f"{unplaced}."
    )


def within(bounds: Sequence[float], most: float) -> bool:
    """Whether bounds are between ``-most`` and ``most``."""
    return -most <= bounds[0] and bounds[1] <= most


def _beyond_90(bounds: Sequence[float]) -> bool:
    return not within(bounds, 90) and within(bounds, 360)


def _are_across_and_up(across: str, up: str) -> bool:
    if _are_lon_and_lat(across, up):
        return True
    words = _axis_words(across), _axis_words(up)
    rests = [tuple(map(without, words, axes)) for axes in _PLANE]
    return any(rest[0] is not None and rest[0] == rest[1] for rest in rests)


def _axis_words(name: str) -> tuple[str, ...]:
    return tuple(_AXIS.sub(r"\1\3 \2\4", " ".join(words_of(name))).split())


@lru_cache(1024)  # each picture asks several times for the same names
def _are_lon_and_lat(lon: str, lat: str) -> bool:
    across, up = set(words_of(lon)), set(words_of(lat))
    lengths, widths = across & _LENGTH, up & _WIDTH
    others = (across - lengths) | (up - widths)
    return _are_named(lon, lat) or (len(lengths) == len(widths) == 1 and others <= _QUALIFIERS)


def _are_named(lon: str, lat: str) -> bool:
    across, up = words_of(lon), words_of(lat)
    found = [not one.isdisjoint(words) for words in (across, up) for one in (LON_WORDS, LAT_WORDS)]
    if found == [True, False, False, True]:
        return True
    # The result is also true if the names differ only in this part, as in pickuplon and pickuplat.
    first, second = "".join(across), "".join(up)
    return any(
        second == first[: at.start(1)] + one_up + first[at.end(1) :]
        for one_across, one_up in product(*_GLUED)
        for at in re.finditer(f"(?=({one_across}))", first)
    )

"""Which columns run across and upwards on a map: by their names and declared bounds alone.

Both are public, so a release may depend on them. Values of records never decide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import permutations, product
from typing import Literal

from dpviz.base.errors import InputError, shown
from dpviz.grid.domain import Domain

#: Two columns in this order are longitude and latitude, the reverse, or neither.
Placed = Literal["", "lonlat", "latlon"]

#: Lowest and highest value of each column.
Bounds = Sequence[Sequence[float]]

#: Words for the axis across and the one upwards, from the surest pair on.
PAIRS = (
    # Longitude and latitude in English, French; Spanish and Portuguese; Italian; German; the
    # languages of the north; Dutch; Turkish; Indonesian; Russian; Ukrainian; Chinese and Japanese;
    # Korean; Finnish; Vietnamese; usual mistakes. The first words are the most usual ones.
    (
        (
            *("longitude", "long", "lon", "lng", "lons", "longitudes", "longitud", "longitudine"),
            *("längengrad", "laengengrad", "længdegrad", "lengdegrad", "längdgrad", "lengtegraad"),
            *("boylam", "bujur", "долгота", "довгота", "经度", "經度", "経度", "경도"),
            *("pituusaste", "kinh", "longtitude", "longitute", "longditude"),
        ),
        (
            *("latitude", "lat", "lats", "latitudes", "latitud", "latitudine"),
            *("breitengrad", "breddegrad", "breddgrad", "breedtegraad"),
            *("enlem", "lintang", "широта", "纬度", "緯度", "위도"),
            *("leveysaste", "vĩ", "vi", "lattitude", "latitute", "latidude"),
        ),
    ),
    (
        ("easting", "eastings", "east", "rechtswert", "ostwert"),
        ("northing", "northings", "north", "hochwert", "nordwert"),
    ),
    (("x",), ("y",)),
)

LON_WORDS, LAT_WORDS = map(frozenset, PAIRS[0])

#: Words that also mean length and width: they need a partner, and no other word but these.
_LENGTH = frozenset((
    "länge", "laenge", "lengte", "længde", "długość", "dlugosc", "délka", "hosszúság", "μήκος",
    "طول", "الطول", "אורך",
))  # fmt: skip
_WIDTH = frozenset((
    "breite", "breedte", "bredde", "szerokość", "szerokosc", "šířka", "szélesség", "πλάτος", "عرض",
    "العرض", "רוחב",
))  # fmt: skip
_QUALIFIERS = frozenset((
    "geo", "gps", "wgs", "84", "grad", "dezimal", "geographische", "geografische", "geograficzna",
    "zeměpisná", "földrajzi", "γεωγραφικό", "geografisch", "geografisk", "خط", "دائرة", "جغرافیایی",
    "קו", "גאוגרפי",
))  # fmt: skip

#: Words for the axes of a plane, and what stands before or after x or y in one word.
_PLANE = (*PAIRS[1:], (("e",), ("n",)))
_NEAR_AXIS = (
    r"coords?|coordinates?|koord|koordinate|pos|position|loc|point|center|centre|utm|map|geo"
)
_AXIS = re.compile(rf"\b(?:([xy])({_NEAR_AXIS})|({_NEAR_AXIS})([xy]))\b")

#: Words that are found inside others, too: pickuplon, XLAT.
_GLUED = tuple(
    [one for one in axis if one.isascii() and one.startswith(first)]
    for axis, first in zip(PAIRS[0], ("l", "lat"), strict=True)
)

_WORDS = re.compile("|".join(map(re.escape, sorted(LON_WORDS | LAT_WORDS | _LENGTH | _WIDTH))))


def words_of(name: str) -> tuple[str, ...]:
    """Words and numbers of a name, in lower case: pickupLat_2 is pickup, lat, 2."""
    # One letter may be written as two characters, such as a and a diaeresis.
    apart = unicodedata.normalize("NFKC", name)
    apart = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", apart)
    # GPSLat is GPS, Lat; IDs is one word.
    apart = re.sub(r"([A-ZÀ-ÖØ-Þ])([A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]{2})", r"\1 \2", apart)
    apart = re.sub(r"([a-zß-öø-ÿ])([A-ZÀ-ÖØ-Þ])", r"\1 \2", apart)
    return tuple(re.findall(r"[^\W_]+", apart.lower()))


def without(words: tuple[str, ...], axis: Sequence[str]) -> tuple[str, ...] | None:
    """The other words of a name that has exactly one word for the axis; None for other names."""
    left = tuple(one for one in words if one not in axis)
    return left if len(left) == len(words) - 1 else None


def may_be_placed(column: str) -> bool:
    """Tell whether a name holds a word of longitude or latitude, perhaps within another one."""
    low = unicodedata.normalize("NFKC", column).lower()
    return _WORDS.search("".join(words_of(column)) + " " + low) is not None


def placed(columns: Sequence[str]) -> Placed:
    """Return the order of two columns that are longitude and latitude by their names."""
    if len(columns) != 2:
        return ""
    if _are_lon_and_lat(*columns):
        return "lonlat"
    return "latlon" if _are_lon_and_lat(*columns[::-1]) else ""


def lon_first(columns: Sequence[str]) -> list[str]:
    """Return the columns as a map shows them: of the first two, the one across comes first.

    That is a longitude, an x or an easting, by their names.
    """
    across, up = map_axes(columns)
    return [columns[across], columns[up], *columns[2:]] if len(columns) > 1 else list(columns)


def map_axes(columns: Sequence[str], bounds: Bounds = ()) -> tuple[int, int]:
    """Positions of the first two columns on a map: to the right, upwards.

    Where names don't say it, bounds of degrees do: only a longitude exceeds 90.
    """
    pair = list(columns[:2])
    if len(pair) < 2 or _are_across_and_up(*pair):
        return (0, 1)
    only_first_is_lat = len(bounds) == 2 and within(bounds[0], 90) and _beyond_90(bounds[1])
    return (1, 0) if only_first_is_lat or _are_across_and_up(*pair[::-1]) else (0, 1)


def in_degrees(columns: Sequence[str], bounds: Bounds) -> bool:
    """Whether two columns are longitude and latitude by their names and within their ranges."""
    order = placed(columns)
    if not order or len(bounds) != 2:
        return False
    lon, lat = bounds if order == "lonlat" else bounds[::-1]
    return within(lon, 360) and within(lat, 90)


def mixed_up(columns: Sequence[str], domain: Domain | None) -> str:
    """Say in one sentence that bounds of degrees are those of another column; else empty.

    Only a longitude exceeds 90 degrees. Bounds beyond 360 are of another unit, and pass.
    """
    if domain is None or not domain.declared or len(columns) != domain.ndim:
        return ""
    for lon, lat in permutations(range(domain.ndim), 2):
        across, up = domain.bounds[lon], domain.bounds[lat]
        if _beyond_90(up) and within(across, 360) and _are_named(columns[lon], columns[lat]):
            bounds = list(domain.bounds)
            bounds[lon], bounds[lat] = (up, across) if within(across, 90) else (across, (-90, 90))
            return (
                f"domain of {shown(columns[lat])} is {up[0]:g},{up[1]:g}, and a latitude ends at "
                "-90 and 90: bounds stand in the order of the columns, for "
                f'{",".join(map(shown, columns))} for example "{Domain(tuple(bounds))}"; or rename '
                "a column that is no latitude."
            )
    return ""


def check_bounds(columns: Sequence[str], domain: Domain | None) -> None:
    """Raise InputError where declared bounds of degrees are those of another column."""
    if said := mixed_up(columns, domain):
        raise InputError(said)


def axes_words(columns: Sequence[str], bounds: Bounds) -> str:
    """Say in one sentence where maps and GeoJSON have two columns; empty for other numbers."""
    if len(columns) != 2:
        return ""
    x, y = (shown(columns[axis], 40) for axis in map_axes(columns, bounds))
    if in_degrees(columns, bounds):
        return (
            f"{x} is the longitude (x) and {y} the latitude (y): maps have {x} to the right and "
            f"{y} upwards, and GeoJSON has [{x}, {y}]."
        )
    unplaced = (
        "its bounds are not those of degrees, so programs for maps can't place it"
        if placed(columns)
        else "programs for maps place it only if these are longitude and latitude"
    )
    return (
        f"Maps have {x} to the right (x) and {y} upwards (y), and GeoJSON has [{x}, {y}]: "
        f"{unplaced}."
    )


def within(bounds: Sequence[float], most: float) -> bool:
    """Whether bounds are between a number below 0 and above it."""
    return -most <= bounds[0] and bounds[1] <= most


def _beyond_90(bounds: Sequence[float]) -> bool:
    """Whether bounds are of degrees, but not of a latitude."""
    return not within(bounds, 90) and within(bounds, 360)


def _are_across_and_up(across: str, up: str) -> bool:
    """Whether two names are those of the axis across and of the one upwards, in this order."""
    if _are_lon_and_lat(across, up):
        return True
    words = _axis_words(across), _axis_words(up)
    rests = [tuple(map(without, words, axes)) for axes in _PLANE]
    return any(rest[0] is not None and rest[0] == rest[1] for rest in rests)


def _axis_words(name: str) -> tuple[str, ...]:
    """Words of a name, where xcoord and coordx are two: x and coord."""
    return tuple(_AXIS.sub(r"\1\3 \2\4", " ".join(words_of(name))).split())


def _are_lon_and_lat(lon: str, lat: str) -> bool:
    """Whether two names say so, also by words of length and width with nothing but their place."""
    across, up = set(words_of(lon)), set(words_of(lat))
    lengths, widths = across & _LENGTH, up & _WIDTH
    others = (across - lengths) | (up - widths)
    return _are_named(lon, lat) or (len(lengths) == len(widths) == 1 and others <= _QUALIFIERS)


def _are_named(lon: str, lat: str) -> bool:
    """Whether one name says longitude and the other latitude, whatever else they say."""
    across, up = words_of(lon), words_of(lat)
    found = [not one.isdisjoint(words) for words in (across, up) for one in (LON_WORDS, LAT_WORDS)]
    if found == [True, False, False, True]:
        return True
    # Or both are the same but for a part of them: pickuplon and pickuplat.
    first, second = "".join(across), "".join(up)
    return any(
        second == first[: at.start(1)] + one_up + first[at.end(1) :]
        for one_across, one_up in product(*_GLUED)
        for at in re.finditer(f"(?=({one_across}))", first)
    )

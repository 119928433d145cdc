"""GeoJSON (RFC 7946): points become lines of text, their properties columns.

Features are decoded one by one, so a file takes the memory of its text, not that of all objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpviz.data.reading.files import File, megabytes
from dpviz.data.reading.lines import TAB, Lines
from dpviz.data.reading.shapefile import EACH_POINT
from dpviz.data.reading.text import check_text
from dpviz.data.reading.unread import Slips
from dpviz.errors import InputError, listed, shown

#: Names of the coordinates, with which every table starts.
PLACE = ("lon", "lat")

#: Coordinates of a feature without a place: a row that is counted, as an empty line is not.
NOWHERE = ("nan", "nan")

#: Longest text of one feature, or of another member of the file, in bytes. Objects take up to
#: twenty times as much.
_LONGEST = 2**24

#: First guess for the length of a feature; longer ones are decoded again.
_GUESS = 2**12

_SPACE = re.compile(rb"[ \t\r\n]*")

#: Digits of a whole number from which on it is infinite for us; Python refuses to read such ones.
_MOST_DIGITS = 400


class _Number(float):
    """A number as it is written: a property that tells persons apart keeps all its digits."""

    def __new__(cls, text: str) -> _Number:
        found = super().__new__(cls, text)
        # What an exponent stands for may be rounded: one with a sign is no identifier.
        exponent = f"{found:.16e}".replace("inf", "nan")
        found.text = exponent if "e" in text.lower() else text
        return found

    text: str


_DECODER = json.JSONDecoder(
    parse_float=_Number,
    parse_int=lambda text: int(text) if len(text) <= _MOST_DIGITS else _Number(text),
    strict=False,  # control characters in text stop nothing
)

#: What it takes to find the end of a value: strings with numbers and words, strings with brackets.
_STRING = rb'"(?:[^"\\]|\\.)*+"'
_PLAIN = re.compile(_STRING + rb"|[-+.\w]+", re.DOTALL)
_BRACKETS = re.compile(_STRING + rb"|[][{}]", re.DOTALL)

#: Members that hold a list of all features, or geometries, one by one.
_LISTS = ("features", "geometries")

#: Other members of an object that are read.
_MEMBERS = ("type", "geometry", "properties", "coordinates", "crs")

#: Coordinate reference systems that are longitude and latitude, as files before RFC 7946 name them.
_DEGREES = re.compile(r"CRS:?84$|EPSG:+(\d*:)?4326$", re.IGNORECASE)


@dataclass(frozen=True)
class _System:
    """A coordinate reference system that a file names; no JSON in it can be taken for one."""

    name: str


class _NoJsonError(Exception):
    """The text is no JSON at this position."""

    def __init__(self, place: int) -> None:
        self.place = place


def geojson_as_text(file: File, released: bool, *, lenient: bool = False) -> File:
    """Make lines of text of all points; the first line has the names.

    Parameters
    ----------
    file
        One FeatureCollection, Feature, geometry or GeometryCollection, or one on each line.
    released
        No record may tell which columns there are, so there are only the coordinates; a feature
        that is no point counts as missing.
    lenient
        Whether a few such features are rows without numbers.

    Raises
    ------
    InputError
        If it is no GeoJSON, or has lines or areas.
    """
    name, data = file.name, file.data.removeprefix(b"\xef\xbb\xbf")
    if released and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode(errors="replace").encode()  # a record may hold bytes that are no UTF-8
    else:
        check_text(data, name)
    lines = Lines(name, file.memory // 2)
    table = _Table(name, lines, released, Slips(allowed=lenient))
    try:
        for item in _items(data, released):
            table.add(item)
    except _NoJsonError as error:
        line = data.count(b"\n", 0, error.place) + 1
        raise InputError(
            f"{shown(name)} can't be read in line {line}, which is no GeoJSON or has a feature of "
            f"more than {megabytes(_LONGEST)}: write it again, or save the table as CSV."
        ) from None
    table.slips.check(table.rows)
    if not table.rows and not released:
        raise InputError(
            f"{shown(name)} has no point: give GeoJSON with features that are points, or a CSV "
            "file."
        )
    place = PLACE if table.in_degrees else ("x", "y")
    head = Lines(name, file.memory // 2)
    head.add([*place, *table.columns])
    return replace(
        file,
        format="text",
        data=head.text() + lines.text(),
        separator=TAB,
        notes=tuple(table.notes()),
    )


class _Table:
    """Rows of a table from features."""

    def __init__(self, name: str, lines: Lines, released: bool, slips: Slips) -> None:
        self.slips = slips
        self._name, self._lines, self._released = name, lines, released
        self.columns: dict[str, int] = {}
        self._nested: dict[str, None] = {}
        self._split = self._number = self.rows = 0
        self._crs = ""

    @property
    def in_degrees(self) -> bool:
        """Whether the coordinates are longitude and latitude."""
        return not self._crs or _DEGREES.search(self._crs) is not None

    def notes(self) -> Iterator[str]:
        """Sentences about what was changed."""
        if not self.in_degrees:
            yield (
                f"The coordinates are those of {shown(self._crs)}, so the columns are x and y, not "
                "lon and lat."
            )
        if self._released:
            yield EACH_POINT
            return
        if self._split:
            yield f"Points of {self._split:,} MultiPoint features are rows by themselves."
        if self._nested:
            yield f"Left out, for they hold neither numbers nor text: {listed(self._nested)}."

    def add(self, item: Any) -> None:
        """Add the points of a feature, a geometry or a collection of them."""
        if isinstance(item, _System):
            self._crs = item.name
            return None
        self._number += 1
        if not isinstance(item, dict):
            return self._no_feature(item)
        if item.get("type") == "Feature":
            geometry, properties = item.get("geometry"), item.get("properties")
        else:
            geometry, properties = item, None
        if not isinstance(properties, dict) or self._released:
            properties = {}
        fields = self._fields(properties)
        points = self._points(geometry)
        self._split += len(points) > 1
        for point in points:
            self._lines.add([*point, *fields])
            self.rows += 1
        return None

    def _no_feature(self, item: object) -> None:
        if not self._released:
            raise InputError(
                f"{shown(self._name)} is no GeoJSON, feature {self._number:,} is "
                f'"{shown(item)}": write it again, or save the table as CSV.'
            )

    def _points(self, geometry: Any) -> list[tuple[str, str]]:
        """Points of a geometry; one without coordinates for a feature that has no place."""
        if geometry is None:
            return [NOWHERE]
        kind = geometry.get("type") if isinstance(geometry, dict) else None
        if kind == "Point":
            return [self._point(geometry.get("coordinates"))]
        if kind == "MultiPoint" and isinstance(geometry.get("coordinates"), list):
            return [self._point(one) for one in geometry["coordinates"]]
        if kind == "GeometryCollection" and isinstance(geometry.get("geometries"), list):
            inner = geometry["geometries"]
            nested = any(
                isinstance(one, dict) and one.get("type") == "GeometryCollection" for one in inner
            )
            if not nested:
                return [point for one in inner for point in self._points(one)]
        if self._released:
            return [NOWHERE]
        problem = f'has no geometry that can be read, "{shown(kind)}": give Point or MultiPoint.'
        if kind in ("LineString", "MultiLineString", "Polygon", "MultiPolygon"):
            problem = (
                f"is a {kind}, and only points can be clustered: make points of it first (QGIS: "
                "Vector, Geometry Tools, Centroids), or leave it out."
            )
        return [self._slip(problem, kind)]

    def _slip(self, problem: str, held: object) -> tuple[str, str]:
        """Text in place of coordinates that can't be read."""
        feature = f"feature {self._number:,} of {shown(self._name)}"
        self.slips.add(InputError(f"{feature} {problem}"))
        text = f"feature {self._number:,}: {shown(held)}"
        return text, text

    def _point(self, coordinates: Any) -> tuple[str, str]:
        """Longitude and latitude; nothing where there are none."""
        if isinstance(coordinates, list) and len(coordinates) >= 2:
            lon, lat = coordinates[:2]
            if _is_number(lon) and _is_number(lat):
                return repr(lon), repr(lat)
        if coordinates == [] or self._released:
            return NOWHERE
        problem = (
            f'has the coordinates "{shown(coordinates)}": give two numbers, longitude and latitude.'
        )
        return self._slip(problem, coordinates)

    def _fields(self, properties: dict[str, Any]) -> list[str]:
        """Texts of the properties, in the order of the columns."""
        fields = [""] * len(self.columns)
        for name, value in properties.items():
            if isinstance(value, dict | list):
                self._nested[name] = None
                continue
            at = self.columns.setdefault(name, len(fields))
            if at == len(fields):
                fields.append("")
            if isinstance(value, str | _Number):
                fields[at] = value if isinstance(value, str) else value.text
            elif value is not None:
                fields[at] = repr(value)
        return fields


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _items(data: bytes, released: bool) -> Iterator[Any]:
    """Features, geometries and named reference systems, in the order of the file."""
    place = first = _after_space(data, 0)
    kind = _kind(data, first) if released else "object"
    if kind == "lines":
        yield from _of_lines(data)
        return
    while place < len(data):  # one object, or one on each line
        # In a release no record may rename the columns. The first object is public, as the first
        # line of a table is, where it is a list of records and not one itself.
        head = not released or place == first
        end = yield from _object(data, place, head, released)
        place = _after_space(data, end)
        if kind == "list":
            yield from _of_lines(data[place:])
            return


def _kind(data: bytes, place: int) -> Literal["list", "object", "lines"]:
    """What a file starts with: a list of records, an object of several lines, or a line of one."""
    line = data.find(b"\n", place)
    try:
        place = _after(data, place, b"{")
        while True:
            key, place = _value(data, place, True)
            place = _after(data, place, b":")
            if key == "features" and data[place : place + 1] == b"[":
                return "list"
            place = _after_space(data, _value(data, place, True)[1])
            if data[place : place + 1] == b"}":
                # One object alone may be long, and is read piece by piece.
                alone = _after_space(data, place + 1) == len(data)
                return "object" if 0 <= line < place or alone else "lines"
            place = _after(data, place, b",")
    except _NoJsonError:
        return "lines"


def _of_lines(data: bytes) -> Iterator[Any]:
    """Items of lines of a release, each read by itself; of one that is no JSON there is None."""
    for line in re.split(rb"[\r\n]+", data):
        text = line.strip(b" \t\x1e")
        try:
            value, end = _value(text, 0, True)
        except _NoJsonError:
            value, end = None, len(text)
        value = value if end == len(text) else None
        features = value.get("features") if isinstance(value, dict) else None
        yield from features if isinstance(features, list) else [value]


def _object(data: bytes, place: int, head: bool, released: bool) -> Generator[Any, None, int]:
    """Items of one object, a list of features one by one; returns where the object ends.

    Its reference system is one of them if the object is a list and the ``head`` of the file, or
    if it is no list and nothing is released.
    """
    members: dict[str, Any] = {}
    listing = False
    place = _after(data, place, b"{")
    while True:
        key, place = _value(data, place, released)
        place = _after(data, place, b":")
        if key in _LISTS and data[place : place + 1] == b"[":
            listing = True
            place = yield from _elements(data, place, released)
        else:
            value, place = _value(data, place, released)
            if key in _MEMBERS:
                members[key] = value
        place = _after_space(data, place)
        if data[place : place + 1] == b"}":
            break
        place = _after(data, place, b",")
    system = members.get("crs")
    named = system.get("properties") if isinstance(system, dict) else None
    counts = head if listing else not released
    if counts and isinstance(named, dict) and isinstance(named.get("name"), str):
        yield _System(named["name"])
    if not listing:
        yield members
    return place + 1


def _elements(data: bytes, place: int, released: bool) -> Generator[Any, None, int]:
    """Elements of a list; returns where it ends."""
    place = _after(data, place, b"[")
    if data[place : place + 1] == b"]":
        return place + 1
    while True:
        value, place = _value(data, place, released)
        yield value
        place = _after_space(data, place)
        if data[place : place + 1] == b"]":
            return place + 1
        place = _after(data, place, b",")


def _value(data: bytes, place: int, released: bool) -> tuple[Any, int]:
    """Value at a position, and where it ends.

    In a release one that is too long or too deep is None: a record decides over itself alone,
    and not over whether a release comes.
    """
    size = _GUESS
    while True:
        whole = place + size >= len(data)
        # All of it is UTF-8: only a last sign that is cut off is left out.
        text = data[place : place + size].decode(errors="ignore")
        try:
            value, end = _DECODER.raw_decode(text)
            if end < len(text) or whole:
                return value, place + (end if text.isascii() else len(text[:end].encode()))
        except RecursionError:
            if released:
                return None, _end_of(data, place)
            raise _NoJsonError(place) from None
        except ValueError:
            if whole:
                raise _NoJsonError(place) from None
        if size >= _LONGEST:
            if released:
                return None, _end_of(data, place)
            raise _NoJsonError(place)
        size *= 8


def _end_of(data: bytes, place: int) -> int:
    """Where a value of any length and depth ends."""
    if plain := _PLAIN.match(data, place):
        return plain.end()
    depth = 0
    for sign in _BRACKETS.finditer(data, place):
        depth += (sign[0] in b"[{") - (sign[0] in b"]}")
        if depth == 0:
            return sign.end()
    raise _NoJsonError(place)


def _after_space(data: bytes, place: int) -> int:
    """First position from ``place`` on that is no white space."""
    found = _SPACE.match(data, place)
    assert found is not None  # noqa: S101 - it may be empty
    return found.end()


def _after(data: bytes, place: int, sign: bytes) -> int:
    """Position behind a sign that has to come here, and white space."""
    if data[place : place + 1] != sign:
        place = _after_space(data, place)
        if data[place : place + 1] != sign:
            raise _NoJsonError(place)
    return _after_space(data, place + 1)

"""Places in cells of text: WKT, "(lat, lon)", degrees and minutes, as two columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpviz.base.errors import listed, shown
from dpviz.base.numbers import counted
from dpviz.data.reading.cells import BLOCK_ROWS, text_cells
from dpviz.data.reading.kinds import holds_text
from dpviz.data.reading.proposal import PAIRS, words_of

Floats = NDArray[np.float64]

#: First cells that tell what a column holds, and the share of them that has to.
_LOOKED_AT, _MOSTLY = 500, 0.8

#: Words of longitude and latitude.
LON_WORDS, LAT_WORDS = map(frozenset, PAIRS[0])

#: Longer cells are no places, but those of GeoJSON or WKB may be.
_LONG = 200

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_WKT = re.compile(r"\s*(SRID=\d+\s*;)?\s*(MULTI)?POINT\s*(Z|M|ZM)?\s*(\(|EMPTY)", re.IGNORECASE)
_HEX = re.compile(r"0[01]0[12]0000[0-9A-Fa-f]{34,}")
_PAIR = rf"^\s*[(\[]?\s*(?P<a>{_NUMBER})\s*°?\s*[,; ]\s*(?P<b>{_NUMBER})\s*°?\s*[)\]]?\s*$"
_POINT = (
    rf"^\s*(?:SRID=\d+\s*;)?\s*POINT\s*Z?M?\s*\(\s*(?P<a>{_NUMBER})\s+(?P<b>{_NUMBER})[^)]*\)\s*$"
)
_GEOJSON = rf'"coordinates"\s*:\s*\[\s*(?P<a>{_NUMBER})\s*,\s*(?P<b>{_NUMBER})'

#: Degrees, perhaps with minutes and seconds; a sign or a letter says on which side.
_DEGREES = (
    r"^\s*(?P<before>[NSEWnsew])?\s*(?P<sign>[-+])?\s*(?P<d>\d{1,3}(?:[.,]\d+)?)"
    r"(?:\s*(?P<mark>[°º˚]|deg|[:\s])\s*(?:(?P<m>\d{1,2}(?:[.,]\d+)?)"
    r"(?:\s*(?:['′’´m]|min|[:\s])\s*(?:(?P<s>\d{1,2}(?:[.,]\d+)?)\s*(?:[\"″”]|''|′′|’’|s)?)?)?)?)?"
    r"\s*(?P<after>[NSEWnsew])?\s*$"
)


def with_places(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str]
) -> tuple[list[pa.ChunkedArray], list[str], tuple[str, ...]]:
    """Columns with those of places in two columns of numbers each, their names, and sentences.

    A cell that holds no place, among others that do, is missing.
    """
    found: list[pa.ChunkedArray] = []
    titles: list[str] = []
    notes: list[str] = []
    in_degrees: list[str] = []
    for column, name in zip(columns, names, strict=True):
        if not holds_text(column.type):
            found.append(column)
            titles.append(name)
        elif (pair := _pair(column, name)) is not None:
            points, form = pair
            two = _axes(points, name, form)
            points = points[:, two[1]]
            found += [pa.chunked_array([points[:, axis]]) for axis in (0, 1)]
            titles += two[0]
            lost = int(np.isnan(points[:, 0]).sum())
            without = f"; {counted(lost, 'row')} without" if lost else ""
            notes.append(
                f'Points of "{shown(name)}" ({form}) are read as {" and ".join(two[0])}{without}.'
            )
        elif (degrees := _degrees(column, name)) is not None:
            found.append(pa.chunked_array([degrees]))
            titles.append(name)
            in_degrees.append(name)
        else:
            found.append(column)
            titles.append(name)
    if in_degrees:
        notes.append(
            "Degrees, minutes and letters such as N or W are read as degrees in "
            f"{listed(in_degrees)}."
        )
    return found, titles, tuple(notes)


def _first(column: pa.ChunkedArray) -> list[str]:
    """First cells of a column that hold something."""
    cells = [
        one for few in column.slice(0, _LOOKED_AT).chunks for one in text_cells(few).to_pylist()
    ]
    return [cell[:_LONG].replace("\u2212", "-") for cell in cells if cell and cell.strip()]


def _pair(column: pa.ChunkedArray, name: str) -> tuple[Floats, str] | None:
    """Points (n, 2) of a column that holds two numbers in each cell, and the form; else None."""
    cells = _first(column)
    if not cells:
        return None
    for form, tells, pattern in (
        ("WKT", _WKT, _POINT),
        ("WKB", _HEX, ""),
        ("GeoJSON", re.compile(r'\s*\{.*"Point"', re.DOTALL), _GEOJSON),
        ("two numbers", re.compile(_PAIR), _PAIR),
    ):
        if sum(bool(tells.match(cell)) for cell in cells) < _MOSTLY * len(cells):
            continue
        if form == "two numbers" and not _looks_placed(cells, name):
            continue
        return _points(column, pattern, form), form
    if sum(len(_parts(cell)) == 2 for cell in cells[:50]) >= _MOSTLY * len(cells[:50]):
        points = [_both(cell or "") for cell in column.to_pylist()]
        return np.array(points, dtype=float).reshape(-1, 2), "degrees"
    return None


def _looks_placed(cells: list[str], name: str) -> bool:
    """Tell whether pairs of numbers are places: by brackets and fractions, or by the name."""
    words = set(words_of(name))
    named = words & {
        "location",
        "coordinates",
        "coords",
        "coord",
        "geo",
        "point",
        "position",
        "pos",
        "latlng",
        "latlon",
        "lonlat",
        "gps",
        "geom",
        "geometry",
        "coordinate",
        "koordinaten",
    } or (words & LON_WORDS and words & LAT_WORDS)
    brackets = sum(cell.strip()[0] in "([" for cell in cells) >= _MOSTLY * len(cells)
    fractions = sum(cell.count(".") == 2 for cell in cells) * 2 > len(cells)
    return fractions and (brackets or bool(named))


def _points(column: pa.ChunkedArray, pattern: str, form: str) -> Floats:
    """Points (n, 2) of cells, NaN where one holds none."""
    if form == "WKB" or (form == "WKT" and _is_odd(column)):
        import shapely

        cells = column.to_pylist()
        made = (
            shapely.from_wkb(cells, on_invalid="ignore")
            if form == "WKB"
            else shapely.from_wkt(
                [cell and re.sub(r"^\s*SRID=\d+\s*;", "", cell) for cell in cells],
                on_invalid="ignore",
            )
        )
        return points_of(np.asarray(made, dtype=object))
    parts = []
    for chunk in column.chunks:
        chunk = pc.replace_substring(chunk.cast(pa.string()), "\u2212", "-")
        both = pc.extract_regex(chunk, pattern)
        right = both.is_valid()
        nothing = pa.scalar(None, pa.string())
        two = [pc.if_else(right, both.field(axis), nothing) for axis in (0, 1)]
        floats = [pc.cast(one, pa.float64()).to_numpy(zero_copy_only=False) for one in two]
        parts.append(np.stack(floats, axis=1))
    return np.concatenate(parts) if parts else np.empty((0, 2))


def _is_odd(column: pa.ChunkedArray) -> bool:
    """Tell whether WKT is written in a form that the pattern does not know."""
    return not pc.all(pc.match_substring_regex(column, _POINT)).as_py()


def points_of(shapes: NDArray[np.object_]) -> Floats:
    """Coordinates (n, 2) of shapes, NaN of those that are no single point."""
    import shapely

    kinds = shapely.get_type_id(shapes)
    single = (kinds == 4) & (shapely.get_num_geometries(shapes) == 1)
    if single.any():
        shapes = shapes.copy()
        shapes[single] = shapely.get_geometry(shapes[single], 0)
        kinds = shapely.get_type_id(shapes)
    points = np.full((len(shapes), 2), np.nan)
    there = (kinds == 0) & ~shapely.is_empty(shapes)
    points[there] = shapely.get_coordinates(shapes[there])
    return points


def _axes(points: Floats, name: str, form: str) -> tuple[list[str], list[int]]:
    """Names of the two columns, and the positions of x and y in a pair of numbers."""
    known = points[np.isfinite(points).all(axis=1)]
    order = [0, 1]
    if form == "degrees":
        order = [1, 0]
    elif form == "two numbers":
        low = "".join(words_of(name))
        said_lon = any(low.startswith(one) or f"{one}lat" in low for one in ("lon", "lng", "long"))
        beyond = [bool((np.abs(known[:, axis]) > 90).mean() > 0.5) for axis in (0, 1)]
        # As people write a place, latitude comes first, unless it can't be one.
        order = [0, 1] if said_lon or (beyond[0] and not beyond[1]) else [1, 0]
    if not is_degrees(known[:, order]):
        return ["x", "y"], [0, 1]
    return ["lon", "lat"], order


def is_degrees(points: Floats) -> bool:
    """Tell whether nearly all points may be longitude and latitude, perhaps exchanged."""
    if not len(points):
        return True
    largest = np.abs(points)
    fine = (largest <= 360).all(axis=1) & (largest <= 180).any(axis=1)
    return bool(fine.mean() > 0.5) and not bool((largest > 1e4).mean() > 0.2)


def _degrees(column: pa.ChunkedArray, name: str) -> Floats | None:
    """Degrees (n,) of a column of degrees with minutes or letters; None of other columns."""
    cells = _first(column)
    if not cells:
        return None
    pattern = re.compile(_DEGREES)
    words = set(words_of(name))
    placed = bool(words & (LON_WORDS | LAT_WORDS))
    right = 0
    for cell in cells:
        found = pattern.match(cell)
        if found is None:
            continue
        letter = found["before"] or found["after"]
        # "S 1" may be a name, and 12 05 anything.
        clear = placed or bool(re.search(r"[.,]\d\d", found["d"])) or found["m"]
        right += bool(_is_sign(found["mark"]) or (letter and clear) or (placed and found["m"]))
    if right < _MOSTLY * len(cells):
        return None
    return np.concatenate(
        [
            _in_degrees(chunk.slice(start, BLOCK_ROWS))
            for chunk in column.chunks
            for start in range(0, len(chunk), BLOCK_ROWS)
        ]
    )


def _is_sign(mark: str | None) -> bool:
    """Tell whether what stands behind a number says that these are degrees."""
    return mark in ("°", "º", "˚", "deg")


def _in_degrees(cells: pa.Array) -> Floats:
    """Degrees (m,) of cells, NaN where one has none."""
    cells = pc.replace_substring(cells.cast(pa.string()), "\u2212", "-")
    found = pc.extract_regex(cells, _DEGREES)
    part = {found.type[axis].name: found.field(axis) for axis in range(found.type.num_fields)}
    valid = np.asarray(found.is_valid())

    def number(name: str) -> Floats:
        text = pc.replace_substring(part[name], ",", ".")
        text = pc.if_else(pc.equal(text, ""), "0", text)
        return np.asarray(pc.cast(text, pa.float64()).fill_null(np.nan))

    minutes, seconds = number("m"), number("s")
    value = number("d") + minutes / 60 + seconds / 3600
    letter = pc.utf8_upper(pc.binary_join_element_wise(part["before"], part["after"], ""))
    negative = np.asarray(pc.is_in(letter, pa.array(["S", "W"]))) | np.asarray(
        pc.equal(part["sign"], "-")
    )
    value = np.where(negative, -value, value)
    return np.where(valid & (minutes < 60) & (seconds < 60) & (np.abs(value) <= 360), value, np.nan)


def _parts(cell: str) -> list[str]:
    """The two halves of a cell with degrees of latitude and of longitude, else nothing."""
    if len(cell) > _LONG:
        return []
    found = re.fullmatch(r"(.*?[NSns])[\s,;]*(.*[EWew])|([NSns].*?)[\s,;]*([EWew].*)", cell.strip())
    halves = [part for part in found.groups() if part] if found else []
    return halves if all(re.match(_DEGREES, part) for part in halves) else []


def _both(cell: str) -> tuple[float, float]:
    """Latitude and longitude of a cell."""
    halves = _parts(cell)
    if len(halves) != 2:
        return np.nan, np.nan
    lat, lon = _in_degrees(pa.array(halves)).tolist()
    return lat, lon

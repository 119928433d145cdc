"""Convert cells with places (WKT, WKB, "(lat, lon)", degrees) to two columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import listed, shown
from dpviz.base.lazy import compute as pc
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.geographic import LAT_WORDS, LON_WORDS, words_of
from dpviz.data.reading.cells import BLOCK_ROWS, text_cells
from dpviz.data.reading.kinds import holds_text
from dpviz.data.words import WORDS

#: Number of cells that decide what a column contains, and smallest share that must agree.
_LOOKED_AT, _MOSTLY = 500, 0.8

#: Largest length of a cell with a place in text; GeoJSON and WKB may be longer.
_LONG = 200

_PLAIN = r"^\s*[-+]?\d{0,20}(\.\d{0,20})?\s*$"
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_WKT = re.compile(r"\s*(SRID=\d+\s*;)?\s*(MULTI)?POINT\s*(Z|M|ZM)?\s*(\(|EMPTY)", re.IGNORECASE)
_HEX = re.compile(r"0[01]0[12]0000[0-9A-Fa-f]{34,}")
_PAIR = rf"^\s*[(\[]?\s*(?P<a>{_NUMBER})\s*°?\s*[,; ]\s*(?P<b>{_NUMBER})\s*°?\s*[)\]]?\s*$"
_POINT = (
    rf"^\s*(?:SRID=\d+\s*;)?\s*POINT\s*Z?M?\s*\(\s*(?P<a>{_NUMBER})\s+(?P<b>{_NUMBER})[^)]*\)\s*$"
)
_GEOJSON = rf'"coordinates"\s*:\s*\[\s*(?P<a>{_NUMBER})\s*,\s*(?P<b>{_NUMBER})'

#: Forms of two numbers in a cell: pattern of the form, and pattern that extracts the numbers.
_FORMS = (
    ("WKT", _WKT, _POINT),
    ("WKB", _HEX, ""),
    ("GeoJSON", re.compile(r'\s*\{.*"Point"', re.DOTALL), _GEOJSON),
    ("two numbers", re.compile(_PAIR), _PAIR),
)

#: Matches bytes that begin like a point in well-known binary, in either byte order.
_BINARY = re.compile(rb"\x01(\x01\0\0|\xe9\x03\0)|\0\0\0\0\x01").match

_PLACE_WORDS = frozenset(WORDS["places"])

#: Degrees, with optional minutes and seconds. A sign or a letter determines the hemisphere.
_DEGREES = (
    r"^\s*(?P<before>[NSEWnsew])?\s*(?P<sign>[-+])?\s*(?P<d>\d{1,3}(?:[.,]\d+)?)"
    r"(?:\s*(?P<mark>[°º˚]|deg|[:\s])\s*(?:(?P<m>\d{1,2}(?:[.,]\d+)?)"
    r"(?:\s*(?:['′’´m]|min|[:\s])\s*(?:(?P<s>\d{1,2}(?:[.,]\d+)?)\s*(?:[\"″”]|''|′′|’’|s)?)?)?)?)?"
    r"\s*(?P<after>[NSEWnsew])?\s*$"
)


def with_places(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str]
) -> tuple[list[pa.ChunkedArray], list[str], tuple[str, ...]]:
    """Replace columns of places by two columns of numbers; return columns, names, sentences."""
    found: list[pa.ChunkedArray] = []
    titles: list[str] = []
    notes: list[str] = []
    in_degrees: list[str] = []
    for column, name in zip(columns, names, strict=True):
        may_be = not _holds_numbers(column)
        if may_be and (pair := _pair(column, name)) is not None:
            points, form = pair
            two, order = _axes(points, name, form)
            found += [pa.chunked_array([np.ascontiguousarray(points[:, axis])]) for axis in order]
            titles += two
            lost = int(np.isnan(points[:, 0]).sum())
            without = f"; {counted(lost, 'row')} without" if lost else ""
            said = f'Points of "{shown(name)}" ({form}) are read as {" and ".join(two)}{without}.'
            notes.append(said)
            continue
        if may_be and (degrees := _degrees(column, name)) is not None:
            column = pa.chunked_array([degrees])
            in_degrees.append(name)
        found.append(column)
        titles.append(name)
    if in_degrees:
        said = "Degrees, minutes and letters such as N or W are read as degrees in "
        notes.append(f"{said}{listed(in_degrees)}.")
    return found, titles, tuple(notes)


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    """Fast check: whether many of the first cells are plain numbers, so they can't be places."""
    if not holds_text(column.type):
        return False
    few = column.slice(0, _LOOKED_AT)
    plain = pc.sum(pc.match_substring_regex(few, _PLAIN)).as_py() or 0
    return bool(plain > (1 - _MOSTLY) * (len(few) - few.null_count))


def _first(column: pa.ChunkedArray) -> list[str]:
    few = column.slice(0, _LOOKED_AT).chunks if holds_text(column.type) else []
    cells = [one for chunk in few for one in text_cells(chunk).to_pylist()]
    return [cell[:_LONG].replace("\u2212", "-") for cell in cells if cell and cell.strip()]


def may_be_places(kind: pa.DataType) -> bool:
    """Return whether a column of this type may contain points, or text with points."""
    is_binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    is_pair = pa.types.is_struct(kind) and {"x", "y"} <= {one.name for one in kind}
    return bool(is_binary or is_pair or holds_text(kind))


def _pair(column: pa.ChunkedArray, name: str) -> tuple[Floats, str] | None:
    """Points (n, 2) of a column with two numbers in each cell, and their form; or None."""
    if not may_be_places(column.type):
        return None
    if pa.types.is_struct(column.type):
        axes = [pc.cast(pc.struct_field(column, axis), pa.float64(), safe=False) for axis in "xy"]
        return np.stack([one.fill_null(np.nan).to_numpy() for one in axes], axis=1), "x and y"
    if not holds_text(column.type):
        some = [*islice((cell for cell in column.slice(0, 100).to_pylist() if cell), 20)]
        return (_points(column, "", "WKB"), "WKB") if some and all(map(_BINARY, some)) else None
    cells = _first(column)
    for form, tells, pattern in _FORMS if cells else ():
        if sum(bool(tells.match(cell)) for cell in cells) < _MOSTLY * len(cells):
            continue
        if form != "two numbers" or _looks_placed(cells, name):
            return _points(column, pattern, form), form
    if cells and sum(len(_parts(cell)) == 2 for cell in cells[:50]) >= _MOSTLY * len(cells[:50]):
        points = [_both(cell or "") for cell in column.to_pylist()]
        return np.array(points, dtype=float).reshape(-1, 2), "degrees"
    return None


def _looks_placed(cells: list[str], name: str) -> bool:
    words = set(words_of(name))
    named = words & _PLACE_WORDS or (words & LON_WORDS and words & LAT_WORDS)
    brackets = sum(cell.strip()[0] in "([" for cell in cells) >= _MOSTLY * len(cells)
    fractions = sum(cell.count(".") == 2 for cell in cells) * 2 > len(cells)
    return fractions and (brackets or bool(named))


def _points(column: pa.ChunkedArray, pattern: str, form: str) -> Floats:
    if form == "WKB" or (
        # WKT in a form that the pattern does not match
        form == "WKT" and not pc.all(pc.match_substring_regex(column, _POINT)).as_py()
    ):
        import shapely

        cells = column.to_pylist()
        if form == "WKB":
            made = shapely.from_wkb(cells, on_invalid="ignore")
        else:
            cells = [cell and re.sub(r"^\s*SRID=\d+\s*;", "", cell) for cell in cells]
            made = shapely.from_wkt(cells, on_invalid="ignore")
        shapes = np.asarray(made, dtype=object)
        points = np.full((len(shapes), 2), np.nan)
        may_be = np.isin(shapely.get_type_id(shapes), (0, 4)) & ~shapely.is_empty(shapes)
        single = may_be & (shapely.get_num_geometries(shapes) == 1)
        points[single] = shapely.get_coordinates(shapes[single])
        return points
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


def _axes(points: Floats, name: str, form: str) -> tuple[list[str], list[int]]:
    known = points[np.isfinite(points).all(axis=1)]
    order = [0, 1]
    if form == "degrees":
        order = [1, 0]
    elif form == "two numbers":
        low = "".join(words_of(name))
        said_lon = any(low.startswith(one) or f"{one}lat" in low for one in ("lon", "lng", "long"))
        beyond = [bool((np.abs(known[:, axis]) > 90).mean() > 0.5) for axis in (0, 1)]
        # Assume latitude first, which is usual, unless a number beyond 90 must be a longitude.
        order = [0, 1] if said_lon or (beyond[0] and not beyond[1]) else [1, 0]
    if not is_degrees(known[:, order]):
        return ["x", "y"], [0, 1]
    return ["lon", "lat"], order


def is_degrees(points: Floats) -> bool:
    """Return whether nearly all points may be longitude and latitude, in either order."""
    if not len(points):
        return True
    largest = np.abs(points)
    fine = (largest <= 360).all(axis=1) & (largest <= 180).any(axis=1)
    return bool(fine.mean() > 0.5) and not bool((largest > 1e4).mean() > 0.2)


def _degrees(column: pa.ChunkedArray, name: str) -> Floats | None:
    """Degrees (n,) from a column of degrees with minutes or letters; None for other columns."""
    cells = _first(column)
    if not cells:
        return None
    placed = not (LON_WORDS | LAT_WORDS).isdisjoint(words_of(name))
    right = 0
    for found in filter(None, (re.match(_DEGREES, cell) for cell in cells)):
        letter = found["before"] or found["after"]
        # These cells are not degrees: "S 1" may be a name, and "12 05" is ambiguous.
        clear = placed or bool(re.search(r"[.,]\d\d", found["d"])) or found["m"]
        is_sign = found["mark"] in ("°", "º", "˚", "deg")
        right += bool(is_sign or (letter and clear) or (placed and found["m"]))
    if right < _MOSTLY * len(cells):
        return None
    starts = ((one, at) for one in column.chunks for at in range(0, len(one), BLOCK_ROWS))
    return np.concatenate([_in_degrees(one.slice(at, BLOCK_ROWS)) for one, at in starts])


def _in_degrees(cells: pa.Array) -> Floats:
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
    negative = np.asarray(pc.is_in(letter, pa.array(["S", "W"])))
    negative = negative | np.asarray(pc.equal(part["sign"], "-"))
    value = np.where(negative, -value, value)
    return np.where(valid & (minutes < 60) & (seconds < 60) & (np.abs(value) <= 360), value, np.nan)


def _parts(cell: str) -> list[str]:
    if len(cell) > _LONG:
        return []
    found = re.fullmatch(r"(.*?[NSns])[\s,;]*(.*[EWew])|([NSns].*?)[\s,;]*([EWew].*)", cell.strip())
    halves = [part for part in found.groups() if part] if found else []
    return halves if all(re.match(_DEGREES, part) for part in halves) else []


def _both(cell: str) -> tuple[float, float]:
    halves = _parts(cell)
    if len(halves) != 2:
        return np.nan, np.nan
    lat, lon = _in_degrees(pa.array(halves)).tolist()
    return lat, lon

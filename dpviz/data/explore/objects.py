"""JSON: records, columns, one record a line, and GeoJSON, as columns of values.

Decoded value by value by the standard library, so that memory holds one batch of objects, and a
number or a depth that is too large stops one record, not the file.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.numbers import counted
from dpviz.data.explore.places import is_degrees
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.text import decoded
from dpviz.data.reading.cells import check_width
from dpviz.data.reading.unread import FEW
from dpviz.data.reading.watch import passed

#: Records that become arrays together, and objects within objects that become columns.
_BATCH, _DEEPEST = 2**13, 8

#: A whole number of more digits is infinite: its time grows with the square of them.
_DECODER = json.JSONDecoder(
    parse_int=lambda text: int(text) if len(text) <= 400 else float(text), strict=False
)
#: White space, and the mark before each record of a sequence (RFC 8142).
_SPACE = re.compile(r"[ \t\r\n\x1e]*")

#: Geometries of GeoJSON that are no points.
_SHAPES = ("LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")

#: Geographic reference systems by names and EPSG numbers: nearly all from 4000 to 4999 are.
_GEOGRAPHIC = re.compile(
    r"(CRS:?(84h?|83|27)|(WGS|NAD|ETRS)[ _]?(19|20)?(83|84|89|27)|(EPSG:+([\d.]*:)?|EPSG/[\d.]+/|"
    r"\A)(4\d{3}|6318|6319|6668|7683|7844|9057|9755|10283))$", re.IGNORECASE,
)  # fmt: skip

#: Types of arrays.
_TYPES: dict[type, pa.DataType] = {
    str: pa.large_string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64(),
    type(None): pa.null(),
}  # fmt: skip

#: A note on records of several points.
SEVERAL = "Points of MultiPoint features are rows by themselves."

#: What to do about other shapes.
ONLY_POINTS = "make points of other shapes first (QGIS: Vector, Geometry Tools, Centroids)."


def read_objects(data: bytes, name: str, options: Options) -> Rows:
    """Read records of JSON or GeoJSON.

    Raises
    ------
    InputError
        If it is no JSON, or holds neither records nor columns.
    """
    data, notes = decoded(data, name, options.encoding)
    tables: defaultdict[str, _Records] = defaultdict(lambda: _Records(name))
    objects, whole, text = tables[""], {}, _Text(data.decode(errors="replace"), name)
    del data  # the text takes its place in memory
    lines = filter(None, (one[0].strip(" \t\x1e,") for one in re.finditer(r"[^\n]+", text.all)))
    first = list(islice(lines, 2))
    one = _line_value(first[0]) if len(first) == 2 else None
    if isinstance(one, dict | list) and "features" not in one:
        for line in chain(first, lines):
            objects.add(_line_value(line))
    else:
        while sign := text.next():
            if sign == "[":
                for _ in text.inside():
                    objects.add(text.value())
            elif (whole := _members(text, tables)).get("type") != "FeatureCollection":
                objects.add(whole)
    largest = max(tables, key=lambda key: (tables[key].number, key))
    best = objects if objects.number > 1 else tables[largest]
    columns = {
        key: [*held.values()] if isinstance(held, dict) else held
        for key, held in whole.items()
        if isinstance(held, list) or (isinstance(held, dict) and all(map(str.isdecimal, held)))
    }
    sizes = [len(one) for one in columns.values()]
    usual = max(sizes, key=sizes.count, default=0)
    rows: Iterable[Any] = ()
    if sizes.count(usual) > 1 and usual >= max(best.number, 1) and not best.is_rows:
        gone = [key for key in columns if len(columns[key]) != usual]
        notes += (f"Left out, for they have another length: {listed(gone)}.",) if gone else ()
        some = [key for key in columns if key not in gone]
        cells = zip(*(columns[key] for key in some), strict=True)
        rows = (dict(zip(some, row, strict=True)) for row in cells)
    elif best is objects and len(whole) > 1 and {*map(type, whole.values())} == {dict}:
        rows = whole.values()
    for at, row in enumerate(rows):
        best = best if at else _Records(name)
        best.add(row)
    return best.rows(notes, whole)


class _Text:
    """JSON that is decoded as far as somebody asks."""

    def __init__(self, whole: str, name: str) -> None:
        self.all, self._name = whole, name
        self._at = self._records = 0

    def next(self) -> str:
        """The next sign that is no white space; nothing at the end."""
        self._at = _SPACE.match(self.all, self._at).end()  # type: ignore[union-attr]
        return self.all[self._at : self._at + 1]

    def value(self) -> Any:
        """The next value."""
        self.next()
        try:
            found, self._at = _DECODER.raw_decode(self.all, self._at)
        except RecursionError:
            raise self._wrong("is nested too deep") from None
        except ValueError as error:
            self._at = getattr(error, "pos", self._at)
            raise self._wrong() from None
        return found

    def inside(self) -> Iterator[str]:
        """Go through the next list or object by names; who asks takes the value of each."""
        opened, close = "[]" if self.next() == "[" else "{}"
        self._take(opened)
        more = self.next() != close
        while more:
            name = ""
            if close == "}":
                name = str(self.value())
                self._take(":")
            else:
                self._records += 1
                if self._records % _BATCH == 0:
                    passed(self._at, len(self.all))
            yield name
            more = self.next() == ","
            self._at += more
        self._take(close)

    def _take(self, sign: str) -> None:
        if self.next() != sign:
            raise self._wrong()
        self._at += 1

    def _wrong(self, what: str = "is no JSON") -> InputError:
        at = f"record {max(self._records, 1):,}, line {self.all.count(chr(10), 0, self._at) + 1:,},"
        if not self.next():
            at, what = f"it ends within {at[:-1]}", "and is cut off"
        return InputError(
            f"{shown(self._name)} can't be read: {at} {what}. Save or transfer it again."
        )


def _members(text: _Text, tables: dict[str, _Records], depth: int = 0) -> dict[str, Any]:
    """Members of the next object; its lists of objects go into the tables of their names."""
    found: dict[str, Any] = {}
    for key in text.inside():
        sign = text.next()
        if sign == "{" and depth < _DEEPEST:
            found[key] = _members(text, tables, depth + 1)
        elif sign == "[" and key not in ("coordinates", "bbox"):
            found[key] = []
            add = found[key].append
            for at, _ in enumerate(text.inside()):
                one = text.value()
                if not at and isinstance(one, dict | list):
                    add = tables[key].add
                add(one)
        else:
            found[key] = text.value()
    return found


def _line_value(line: str) -> Any:
    """The value of a line, or its text, which is no record."""
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return line


class _Records:
    """Columns from records; of GeoJSON, with longitude and latitude in front."""

    def __init__(self, name: str) -> None:
        self._name, self.number = name, 0
        self.is_rows = self._geo = False
        self._batch: list[dict[Any, Any]] = []
        self._chunks: list[tuple[int, dict[Any, pa.Array]]] = []
        self._columns: dict[Any, None] = {}
        self._numbers = array("q")
        #: Records that are left out: their numbers, what the first is, how many can't be read.
        self._left, self._first, self._unread = array("q"), None, 0
        self._lists: dict[str, None] = {}

    def add(self, record: Any) -> None:
        """Add an object, a list of cells, a feature or a geometry."""
        kind = record.get("type") if isinstance(record, dict) else None
        self.number += 1
        if self.number == 1:
            self.is_rows = isinstance(record, list)
            held = {"geometry", "coordinates", "geometries"} & {*record} if kind else None
            self._geo = kind in ("Feature", "Point", "MultiPoint", *_SHAPES) and bool(held)
        rows = [record] if isinstance(record, dict) else []
        if self._geo:
            rows, record = _features(record)
        elif self.is_rows and isinstance(record, list):
            rows = [dict(enumerate(record))]
        if not rows:
            self._first = self._first or record
            self._left.append(self.number)
            self._unread += record not in _SHAPES
        for row in rows:
            self._numbers.append(self.number)
            is_flat = {dict, list}.isdisjoint(map(type, row.values()))
            self._batch.append(row if is_flat else dict(self._flat(row)))
        if len(self._batch) >= _BATCH:
            self._flush()

    def _flat(
        self, record: dict[Any, Any], before: str = "", deep: int = 0
    ) -> Iterator[tuple[Any, Any]]:
        """Members, those of objects as "outer.inner", and places as text that is read as one."""
        for key, value in record.items():
            name, place = f"{before}{key}" if before else key, None
            if isinstance(value, dict) and value.get("type") == "Point":
                place = _pair(value.get("coordinates"))
            if place is not None:
                yield name, f'{{"type": "Point", "coordinates": [{place[0]}, {place[1]}]}}'
            elif isinstance(value, dict) and deep < _DEEPEST:
                yield from self._flat(value, f"{name}.", deep + 1)
            elif isinstance(value, dict | list):
                self._lists[str(name)] = None
            else:
                yield name, value

    def _flush(self) -> None:
        for record in self._batch:
            self._columns.update(dict.fromkeys(record))
        check_width(len(self._columns), self._name)
        made = {key: _array([one.get(key) for one in self._batch]) for key in self._columns}
        self._chunks.append((len(self._batch), made))
        self._batch = []

    def rows(self, notes: tuple[str, ...], whole: dict[str, Any]) -> Rows:
        """All columns, unless what is left out is not little.

        The whole object may hold their names or reference system.
        """
        self._flush()
        what, kept = "feature" if self._geo else "record", len(self._numbers)
        notes += (SEVERAL,) if len(set(self._numbers)) < kept else ()
        if self._left:
            first, is_ = f"{what} {self._left[0]:,}", "no point" if self._geo else "no object"
            if not kept or self._unread > FEW * kept:
                way = f"give points, or {ONLY_POINTS}" if self._geo else "give objects."
                raise InputError(
                    f'{first} of {shown(self._name)} is {is_}, but "{shown(self._first)}": {way}'
                )
            many = counted(len(self._left), what)
            notes += (f"Left out, for {is_}: {many}, the first is {first}.",)
        if self._lists:
            said = listed(self._lists)
            notes += (f"Left out, for they hold neither numbers nor text: {said}.",)
        columns = [
            _united([made.get(key, pa.nulls(many)) for many, made in self._chunks])
            for key in self._columns
        ]
        if not columns:
            raise InputError(
                f"{shown(self._name)} holds no records: give JSON with a list of objects, one "
                "object a line, or GeoJSON with points."
            )
        names = [str(key) for key in self._columns]
        if self.is_rows:
            labels = whole.get("columns")
            fits = isinstance(labels, list) and len(labels) == len(columns)
            names = [str(one) for one in labels or ()] if fits else []
        elif self._geo:
            points = np.stack([one.cast(pa.float64()).to_numpy() for one in columns[:2]], axis=1)
            crs = whole.get("crs")
            if isinstance(crs, dict) and isinstance(crs := crs.get("properties"), dict):
                crs = crs.get("name", crs.get("code"))
            place, more = axes(points, str(crs or ""), bool(_GEOGRAPHIC.search(str(crs))))
            columns[:2] = [pa.chunked_array([one]) for one in points.T]
            names, notes = [*place, *names[2:]], notes + more
        found = np.frombuffer(self._numbers, dtype=np.int64)
        return Rows(columns=columns, names=names or None, numbers=lambda: found, notes=notes,
                    written=bool(names))  # fmt: skip


def axes(
    points: NDArray[np.float64], crs: str, geographic: bool
) -> tuple[tuple[str, str], tuple[str, ...]]:
    """Names of the coordinates (n, 2), and a sentence where they are no degrees."""
    if (geographic or not crs) and is_degrees(points[np.isfinite(points).all(axis=1)]):
        return ("lon", "lat"), ()
    said = f"those of {shown(crs)}" if crs else "too large for degrees"
    said = f"The coordinates are {said}, so the columns are x and y, not lon and lat."
    return ("x", "y"), (said,)


def _features(item: Any) -> tuple[list[dict[Any, Any]], Any]:
    """Rows of a feature or geometry, their places under 0 and 1, and a word for what it is."""
    shape, named = item, None
    if isinstance(item, dict) and item.get("type") == "Feature":
        shape = item.get("geometry") or {"type": "Point", "coordinates": []}
        named = item.get("properties")
    shape = shape if isinstance(shape, dict) else {}
    kind, place = shape.get("type"), shape.get("coordinates")
    if kind not in ("Point", "MultiPoint"):
        return [], kind if kind in _SHAPES else item
    pairs = [_pair(one) for one in (place if kind == "MultiPoint" and place else [place])]
    named = named if isinstance(named, dict) else {}  # whose names are no numbers
    rows = [{0: pair[0], 1: pair[1], **named} for pair in pairs if pair]
    return (rows, item) if len(rows) == len(pairs) else ([], item)


def _pair(place: Any) -> tuple[float, float] | None:
    """Two finite numbers; NaN for a point without a place; None of everything else."""
    two = (place or [math.nan] * 2)[:2] if isinstance(place, list) else []
    fine = [float(one) for one in two if type(one) in (int, float) and not abs(one) > 1e300]
    return (fine[0], fine[1]) if len(fine) == 2 else None


def _array(values: list[Any]) -> pa.Array:
    """Values of one type as Arrow holds it, of several as text; NaN is missing."""
    kinds = {*map(type, values)} - {type(None)}
    try:
        if kinds == {int, float}:
            values, kinds = [one if one is None else float(one) for one in values], {float}
        if len(kinds) < 2:
            return pa.array(values, _TYPES[kinds.pop() if kinds else type(None)], from_pandas=True)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        pass  # digits of a long number stay
    values = [None if one != one else one for one in values]
    texts = [one if type(one) in (str, type(None)) else json.dumps(one) for one in values]
    texts = [one and one.encode(errors="replace").decode() for one in texts]
    return pa.array(texts, pa.large_string())


def _united(chunks: list[pa.Array]) -> pa.ChunkedArray:
    """Arrays of one type: that of all, floats for numbers, or text."""
    kinds = {one.type for one in chunks} - {pa.null()}
    kind = pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.large_string()
    kind = kind if len(kinds) > 1 else next(iter(kinds), pa.null())
    return pa.chunked_array([one.cast(kind, safe=False) for one in chunks], kind)

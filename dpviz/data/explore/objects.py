"""Read columns from JSON: lists of records, lists of columns, one record per line, GeoJSON.

Values are decoded one after another: memory contains only one batch of objects, and a number that
is too large or nesting that is too deep affects only its own record.
"""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, listed, shown
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.explore.places import is_degrees
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.explore.text import decoded
from dpviz.data.reading.cells import MAX_COLUMNS, check_width
from dpviz.data.reading.files import File
from dpviz.data.reading.unread import FEW, NAMED, NamedRows
from dpviz.data.reading.watch import passed

#: Number of records per batch of arrays, and largest depth of nested objects that become columns.
_BATCH, _DEEPEST = 2**13, 8

#: Number of characters that are decoded together; least number of short lists that are rows.
_WINDOW, _ROWS = 2**16, 10

#: Integers with over 400 digits become infinite, because parsing would take quadratic time.
_DECODER = json.JSONDecoder(
    parse_int=lambda text: int(text) if len(text) <= 400 else float(text), strict=False
)
#: White space, including the character before each record of a JSON text sequence (RFC 7464).
_SPACE = re.compile(r"[ \t\r\n\x1e]*")

#: GeoJSON geometries that are not points.
_SHAPES = ("LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection")

#: Geographic reference systems by name and EPSG number, mostly from 4000 to 4999.
_GEOGRAPHIC = re.compile(
    r"(CRS:?(84h?|83|27)|(WGS|NAD|ETRS)[ _]?(19|20)?(83|84|89|27)|(EPSG:+([\d.]*:)?|EPSG/[\d.]+/|"
    r"\A)(4\d{3}|6318|6319|6668|7683|7844|9057|9755|10283))$", re.IGNORECASE,
)  # fmt: skip

#: Names of the functions that make the Arrow types of Python values.
_TYPES = {
    str: "large_string", bool: "bool_", int: "int64", float: "float64", type(None): "null",
}  # fmt: skip

_PLAIN = {*_TYPES}

SEVERAL = "Each point of a MultiPoint feature is a separate row."

ONLY_POINTS = "make points of other shapes first (QGIS: Vector, Geometry Tools, Centroids)."


def read_objects(file: File, options: Options) -> Rows:
    """Read JSON or GeoJSON; InputError if it is invalid, or has neither records nor columns."""
    data, notes = decoded(file.data, file.name, options.encoding)
    text = _Text(data.decode(errors="replace"), file.name)
    del data  # the decoded text replaces it in memory
    lines = filter(None, (one[0].strip(" \t\x1e,") for one in re.finditer(r"[^\n]+", text.all)))
    first = list(islice(lines, 2))
    one = _line_value(first[0]) if len(first) == 2 else None
    if isinstance(one, dict | list) and "features" not in one:
        for line in chain(first, lines):
            text.records.add(_line_value(line))
    else:
        while text.next():
            whole = text.walk()
            if isinstance(whole, dict) and whole.get("type") != "FeatureCollection":
                text.records.add(whole)
    return text.best().rows(notes)


def _line_value(line: str) -> Any:
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return line


class _Text:
    """JSON text that is decoded step by step, and the tables in it; each key is a table's path."""

    # A table is a list of objects or lists, or an object with several lists of the same length. An
    # object with more members than a table may have columns also counts as a list.

    def __init__(self, whole: str, name: str) -> None:
        self.all, self._name = whole, name
        self._at = self._slow = self._read = 0
        #: Records at the top level, or in a list at the top level.
        self.records = _Records(name)
        self._tables: dict[str, _Records] = {}
        self._lists: dict[str, int] = {}

    def best(self) -> _Records:
        alone = self.records
        if alone.number > 1 or (alone.geo and not alone.left):
            return alone
        if not self._tables and self._lists:
            held = [f'"{shown(key)}" with {many:,} values' for key, many in self._lists.items()]
            raise InputError(
                f"{shown(self._name)} holds no table, but {' and '.join(held[:2])}: give lists "
                "of the same length, or a list that contains an object for each record."
            )
        sizes = {
            place: (one.rank >= 0, one.number, one.rank) for place, one in self._tables.items()
        }
        if not sizes:
            return alone
        *others, largest = sorted(sizes, key=sizes.__getitem__)
        found = self._tables[largest]
        if alike := [place.strip("/") for place in others if sizes[place] == sizes[largest]]:
            what = f"The table {listed([largest.strip('/')])} is read"
            found.notes += (f"{what}; tables of equal size are left out: {listed(alike)}.",)
        return found

    def next(self) -> str:
        self._at = _SPACE.match(self.all, self._at).end()  # type: ignore[union-attr]
        return self.all[self._at : self._at + 1]

    def walk(self, place: str = "", deep: int = 0) -> Any:
        """Decode the next value; return a table or an array instead of a list."""
        sign = self.next()
        if deep > _DEEPEST or sign not in ("[", "{") or place.endswith(("/coordinates", "/bbox")):
            return self._value()
        self._take(sign)
        if sign == "[":
            return self._listed(self._values("]", place, deep), place)
        found: dict[str, Any] = {}
        more = self.next() != "}"
        while more:
            key = self._key()
            found[key] = self.walk(f"{place}/{key}", deep + 1)
            more = self._is_more()
            if len(found) == MAX_COLUMNS and more and type(found[key]) in (dict, list, *_TYPES):
                return self._listed(chain(found.values(), self._values("}")), place)
        self._take("}")
        self._look_at(found, place)
        return found

    def _look_at(self, found: dict[str, Any], place: str) -> None:
        columns: dict[str, Any] = {}
        for key, held in found.items():
            if isinstance(held, _Records):
                held.around = found
            elif isinstance(held, list | pa.ChunkedArray):
                columns[key] = held
                self._lists |= {} if "[" in place or len(held) < 2 else {key: len(held)}
            elif isinstance(held, dict) and held and all(map(str.isdecimal, held)):
                columns[key] = [*held.values()]
        sizes = [len(one) for one in columns.values()]
        usual = max(sizes, key=sizes.count, default=0)
        some = {key: one for key, one in columns.items() if len(one) == usual}
        is_rows = len(some) >= _ROWS and usual < 4 and len(some) == len(found)
        points = found.get("coordinates") if "type" not in found else None
        records = _Records(self._name, -1 if some == {} else 0)
        if isinstance(points, list) and isinstance(points[0] if points else 0, list):
            records.add_all(points)
        elif len(some) > 1 and not is_rows:
            records.hold(some, [key for key in columns if key not in some])
        elif is_rows or (len(found) > 1 and {*map(type, found.values())} == {dict}):
            records.add_all(found.values())
        if records.number:
            self._tables[f"{place}/"] = records

    def _listed(self, values: Iterator[Any], place: str) -> Any:
        """A table of objects or lists; for other values a list, or an array if the list is long."""
        first = next(values, self)
        if first is self:
            return []
        values = chain([first], values)
        if isinstance(first, dict | list | _Records) or not place:
            records = (
                self._tables.setdefault(place, _Records(self._name)) if place else self.records
            )
            records.add_all([one] if isinstance(one, _Records) else one for one in values)
            if records.number > 1:  # the first value may have looked like a table
                keys = [key for key in self._tables if key.startswith(f"{place}[")]
                deque(map(self._tables.pop, keys), maxlen=0)
            return records
        chunks: list[pa.Array] = []
        while some := [*islice(values, _BATCH)]:
            if not chunks and len(some) < _BATCH:
                return some
            chunks.append(_array(some))
        return _united(chunks)

    def _values(self, close: str, place: str = "", deep: int = 0) -> Iterator[Any]:
        """Values up to the end of a list or object; only a list's first value may have tables."""
        more, is_first, between = self.next() != close, close == "]", ""
        while more:
            many = self._together(close, between)
            self._read += len(many) or 1
            if not many:
                if close == "}":
                    self._key()
                many = [self.walk(f"{place}[", deep + 1) if is_first else self._value()]
            if self._read % _BATCH < len(many):
                passed(self._at, len(self.all))
            yield from many
            end, is_first = self._at, False
            more = self._is_more()
            self.next()
            # The text between two values, with one character before it and one after it.
            edge = self.all[end - 1] in '}]"'
            between = self.all[end - edge : self._at + edge]
        self._take(close)

    def _together(self, close: str, between: str) -> list[Any]:
        if not between or self._at < self._slow:
            return []
        end = self.all.rfind(between, self._at, self._at + _WINDOW)
        some = self.all[self._at : max(end, self._at) + (between[0] in '}]"')]
        try:
            found = _DECODER.decode(f"[{some}]" if close == "]" else f"{{{some}}}")
        except (ValueError, RecursionError):
            found = []
        if not found:
            self._slow = self._at + _WINDOW
            return []
        self._at += len(some)
        return [*found.values()] if close == "}" else found

    def _value(self) -> Any:
        self.next()
        try:
            found, self._at = _DECODER.raw_decode(self.all, self._at)
        except RecursionError:
            raise self._wrong("is nested too deep") from None
        except ValueError as error:
            self._at = getattr(error, "pos", self._at)
            raise self._wrong() from None
        return found

    def _key(self) -> str:
        key = str(self._value())
        self._take(":")
        return key

    def _is_more(self) -> bool:
        is_more = self.next() == ","
        self._at += is_more
        return is_more

    def _take(self, sign: str) -> None:
        if self.next() != sign:
            raise self._wrong()
        self._at += 1

    def _wrong(self, what: str = "is not JSON") -> InputError:
        at = f"record {max(self._read, 1):,}, line {self.all.count(chr(10), 0, self._at) + 1:,},"
        if not self.next():
            at, what = f"it ends within {at[:-1]}", "and is cut off"
        return InputError(
            f"{shown(self._name)} can't be read: {at} {what}. Save or transfer it again."
        )


class _Records:
    """Collects records as columns. For GeoJSON, the first columns are longitude and latitude."""

    def __init__(self, name: str, rank: int = 0) -> None:
        self._name, self.number, self.rank = name, 0, rank
        self.is_rows = self.geo = self._several = False
        #: The object that contains the list, perhaps with column names or a reference system.
        self.around: dict[str, Any] = {}
        self._batch: list[dict[Any, Any]] = []
        self._chunks: list[tuple[int, dict[Any, pa.Array]]] = []
        self._columns: dict[Any, None] = {}
        self._numbers = array("q")
        #: Records left out: their numbers, the first record, and the number of unreadable records.
        self.left, self._first, self._unread = array("q"), None, 0
        #: Usual length of lists; other lengths by number of the record; lengths of named lists.
        self._width, self._ragged, self._widths = 0, dict[int, int](), dict[Any, int]()
        self._lists: dict[str, None] = {}
        self.notes: tuple[str, ...] = ()

    def hold(self, columns: dict[str, Any], gone: list[str]) -> None:
        """Use columns of the same length; a note names the columns ``gone`` that are left out."""
        made = {
            key: one if isinstance(one, pa.ChunkedArray) else pa.chunked_array([_array(one)])
            for key, one in columns.items()
        }
        check_width(len(made), self._name)
        self.number, self.rank = len(next(iter(made.values()))), 1
        self._chunks, self._columns = [(self.number, made)], dict.fromkeys(made)
        self._numbers = array("q", range(1, self.number + 1))
        if gone:
            self.notes = (f"Columns of other lengths are left out: {listed(gone)}.",)

    def add_all(self, records: Iterable[Any]) -> None:
        for record in records:
            self.add(record)

    def add(self, record: Any) -> None:
        kind = record.get("type") if isinstance(record, dict) else None
        self.number += 1
        if self.number == 1:
            self.is_rows = isinstance(record, list)
            self.rank = 2 if self.is_rows else self.rank
            held = {"geometry", "coordinates", "geometries"} & {*record} if kind else None
            self.geo = kind in ("Feature", "Point", "MultiPoint", *_SHAPES) and bool(held)
        rows = [record] if isinstance(record, dict) else []
        if self.geo:
            rows, record = _features(record)
        elif self.is_rows and isinstance(record, list):
            rows = [dict(enumerate(record))]
        if not rows:
            self._first = self._first or record
            self.left.append(self.number)
            self._unread += record not in _SHAPES
        self._several |= len(rows) > 1
        for row in rows:
            self._numbers.append(self.number)
            is_flat = _PLAIN.issuperset(map(type, row.values()))
            self._batch.append(row if is_flat else dict(self._flat(row)))
        if len(self._batch) >= _BATCH:
            self._flush()

    def _flat(
        self, record: dict[Any, Any], before: str = "", deep: int = 0
    ) -> Iterator[tuple[Any, Any]]:
        """Members of a record; nested members are named "outer.inner", and places become text."""
        for key, value in record.items():
            name, place, width = f"{before}{key}" if before else key, None, -1
            if isinstance(value, dict) and value.get("type") == "Point":
                place = _pair(value.get("coordinates"))
            elif isinstance(value, list) and {*map(type, value)} <= {int, float}:
                width = self._widths.setdefault(name, len(value))
            if place is not None:
                yield name, f'{{"type": "Point", "coordinates": [{place[0]}, {place[1]}]}}'
            elif isinstance(value, dict) and deep < _DEEPEST:
                yield from self._flat(value, f"{name}.", deep + 1)
            elif type(value) in _TYPES:
                yield name, value
            elif width in (2, 3) and width == len(value):
                yield from ((f"{name}.{at}", one) for at, one in enumerate(value, 1))
            else:
                self._lists[str(name)] = None

    def _flush(self) -> None:
        if self.is_rows and self._batch:
            sizes = [len(row) for row in self._batch]
            self._width = self._width or max({*sizes}, key=sizes.count)
            before = len(self._numbers) - len(sizes)
            for at in reversed([at for at, size in enumerate(sizes) if size != self._width]):
                self._ragged[self._numbers.pop(before + at)] = len(self._batch.pop(at))
        for record in self._batch:
            self._columns.update(dict.fromkeys(record))
        check_width(len(self._columns), self._name)
        made = {key: _array([one.get(key) for one in self._batch]) for key in self._columns}
        self._chunks.append((len(self._batch), made))
        self._batch = []

    def rows(self, notes: tuple[str, ...]) -> Rows:
        self._flush()
        what, kept = "feature" if self.geo else "record", len(self._numbers)
        notes += self.notes + ((SEVERAL,) if self._several else ())
        if self.left:
            first, is_ = f"{what} {self.left[0]:,}", "not a point" if self.geo else "not an object"
            if not kept or self._unread > FEW * kept:
                way = f"give points, or {ONLY_POINTS}" if self.geo else "give objects."
                raise InputError(
                    f'{first} of {shown(self._name)} is {is_}, but "{shown(self._first)}": {way}'
                )
            many = counted(len(self.left), what)
            notes += (f"Each {what} that is {is_} is left out: {many}, the first is {first}.",)
        if not self._columns:
            held, each = "no records", "JSON with a list of objects, one object a line, or GeoJSON"
            if self._lists:
                held = "lists of lists" if self.is_rows else f"only lists, {listed(self._lists)}"
                held += ", in its records"
                each = "one list of numbers, or one object, for each"
            raise InputError(f"{shown(self._name)} holds {held}: give {each}.")
        if self._lists:
            notes += (f"Columns with lists or objects are left out: {listed(self._lists)}.",)
        columns = [
            _united([made.get(key, pa.nulls(many)) for many, made in self._chunks])
            for key in self._columns
        ]
        names = [str(key) for key in self._columns]
        if self.is_rows:
            labels = [self.around.get("columns"), *self.around.values()]
            fits = (
                one for one in labels
                if isinstance(one, list) and len(one) == len(names) and {*map(type, one)} == {str}
            )  # fmt: skip
            names = next(fits, [])
        elif self.geo:
            points = np.stack([one.cast(pa.float64()).to_numpy() for one in columns[:2]], axis=1)
            crs = self.around.get("crs")
            if isinstance(crs, dict) and isinstance(crs := crs.get("properties"), dict):
                crs = crs.get("name", crs.get("code"))
            place, more = axes(points, str(crs or ""), bool(_GEOGRAPHIC.search(str(crs))))
            columns[:2] = [pa.chunked_array([one]) for one in points.T]
            names, notes = [*place, *names[2:]], notes + more
        odd = sorted(self._ragged.items())
        cells = f" where most have {self._width:,}"
        first_odd = tuple((row, "", counted(size, "cell") + cells) for row, size in odd[:NAMED])
        found = np.frombuffer(self._numbers, dtype=np.int64)
        ragged = NamedRows(rows=len(odd), first=first_odd)
        return Rows(columns=columns, names=names or None, numbers=lambda: found, notes=notes,
                    ragged=ragged, written=bool(names))  # fmt: skip


def axes(points: Floats, crs: str, geographic: bool) -> tuple[tuple[str, str], tuple[str, ...]]:
    """Names of the coordinates (n, 2), and a sentence if they are not degrees."""
    if (geographic or not crs) and is_degrees(points[np.isfinite(points).all(axis=1)]):
        return ("lon", "lat"), ()
    said = f"those of {shown(crs)}" if crs else "too large for degrees"
    said = f"The coordinates are {said}, so the columns are x and y, not lon and lat."
    return ("x", "y"), (said,)


def _features(item: Any) -> tuple[list[dict[Any, Any]], Any]:
    """Rows of a GeoJSON feature with coordinates at keys 0 and 1; then the feature or its shape."""
    shape, named = item, None
    if isinstance(item, dict) and item.get("type") == "Feature":
        shape = item.get("geometry") or {"type": "Point", "coordinates": []}
        named = item.get("properties")
    shape = shape if isinstance(shape, dict) else {}
    kind, place = shape.get("type"), shape.get("coordinates")
    if kind not in ("Point", "MultiPoint"):
        return [], kind if kind in _SHAPES else item
    pairs = [_pair(one) for one in (place if kind == "MultiPoint" and place else [place])]
    named = named if isinstance(named, dict) else {}  # property names are never numbers
    rows = [{0: pair[0], 1: pair[1], **named} for pair in pairs if pair]
    return (rows, item) if len(rows) == len(pairs) else ([], item)


def _pair(place: Any) -> tuple[float, float] | None:
    two = (place or [math.nan] * 2)[:2] if isinstance(place, list) else []
    fine = [float(one) for one in two if type(one) in (int, float) and not abs(one) > 1e300]
    return (fine[0], fine[1]) if len(fine) == 2 else None


def _array(values: list[Any]) -> pa.Array:
    """Array with the Arrow type of the values, or of text if types differ; NaN means missing."""
    kinds = {*map(type, values)} - {type(None)}
    try:
        if kinds == {int, float}:
            values, kinds = [one if one is None else float(one) for one in values], {float}
        if len(kinds) < 2:
            kind = getattr(pa, _TYPES[kinds.pop() if kinds else type(None)])()
            return pa.array(values, kind, from_pandas=True)
    except (KeyError, OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        pass  # keeps the digits of a long number
    values = [None if one != one else one for one in values]
    texts = [one if type(one) in (str, type(None)) else json.dumps(one) for one in values]
    texts = [one and one.encode(errors="replace").decode() for one in texts]
    return pa.array(texts, pa.large_string())


def _united(parts: Sequence[pa.Array | pa.ChunkedArray]) -> pa.ChunkedArray:
    chunks = [one for part in parts for one in getattr(part, "chunks", [part])]
    kinds = {one.type for one in chunks} - {pa.null()}
    kind = pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.large_string()
    kind = kind if len(kinds) > 1 else next(iter(kinds), pa.null())
    return pa.chunked_array([one.cast(kind, safe=False) for one in chunks], kind)

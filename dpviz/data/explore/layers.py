"""Read points of geographic files (shapefile, GPKG, FlatGeobuf, KML, GPX, GML) with GDAL.

Some formats of GDAL can refer to other files and addresses. So :func:`_checked` checks the bytes
first. GDAL reads them from memory, and gets only simple formats that can't refer to a file.
"""

from __future__ import annotations

import io
import json
import posixpath
import re
import sqlite3
import struct
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import numpy as np
import pyogrio  # type: ignore[import-untyped]
import pyogrio.raw  # type: ignore[import-untyped]
import shapely
from numpy.typing import NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.data.explore.archive import member, members
from dpviz.data.explore.objects import ONLY_POINTS, SEVERAL, axes
from dpviz.data.explore.rows import Options, Rows
from dpviz.data.reading.cells import check_width, text_cells
from dpviz.data.reading.files import ZIP, File, refusing

_MAIN = (".shp", ".kml", ".gpkg", ".gpx", ".gml", ".fgb")

#: Drivers that may read a file. Another driver would interpret the bytes as another format.
_DRIVERS = {"ESRI Shapefile", "LIBKML", "KML", "GPKG", "SQLite", "GPX", "GML", "FlatGeobuf"}

#: Start of XML files with places, but without the elements in which GDAL follows references.
_XML = re.compile(
    r"(?!.*<(OGR|GDAL|VRT|WMS|WFS|WCS))(<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>[]*>|\s)*<(\w+:)?"
    r"(gpx|kml|FeatureCollection|Placemark|Document|Folder)\b", re.DOTALL,
)  # fmt: skip

#: Virtual tables that may refer to files; the excluded modules belong to SQLite and are safe.
_VIRTUAL = re.compile(r"create\s+virtual\s+table.*?using\s+(?!rtree\b|fts[345]\b)\w", re.I | re.S)

#: GDAL options that forbid other files and addresses.
_ALONE = {
    "CPL_VSIL_CURL_ALLOWED_FILENAME": "none", "GDAL_HTTP_PROXY": "127.0.0.1:9",
    "GML_SKIP_RESOLVE_ELEMS": "ALL", "OGR_SQLITE_ALLOW_EXTERNAL_ACCESS": "NO",
    "LIBKML_RESOLVE_STYLE": "NO",
}  # fmt: skip

_BESIDE = (".shp", ".dbf", ".prj", ".cpg")

#: Columns that every KML file has, and that contain no information.
_STYLE = {"tessellate", "extrude", "visibility", "drawOrder", "altitudeMode", "icon"}

_DAMAGED = (
    "is damaged, incomplete, or not a file of places that can be read here: save it again with all "
    "its parts, or save its points as GeoJSON or CSV."
)


def read_layer(file: File, options: Options) -> Rows:
    """Read a layer of points, coordinates first; InputError if the user must choose a layer."""
    name = file.name
    whole, layers = _opened(file.data, name, options.part)
    layer = options.part if options.part in layers else layers[0]
    if len(layers) > 1 and options.part not in layers:
        said = f"{len(layers)} layers of points, {listed(layers)}"
        raise InputError(f"{shown(name)} holds {said}: name a layer (--layer on the command line).")
    opened = pyogrio.raw.open_arrow(whole, layer=layer, use_pyarrow=True)
    with _by_gdal(name), opened as (facts, reader):
        check_width(len(reader.schema), name)
        place = facts["geometry_name"] or "wkb_geometry"
        told = (reader.schema.field(place).metadata or {}).get(b"ARROW:extension:metadata")
        points, numbers, batches, left = _points(reader, place)
    if not len(points):
        raise _unread(name, f"holds no points: {ONLY_POINTS}")
    table = pa.Table.from_batches(batches)
    if whole[:64].decode("utf-8-sig", "ignore").lstrip().startswith("<"):
        # XML always has the columns of its format.
        named = enumerate(table.column_names)
        used = [at for at, one in named if one not in _STYLE and table[at].null_count < len(table)]
        table = table.select(used)
    crs = json.loads(told or "{}").get("crs") or {}
    crs = crs.get("source_crs", crs)
    crs = (crs.get("components") or [crs])[0]  # the second component is the height
    names, notes = axes(points, crs.get("name", ""), crs.get("type", "")[:3] == "Geo")
    if left:
        notes += (f"Each feature that is not a point is left out: {counted(left, 'feature')}.",)
    notes += (SEVERAL,) if len(np.unique(numbers)) < len(numbers) else ()
    columns = [*(pa.chunked_array([one]) for one in points.T), *map(_in_unicode, table.columns)]
    return Rows(columns=columns, names=[*names, *table.column_names], numbers=lambda: numbers,
                notes=notes, written=True)  # fmt: skip


def _in_unicode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return pa.chunked_array([text_cells(one) for one in column.chunks])
    return column


def layer_names(file: File) -> tuple[str, ...]:
    """Names from which the user chooses: layers with points, or files in an archive."""
    mains = _mains(file.data, file.name) if file.data.startswith(ZIP) else []
    return tuple(mains if len(mains) > 1 else _opened(file.data, file.name, None)[1])


def _opened(data: bytes, name: str, part: str | None) -> tuple[bytes, list[str]]:
    if not data.startswith(ZIP):
        return _layers(_checked(data, name), name, len(data))
    try:
        return _layers(_unpacked(data, name, part, _BESIDE), name, len(data))
    except InputError:  # the reference system may be unknown
        parts = (".shp", ".dbf", ".cpg")
        return _layers(_unpacked(data, name, part, parts), name, len(data))


def _layers(whole: bytes, name: str, size: int) -> tuple[bytes, list[str]]:
    """The same bytes, and names of layers that may contain points; ``size`` is the file size."""
    # GDAL keeps a KML file in memory. Refuse files that need over 4 times their size + 1 GB.
    parts = {b"<": 90, b"<Placemark": 400, b"": 5}  # measured bytes per occurrence
    is_kml = re.search(rb"<(\w+:)?kml\b", whole[:4096])
    needed = sum(whole.count(part) * many for part, many in parts.items()) if is_kml else 0
    if needed + 2**27 > 4 * size + 2**30:
        raise _unread(name, "is too large to read as KML: save its points as GeoJSON or CSV.")
    with _by_gdal(name):
        kinds = dict(pyogrio.list_layers(whole).tolist())
        shapes = ("Point", "Unknown", "GeometryCollection")
        some = [one for one, kind in kinds.items() if kind and any(map(kind.count, shapes))]
        facts = [pyogrio.read_info(whole, layer=one, force_feature_count=True) for one in some[:9]]
        if any(one["driver"] not in _DRIVERS for one in facts):
            raise _unread(name)
        # GPX has five layers, and most of them are empty.
        some = [one["layer_name"] for one in facts if one["features"]] + some[9:] or some[:1]
    if not some:
        held = listed(sorted(set(map(str, kinds.values()))))
        but = f", but {held}" if held else ""
        raise _unread(name, f"holds no points{but}: {ONLY_POINTS}")
    return whole, some


def _checked(data: bytes, name: str) -> bytes:
    """Check that GDAL may read the format, and that nothing refers to a file or an address."""
    if data.startswith(b"fgb\x03fgb"):
        return data
    if data.startswith(b"SQLite format 3\0"):
        wrong = (sqlite3.Error, UnicodeError, OverflowError)
        with suppress(*wrong), closing(sqlite3.connect(":memory:")) as base:
            base.deserialize(data)
            made = base.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            if not any(_VIRTUAL.search(str(sql)) for (sql,) in made):
                return data
    elif _XML.match(data[: 2**16].decode("utf-8-sig", "ignore")):
        return data.replace(b"schemaLocation", b"schemaWhatever")  # the same length
    raise _unread(name)


def _mains(data: bytes, name: str) -> list[str]:
    names = [one for one in members(data, name) if "__MACOSX" not in one]
    mains = [one for one in names if one.lower().endswith(_MAIN)]
    if len(mains) > 1 and all(one.lower().endswith(".kml") for one in mains):
        # The first KML file in a KMZ archive may contain only references to the other KML files.
        mains = [one for one in mains if b"<Point" in member(data, name, one)] or mains
    return mains


def _unpacked(data: bytes, name: str, part: str | None, kept: tuple[str, ...]) -> bytes:
    """The chosen file of an archive; for a shapefile, a new archive that contains all its parts."""
    mains = _mains(data, name)
    chosen = [part] if part in mains else mains
    if len(chosen) != 1:
        said = f"{len(chosen):,} files of places, {listed(chosen)}" if chosen else "no place"
        raise InputError(f"{shown(name)} holds {said}: give or name one file of places.")
    stem, ending = posixpath.splitext(chosen[0])
    if ending.lower() != ".shp":
        return _checked(member(data, name, chosen[0]), name)
    known = {one.lower(): one for one in members(data, name)}
    beside = {one: known.get((stem + one).lower()) for one in kept}
    parts = {one: member(data, name, held) for one, held in beside.items() if held}
    parts[".shx"] = _index(parts[".shp"], parts.get(".dbf"), name)
    with zipfile.ZipFile(made := io.BytesIO(), "w") as packed:
        for one, held in parts.items():
            packed.writestr(f"layer{one}", held)
    return made.getvalue()


def _index(shapes: bytes, table: bytes | None, name: str) -> bytes:
    """Index of the record positions in a shapefile, whose own .shx may be missing or invalid."""
    found, place = bytearray(shapes[:100]), 100
    while place < len(shapes):
        words = int.from_bytes(shapes[place + 4 : place + 8], "big")
        found += struct.pack(">II", place // 2, words)
        place += 8 + 2 * words
    records = len(found) // 8 - 12
    if place != len(shapes) or (table and int.from_bytes(table[4:8], "little") != records):
        raise _unread(name)
    found[24:28] = struct.pack(">I", len(found) // 2)
    return bytes(found)


def _unread(name: str, what: str = _DAMAGED) -> InputError:
    return InputError(f"{shown(name)} {what}")


@contextmanager
def _by_gdal(name: str) -> Iterator[None]:
    pyogrio.set_gdal_config_options(_ALONE)
    wrong = (RuntimeError, OSError, ValueError, pa.ArrowException, KeyError)
    with refusing(str(_unread(name)), *wrong), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _points(reader: Any, place: str) -> tuple[NDArray[Any], NDArray[Any], list[Any], int]:
    """Points (n, 2), their feature numbers, batches of rows, number of features left out."""
    points, numbers, batches = [np.empty((0, 2))], [np.empty(0, np.int64)], []
    left = start = 0
    for batch in reader:
        cells = batch.column(place).to_numpy(zero_copy_only=False)
        shapes = np.asarray(shapely.from_wkb(cells, on_invalid="ignore"), dtype=object)
        shapes[shapely.get_num_coordinates(shapes) == 0] = shapely.Point()  # a missing point
        parts, rows = shapely.get_parts(shapes, return_index=True)
        fine = shapely.get_type_id(parts) == 0
        parts, rows = parts[fine], rows[fine]
        found, at = shapely.get_coordinates(parts, return_index=True)
        points.append(np.full((len(parts), 2), np.nan))
        points[-1][at] = found
        numbers.append(rows + start + 1)
        batches.append(batch.drop_columns([place]).take(pa.array(rows)))
        left += len(batch) - len(np.unique(rows))
        start += len(batch)
    return np.concatenate(points), np.concatenate(numbers), batches, left

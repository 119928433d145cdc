"""The kinds of files that tables are read from: the one list for reader, screen, help and names."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

#: How the bytes of a file are stored.
Format: TypeAlias = Literal[
    "text", "json", "sheet", "layer", "parquet", "feather", "npy", "npz", "zip"
]


class Kind(NamedTuple):
    """Files of one kind."""

    title: str  # for people
    format: Format
    endings: tuple[str, ...]
    part: str = ""  # name of a table in a file that may hold several
    typed: bool = False  # whether columns have types: no lines, names or units are guessed


KINDS = (
    Kind("CSV", "text", (".csv", ".txt", ".dat", ".asc")),
    Kind("TSV", "text", (".tsv", ".tab")),
    Kind("Parquet", "parquet", (".parquet", ".pq", ".geoparquet"), typed=True),
    Kind("Excel", "sheet", (".xlsx", ".xlsm", ".xlsb", ".xls"), "Sheet"),
    Kind("OpenDocument", "sheet", (".ods",), "Sheet"),
    Kind("GeoJSON", "json", (".geojson", ".geojsonl", ".geojsons")),
    Kind("JSON", "json", (".json", ".jsonl", ".ndjson")),
    Kind("GPX", "layer", (".gpx",), "Layer"),
    Kind("KML", "layer", (".kml", ".kmz"), "Layer"),
    Kind("GeoPackage", "layer", (".gpkg",), "Layer"),
    Kind("FlatGeobuf", "layer", (".fgb",), "Layer"),
    Kind("GML", "layer", (".gml",), "Layer"),
    Kind("zipped shapefile", "layer", (".shz",), "Layer"),
    Kind("Feather", "feather", (".feather", ".arrow", ".ipc"), typed=True),
    Kind("NumPy", "npy", (".npy",), typed=True),
    Kind("NumPy", "npz", (".npz",), "Array", typed=True),
    Kind("zip archive of one of these", "zip", (".zip",), "File"),
)

#: Format by the ending of the file's name.
FORMATS: dict[str, Format] = {ending: one.format for one in KINDS for ending in one.endings}

#: What a person chooses in a file of several tables, by its format.
PARTS: dict[Format, str] = {one.format: one.part for one in KINDS if one.part}

#: Formats whose columns have types.
TYPED = frozenset(one.format for one in KINDS if one.typed)

#: Endings of packed files: the ending before tells the format.
PACKINGS = (".gz", ".bz2", ".xz")

_TITLES = list(dict.fromkeys(one.title for one in KINDS))

#: The same list in words.
ACCEPTED = f"{', '.join(_TITLES[:-1])} or {_TITLES[-1]}; also .gz, .bz2 and .xz"


def format_of(name: str) -> Format | None:
    """Format of a file by the endings of its name, the one before that of a packing; else None."""
    low = name.lower()
    for packing in PACKINGS:
        low = low.removesuffix(packing)
    return FORMATS.get(low[low.rfind(".") :] if "." in low else "")


#: What a release reads, in which no record may change how another one is read.
RELEASED: frozenset[Format] = frozenset(("text", "parquet", "npy"))

"""The kinds of files with tables: one list for the reader, the screen, help texts and names."""

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

#: Maps the ending of a file name to the format.
FORMATS: dict[str, Format] = {ending: one.format for one in KINDS for ending in one.endings}

#: Maps a format with several tables per file to the word for a single table, such as "sheet".
PARTS: dict[Format, str] = {one.format: one.part for one in KINDS if one.part}

#: Formats whose columns have types.
TYPED = frozenset(one.format for one in KINDS if one.typed)

#: Endings of compressed files; the ending before it gives the format, such as .csv in .csv.gz.
PACKINGS = (".gz", ".bz2", ".xz")

_TITLES = list(dict.fromkeys(one.title for one in KINDS))

#: Text that lists the accepted kinds of files.
ACCEPTED = f"{', '.join(_TITLES[:-1])} or {_TITLES[-1]}; also .gz, .bz2 and .xz"


def format_of(name: str) -> Format | None:
    """Format of a file by the ending of its name (without ".gz" and the like); None if unknown."""
    low = name.lower()
    for packing in PACKINGS:
        low = low.removesuffix(packing)
    return FORMATS.get(low[low.rfind(".") :] if "." in low else "")


#: Formats that a release reads: in these formats, no record changes how another record is read.
RELEASED: frozenset[Format] = frozenset(("text", "parquet", "npy"))

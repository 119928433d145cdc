"""The kinds of files with tables: one list for the reader, the screen, help texts and names."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: How the bytes of a file are stored.
Format: TypeAlias = Literal[
    "text", "json", "sheet", "layer", "parquet", "feather", "npy", "npz", "zip"
]

#: For each kind of file: its name for people, its format and its endings.
KINDS: tuple[tuple[str, Format, tuple[str, ...]], ...] = (
    ("CSV", "text", (".csv", ".txt", ".dat", ".asc")),
    ("TSV", "text", (".tsv", ".tab")),
    ("Parquet", "parquet", (".parquet", ".pq", ".geoparquet")),
    ("Excel", "sheet", (".xlsx", ".xlsm", ".xlsb", ".xls")),
    ("OpenDocument", "sheet", (".ods",)),
    ("GeoJSON", "json", (".geojson", ".geojsonl", ".geojsons")),
    ("JSON", "json", (".json", ".jsonl", ".ndjson")),
    ("GPX", "layer", (".gpx",)),
    ("KML", "layer", (".kml", ".kmz")),
    ("GeoPackage", "layer", (".gpkg",)),
    ("FlatGeobuf", "layer", (".fgb",)),
    ("GML", "layer", (".gml",)),
    ("zipped shapefile", "layer", (".shz",)),
    ("Feather", "feather", (".feather", ".arrow", ".ipc")),
    ("NumPy", "npy", (".npy",)),
    ("NumPy", "npz", (".npz",)),
    ("zip archive of one of these", "zip", (".zip",)),
)

#: Maps the ending of a file name to the format.
FORMATS: dict[str, Format] = {ending: form for _, form, all_ in KINDS for ending in all_}

#: Endings of packed files; the ending before it gives the format.
PACKINGS = (".gz", ".bz2", ".xz")

_TITLES = list(dict.fromkeys(title for title, _, _ in KINDS))

#: The accepted kinds of files in words.
ACCEPTED = f"{', '.join(_TITLES[:-1])} or {_TITLES[-1]}; also .gz, .bz2 and .xz"


def format_of(name: str) -> Format | None:
    """Format of a file by the ending of its name (without ".gz" and the like); None if unknown."""
    low = name.lower()
    for packing in PACKINGS:
        low = low.removesuffix(packing)
    return FORMATS.get(low[low.rfind(".") :] if "." in low else "")


#: Formats that a release reads: in these, no record can change how another record is read.
RELEASED: frozenset[Format] = frozenset(("text", "parquet", "npy"))

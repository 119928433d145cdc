"""The kinds of files that tables are read from: the one list for reader, screen, help and names."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: How the bytes of a file are stored.
Format: TypeAlias = Literal["text", "npy", "parquet", "zip", "geojson"]

#: Names of the kinds for people, the format of each, and its endings; all may be gzipped, too.
KINDS: tuple[tuple[str, Format, tuple[str, ...]], ...] = (
    ("CSV", "text", (".csv", ".txt")),
    ("TSV", "text", (".tsv",)),
    ("Excel (.xlsx)", "zip", (".xlsx", ".xlsm")),
    ("GeoJSON of points", "geojson", (".geojson", ".json", ".geojsonl", ".ndjson")),
    ("zipped shapefile of points", "zip", (".zip",)),
    ("Parquet", "parquet", (".parquet", ".pq")),
    (".npy", "npy", (".npy",)),
)

#: Format by the ending of the file's name.
FORMATS: dict[str, Format] = {ending: form for _, form, all_ in KINDS for ending in all_}

_TITLES = [title for title, _, _ in KINDS]

#: The same list in words.
ACCEPTED = f"{', '.join(_TITLES[:-1])} or {_TITLES[-1]}, also gzipped"

"""The files of a release bundle; all of them are functions of one plain document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files as resources
from typing import Any

from dpviz.families import FAMILIES
from dpviz.family.family import Family
from dpviz.release import geojson, pictures, report
from dpviz.release.tables import (
    Document,
    axes_of,
    cells_csv,
    centers_csv,
    on_map,
    run_line,
    title,
)

#: Files that list the other files.
_LISTS = ("report.html", "README.txt")

#: Description of each file, in the order of the list.
ABOUT = {
    "report.html": "start here: the whole release on one page, for any reader",
    "README.txt": "this list",
    "release.json": "the whole release for programs; all other files are made from it",
    "release.schema.json": "what every field of release.json means (JSON Schema)",
    "cells.csv": (
        "noisy number of records and cluster of every cell of the grid; doubtful (1) if noise "
        "alone could have made the cluster"
    ),
    "centers.csv": (
        "centre of every cluster, with its noisy number of records if there is one; doubtful (1) "
        "if noise alone could have made the cluster"
    ),
    "clusters.geojson": "outlines of the clusters",
    "counts.svg": "picture: noisy number of records in every cell",
    "clusters.svg": "picture: the clusters with their numbers",
}


def files(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Make all files of a release: their contents by name.

    The document is valid for ``release.schema.json`` and serializable. The same document always
    gives the same bytes, even after it was written to ``release.json`` and read again. Raises
    ValueError if a number is NaN or infinite. Only a release with two columns has maps, and only
    cells ``counts.svg``.
    """
    text = written(document)
    document = json.loads(text)
    made = {"release.json": text, "release.schema.json": schema().decode()}
    of_cells = document["result"]["kind"] == "cells"
    if of_cells:
        made["cells.csv"] = cells_csv(document)
    else:
        made["centers.csv"] = centers_csv(document)
    if len(document["domain"]["columns"]) == 2:
        mapped = on_map(document)
        collection = geojson.clusters(mapped)
        made["clusters.geojson"] = written(geojson.published(collection, mapped))
        made["clusters.svg"] = pictures.clusters_svg(mapped, collection)
        if of_cells:
            made["counts.svg"] = pictures.counts_svg(mapped)
    names = {name: about for name, about in ABOUT.items() if name in {*made, *_LISTS}}
    if "clusters.geojson" in names:
        names["clusters.geojson"] += f". {axes_of(document)}"
    made["report.html"] = report.page(document, made, names)
    made["README.txt"] = _readme(document, names)
    # UTF-8 can't encode a lone surrogate, so its escape sequence replaces it.
    return {name: made[name].encode("utf-8", "backslashreplace") for name in names}


def schema() -> bytes:
    """JSON Schema (draft 2020-12) of the document; the families define the parameters."""
    text = resources("dpviz.release").joinpath("release.schema.json").read_text("utf-8")
    before, mark, after = text.partition('  "privacy": {\n   "description"')
    return (before + "".join(map(_family_schema, FAMILIES.values())) + mark + after).encode()


def _family_schema(family: Family) -> str:
    required = [one.name for one in family.own if family.has_everywhere(one)]
    parameters = ",\n".join(
        f"    {json.dumps(one.name)}: {json.dumps(one.schema)}" for one in family.own
    )
    return (
        f'  "{family.name}": {{\n   "type": "object",\n   "additionalProperties": false,\n'
        f'   "required": {json.dumps(required)},\n   "properties": {{\n{parameters}\n   }}\n  }},\n'
    )


def written(value: Any) -> str:
    """JSON with one key per line, and each list of numbers on one line."""
    return _written(value, "\n") + "\n"


def _written(value: Any, line: str) -> str:
    inner = line + " "
    if isinstance(value, Mapping) and value:
        parts = (f"{_plain(str(key))}: {_written(item, inner)}" for key, item in value.items())
        return "{" + inner + ("," + inner).join(parts) + line + "}"
    if isinstance(value, list | tuple) and any(
        isinstance(x, Mapping | list | tuple) for x in value
    ):
        parts = (_written(item, inner) for item in value)
        return "[" + inner + ("," + inner).join(parts) + line + "]"
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _readme(document: Document, names: Mapping[str, str]) -> str:
    width = max(map(len, names))
    listed = "\n".join(f"  {name:<{width}}  {about}" for name, about in names.items())
    return (
        f"{title(document)}\n\n"
        f"{run_line(document)}; made by dpviz {document['software']['dpviz']}.\n"
        "Every number in these files carries noise or is a public choice; the data are not "
        f"included.\n\n{listed}\n"
    )

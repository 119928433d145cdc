"""The files of a release bundle; all of them are functions of one plain document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files as resources
from typing import Any

from dpviz.base.tables import read_beside
from dpviz.families import FAMILIES
from dpviz.family.family import Family
from dpviz.release import geojson, pictures, report
from dpviz.release.package import About, checked, package, sums
from dpviz.release.tables import (
    Document,
    areas_csv,
    axes_of,
    cells_csv,
    centers_csv,
    on_map,
    run_line,
    title,
)

#: Files that list the other files.
_LISTS = ("report.html", "README.txt", "SHA256SUMS")

#: Description of each file, in the order of the list.
ABOUT: Mapping[str, str] = read_beside(__file__, Mapping[str, str])


def files(document: Mapping[str, Any], about: About | None = None) -> dict[str, bytes]:
    """Make all files of a release: their contents by name.

    The document is valid for ``release.schema.json`` and serializable; ``about`` has the owner's
    words. The same document and words always give the same bytes, even after the document was
    written to ``release.json`` and read again. Raises ValueError if a number is NaN or infinite,
    and InputError if words of the owner can't be used. Only a release with two columns has maps; a
    release of centres has no ``counts.svg``.
    """
    text = written(document)
    document = json.loads(text)
    made = {"release.json": text, "release.schema.json": schema().decode()}
    kind = document["result"]["kind"]
    tables = {"cells": cells_csv, "areas": areas_csv, "centers": centers_csv}
    made[f"{kind}.csv"] = tables[kind](document)
    if len(document["domain"]["columns"]) == 2:
        mapped = on_map(document)
        collection = geojson.clusters(mapped)
        made["clusters.geojson"] = written(geojson.published(collection, mapped))
        made["clusters.svg"] = pictures.clusters_svg(mapped, collection)
        if kind == "areas":
            made["areas.geojson"] = written(geojson.areas(document))
        if kind != "centers":
            made["counts.svg"] = pictures.counts_svg(mapped)
    described = {name: _encoded(text) for name, text in made.items()}
    made |= package(document, checked(about or {}), described)
    names = {name: about for name, about in ABOUT.items() if name in {*made, *_LISTS}}
    if kind == "areas":
        names["counts.svg"] = "picture: noisy number of records in every area"
    if "clusters.geojson" in names:
        names["clusters.geojson"] += f". {axes_of(document)}"
    made["report.html"] = report.page(document, made, names)
    made["README.txt"] = _readme(document, names)
    done = {name: _encoded(made[name]) for name in names if name in made}
    return done | {"SHA256SUMS": sums(done).encode()}


def _encoded(text: str) -> bytes:
    """Encode as UTF-8; an escape sequence replaces a lone surrogate, which UTF-8 can't encode."""
    return text.encode("utf-8", "backslashreplace")


def schema() -> bytes:
    """JSON Schema (draft 2020-12) of the document; the families define the parameters."""
    text = resources("dpviz.release").joinpath("release.schema.json").read_text("utf-8")
    before, mark, after = text.partition('  "privacy": {\n   "description"')
    return (before + "".join(map(_family_schema, FAMILIES.values())) + mark + after).encode()


def _family_schema(family: Family) -> str:
    required = [one.name for one in family.own if family.has_everywhere(one)]
    parameters = ",\n".join(f"    {_plain(one.name)}: {_plain(one.schema)}" for one in family.own)
    return (
        f'  "{family.name}": {{\n   "type": "object",\n   "additionalProperties": false,\n'
        f'   "required": {_plain(required)},\n   "properties": {{\n{parameters}\n   }}\n  }},\n'
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

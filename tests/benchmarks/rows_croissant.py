"""Croissant description of the benchmark's raw rows, so that others can cite and check a version.

``python -m tests.benchmarks.rows_croissant`` writes ``rows.croissant.json`` beside the rows, after
``bench_utility --publish`` or new rows of peers. The version is that of dpviz; the hashes tell two
states of the rows apart.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import dpviz
from dpviz.families import score_of
from dpviz.release import package

FOLDER = Path(__file__).parent

FILE = FOLDER / "rows.croissant.json"

#: Files of rows, and what they have.
ROWS = {
    "utility_rows.parquet": "Draws of all private methods, and of peers: a row for each seed.",
    "peers_rows.parquet": "Draws of peers that have no rows on all sets, and draws that explain "
    "losses: DPLloyd with hardly any noise (epsilon 100,000), DP-Refine without some parts.",
}

KEYS = {
    "data": "name of the data set (tests/benchmarks/sets.toml)",
    "method": "name of the method or peer",
    "variant": "sound, or published as in the paper",
    "epsilon": "privacy budget of the draw",
    "seed": "seed of the noise",
}


def described() -> dict[str, Any]:
    """The description: files with hashes, and columns with types and meaning."""
    context = Path(package.__file__).with_name("templates") / "croissant.json"
    return {
        **json.loads(context.read_text(encoding="utf-8")),
        "name": "dpviz-benchmark-rows",
        "description": "Scores of differentially private clustering methods, a row for each draw.",
        "license": "https://www.apache.org/licenses/LICENSE-2.0",
        "version": dpviz.__version__,
        "datePublished": "2026-11-28",
        "creator": [{"@type": "Organization", "name": "dpviz"}],
        "citeAs": f"dpviz {dpviz.__version__}, raw rows of its benchmark.",
        "distribution": [_file(name, about) for name, about in ROWS.items()],
        "recordSet": [_records(name) for name in ROWS],
    }


def _file(name: str, about: str) -> dict[str, Any]:
    content = (FOLDER / name).read_bytes()
    return {
        "@type": "cr:FileObject", "@id": name, "name": name, "description": about,
        "contentUrl": name, "contentSize": f"{len(content)} B",
        "encodingFormat": "application/x-parquet", "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


def _records(name: str) -> dict[str, Any]:
    stem = name.partition(".")[0]
    fields = [
        {
            "@type": "cr:Field", "@id": f"{stem}/{one.name}", "name": one.name,
            "description": KEYS.get(one.name) or f"score: {score_of(one.name).title}",
            "dataType": _type(one.type),
            "source": {"fileObject": {"@id": name}, "extract": {"column": one.name}},
        }
        for one in parquet.read_schema(FOLDER / name)
    ]  # fmt: skip
    return {"@type": "cr:RecordSet", "@id": stem, "name": stem, "field": fields}


def _type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"


if __name__ == "__main__":
    text = json.dumps(described(), ensure_ascii=False, indent=1)
    FILE.write_text(f"{text}\n", encoding="utf-8")

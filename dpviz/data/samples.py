"""The sample sets: names, descriptions and points."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Classes, Dataset
from dpviz.grid.domain import Domain

#: Folder of the files and their index: inside an installed package, or beside it in a checkout.
SAMPLE_DIR = Path(__file__).resolve().parents[1] / "sample_data"
if not SAMPLE_DIR.is_dir():
    SAMPLE_DIR = SAMPLE_DIR.parents[1] / "sample_data"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Description of a sample set, without its points."""

    name: str  # short key for links and the command line
    file: str  # file name in ``sample_data``
    title: str
    description: str
    columns: tuple[str, ...]  # one per axis
    n: int
    domain: Domain  # in the units of the columns
    #: Cells per axis and p with which WaveCluster separates the clusters, and their number.
    grid: int
    density: float
    clusters: int
    licence: str  # SPDX identifier
    credit: str  # source of the set or of its idea
    classes: str | None = None  # column with the known class of each point
    person: int | None = None  # position from 0 of the single record that joins two clusters


def sample_names() -> tuple[str, ...]:
    """Keys of the sample sets, in the order in which they are shown."""
    return tuple(_index())


def sample(name: str) -> Sample:
    """Return the description of a sample set; InputError if its name is unknown."""
    if name not in _index():
        raise InputError(
            f'sample set "{shown(name)}" does not exist: choose from {", ".join(sample_names())}.'
        )
    return _index()[name]


def load_sample(name: str) -> Dataset:
    """Read the points (n, 2) of a sample set, with its columns, domain and known classes.

    Raises InputError if the name is unknown.
    """
    described = sample(name)
    path = SAMPLE_DIR / described.file
    table = pq.read_table(path) if path.suffix == ".parquet" else pa.csv.read_csv(path)
    # Make one array of floats that are exactly the values of the file.
    columns = [table[column].to_numpy() for column in described.columns]
    return Dataset(
        name=described.name,
        points=np.column_stack(columns).astype(np.float64, copy=False),
        columns=described.columns,
        domain=described.domain,
        classes=_classes(described.classes, table),
    )


def _classes(column: str | None, table: pa.Table) -> Classes | None:
    if column is None:
        return None
    found = table[column].combine_chunks().dictionary_encode()
    codes = found.indices.to_numpy().astype(np.intp)
    return Classes(column=column, names=tuple(found.dictionary.to_pylist()), codes=codes)


@cache
def _index() -> dict[str, Sample]:
    try:
        text = (SAMPLE_DIR / "index.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"the sample sets are missing: {SAMPLE_DIR} has no index.json; install dpviz again."
        ) from None
    return {
        entry["name"]: Sample(
            **entry
            | {
                "columns": tuple(entry["columns"]),
                "domain": Domain(tuple((low, high) for low, high in entry["domain"])),
            }
        )
        for entry in json.loads(text)["samples"]
    }

"""The sample sets: names, descriptions and points."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Classes, Dataset
from dpviz.grid.domain import Domain

#: Where the files and their index lie: inside an installed package, beside that of a checkout.
SAMPLE_DIR = Path(__file__).resolve().parents[1] / "sample_data"
if not SAMPLE_DIR.is_dir():
    SAMPLE_DIR = SAMPLE_DIR.parents[1] / "sample_data"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample set without its points.

    Parameters
    ----------
    name
        Short key, as in links and on the command line.
    file
        File name inside ``sample_data``.
    title
        Name of the set on the screen.
    description
        What it is, and what to look for.
    columns
        Column names, one per axis.
    classes
        Column of the file with the known class of each point, where there is one.
    n
        Number of records.
    domain
        Declared bounds, in the units of the columns.
    grid
        Cells per axis with which WaveCluster shows the clusters well.
    density
        The matching p, between 0 and 1.
    clusters
        Number of clusters that WaveCluster without noise finds with these two.
    licence
        SPDX identifier.
    credit
        Where the set, or the idea of it, comes from.
    person
        Position from 0 of the one record that joins two clusters, where there is one.
    """

    name: str
    file: str
    title: str
    description: str
    columns: tuple[str, ...]
    n: int
    domain: Domain
    grid: int
    density: float
    clusters: int
    licence: str
    credit: str
    classes: str | None = None
    person: int | None = None


def sample_names() -> tuple[str, ...]:
    """Keys of the sample sets, in the order in which to offer them."""
    return tuple(_index())


def sample(name: str) -> Sample:
    """Describe the sample set of a name.

    Raises
    ------
    InputError
        Where there is no such set.
    """
    try:
        return _index()[name]
    except KeyError:
        known = ", ".join(sample_names())
        raise InputError(
            f'sample set "{shown(name)}" does not exist: choose from {known}.'
        ) from None


def load_sample(name: str) -> Dataset:
    """Read the points (n, 2) of a sample set, with columns, declared domain and known classes.

    Raises
    ------
    InputError
        Where there is no such set.
    """
    described = sample(name)
    path = SAMPLE_DIR / described.file
    table = pq.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
    # One float array, bit by bit as written.
    columns = [table[column].to_numpy() for column in described.columns]
    return Dataset(
        name=described.name,
        points=np.column_stack(columns).astype(np.float64, copy=False),
        columns=described.columns,
        domain=described.domain,
        classes=_classes(described.classes, table),
    )


def _classes(column: str | None, table: pa.Table) -> Classes | None:
    """Known classes of the records, where there is a column of them."""
    if column is None:
        return None
    found = table[column].combine_chunks().dictionary_encode()
    codes = found.indices.to_numpy().astype(np.intp)
    return Classes(column=column, names=tuple(found.dictionary.to_pylist()), codes=codes)


@cache
def _index() -> dict[str, Sample]:
    """Read the index once; the samples by name."""
    try:
        text = (SAMPLE_DIR / "index.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"the sample sets are missing: {SAMPLE_DIR} has no index.json; install dpviz anew."
        ) from None
    return {entry["name"]: _parse(entry) for entry in json.loads(text)["samples"]}


def _parse(entry: dict[str, Any]) -> Sample:
    """Turn an entry of the index into a sample."""
    bounds = tuple((lo, hi) for lo, hi in entry["domain"])
    typed = {"columns": tuple(entry["columns"]), "domain": Domain(bounds)}
    return Sample(**(entry | typed))

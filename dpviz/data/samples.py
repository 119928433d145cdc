"""The sample sets: names, descriptions and points."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import parquet as pq
from dpviz.data.dataset import Classes, Dataset
from dpviz.grid.domain import Domain

#: Folder of the files and their index: in an installed package, or beside the code in a checkout.
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
    #: Cells per axis and p with which WaveCluster separates the clusters; number of clusters.
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
    column = _table(SAMPLE_DIR / described.file)
    classes = described.classes
    return Dataset(
        name=described.name,
        # One array of floats that are exactly the values of the file.
        points=np.column_stack([column(name, np.float64) for name in described.columns]),
        columns=described.columns,
        domain=described.domain,
        classes=None if classes is None else _classes(classes, column(classes, str)),
    )


def _table(path: Path) -> Callable[[str, type], NDArray[Any]]:
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return lambda name, kind: table[name].to_numpy().astype(kind, copy=False)
    # NumPy's reader is quick enough for small files, and does not load Arrow.
    names = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    return lambda name, kind: np.loadtxt(
        path, kind, delimiter=",", skiprows=1, usecols=names.index(name), encoding="utf-8"
    )


def _classes(column: str, cells: NDArray[Any]) -> Classes:
    names, first, codes = np.unique(cells, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return Classes(
        column=column, names=tuple(names[order].tolist()), codes=np.argsort(order)[codes]
    )


@cache
def _index() -> dict[str, Sample]:
    try:
        text = (SAMPLE_DIR / "index.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"the sample sets are missing: {SAMPLE_DIR} has no index.json; install dpviz again."
        ) from None
    entries = json.loads(text)["samples"]
    for entry in entries:
        entry["columns"] = tuple(entry["columns"])
        entry["domain"] = Domain(tuple((low, high) for low, high in entry["domain"]))
    return {entry["name"]: Sample(**entry) for entry in entries}

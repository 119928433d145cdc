"""The table of the papers: measures its numbers and writes ``dpviz/papers/measured.json``.

    python -m tests.benchmarks.papers [NAME ...]

Without a name all rows are measured; with names, or beginnings of names, only these, and the other
numbers stay. What is measured: see :mod:`dpviz.papers`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from dpviz.data.dataset import Dataset
from dpviz.papers import ROWS, Row
from dpviz.papers.lab import Lab, Measured, Reference
from dpviz.papers.row import FILE
from tests.conftest import reference_file

#: File of each reference set, and its column of classes.
FILES = {
    "ds1": ("ds1.csv", None),
    "ds2": ("ds2.csv", None),
    "ds3": ("ds3.csv", None),
    "s1": ("s1.csv.gz", "label"),
    "unbalance": ("unbalance.csv.gz", "label"),
    "birch3": ("birch3.csv.gz", None),
    "blood": ("blood.csv.gz", "donated"),
    "gamma": ("gamma.csv.gz", "class"),
    "abalone": ("abalone.csv.gz", "sex"),
}


def load(name: str) -> Reference:
    """Reference set of a name, with its classes.

    Sets with classes are shuffled: some files list class by class, and a method that cuts the list
    in pieces would get the answer from the order.
    """
    file, column = FILES[name]
    table = pd.read_csv(reference_file(file), header=0 if file.endswith(".gz") else None)
    if column is None:
        return Reference(Dataset(name=name, points=table.to_numpy(dtype=float)))
    table = table.sample(frac=1, random_state=0)
    points = table.drop(columns=column).to_numpy(dtype=float)
    classes = pd.factorize(table[column], sort=True)[0].astype(np.intp)
    return Reference(Dataset(name=name, points=points), classes)


def main(names: Sequence[str]) -> None:
    """Measure the rows of these names, or all, and write their numbers."""
    chosen = [row for row in ROWS if row.check and (not names or row.name.startswith(tuple(names)))]
    found = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    lab = Lab(load)
    for row in chosen:
        start = time.perf_counter()
        measured = row.check.measure(lab)
        found[row.name] = entry(measured)
        report(row, measured, time.perf_counter() - start)
    known = [row.name for row in ROWS if row.check]
    lines = [f"{json.dumps(name)}: {json.dumps(found[name])}" for name in known if name in found]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def entry(measured: Measured) -> dict[str, object]:
    """Entry of the file: numbers to six digits."""
    return asdict(measured) | {
        "value": float(f"{measured.value:.9g}"),
        "sd": None if measured.sd is None else float(f"{measured.sd:.9g}"),
    }


def report(row: Row, measured: Measured, seconds: float) -> None:
    """Tell on standard error what was measured."""
    check = row.check
    print(
        f"{row.name}: {check.judge(measured)}, {check.outcome.format(value=measured.value)}, "
        f"distance {check.distance(measured):.4g}, tolerance {check.tolerance(measured):.2g}, "
        f"{seconds:.1f} s ({measured.how})",
        file=sys.stderr,
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pytest.skip.Exception as missing:
        sys.exit(str(missing))

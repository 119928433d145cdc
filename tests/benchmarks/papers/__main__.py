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

import pytest

from dpviz.papers import ROWS, Row
from dpviz.papers.row import MEASURED, Measured
from tests.benchmarks.papers import measure
from tests.benchmarks.papers.lab import Lab


def main(names: Sequence[str]) -> None:
    """Measure the rows of these names, or all, and write their numbers."""
    known = [row for row in ROWS if row.claim]
    found = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    lab = Lab()
    for row in known:
        if names and not row.name.startswith(tuple(names)):
            continue
        start = time.perf_counter()
        measured = measure(row, lab)
        found[row.name] = entry(measured)
        report(row, measured, time.perf_counter() - start)
    lines = [
        f"{json.dumps(row.name)}: {json.dumps(found[row.name])}"
        for row in known
        if row.name in found
    ]
    MEASURED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def entry(measured: Measured) -> dict[str, object]:
    """Entry of the file: numbers to nine digits; of a mean the draws, which say all the rest."""
    if measured.values:
        return {"values": [_rounded(one) for one in measured.values], "how": measured.how}
    found: dict[str, object] = {
        "value": _rounded(measured.value),
        "sd": None if measured.sd is None else _rounded(measured.sd),
        "draws": measured.draws,
        "how": measured.how,
    }
    if measured.interval:
        found["interval"] = [_rounded(one) for one in measured.interval]
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.9g}")


def report(row: Row, measured: Measured, seconds: float) -> None:
    """Tell on standard error what was measured."""
    claim = row.claim
    if claim is None:
        raise ValueError(f"{row.name} has no claim")
    print(
        f"{row.name}: {claim.judge(measured)}, {row.shown_as.format(value=measured.value)}, "
        f"distance {claim.distance(measured):.4g}, tolerance {claim.tolerance(measured):.2g}, "
        f"{seconds:.1f} s ({measured.how})",
        file=sys.stderr,
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pytest.skip.Exception as missing:
        sys.exit(str(missing))

"""Measure the numbers in the table of the papers, and store them in ``dpviz/papers``.

    python -m tests.benchmarks.papers [NAME ...]

Without a name, all rows are measured; with names, or their beginnings, only these rows. Then all
other numbers stay the same. See :mod:`dpviz.papers`. The folder ``DPVIZ_CHECKOUTS`` must contain
sets of public repositories whose draws are not stored.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence

import numpy as np
import pytest

from dpviz.papers import ROWS, Row
from dpviz.papers.row import MEASURED, Measured
from tests.benchmarks.papers import measure
from tests.benchmarks.papers.lab import Lab, store_of, stored_draws


def main(names: Sequence[str]) -> None:
    """Measure the rows of these names, or all rows, and write their numbers and draws."""
    for paper, file in MEASURED.items():
        rows = [row for row in ROWS if row.claim and row.paper == paper]
        wanted = [row for row in rows if not names or row.name.startswith(tuple(names))]
        if not wanted:
            continue
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        lab = Lab(store=stored_draws(paper))
        for row in wanted:
            start = time.perf_counter()
            measured = measure(row, lab)
            found[row.name] = entry(measured)
            report(row, measured, time.perf_counter() - start)
        lines = [
            f"{json.dumps(row.name)}: {json.dumps(found[row.name])}"
            for row in rows
            if row.name in found
        ]
        file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        kept = sorted(lab.used if wanted == rows else lab.lists)
        store_of(paper).parent.mkdir(exist_ok=True)
        np.savez_compressed(store_of(paper), **{name: lab.lists[name] for name in kept})


def entry(measured: Measured) -> dict[str, object]:
    """Entry of the file; numbers have nine digits, and an infinite end is null."""
    found: dict[str, object] = {"value": _rounded(measured.value), "draws": measured.draws}
    if measured.error:
        found["error"] = _rounded(measured.error)
    if measured.interval != (measured.value, measured.value):
        found["interval"] = [_rounded(end) for end in measured.interval]
    return found | {"how": measured.how}


def _rounded(value: float) -> float | None:
    return float(f"{value:.9g}") if math.isfinite(value) else None


def report(row: Row, measured: Measured, seconds: float) -> None:
    """Print a measured number on standard error."""
    if row.claim is None:
        raise ValueError(f"{row.name} has no claim")
    low, high = measured.interval
    print(
        f"{row.name}: {row.claim.judge(measured)}, {row.shown_as.format(value=measured.value)}, "
        f"{low:.4g} to {high:.4g}, {seconds:.1f} s ({measured.how})",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pytest.skip.Exception as missing:
        sys.exit(str(missing))

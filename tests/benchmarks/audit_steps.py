"""What the audit can see of each step: writes ``dpviz/audit/steps.json``.

    python -m tests.benchmarks.audit_steps [METHOD ...]

Without a name all methods are measured; with names only these, and the other figures stay. What
is measured: see :mod:`dpviz.audit.steps`. It takes about half an hour on two cores.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

from dpviz.audit.steps import BUGS, CASES, FILE, Case, Seen, measure, table


def main(names: list[str]) -> None:
    """Measure the methods of these names, or all, and write the figures."""
    chosen = [case for case in CASES if not names or case.method in names]
    wanted = [(case, step, factor) for case in chosen for step in case.shares() for factor in BUGS]
    kept = [row for row in (table() if FILE.exists() and names else ()) if row.method not in names]
    with ProcessPoolExecutor() as pool:
        for seen in pool.map(_measured, wanted):
            kept.append(seen)
            print(seen, file=sys.stderr, flush=True)
    order = list(dict.fromkeys(case.method for case in CASES))
    kept.sort(key=lambda row: order.index(row.method))
    lines = [json.dumps(asdict(row), separators=(",", ":")) for row in kept]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _measured(wanted: tuple[Case, str, float]) -> Seen:
    """Measure one row."""
    return measure(*wanted)


if __name__ == "__main__":
    main(sys.argv[1:])

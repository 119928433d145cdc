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

from dpviz.audit.scenarios import Scenario
from dpviz.audit.steps import BUGS, FILE, SCENARIOS, StepResult, measure, shares, table


def main(names: list[str]) -> None:
    """Measure the methods of these names, or all, and write the figures."""
    chosen = [one for one in SCENARIOS if not names or one.method in names]
    wanted = [(one, step, factor) for one in chosen for step in shares(one) for factor in BUGS]
    rows = [row for row in (table() if FILE.exists() and names else ()) if row.method not in names]
    with ProcessPoolExecutor() as pool:
        for result in pool.map(_measured, wanted):
            rows.append(result)
            print(result, file=sys.stderr, flush=True)
    order = list(dict.fromkeys(one.method for one in SCENARIOS))
    rows.sort(key=lambda row: order.index(row.method))
    lines = [json.dumps(asdict(row), separators=(",", ":")) for row in rows]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _measured(wanted: tuple[Scenario, str, float]) -> StepResult:
    """Measure one row."""
    return measure(*wanted)


if __name__ == "__main__":
    main(sys.argv[1:])

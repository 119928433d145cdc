"""The documentation states the numbers of the stored benchmark of areas."""

from __future__ import annotations

import json

import numpy as np

from tests.support import ROOT

ROWS = json.loads((ROOT / "tests" / "benchmarks" / "areas.json").read_text())
TEXT = (ROOT / "dpviz" / "docs" / "pages" / "measured.md").read_text(encoding="utf-8")


def errors(epsilon: float, rule: str) -> np.ndarray:
    found = (row["rules"][rule] for row in ROWS if "rules" in row and row["epsilon"] == epsilon)
    return np.array([(one["false"] + one["missed"]) / one["true"] for one in found])


def test_the_documentation_has_the_errors_of_areas():
    for epsilon in (0.1, 0.5, 1.0):
        rules = ("areas", "pairs", "recut", "cells")
        means = (f"{errors(epsilon, rule).mean():.0%}" for rule in rules)
        assert f"| {epsilon:g} | {' | '.join(means)} |" in TEXT
    assert f"at 0.1, in {(errors(0.1, 'areas') < errors(0.1, 'recut')).sum()} of 12" in TEXT
    assert f"areas have {errors(1.0, 'recut without noise').mean():.0%} errors" in TEXT
    for epsilon in (0.5, 1.0):
        assert (errors(epsilon, "areas") < errors(epsilon, "recut")).all()
        assert (errors(epsilon, "areas") < errors(epsilon, "pairs")).all()
    rows = [row["rules"]["areas"] for row in ROWS if "rules" in row]
    assert sum(one["missed"] for one in rows) > 3 * sum(one["false"] for one in rows)


def test_the_documentation_has_how_often_bands_hold():
    bands = [row for row in ROWS if "side" in row]
    noise = [row["noise_holds"] for row in bands]
    assert f"the true count of {min(noise):.0%} to {max(noise):.0%} of areas" in TEXT
    least = min(row["bounds_hold"] for row in bands)
    assert least > 0.95
    assert f"contain it for {least:.0%} to 100% of areas" in TEXT
    (row,) = (
        row for row in bands if (row["set"], row["side"], row["epsilon"]) == ("pickups", 128, 1.0)
    )
    assert f"median width is {row['width']:.0f} records" in TEXT
    assert f"median true count is {row['records']:g}" in TEXT

"""Cells of the benchmark that a method loses, and the reasons."""

from __future__ import annotations

import pandas as pd
import pytest

from dpviz.experiments import lost as module
from dpviz.experiments.benchmark import KEYS, SetFacts, benchmark
from dpviz.experiments.lost import COLUMNS, REASONS, lost, reason_of
from dpviz.families import FAMILIES, score_of
from tests.benchmarks.sets import SETS
from tests.support.benchmark import summarised

CELLS = {
    # The cell is lost to a method at only one epsilon.
    ("a", "dprefine", 0.1): 2.0,
    ("a", "eugkm", 0.1): 1.5,
    ("a", "google", 0.1): 1.8,
    ("a", "dprefine", 1.0): 1.1,
    ("a", "eugkm", 1.0): 1.2,
    # The cell is lost to the answer that does not read the data.
    ("b", "dprefine", 0.1): 3.0,
    ("b", "nodata", 0.1): 2.5,
    # An equal score is not a loss, and a cell without other methods can't be lost.
    ("c", "dprefine", 0.1): 1.4,
    ("c", "eugkm", 0.1): 1.4,
    ("d", "dprefine", 0.1): 9.0,
}


def cells(score: str = "nicv_ratio", variant: str = "sound") -> pd.DataFrame:
    rows = [
        (data, method, variant if method == "eugkm" else "sound", epsilon, value + step)
        for (data, method, epsilon), value in CELLS.items()
        for step in (-0.05, 0.0, 0.05)
    ]
    return summarised(pd.DataFrame(rows, columns=[*KEYS, score]))


def test_a_cell_is_lost_where_something_else_is_better() -> None:
    found = lost(cells(), "dprefine", "median", lower=True)
    assert tuple(found.columns) == COLUMNS
    assert found[["data", "epsilon", "own", "rival", "best"]].to_numpy().tolist() == [
        ["a", 0.1, 2.0, "eugkm", 1.5],
        ["b", 0.1, 3.0, "nodata", 2.5],
    ]
    assert (found["low"] < found["own"]).all()
    assert (found["own"] < found["high"]).all()


def test_where_more_is_better_the_others_are_lost() -> None:
    found = lost(cells("f_measure"), "dprefine", "median", lower=False)
    assert found[["data", "epsilon"]].to_numpy().tolist() == [["a", 1.0]]


def test_a_variant_without_privacy_wins_nothing() -> None:
    # Published EUGkM has no privacy claim, so Google is the best remaining rival on set a.
    found = lost(cells(variant="published"), "dprefine", "median", lower=True)
    assert found["rival"].tolist() == ["google", "nodata"]


def test_a_method_without_rivals_or_figures_loses_nothing() -> None:
    alone = cells()
    assert lost(alone[alone["method"] == "dprefine"], "dprefine", "mean", lower=True).empty
    assert lost(alone, "hybrid", "mean", lower=True).empty


def test_the_reason_of_a_set_goes_before_that_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    one = SetFacts(
        name="a", title="A", kind="thin", seen=False, records=9, columns=2, families=("kmeans",),
        credit="nobody",
    )  # fmt: skip
    kinds = {("kmeans", "thin"): "Thin."}
    monkeypatch.setattr(module, "REASONS", kinds)
    assert reason_of("kmeans", one) == "Thin."
    assert reason_of("wavecluster", one) == ""
    monkeypatch.setattr(module, "REASONS", kinds | {("kmeans", "a"): "Few."})
    assert reason_of("kmeans", one) == "Few."


def test_reasons_are_of_sets_that_there_are() -> None:
    known = {name for one in SETS for name in (one.name, one.kind)}
    for (family, name), reason in REASONS.items():
        assert family in FAMILIES
        assert name in known
        assert reason.endswith(".")
        assert "\n" not in reason


def test_every_published_loss_has_a_reason() -> None:
    found = benchmark()
    if found.cells.empty:
        pytest.skip("no figures are published yet: make bench-utility ARGS=--publish")
    for name, family in FAMILIES.items():
        for score in found.scores(name):
            cells = found.rows(name, score, tuple(found.sets))
            rows = lost(cells, family.first, "median", lower=score_of(score).better == "<=")
            for data in rows["data"].unique():
                assert reason_of(name, found.sets[data]), (name, score, data)

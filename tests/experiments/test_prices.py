"""The stored costs of a private choice: their reader, and the benchmark that measures them."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpviz.experiments import prices as stored
from dpviz.experiments.prices import frame, of_family, prices, sentence, summary
from dpviz.families import CARDS
from tests.benchmarks import choice as measured
from tests.benchmarks.sets import BY_NAME, SETS, Reference
from tests.conftest import reference_file

SCORES = {"wavecluster": {"class_f"}, "kmeans": {"silhouette", "class_ari", "exact"}}
USUAL = {"wavecluster": "g 64, p 0.5", "kmeans": "K 8"}


def test_stored_rows_are_those_that_the_benchmark_measures() -> None:
    rows = defaultdict(set)
    for row in prices():
        one = BY_NAME[row.data]
        assert (row.title, row.records, row.seen) == (one.title, one.n, one.seen)
        assert measured.fits(row.method, one)
        rows[row.method, row.data].add((row.score, row.epsilon))
    for (method, data), found in rows.items():
        scores = SCORES[CARDS[method].family]
        if not BY_NAME[data].source.classed:
            scores = {"silhouette"}
        assert found == {(score, epsilon) for score in scores for epsilon in measured.EPSILONS}
    # EUGkM needs a grid over all columns, and many sets have too many columns for this.
    missing = {
        (method, one.name)
        for method in measured.METHODS
        for one in SETS
        if one.seen and measured.fits(method, one) and (method, one.name) not in rows
    }
    assert all(method == "eugkm" and BY_NAME[data].ndim > 20 for method, data in missing)
    assert set(measured.METHODS) == {method for method, _ in rows}


def test_figures_are_possible() -> None:
    for row in prices():
        assert row.score in stored.SCORES
        low = -1 if row.score in ("class_ari", "silhouette") else 0
        assert all(low <= one <= 1 for one in (row.best, row.chosen, row.usual))
        # The usual choice is one of the candidates.
        assert row.usual <= row.best
        assert row.best == 1 or row.score != "exact"


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("method", "data"), [("privthr", "incomes"), ("eugkm", "tiny8"), ("dprefine", "tiny4")]
)
def test_figures_come_out_again(method: str, data: str) -> None:
    again = measured.measure(method, data, None)
    assert again == [row for row in prices() if (row.method, row.data) == (method, data)]


@pytest.mark.parametrize("family", SCORES)
def test_summary_is_a_mean_over_the_sets(family: str) -> None:
    rows = of_family(family)
    table = summary(rows)
    method = rows[0].method
    for score in SCORES[family]:
        own = [one for one in rows if (one.method, one.score) == (method, score)]
        (shown,) = table[
            (table["method"] == CARDS[method].title) & (table["score"] == stored.SCORES[score])
        ].to_dict("records")
        assert shown["sets"] == len({one.data for one in own})
        for epsilon in measured.EPSILONS:
            best, chosen, usual = np.mean(
                [(one.best, one.chosen, one.usual) for one in own if one.epsilon == epsilon],
                axis=0,
            )
            assert shown[f"chosen, ε {epsilon:g}"] == f"{chosen / best:.0%}"
            assert shown[f"{USUAL[family]}, ε {epsilon:g}"] == f"{usual / best:.0%}"
    assert len(table) == len({(row.method, row.score) for row in rows})
    assert len(frame(rows)) == len(rows)


def test_sentence_counts_the_sets() -> None:
    one = of_family("wavecluster")[0]
    rows = [one, replace(one, data="other", records=123_456, seen=False), replace(one, epsilon=9)]
    said = sentence(rows)
    assert f"2 sets of {one.records:,} to 123,456 records; constants may have been chosen" in said
    assert "g and p" in said
    assert "g 64, p 0.5" in said
    assert "K 8" in sentence(of_family("kmeans"))


def test_a_run_replaces_its_own_sets_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prices.json"
    monkeypatch.setattr(measured, "FILE", file)
    kept = [row for row in prices() if (row.method, row.data) != ("privthr", "incomes")]
    command = ["privthr", "--sets", "incomes", "--jobs", "1"]
    measured.main(command)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written == frame(prices()).to_dict("records")
    # All rows are finished, so even the file is not written.
    file.unlink()
    measured.main([*command, "--resume"])
    assert not file.exists()
    assert 0 < len(kept) < len(prices())
    with pytest.raises(SystemExit):
        measured.main(["dplloyd"])


@pytest.mark.parametrize("name", ["s1", "unbalance", "gaussians", "mixture-10d-10-1"])
def test_known_classes_belong_to_the_records(name: str) -> None:
    source = BY_NAME[name].source
    if isinstance(source, Reference):
        reference_file(source.file)
    data = BY_NAME[name].with_classes(None)
    assert data.points is not None
    assert data.classes is not None
    # The nearest neighbour of a record is nearly always in the same class.
    points, codes = data.points, data.classes.codes
    gaps = ((points[:200, None] - points[200:]) ** 2).sum(axis=2)
    assert (codes[:200] == codes[200:][gaps.argmin(axis=1)]).mean() > 0.9

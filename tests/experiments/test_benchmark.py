"""The numbers of the benchmark: from raw rows to cells, averages, wins and the file."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.docs.site import pages
from dpviz.experiments.benchmark import (
    FILE,
    KEYS,
    OTHERS,
    SCORES,
    Benchmark,
    SetFacts,
    benchmark,
    best_on,
    family_name,
    over_sets,
    promises,
    read,
    title_of,
)
from dpviz.families import CARDS, FAMILIES, score_of
from dpviz.metrics.bands import band
from tests.benchmarks import peers_table, rows_croissant
from tests.benchmarks.bench_peers import PEERS
from tests.benchmarks.bench_utility import DIGITS, FRESH, ROWS
from tests.benchmarks.sets import SETS
from tests.support.benchmark import summarised, write
from tests.support.tiers import examples


def facts(name: str, seen: bool = False) -> SetFacts:
    return SetFacts(
        name=name, title=name.upper(), kind="dense", seen=seen, records=100, columns=2,
        families=("kmeans",), credit="nobody", clusters=3,
    )  # fmt: skip


def rows(numbers: dict[tuple[str, str, float], list[float]]) -> pd.DataFrame:
    """Raw rows of one set, method and epsilon."""
    return pd.DataFrame(
        [
            (data, method, "sound", epsilon, FRESH + number, value)
            for (data, method, epsilon), values in numbers.items()
            for number, value in enumerate(values)
        ],
        columns=[*KEYS, "seed", "nicv_ratio"],
    )


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=40))
@examples(50)
def test_cells_sum_up_the_rows(values: list[float]) -> None:
    (cell,) = summarised(rows({("a", "eugkm", 0.1): values})).to_dict("records")
    expected = band(values)
    assert cell["draws"] == len(values)
    for name in ("mean", "median", "low", "high"):
        assert cell[name] == pytest.approx(getattr(expected, name), rel=1e-3)


def test_rows_without_a_score_have_no_cell() -> None:
    given = rows({("a", "eugkm", 0.1): [2.0, np.nan, 4.0], ("a", "mcmc", 0.1): [np.nan]})
    (cell,) = summarised(given).to_dict("records")
    assert (cell["method"], cell["draws"], cell["mean"]) == ("eugkm", 2, 3.0)


def test_an_average_is_over_sets_that_all_methods_have() -> None:
    cells = summarised(
        rows(
            {
                ("a", "eugkm", 0.1): [2.0],
                ("b", "eugkm", 0.1): [8.0],
                ("c", "eugkm", 0.1): [100.0],
                ("a", "pemeans", 0.1): [4.0],
                ("b", "pemeans", 0.1): [4.0],
                # A method with fewer than half of the sets does not affect other methods.
                ("c", "gupt", 0.1): [1.0],
            }
        )
    )
    table, number = over_sets(cells, "median", geometric=True)
    assert number == 2
    assert dict(zip(table["method"], table["median"], strict=True)) == pytest.approx(
        {"eugkm": 4.0, "pemeans": 4.0}
    )
    table, _ = over_sets(cells, "median", geometric=False)
    assert dict(zip(table["method"], table["median"], strict=True)) == {
        "eugkm": 5.0,
        "pemeans": 4.0,
    }


def test_the_best_needs_a_rival_that_reads_data_and_a_finite_value() -> None:
    cells = summarised(
        rows(
            {
                ("a", "eugkm", 0.1): [2.0],
                ("a", "google", 0.1): [3.0],
                ("a", "nodata", 0.1): [1.0],
                ("b", "eugkm", 0.1): [1.5],
                ("b", "google", 0.1): [2.0],
                ("b", "nodata", 0.1): [9.0],
                # Alone, or with the baseline alone, a method is not the best.
                ("c", "google", 0.1): [2.0],
                ("d", "google", 0.1): [2.0],
                ("d", "nodata", 0.1): [9.0],
                ("e", "eugkm", 0.1): [np.inf],
                ("e", "google", 0.1): [np.inf],
                # Of two equal methods, none is the best.
                ("f", "eugkm", 0.1): [1.0],
                ("f", "google", 0.1): [1.0],
            }
        )
    )
    assert best_on(cells, "median", lower=True) == {
        ("eugkm", "sound", 0.1): (2, 4),
        ("google", "sound", 0.1): (0, 6),
    }
    assert best_on(cells, "median", lower=False) == {
        ("eugkm", "sound", 0.1): (0, 4),
        ("google", "sound", 0.1): (2, 6),
    }


def test_the_file_keeps_everything(tmp_path: Path) -> None:
    numbers = {("a", "eugkm", 0.1): [1.5, 2.5], ("a", "nodata", 2.0): [np.inf]}
    given = Benchmark(
        sets={"a": facts("a"), "b": replace(facts("b", seen=True), missing="not here.")},
        cells=summarised(rows(numbers)),
        made={"seeds": [1, 2]},
        notes=("one note.",),
    )
    write(given, tmp_path / "figures.json")
    found = read(tmp_path / "figures.json")
    assert found.sets == given.sets
    assert (found.made, found.notes) == (given.made, given.notes)
    pd.testing.assert_frame_equal(found.cells, given.cells, check_dtype=False)


def test_sets_are_chosen_by_what_they_are() -> None:
    deep = replace(facts("b", seen=True), columns=8, kind="mixture")
    found = Benchmark(sets={"a": facts("a"), "b": deep}, cells=pd.DataFrame())
    for wanted, names in (
        ({}, "ab"),
        ({"group": "seen"}, "b"),
        ({"group": "unseen"}, "a"),
        ({"kind": "mixture"}, "b"),
        ({"columns": (2, 7)}, "a"),
    ):
        assert "".join(one.name for one in found.chosen("kmeans", **wanted)) == names
    assert found.chosen("wavecluster") == []


def test_everybody_is_named_with_a_promise() -> None:
    all_of_them = [(name, one.name) for name, card in CARDS.items() for one in card.variants]
    named = promises(all_of_them)
    assert len(named) == len(all_of_them)
    for _, row in named.iterrows():
        # For a method whose claim fails, the file gives the reason.
        assert row["note"] if row["guarantee"].startswith("none") else not row["note"]
    assert set(PEERS) | {"nodata", "nothing"} == set(OTHERS)
    assert {one.title for one in OTHERS.values()} == set(
        promises((name, "sound") for name in OTHERS)["method"]
    )
    assert {one.family for one in OTHERS.values()} == set(FAMILIES)
    assert title_of("eugkm", "published") != title_of("eugkm")
    assert family_name("nobody") == ""


@pytest.mark.exhaustive(reason="the first test checks how rows are summed up")
def test_the_published_figures_are_those_of_the_published_rows() -> None:
    if not (FILE.exists() and ROWS.exists()):
        pytest.skip("no figures are published yet: make bench-utility ARGS=--publish")
    raw = pd.read_parquet(ROWS)
    assert raw["seed"].min() >= FRESH
    scores = [name for name in SCORES if name in raw]
    raw[scores] = raw[scores].map(lambda value: float(f"{value:.{DIGITS}g}"))
    found = benchmark()
    again = summarised(raw)
    keys = [*KEYS, "score"]
    pd.testing.assert_frame_equal(
        found.cells.sort_values(keys).reset_index(drop=True),
        again.sort_values(keys).reset_index(drop=True),
        check_dtype=False,
    )
    assert set(found.sets) == {one.name for one in SETS}
    assert {one.name: one.seen for one in SETS} == {
        name: one.seen for name, one in found.sets.items()
    }
    # No ratio to the best known clustering is below 1.
    for name in scores:
        if score_of(name).best.startswith("1") and score_of(name).better == "<=":
            assert raw[name].min(skipna=True) >= 1


@pytest.mark.exhaustive(reason="the table changes only with its measured rows")
def test_the_table_of_peers_is_that_of_its_rows():
    text = pages()["measured"].text
    assert all(line in text for line in peers_table.lines())
    verdicts = peers_table.verdicts(peers_table.rows(), "dprefine", "fastlloyd")
    lost = [data for (data, _), verdict in verdicts.items() if verdict == "lost"]
    assert f"DP-Refine loses {len(lost)} cells to FastLloyd" in text
    sizes = [(one.records, one.columns) for name, one in benchmark().sets.items() if name in lost]
    assert max(records for records, _ in sizes) == 2_310
    assert {min(one for _, one in sizes), max(one for _, one in sizes)} == {8, 128}
    assert peers_table.rows()["nicv_ratio"].min() >= 1


def test_the_rows_are_described_as_they_are():
    """mlcroissant accepts the description; hashes and columns are those of the files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that mlcroissant imports
        import mlcroissant

        found = mlcroissant.Dataset(jsonld=rows_croissant.FILE)
    assert not found.metadata.issues.errors
    assert not found.metadata.issues.warnings
    assert json.loads(rows_croissant.FILE.read_text("utf-8")) == rows_croissant.described()

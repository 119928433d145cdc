"""The numbers of the benchmark: from raw rows to cells, averages, wins and the file."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

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


@pytest.mark.exhaustive(reason="the tables change only with their measured rows")
def test_the_tables_of_peers_are_those_of_their_rows():
    text = pages()["measured"].text
    assert "\n".join(peers_table.lines()) in text
    assert "\n".join(peers_table.set_lines()) in text
    assert peers_table.FILE.read_text(encoding="utf-8") == peers_table.text()
    cells = peers_table.cells()
    assert f"(8 to {cells['seeds'].max()} of them)" in text
    for peer, part in cells.groupby("peer"):
        measured = part["data"].nunique()
        assert len(part) == 4 * measured
        if measured < 20:
            assert re.search(rf"{OTHERS[peer].title} on {measured}\b", text)
    assert peers_table.rows()["nicv_ratio"].min() >= 1
    few = cells[(cells["dprefine"] == "few draws") & (cells["seeds"] > 0)]
    behind = few[few["median_dprefine"] > few["median_peer"]]["peer"].value_counts()
    assert f"of {len(few)} such cells with a common seed" in text
    by_peer = ", ".join(f"{n} {OTHERS[one].title}" for one, n in behind.items())
    assert f"in {behind.sum()} ({by_peer}), and DPLloyd in" in text
    assert f"DPLloyd in {(few['median_dplloyd'] > few['median_peer']).sum()}." in text
    # Losses come first, and each has its reason.
    lost = (cells[[*peers_table.OURS]] == "lost").any(axis=1)
    assert (cells["dprefine"] == "lost").is_monotonic_decreasing
    assert ((cells["reason"] != "") == lost).all()
    assert set(cells["peer"]) == set(peers_table.AUDITS) == set(PEERS)
    told = dict(zip(cells["peer"], cells["audit"], strict=True))
    assert {peer for peer, audit in told.items() if audit == "refuted"} == {
        "cedskmeans", "diffprivlib", "emmc", "fastlloyd",
    }  # fmt: skip


@pytest.mark.exhaustive(reason="the tables change only with their measured rows")
def test_the_reasons_of_losses_to_peers_are_those_of_the_rows():
    text, cells, sets = pages()["measured"].text, peers_table.cells(), benchmark().sets
    lost = cells[cells["dprefine"] == "lost"]
    by_peer = lost["peer"].value_counts()
    assert set(by_peer.index) == set(peers_table.REASONS)
    assert f"DP-Refine loses {by_peer['fastlloyd']} cells to FastLloyd" in text
    sizes = [sets[name] for name in lost[lost["peer"] == "fastlloyd"]["data"]]
    assert max(one.records for one in sizes) == 2_310
    assert min(one.columns for one in sizes) == 8
    assert max(one.columns for one in sizes) == 128
    # CEDSKMeans has the same error at every epsilon: hardly any.
    same = cells[(cells["peer"] == "cedskmeans") & (cells["seeds"] > 0)]["median_peer"]
    assert f"at most {same.max():.3f}" in text
    middle = utility_medians().loc["chameleon_t4_8k", 0.5]
    ((_, grid),) = lost[lost["peer"] == "rugnik"].iterrows()
    assert (grid["data"], grid["epsilon"]) == ("chameleon_t4_8k", 0.5)
    said = (f"{one:.4f}" for one in (grid["median_dprefine"], grid["median_peer"], middle["eugkm"]))
    assert "DP-Refine {}, RUGNIK {}, EUGkM {}".format(*said) in text
    kept = pd.read_parquet(peers_table.FOLDER / "peers_rows.parquet")
    theirs = kept[(kept["method"] == "rugnik") & (kept["data"] == "chameleon_t4_8k")]
    theirs = theirs[theirs["epsilon"] == 0.5].set_index("seed")["nicv_ratio"]
    for part, said in (
        ("dprefine without its step", "without its last step, DP-Refine has {:.4f}"),
        ("dprefine on a plain grid", "on a plain grid without this step {:.4f}"),
    ):
        own = kept[kept["method"] == part].set_index("seed")["nicv_ratio"]
        assert said.format(own.median()) in text
        assert peers_table.decided((own - theirs).to_numpy()) == "open"

    only = cells[(cells["dplloyd"] == "lost") & (cells["dprefine"] != "lost")]
    won = (only["dprefine"] == "won").sum()
    assert f"Of the {len(only)} cells that only DPLloyd loses, DP-Refine wins {won}" in text
    bare = kept[kept["epsilon"] == 1e5].groupby("data")["nicv_ratio"].median()
    assert len(bare) == 8
    assert f"On eight of these {only['data'].nunique()} sets" in text
    assert set(bare.index) <= set(only["data"])
    told = ", ".join(f"{name} {value:.2f}" for name, value in bare.sort_values().items())
    assert f"error is: {told}." in text


def test_the_noise_of_hst_is_for_one_count_too_few():
    """Exact delta of Gaussian noise at epsilon 1, with one of 10 d + 1 counts forgotten."""

    def delta(ratio):
        return norm.cdf(ratio / 2 - 1 / ratio) - np.e * norm.cdf(-ratio / 2 - 1 / ratio)

    for columns, said in ((2, "needs {:.1f} times"), (1, "at one column {:.1f} times")):
        meant = brentq(lambda ratio: delta(ratio) - 5e-6, 1e-3, 9)
        real = delta(meant * np.sqrt((10 * columns + 1) / (10 * columns)))
        assert said.format(real / 5e-6) in pages()["measured"].text
        # The other half of delta, 5e-6, is for the cut: a cell with only this record has 20 or 10.
        cut = 10 * columns * norm.sf(np.sqrt(2) * norm.isf(1e-5 / (10 * columns)))
        assert cut < 1e-9
        assert (real + cut <= 1e-5) == (columns == 2)
    assert f"it is {real / 1e-5:.1f} times as large as claimed" in pages()["measured"].text


def utility_medians() -> pd.DataFrame:
    table = pd.read_parquet(ROWS)
    table = table[(table["variant"] == "sound") & (table["data"] == "chameleon_t4_8k")]
    found = table.groupby(["data", "epsilon", "method"])["nicv_ratio"].median()
    return found.unstack("method")


def test_a_cell_is_decided_by_a_sign_test_with_enough_seeds():
    better = np.full(peers_table.FEWEST, -0.1)
    assert peers_table.decided(better[:-1]) == "few draws"
    assert peers_table.decided(better) == "won"
    assert peers_table.decided(-better) == "lost"
    better[0] = 0.1
    assert peers_table.decided(better) == "open"


def test_the_rows_are_described_as_they_are():
    """mlcroissant accepts the description; hashes and columns are those of the files."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that mlcroissant imports
        import mlcroissant

        found = mlcroissant.Dataset(jsonld=rows_croissant.FILE)
    assert not found.metadata.issues.errors
    assert not found.metadata.issues.warnings
    assert json.loads(rows_croissant.FILE.read_text("utf-8")) == rows_croissant.described()

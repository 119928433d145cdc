"""The benchmark page: choices, table, promises, and the message that there are no results."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.experiments import lost
from dpviz.experiments.benchmark import KEYS, Benchmark, SetFacts
from dpviz.families import FAMILIES
from tests.support.benchmark import summarised
from tests.support.controls import control
from tests.support.links import opened

EPSILONS = (0.1, 1.0)

#: Values of the methods on each set at epsilon 1. At epsilon 0.1, the difference from 1 is ten
#: times larger.
NUMBERS = {
    "a": {"eugkm": 1.1, "google": 3.0, "nodata": 5.0},
    "b": {"eugkm": 1.4, "google": 1.2, "nodata": 5.0},
    "c": {"eugkm": 1.2, "nodata": 2.0},
    "old": {"eugkm": 1.3, "google": 1.9, "nodata": 1.01},
}


def facts(name: str, **more: Any) -> SetFacts:
    given = {
        "name": name, "title": f"Set {name}", "kind": "dense", "seen": name == "old",
        "records": 100, "columns": 2, "families": ("kmeans",), "credit": "<b>nobody</b>",
        "clusters": 3,
    }  # fmt: skip
    return SetFacts(**given | more)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    rows = [
        (name, method, "sound", epsilon, 10_000 + number, 1 + (value - 1) / epsilon + number / 100)
        for name, methods in NUMBERS.items()
        for method, value in methods.items()
        for epsilon in EPSILONS
        for number in range(3)
    ]
    raw = pd.DataFrame(rows, columns=[*KEYS, "seed", "nicv_ratio"])
    wave = [("w", "privthr", "sound", epsilon, 10_000, 0.1 / epsilon) for epsilon in EPSILONS]
    wide = pd.DataFrame(wave, columns=[*KEYS, "seed", "dsg_c"])
    found = Benchmark(
        sets={
            "a": facts("a", beaten=0.012),
            "b": facts("b", columns=8, kind="mixture"),
            "c": facts("c"),
            "old": facts("old"),
            "gone": facts("gone", missing="the checkout has no such file."),
            "w": facts("w", families=("wavecluster",), grid=32, density=0.5, clusters=None),
        },
        cells=summarised(pd.concat([raw, wide])),
        made={"seeds": [10_000, 10_002], "versions": {"numpy": "2"}},
        notes=("a: google gave 2 of 6 runs.",),
    )
    monkeypatch.setattr("dpviz.ui.reference.benchmark.benchmark", lambda: found)
    return found


def table(test: AppTest) -> dict[str, list[str]]:
    """Cells of the table by method: marks and numbers, without the small print."""
    first = next(one.proto.body for one in test.get("html") if "dpv-bench" in one.proto.body)
    large = re.sub(r"<small>.*?</small>", "", first, flags=re.DOTALL)
    found = {}
    for row in re.findall(r"<tr.*?</tr>", large)[1:]:
        name = re.search(r'scope="row">(.*?)</th>', row)
        assert name
        found[name[1]] = re.findall(r"<td.*?>(.*?)</td>", row)
    return found


def captions(test: AppTest) -> str:
    return " ".join(one.value for one in test.caption)


def test_the_average_is_over_sets_that_all_have(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans", "group": "unseen"})
    assert not test.exception
    ours = (1.11 * 1.41) ** 0.5
    theirs = (3.01 * 1.21) ** 0.5
    assert table(test) == {
        "EUGkM": [f"★ {(2.01 * 5.01) ** 0.5:.3f}", f"★ {ours:.3f}"],
        "Google LSH clustering": [f"{(21.01 * 3.01) ** 0.5:.3f}", f"{theirs:.3f}"],
        # A method that reads no data gets no star.
        "Centres without data": ["41", "5.010"],
    }
    assert "Geometric mean over 2 sets of 4" in captions(test)
    shown = next(one.proto.body for one in test.get("html") if "dpv-bench" in one.proto.body)
    # All sets with a rival are counted, so not c: EUGkM is first on a, Google is first on b.
    assert shown.count("best median on 1") == 4
    # The ends of the bands are averaged in the same way as the values; one draw is 0.01 lower, one
    # draw is 0.01 higher.
    assert f"{(1.1 * 1.4) ** 0.5:.3f} – {(1.12 * 1.42) ** 0.5:.3f}\nbest median on 1" in shown


def test_one_set_has_its_bands_and_says_that_its_reference_was_beaten(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans", "set": "a", "value": "mean"})
    assert table(test)["EUGkM"] == ["★ 2.010", "★ 1.110"]
    shown = next(one.proto.body for one in test.get("html") if "dpv-bench" in one.proto.body)
    assert "1.100 – 1.120" in shown
    assert "Mean of 3 draws; small: all 3 draws." in captions(test)
    assert "(by 1.2%)" in captions(test)
    assert "No results here of" not in captions(test)


def test_bands_of_few_draws_and_of_many_are_told_apart(figures: Benchmark) -> None:
    figures.cells["draws"] = np.where(figures.cells["method"] == "google", 1, 30)
    said = captions(opened("benchmark", {"family": "kmeans", "set": "a"}))
    assert "Median of 1 to 30 draws; small: 5% to 95% of draws; all draws if there are " in said
    figures.cells["draws"] = np.where(figures.cells["method"] == "google", 19, 30)
    said = captions(opened("benchmark", {"family": "kmeans", "set": "a"}))
    assert "small: 5% to 95% of draws." in said
    test = opened("benchmark", {"family": "kmeans", "set": "c"})
    assert "No results here of Google LSH clustering." in captions(test)


def test_a_line_without_data_is_never_the_best(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans", "group": "seen"})
    found = table(test)
    assert list(found)[-1] == "Centres without data"
    assert found["Centres without data"] == ["1.110", "1.020"]
    assert found["EUGkM"] == ["★ 4.010", "★ 1.310"]


def test_filters_and_links(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans"})
    control(test.selectbox, "benchmark:kind").set_value("mixture").run()
    assert table(test)["Google LSH clustering"] == ["★ 3.010", "★ 1.210"]
    assert {name: "".join(value) for name, value in test.query_params.items()}["kind"] == "mixture"
    # The other family has no mixtures, so the choice changes to all sets.
    control(test.segmented_control, "benchmark:family").set_value("wavecluster").run()
    assert not test.exception
    assert table(test) == {"PrivTHR": ["★ 1.000", "★ 0.100"]}
    control(test.segmented_control, "benchmark:family").set_value("kmeans").run()
    assert "EUGkM" in table(test)
    control(test.selectbox, "benchmark:columns").set_value("3-8").run()
    assert table(test)["EUGkM"] == ["5.010", "1.410"]


def test_promises_and_what_is_missing_are_named(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans"})
    said = " ".join(one.proto.body for one in test.get("html"))
    assert "pure ε, one record added or removed, if the box is declared; proof on its card" in said
    assert "(ε, δ), δ = n^-1.1" in said
    assert "Seeds 10000 to 10002" in captions(test)
    labels = [one.label for one in test.expander]
    assert labels == ["Sets: 4 fresh, 1 tuned on", "Left out (2)"]
    assert "<b>nobody</b>" not in said


def body(test: AppTest) -> str:
    return " ".join(one.proto.body for one in test.get("html"))


def test_tuned_sets_stand_apart_from_fresh_ones(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans"})
    test.session_state["benchmark:sets"] = True
    test.run()
    heads = [one.value for one in test.markdown if "chosen on them" in one.value]
    assert heads == [
        "**Fresh: no constant was chosen on them (4)**",
        "**Tuned on: constants may have been chosen on them (1)**",
    ]
    tables = [one.proto.body for one in test.get("html") if "Public choices" in one.proto.body]
    assert ["Set old" in one for one in tables] == [False, True]
    assert "&lt;b&gt;nobody" in tables[0]
    assert "Missing: the checkout has no such file." in tables[0]


def test_sets_whose_results_a_family_knew_are_no_fresh_ones(
    figures: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        known = replace(
            figures.sets[name], known=("wavecluster",), families=("wavecluster", "kmeans")
        )
        monkeypatch.setitem(figures.sets, name, known)
    for family, expected in (("wavecluster", "2 tuned on"), ("kmeans", "4 fresh, 1 tuned on")):
        labels = [one.label for one in opened("benchmark", {"family": family}).expander]
        assert expected in labels[0], (family, labels)


def test_lost_cells_come_with_a_reason(figures: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    # If the default method has no results, there is no sentence about losses.
    assert "better than" not in captions(opened("benchmark", {"family": "kmeans"}))
    monkeypatch.setattr(FAMILIES["kmeans"], "first", "eugkm")
    monkeypatch.setattr(lost, "REASONS", {("kmeans", "b"): "It <has> few records."})
    test = opened("benchmark", {"family": "kmeans", "group": "all"})
    # On set b, Google is better at both budgets. On the old set, centres without data are better.
    label = "Where another median is better than that of EUGkM: 4 of 8 cases"
    assert label in [one.label for one in test.expander]
    test.session_state["benchmark:lost"] = True
    test.run()
    assert not test.exception
    said = body(test)
    assert "ε 1: 1.410 (1.400 – 1.420), Google LSH clustering 1.210" in said
    assert "ε 0.1: 4.010 (4.000 – 4.020), Centres without data 1.110" in said
    assert "It &lt;has&gt; few records." in said
    assert said.count("not explained yet") == 1
    # On set a, EUGkM is the best.
    test = opened("benchmark", {"family": "kmeans", "set": "a"})
    assert "is better than that of EUGkM in 2 cases" in captions(test)


def test_what_is_left_out_is_a_list(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans"})
    test.session_state["benchmark:left-out"] = True
    test.run()
    assert "<li>Set gone: the checkout has no such file.</li><li>a: google" in body(test)


def test_without_figures_the_page_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = summarised(pd.DataFrame(columns=[*KEYS]))
    monkeypatch.setattr(
        "dpviz.ui.reference.benchmark.benchmark", lambda: Benchmark(sets={}, cells=cells)
    )
    test = opened("benchmark", {})
    assert not test.exception
    assert "make bench-utility" in test.info[0].value
    assert not np.any([one.value for one in test.caption])

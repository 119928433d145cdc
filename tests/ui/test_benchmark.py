"""The benchmark page: choices, table, promises, and what it says without figures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.experiments.benchmark import KEYS, Benchmark, SetFacts, summarised
from tests.support.controls import control
from tests.support.links import opened

EPSILONS = (0.1, 1.0)

#: Values of the methods on each set, at epsilon 1; ten times the distance from 1 at 0.1.
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
    monkeypatch.setattr("dpviz.ui.benchmark.benchmark", lambda: found)
    return found


def table(test: AppTest) -> dict[str, list[str]]:
    """Cells of the table by method: marks and numbers without the small print."""
    first = next(one.proto.body for one in test.get("html") if "ε" in one.proto.body)
    found = {}
    for row in re.findall(r"<tr.*?</tr>", first)[1:]:
        name = re.search(r'scope="row">(.*?)</th>', row)
        assert name
        cells = re.findall(r"<td.*?>(.*?)</td>", row)
        found[name[1]] = [re.sub(r"<small>.*?</small>", "", cell) for cell in cells]
    return found


def captions(test: AppTest) -> str:
    return " ".join(one.value for one in test.caption)


def test_the_average_is_over_sets_that_all_have(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans", "group": "unseen"})
    assert not test.exception
    ours = (1.11 * 1.41) ** 0.5
    theirs = (3.01 * 1.21) ** 0.5
    assert table(test) == {
        "EUGkM": [f"★ {(2.01 * 5.01) ** 0.5:.3g}", f"★ {ours:.3g}"],
        "Google LSH clustering": [f"{(21.01 * 3.01) ** 0.5:.3g}", f"{theirs:.3g}"],
        # Without data it takes no star.
        "Centres without data": ["41", "5.01"],
    }
    assert "Geometric mean over 2 sets of 4" in captions(test)
    shown = next(one.proto.body for one in test.get("html") if "ε" in one.proto.body)
    # Wins count all sets: EUGkM is first on a and c, Google on b.
    assert shown.count("best on 2") == 2
    assert shown.count("best on 1") == 2


def test_one_set_has_its_bands_and_says_that_its_reference_was_beaten(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans", "set": "a", "value": "mean"})
    assert table(test)["EUGkM"] == ["★ 2.01", "★ 1.11"]
    shown = next(one.proto.body for one in test.get("html") if "ε" in one.proto.body)
    assert "1.1 – 1.12" in shown
    assert "Mean of 3 draws; small: all 3 draws." in captions(test)
    assert "(by 1.20%)" in captions(test)
    assert "No figures here of" not in captions(test)
    test = opened("benchmark", {"family": "kmeans", "set": "c"})
    assert "No figures here of Google LSH clustering." in captions(test)


def test_a_line_without_data_is_never_the_best(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans", "group": "seen"})
    found = table(test)
    assert list(found)[-1] == "Centres without data"
    assert found["Centres without data"] == ["1.11", "1.02"]
    assert found["EUGkM"] == ["★ 4.01", "★ 1.31"]


def test_filters_and_links(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans"})
    control(test.selectbox, "benchmark:kind").set_value("mixture").run()
    assert table(test)["Google LSH clustering"] == ["★ 3.01", "★ 1.21"]
    assert {name: "".join(value) for name, value in test.query_params.items()}["kind"] == "mixture"
    # The other family has no mixtures: the choice goes back to all.
    control(test.segmented_control, "benchmark:family").set_value("wavecluster").run()
    assert not test.exception
    assert table(test) == {"PrivTHR": ["★ 1", "★ 0.1"]}
    control(test.segmented_control, "benchmark:family").set_value("kmeans").run()
    assert "EUGkM" in table(test)
    control(test.selectbox, "benchmark:columns").set_value("3-8").run()
    assert table(test)["EUGkM"] == ["5.01", "1.41"]


def test_promises_and_what_is_missing_are_named(figures: Benchmark) -> None:
    test = opened("benchmark", {"family": "kmeans"})
    said = " ".join(one.proto.body for one in test.get("html"))
    assert "pure ε, one record added or removed, declared box; proof on its card" in said
    assert "(ε, δ), δ = n^-1.1" in said
    assert "Seeds 10000 to 10002" in captions(test)
    labels = [one.label for one in test.expander]
    assert labels == ["Sets (4)", "Left out (2)"]
    assert "<b>nobody</b>" not in said


def test_without_figures_the_page_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = summarised(pd.DataFrame(columns=[*KEYS]))
    monkeypatch.setattr("dpviz.ui.benchmark.benchmark", lambda: Benchmark(sets={}, cells=cells))
    test = opened("benchmark", {})
    assert not test.exception
    assert "make bench-utility" in test.info[0].value
    assert not np.any([one.value for one in test.caption])

"""Figures of goal seek: what is drawn is what was found."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpviz.experiments.tuning.best_parameters import ParameterMap
from dpviz.experiments.tuning.null_set import NullSet
from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon, Target
from dpviz.figures.goal import (
    goal_curves,
    goal_frame,
    map_frame,
    null_bars,
    null_frame,
    parameter_map,
)
from dpviz.figures.theme import BOTH, CLUSTERS
from dpviz.ui.live_figure import encode
from dpviz.wavecluster.config import Config

MODES = ("light", "dark")


@pytest.fixture(scope="module")
def goal() -> SmallestEpsilon:
    """Five budgets, one of them not tried, the first far off the scale."""
    values = [[9, 8, 7, 9], [1, 0.2, 0.4, 1], [math.nan] * 4, [0.1, 0.2, 0.1, 1], [0, 0, 0.1, 0]]
    return SmallestEpsilon(
        target=Target("dsg_c", "<=", 0.2),
        share=0.75,
        epsilons=(0.01, 0.1, 0.3, 1.0, 10.0),
        seeds=(0, 1, 2, 3),
        values=np.array(values, dtype=float),
        tried=np.array([True, True, False, True, True]),
        epsilon=1.0,
    )


@pytest.fixture(scope="module")
def found() -> ParameterMap:
    return ParameterMap(
        config=Config(epsilon=0.5, alpha=0.9),
        score="dsg_c",
        share=0.9,
        names=("epsilon", "alpha"),
        values=((0.1, 0.5, 2.0), (0.3, 0.6, 0.9, 0.95)),
        reached=np.array([[5, 4, 3, math.inf], [0.5, 0.2, 0.3, 0.4], [0.1, 0.1, 0.05, math.nan]]),
        seeds=tuple(range(20)),
    )


@pytest.fixture(scope="module")
def null() -> NullSet:
    clusters = {"wavecluster": [13.0, 13, 13], "privqt": [10.0, 20, 30], "privthrem": [0.0, 0, 7]}
    return NullSet(
        config=Config(grid=64, density=0.5, epsilon=0.5),
        n=30_000,
        seeds=(0, 1, 2),
        clusters={name: np.array(values) for name, values in clusters.items()},
    )


# ---- smallest epsilon


@pytest.mark.parametrize("mode", MODES)
def test_curves_show_the_budgets_that_were_tried(goal, mode):
    panels = goal_curves(goal, "Spirals · PrivTHR", mode)
    share, low, high, median = panels.data
    np.testing.assert_array_equal(share["x"], [0.01, 0.1, 1, 10])
    np.testing.assert_array_equal(share["y"], [0, 25, 75, 100])
    for trace, name in ((low, "low"), (median, "median"), (high, "high")):
        assert list(trace["x"]) == [0.01, 0.1, 1, 10]
        assert list(trace["y"]) == [getattr(one, name) for one in goal.bands.values()]
    assert high["fill"] == "tonexty"
    assert panels.layout["title"]["text"].startswith("Spirals · PrivTHR · DSG_C ≤ 0.2 · 4 draws")
    panels.figure()


def test_targets_and_the_budget_that_was_found_are_marked(goal):
    panels = goal_curves(goal, "", "light")
    lines = panels.layout["shapes"]
    flat = {one["yref"]: one["y0"] for one in lines if one["y0"] == one["y1"]}
    assert flat == {"y": 75, "y2": 0.2}
    upright = [(one["xref"], one["x0"]) for one in lines if one["x0"] == one["x1"]]
    assert upright == [("x", 1), ("x2", 1)]
    notes = {one["text"]: one for one in panels.layout["annotations"]}
    assert notes["<b>smallest ε = 1</b>"]["x"] == 0  # the exponent
    # Names of the dashed lines stand to the right of the panels, where no data can lie.
    for name, axis in (("75%<br>of draws", "xaxis"), ("target<br>0.2", "xaxis2")):
        note = notes[name]
        assert (note["x"], note["xanchor"]) == (panels.layout[axis]["domain"][1], "left")
    assert goal.summary in panels.alt
    missed = goal_curves(replace(goal, epsilon=None), "", "light")
    assert len(missed.layout["shapes"]) == 2
    assert not any("smallest" in one["text"] for one in missed.layout["annotations"])


def test_huge_errors_do_not_hide_the_target(goal):
    assert goal_curves(goal, "", "light").layout["yaxis2"]["range"][1] == pytest.approx(1.26)
    upwards = replace(goal, target=Target("f_measure", ">=", 0.2))
    assert goal_curves(upwards, "", "light").layout["yaxis2"]["range"][1] > 8.9
    endless = replace(goal, values=np.where(goal.values > 8, math.inf, goal.values))
    drawn = goal_curves(endless, "", "light")
    assert math.isfinite(drawn.layout["yaxis2"]["range"][1])
    assert math.isnan(drawn.data[2]["y"][0])


def test_table_of_the_curves_has_a_row_for_every_budget_that_was_tried(goal):
    table = goal_frame(goal)
    assert table["epsilon"].tolist() == [0.01, 0.1, 1, 10]
    assert table["share of draws that meet the target"].tolist() == [0, 0.25, 0.75, 1]
    assert table["epsilon"][table["smallest"]].tolist() == [1]
    # Four draws have no 5% and no 95%, but a lowest and a highest.
    assert table["lowest"].tolist() == [7, 0.2, 0.1, 0]
    assert table["highest"].tolist() == [9, 1, 1, 0.1]
    assert table["score"].unique().tolist() == ["DSG_C"]


def test_the_band_is_called_what_it_is(goal):
    few, many = goal, replace(goal, seeds=tuple(range(20)), values=np.repeat(goal.values, 5, 1))
    for one, words in ((few, "all 4 draws"), (many, "5% to 95% of draws")):
        panels = goal_curves(one, "", "light")
        assert panels.data[2]["name"] == words
        assert f"median and {words}" in panels.alt
    assert {"5%", "95%"} < set(goal_frame(many).columns)


# ---- best parameters


@pytest.mark.parametrize("mode", MODES)
def test_the_map_has_a_number_in_every_cell(found, mode):
    panels = parameter_map(found, "Spirals · PrivTHR", mode)
    heat = panels.data[0]
    drawn = np.where(np.isinf(found.reached), math.nan, found.reached)
    np.testing.assert_array_equal(heat["z"], drawn.T)
    assert heat["text"][0] == ["5.00", "0.50", "0.10"]
    assert heat["text"][3] == ["∞", "0.40", "–"]
    assert heat["zmin"] == 0.05
    assert heat["zmax"] == 1
    assert heat["colorbar"]["title"]["text"] == "DSG_C<br>lower is better"
    assert panels.layout["xaxis"]["ticktext"] == ["0.1", "0.5", "2"]
    assert panels.layout["yaxis"]["ticktext"] == ["0.3", "0.6", "0.9", "0.95"]
    panels.figure()


def test_marks_tell_the_best_cell_from_the_setting_by_their_shape(found):
    best, now, others = parameter_map(found, "", "light").data[1:]
    assert [(round(x), y) for x, y in zip(best["x"], best["y"], strict=True)] == [(1, 1)]
    assert [(round(x), y) for x, y in zip(now["x"], now["y"], strict=True)] == [(1, 2)]
    # The best share at each other budget: what is not defined is never the best.
    assert [(round(x), y) for x, y in zip(others["x"], others["y"], strict=True)] == [
        (0, 2),
        (2, 2),
    ]
    assert len({one["marker"]["symbol"] for one in (best, now, others)}) == 3
    assert others["name"] == "best α at other ε"


def test_the_map_in_words_and_as_a_table(found):
    panels = parameter_map(found, "Spirals", "light")
    assert (
        "Best at ε 0.5, α 0.6: 0.20; at the setting of the search, ε 0.5, α 0.9: 0.30" in panels.alt
    )
    assert "at most this in 90% of draws" in panels.alt
    table = map_frame(found)
    assert len(table) == 12
    row = table[table["best"]].iloc[0]
    assert (row["epsilon"], row["alpha"], row["DSG_C reached in 90% of draws"]) == (0.5, 0.6, 0.2)
    assert table[table["setting of the search"]]["alpha"].tolist() == [0.9]


def test_a_score_that_shall_be_high_keeps_its_whole_scale(found):
    other = replace(
        found,
        config=Config(grid=32, density=0.2),
        score="f_measure",
        names=("grid", "density"),
        values=((32, 64), (0.2, 0.4)),
        reached=np.array([[0.5, 0.6], [0.7, 0.9]]),
    )
    panels = parameter_map(other, "", "light")
    assert (panels.data[0]["zmin"], panels.data[0]["zmax"]) == (0.5, 0.9)
    assert "higher is better" in panels.data[0]["colorbar"]["title"]["text"]
    assert len(panels.data) == 3  # no budget, so no best at others
    flat = parameter_map(replace(other, reached=np.full((2, 2), 0.5)), "", "light").data[0]
    assert flat["zmax"] > flat["zmin"]
    nothing = parameter_map(replace(other, reached=np.full((2, 2), math.nan)), "", "light").data[0]
    assert (nothing["zmin"], nothing["zmax"]) == (0, 1)


# ---- null set


@pytest.mark.parametrize("mode", MODES)
def test_bars_of_invented_clusters_have_their_bands(null, mode):
    panels = null_bars(null, mode)
    true, private = panels.data
    assert true["x"] == [13]
    assert private["x"] == [20, 0]
    np.testing.assert_allclose(private["error_x"]["array"], [10, 7])
    np.testing.assert_allclose(private["error_x"]["arrayminus"], [10, 0])
    assert "pattern" in true["marker"]
    assert "pattern" not in private["marker"]
    names = panels.layout["yaxis"]["categoryarray"]
    assert names == [*true["y"], *private["y"]]
    assert names[1] == "PrivQT · 20 (10 to 30)"
    assert all(name in panels.alt for name in names)
    settings = "30,000 points · ε 0.5 · g 64 · p 0.50 · haar level 1 · α 0.90 for PrivTHR · 3 draws"
    assert settings in panels.layout["title"]["text"]
    assert "median, and all 3 draws" in panels.layout["xaxis"]["title"]["text"]
    panels.figure()


def test_table_of_the_null_set_and_a_grid_of_two_sides(null):
    table = null_frame(null).set_index("method")
    heads = ["lowest", "clusters, median", "highest", "mean"]
    assert table.loc["PrivQT", heads].tolist() == [10, 20, 30, 20]
    wide = replace(null, config=Config(grid=(64, 32)))
    assert "g 64 x 32" in null_bars(wide, "light").layout["title"]["text"]
    assert "α" not in null_bars(replace(null, config=Config(method="privqt")), "light").alt


# ---- all of them


@pytest.mark.parametrize("mode", MODES)
def test_all_figures_travel_as_plain_numbers_in_the_colours_of_the_theme(goal, found, null, mode):
    other = "dark" if mode == "light" else "light"
    for panels in (
        goal_curves(goal, "title", mode),
        parameter_map(found, "title", mode),
        null_bars(null, mode),
    ):
        raw = encode(panels.spec(), {"alt": panels.alt})
        head = raw[4 : 4 + int.from_bytes(raw[:4], "little")].decode()
        assert json.loads(head)["alt"] == panels.alt
        assert "array(" not in head
        assert not any(colour in head for colour in (*CLUSTERS[other], BOTH[other]))
        assert panels.layout["title"]["text"]

"""The curves of the smallest epsilon show exactly the results."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpviz.experiments.tuning.smallest_epsilon import SmallestEpsilon, Target
from dpviz.figures.tuning import goal_curves, goal_frame
from tests.support.travelling import travels_plainly

MODES = ("light", "dark")


@pytest.fixture(scope="module")
def goal() -> SmallestEpsilon:
    """Five budgets; one budget was not tried, and the first budget is far outside the scale."""
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
    # The names of the dashed lines are to the right of the panels, where there are no data.
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
    # Four draws have no percentiles 5% and 95%, only a lowest and a highest value.
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


@pytest.mark.parametrize("mode", MODES)
def test_it_travels_as_plain_numbers_in_the_colours_of_the_theme(goal, mode):
    travels_plainly(goal_curves(goal, "title", mode), mode)

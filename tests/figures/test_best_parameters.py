"""The map of the best parameters shows exactly the results."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpviz.experiments.tuning.best_parameters import ParameterMap
from dpviz.figures.tuning import map_frame, parameter_map
from dpviz.wavecluster.parameters import Config
from tests.support.travelling import travels_plainly

MODES = ("light", "dark")


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
    # Find the best cell at each other budget; undefined scores are never the best.
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
    assert len(panels.data) == 3  # no budget, so no best cell at other budgets
    flat = parameter_map(replace(other, reached=np.full((2, 2), 0.5)), "", "light").data[0]
    assert flat["zmax"] > flat["zmin"]
    nothing = parameter_map(replace(other, reached=np.full((2, 2), math.nan)), "", "light").data[0]
    assert (nothing["zmin"], nothing["zmax"]) == (0, 1)


@pytest.mark.parametrize("mode", MODES)
def test_it_travels_as_plain_numbers_in_the_colours_of_the_theme(found, mode):
    travels_plainly(parameter_map(found, "title", mode), mode)

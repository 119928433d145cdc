"""The view of three epsilons: the same data and seed, one private map each, beside the true one."""

from __future__ import annotations

import numpy as np
import pytest

from dpviz.data.samples import load_sample, sample
from dpviz.families import FAMILIES, trial_of
from dpviz.family.trial import Trial
from dpviz.figures.epsilons import three_epsilons
from dpviz.figures.registry import PICTURES
from dpviz.kmeans.parameters import defaults_of


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        (0.1, (0.02, 0.1, 0.5)),
        (0.02, (0.02, 0.1, 0.5)),
        (0.01, (0.01, 0.05, 0.2)),
        (10.0, (0.4, 2, 10)),
        (0.33, (0.07, 0.33, 2)),
    ],
)
def test_the_chosen_epsilon_is_one_of_three(chosen: float, shown: tuple[float, ...]) -> None:
    assert three_epsilons(chosen) == shown


@pytest.mark.parametrize(("family", "method"), [("wavecluster", "privthr"), ("kmeans", "dplloyd")])
def test_each_map_shows_the_run_at_its_epsilon(family: str, method: str) -> None:
    one = trial(family, method)
    pictures = PICTURES[family]
    picture = pictures.picture_of(one, one.draw(0), ["x", "y"], "a · b", "light")
    asked: list[float] = []

    def again(epsilon: float):
        asked.append(epsilon)
        return picture_again(epsilon)

    picture_again = picture.again
    object.__setattr__(picture, "again", again)
    drawn = pictures.panels(picture, "epsilons")
    assert asked[:2] == [0.02, 0.5]  # the run at the chosen epsilon is not made again
    *headings, said = [one["text"] for one in drawn.layout["annotations"]]
    assert [f"At ε {one}: " in said for one in ("0.02", "0.1", "0.5")] == [True] * 3
    assert "nan" not in said
    assert [one.partition("</b>")[0] for one in headings] == [
        "<b>true", "<b>ε 0.02", "<b>ε 0.1", "<b>ε 0.5",
    ]  # fmt: skip
    # The first map is half of the figure, and the others share the other half.
    ends = [drawn.layout[f"xaxis{panel}"]["domain"] for panel in ("", 2, 3, 4)]
    assert ends[0] == [0, 0.49]
    assert ends[1] == ends[3] == pytest.approx([0.51, ends[2][0] - 0.49 * 0.07])
    assert ends[2][1] == pytest.approx(1)
    # Each panel has its own axes, linked to those of the first.
    assert {trace["xaxis"] for trace in drawn.data} == {"x", "x2", "x3", "x4"}
    assert all(drawn.layout[f"xaxis{panel}"]["matches"] == "x" for panel in (2, 3, 4))
    assert not any("customdata[" in one.get("hovertemplate", "") for one in drawn.data)
    table = pictures.frame(picture, "epsilons")
    if family == "wavecluster":
        for epsilon in (0.02, 0.1, 0.5):
            run = picture.run if epsilon == 0.1 else picture_again(epsilon)
            shown = table[f"private cluster at epsilon {epsilon:g}"].to_numpy()
            np.testing.assert_array_equal(shown > 0, run.stages.labels.ravel() > 0)
    else:
        for epsilon in (0.02, 0.5):
            rows = table[table["epsilon"] == epsilon][["private x", "private y"]]
            np.testing.assert_array_equal(rows, picture_again(epsilon).centers)


def test_a_method_without_noise_has_no_such_view() -> None:
    for family, method in (("wavecluster", "wavecluster"), ("kmeans", "kmeans")):
        drawn = trial(family, method).draw(0)
        assert "epsilons" not in PICTURES[family].views_of(drawn)


def trial(family: str, method: str) -> Trial:
    known = sample("incomes")
    given = {"grid": known.grid, "density": known.density}
    if family == "kmeans":
        given = {"clusters": 2, **defaults_of(method, "sound")}
    config = FAMILIES[family].config(method=method, epsilon=0.1, **given)
    return trial_of(load_sample("incomes"), config)

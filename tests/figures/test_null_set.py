"""The bars of the null set show exactly the results."""

from dataclasses import replace

import numpy as np
import pytest

from dpviz.experiments.tuning.null_set import NullSet
from dpviz.figures.tuning import null_bars, null_frame
from dpviz.wavecluster.parameters import Config
from tests.support.travelling import travels_plainly

MODES = ("light", "dark")


@pytest.fixture(scope="module")
def null() -> NullSet:
    clusters = {"wavecluster": [13.0, 13, 13], "privqt": [10.0, 20, 30], "privthrem": [0.0, 0, 7]}
    return NullSet(
        config=Config(grid=64, density=0.5, epsilon=0.5),
        n=30_000,
        seeds=(0, 1, 2),
        clusters={name: np.array(values) for name, values in clusters.items()},
    )


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


@pytest.mark.parametrize("mode", MODES)
def test_it_travels_as_plain_numbers_in_the_colours_of_the_theme(null, mode):
    travels_plainly(null_bars(null, mode), mode)

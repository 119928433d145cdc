"""Maps of a score over two parameters, compared with plain definitions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.samples import load_sample
from dpviz.experiments.tuning.best_parameters import (
    ParameterMap,
    _reached,
    best_parameters,
)
from dpviz.families import SCORES, trial_of
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.metrics import matching
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run, true_config

SEEDS = tuple(range(3, 23))


@pytest.fixture(scope="module")
def incomes():
    return load_sample("incomes")


@pytest.fixture(scope="module")
def gaussians():
    return load_sample("gaussians")


# ---- best parameters


@given(
    st.lists(st.sampled_from([0.1, 0.2, 0.2, 0.5, 1, math.inf, math.nan]), min_size=1),
    st.sampled_from([0.5, 0.75, 0.9, 1.0]),
    st.sampled_from(["<=", ">="]),
)
def test_the_number_on_the_map_is_what_that_share_of_draws_reaches(values, share, sign):
    values = np.array(values)
    found = _reached(values, sign, share)
    needed = share * values.size - 1e-9
    if math.isnan(found):
        assert (~np.isnan(values)).sum() < needed
        return
    reached = values <= found if sign == "<=" else values >= found
    better = values < found if sign == "<=" else values > found
    assert reached.sum() >= needed > better.sum()


def test_a_cell_of_epsilon_and_alpha_is_held_against_the_true_run(incomes):
    config = Config(method="privthr", grid=16, density=0.5, epsilon=0.7, alpha=0.6)
    over = {"epsilon": (2.0, 0.2), "alpha": (0.9, 0.3)}
    found = best_parameters(incomes, config, "dsg_c", over, seeds=SEEDS)
    assert found.values == ((0.2, 0.7, 2.0), (0.3, 0.6, 0.9))
    assert found.current == (1, 1)
    trial = trial_of(incomes, replace(config, epsilon=2.0, alpha=0.3))
    drawn = sorted(trial.scores(trial.draw(s), s, ("dsg_c",))["dsg_c"] for s in SEEDS)
    assert found.reached[2, 0] == drawn[17]  # 18 of 20 draws are no worse
    # A larger budget is better, but the search must not choose the budget.
    assert found.reached[2].min() < found.reached[1].min()
    assert found.best == (1, int(np.argmin(found.reached[1])))
    assert found.best_values["epsilon"] == 0.7
    assert found.best_at[found.best[0]] == found.best[1]
    assert all(
        found.reached[row, best] == found.reached[row].min()
        for row, best in enumerate(found.best_at)
    )


def test_cells_of_other_grids_are_held_against_the_points_clusters_at_the_setting(gaussians):
    config = Config(method="privthr", grid=64, density=0.58, epsilon=1.0)
    over = {"grid": (2, 32, 45), "density": (0.3,)}
    for score in ("f_measure", "ari"):
        found = best_parameters(gaussians, config, score, over, seeds=(4,))
        source = Source.build(gaussians, 64)
        reference = source.label(source.points, Truth(source, true_config(config)).stages) + 1
        for row, grid in enumerate(found.values[0]):
            for column, density in enumerate(found.values[1]):
                other = Source.build(gaussians, grid)
                one = replace(config, grid=grid, density=density)
                labels = other.label(other.points, run(other, one, SeededNoise(4)).stages) + 1
                table = matching.contingency(reference, labels)
                assert found.reached[row, column] == pytest.approx(SCORES[score].of_table(table))
        # With a single cell a run is always equal to the true run, so this grid must not win.
        trivial = trial_of(gaussians, replace(config, grid=2, density=0.3))
        assert (
            trial_of(gaussians, trivial.config).scores(trivial.draw(4), 4, (score,))[score] > 0.99
        )
        assert found.best_values["grid"] != 2
        assert found.reached[0].max() < 0.3


def test_equal_cells_go_to_the_coarser_grid_then_to_what_is_near():
    names, values = ("grid", "density"), ((16, 32, 64), (0.2, 0.4, 0.6))
    base = ParameterMap(
        config=Config(grid=32, density=0.4),
        score="f_measure",
        share=0.9,
        names=names,
        values=values,
        reached=np.full((3, 3), 0.5),
        seeds=(0,),
    )
    assert base.best == (0, 1)
    better = np.full((3, 3), 0.5)
    better[2, 0] = 0.6
    assert replace(base, reached=better).best == (2, 0)
    better[0] = math.nan
    better[2, 0] = 0.5
    assert replace(base, reached=better).best == (1, 1)
    assert replace(base, reached=better, score="dsg_c").best == (1, 1)


def test_iterations_of_k_means(incomes):
    config = KMeansConfig(method="dplloyd", clusters=2, epsilon=0.2, iterations=5)
    over = {"epsilon": (1.0,), "iterations": (1, 3)}
    found = best_parameters(incomes, config, "nicv_ratio", over, seeds=(1, 2))
    trial = trial_of(incomes, replace(config, iterations=3))
    worst = max(trial.scores(trial.draw(s), s, ("nicv_ratio",))["nicv_ratio"] for s in (1, 2))
    assert found.reached[0, 1] == pytest.approx(worst)
    assert found.reached.shape == (2, 3)

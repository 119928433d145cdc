"""Explanations of surprising results: shown if the result is surprising, and only then."""

from __future__ import annotations

import pytest

from dpviz.data.samples import load_sample, sample
from dpviz.families import trial_of
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import surprises


def trial(method: str, epsilon: float = 1.0, name: str = "gaussians") -> WaveClusterTrial:
    known = sample(name)
    config = Config(method=method, epsilon=epsilon, grid=known.grid, density=known.density)
    return trial_of(load_sample(name), config)


def said(method: str, epsilon: float = 1.0, name: str = "gaussians", seed: int = 0) -> str:
    one = trial(method, epsilon, name)
    return " ".join(surprises(one.truth, one.draw(seed)))


def test_privqt_keeps_too_many_cells_at_any_epsilon():
    for epsilon in (0.1, 1.0, 10.0):
        one = trial("privqt", epsilon)
        empty = one.truth.stages.threshold.nonpositive
        assert f"half of the empty cells of the average subband ({empty:,} here) positive" in said(
            "privqt", epsilon
        )
    assert "PrivQT" not in said("privthr")


def test_more_epsilon_raises_the_rank_of_privqt():
    means = [
        sum(trial("privqt", epsilon).draw(seed).k for seed in range(20)) / 20
        for epsilon in (0.05, 0.2, 1.0)
    ]
    assert means == sorted(means)


@pytest.mark.parametrize("name", ["gaussians", "incomes"])
def test_baseline_adds_points_where_there_are_none(name):
    one = trial("baseline", 0.1, name)
    more = one.draw(0).stages.n_clusters > one.truth.stages.n_clusters
    assert more == (name == "incomes")
    assert more == ("Why Baseline invents clusters" in said("baseline", 0.1, name))
    assert "Baseline" not in said("privthrem", 0.1, name)


@pytest.mark.parametrize("name", ["gaussians", "spirals", "shapes"])
def test_the_true_rank_is_not_the_number_of_cells_where_cells_tie(name):
    stages = trial("privthr", name=name).truth.stages
    cells, k = int(stages.significant.sum()), stages.threshold.k
    told = f"True k is {k:,}, but {cells:,} cells are significant"
    assert (told in said("privthr", name=name)) == (cells != k)


def test_the_rank_of_privthrem_is_among_the_true_coefficients():
    one = trial("privthrem", 0.2)
    draw = one.draw(0)
    cells = int(draw.stages.significant.sum())
    assert cells != draw.k
    expected = f"k′ = {draw.k:,} is a rank among the true coefficients; {cells:,} noisy cells reach"
    assert expected in said("privthrem", 0.2)
    assert "true coefficients" not in said("privthr", 0.2)

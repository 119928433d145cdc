"""Curves of a score over a parameter: their values, rounds and points."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest

from dpviz.base.work import Cancelled
from dpviz.data.dataset import Dataset
from dpviz.experiments import curve as module
from dpviz.experiments.curve import Curve, curve_axes, curve_key, curve_plan, values_of
from dpviz.experiments.sweep import Subject, run_sweep, scores_of, subject_of_sample, summary
from dpviz.families import CARDS, FAMILIES, PARAMETERS, SCORES, family_of
from dpviz.family.parameter import EPSILON
from dpviz.grid.domain import Domain
from tests.support.tiers import daily

SPENDING = [name for name in CARDS if CARDS[name].spends]


def subject() -> Subject:
    return subject_of_sample("tiny8")


def config_of(method: str, of: Subject, **more: object):
    family = family_of(method)
    chosen = {**of.settings, **family.defaults(method, "sound"), **more}
    have = {name: value for name, value in chosen.items() if CARDS[method].parameter(name)}
    return family.config(method=method, **have)


def filled(method: str, axis: str = "epsilon", **more: object) -> Curve:
    of = subject()
    one = Curve(curve_plan(of, config_of(method, of, **more), axis))
    one.fill(cancelled=lambda: False)
    return one


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "method", daily(SPENDING, lambda one: one in ("privthr", "twostage", "dplloyd"))
)
def test_points_summarize_the_rows_of_a_sweep_with_the_same_seeds(method: str) -> None:
    one = filled(method)
    draws = {point.draws for point in one.points}
    assert len(draws) == 1
    plan = module.replace(one.plan, seeds=tuple(range(*draws)), epsilons=one.values)
    table = summary(run_sweep(plan), one.score).set_index("epsilon")
    known = pd.DataFrame({point.value: vars(point.band) for point in one.points}).T
    for name in ("mean", "median", "low", "high"):
        assert known[name].to_dict() == table.loc[known.index, name].to_dict()
    broken = summary(run_sweep(plan), "broken").set_index("epsilon")["median"]
    assert [point.breaks for point in one.points] == list(broken[known.index] >= 1)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("method", "axis"),
    [
        ("privthr", "alpha"),
        ("privthr", "grid"),
        ("privthr", "density"),
        ("dplloyd", "clusters"),
        ("dplloyd", "iterations"),
    ],
)
def test_each_value_is_compared_with_its_own_truth(method: str, axis: str) -> None:
    one = filled(method, axis, epsilon=1.0)
    point = one.points[len(one.points) // 2]
    plan = module.replace(
        one.plan, seeds=tuple(range(point.draws)), values=(point.value,), epsilons=(1.0,)
    )
    table = summary(run_sweep(plan), one.score, axis)
    assert table["median"].tolist() == [point.band.median]
    of = subject()
    at = int(point.value) if PARAMETERS[axis].kind != "number" else point.value
    config = config_of(method, of, epsilon=1.0, **{axis: at})
    trial = family_of(method).build(of.dataset, config, of.bounds("sound"), of.outside)
    alone = [trial.scores(trial.draw(seed), seed, (one.score,)) for seed in range(point.draws)]
    assert np.median([found[one.score] for found in alone]) == pytest.approx(point.band.median)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_draw_is_better_than_the_truth(family: str) -> None:
    one = filled({"wavecluster": "privthr", "kmeans": "dplloyd"}[family])
    score = SCORES[one.score]
    assert score.ideal is not None
    assert all(point.band.low >= score.ideal * (1 - 1e-12) for point in one.points)


def test_the_first_points_are_few_and_span_the_slider(monkeypatch: pytest.MonkeyPatch) -> None:
    of, drawn = subject(), []
    one = Curve(curve_plan(of, config_of("privthr", of), "epsilon"))

    def note(plan, *more):
        drawn.append((plan.epsilons, len(plan.seeds)))
        return scores_of(plan, *more)

    monkeypatch.setattr(module, "scores_of", note)
    one.fill(cancelled=lambda: False)
    assert [epsilons for epsilons, _ in drawn[:4]] == [(0.01,), (0.1,), (1.0,), (10.0,)]
    assert sum(seeds for _, seeds in drawn[:4]) == 8
    assert len(one.points) == module.MOST_VALUES
    assert {point.draws for point in one.points} == {20}


@pytest.mark.parametrize(
    ("method", "points", "draws"),
    [("privthr", 25, 20), ("dplloyd", 13, 20), ("twostage", 13, 10), ("dprefine", 7, 10)],
)
def test_slow_methods_have_fewer_points(method: str, points: int, draws: int) -> None:
    of = subject_of_sample("gaussians")
    one = Curve(curve_plan(of, config_of(method, of), "epsilon"))
    values, seeds = one.rounds[-1]
    assert (len(values), seeds) == (points, draws)


def test_very_many_records_have_no_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FIRST", 0.001)
    one = filled("privthr")
    assert one.complete
    assert one.points == ()
    assert "takes too long" in one.note


def test_a_curve_goes_on_where_a_job_stopped() -> None:
    of = subject()
    one, calls = Curve(curve_plan(of, config_of("privthr", of), "epsilon")), []

    def stop() -> bool:
        calls.append(1)
        return len(calls) > 40

    with pytest.raises(Cancelled):
        one.fill(cancelled=stop)
    before = {point.value: point.draws for point in one.points}
    assert before
    assert not one.complete
    one.fill(cancelled=lambda: False)
    assert one.complete
    again = filled("privthr")
    assert [vars(point.band) for point in one.points] == [vars(it.band) for it in again.points]


def test_two_jobs_share_one_curve() -> None:
    of, drawn = subject(), []
    one = Curve(curve_plan(of, config_of("privthr", of), "epsilon"))
    known = one._draw
    one._draw = lambda value, seeds, *more: (
        drawn.append((value, seeds)),
        known(value, seeds, *more),
    )  # type: ignore[method-assign]
    jobs = [threading.Thread(target=one.fill, kwargs={"cancelled": lambda: False}) for _ in "ab"]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert len(drawn) == len(set(drawn))


@pytest.mark.parametrize("name", ["epsilon", "alpha", "grid", "density", "clusters", "iterations"])
def test_values_lie_on_the_slider(name: str) -> None:
    one = PARAMETERS[name]
    values = values_of(one)
    assert values[0] == one.low
    assert values[-1] == one.high
    assert values == tuple(sorted(set(values)))
    if one.kind != "number":
        assert all(value.is_integer() for value in values)


def test_methods_without_noise_and_chosen_parameters_have_no_curve() -> None:
    assert curve_axes("wavecluster") == ()
    assert curve_axes("kmeans") == ()
    assert {"epsilon", "alpha", "grid", "density"} == {*curve_axes("privthr")}
    assert curve_axes("privthr", ("grid", "density")) == (EPSILON.name, "alpha")


def test_the_key_has_everything_that_the_draws_depend_on() -> None:
    of = subject()
    config = config_of("privthr", of)
    known = curve_key(curve_plan(of, config, "epsilon"))
    assert known == curve_key(curve_plan(of, module.replace(config, epsilon=3.0), "epsilon"))
    for changes in ({"grid": 9}, {"density": 0.3}, {"alpha": 0.2}, {"wavelet": "db2"}):
        other = module.replace(config, **changes)
        assert curve_key(curve_plan(of, other, "epsilon")) != known
    assert curve_key(curve_plan(of, config, "alpha")) != known
    wider = module.replace(of, domain=Domain(((-1.0, 99.0), (-1.0, 99.0))))
    assert curve_key(curve_plan(wider, config, "epsilon")) != known


def test_values_without_a_number_are_left_out() -> None:
    """One record: no cell of the truth, so wrong cells per true cell have no number."""
    of = Subject(
        name="one",
        title="one",
        dataset=Dataset(name="one", points=np.array([[0.5, 0.5], [0.25, 0.25]])),
        domain=Domain(((0.0, 1.0), (0.0, 1.0))),
        settings={"grid": 8, "density": 0.99},
    )
    one = Curve(curve_plan(of, config_of("privthr", of), "epsilon"))
    one.fill(cancelled=lambda: False)
    assert all(np.isfinite(point.band.median) for point in one.points)

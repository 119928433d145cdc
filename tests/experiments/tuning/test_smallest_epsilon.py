"""The smallest budget, compared with plain definitions and sweeps."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpviz.data.samples import load_sample
from dpviz.experiments.tuning import smallest_epsilon as smallest
from dpviz.experiments.tuning.smallest_epsilon import (
    GRID,
    SmallestEpsilon,
    Target,
    smallest_epsilon,
)
from dpviz.families import trial_of
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.metrics import matching
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run, true_config
from tests.support.tiers import daily
from tests.wavecluster.test_reference import GRIDS

SEEDS = tuple(range(3, 23))


@pytest.fixture(scope="module")
def incomes():
    return load_sample("incomes")


@pytest.fixture(scope="module")
def gaussians():
    return load_sample("gaussians")


def plain_answer(met: list[bool]) -> int | None:
    """First index from which on all targets are met, by the definition."""
    return next((place for place in range(len(met)) if all(met[place:])), None)


# ---- the grid and the two ways to search it


def test_the_grid_has_ten_budgets_a_decade_to_three_digits():
    assert (GRID[0], GRID[10], GRID[20], GRID[30]) == (0.01, 0.1, 1.0, 10.0)
    assert len(GRID) == 31
    assert all(float(f"{epsilon:.3g}") == epsilon for epsilon in GRID)
    np.testing.assert_allclose(np.diff(np.log10(GRID)), 0.1, atol=0.003)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_trying_every_budget_is_the_plain_definition(met):
    assert smallest._first_of_all(met.__getitem__, len(met)) == plain_answer(met)


@given(st.integers(1, 40), st.integers(0, 40), st.data())
def test_halving_agrees_where_the_share_wavers_only_near_its_target(n, first, data):
    first = min(first, n)
    near = data.draw(st.lists(st.booleans(), min_size=3, max_size=3))
    # First the targets are not met, then at random three times, then always.
    met = ([False] * first + near + [True] * n)[:n]
    asked = []

    def ask(place):
        asked.append(place)
        return met[place]

    found = smallest._first_by_halves(ask, n)
    assert found == plain_answer(met)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_halving_never_answers_with_a_budget_that_fails(met):
    found = smallest._first_by_halves(met.__getitem__, len(met))
    assert (found is None) == (not met[-1])
    if found is not None:
        assert all(met[found : found + 4])


# ---- smallest epsilon compared with a sweep


def swept(dataset, config, target, seeds, epsilons):
    """Shares of draws that meet a target, computed by a sweep and not by the search."""
    rows = []
    for epsilon in epsilons:
        trial = trial_of(dataset, replace(config, epsilon=epsilon))
        values = [trial.scores(trial.draw(s), s, (target.score,))[target.score] for s in seeds]
        met = [v <= target.value if target.sign == "<=" else v >= target.value for v in values]
        rows.append(sum(met) / len(met))
    return rows


@pytest.mark.parametrize("name", ["ds1", "ds2"])
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("privthr", Target("dsg_c", "<=", 0.2)),
        ("privthrem", Target("dsg_c", "<=", 0.2)),
        ("privthrem", Target("f_measure", ">=", 0.9)),
        ("privqt", Target("dsg_c", "<=", 0.2)),
    ],
    ids=str,
)
def test_goal_seek_agrees_with_a_sweep(reference, name, method, target):
    grid, density = GRIDS[name]
    config = Config(method=method, grid=grid, density=density)
    data = reference(name)
    shares = swept(data, config, target, SEEDS, GRID)
    place = plain_answer([share >= 0.9 for share in shares])
    found = smallest_epsilon(data, config, target, seeds=SEEDS, search="every")
    np.testing.assert_allclose(found.shares, shares)
    assert found.epsilon == (None if place is None else GRID[place])
    halved = smallest_epsilon(data, config, target, seeds=SEEDS, search="bisect")
    assert halved.tried.sum() < len(GRID) / 2
    np.testing.assert_allclose(halved.shares[halved.tried], np.array(shares)[halved.tried])
    assert (halved.epsilon is None) == (found.epsilon is None)
    if found.epsilon is not None:
        assert abs(GRID.index(halved.epsilon) - place) <= 1


@pytest.mark.parametrize(
    ("method", "target"),
    daily(
        [
            ("dplloyd", Target("nicv_ratio", "<=", 1.2)),
            ("eugkm", Target("f_measure", ">=", 0.95)),
            ("eugkm", Target("nicv_ratio", "<=", 0.5)),
            ("hybrid", Target("displacement", "<=", 0.02)),
        ],
        lambda one: one[0] == "dplloyd",
    ),
    ids=str,
)
def test_goal_seek_of_slow_methods_agrees_with_a_sweep(incomes, method, target):
    config, seeds = KMeansConfig(method=method, clusters=2), SEEDS[:10]
    found = smallest_epsilon(incomes, config, target, seeds=seeds)
    assert found.tried.sum() < len(GRID) / 2
    plain = smallest_epsilon(incomes, config, target, seeds=seeds, search="every")
    assert plain.tried.all()
    places = [math.inf if g.epsilon is None else GRID.index(g.epsilon) for g in (found, plain)]
    assert places[0] == places[1] or abs(places[0] - places[1]) <= 1


def test_every_budget_has_the_draws_of_the_same_seeds(incomes):
    config = Config(method="privthr", grid=16, density=0.5)
    target = Target("dsg_c", "<=", 0.3)
    goal = smallest_epsilon(incomes, config, target, seeds=(5, 2), epsilons=(2.0, 0.5))
    assert goal.epsilons == (0.5, 2.0)
    truth = Truth(Source.build(incomes, 16), true_config(config))
    for row, epsilon in enumerate(goal.epsilons):
        for column, seed in enumerate((5, 2)):
            one = run(truth.source, replace(config, epsilon=epsilon), SeededNoise(seed)).stages
            expected = matching.dsg_c(truth.stages.labels, one.labels)
            assert goal.values[row, column] == expected
    assert goal.bands[0.5].median == np.median(goal.values[0])


def test_the_share_that_is_asked_for_decides(gaussians):
    config = Config(method="privthr", grid=64, density=0.58)
    ask = partial(smallest_epsilon, gaussians, config, Target("dsg_c", "<=", 0.3), seeds=SEEDS)
    answers = [ask(share=share).epsilon for share in (0.5, 0.9, 1.0)]
    assert None not in answers
    assert answers == sorted(answers)
    assert answers[0] < answers[-1]


def test_a_domain_and_points_outside_reach_the_data(incomes):
    config, target = Config(method="privthr", grid=16, density=0.5), Target("ami", ">=", 0.3)
    half = replace(incomes.domain, bounds=((0, 5000), (0, 4000)))
    values = [
        smallest_epsilon(
            incomes, config, target, domain=domain, outside=outside, seeds=(1,), epsilons=(0.3,)
        ).values[0, 0]
        for domain, outside in ((None, "clip"), (half, "clip"), (half, "drop"))
    ]
    assert len(set(values)) == 3


# ---- the message about it


def goal_of(rows, epsilon, epsilons=(0.5, 1.0, 2.0, 4.0), tried=None):
    """Goal with given scores for four draws."""
    return SmallestEpsilon(
        target=Target("dsg_c", "<=", 0.2),
        share=0.75,
        epsilons=epsilons,
        seeds=(0, 1, 2, 3),
        values=np.array(rows, dtype=float),
        tried=np.ones(len(rows), dtype=bool) if tried is None else np.array(tried),
        epsilon=epsilon,
    )


BAD, GOOD, HALF = [1, 1, 1, 1], [0.1, 0.2, 0.1, 1], [0.1, 0.1, 1, 1]


def test_shares_and_bands_are_those_of_the_draws_that_were_made():
    goal = goal_of([BAD, [math.nan] * 4, GOOD, GOOD], 2.0, tried=(True, False, True, True))
    np.testing.assert_array_equal(goal.shares, [0, math.nan, 0.75, 0.75])
    assert list(goal.bands) == [0.5, 2.0, 4.0]
    assert goal.early == ()
    assert goal.summary == (
        "ε = 2 met DSG_C ≤ 0.2 in 3 of 4 draws (with 95% confidence, 19% to 100% of all possible "
        "draws meet it). At every larger budget that was tried, 75% or more of the draws met it "
        "too."
    )


@pytest.mark.parametrize(
    ("met", "n", "low", "high"), [(45, 50, 78, 97), (50, 50, 92, 100), (180, 200, 84, 94)]
)
def test_the_answer_says_how_sure_it_is(met, n, low, high):
    """Exact bounds: at a bound, this number or a more extreme number of draws occurs once in 40."""
    goal = goal_of([[0.1] * met + [1.0] * (n - met)], 0.5, epsilons=(0.5,))
    goal = replace(goal, seeds=tuple(range(n)))
    assert f"met DSG_C ≤ 0.2 in {met} of {n} draws" in goal.summary
    assert f"(with 95% confidence, {low}% to {high}% of all possible draws meet it)" in goal.summary
    assert "enough" not in goal.summary
    # Rounded outwards: the number is rarer at a reported bound, but not 1% inside the bounds.
    for ends, rarer in (((low, high), True), ((low + 1, high - 1), False)):
        assert (stats.binom.sf(met - 1, n, ends[0] / 100) <= 0.025) == rarer
        if met < n:
            assert (stats.binom.cdf(met, n, ends[1] / 100) <= 0.025) == rarer


def test_a_way_that_is_not_steady_is_told():
    goal = goal_of([GOOD, BAD, GOOD, GOOD], 2.0)
    assert goal.early == (0.5,)
    assert "ε = 0.5 met it too, but a larger ε below the answer did not." in goal.summary
    gone = goal_of([BAD, GOOD, GOOD, HALF], None)
    assert gone.early == (1.0, 2.0)
    assert (
        "met in 3 of 4 draws at ε = 1, but not at every larger budget up to ε = 4" in gone.summary
    )


@pytest.mark.parametrize(
    ("rows", "epsilon", "said"),
    [
        ([BAD, HALF, BAD, BAD], None, "the best is 2 of 4 draws, at ε = 1."),
        ([BAD] * 4, None, "DSG_C ≤ 0.2 is met in no draw"),
        ([GOOD] * 4, 0.5, "It is the smallest ε that was tried; a smaller ε may be enough."),
        ([BAD, BAD, BAD, GOOD], 4.0, "It is the largest ε that was tried."),
    ],
)
def test_the_ends_of_the_grid_are_told(rows, epsilon, said):
    assert said in goal_of(rows, epsilon).summary


def test_a_draw_without_a_score_meets_nothing():
    values = np.array([math.nan, 0.1, math.inf])
    assert Target("dsg_c", "<=", 0.2).met(values).tolist() == [False, True, False]
    assert Target("dsg_c", ">=", 0.2).met(values).tolist() == [False, False, True]

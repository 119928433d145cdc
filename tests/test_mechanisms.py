"""Mechanisms draw from the stated law, and nothing is drawn that is not paid for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.errors import InputError, PrivacyRefusal
from dpviz.noise import SeededNoise
from dpviz.privacy.ledger import RELATIONS, Ledger, Neighbours, Spend
from dpviz.privacy.mechanisms import Accountant

#: With the seeds fixed here a test passes always or never; a new stream would fail one
#: by chance with this probability.
FALSE_ALARM = 1e-4

quick = settings(max_examples=80, deadline=None)

units = st.builds(Neighbours, relation=st.sampled_from(RELATIONS), cap=st.integers(1, 50))


class FixedUniform:
    """Noise source that hands out given uniform numbers, and the scales it is asked for."""

    def __init__(self, *uniform: float) -> None:
        self.numbers = np.array(uniform)
        self.scales: list[float] = []

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.scales.append(scale)
        return np.full(shape, scale)

    def uniform(self, step: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return self.numbers.reshape(shape)


# -- Laplace mechanism -------------------------------------------------------------------


@quick
@given(
    neighbours=units,
    sensitivity=st.floats(1e-3, 1e3),
    epsilon=st.floats(1e-3, 1e3),
)
def test_laplace_scale_is_sensitivity_times_units_over_epsilon(
    neighbours: Neighbours, sensitivity: float, epsilon: float
) -> None:
    noise = FixedUniform()
    accountant = Accountant(noise, epsilon, neighbours)
    noisy = accountant.laplace("step", np.ones((2, 3)), sensitivity=sensitivity, epsilon=epsilon)
    records = neighbours.cap * (2 if neighbours.relation == "replace_one" else 1)
    assert noise.scales == [pytest.approx(sensitivity * records / epsilon, rel=1e-12)]
    np.testing.assert_array_equal(noisy, 1 + noise.scales[0] * np.ones((2, 3)))
    (spend,) = accountant.ledger
    assert (spend.step, spend.epsilon, spend.scale) == ("step", epsilon, noise.scales[0])
    assert spend.sensitivity == sensitivity * records


def test_noise_on_a_number_is_a_number() -> None:
    noisy = Accountant(SeededNoise(0), 1.0).laplace("n", 7, sensitivity=1, epsilon=1.0)
    assert noisy.shape == ()


def test_laplace_noise_has_the_law_of_its_spend() -> None:
    accountant = Accountant(SeededNoise(0), 0.5, Neighbours(relation="replace_one", cap=3))
    noisy = accountant.laplace("counts", np.full(30_000, 4), sensitivity=2, epsilon=0.5)
    law = stats.laplace(loc=4, scale=2 * 6 / 0.5)
    assert stats.kstest(noisy, law.cdf).pvalue > FALSE_ALARM


# -- exponential mechanism over intervals ------------------------------------------------


def probabilities(edges: list, scores: list, sensitivity: float, epsilon: float) -> list[float]:
    """Exact law: length times exp(epsilon * score / (2 * sensitivity)), one by one."""
    weights = [
        (high - low) * math.exp(epsilon * score / (2 * sensitivity))
        for low, high, score in zip(edges[:-1], edges[1:], scores, strict=True)
    ]
    return [weight / sum(weights) for weight in weights]


EDGES = [0.0, 0.5, 0.5, 2.0, 2.25, 2.25, 7.0, 7.5]
SCORES = [-3.0, -2.0, -1.0, 0.0, 1.0, -1.0, -2.0]


def many_draws(relation: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Interval and value of 4,000 draws of the mechanism."""
    index, value = [], []
    neighbours = Neighbours(relation=relation)
    for seed in range(4000):
        accountant = Accountant(SeededNoise(seed), 1.5, neighbours)
        drawn = accountant.interval(
            "threshold", np.array(EDGES), np.array(SCORES), sensitivity=0.8, epsilon=1.5
        )
        index.append(drawn[0])
        value.append(drawn[1])
    return np.array(index), np.array(value)


@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_are_chosen_with_the_exact_probabilities(relation: str) -> None:
    index, value = many_draws(relation)
    expected = probabilities(EDGES, SCORES, 0.8 * (2 if relation == "replace_one" else 1), 1.5)
    chosen = np.bincount(index, minlength=len(SCORES))
    possible = np.array(expected) > 0
    assert not chosen[~possible].any()
    counts = np.array(expected)[possible] * len(index)
    assert stats.chisquare(chosen[possible], counts).pvalue > FALSE_ALARM
    # Within its interval the value is uniform, and never the lower end.
    low, high = np.array(EDGES)[index], np.array(EDGES)[index + 1]
    assert ((low < value) & (value <= high)).all()
    assert stats.kstest((high - value) / (high - low), "uniform").pvalue > FALSE_ALARM


@st.composite
def lines(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges with repeats, at least one interval of positive length, and scores."""
    steps = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 8.0]), min_size=1, max_size=12))
    if not any(steps):
        steps[draw(st.integers(0, len(steps) - 1))] = 1.0
    edges = np.cumsum([draw(st.sampled_from([0.0, -3.0, 5.0])), *steps])
    score = st.floats(-1e9, 1e9) | st.sampled_from([-1e300, 1e300, 0.0])
    return edges, np.array(draw(st.lists(score, min_size=len(steps), max_size=len(steps))))


unit_interval = st.floats(0, 1, exclude_max=True) | st.sampled_from([0.0, 1 - 2**-53])

#: Places whose products with the lengths above are exact.
exact_places = st.integers(0, 2**24 - 1).map(lambda number: number / 2**24)


@quick
@given(line=lines(), pick=unit_interval, place=exact_places, epsilon=st.floats(1e-3, 1e3))
def test_chosen_interval_has_a_length_and_holds_the_value(
    line: tuple, pick: float, place: float, epsilon: float
) -> None:
    # Scores of any size: their exponentials must neither overflow nor all vanish.
    edges, scores = line
    accountant = Accountant(FixedUniform(pick, place), epsilon)
    index, value = accountant.interval("t", edges, scores, sensitivity=1, epsilon=epsilon)
    assert edges[index] < value <= edges[index + 1]


def test_value_is_above_the_lower_end_even_where_rounding_pulls_it_down() -> None:
    accountant = Accountant(FixedUniform(0.0, 1 - 2**-53), 1.0)
    edges = np.array([5.0, 5.25])
    _, value = accountant.interval("t", edges, np.zeros(1), sensitivity=1, epsilon=1.0)
    assert value > 5.0


@quick
@given(line=lines(), pick=unit_interval, shift=st.sampled_from([-4096.0, 2.0**20]))
def test_choice_depends_on_differences_of_scores_alone(
    line: tuple, pick: float, shift: float
) -> None:
    edges, scores = line[0], np.round(np.clip(line[1], -1e6, 1e6))
    chosen = [
        Accountant(FixedUniform(pick, 0.5), 1.0).interval(
            "t", edges, moved, sensitivity=1, epsilon=1.0
        )
        for moved in (scores, scores + shift)
    ]
    assert chosen[0] == chosen[1]


def test_interval_spends_with_the_factor_two_of_a_score_that_may_fall_or_rise() -> None:
    accountant = Accountant(FixedUniform(0.5, 0.5), 0.4, Neighbours(cap=3))
    accountant.interval("threshold", np.array([0.0, 1.0]), np.zeros(1), sensitivity=5, epsilon=0.4)
    assert list(accountant.ledger) == [
        Spend(step="threshold", epsilon=0.4, sensitivity=15, scale=pytest.approx(75.0))
    ]


@pytest.mark.parametrize("pick", [0.0, 0.1, 0.4, 0.7, 0.999])
def test_a_pick_falls_where_the_cumulated_law_says(pick: float) -> None:
    accountant = Accountant(FixedUniform(pick, 0.0), 1.5)
    index, _ = accountant.interval(
        "t", np.array(EDGES), np.array(SCORES), sensitivity=0.8, epsilon=1.5
    )
    cumulated = np.cumsum(probabilities(EDGES, SCORES, 0.8, 1.5))
    assert index == int(np.argmax(cumulated > pick))


# -- budget and ledger -------------------------------------------------------------------


@quick
@given(
    shares=st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8),
    budget=st.floats(1e-3, 1e3),
)
def test_all_of_the_budget_can_be_spent_and_no_more(shares: list[float], budget: float) -> None:
    accountant = Accountant(SeededNoise(0), budget)
    for number, share in enumerate(shares):
        epsilon = budget * share / sum(shares)
        accountant.laplace(f"step {number}", 0.0, sensitivity=1, epsilon=epsilon)
    assert accountant.ledger.epsilon == pytest.approx(budget, rel=1e-12)
    before = accountant.ledger
    with pytest.raises(PrivacyRefusal, match="step more asks for epsilon"):
        accountant.laplace("more", 0.0, sensitivity=1, epsilon=budget * 1e-6)
    assert accountant.ledger == before


def test_a_refused_request_draws_no_noise() -> None:
    noise = FixedUniform(0.5, 0.5)
    accountant = Accountant(noise, 1.0)
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("counts", 0.0, sensitivity=1, epsilon=1.1)
    with pytest.raises(PrivacyRefusal):
        accountant.interval("t", np.array([0.0, 1.0]), np.zeros(1), sensitivity=1, epsilon=1.1)
    assert (noise.scales, accountant.ledger.spends) == ([], ())


@pytest.mark.parametrize("epsilon", [math.nan, -1.0, 0.0, -math.inf])
def test_a_request_that_is_no_positive_number_is_refused(epsilon: float) -> None:
    accountant = Accountant(SeededNoise(0), 1.0)
    with pytest.raises((PrivacyRefusal, InputError)):
        accountant.laplace("counts", 0.0, sensitivity=1, epsilon=epsilon)


def spend(step: str, epsilon: float, composition: str = "sequential") -> Spend:
    """One spend of which only these facts matter."""
    return Spend(step=step, epsilon=epsilon, sensitivity=1, scale=1, composition=composition)


def test_sequential_spends_add_and_parallel_ones_of_a_step_count_once() -> None:
    ledger = Ledger(
        (
            spend("a", 0.25),
            spend("a", 0.25),
            *(spend("b", epsilon, "parallel") for epsilon in (0.5, 2.0, 1.0)),
            spend("c", 0.125),
            *(spend("d", epsilon, "parallel") for epsilon in (4.0, 3.0)),
        )
    )
    assert ledger.epsilon == 0.25 + 0.25 + 2.0 + 0.125 + 4.0
    assert [one.step for one in ledger] == list("aabbbcdd")
    assert Ledger().epsilon == 0


def test_accountant_lets_parallel_spends_share_a_budget() -> None:
    accountant = Accountant(SeededNoise(0), 1.0)
    for _ in range(5):
        accountant.laplace("cells", 0.0, sensitivity=1, epsilon=1.0, composition="parallel")
    assert accountant.ledger.epsilon == 1.0
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("other", 0.0, sensitivity=1, epsilon=0.1, composition="parallel")


# -- neighbours --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "cap", "records"),
    [
        ("add_remove", 1, 1),
        ("add_remove", 7, 7),
        ("replace_one", 1, 2),
        ("replace_one", 7, 14),
    ],
)
def test_neighbours_differ_by_cap_or_twice_the_cap_records(
    relation: str, cap: int, records: int
) -> None:
    neighbours = Neighbours(relation=relation, cap=cap)
    assert neighbours.multiplier == records


@pytest.mark.parametrize("wrong", [{"relation": "swap"}, {"relation": ""}])
def test_unknown_relation_is_refused(wrong: dict) -> None:
    with pytest.raises(InputError, match="add_remove or replace_one"):
        Neighbours(**wrong)


@pytest.mark.parametrize("cap", [0, -1, 1.5, True])
def test_cap_that_is_no_number_of_records_is_refused(cap: int) -> None:
    with pytest.raises(InputError, match=f"cap = {cap}"):
        Neighbours(cap=cap)


def test_accountant_keeps_one_relation_and_unit_on_the_ledger() -> None:
    neighbours = Neighbours(relation="replace_one", cap=2)
    assert Accountant(SeededNoise(0), 1.0, neighbours).ledger.neighbours == neighbours
    assert Accountant(SeededNoise(0), 1.0).ledger.neighbours == Neighbours()

"""Mechanisms sample from the stated distribution, and put every noise scale on the ledger."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.privacy.explain import (
    explain_epsilon,
    explain_guess,
    explain_surest,
    promises_little,
    surest,
    surest_words,
)
from dpviz.privacy.ledger import RELATIONS, Ledger, Neighbours, Spend, check_epsilon
from dpviz.privacy.mechanisms import Accountant, interval_weights
from dpviz.privacy.noise_source import SeededNoise
from tests.support.tiers import examples

#: With the fixed seeds a test always passes or always fails. With new random numbers a correct test
#: would fail with this probability.
FALSE_ALARM = 1e-4

quick = examples(80)

units = st.builds(Neighbours, relation=st.sampled_from(RELATIONS), cap=st.integers(1, 50))


class FixedUniform:
    """Noise source that returns given uniform numbers, and stores the requested scales."""

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
    """Exact probabilities by a loop: length times exp(epsilon * score / (2 * sensitivity))."""
    weights = [
        (high - low) * math.exp(epsilon * score / (2 * sensitivity))
        for low, high, score in zip(edges[:-1], edges[1:], scores, strict=True)
    ]
    return [weight / sum(weights) for weight in weights]


EDGES = [0.0, 0.5, 0.5, 2.0, 2.25, 2.25, 7.0, 7.5]
SCORES = [-3.0, -2.0, -1.0, 0.0, 1.0, -1.0, -2.0]


def many_draws(relation: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
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
    # Within its interval the value is uniform, and it is never the lower end.
    low, high = np.array(EDGES)[index], np.array(EDGES)[index + 1]
    assert ((low < value) & (value <= high)).all()
    assert stats.kstest((high - value) / (high - low), "uniform").pvalue > FALSE_ALARM


def test_weights_are_in_proportion_to_the_law() -> None:
    # The noise scale is 2 * sensitivity / epsilon.
    weights = interval_weights(np.array(EDGES), np.array(SCORES), 2 * 0.8 / 1.5)
    assert weights.max() == 1
    expected = probabilities(EDGES, SCORES, 0.8, 1.5)
    np.testing.assert_allclose(weights / weights.sum(), expected, rtol=1e-12)
    found = np.bincount(many_draws("add_remove")[0], minlength=len(SCORES))
    drawn = weights > 0
    assert not found[~drawn].any()
    counts = (weights / weights.sum() * found.sum())[drawn]
    assert stats.chisquare(found[drawn], counts).pvalue > FALSE_ALARM


@st.composite
def lines(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random edges with repetitions, at least one interval of positive length, and scores."""
    steps = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 8.0]), min_size=1, max_size=12))
    if not any(steps):
        steps[draw(st.integers(0, len(steps) - 1))] = 1.0
    edges = np.cumsum([draw(st.sampled_from([0.0, -3.0, 5.0])), *steps])
    score = st.floats(-1e9, 1e9) | st.sampled_from([-1e300, 1e300, 0.0])
    return edges, np.array(draw(st.lists(score, min_size=len(steps), max_size=len(steps))))


unit_interval = st.floats(0, 1, exclude_max=True) | st.sampled_from([0.0, 1 - 2**-53])

#: Positions whose products with the lengths above are exact.
exact_places = st.integers(0, 2**24 - 1).map(lambda number: number / 2**24)


@quick
@given(line=lines(), pick=unit_interval, place=exact_places, epsilon=st.floats(1e-3, 1e3))
def test_chosen_interval_has_a_length_and_holds_the_value(
    line: tuple, pick: float, place: float, epsilon: float
) -> None:
    # Scores of any size: their exponentials must not overflow, and at least one must stay above 0.
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


# -- Laplace mechanism on disjoint rows --------------------------------------------------


class FixedNoise(FixedUniform):
    """Noise source that returns given noise of scale 1, and stores the requested scales."""

    def __init__(self, unit: NDArray[np.float64]) -> None:
        super().__init__()
        self.unit = unit

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.scales.append(scale)
        return scale * self.unit.reshape(shape)

    gumbel = laplace


@quick
@given(
    neighbours=units,
    sensitivity=st.floats(1e-3, 1e3),
    shares=st.lists(st.floats(1e-3, 1), min_size=1, max_size=6),
    columns=st.integers(1, 4),
)
def test_each_disjoint_row_gets_the_noise_of_its_own_budget(
    neighbours: Neighbours, sensitivity: float, shares: list[float], columns: int
) -> None:
    unit = np.random.default_rng(0).normal(size=(len(shares), columns))
    values = np.arange(unit.size, dtype=float).reshape(unit.shape)
    accountant = Accountant(FixedNoise(unit), max(shares), neighbours)
    noisy = accountant.laplace_disjoint(
        "rows", values, sensitivity=sensitivity, epsilons=np.array(shares)
    )
    records = neighbours.cap * (2 if neighbours.relation == "replace_one" else 1)
    for k, (spend, share) in enumerate(zip(accountant.ledger, shares, strict=True)):
        assert (spend.step, spend.epsilon, spend.composition) == ("rows", share, "parallel")
        assert spend.sensitivity == pytest.approx(sensitivity * records)
        assert spend.scale == pytest.approx(sensitivity * records / share)
        np.testing.assert_array_equal(noisy[k], values[k] + spend.scale * unit[k])
    # Rows depend on disjoint records, so the total cost is the largest budget.
    assert accountant.ledger.epsilon == max(shares)


@quick
@given(
    seed=st.integers(0, 999),
    rows=st.integers(1, 5),
    neighbours=units,
    epsilon=st.floats(0.01, 10),
)
def test_disjoint_rows_cost_the_largest_budget_wherever_the_records_lie(
    seed: int, rows: int, neighbours: Neighbours, epsilon: float
) -> None:
    # A person who joins or leaves has up to the allowed number of records, in any rows. An exchange
    # also removes as many. The loss is the sum over rows of the change divided by the scale.
    rng = np.random.default_rng(seed)
    shares = epsilon * rng.uniform(0.1, 1, rows)
    accountant = Accountant(SeededNoise(0), epsilon, neighbours)
    accountant.laplace_disjoint("rows", np.zeros((rows, 2)), sensitivity=3, epsilons=shares)
    scales = np.array([spend.scale for spend in accountant.ledger])
    changes = np.bincount(rng.integers(rows, size=neighbours.multiplier), minlength=rows) * 3.0
    assert (changes / scales).sum() <= shares.max() * (1 + 1e-12)


def test_disjoint_rows_have_the_law_of_their_spends() -> None:
    accountant = Accountant(SeededNoise(0), 1.0)
    shares = np.array([0.25, 1.0, 0.5])
    noisy = accountant.laplace_disjoint(
        "rows", np.full((3, 20_000), 7.0), sensitivity=2, epsilons=shares
    )
    for row, share in zip(noisy, shares, strict=True):
        law = stats.laplace(loc=7, scale=2 / share)
        assert stats.kstest(row, law.cdf).pvalue > FALSE_ALARM
    assert stats.spearmanr(noisy[0], noisy[1]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("wrong", [1.1, 0.0, -0.5, math.nan, math.inf])
def test_a_row_that_can_not_be_paid_for_takes_all_rows_along(wrong: float) -> None:
    noise = FixedNoise(np.zeros(6))
    accountant = Accountant(noise, 1.0)
    with pytest.raises(PrivacyRefusal, match="step rows asks for epsilon"):
        accountant.laplace_disjoint(
            "rows", np.zeros((3, 2)), sensitivity=1, epsilons=np.array([0.5, wrong, 0.7])
        )
    # No noise was drawn, so the ledger must be empty.
    assert (noise.scales, accountant.ledger.spends) == ([], ())


# -- exponential mechanism over candidates -----------------------------------------------

CANDIDATES = [-3.0, 0.0, -1.0, 0.5, -8.0, -math.inf, -0.25]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("monotone", [True, False])
def test_candidates_are_chosen_with_the_exact_probabilities(relation: str, monotone: bool) -> None:
    unit = Neighbours(relation=relation)
    records = 2 if relation == "replace_one" else 1
    chosen = np.zeros(len(CANDIDATES))
    for seed in range(4000):
        accountant = Accountant(SeededNoise(seed), 1.5, unit)
        scores = np.array(CANDIDATES)
        number = accountant.choose("c", scores, sensitivity=0.8, epsilon=1.5, monotone=monotone)
        chosen[number] += 1
    # exp(epsilon score / (2 sensitivity)); without the factor 2 if all scores change in one
    # direction.
    rate = 1.5 / (0.8 * records * (1 if monotone else 2))
    weights = [math.exp(rate * score) for score in CANDIDATES]
    expected = 4000 * np.array(weights) / sum(weights)
    possible = expected > 0
    assert not chosen[~possible].any()
    assert stats.chisquare(chosen[possible], expected[possible]).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("monotone", "factor"), [(True, 1), (False, 2)])
def test_a_choice_spends_with_the_factor_of_its_score(monotone: bool, factor: int) -> None:
    accountant = Accountant(FixedNoise(np.zeros(3)), 0.4, Neighbours(cap=3))
    number = accountant.choose(
        "best", np.array([1.0, 5.0, 2.0]), sensitivity=5, epsilon=0.4, monotone=monotone
    )
    assert number == 1  # without noise nothing is hidden
    assert list(accountant.ledger) == [
        Spend(step="best", epsilon=0.4, sensitivity=15, scale=pytest.approx(factor * 15 / 0.4))
    ]


@quick
@given(
    neighbours=units,
    scores=st.lists(st.floats(-20, 20), min_size=1, max_size=8),
    seed=st.integers(0, 2**32),
    monotone=st.booleans(),
    extreme=st.booleans(),
)
def test_a_choice_loses_no_more_than_its_budget(
    neighbours: Neighbours, scores: list[float], seed: int, monotone: bool, extreme: bool
) -> None:
    rng, epsilon = np.random.default_rng(seed), 0.7
    accountant = Accountant(SeededNoise(0), epsilon, neighbours)
    one = np.array(scores)
    accountant.choose("c", one, sensitivity=1.3, epsilon=epsilon, monotone=monotone)
    (spend,) = accountant.ledger
    # Changes of the scores by the records of one unit. Monotone scores all fall; an exchange
    # removes one unit and adds another unit.
    parts = rng.uniform(0, 1, (2, len(one)))
    if extreme:
        parts = np.round(parts)
    most = 1.3 * neighbours.cap
    other = one - most * (parts[0] if monotone else 2 * parts[0] - 1)
    if neighbours.relation == "replace_one":
        other = other + most * (parts[1] if monotone else 2 * parts[1] - 1)
    laws = []
    for values in (one, other):
        weights = np.exp((values - values.max()) / spend.scale)
        laws.append(np.log(weights / weights.sum()))
    assert np.abs(laws[0] - laws[1]).max() <= epsilon * (1 + 1e-9)


def test_no_smaller_noise_would_do_for_a_choice() -> None:
    # Many candidates: one score rises, all others fall. Then the loss is as close as possible to
    # epsilon.
    for monotone, change in ((False, 1.0), (True, 0.0)):
        accountant = Accountant(SeededNoise(0), 1.0)
        one = np.zeros(100_000)
        accountant.choose("c", one, sensitivity=1, epsilon=1.0, monotone=monotone)
        (spend,) = accountant.ledger
        other = np.full(100_000, -1.0)
        other[0] = change
        laws = [np.exp(x / spend.scale) / np.exp(x / spend.scale).sum() for x in (one, other)]
        assert 0.99 < math.log(laws[1][0] / laws[0][0]) <= 1


def test_a_refused_choice_draws_no_noise() -> None:
    noise = FixedNoise(np.zeros(2))
    accountant = Accountant(noise, 1.0)
    for epsilon in (1.1, 0.0, math.nan):
        with pytest.raises(PrivacyRefusal):
            accountant.choose("c", np.zeros(2), sensitivity=1, epsilon=epsilon)
    assert (noise.scales, accountant.ledger.spends) == ([], ())


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


def test_what_is_left_of_a_budget_is_unspent_beyond_rounding() -> None:
    tenths = Ledger(tuple(spend(f"{part}", 0.1) for part in range(3)))
    assert tenths.unspent(0.3) == 0
    assert tenths.unspent(0.4) == pytest.approx(0.1)
    assert Ledger().unspent(2.0) == 2


def test_accountant_lets_parallel_spends_share_a_budget() -> None:
    accountant = Accountant(SeededNoise(0), 1.0)
    accountant.laplace_disjoint("cells", np.zeros((5, 1)), sensitivity=1, epsilons=np.ones(5))
    assert accountant.ledger.epsilon == 1.0
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("other", 0.0, sensitivity=1, epsilon=0.1)


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


@given(epsilon=st.floats(1e-6, 13.8))
def test_odds_in_words_are_never_too_small(epsilon: float) -> None:
    said = explain_epsilon(epsilon, Neighbours())
    of_one, of_three = (
        float(found.replace(",", "")) if found else math.inf
        for found in re.findall(r"(?:at most ([\d.,]+)|a million) times", said)
    )
    assert math.exp(epsilon) <= of_one * (1 + 1e-12)
    assert of_one <= math.exp(epsilon) * 1.01 + 0.01
    assert math.exp(3 * epsilon) <= of_three * (1 + 1e-12)
    if of_three < math.inf:
        assert of_three <= math.exp(3 * epsilon) * 1.01 + 0.01


def test_odds_in_words() -> None:
    assert explain_epsilon(1, Neighbours()) == (
        "ε = 1: any result is at most 2.72 times as likely with one record of yours as "
        "without it; for three records of yours, at most 20.09 times."
    )
    assert "with up to 3 records of yours as with others in their place." in explain_epsilon(
        0.5, Neighbours(relation="replace_one", cap=3)
    )
    assert "at most 1.0101 times" in explain_epsilon(0.01, Neighbours())
    assert "at most 1.00000101 times" in explain_epsilon(1e-6, Neighbours())
    assert explain_epsilon(100, Neighbours()) == (
        "ε = 100: any result may be more than a million times as likely with one record of yours "
        "as without it; for three records of yours, more than a million times. That promises "
        "little: a guess on one record of yours: next to certain."
    )


def test_a_persons_one_record_is_said_as_such() -> None:
    said = explain_epsilon(1, Neighbours(), persons=True)
    assert said.endswith("with you as without you; one record of yours at most takes part.")
    said = explain_epsilon(1, Neighbours(cap=3), persons=True)
    assert said.endswith("with you as without you; 3 records of yours at most take part.")


@given(epsilon=st.floats(1e-6, 20))
def test_nobody_is_surer_than_the_sentence_says(epsilon: float) -> None:
    # Bayes' rule with a prior of 1/2 and the largest likelihood ratio.
    odds = math.exp(epsilon)
    assert surest(epsilon) == pytest.approx(odds / (1 + odds))
    said, _, _ = explain_surest(epsilon, Neighbours()).partition(" For three")
    percent = 100.0 if "next to certain" in said else float(said.split(", is ")[1].split("%")[0])
    assert 100 * surest(epsilon) <= percent + 1e-9
    assert percent <= 100 * surest(epsilon) + 0.1 + 1e-9


def test_certainty_in_words() -> None:
    said = explain_surest(1, Neighbours())
    assert "whether one record of yours is in the data, is 73.2% sure at most" in said
    # The sentence also states the risk of a person with several records: three records give e^3.
    three = "For three records that are in the data together, or not at all, this observer is"
    assert said.endswith(f" {three} 95.3% sure at most.")
    said = explain_surest(1, Neighbours(cap=3), persons=True)
    assert said.endswith("whether you are in the data, is 73.2% sure at most after the release.")


#: Relations, caps, and whether the unit is a person: all kinds of privacy units.
UNITS = [
    (Neighbours(relation=relation, cap=cap), persons)
    for relation in RELATIONS
    for cap in (1, 2, 7)
    for persons in (False, True)
]


@given(epsilon=st.floats(1e-6, 40), unit=st.sampled_from(UNITS))
def test_every_sentence_on_a_guess_says_of_which_unit(
    epsilon: float, unit: tuple[Neighbours, bool]
) -> None:
    neighbours, persons = unit
    named = "you are" if persons else f"up to {neighbours.cap} records of yours are"
    if neighbours.cap == 1 and not persons:
        named = "one record of yours is"
    guess = explain_guess(epsilon, neighbours, persons=persons)
    on = "whether you took part" if persons else f"on {named.rpartition(' ')[0]}"
    assert guess.startswith(f"a guess {on}: ")
    assert guess.endswith(surest_words(epsilon))
    assert f"{named} in the data, is " in explain_surest(epsilon, neighbours, persons=persons)
    said = explain_epsilon(epsilon, neighbours, persons=persons)
    # The sentence says "little" exactly if the shown number is above 90%.
    shown = re.search(r"([\d.]+)% sure", guess)
    assert promises_little(epsilon) == (shown is None or float(shown[1]) > 90)
    assert said.endswith(f" That promises little: {guess}.") == promises_little(epsilon)
    # An exchanged record is never called missing, and a person is never called a record.
    gone = "without" in said
    assert gone == (neighbours.relation == "add_remove")
    assert ("with you as" in said) == persons
    assert ("for three records of yours" in said) == (not persons and neighbours.cap == 1)


@pytest.mark.some(9)
@pytest.mark.parametrize(
    ("epsilon", "usable"),
    [
        (1e-6, True),
        (1, True),
        (1e6, True),
        (0, False),
        (9.99e-7, False),
        (-1.0, False),
        (1.01e6, False),
        (math.inf, False),
        (math.nan, False),
    ],
)
def test_a_budget_is_neither_nothing_nor_everything(epsilon: float, usable: bool) -> None:
    if usable:
        assert check_epsilon(epsilon) == epsilon
    else:
        with pytest.raises(InputError, match="give a number greater than 0"):
            check_epsilon(epsilon)

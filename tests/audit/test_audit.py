"""The audit's bound is wrong at most as often as stated, finds losses, and is explained."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import FrozenInstanceError, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.audit import AuditResult, audit, scenarios
from dpviz.audit.bounds import (
    SIGNS,
    Event,
    _best_event,
    _log_shares,
    highest,
    lower_bound,
    share_bounds,
)
from dpviz.audit.classifier import CLASSIFIER_NAME, classifier_scores
from dpviz.audit.data import BRED, DEALT, LONELY_CLUSTERS, PUBLIC, SETS
from dpviz.audit.histogram import MOST_VALUES, Histogram
from dpviz.audit.membership import membership_experiment
from dpviz.audit.noise import RunNoise
from dpviz.audit.runs import BATCH, ScenarioRuns, checked_runs, collect, with_classifier
from dpviz.audit.scenarios import Scenario, find
from dpviz.audit.scores import LIKELIHOOD, LIKELIHOOD_NAME, names, row
from dpviz.audit.transcript import HIDDEN, Recorder, Replay, log_likelihood
from dpviz.base.errors import InputError
from dpviz.base.work import Cancelled
from dpviz.families import CARDS
from dpviz.grid.domain import Domain
from dpviz.kmeans.grid import PER_CELL, SIZE_SHARE, grid_sides, printed_sides
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.methods.dprefine import GRID_SIZE
from dpviz.kmeans.methods.privgene import printed_generations
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.privacy.ledger import Ledger
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.methods.privthr import pruned_threshold
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Source, cluster
from tests.support.tiers import examples

quick = examples(60)

SPENDING = tuple(name for name, card in CARDS.items() if card.spends)


def key_of(scenario: Scenario) -> str:
    return f"{scenario.method}-{scenario.variant}-{scenario.name}"


def test_scenarios_have_the_numbers_of_their_data() -> None:
    lonely = find("contour", "sound", "lonely-record")
    assert lonely.options["clusters"] == LONELY_CLUSTERS
    assert lonely.noise.keywords == {"public": (PUBLIC,)}
    assert find("dpkmeans_mapreduce", "sound", "shifted-list").options["clusters"] == SETS
    assert find("gupt", "sound", "noise-by-2").noise.keywords == {"public": (DEALT,)}
    assert find("dprefine", "sound", "unsplit-budget").bug.factor == GRID_SIZE


# -- Clopper, Pearson --------------------------------------------------------------------


def test_share_bounds_by_hand() -> None:
    # The event occurs in no run of 10: (1 - high)^10 = error; in all 10 runs: low^10 = error.
    assert share_bounds(0, 10, 0.025) == pytest.approx((0.0, 1 - 0.025**0.1))
    assert share_bounds(10, 10, 0.025) == pytest.approx((0.025**0.1, 1.0))
    # 95% interval for an event in 5 runs of 10, from published tables.
    assert share_bounds(5, 10, 0.025) == pytest.approx((0.187086, 0.812914), abs=1e-6)


@quick
@given(n=st.integers(1, 60), data=st.data(), error=st.sampled_from([0.005, 0.05, 0.2]))
def test_share_bounds_are_where_the_count_becomes_unlikely(
    n: int, data: st.DataObject, error: float
) -> None:
    count = data.draw(st.integers(0, n))
    low, high = share_bounds(count, n, error)
    assert low <= count / n <= high
    # If a bound is the true probability, this count or a more extreme count occurs with exactly the
    # error probability.
    if count:
        assert stats.binom.sf(count - 1, n, low) == pytest.approx(error, rel=1e-6)
    if count < n:
        assert stats.binom.cdf(count, n, high) == pytest.approx(error, rel=1e-6)


def test_runs_limit_what_can_be_shown() -> None:
    assert highest(20_000) == pytest.approx(7.54, abs=0.005)
    perfect = lower_bound(np.zeros((20_000, 1)), np.ones((20_000, 1)))
    assert perfect.epsilon == highest(20_000)
    assert perfect.event == Event(score=0, sign=">=", value=1.0, joined_more=True)
    assert (perfect.without, perfect.joined) == (0.0, 1.0)
    assert highest(21) == pytest.approx(highest(22))


# -- the choice --------------------------------------------------------------------------


def best_by_loops(without: NDArray, joined: NDArray, error: float) -> float:
    n, best = len(without), -math.inf
    for value, sign in product(np.union1d(without, joined), SIGNS):
        event = Event(score=0, sign=sign, value=float(value), joined_more=True)
        few, many = (event.count(part[:, None]) for part in (without, joined))
        for low_count, high_count in ((few, many), (many, few)):
            low = stats.beta.ppf(error, low_count, n - low_count + 1) if low_count else 0.0
            high = (
                stats.beta.ppf(1 - error, high_count + 1, n - high_count) if high_count < n else 1.0
            )
            best = max(best, math.log(low / high) if low else -math.inf)
    return best


@quick
@given(
    pairs=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=25),
    shift=st.integers(0, 4),
)
def test_chosen_event_is_the_best_of_all(pairs: list[tuple[int, int]], shift: int) -> None:
    without, joined = np.array(pairs, dtype=float).T
    gain, event = _best_event(0, without, joined + shift, 0.005)
    assert gain == pytest.approx(best_by_loops(without, joined + shift, 0.005))
    few, many = (event.count(part[:, None]) for part in (without, joined + shift))
    low, high = _log_shares(len(without), 0.005)
    shown = low[many] - high[few] if event.joined_more else low[few] - high[many]
    assert gain == pytest.approx(shown)


@pytest.mark.parametrize(
    ("sign", "expected"), [(">=", 3), ("<=", 3), ("==", 2), ("!=", 2)], ids=["ge", "le", "eq", "ne"]
)
def test_events_count(sign: Any, expected: int) -> None:
    scores = np.array([[9, 1.0], [9, 2.0], [9, 2.0], [9, 3.0]])
    assert Event(score=1, sign=sign, value=2.0, joined_more=True).count(scores) == expected


@pytest.mark.parametrize("joined_more", [True, False])
@pytest.mark.parametrize(("sign", "value"), [(">=", 5), ("<=", -1), ("==", 2), ("!=", 2)])
def test_every_kind_of_event_is_found(sign: Any, value: float, joined_more: bool) -> None:
    rng = np.random.default_rng(0)
    seldom, coin = rng.choice([0.0, 1.0, 3.0, 4.0], 4000), rng.random(4000) < 0.5
    often = np.where(coin, value, seldom)
    if sign == "!=":
        seldom = np.full(4000, 2.0)
    pair = (seldom, often) if joined_more else (often, seldom)
    bound = lower_bound(pair[0][:, None], pair[1][:, None])
    assert bound.event == Event(score=0, sign=sign, value=value, joined_more=joined_more)
    assert bound.epsilon == pytest.approx(highest(4000) - math.log(2), abs=0.1)


def test_half_that_decides_never_saw_the_choice() -> None:
    n = 1000
    quiet, loud = np.zeros((n, 2)), np.zeros((n, 2))
    # Only the choosing half distinguishes the data sets, so no loss is shown.
    loud[: n // 2, 0] = 1
    bound = lower_bound(quiet, loud)
    assert (bound.epsilon, bound.without, bound.joined) == (0.0, 0.0, 0.0)
    # Another score distinguishes the data sets in the deciding half, but was not chosen.
    loud[n // 2 :, 1] = 1
    assert lower_bound(quiet, loud).event.score == 0
    assert lower_bound(quiet, loud).epsilon == 0
    # The same score distinguishes the data sets in both halves of the runs.
    loud[:, 0] = 1
    assert lower_bound(quiet, loud).epsilon == highest(n)


def test_a_rare_event_is_not_chosen_for_its_luck() -> None:
    """Of 1000 runs, 20 against 0 seem a stronger sign than 250 against 100, but may be chance."""
    without, joined = np.zeros((2, 2000, 2))
    joined[:20, 0] = 1
    for half in (slice(0, 1000), slice(1000, 2000)):
        without[half, 1] = np.arange(1000) < 100
        joined[half, 1] = np.arange(1000) < 250
    gains = [_best_event(number, *(side[:1000, number] for side in (without, joined)), 0.005)[0]
             for number in (0, 1)]  # fmt: skip
    assert gains[0] > gains[1]
    bound = lower_bound(without, joined)
    assert bound.event.score == 1
    assert bound.epsilon == pytest.approx(gains[1])


def test_of_equally_good_scores_the_first_is_told() -> None:
    loud = np.ones((100, 3))
    loud[:, 0] = 0
    assert lower_bound(np.zeros((100, 3)), loud).event.score == 1


def test_float_grid_is_not_seen_but_missing_numbers_are() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2000, 1)).round(2)
    assert lower_bound(scores, scores + 1e-9).epsilon == 0
    assert lower_bound(np.ones((2000, 1)), np.full((2000, 1), 1 + 1e-9)).epsilon == 0
    assert lower_bound(np.ones((2000, 1)), np.full((2000, 1), 1 + 1e-5)).epsilon > 5
    lacking = scores.copy()
    lacking[:1500] = np.nan
    lacking[1000:] = np.nan
    bound = lower_bound(scores, lacking)
    assert np.isposinf(bound.event.value)
    assert bound.epsilon == highest(2000)


# -- false alarms ------------------------------------------------------------------------


def randomized_response(rng: np.random.Generator, epsilon: float, shape: Any) -> Any:
    """Runs of a mechanism whose loss is exactly epsilon, on the bits 0 and 1."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return (rng.random(shape) >= truth) * 1.0, (rng.random(shape) < truth) * 1.0


def laplace_of_count(rng: np.random.Generator, epsilon: float, shape: Any) -> Any:
    """Noisy counts of 0 and of 1 records; half of the answers have a loss of exactly epsilon."""
    return rng.laplace(0, 1 / epsilon, shape), rng.laplace(1, 1 / epsilon, shape)


@pytest.mark.parametrize("mechanism", [randomized_response, laplace_of_count])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_bound_errs_at_most_one_time_in_a_hundred(mechanism: Any, epsilon: float) -> None:
    rng = np.random.default_rng(7)
    bounds = [lower_bound(*mechanism(rng, epsilon, (400, 3))).epsilon for _ in range(500)]
    # If 1% of the bounds are wrong, more than 12 of 500 bounds are wrong in one of 500 tests.
    assert sum(bound > epsilon for bound in bounds) <= 12
    assert np.mean(bounds) > 0.1 * epsilon


def test_choosing_and_deciding_on_the_same_runs_would_err() -> None:
    rng, alarms = np.random.default_rng(8), {"split": 0, "same": 0}
    for _ in range(100):
        # Sixty scores; each score has a loss of exactly 1.
        pair = laplace_of_count(rng, 1.0, (300, 60))
        columns = zip(*(part.T for part in pair), strict=True)
        alarms["same"] += max(_best_event(0, *both, 0.005)[0] for both in columns) > 1
        alarms["split"] += lower_bound(*pair).epsilon > 1
    assert alarms["same"] >= 15
    # If 1% of the bounds are wrong, more than 4 of 100 bounds are wrong in 3 of 1000 tests.
    assert alarms["split"] <= 4


# -- the trained classifier --------------------------------------------------------------


def joined_loss(rng: np.random.Generator, runs: int) -> tuple[NDArray, NDArray]:
    """Three noisy counts, each with a loss of 1/3; only together they show a loss of 1."""
    noise = rng.laplace(size=(2, runs, 3))
    return noise[0], noise[1] + 1 / 3


def of_classifier(without: NDArray, joined: NDArray) -> float:
    pair = classifier_scores(without, joined)
    return lower_bound(*(scores[:, None] for scores in pair)).epsilon


def test_a_classifier_joins_what_no_single_score_shows() -> None:
    rng = np.random.default_rng(3)
    # The sum of two numbers reveals nearly everything; each number alone reveals almost nothing.
    first, error = rng.normal(0, 5, (2, 3000)), rng.normal(0, 0.3, (2, 3000))
    without, joined = np.stack([first, error - first + [[0], [4]]], axis=2)
    assert lower_bound(without, joined).epsilon < 1
    assert of_classifier(without, joined) > 2


@pytest.mark.daily("15-2")
@pytest.mark.parametrize(("rounds", "most"), [(15, 2), (60, 5)])
def test_a_classifier_errs_no_more_often_than_the_bound_says(rounds: int, most: int) -> None:
    rng, alarms = np.random.default_rng(9), 0
    for _ in range(rounds):
        alarms += of_classifier(*randomized_response(rng, 1.0, (400, 1))) > 1
        alarms += of_classifier(*joined_loss(rng, 400)) > 1
    # With an error rate of 1%, there are more than 2 alarms in 30 runs, or more than 5 alarms in
    # 120 runs, in 3 of 1,000 tests.
    assert alarms <= most


def test_a_classifier_learns_from_the_choosing_half_alone() -> None:
    rng = np.random.default_rng(4)
    without, joined = rng.normal(size=(2, 200, 2))
    joined[:100] += 3
    one = classifier_scores(without, joined)
    without[100:], joined[100:] = rng.normal(size=(2, 100, 2))
    other = classifier_scores(without, joined)
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first[:100], second[:100])
    # The deciding half does not have the difference that the classifier learned.
    assert lower_bound(one[0][:, None], one[1][:, None]).epsilon == 0


def test_a_classifier_does_not_boast_of_the_runs_that_it_learned_from() -> None:
    """Pure noise; if a model scored its own training runs, the data sets would seem to differ."""
    without, joined = np.random.default_rng(5).normal(size=(2, 400, 30))
    scores = classifier_scores(without, joined)
    apart = [
        np.mean(joined > without)
        for without, joined in zip(*(s.reshape(2, 200) for s in scores), strict=True)
    ]
    # The share is one half, with a standard error of 1/40; four standard errors are allowed.
    assert apart == pytest.approx([0.5, 0.5], abs=0.15)


def test_a_classifier_takes_numbers_that_are_missing_or_the_same() -> None:
    nothing = np.full((60, 2), np.nan)
    same = np.ones((60, 2))
    for pair in ((nothing, nothing), (same, same)):
        assert np.all(classifier_scores(*pair) == np.zeros((2, 60)))
    lacking = np.random.default_rng(0).normal(size=(60, 2))
    lacking[::2] = np.inf
    assert of_classifier(lacking, lacking[::-1]) == 0
    assert of_classifier(nothing, same) > 1
    # Each score has one value or is missing; some runs lack one of the two scores.
    some = np.where(np.random.default_rng(1).random((60, 2)) < 0.5, 1.0, np.nan)
    some[:15] = some[16] = 1.0
    assert of_classifier(some, some[::-1]) < 1


def test_the_classifier_is_one_score_more() -> None:
    rng = np.random.default_rng(0)
    labels, without, joined = with_classifier(
        ["number", LIKELIHOOD_NAME], rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    )
    assert labels == ["number", LIKELIHOOD_NAME, CLASSIFIER_NAME]
    assert without.shape == joined.shape == (60, 3)
    # The classifier uses the released numbers, but not the likelihood.
    ratio = rng.normal(size=(60, 1))
    for side in (without, joined):
        side[:, 1:2] = ratio
    again = with_classifier(labels[:2], without[:, :2], joined[:, :2])
    np.testing.assert_array_equal(again[1], without)
    alone = [LIKELIHOOD_NAME], ratio, ratio
    assert with_classifier(*alone) == alone


# -- noise -------------------------------------------------------------------------------


def test_noise_is_reproducible_and_every_run_has_its_own() -> None:
    def draws(*key: int) -> tuple[float, ...]:
        noise = RunNoise(*key)
        return (
            float(noise.laplace("a", 1.0, ())),
            float(noise.uniform("a", ())),
            float(noise.gumbel("a", 1.0, ())),
            noise.generator("a").random(),
        )

    keys = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0)]
    found = [draws(*key) for key in keys]
    assert found == [draws(*key) for key in keys]
    assert len(set(np.ravel(found))) == 16


def test_noise_has_its_law_and_its_choices_are_apart_from_it() -> None:
    noise = RunNoise(3, 0, 0)
    assert (
        stats.kstest(noise.laplace("a", 2.0, (20_000,)), stats.laplace(scale=2).cdf).pvalue > 0.01
    )
    assert (
        stats.kstest(noise.gumbel("a", 2.0, (20_000,)), stats.gumbel_r(scale=2).cdf).pvalue > 0.01
    )
    assert stats.kstest(noise.uniform("a", (20_000,)), stats.uniform.cdf).pvalue > 0.01
    one = noise.generator("places").random(5)
    noise.laplace("a", 1.0, (3,))
    np.testing.assert_array_equal(noise.generator("places").random(5), one)
    assert noise.generator("sets").random() not in one
    public = [RunNoise(seed, 0, 0, public=("places",)).generator("places") for seed in (1, 2)]
    assert public[0].random() == public[1].random()


# -- transcripts -------------------------------------------------------------------------


def recorded(run: Any, epsilon: float = 1.0, seed: int = 0) -> Recorder:
    recorder = Recorder(RunNoise(seed, 0, 0), epsilon)
    run(recorder)
    return recorder


def told(run: Any, answers: list[Any], epsilon: float = 1.0) -> float:
    return log_likelihood(run, Replay(answers, RunNoise(0, 0, 0), epsilon))


def test_recorder_changes_nothing() -> None:
    def run(accountant: Accountant) -> list[Any]:
        given = {"sensitivity": 1.0, "epsilon": 0.2}
        return [
            accountant.laplace("a", np.arange(3), **given),
            accountant.laplace("b", 2.0, **given),
            accountant.laplace_disjoint(
                "c", np.ones((2, 2)), sensitivity=1.0, epsilons=np.array([0.1, 0.2])
            ),
            accountant.choose("d", np.arange(4.0), **given),
            accountant.interval("e", np.arange(3.0), np.zeros(2), **given),
        ]

    plain, recorder = Accountant(RunNoise(5, 0, 0), 1.0), Recorder(RunNoise(5, 0, 0), 1.0)
    expected, found = run(plain), run(recorder)
    assert str(found) == str(expected)
    assert recorder.ledger == plain.ledger
    # For a point on a line, the interval is not part of the answer.
    assert str(recorder.answers) == str([*expected[:4], expected[4][1]])


def test_likelihood_of_laplace_by_hand() -> None:
    def count_of(n: float) -> Any:
        return lambda accountant: accountant.laplace("n", n, sensitivity=1, epsilon=0.5)

    answers = [np.array(3.0)]
    # Scale 2: density exp(-|3 - n| / 2) / 4.
    assert told(count_of(3), answers) == pytest.approx(-math.log(4))
    assert told(count_of(4), answers) == pytest.approx(-math.log(4) - 0.5)

    def rows_of(values: NDArray) -> Any:
        epsilons = np.array([1.0, 0.5])
        return lambda accountant: accountant.laplace_disjoint(
            "n", values, sensitivity=1, epsilons=epsilons
        )

    answers = [np.array([[1.0, 0.0], [0.0, 2.0]])]
    by_hand = -1 - 2 / 2 - 2 * math.log(2) - 2 * math.log(4)
    assert told(rows_of(np.zeros((2, 2))), answers) == pytest.approx(by_hand)


def test_chances_of_the_exponential_mechanism_sum_to_one() -> None:
    scores = np.array([0.0, -1.5, 2.0, -np.inf])
    edges, ranks = np.array([0.0, 1.0, 1.0, 4.0]), np.array([0.0, -3.0, -1.0])

    def choice(accountant: Accountant) -> Any:
        return accountant.choose("c", scores, sensitivity=1, epsilon=1.0)

    def point(accountant: Accountant) -> Any:
        return accountant.interval("i", edges, ranks, sensitivity=1, epsilon=1.0)

    chances = [math.exp(told(choice, [pick])) for pick in range(4)]
    assert sum(chances) == pytest.approx(1)
    assert chances[2] / chances[0] == pytest.approx(math.e)  # scale 2

    def monotone(accountant: Accountant) -> Any:
        return accountant.choose("c", scores, sensitivity=1, epsilon=1.0, monotone=True)

    halved = [math.exp(told(monotone, [pick])) for pick in range(4)]
    assert sum(halved) == pytest.approx(1)
    assert halved[2] / halved[0] == pytest.approx(math.e**2)  # scale 1
    step = 1e-3
    places = np.arange(step / 2, 4, step)
    densities = [math.exp(told(point, [place])) for place in places]
    assert sum(densities) * step == pytest.approx(1)
    assert densities[0] / densities[-1] == pytest.approx(math.exp(0.5))
    assert told(point, [4.1]) == -math.inf
    # The mechanism chooses with the same probabilities.
    picks = [recorded(choice, seed=seed).answers[0] for seed in range(3000)]
    expected = np.array(chances[:3]) * len(picks)
    assert stats.chisquare(np.bincount(picks, minlength=3), expected).pvalue > 0.01


def test_an_interval_without_width_weighs_nothing() -> None:
    edges, ranks = np.array([0.0, 1.0, 1.0, 4.0]), np.array([-1.0, 0.0, -2.0])

    def point(accountant: Accountant) -> Any:
        return accountant.interval("i", edges, ranks, sensitivity=1, epsilon=1e9)

    # With almost no noise, the answer is nearly always in the best interval, and uniform over its
    # width of 1.
    assert told(point, [0.5], 1e9) == 0
    assert told(point, [2.0], 1e9) < -1e6


def test_impossible_answers_have_no_likelihood() -> None:
    def cells(size: int) -> Any:
        return lambda accountant: accountant.laplace(
            "n", np.zeros(size), sensitivity=1, epsilon=0.5
        )

    def twice(accountant: Accountant) -> None:
        cells(2)(accountant)
        cells(2)(accountant)

    one = recorded(cells(2)).answers
    assert np.isfinite(told(cells(2), one))
    assert told(cells(3), one) == -math.inf
    assert told(cells(2), recorded(twice).answers) == -math.inf
    assert np.isfinite(told(twice, recorded(twice).answers))


def test_replay_draws_no_noise_and_guesses_what_is_hidden() -> None:
    replay = Replay([], RunNoise(4, 0, 0), 1.0)
    for draw in (replay.noise.laplace, replay.noise.gumbel):
        with pytest.raises(AssertionError, match="but x"):
            draw("x", 1.0, ())
    with pytest.raises(AssertionError, match="but x"):
        replay.noise.uniform("x", ())
    run = RunNoise(4, 0, 0)
    assert replay.noise.generator("places").random() == run.generator("places").random()
    for hidden in ("sets", "blocks"):
        assert replay.noise.generator(hidden).random() != run.generator(hidden).random()
        known = RunNoise(4, 0, 0, public=(hidden,))
        replay = Replay([], known, 1.0)
        assert replay.noise.generator(hidden).random() == known.generator(hidden).random()


@pytest.mark.parametrize(
    ("method", "step"),
    [("dpkmeans_mapreduce", "sets"), ("gupt", DEALT), ("contour", PUBLIC), ("privgene", BRED)],
)
def test_hidden_and_public_steps_are_called_what_the_methods_call_them(
    method: str, step: str
) -> None:
    asked: list[str] = []

    class Spy(RunNoise):
        def generator(self, step: str) -> np.random.Generator:
            asked.append(step)
            return super().generator(step)

    ScenarioRuns(replace(find(method, "sound"), noise=Spy), 1.0).scores(0, 0, 0)
    assert step in asked
    assert step in (*HIDDEN, PUBLIC, BRED)


# -- scores ------------------------------------------------------------------------------


# Few functions compute the scores, so a third of all scenarios covers every function.
@pytest.mark.some(15)
@pytest.mark.daily(
    besides=(
        "mcmc-published-far-range",
        "dprefine-sound-eight-columns",
        "dprefine-sound-first-record",
    )
)
@pytest.mark.parametrize("scenario", scenarios(), ids=key_of)
def test_scores_are_named_and_as_many_in_every_run(scenario: Scenario) -> None:
    scenario_runs = ScenarioRuns(scenario, 1.0)
    rows = [scenario_runs.scores(side, 0, number) for side in (0, 1) for number in range(3)]
    assert {len(one) for one in rows} == {len(scenario_runs.names)}
    assert len(set(scenario_runs.names)) == len(scenario_runs.names)
    assert all(name[0].islower() and name == name.strip() for name in scenario_runs.names)


def test_positions_in_names_are_those_in_the_row() -> None:
    scenario_runs = ScenarioRuns(find("privqt", "sound", "half-noise"), 1e6)
    scores = scenario_runs.scores(1, 0, 0)
    found = dict(zip(scenario_runs.names, scores, strict=True))
    cells = [found[f"noisy count of cell ({i}, {j})"] for i, j in product((1, 2), (1, 2))]
    np.testing.assert_allclose(cells, [1, 0, 0, 0], atol=1e-3)
    assert found["largest noisy count"] == max(cells)


@pytest.mark.parametrize(("nonpositive", "dropped"), [(3, 2), (2, 1), (0, 0)])
def test_what_was_dropped_is_read_off_released_numbers(nonpositive: int, dropped: int) -> None:
    average = np.array([[4.0, 3.0], [2.0, 1.0]])
    config = Config(method="privthr", density=0.1)
    threshold = pruned_threshold(average, 0.1, nonpositive)
    stages = cluster(np.zeros((4, 4)), config, average=average, threshold=threshold)
    run = Run(config=config, stages=stages, ledger=Ledger())
    found = dict(zip(names(run, ("threshold",)), row(run, ("threshold",)), strict=True))
    assert found["number of positive coefficients that were dropped"] == dropped


def test_iterations_that_were_not_made_are_missing() -> None:
    records = Records(points=np.empty((0, 1)), domain=Domain(((0.0, 1.0),)))
    config = KMeansConfig(
        method="dpkmeanspp", variant="published", clusters=2, iterations=4, start="random"
    )
    run = KMEANS["dpkmeanspp"].run(records, config, Accountant(RunNoise(0), 1.0))
    found = dict(zip(names(run, ("iterations",)), row(run, ("iterations",)), strict=True))
    assert found["number of iterations"] == 1
    for number, lacking in ((1, False), (2, True), (3, True), (4, True)):
        for name in (
            f"smallest noisy count in iteration {number}",
            f"noisy count in iteration {number}, cluster 2",
            f"noisy sums in iteration {number}, cluster (2, 1)",
            f"noise scale in iteration {number}, cluster 1",
        ):
            assert np.isnan(found[name]) == lacking
    assert names(run, ("iterations", LIKELIHOOD))[-1].startswith("log-likelihood ratio")


# -- scenarios ---------------------------------------------------------------------------


def test_every_promise_has_an_audit() -> None:
    assert len({(one.method, one.variant, one.name) for one in scenarios()}) == len(scenarios())
    for method, variant in product(SPENDING, ("sound", "published")):
        offered = scenarios(method, variant)
        assert offered, f"nothing audits {method} {variant}"
        # The default scenario is not a planted mistake.
        assert not find(method, variant).planted
        assert find(method, variant) == offered[0]
    for one in scenarios(variant="published"):
        assert find(one.method, "sound", one.name).name == one.name
    assert {one.private for one in scenarios() if one.planted} == {False}


@pytest.mark.some(12)
@pytest.mark.parametrize("claim", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("scenario", scenarios(), ids=key_of)
def test_pairs_are_neighbours_and_the_config_is_that_of_the_claim(
    scenario: Scenario, claim: float
) -> None:
    config = scenario.config(claim)
    assert (config.method, config.variant, config.epsilon) == (
        scenario.method,
        scenario.variant,
        claim,
    )
    without, joined = scenario.pair(claim)
    replaced = "moved" in scenario.name
    if isinstance(without, Records):
        assert joined.n == without.n + (not replaced)
        one, more = (
            Counter(
                map(tuple, np.repeat(side.points, 1 if side.weights is None else side.weights, 0))
            )
            for side in (without, joined)
        )
        assert (more - one).total() == 1
        assert (one - more).total() == replaced
        assert joined.domain == without.domain or not joined.domain.declared
        assert joined.domain.contains(joined.points).all()
    else:
        assert isinstance(without, Source)
        assert joined.n == without.n + (not replaced)
        if without.domain == joined.domain:
            assert np.abs(joined.counts - without.counts).sum() == 1 + replaced
        else:
            assert not joined.domain.declared
    assert scenario.description.endswith(".")


@pytest.mark.parametrize("claim", [0.1, 0.5, 1.0, 1.7, 2.0, 5.0])
@pytest.mark.parametrize("variant", ["published", "sound"])
@pytest.mark.parametrize(("method", "share"), [("eugkm", 1.0), ("hybrid", 0.5)])
def test_one_more_record_makes_the_grid_finer(
    method: str, share: float, variant: Any, claim: float
) -> None:
    pair = find(method, variant, "true-size").pair(claim)
    budget = share * claim * (1 - SIZE_SHARE if variant == "sound" else 1)
    if variant == "published":
        sides = [printed_sides(records.n, budget, 2) for records in pair]
        assert sides == [(10, 10), (11, 10)]
    else:
        sides = [grid_sides(records.n, budget, 2, 1, PER_CELL[variant]) for records in pair]
        assert sides == [(10, 10), (11, 11)]


@pytest.mark.parametrize("claim", [0.1, 0.5, 1.0, 1.7, 2.0, 5.0])
def test_one_more_record_makes_one_more_generation(claim: float) -> None:
    sizes = [records.n for records in find("privgene", "published", "true-size").pair(claim)]
    assert [printed_generations(size, claim) for size in sizes] == [8, 9]


# -- the audit ---------------------------------------------------------------------------


def test_planted_half_noise_is_found_and_told() -> None:
    result = audit("privqt", scenario="half-noise", runs=2000)
    assert result.violated
    assert 1.3 < result.epsilon_lower < 2
    assert (result.claim, result.confidence, result.runs) == (1.0, 0.99, 2000)
    assert (result.method, result.variant, result.scenario) == ("privqt", "sound", "half-noise")
    share = f"{result.joined:.1%} of runs with the person, {result.without:.1%} without"
    assert result.event.endswith(share)
    assert result.event.startswith("noisy count of cell (1, 1) ")
    assert "Planted" in result.description


def test_result_is_frozen_and_the_same_for_the_same_seed() -> None:
    def once(seed: int) -> AuditResult:
        return audit("dplloyd", scenario="first-record", runs=60, seed=seed)

    assert once(3) == once(3)
    assert once(3) != once(4)
    with pytest.raises(FrozenInstanceError):
        once(3).claim = 2.0  # type: ignore[misc]


def test_more_runs_go_on_where_fewer_ended() -> None:
    scenario = find("privqt", "sound")
    few, many = (collect(scenario, 1.0, runs, 0)[1] for runs in (30, 60))
    np.testing.assert_array_equal(few, many[:30])


def test_every_run_has_noise_of_its_own() -> None:
    keys: list[tuple[int, ...]] = []

    def noise(*key: int) -> RunNoise:
        keys.append(key)
        return RunNoise(*key)

    collect(replace(find("privqt", "sound"), noise=noise), 1.0, 40, 9)
    assert sorted(keys) == [(9, side, run) for side, run in product((0, 1), range(40))]


def test_likelihood_ratio_is_that_of_the_one_cell_that_differs() -> None:
    labels, *sides = collect(find("privqt", "sound", "far-point"), 2.0, 20, 0)
    for scores in sides:
        cell = scores[:, labels.index("noisy count of cell (16, 16)")]
        ratio = 2 * (np.abs(cell) - np.abs(cell - 1))
        np.testing.assert_allclose(scores[:, labels.index(LIKELIHOOD_NAME)], ratio, atol=1e-9)


def test_claim_is_what_the_bound_is_held_against() -> None:
    result = audit("privqt", claim=2.0, runs=2000)
    assert (result.claim, result.violated) == (2.0, False)
    assert 1 < result.epsilon_lower <= 2


def test_histogram_is_of_the_deciding_half() -> None:
    result = audit("privqt", scenario="half-noise", runs=401)
    histogram = result.histogram
    assert sum(histogram.without) == sum(histogram.joined) == 201
    assert result.event.startswith(f"{histogram.score} {result.sign} ")
    known = audit("privqt", scenario="known-seed", runs=400)
    assert known.event == "largest noisy count >= 11: 100.0% of runs with the person, 0.0% without"
    assert known.histogram.edges == (9.5, 10.5, 11.5)
    assert (known.histogram.without, known.histogram.joined) == ((200, 0), (0, 200))


def test_progress_is_told_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    audit("privqt", runs=2 * BATCH + 3, progress=lambda *told: seen.append(told))
    total = 2 * (2 * BATCH + 3)
    assert seen == [(2 * BATCH, total), (4 * BATCH, total), (total, total)]


def test_cancelling_stops_before_the_next_batch() -> None:
    done: list[int] = []
    with pytest.raises(Cancelled, match=f"stopped after {4 * BATCH} of 40000 runs"):
        audit(
            "privqt",
            progress=lambda count, total: done.append(count),
            cancelled=lambda: len(done) == 2,
        )
    assert done == [2 * BATCH, 4 * BATCH]
    with pytest.raises(Cancelled, match="stopped after 0 of"):
        audit("privqt", cancelled=lambda: True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "privxx"}, 'method = "privxx" is unknown: choose one of wavecluster'),
        ({"method": "kmeans"}, "method = kmeans takes no privacy budget"),
        ({"method": "privqt", "variant": "best"}, 'variant = "best" is unknown'),
        (
            {"method": "privqt", "scenario": "no"},
            'scenario = "no" is unknown for privqt sound: choose from far-point, moved-record',
        ),
        ({"method": "privqt", "runs": 19}, "runs = 19: give a whole number from 20"),
        ({"method": "privqt", "runs": True}, "runs = True: give a whole number"),
        ({"method": "privqt", "claim": 0}, "claim = 0: give an epsilon from 0.01 to 10"),
        ({"method": "privqt", "claim": math.nan}, "claim = nan: give an epsilon"),
        ({"method": "privqt", "claim": "x"}, "claim = 'x' is no"),
        ({"method": "privqt", "seed": -1}, "seed = -1: give a whole number from 0"),
    ],
)
def test_wrong_wishes_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        audit(**given)


def test_default_number_of_runs_is_the_scenarios() -> None:
    assert checked_runs(np.int64(20)) == 20
    seen: list[int] = []
    with pytest.raises(Cancelled):
        audit(
            "mcmc",
            progress=lambda count, total: seen.append(total),
            cancelled=lambda: bool(seen),
        )
    assert seen == [2 * find("mcmc", "sound").runs]


# -- histograms --------------------------------------------------------------------------

values = st.floats(-1e6, 1e6) | st.sampled_from([np.inf, -np.inf, 0.0, 1.0, 2.0])


@quick
@given(
    without=st.lists(values, min_size=1, max_size=150),
    joined=st.lists(values, min_size=1, max_size=150),
    whole=st.booleans(),
    threshold=values,
)
def test_histogram_counts_every_value_once(
    without: list[float], joined: list[float], whole: bool, threshold: float
) -> None:
    one, other = (np.round(part) if whole else np.array(part) for part in (without, joined))
    found = Histogram.of("score", one, other, threshold)
    assert list(found.edges) == sorted(found.edges)
    assert len(found.edges) - 1 == len(found.without) == len(found.joined) <= MOST_VALUES + 1
    assert sum(found.without) + found.missing[0] == len(one)
    assert sum(found.joined) + found.missing[1] == len(other)


def test_threshold_is_a_border() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(0, 1, 1000), rng.normal(1, 1, 1000)
    found = Histogram.of("score", one, other, 0.7)
    border = int(np.argmin(np.abs(np.array(found.edges) - 0.7)))
    assert found.edges[border] == pytest.approx(0.7)
    assert sum(found.joined[border:]) == (other >= 0.7).sum()
    # Borders are between integers, and each bin has the same number of integers.
    one, other = rng.integers(0, 100, 500), rng.integers(40, 190, 500)
    found = Histogram.of("score", one * 1.0, other * 1.0, 100.0)
    assert {edge % 1 for edge in found.edges} == {0.5}
    assert len(set(np.diff(found.edges))) == 1
    border = found.edges.index(99.5)
    assert sum(found.without[border:]) == 0
    assert sum(found.joined[border:]) == (other >= 100).sum()


# -- one person --------------------------------------------------------------------------


def test_without_noise_one_person_is_seen_at_once() -> None:
    story = membership_experiment("wavecluster", draws=100)
    assert (story.true_without, story.true_joined) == (2, 1)
    assert (story.numbers, story.without, story.joined) == ((1, 2), (0, 100), (100, 0))
    assert story.violated


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["privthr", "privthrem"])
def test_under_a_private_technique_one_person_is_hidden(method: str) -> None:
    story = membership_experiment(method, 1.0, draws=400)
    assert story.sample == "incomes"
    assert story == membership_experiment(method, 1.0, draws=400)
    assert story != membership_experiment(method, 1.0, draws=400, seed=1)
    assert (story.true_without, story.true_joined) == (2, 1)
    assert sum(story.without) == sum(story.joined) == story.draws == 400
    assert len(story.numbers) > 2
    assert not story.violated
    assert story.allowed == pytest.approx(math.e)
    for count, (least, most) in zip(story.without, story.limits, strict=True):
        assert least == pytest.approx(count / 400 / math.e)
        assert most == pytest.approx(min(count / 400 * math.e, 1))


def test_story_can_be_followed_and_stopped() -> None:
    seen: list[int] = []
    membership_experiment("privqt", draws=30, progress=lambda count, total: seen.append(count))
    assert seen == [50, 60]
    with pytest.raises(Cancelled):
        membership_experiment("privqt", cancelled=lambda: True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"method": "dplloyd"}, "choose one of wavecluster, baseline"),
        ({"method": "privqt", "draws": 3}, "runs = 3"),
        ({"method": "privqt", "epsilon": -1.0}, "epsilon = -1"),
    ],
)
def test_wrong_stories_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        membership_experiment(**given)


def test_published_story_faces_the_same_persons() -> None:
    story = membership_experiment("privqt", draws=20, variant="published")
    assert replace(story, variant="sound") == membership_experiment("privqt", draws=20)

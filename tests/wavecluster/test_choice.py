"""Private choice of g and p: its cost, the data that it reads, and its quality."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import floats, integers
from scipy.stats import binom

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import dsg_c
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.privacy.noise_source import SeededNoise
from dpviz.privacy.secure import SecureAccountant
from dpviz.wavecluster.choice import (
    DENSITIES,
    RECORDS_SHARE,
    STEP,
    chosen_grid,
    worth_of_densities,
)
from dpviz.wavecluster.estimators import PrivTHR
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.parameters import CHOOSERS, Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run
from dpviz.wavecluster.wavelet import rank_of
from tests.support.replaying import Recorder

SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))


def blobs(n: int, seed: int = 0) -> np.ndarray:
    """Four blobs; the distance between them is three times their width."""
    rng = np.random.default_rng(seed)
    centres = np.array([(0.25, 0.25), (0.25, 0.75), (0.75, 0.25), (0.75, 0.75)])
    return np.clip(centres[rng.integers(4, size=n)] + rng.normal(0, 0.05, (n, 2)), 0, 1)


def source_of(points: np.ndarray, grid: int = 64) -> Source:
    return Source.build(Dataset(name="", points=points), grid, SQUARE, empty=True)


TINY = source_of(np.full((5, 2), 0.3))

# -- the grid -----------------------------------------------------------------------------------


def test_the_grid_grows_with_the_fifth_root():
    assert chosen_grid(30_000, 1, 2, 1) == 2 * round(4 * 30_000**0.2) == 62
    # With 32 times as many records, there are twice as many cells per side.
    assert chosen_grid(960_000, 1, 2, 1) == 126
    # The total number of cells is the same for any number of columns.
    assert chosen_grid(30_000, 1, 3, 1) ** 3 == pytest.approx(62**2, rel=0.15)


@given(floats(-1e20, 1e20), floats(1e-6, 1e6), integers(1, 5), integers(1, 8))
def test_any_noisy_number_gives_whole_blocks(records, epsilon, ndim, level):
    side = chosen_grid(records, epsilon, ndim, level)
    assert side % 2**level == 0
    assert 2 * 2**level <= side <= max(256, 2 * 2**level)


def test_other_grids_of_a_source_count_the_same_records():
    points = blobs(500)
    source = source_of(points, 10)
    for grid in (16, (12, 20)):
        there = source.on_grid(grid)
        assert np.array_equal(there.counts, source_of(points, grid).counts)
        assert there is source.on_grid(grid)
    assert source.on_grid(10) is source
    counts = Source.build(Dataset(name="", counts=np.ones((8, 8), dtype=np.int64)), 99)
    assert counts.on_grid(16) is counts


# -- the density --------------------------------------------------------------------------------


def ranks(filled: int) -> list[int]:
    return [rank_of(density, filled) for density in DENSITIES]


def choose_density(field, again, ranks) -> float:
    worth = worth_of_densities(field, again, ranks)
    assert all(0 <= each <= 1 for each in worth.values())
    return max(worth, key=worth.__getitem__)


def ridge() -> np.ndarray:
    """Two blocks of records, with a thin ridge between them of less than half their height."""
    field = np.zeros((20, 20))
    field[3:9, 3:17] = 100
    field[11:17, 3:17] = 100
    field[9:11, 8:12] = 20
    return field


def test_the_density_parts_what_a_ridge_joins():
    field = ridge()
    rng = np.random.default_rng(0)
    again = [field + rng.normal(0, 2, field.shape) for _ in range(4)]
    density = choose_density(field, again, ranks(np.count_nonzero(field)))
    # 8 of 176 blocks are the ridge: p = 0.05 removes only the ridge.
    assert density == 0.05
    low = np.where(field == 20, 90, field)
    again = [low + rng.normal(0, 40, field.shape) for _ in range(4)]
    # A ridge that only some noisy counts show is not a reason to lose records.
    assert choose_density(low, again, ranks(np.count_nonzero(field))) in DENSITIES


def test_one_cluster_keeps_most_cells():
    field = np.zeros((20, 20))
    field[4:16, 4:16] = 50
    assert choose_density(field, [field] * 4, ranks(144)) == DENSITIES[0]


@pytest.mark.parametrize("blocks", [np.zeros((4, 4)), -np.ones((4, 4)), np.full((1, 1), 1e15)])
def test_degenerate_counts_have_a_density(blocks):
    assert choose_density(blocks, [blocks] * 4, ranks(1)) in DENSITIES


# -- runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", CHOOSERS)
@pytest.mark.parametrize("n", [0, 1, 2_000])
def test_the_ledger_sums_to_epsilon(method, n):
    config = Config(method=method, choose="private", epsilon=0.7, wavelet="db2")
    found = run(source_of(blobs(n)), config, SeededNoise(3))
    steps = [spend.step for spend in found.ledger]
    assert steps[0] == STEP
    assert found.ledger.spends[0].epsilon == pytest.approx(RECORDS_SHARE * 0.7)
    assert found.ledger.epsilon == pytest.approx(0.7, abs=1e-9)
    assert found.config.epsilon == 0.7
    assert found.stages.counts.shape == found.config.grid
    assert found.config.density in DENSITIES
    assert f"p = {found.config.density:g}" in found.decision


@pytest.mark.parametrize("method", CHOOSERS)
def test_by_hand_nothing_changes(method):
    source, config = source_of(blobs(500), 16), Config(method=method, grid=16)
    found = run(source, config, SeededNoise(1))
    assert found.decision == ""
    assert found.config == config
    assert STEP not in [spend.step for spend in found.ledger]


def test_counts_keep_their_grid_and_pay_nothing():
    counts = source_of(blobs(5_000), 32).counts
    source = Source.build(Dataset(name="", counts=counts), 64)
    config = Config(choose="private")
    found = run(source, config, SeededNoise(1))
    assert [spend.step for spend in found.ledger] == ["counts", "nonpositive"]
    assert found.config.grid == (32, 32)
    assert "g = " not in found.decision


@pytest.mark.some(1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cap", [1, 3])
def test_any_budget_suffices_for_the_grid_and_nested_counts(relation, cap):
    unit = Neighbours(relation=relation, cap=cap)
    for epsilon in (*np.linspace(0.01, 4, 40), 1.5, 3.0, 1.1e-6):
        config = Config(
            method="twostage", choose="private", epsilon=float(epsilon), neighbours=unit
        )
        accountant = SecureAccountant(config.epsilon, unit)
        METHODS["twostage"].run(TINY, config, accountant)
        assert accountant.certified <= config.epsilon


def test_too_small_a_budget_for_a_choice_is_refused_by_its_own_number():
    with pytest.raises(InputError, match=r"epsilon = 1e-06 is too small for a private choice"):
        run(TINY, Config(choose="private", epsilon=1e-6), SeededNoise(0))


def test_the_chosen_values_give_the_same_run_by_hand():
    """A run with the chosen g and p, and without the budget of the choice, is the same."""
    source = source_of(blobs(5_000))
    found = run(source, Config(choose="private"), SeededNoise(1))
    rest = math.nextafter(1 - RECORDS_SHARE, 0)
    left = replace(found.config, choose="given", epsilon=rest)
    again = run(source.on_grid(found.config.grid), left, SeededNoise(1))
    assert np.array_equal(found.stages.labels, again.stages.labels)
    assert found.ledger.spends[1:] == again.ledger.spends


@pytest.mark.parametrize("method", CHOOSERS)
def test_all_that_is_chosen_comes_from_the_answers(method):
    config = Config(method=method, choose="private", epsilon=0.5)

    def recorded(points, answers=None):
        recorder = Recorder(SeededNoise(5), config.epsilon, config.neighbours, answers=answers)
        return recorder, METHODS[method].run(source_of(points), config, recorder)

    first, found = recorded(blobs(3_000))
    for points in (blobs(0), blobs(1), np.random.default_rng(1).random((7_000, 2))):
        answers = [request.answer for request in first.requests]
        # If an answer is an interval, its value is repeated.
        other, again = recorded(points, answers)
        assert again.config == found.config
        assert again.decision == found.decision
        assert np.array_equal(again.stages.labels, found.stages.labels)
        # One more record changes the released numbers by at most the sensitivity on the ledger.
        assert [one.step for one in other.requests] == [one.step for one in first.requests]


def test_a_technique_without_it_says_so():
    with pytest.raises(InputError, match="baseline can't choose g and p"):
        Config(method="baseline", choose="private")
    with pytest.raises(InputError, match='choose = "perhaps" is unknown'):
        Config(choose="perhaps")


def test_the_estimator_chooses():
    model = PrivTHR(choose="private", domain="0,1;0,1", random_state=0).fit(blobs(5_000))
    # The four largest clusters are the blobs; the other clusters come from noise.
    assert (np.sort(np.bincount(model.labels_ + 1)[1:])[-4:] > 900).all()
    assert model.shape_ == model.run_.config.grid
    assert "was chosen" in model.decision_
    assert model.claim_.private


# -- comparisons --------------------------------------------------------------------------------


def test_draws_are_compared_at_the_values_that_they_chose():
    data = Dataset(name="", points=blobs(600), domain=SQUARE)
    trial = FAMILY.build(data, Config(choose="private", grid=10, density=0.9), None, "clip")
    grids = Counter()
    for seed in range(20):
        one = trial.draw(seed)
        grids[one.config.grid] += 1
        score = trial.scores(one, seed, ("dsg_c", "f_measure"))["dsg_c"]
        by_hand = replace(one.config, method="wavecluster", choose="given")
        true = FAMILY.build(data, by_hand, None, "clip").truth.stages
        assert score == dsg_c(true.labels, one.stages.labels)
        assert trial.affected(one).shape == trial.truth.stages.labels.shape
        assert trial.label(one).shape == (600,)
        table = trial.tables(np.zeros(600, dtype=np.intp))(one)
        assert table.sum() == 600
    assert len(grids) > 1  # a noisy number of 600 records does not always give one grid


@pytest.mark.parametrize(("name", "epsilon"), [("spirals", 0.5), ("shapes", 1), ("gaussians", 1)])
def test_it_is_nearly_as_good_as_what_suits_the_sample(name, epsilon):
    """Nine of ten draws reach 90% of the mean score that the sample set's own g and p give.

    If this is true, 20 draws fail the test with a probability of one in a thousand.
    """
    data, suited = load_sample(name), sample(name)

    def scores(config):
        trial = FAMILY.build(data, config, data.domain, "clip")
        names = ("class_f",)
        return [trial.scores(trial.draw(seed), seed, names)["class_f"] for seed in range(20)]

    by_hand = scores(Config(grid=suited.grid, density=suited.density, epsilon=epsilon))
    private = scores(Config(choose="private", epsilon=epsilon))
    good = sum(score >= 0.9 * np.mean(by_hand) for score in private)
    assert good >= binom.ppf(0.001, 20, 0.9)

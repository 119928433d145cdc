"""Theorems 4 to 6 of Chen, Yu and Chirkova: printed formulas, theta, and comparison with draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.families import CARDS
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import two_ce
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.theorems import TAIL_ERROR, THEOREMS, k_bounds, lost, tail
from dpviz.wavecluster.truth import Truth, run
from dpviz.wavecluster.wavelet import average_subband, coefficient_weights
from tests.support.tiers import examples

HALF = 2**-0.5
PAPER = {"ds1": (64, 0.58), "ds2": (40, 0.10), "ds3": (36, 0.23)}


def counted(counts, **settings) -> Truth:
    counts = np.asarray(counts, dtype=np.int64)
    box = Domain(((0.0, 1.0),) * counts.ndim, declared=True)
    dataset = Dataset(name="counts", counts=counts, domain=box)
    return Truth(Source.build(dataset, counts.shape), Config(**settings))


@pytest.fixture
def paper(reference):
    def truth(name):
        grid, density = PAPER[name]
        return Truth(Source.build(reference(name), grid), Config(grid=grid, density=density))

    return truth


# -- the distribution of the noise -------------------------------------------------------


def four_laplaces(value):
    """P(half the sum of four Lap(1) <= -value), the closed form of the paper's distribution T."""
    y = 2 * value
    return math.exp(-y) / 96 * (48 + 33 * y + 9 * y**2 + y**3)


@examples(60)
@given(st.floats(1e-3, 40))
def test_the_noise_of_a_haar_cell_has_its_closed_form(value):
    found = tail(((HALF, HALF), (HALF, HALF)), np.array([value]))[0]
    assert found == pytest.approx(four_laplaces(value), abs=TAIL_ERROR)


@examples(60)
@given(st.floats(0.05, 3), st.floats(0.05, 3), st.floats(0.01, 30))
def test_one_and_two_weights_have_their_closed_forms(first, second, value):
    one = tail(((first,),), np.array([value]))[0]
    assert one == pytest.approx(0.5 * math.exp(-value / first), abs=TAIL_ERROR)
    if abs(first - second) > 0.01:
        a, b = first**2, second**2
        both = (a * math.exp(-value / first) - b * math.exp(-value / second)) / (2 * (a - b))
        found = tail(((first, second),), np.array([value]))[0]
        assert found == pytest.approx(both, abs=2 * TAIL_ERROR)


def test_theta_of_the_extreme_case_is_not_what_the_paper_prints():
    """Section 5.2.1: all coefficients of L are 0.5, epsilon is 1. The paper prints 0.43 |L|."""
    counts = np.zeros((32, 32))
    counts[::2, ::2] = 1
    true = counted(counts).stages
    assert (true.average == 0.5).all()
    share = lost(true, (32, 32), 1.0) / true.average.size
    assert share == pytest.approx(four_laplaces(0.5), abs=TAIL_ERROR)
    assert share == pytest.approx(0.349, abs=5e-4)
    # This compares the sum of the four Laplace variables, instead of half the sum, with 0.5.
    assert four_laplaces(0.25) == pytest.approx(0.42, abs=5e-3)
    assert any("0.349 |L|" in erratum for erratum in CARDS["privqt"].errata)


@pytest.mark.parametrize(
    ("wavelet", "level", "shape"),
    [
        ("haar", 1, (12, 12)), ("haar", 1, (11, 9)), ("haar", 2, (10, 12)), ("haar", 1, (25,)),
        ("db2", 1, (12, 12)), ("bior2.2", 1, (9, 14)), ("haar", 1, (5, 6, 7)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_theta_is_the_mean_of_many_draws(wavelet, level, shape, scale):
    """The limit is four standard errors; by chance, one of 16,000 tests would exceed it."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(1.0, shape)
    true = counted(counts, wavelet=wavelet, level=level).stages
    positive = true.average > 0
    draws = np.array([
        np.count_nonzero(
            average_subband(counts + rng.laplace(scale=scale, size=shape), wavelet, level)[positive]
            <= 0
        )
        for _ in range(1500)
    ])  # fmt: skip
    error = draws.std(ddof=1) / math.sqrt(len(draws))
    assert abs(lost(true, shape, scale) - draws.mean()) < 4 * error


def test_weights_are_those_of_the_transform():
    for wavelet, level, side in (("haar", 1, 9), ("db2", 1, 10), ("haar", 2, 7), ("bior2.2", 1, 9)):
        weights, kind = coefficient_weights(wavelet, level, side)
        response = np.abs([average_subband(np.eye(side)[i], wavelet, level) for i in range(side)]).T
        for row, number in zip(response, kind, strict=True):
            assert np.sort(row[row > 0]) == pytest.approx(weights[number], abs=1e-8)


# -- the theorems as printed -------------------------------------------------------------


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_bounds_are_the_printed_formulas(paper, name, epsilon):
    truth, omega = paper(name), 0.1
    threshold, p = truth.stages.threshold, PAPER[name][1]
    k, n_l, n_z = threshold.k, threshold.positive, threshold.nonpositive
    log = math.log(1 / omega)
    eta = [n_z / 2 - math.sqrt(n_z * log / 2), n_z / 2 + math.sqrt(n_z * log / 2)]
    found = {
        method: k_bounds(truth, Config(method=method, density=p, epsilon=epsilon), omega)
        for method in THEOREMS
    }
    one = found["privqt"]
    values = truth.stages.average[truth.stages.average > 0]
    theta = sum(four_laplaces(value * epsilon) for value in values)
    assert one.theta == pytest.approx(theta, abs=1e-4)
    assert one.low == pytest.approx(k + (1 - p) * (eta[0] - theta), abs=1e-4)
    assert one.high == pytest.approx(k + (1 - p) * (eta[1] - theta), abs=1e-4)
    assert one.gamma == pytest.approx(8 / epsilon * math.log(4 * (n_l + n_z) / omega))
    assert one.surplus == (1 - p) * n_z / 2
    one, eps1, eps2 = found["privthr"], 0.9 * epsilon, 0.1 * epsilon
    theta = sum(four_laplaces(value * eps1) for value in values)
    beta = 2 / eps2 * log
    assert one.beta == pytest.approx(beta)
    assert one.low == pytest.approx(k + (1 - p) * (eta[0] - theta - n_z / 2 - beta), abs=1e-4)
    assert one.high == pytest.approx(k + (1 - p) * (eta[1] - theta - n_z / 2 + beta), abs=1e-4)
    assert one.gamma == pytest.approx(8 / eps1 * math.log(4 * (n_l + n_z) / omega))
    one, eps2 = found["privthrem"], 0.3 * epsilon
    ratio = (values.max() - threshold.value) / threshold.value
    eta = [
        n_l - k - 1 + 2 / eps2 * math.log(ratio / omega),
        k - 2 + 2 / eps2 * math.log(1 / (ratio * omega)),
    ]
    assert one.low == pytest.approx(k - eta[0])
    assert one.high == pytest.approx(k + eta[1])
    assert math.isnan(one.theta)


def test_the_surplus_on_ds2_is_the_printed_one(paper):
    """Theta and a mean of ten draws explain the numbers 108.45 and 105.2 of section 7.2."""
    one = k_bounds(paper("ds2"), Config(method="privqt", density=0.1))
    assert one.surplus == pytest.approx(108.45)
    mean = 0.9 * (241 / 2 - one.theta)
    assert mean == pytest.approx(107.5, abs=0.1)
    error = 0.9 * math.sqrt(241 / 4 / 10)
    assert error == pytest.approx(2.2, abs=0.05)
    assert abs(249.2 - 144 - mean) < 1.1 * error


def test_beta_is_four_times_what_the_step_needs(paper):
    """Half of Lap(1/eps2) exceeds a quarter of beta with probability omega."""
    one = k_bounds(paper("ds2"), Config(method="privthr", density=0.1), 0.05)
    eps2 = 0.1
    assert math.exp(-2 * eps2 * one.beta / 4) == pytest.approx(0.05)


@pytest.mark.parametrize(("name", "method"), [(a, b) for a in PAPER for b in THEOREMS])
def test_draws_stay_inside_as_often_as_promised(paper, name, method):
    truth = paper(name)
    for epsilon in (0.5, 1.0):
        config = Config(method=method, density=PAPER[name][1], epsilon=epsilon)
        one = k_bounds(truth, config)
        ranks = np.array([run(truth.source, config, SeededNoise(seed)).k for seed in range(150)])
        assert one.inside(ranks) >= one.promise
        assert one.promise == pytest.approx(0.85 if method == "privthr" else 0.9)


@pytest.mark.parametrize(("method", "parts"), [("privqt", 2), ("privthr", 3), ("privthrem", 2)])
def test_cells_far_above_and_below_are_right_as_often_as_printed(paper, method, parts):
    truth, wrong = paper("ds1"), []
    config = Config(method=method, density=0.58, epsilon=200.0)
    one = k_bounds(truth, config, 0.2)
    assert one.printed == pytest.approx(0.8**parts)
    w = truth.stages.average
    above, below = w > one.sure_above, (w > 0) & (w < one.never_below)
    assert (above | below).any()
    for seed in range(60):
        found = run(truth.source, config, SeededNoise(seed)).stages.significant
        wrong.append([(above & ~found).any(), (below & found).any()])
    assert (1 - np.mean(wrong, axis=0) >= one.printed).all()


def test_on_ds3_some_draws_of_privqt_leave_the_bounds(paper):
    truth = paper("ds3")
    config = Config(method="privqt", density=0.23, epsilon=1.0)
    one = k_bounds(truth, config)
    assert one.ends == (191, 211)
    ranks = np.array([run(truth.source, config, SeededNoise(seed)).k for seed in range(200)])
    assert 0.9 < one.inside(ranks) < 1


# -- what they say -----------------------------------------------------------------------


def test_a_bound_beyond_all_ranks_says_nothing(paper):
    truth = paper("ds1")
    one = k_bounds(truth, Config(method="privthrem", density=0.58, epsilon=0.5))
    assert one.says == (False, True)
    assert one.text == "Theorem 6: 0 to 412 (the lower end says nothing)"
    one = k_bounds(paper("ds2"), Config(method="privthrem", density=0.1, epsilon=0.1))
    assert one.says == (False, False)
    assert one.ends == (0, 159)
    assert one.text.endswith("(says nothing: every k′ possible)")
    one = k_bounds(truth, Config(method="privthr", density=0.58))
    assert one.text == "Theorem 5: 172 to 245"


def test_more_noise_for_other_neighbours_counts_as_less_budget():
    truth = counted(np.random.default_rng(2).poisson(3.0, (16, 16)), density=0.3)
    for method in THEOREMS:
        config = Config(method=method, density=0.3, epsilon=2.0, neighbours=Neighbours(cap=4))
        plain = Config(method=method, density=0.3, epsilon=0.5)
        found, expected = k_bounds(truth, config), k_bounds(truth, plain)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
        assert found.gamma == expected.gamma


def test_there_is_no_theorem_about_the_others():
    truth = counted(np.ones((4, 4)))
    assert k_bounds(truth, Config(method="baseline")) is None
    assert k_bounds(truth, Config(method="wavecluster")) is None


@examples(40)
@given(
    st.integers(0, 2**32), st.sampled_from(list(THEOREMS)), st.floats(0.01, 10),
    st.floats(0.02, 0.98), st.floats(1e-6, 0.999), st.sampled_from(["haar", "db2"]),
    st.sampled_from([0.05, 1.0]),
)  # fmt: skip
def test_ends_are_possible_ranks_on_any_data(seed, method, epsilon, p, omega, wavelet, fill):
    counts = np.random.default_rng(seed).poisson(fill, (7, 8))
    counts[0, 0] += 1
    truth = counted(counts, density=p, wavelet=wavelet)
    config = Config(method=method, density=p, epsilon=epsilon, wavelet=wavelet)
    one = k_bounds(truth, config, omega)
    low, high = one.ends
    assert 0 <= low <= one.most
    assert 0 <= high <= one.most
    assert one.low <= one.high
    assert one.says == (one.low > 0, one.high < one.most)
    assert one.text.startswith(f"Theorem {THEOREMS[method]}: ")
    assert math.isnan(one.gamma) == (wavelet != "haar")


# -- other numbers of the paper ----------------------------------------------------------


def test_two_combinations_are_fewer_than_the_paper_counts():
    """Section 7.4 counts C(k,2) + k(N-k) pairs for k moved samples, which is the maximum."""
    clusters, each, moved = 15, 200, 40
    table = np.diag([each] * clusters)
    table[0, 0] -= moved
    table[0, 1] += moved
    n = clusters * each
    pairs = n * (n - 1) / 2
    counted_there = (moved * (moved - 1) / 2 + moved * (n - moved)) / pairs
    found = two_ce(table)
    # Pairs of moved samples with samples that stayed, and with samples of their new cluster.
    assert found * pairs == pytest.approx(moved * (each - moved) + moved * each)
    ocm = moved / n
    assert found < ocm < counted_there


@pytest.mark.parametrize(
    ("wavelet", "said"), [("haar", "At least 90%"), ("db1", "At least 90%"), ("bior2.2", "Haar")]
)
def test_the_theorems_promise_nothing_for_other_wavelets(wavelet: str, said: str) -> None:
    """With overlapping filters, much less than half of the cells become positive."""
    source = Source.build(load_sample("spirals"), 40)
    config = Config(method="privqt", density=0.1, wavelet=wavelet)
    truth = Truth(source, config)
    bounds = k_bounds(truth, config)
    assert bounds is not None
    assert said in bounds.promised
    assert math.isnan(bounds.promise) == (wavelet == "bior2.2")
    ranks = np.array([run(source, config, SeededNoise(seed)).k for seed in range(20)])
    assert (bounds.inside(ranks) > 0.5) == (wavelet != "bior2.2")

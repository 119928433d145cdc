"""Closed forms equal the linear programme; the fast chain follows its definition."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpviz.kmeans import chain
from dpviz.kmeans.chain import (
    DELTA,
    ROUNDING,
    TRACE,
    Chain,
    Draws,
    Statistics,
    consistent,
    draws,
    run_chain,
    start,
)
from tests.support.tiers import examples

quick = examples(40)
often = examples(200)


# -- definitions -------------------------------------------------------------------------


def least_change(values: NDArray, lowest: float | None) -> float:
    """Least L1 change after which all rows have the same total, by linear programming."""
    t, k = values.shape
    cells = t * k
    same, none = np.eye(cells), np.zeros((cells, 1))
    rows = np.repeat(np.eye(t), k, axis=1)
    found = linprog(  # unknowns: new values, sizes of the changes, common total
        np.concatenate([np.zeros(cells), np.ones(cells), [0]]),
        A_ub=np.block([[same, -same, none], [-same, -same, none]]),
        b_ub=np.concatenate([values.ravel(), -values.ravel()]),
        A_eq=np.block([rows, np.zeros((t, cells)), -np.ones((t, 1))]),
        b_eq=np.zeros(t),
        bounds=[(lowest, None)] * cells + [(0, None)] * cells + [(None, None)],
        method="highs",
    )
    assert found.status == 0
    return float(found.fun)


def log_likelihood(points: NDArray, statistics: Statistics, rates: NDArray) -> float:
    clusters = np.arange(statistics.counts.shape[1])
    total = 0.0
    for t, rate in enumerate(rates):
        offsets = points[:, None, :] - statistics.assigned[t]
        members = (offsets**2).sum(axis=2).argmin(axis=1)[:, None] == clusters
        total -= rate * np.abs(statistics.counts[t] - members.sum(axis=0)).sum()
        total -= rate * np.abs(statistics.sums[t] - members.T.astype(float) @ points).sum()
    return float(total)


def scaled(statistics: Statistics, size: int) -> Statistics:
    total = statistics.counts[0].sum() or size
    return replace(
        statistics, counts=statistics.counts * size / total, sums=statistics.sums * size / total
    )


def plain_chain(
    statistics: Statistics, rates: NDArray, size: int, draws: Draws, delta: float = DELTA
) -> Chain:
    """The chain by its definition: every step computes everything again."""
    points, clusters = start(statistics, size)
    statistics = scaled(statistics, size)
    weights = np.array([n / n.sum() if n.any() else n + 1 / n.size for n in statistics.counts])
    components = [(len(weights) - 1, int(k)) for k in clusters]
    states, trace, accepted = [points], [log_likelihood(points, statistics, rates)], 0

    def log_q(x: NDArray, component: tuple[int, int]) -> float:
        squared = float(((x - statistics.updated[component]) ** 2).sum())
        return math.log(weights[component]) - squared / (2 * delta)

    for step, uniform in enumerate(draws.accept):
        i = int(draws.index[step] * size)
        t = int(draws.iteration[step] * len(weights))
        upto = np.cumsum(weights[t])
        k = int(np.searchsorted(upto, draws.component[step] * upto[-1], side="right"))
        changed = states[-1].copy()
        changed[i] = statistics.updated[t, k] + math.sqrt(delta) * draws.normals[step]
        found = log_likelihood(changed, statistics, rates)
        correction = log_q(states[-1][i], components[i]) - log_q(changed[i], (t, k))
        if uniform < math.exp(min(0.0, found - trace[-1] + correction)):
            components[i] = (t, k)
            states.append(changed)
            trace.append(found)
            accepted += 1
        else:
            states.append(states[-1])
            trace.append(trace[-1])
    best = next(step for step, value in enumerate(trace) if value >= max(trace) - ROUNDING)
    shown = np.linspace(0, len(trace) - 1, min(len(trace), TRACE)).round().astype(int)
    return Chain(
        points=states[best],
        log_likelihood=np.array(trace)[shown],
        best=trace[best],
        accepted=accepted / max(len(draws.accept), 1),
    )


# -- cases -------------------------------------------------------------------------------


def noisy(seed: int, t: int, k: int, d: int) -> Statistics:
    """Statistics with noise of any size, or without records; some centres are equal."""
    rng = np.random.default_rng(seed)
    assigned = rng.uniform(-1, 1, (t, k, d))
    assigned[rng.random((t, k)) < 0.1] = 0.25
    updated = assigned + rng.normal(0, 0.1, (t, k, d))
    shares = rng.dirichlet(np.ones(k), t) * rng.choice([100.0, 100.0, 100.0, 0.0])
    scale = rng.choice([0.0, 1.0, 10.0, 100.0])
    counts, sums = consistent(
        shares + rng.laplace(0, 1, (t, k)) * scale,
        shares[:, :, None] * updated + rng.laplace(0, 1, (t, k, d)) * scale,
    )
    return Statistics(assigned=assigned, updated=updated, counts=counts, sums=sums)


def lloyd(t: int, seed: int = 0) -> tuple[NDArray, Statistics]:
    """Four blobs, and the statistics of Lloyd's iteration without noise from a bad start."""
    rng = np.random.default_rng(seed)
    blobs = np.array([[-0.5, -0.4], [0.4, -0.3], [0.0, 0.5], [-0.6, 0.3]])
    points = np.repeat(blobs, [60, 100, 150, 90], axis=0) + rng.normal(0, 0.05, (400, 2))
    centers = np.array([[0.0, -0.1], [0.15, 0.7], [0.65, -0.05], [0.35, 0.0]])
    found: list[tuple[NDArray, ...]] = []
    for _ in range(t):
        squared = ((points[:, None] - centers) ** 2).sum(axis=2)
        members = np.eye(4)[squared.argmin(axis=1)]
        counts, sums = members.sum(axis=0), members.T @ points
        after = sums / counts[:, None]
        found.append((centers, after, counts, sums))
        centers = after
    names = [field.name for field in fields(Statistics)]
    columns = (np.array(column) for column in zip(*found, strict=True))
    return points, Statistics(**dict(zip(names, columns, strict=True)))


def one_step(u: tuple[float, float, float], normals: list[float], accept: float) -> Draws:
    index, iteration, component = (np.array([value]) for value in u)
    return Draws(
        index=index,
        iteration=iteration,
        component=component,
        normals=np.array([normals]),
        accept=np.array([accept]),
    )


def check_same(one: Chain, other: Chain) -> None:
    assert one.accepted == other.accepted
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-12, atol=1e-9)
    assert one.best == pytest.approx(other.best, rel=1e-12, abs=1e-9)
    np.testing.assert_array_equal(one.points, other.points)


# -- consistency -------------------------------------------------------------------------


#: Numbers are thousandths, because the solver treats 1e-7 as 0; small whole numbers make ties.
numbers = st.one_of(st.integers(-50_000, 200_000).map(lambda n: n / 1000), st.integers(-9, 9))
tables = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: arrays(float, shape, elements=numbers)
)


@often
@given(counts=tables)
def test_counts_change_as_little_as_the_linear_programme_says(counts: NDArray) -> None:
    found, _ = consistent(counts, counts[:, :, None])
    change = np.abs(found - counts).sum()
    assert change == pytest.approx(least_change(counts, 0), rel=1e-9, abs=1e-9)


@often
@given(sums=tables)
def test_sums_change_as_little_as_the_linear_programme_says(sums: NDArray) -> None:
    _, found = consistent(np.abs(sums), np.stack([sums, -2 * sums], axis=2))
    least = least_change(sums, None)
    assert np.abs(found[:, :, 0] - sums).sum() == pytest.approx(least, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found[:, :, 1], -2 * found[:, :, 0], atol=1e-9)


@often
@given(values=tables)
def test_totals_agree_and_counts_are_not_negative(values: NDArray) -> None:
    counts, sums = consistent(values, np.stack([values, values**2], axis=2))
    assert counts.min() >= 0
    assert np.ptp(counts.sum(axis=1)) < 1e-9
    assert np.ptp(sums.sum(axis=1), axis=0).max() < 1e-7
    again = consistent(counts, sums)
    np.testing.assert_allclose(again[0], counts, atol=1e-9)
    np.testing.assert_allclose(again[1], sums, atol=1e-7)


def test_consistent_statistics_stay_as_they_are() -> None:
    counts = np.array([[3.0, 0.0, 5.0], [4.0, 4.0, 0.0]])
    sums = np.array([[[1.0], [2.0], [-4.0]], [[0.0], [0.0], [-1.0]]])
    found = consistent(counts, sums)
    np.testing.assert_array_equal(found[0], counts)
    np.testing.assert_array_equal(found[1], sums)


def test_consistency_of_a_case_worked_by_hand() -> None:
    # The totals of the positive values are 6, 9 and 8; the median is 8. The first iteration has two
    # records too few, the second iteration has one too many.
    counts = np.array([[5.0, 1.0, -1.5], [0.25, 8.75, 0.0], [8.0, -7.0, 0.0]])
    # The totals are 0, 3, 6. The median is 3, so row 1 gets +1, row 3 gets -1.
    sums = np.array([[-1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [6.0, 0.0, 0.0]])[:, :, None]
    found_counts, found_sums = consistent(counts, sums)
    np.testing.assert_allclose(found_counts, [[6, 2, 0], [0, 8, 0], [8, 0, 0]])
    np.testing.assert_allclose(found_sums[:, :, 0], [[0, 1, 2], [1, 1, 1], [5, -1, -1]])


def test_counts_that_are_all_negative_become_zero() -> None:
    counts, _ = consistent(np.array([[-3.0, -0.1], [-1.0, -1.0]]), np.zeros((2, 2, 1)))
    np.testing.assert_array_equal(counts, np.zeros((2, 2)))


# -- the start ---------------------------------------------------------------------------


@often
@given(
    seed=st.integers(0, 2**32), t=st.integers(1, 3), k=st.integers(1, 6), size=st.integers(1, 99)
)
def test_start_puts_the_last_shares_on_the_last_centres(
    seed: int, t: int, k: int, size: int
) -> None:
    statistics = noisy(seed, t, k, 2)
    points, clusters = start(statistics, size)
    np.testing.assert_array_equal(points, statistics.updated[-1][clusters])
    counts = statistics.counts[-1]
    shares = size * counts / counts.sum() if counts.any() else np.full(k, size / k)
    of_each = np.bincount(clusters, minlength=k)
    assert of_each.sum() == len(points) == size
    assert np.abs(of_each - shares).max() < 1 + 1e-9
    # No share that was rounded up has a smaller remainder than a share that was rounded down.
    up, down = shares[of_each > shares] % 1, shares[of_each < shares] % 1
    assert up.min(initial=1) >= down.max(initial=0) - 1e-9
    assert not counts.any() or counts[clusters].min() > 0


def test_start_rounds_by_largest_remainder_and_ties_go_to_the_lower_number() -> None:
    centers = np.arange(4.0)[None, :, None]
    counts = np.array([[2.5, 1.25, 1.25, 0.0]])  # of 3 points: 1.5, 0.75, 0.75, 0
    case = Statistics(assigned=centers, updated=centers, counts=counts, sums=np.zeros((1, 4, 1)))
    assert start(case, 3)[1].tolist() == [0, 1, 2]
    assert start(case, 2)[1].tolist() == [0, 1]  # 1, 0.5, 0.5, 0
    assert start(replace(case, counts=0 * counts), 6)[1].tolist() == [0, 0, 1, 1, 2, 3]


@quick
@given(seed=st.integers(0, 2**32))
def test_cluster_numbers_mean_nothing(seed: int) -> None:
    statistics = noisy(seed, 3, 5, 2)
    order = np.random.default_rng(seed).permutation(5)
    other = Statistics(
        **{field.name: getattr(statistics, field.name)[:, order] for field in fields(Statistics)}
    )
    if not statistics.counts.any():  # equal shares: the lowest numbers are rounded up
        return
    one, two = (
        run_chain(case, np.ones(3), 100, draws(np.random.default_rng(0), 0, 2))
        for case in (statistics, other)
    )
    assert sorted(map(tuple, one.points)) == sorted(map(tuple, two.points))
    # Of equal centres, the centre with the lowest number gets the record.
    if len(np.unique(statistics.assigned.reshape(-1, 2), axis=0)) == 15:
        assert one.best == pytest.approx(two.best, rel=1e-12)


# -- cases computed by hand --------------------------------------------------------------


@pytest.fixture
def small() -> Statistics:
    return Statistics(
        assigned=np.array([[[-1.0], [1.0]], [[-0.5], [0.5]]]),
        updated=np.array([[[-0.5], [0.5]], [[-0.25], [0.75]]]),
        counts=np.array([[4.0, 4.0], [6.0, 2.0]]),
        sums=np.array([[[-2.0], [2.0]], [[-1.5], [1.5]]]),
    )


def test_log_likelihood_of_the_start(small: Statistics) -> None:
    # Scaled to four points: n' = (2, 2), (3, 1) and s' = (-1, 1), (-0.75, 0.75). Three points are
    # at -0.25 and one point is at 0.75: N = (3, 1) and S = (-0.75, 0.75) in both iterations. The
    # distance is 1 + 1 + 0.25 + 0.25 in iteration 1, and 0 in iteration 2.
    found = run_chain(small, np.array([10.0, 1.0]), 4, draws(np.random.default_rng(0), 0, 1))
    assert found.points[:, 0].tolist() == [-0.25, -0.25, -0.25, 0.75]
    assert found.best == pytest.approx(-25)
    assert found.log_likelihood.tolist() == [found.best]
    assert found.accepted == 0


def test_log_likelihood_after_a_step(small: Statistics) -> None:
    # The first point moves to 0.5 + 0.1, cluster 2 of iteration 1. N = (2, 2), S = (-0.5, 1.35).
    # The distance is 0.5 + 0.35 in iteration 1, and 1 + 1 + 0.25 + 0.6 in iteration 2.
    step = one_step((0.1, 0.4, 0.6), [1.0], 0.0)
    found = run_chain(small, np.array([10.0, 1.0]), 4, step, delta=0.01)
    np.testing.assert_allclose(found.points[:, 0], [0.6, -0.25, -0.25, 0.75])
    np.testing.assert_allclose(found.log_likelihood, [-25, -8.5 - 2.85])
    assert found.best == pytest.approx(-11.35)
    assert found.accepted == 1


def test_a_point_halfway_belongs_to_the_lower_number() -> None:
    case = Statistics(
        assigned=np.array([[[0.0], [2.0]]]),
        updated=np.array([[[1.0], [1.0]]]),
        counts=np.array([[1.0, 0.0]]),
        sums=np.array([[[1.0], [0.0]]]),
    )
    # The step proposes the same place, so nothing changes.
    found = run_chain(case, np.ones(1), 1, one_step((0.0, 0.0, 0.5), [0.0], 0.5))
    assert found.log_likelihood.tolist() == [0.0, 0.0]
    assert found.accepted == 1


@pytest.mark.parametrize(
    ("counts", "off", "back"),
    [
        ((1.0, 3.0), 0.0, 1 / 3),  # weights 3/4 to 1/4: a point of the rare component stays
        ((2.0, 2.0), 1.5, math.exp(-(1.5**2) / 2)),  # and so does a point 1.5 sigma away
    ],
)
def test_proposals_are_corrected_for(counts: tuple[float, float], off: float, back: float) -> None:
    """Without statistics (rates 0), only the ratio of the proposals decides."""
    centers = np.array([[[0.0], [1.0]]])
    case = Statistics(
        assigned=centers, updated=centers, counts=np.array([counts]), sums=np.zeros((1, 2, 1))
    )
    for uniform, accepted in ((back - 1e-9, 1.0), (back + 1e-9, 0.5)):
        # The last point certainly moves from cluster 2 to cluster 1; later it can move back.
        both = Draws(
            index=np.array([0.99, 0.99]),
            iteration=np.zeros(2),
            component=np.array([0.1, 0.9]),
            normals=np.array([[off], [0.0]]),
            accept=np.array([1 - 2**-53, uniform]),
        )
        assert run_chain(case, np.zeros(1), 4, both).accepted == accepted


@pytest.mark.parametrize(("component", "place"), [(0.0, 1.0), (1 - 2**-53, 2.0), (0.25, 2.0)])
def test_a_cluster_without_records_proposes_nothing(component: float, place: float) -> None:
    centers = np.arange(4.0)[None, :, None]
    case = Statistics(
        assigned=centers,
        updated=centers,
        counts=np.array([[0.0, 1.0, 3.0, 0.0]]),
        sums=np.zeros((1, 4, 1)),
    )
    step = one_step((0.5, 0.5, component), [0.0], 0.0)
    points, densities = chain._proposals(case, step, DELTA)
    assert points.tolist() == [[place]]
    assert densities[0] == pytest.approx(math.log(0.25 if place == 1 else 0.75))


def test_only_counts_of_zero_are_equal_shares() -> None:
    centers = np.array([[[0.0], [1.0]]])
    zero = Statistics(
        assigned=centers, updated=centers, counts=np.zeros((1, 2)), sums=np.zeros((1, 2, 1))
    )
    found = run_chain(zero, np.ones(1), 4, draws(np.random.default_rng(0), 0, 1))
    # All counts are zero, so two points are at 0 and two points are at 1.
    assert found.best == -(2 + 2 + 0 + 2)
    for component, place in ((0.49, 0.0), (0.51, 1.0)):
        step = one_step((0.5, 0.5, component), [0.0], 0.0)
        assert chain._proposals(zero, step, DELTA)[0].tolist() == [[place]]


# -- parity ------------------------------------------------------------------------------


@examples(60)
@given(
    seed=st.integers(0, 2**32),
    t=st.integers(1, 5),
    k=st.integers(1, 6),
    d=st.sampled_from([1, 2, 5]),
    size=st.sampled_from([1, 2, 9, 40]),
    steps=st.integers(0, 250),
)
def test_fast_chain_takes_the_steps_of_the_plain_one(
    seed: int, t: int, k: int, d: int, size: int, steps: int
) -> None:
    rng = np.random.default_rng(seed)
    statistics = noisy(seed, t, k, d)
    rates = rng.choice([0.0, 0.01, 0.5, 3.0], t)
    numbers, delta = draws(rng, steps, d), rng.choice([1e-4, DELTA, 0.1])
    fast = run_chain(statistics, rates, size, numbers, delta)
    check_same(fast, plain_chain(statistics, rates, size, numbers, delta))


@pytest.mark.parametrize("seed", range(20))
def test_parity_where_many_points_lie_halfway(seed: int) -> None:
    rng = np.random.default_rng(seed)
    statistics = replace(
        noisy(seed, 3, 4, 2),
        assigned=rng.integers(-2, 3, (3, 4, 2)) / 2,
        updated=rng.integers(-4, 5, (3, 4, 2)) / 4,
    )
    numbers = draws(rng, 200, 2)
    numbers = replace(numbers, normals=np.round(numbers.normals))
    rates = np.full(3, 0.5)
    fast = run_chain(statistics, rates, 25, numbers, delta=1 / 16)
    check_same(fast, plain_chain(statistics, rates, 25, numbers, delta=1 / 16))


def test_parity_over_more_steps_than_are_shown() -> None:
    _, statistics = lloyd(4)
    numbers = draws(np.random.default_rng(5), 1500, 2)
    rates = np.array([1.0, 2.0, 0.5, 1.0])
    fast = run_chain(statistics, rates, 50, numbers)
    check_same(fast, plain_chain(statistics, rates, 50, numbers))
    assert len(fast.log_likelihood) == TRACE
    assert 0.05 < fast.accepted < 0.95


# -- the result of a chain ---------------------------------------------------------------


@quick
@given(seed=st.integers(0, 2**32), size=st.sampled_from([1, 10, 300]))
def test_best_is_the_likelihood_of_the_points(seed: int, size: int) -> None:
    statistics = noisy(seed, 3, 4, 2)
    rates = np.array([0.1, 1.0, 2.0])
    found = run_chain(statistics, rates, size, draws(np.random.default_rng(seed), 3000, 2))
    again = log_likelihood(found.points, scaled(statistics, size), rates)
    assert found.best == pytest.approx(again, rel=1e-9, abs=1e-9)
    assert found.points.shape == (size, 2)
    assert found.best >= found.log_likelihood.max() - ROUNDING
    assert len(found.log_likelihood) == TRACE


def test_chain_finds_data_that_explain_the_statistics() -> None:
    """Statistics without noise: the last distance is much smaller than the first."""
    points, statistics = lloyd(4)
    assert log_likelihood(points, statistics, np.ones(4)) == pytest.approx(0, abs=1e-9)
    numbers = draws(np.random.default_rng(1), 30_000, 2)
    found = run_chain(statistics, np.full(4, 3.0), 400, numbers)
    first = found.log_likelihood[0]
    assert first < -250
    assert found.best > first / 10


def test_rounding_does_not_choose_between_data_sets_that_are_equally_good() -> None:
    trace = np.array([-3.0, -2.0, -2.0 + 1e-12, -2.5, -2.0 + 5e-10, -2.0])
    assert chain._best_step(trace) == 1
    assert chain._best_step(np.append(trace, -2.0 + 1e-6)) == 6


def test_longer_chain_goes_on_where_the_shorter_one_stopped() -> None:
    _, statistics = lloyd(3)
    rates, steps = np.ones(3), 2 * TRACE - 2
    long = run_chain(statistics, rates, 80, draws(np.random.default_rng(9), steps, 2))
    for upto in (2, 200, steps):  # the trace has every second step
        short = run_chain(statistics, rates, 80, draws(np.random.default_rng(9), upto, 2))
        shown = round(upto * (TRACE - 1) / steps)
        assert short.log_likelihood[-1] == long.log_likelihood[shown]
        assert short.log_likelihood[0] == long.log_likelihood[0]


def test_draws_are_those_of_their_generator() -> None:
    one, same, longer = (draws(np.random.default_rng(3), steps, 2) for steps in (2000, 2000, 5000))
    for name in (field.name for field in fields(Draws)):
        values = getattr(one, name)
        np.testing.assert_array_equal(values, getattr(same, name))
        np.testing.assert_array_equal(values, getattr(longer, name)[:2000])
        mean, spread = (0, 1) if name == "normals" else (0.5, 12**-0.5)
        # Five standard errors.
        assert abs(values.mean() - mean) < 5 * spread / math.sqrt(values.size)
        assert values.std() == pytest.approx(spread, rel=0.1)
    generator = np.random.default_rng(3)
    assert (draws(generator, 9, 1).index != draws(generator, 9, 1).index).all()


# -- compiled code -----------------------------------------------------------------------


def test_chain_is_compiled_once_whatever_the_arrays_look_like() -> None:
    statistics, rates = noisy(0, 3, 4, 2), np.ones(3)
    numbers = draws(np.random.default_rng(0), 200, 2)
    expected = run_chain(statistics, rates, 30, numbers)

    def odd(values: NDArray) -> NDArray:
        turned = np.asfortranarray(values)
        turned.flags.writeable = False
        return turned

    strange = Statistics(
        **{field.name: odd(getattr(statistics, field.name)) for field in fields(Statistics)}
    )
    others = Draws(**{field.name: odd(getattr(numbers, field.name)) for field in fields(Draws)})
    check_same(run_chain(strange, np.ones(3, dtype=np.int64), 30, others), expected)
    assert len(chain._walk.signatures) == 1


def test_inputs_are_left_alone() -> None:
    statistics, rates = noisy(1, 3, 4, 2), np.ones(3)
    numbers = draws(np.random.default_rng(0), 500, 2)
    held = [
        (getattr(given_, field.name), getattr(given_, field.name).copy())
        for given_ in (statistics, numbers)
        for field in fields(given_)
    ]
    one = run_chain(statistics, rates, 50, numbers)
    check_same(run_chain(statistics, rates, 50, numbers), one)
    for now, before in held:
        np.testing.assert_array_equal(now, before)


def test_compiled_code_is_kept_on_disk() -> None:
    run_chain(noisy(0, 1, 1, 1), np.ones(1), 1, draws(np.random.default_rng(0), 1, 1))
    where = Path(chain._walk.stats.cache_path)
    assert list(where.glob("chain._walk-*.nbi"))

"""Methods spend the claimed budget, read data only through mechanisms, and match the papers."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from itertools import count, product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.reading.read import read_table
from dpviz.data.reading.table import Table
from dpviz.data.units import cap_records
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.methods.baseline import COUNT_SHARE, synthetic_counts
from dpviz.wavecluster.methods.privthr import pruned_threshold
from dpviz.wavecluster.methods.privthrem import rank_intervals
from dpviz.wavecluster.methods.synopses import SYNOPSES, _agree, _haar, _inverse_haar
from dpviz.wavecluster.parameters import SYNOPSES as SYNOPSIS_NAMES
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Leaves, Run, Source, cluster
from dpviz.wavecluster.threshold import density_threshold, positive_values
from dpviz.wavecluster.truth import Truth, run
from dpviz.wavecluster.wavelet import average_subband, rank_of, sensitivity
from tests.support.tiers import examples

quick = examples(60)

PRIVATE = tuple(name for name, entry in WAVECLUSTER.items() if entry.card.spends)
WAVELETS = ("haar", "db2", "db5", "bior2.2", "rbio3.1", "coif1")

seeds = st.integers(0, 2**32)
neighbourhoods = st.builds(
    Neighbours, relation=st.sampled_from(RELATIONS), cap=st.sampled_from([1, 1, 3])
)


class NoNoise:
    """Noise source without noise: mechanisms return their exact arguments."""

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.zeros(shape)

    def uniform(self, step: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        return np.full(shape, 0.5)


class Recorder(Accountant):
    """Accountant that records the request and the answer of every mechanism."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.asked: list[dict[str, Any]] = []
        self.answered: list[Any] = []

    def laplace(self, step: str, values: Any, **options: Any) -> NDArray[np.float64]:
        return self._keep(step, super().laplace(step, values, **options), options)

    def interval(self, step: str, edges: NDArray, scores: NDArray, **options: Any) -> Any:
        answer = super().interval(step, edges, scores, **options)
        return self._keep(step, answer, {**options, "edges": edges, "scores": scores})

    def _keep(self, step: str, answer: Any, options: dict[str, Any]) -> Any:
        self.asked.append({"step": step, **options})
        self.answered.append(answer)
        return answer


class Replay(Recorder):
    """Accountant that repeats the answers of another accountant, for any data."""

    def __init__(self, answers: list[Any], *given: Any) -> None:
        super().__init__(*given)
        self.left = list(answers)

    def _keep(self, step: str, answer: Any, options: dict[str, Any]) -> Any:
        replayed = self.left.pop(0)
        if isinstance(replayed, tuple):
            replayed = answer[0], replayed[1]  # for an interval, only the value is an answer
        assert np.shape(replayed) == np.shape(answer)
        return super()._keep(step, replayed, options)


def source_of(
    ndim: int, seed: int, n: int = 200, grid: int | tuple[int, ...] | None = None
) -> Source:
    rng = np.random.default_rng(seed)
    points = np.clip(rng.choice(rng.random((3, ndim)), n) + rng.normal(0, 0.1, (n, ndim)), 0, 1)
    domain = Domain(tuple((-3.0 * axis, 2.0 + axis) for axis in range(ndim)))
    points = domain.lows + points * (domain.highs - domain.lows)
    shape = grid or (40, 9, 5)[ndim - 1]
    return Source.build(Dataset(name="", points=points), shape, domain)


@st.composite
def configs(draw: st.DrawFn, **fixed: Any) -> Config:
    free = {
        "method": st.sampled_from(tuple(WAVECLUSTER)),
        "density": st.sampled_from([0.05, 0.3, 0.58, 0.9]),
        "wavelet": st.sampled_from(WAVELETS),
        "level": st.integers(1, 2),
        "epsilon": st.sampled_from([0.1, 0.3, 1.0, 7.7]),
        "alpha": st.sampled_from([0.05, 0.3, 0.7, 0.9]),
        "variant": st.sampled_from(["sound", "published"]),
        "synopsis": st.sampled_from(SYNOPSIS_NAMES),
        "neighbours": neighbourhoods,
    }
    return Config(**{name: draw(one) for name, one in free.items() if name not in fixed}, **fixed)


sources = st.builds(source_of, st.integers(1, 3), seeds, st.sampled_from([1, 30, 400]))


def assert_same(one: Run, other: Run) -> None:
    np.testing.assert_array_equal(one.stages.counts, other.stages.counts)
    np.testing.assert_array_equal(one.stages.average, other.stages.average)
    np.testing.assert_array_equal(one.stages.labels, other.stages.labels)
    assert one.stages.threshold == other.stages.threshold


# -- every method ------------------------------------------------------------------------


@examples(250)
@given(source=sources, config=configs(), seed=st.integers(0, 999))
def test_ledger_sums_to_epsilon_and_results_are_finite_and_reproducible(
    source: Source, config: Config, seed: int
) -> None:
    found = run(source, config, SeededNoise(seed))
    budget = 0 if config.method == "wavecluster" else config.epsilon
    # If a step has parallel costs, its budget is the largest cost.
    steps = {
        spend.step if spend.composition == "parallel" else number: spend.epsilon
        for number, spend in enumerate(found.ledger)
    }
    assert math.fsum(steps.values()) == pytest.approx(budget, abs=1e-9)
    assert found.ledger.epsilon == pytest.approx(budget, abs=1e-9)
    assert found.ledger.neighbours == config.neighbours or not budget
    stages = found.stages
    assert np.isfinite(stages.counts).all()
    assert np.isfinite(stages.average).all()
    assert not math.isnan(stages.threshold.value)
    assert stages.counts.shape == source.shape
    np.testing.assert_array_equal(
        stages.average, average_subband(stages.counts, config.wavelet, config.level)
    )
    if not stages.threshold.sampled:  # otherwise a mask, which no threshold gives
        np.testing.assert_array_equal(stages.significant, stages.average >= stages.threshold.value)
    assert stages.labels.max() == stages.n_clusters
    assert 0 <= found.k <= stages.average.size
    again = run(source, config, SeededNoise(seed))
    assert_same(found, again)
    assert again.trace == found.trace


@pytest.mark.parametrize("name", PRIVATE)
def test_another_seed_gives_another_result(name: str) -> None:
    source, config = source_of(2, 0), Config(method=name)
    one, other = (run(source, config, SeededNoise(seed)).stages for seed in (0, 1))
    assert (one.counts != other.counts).mean() > 0.3


@examples(120)
@given(
    ndim=st.integers(1, 3),
    seed=seeds,
    method=st.sampled_from(["privqt", "privthr", "privthrem", "baseline"]),
    data=st.data(),
)
def test_sound_results_are_functions_of_the_mechanisms_answers(
    ndim: int, seed: int, method: str, data: st.DataObject
) -> None:
    # If two data sets share only public values, the same answers give the same result.
    synopsis = data.draw(st.sampled_from(SYNOPSIS_NAMES))
    config = data.draw(configs(method=method, variant="sound", synopsis=synopsis))
    one, other = source_of(ndim, seed), source_of(ndim, seed + 1, n=3)
    asked = Recorder(SeededNoise(7), config.epsilon, config.neighbours)
    found = WAVECLUSTER[method].run(one, config, asked)
    replay = Replay(asked.answered, SeededNoise(7), config.epsilon, config.neighbours)
    assert_same(found, WAVECLUSTER[method].run(other, config, replay))
    assert not replay.left
    assert found.ledger == replay.ledger


def test_unknown_method_is_refused_with_the_choices() -> None:
    with pytest.raises(InputError, match="wavecluster, baseline, privqt, privthr, privthrem"):
        run(source_of(2, 0), Config(method="privxx"), SeededNoise(0))


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("synopsis", SYNOPSIS_NAMES)
def test_no_records_at_all_still_give_a_result(name: str, variant: Any, synopsis: str) -> None:
    empty = Source.build(Dataset(name="", counts=np.zeros((6, 6), dtype=np.int64)), 6)
    config = Config(method=name, variant=variant, synopsis=synopsis)
    for seed in range(5):
        found = run(empty, config, SeededNoise(seed))
        assert found.ledger.epsilon == pytest.approx(1, abs=1e-9)
    assert run(empty, Config(method="wavecluster"), SeededNoise(0)).stages.n_clusters == 0


# -- PrivQT, PrivTHR, PrivTHREM ----------------------------------------------------------


@quick
@given(
    shape=st.sampled_from([(31,), (12, 9), (6, 5, 4)]),
    seed=seeds,
    percent=st.integers(1, 99),
    name=st.sampled_from(["privqt", "privthr", "privthrem"]),
)
def test_a_huge_budget_gives_the_true_cells_where_none_is_empty(
    shape: tuple[int, ...], seed: int, percent: int, name: str
) -> None:
    # All blocks have different sums, so noise can't break a tie.
    blocks = np.random.default_rng(seed).permutation(np.prod([-(-side // 2) for side in shape]))
    counts = np.zeros(shape, dtype=np.int64)
    counts[(slice(None, None, 2),) * len(shape)] = 1 + blocks.reshape(
        counts[(slice(None, None, 2),) * len(shape)].shape
    )
    source = Source.build(Dataset(name="", counts=counts), shape)
    config = Config(method=name, density=percent / 100, epsilon=1e5)
    private = run(source, config, SeededNoise(seed % 1000))
    truth = Truth(source, config)
    assert truth.stages.threshold.nonpositive == 0
    np.testing.assert_array_equal(private.stages.labels, truth.stages.labels)
    assert private.k == truth.stages.threshold.k


@pytest.mark.parametrize("seed", range(5))
def test_a_huge_budget_gives_nearly_the_true_cells_where_many_are_empty(seed: int) -> None:
    source = source_of(2, seed, n=5000, grid=64)
    for name in ("privthr", "privthrem"):
        config = Config(method=name, density=0.5, epsilon=1e5)
        truth, private = Truth(source, config), run(source, config, SeededNoise(seed)).stages
        threshold = truth.stages.threshold
        # Noise breaks ties at the threshold, so cells with a value of exactly d may be missing.
        tied = int((truth.stages.average == threshold.value).sum())
        # PrivTHR assumes that noise made half of the empty cells positive. The true number is
        # binomial for any budget; a deviation of 5 standard deviations never occurs by accident.
        guess = 0.5 * 5 * math.sqrt(threshold.nonpositive) / 2 if name == "privthr" else 0
        wrong = int((private.significant != truth.stages.significant).sum())
        assert wrong <= tied + guess


@pytest.mark.some(8)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("wavelet", ["haar", "bior2.2"])
@pytest.mark.parametrize("variant", ["sound", "published"])
def test_scales_on_the_ledger_are_those_of_the_algorithms(
    variant: Any, wavelet: str, relation: Any
) -> None:
    source, unit = source_of(2, 0), Neighbours(relation=relation, cap=3)
    # Published: according to the paper, a modified record changes one count.
    times = 3 if relation == "add_remove" or variant == "published" else 6
    bound = sensitivity(wavelet, 1, source.shape, 0.3)
    # Published: the paper has the same sensitivity for Z and the rank.
    rank = bound.rank if variant == "sound" else bound.nonpositive
    shares = {
        "privqt": {"counts": (2.0, 1 / 2.0)},
        "privthr": {"counts": (1.2, 1 / 1.2), "nonpositive": (0.8, bound.nonpositive / 0.8)},
        "privthrem": {"counts": (1.2, 1 / 1.2), "threshold": (0.8, 2 * rank / 0.8)},
    }
    for name, expected in shares.items():
        config = Config(
            method=name,
            wavelet=wavelet,
            density=0.3,
            epsilon=2.0,
            alpha=0.6,
            neighbours=unit,
            variant=variant,
        )
        spends = {spend.step: spend for spend in run(source, config, SeededNoise(0)).ledger}
        assert set(spends) == set(expected)
        for step, (epsilon, scale) in expected.items():
            assert spends[step].epsilon == pytest.approx(epsilon)
            assert spends[step].scale == pytest.approx(scale * times)


def algorithm_3(average: NDArray, percent: int, nonpositive: float) -> tuple[int, float]:
    """PrivTHR's k' and d' as printed, computed with lists."""
    values = sorted(value for value in average.ravel().tolist() if value > 0)
    for _ in range(round(nonpositive / 2)):
        if len(values) > 1:
            values.pop(0)
    k = -(-(100 - percent) * len(values) // 100)
    return k, values[len(values) - k] if k else math.inf


@examples(300)
@given(
    seed=seeds,
    size=st.integers(20, 60) | st.integers(1, 20),
    percent=st.integers(1, 99),
    nonpositive=st.integers(-20, 400).map(lambda quarters: quarters / 4),
)
def test_pruned_threshold_is_that_of_algorithm_3(
    seed: int, size: int, percent: int, nonpositive: float
) -> None:
    average = np.random.default_rng(seed).integers(-6, 20, size) / 2
    found = pruned_threshold(average, percent / 100, nonpositive)
    assert (found.k, found.value) == algorithm_3(average, percent, nonpositive)
    assert found.positive == (average > 0).sum()
    assert found.positive + found.nonpositive == size


def test_privthr_prunes_by_half_of_z_of_the_true_subband() -> None:
    source = source_of(2, 3)
    config = Config(method="privthr", density=0.3)
    found = WAVECLUSTER["privthr"].run(source, config, Accountant(NoNoise(), 1.0))
    true = average_subband(source.counts, "haar", 1)
    assert found.trace == {"nonpositive": (true <= 0).sum()}
    k, value = algorithm_3(true, 30, float((true <= 0).sum()))
    assert (found.stages.threshold.k, found.stages.threshold.value) == (k, value)


@quick
@given(
    values=st.lists(st.integers(1, 12).map(lambda twice: twice / 2), max_size=12).map(sorted),
    top=st.sampled_from([0.25, 1.0, 3.3, 6.0, 9.0]),
)
def test_intervals_hold_the_thresholds_of_equal_rank(values: list[float], top: float) -> None:
    edges, ranks = rank_intervals(np.array(values), top)
    assert (edges[0], edges[-1]) == (0, top)
    assert (np.diff(edges) >= 0).all()
    assert len(ranks) == len(values) + 1 == len(edges) - 1
    for low, high, rank in zip(edges[:-1], edges[1:], ranks, strict=True):
        for x in (high, (low + high) / 2) if low < high else ():
            assert rank == sum(value >= x for value in values)


@quick
@given(source=sources, config=configs(method="privthrem"), seed=st.integers(0, 999))
def test_drawn_threshold_stays_below_the_largest_coefficient(
    source: Source, config: Config, seed: int
) -> None:
    found = run(source, config, SeededNoise(seed))
    true = average_subband(source.counts, config.wavelet, config.level)
    largest = float((found.stages.average if config.variant == "sound" else true).max())
    value = found.stages.threshold.value
    assert 0 < value <= (largest if largest > 0 else 1.0)
    assert found.stages.significant.any() or largest <= 0 or config.variant == "published"
    # The secret rank is the rank of the sampled value in the true subband.
    assert found.k == (true >= value).sum()
    assert found.stages.threshold.k is None


def log_density(asked: dict[str, Any], times: int, at: NDArray) -> NDArray[np.float64]:
    """Log density of the exponential mechanism at some points, from its request only."""
    edges, rate = asked["edges"], asked["epsilon"] / (2 * asked["sensitivity"] * times)
    logs = rate * (asked["scores"] - asked["scores"].max())
    total = float((np.diff(edges) * np.exp(logs)).sum())
    inside = np.searchsorted(edges, at, side="left") - 1
    density = logs[np.clip(inside, 0, len(logs) - 1)] - math.log(total)
    return np.where((at > 0) & (at <= edges[-1]), density, -np.inf)


def largest_loss(
    counts: NDArray, other: NDArray, config: Config, outcome: NDArray | None = None
) -> float:
    """Largest log ratio of the densities of d' on two data sets, for the same M'."""
    requests = []
    for one in (counts, other):
        source = Source.build(Dataset(name="", counts=one), one.shape)
        answers = [counts + 0.25 if outcome is None else outcome, (0, 1.0)]
        replay = Replay(answers, SeededNoise(0), config.epsilon, config.neighbours)
        WAVECLUSTER["privthrem"].run(source, config, replay)
        requests.append(replay.asked[1])
    edges = np.unique(np.concatenate([asked["edges"] for asked in requests]))
    at = (edges[1:] + edges[:-1]) / 2
    first, second = (log_density(asked, config.neighbours.multiplier, at) for asked in requests)
    return float(np.abs(first - second).max())


@examples(200)
@given(
    shape=st.sampled_from([(12,), (6, 6), (4, 5, 4)]),
    seed=seeds,
    mean=st.sampled_from([0.2, 1.0, 6.0]),
    config=configs(method="privthrem", variant="sound", epsilon=4.0, alpha=0.5),
)
def test_sound_threshold_leaks_no_more_than_its_share(
    shape: tuple[int, ...], seed: int, mean: float, config: Config
) -> None:
    rng = np.random.default_rng(seed)
    other = rng.poisson(mean, shape)
    other.flat[0] += config.neighbours.cap  # a person who can be exchanged
    counts = other.copy()
    counts[tuple(rng.integers(0, side) for side in shape)] += config.neighbours.cap
    if config.neighbours.relation == "replace_one":
        counts.flat[0] -= config.neighbours.cap
    assert largest_loss(counts, other, config) <= 2.0 * (1 + 1e-9)


@pytest.mark.parametrize("name", ["privqt", "privthr"])
def test_published_differs_from_sound_in_nothing_but_the_noise_for_a_modified_record(
    name: str,
) -> None:
    source, config = source_of(2, 5), Config(method=name, density=0.3)
    published = replace(config, variant="published")
    sound = run(source, config, SeededNoise(3))
    printed = run(source, published, SeededNoise(3))
    assert np.array_equal(printed.stages.counts, sound.stages.counts)
    assert printed.stages.threshold == sound.stages.threshold
    assert printed.ledger == sound.ledger
    # If a record is modified, the noise is for one changed count, and the ledger shows the same
    # budget.
    modified = replace(published, neighbours=Neighbours(relation="replace_one"))
    again = run(source, modified, SeededNoise(3))
    assert np.array_equal(again.stages.counts, printed.stages.counts)
    assert again.ledger.spends == printed.ledger.spends
    assert again.ledger.neighbours.relation == "replace_one"


def test_cells_of_equal_density_are_significant_together() -> None:
    # Six blocks with one record and p = 1/2: k = 3, and all six reach the third largest value.
    counts = np.zeros((2, 12), dtype=np.int64)
    counts[0, ::2] = 1
    found = cluster(counts, Config(density=0.5))
    assert (found.threshold.k, int(found.significant.sum())) == (3, 6)


def test_privthr_keeps_one_value_and_takes_off_none_for_a_negative_number() -> None:
    values = np.array([1.0, 2.0, 3.0, 0.0])
    assert pruned_threshold(values, 0.5, 100).value == 3.0
    assert pruned_threshold(values, 0.5, -5).value == density_threshold(values, 0.5).value == 2.0


def test_published_threshold_tells_the_largest_coefficient() -> None:
    # One cell with one or two records: thresholds above 1/2 reveal the second record.
    one = np.zeros((2, 2), dtype=int)
    one[0, 0] = 1
    published = Config(method="privthrem", variant="published")
    assert largest_loss(2 * one, one, published) == math.inf
    assert largest_loss(2 * one, one, Config(method="privthrem", alpha=0.7)) <= 0.3 * (1 + 1e-9)


# -- synopses ----------------------------------------------------------------------------


def synopsis_of(
    name: str, source: Source, epsilon: float, noise: Any = None
) -> tuple[Leaves, Recorder]:
    recorder = Recorder(noise or NoNoise(), epsilon)
    return SYNOPSES[name](source, recorder, epsilon, float(source.n)), recorder


@quick
@given(
    ndim=st.integers(1, 3),
    seed=seeds,
    epsilon=st.sampled_from([0.5, 2.0, 20.0]),
    name=st.sampled_from(SYNOPSIS_NAMES),
)
def test_leaves_part_the_domain_and_without_noise_count_every_record_once(
    ndim: int, seed: int, epsilon: float, name: str
) -> None:
    source = source_of(ndim, seed, n=300)
    leaves, recorder = synopsis_of(name, source, epsilon)
    assert recorder.ledger.epsilon == pytest.approx(epsilon, abs=1e-9)
    assert np.prod(leaves.size, axis=1).sum() == pytest.approx(1)
    unit, weights = unit_positions(source)
    # There is a small tolerance, because a point on a border belongs to only one of two leaves.
    floor, ceiling = leaves.low - 1e-9, leaves.low + leaves.size + 1e-9
    inside = (unit[:, None] >= floor).all(axis=2) & (unit[:, None] <= ceiling).all(axis=2)
    clear = inside.sum(axis=1) == 1
    assert inside.any(axis=1).all()
    assert (leaves.records >= weights[clear] @ inside[clear] - 1e-9).all()
    assert (leaves.records <= weights @ inside + 1e-9).all()
    assert leaves.records.sum() == pytest.approx(source.n)


def unit_positions(source: Source) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    positions = source.positions
    low, width = source.domain.lows, source.domain.highs - source.domain.lows
    assert positions.weights is not None
    return (positions.points - low) / width, positions.weights


@quick
@given(source=sources)
def test_positions_are_records_rounded_within_their_cells(source: Source) -> None:
    np.testing.assert_array_equal(source.counted(source.shape), source.counts)
    assert source.lattice is not None
    # Each record moves by at most half a cell of the lattice.
    points = (source.points - source.domain.lows) / (source.domain.highs - source.domain.lows)
    unit, weights = unit_positions(source)
    gaps = np.abs(points[:, None] - unit) * source.lattice
    assert gaps.max(axis=2).min(axis=1).max() <= 0.5 + 1e-6
    assert weights.sum() == source.n


def test_grid_finer_than_the_lattice_uses_the_points_themselves() -> None:
    source = source_of(2, 0, grid=1500)
    assert source.lattice is None
    np.testing.assert_array_equal(source.positions.points, source.points)
    np.testing.assert_array_equal(source.counted(source.shape), source.counts)


def grid_sides(n: int, epsilon: float, ndim: int) -> int:
    return next(side for side in count(2) if side**ndim >= n * epsilon / 10)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 0.97, 5.0, 31.0])
def test_resolution_of_regular_synopses_follows_the_guideline(ndim: int, epsilon: float) -> None:
    source = source_of(ndim, 0, n=1000)
    side = grid_sides(1000, epsilon, ndim)
    leaves, _ = synopsis_of("uniform_grid", source, epsilon)
    assert leaves.records.shape == (side**ndim,)
    for name in ("privelet", "quadtree"):  # rounded to a power of two, on a log scale
        leaves, _ = synopsis_of(name, source, epsilon)
        assert leaves.records.shape == ((2 ** max(1, round(math.log2(side)))) ** ndim,)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("n", [50, 3000, 40_000])
def test_resolution_of_the_adaptive_grid_follows_the_guideline(ndim: int, n: int) -> None:
    source, epsilon = source_of(ndim, 0, n=n), 3.0
    leaves, recorder = synopsis_of("adaptive_grid", source, epsilon, SeededNoise(1))
    first, second = recorder.answered
    least = {1: 100, 2: 10, 3: 5}[ndim]
    m1 = max(least, math.ceil((n * epsilon / 10) ** (1 / ndim) / 4))
    assert first.shape == (m1,) * ndim
    m2 = [
        max(1, math.ceil((max(noisy, 0) * 0.5 * epsilon / 5) ** (1 / ndim)))
        for noisy in first.ravel()
    ]
    assert second.size == leaves.records.size == sum(m**ndim for m in m2)
    assert [asked["epsilon"] for asked in recorder.asked] == [1.5, 1.5]


def test_adaptive_grid_is_the_weighted_least_squares_of_its_levels() -> None:
    source = source_of(2, 1, n=4000)
    leaves, recorder = synopsis_of("adaptive_grid", source, 2.0, SeededNoise(2))
    first, second = recorder.answered
    cell = np.floor((leaves.low + leaves.size / 2) * first.shape[0]).astype(int)
    owner = np.ravel_multi_index(tuple(cell.T), first.shape)
    assert (np.bincount(owner) > 1).any()
    for number, noisy in enumerate(first.ravel()):
        mine = owner == number
        # Both levels get the same budget, so they have equal weights.
        system = np.vstack([np.ones(mine.sum()), np.eye(mine.sum())])
        expected = np.linalg.lstsq(system, np.concatenate([[noisy], second[mine]]))[0]
        np.testing.assert_allclose(leaves.records[mine], expected, atol=1e-9)


def haar_matrix(side: int) -> tuple[NDArray, NDArray]:
    """Dense Haar matrix as printed (mean; half differences of halves), and its weights."""
    rows, weights = [np.full(side, 1 / side)], [side]
    for blocks in (2**j for j in range(int(math.log2(side)))):
        size = side // blocks
        for block in range(blocks):
            row = np.zeros(side)
            half = block * size + size // 2
            row[block * size : half] = 0.5 / (size / 2)
            row[half : (block + 1) * size] = -0.5 / (size / 2)
            rows.append(row)
            weights.append(size)
    return np.array(rows), np.array(weights, dtype=float)


@pytest.mark.parametrize("side", [2, 4, 8, 32])
def test_inverse_haar_solves_the_dense_system(side: int) -> None:
    matrix, weights = haar_matrix(side)
    noise = np.random.default_rng(0).normal(size=(side, 3))
    expected = np.linalg.solve(matrix, noise / weights[:, None])
    np.testing.assert_allclose(_inverse_haar(noise, 0), expected, atol=1e-12)
    np.testing.assert_allclose(_inverse_haar(noise.T, 1), expected.T, atol=1e-12)


def test_privelets_coefficients_are_the_weighted_matrix_and_come_back() -> None:
    for side in (2, 8, 32):
        matrix, weights = haar_matrix(side)
        cells = np.random.default_rng(0).normal(size=(side, 3))
        expected = weights[:, None] * (matrix @ cells)
        np.testing.assert_allclose(_haar(cells, 0), expected, atol=1e-12)
        np.testing.assert_allclose(_haar(cells.T, 1), expected.T, atol=1e-12)
        np.testing.assert_allclose(_inverse_haar(_haar(cells, 0), 0), cells, atol=1e-12)


@pytest.mark.parametrize(("ndim", "side"), [(1, 16), (2, 4), (2, 8), (3, 2)])
def test_privelet_pays_for_what_one_record_changes(ndim: int, side: int) -> None:
    matrix, weights = haar_matrix(side)
    transform, weight = np.ones((1, 1)), np.ones(1)
    for _ in range(ndim):
        transform, weight = np.kron(transform, matrix), np.kron(weight, weights)
    for cell in range(side**ndim):  # a record in every cell
        changed = (weight * np.abs(transform[:, cell])).sum()
        assert changed == pytest.approx((1 + math.log2(side)) ** ndim)
    epsilon = 10 * side**ndim / 500  # with this epsilon the guideline gives this side
    _, recorder = synopsis_of("privelet", source_of(ndim, 0, n=500), epsilon)
    (asked,) = recorder.asked
    assert recorder.answered[0].shape == (side,) * ndim
    assert asked["sensitivity"] == pytest.approx((1 + math.log2(side)) ** ndim)


@pytest.mark.parametrize(("ndim", "height"), [(1, 3), (2, 1), (2, 2), (3, 1)])
def test_quadtree_counts_are_the_weighted_least_squares(ndim: int, height: int) -> None:
    rng = np.random.default_rng(0)
    side = 2**height
    budgets = rng.uniform(0.5, 2, height + 1)
    noisy = [rng.normal(20, 5, (2**depth,) * ndim) for depth in range(height + 1)]
    rows, wanted, weights = [], [], []
    for depth, counts in enumerate(noisy):
        part = side // 2**depth
        for node in np.ndindex(counts.shape):
            leaves = np.zeros((side,) * ndim)
            leaves[tuple(slice(part * i, part * (i + 1)) for i in node)] = 1
            rows.append(leaves.ravel())
            wanted.append(counts[node])
            weights.append(budgets[depth])
    weight = np.array(weights)
    expected = np.linalg.lstsq(np.array(rows) * weight[:, None], np.array(wanted) * weight)[0]
    np.testing.assert_allclose(_agree(noisy, budgets, 2**ndim).ravel(), expected, atol=1e-9)


def test_quadtree_budgets_grow_by_the_cube_root_of_two() -> None:
    _, recorder = synopsis_of("quadtree", source_of(2, 0, n=3000), 1.0)
    epsilons = [asked["epsilon"] for asked in recorder.asked]  # from the leaves up
    assert len(epsilons) == 5
    assert np.divide(epsilons[:-1], epsilons[1:]) == pytest.approx(2 ** (1 / 3))
    assert [answer.shape for answer in recorder.answered] == [(2**i,) * 2 for i in (4, 3, 2, 1, 0)]


# -- Baseline ----------------------------------------------------------------------------


def leaf_shares(low: NDArray, size: NDArray, shape: tuple[int, ...]) -> NDArray[np.float64]:
    shares = np.ones(())
    for start, width, side in zip(low, size, shape, strict=True):
        edges = np.clip(np.linspace(0, 1, side + 1), start, start + width)
        shares = np.multiply.outer(shares, np.diff(edges) / width)
    return shares


@st.composite
def boxes(draw: st.DrawFn, ndim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(draw(seeds))
    if draw(st.booleans()):
        parts = rng.integers(1, 12, ndim)
        return rng.integers(0, parts) / parts, 1 / parts
    size = rng.random(ndim) * 0.9 + 1e-3
    return rng.random(ndim) * (1 - size), size


@quick
@given(
    shape=st.lists(st.integers(2, 9), min_size=1, max_size=3).map(tuple),
    records=st.lists(st.floats(-3, 40), max_size=6),
    data=st.data(),
)
def test_synthetic_records_lie_in_their_leaves(
    shape: tuple[int, ...], records: list[float], data: st.DataObject
) -> None:
    chosen = [data.draw(boxes(len(shape))) for _ in records]
    low, size = (np.array([box[i] for box in chosen]).reshape(-1, len(shape)) for i in (0, 1))
    leaves = Leaves(low=low, size=size, records=np.array(records))
    counts = synthetic_counts(leaves, shape, np.random.default_rng(0))
    assert counts.shape == shape
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert counts.sum() == sum(max(0, round(number)) for number in records)
    touched = sum(leaf_shares(*box, shape) for box in chosen)
    assert not counts[np.broadcast_to(touched, shape) < 1e-12].any()


@pytest.mark.parametrize(
    ("low", "size", "shape"),
    [
        ([0.0], [1.0], (7,)),
        ([0.13], [0.4], (9,)),
        ([0.13], [0.43], (9,)),  # the last 1% reaches into another cell
        ([0.1, 0.35], [0.6, 0.5], (4, 5)),
        ([0.2, 0.0, 0.3], [0.5, 0.3, 0.4], (3, 4, 3)),
    ],
)
def test_synthetic_records_spread_evenly_over_their_leaf(
    low: list[float], size: list[float], shape: tuple[int, ...]
) -> None:
    # Chi-square test with a fixed seed; another seed would fail with probability 1e-4.
    leaves = Leaves(low=np.array([low]), size=np.array([size]), records=np.array([20_000.0]))
    counts = synthetic_counts(leaves, shape, np.random.default_rng(1))
    expected = 20_000 * leaf_shares(np.array(low), np.array(size), shape)
    hit = expected > 1e-6
    assert stats.chisquare(counts[hit], expected[hit] * counts[hit].sum() / 20_000).pvalue > 1e-4
    # Cells are sampled jointly, not separately, so the counts are multinomial.
    draws = [
        synthetic_counts(leaves, shape, np.random.default_rng(seed))[hit][0] for seed in range(400)
    ]
    share = expected[hit][0] / 20_000
    # The variance over 400 draws is within 4 standard errors of the binomial variance.
    assert np.var(draws) == pytest.approx(20_000 * share * (1 - share), rel=4 * (2 / 400) ** 0.5)


@pytest.mark.parametrize("synopsis", SYNOPSIS_NAMES)
def test_baseline_pays_for_the_number_of_records_where_it_is_private(synopsis: str) -> None:
    source = source_of(2, 0)
    for relation, cap, variant in product(RELATIONS, (1, 2), ("sound", "published")):
        unit = Neighbours(relation=relation, cap=cap)
        config = Config(method="baseline", synopsis=synopsis, neighbours=unit, variant=variant)
        steps = {spend.step: spend for spend in run(source, config, SeededNoise(0)).ledger}
        private_n = variant == "sound"
        assert ("records" in steps) == private_n
        if private_n:
            assert steps["records"].epsilon == COUNT_SHARE
            assert steps["records"].scale == pytest.approx(unit.multiplier / COUNT_SHARE)


def test_replacing_a_record_by_one_outside_does_not_change_the_resolution() -> None:
    points = np.random.default_rng(0).random((1001, 2))
    moved = np.concatenate([points[:-1], [[5, 5]]])
    config = Config(
        method="baseline",
        synopsis="uniform_grid",
        neighbours=Neighbours(relation="replace_one"),
    )
    shapes = []
    for data in (points, moved):
        source = Source.build(Dataset(name="", points=data), 8, Domain(((0, 1), (0, 1))), "drop")
        recorder = Recorder(SeededNoise(0), 1.0, config.neighbours)
        WAVECLUSTER["baseline"].run(source, config, recorder)
        shapes.append(recorder.answered[-1].shape)
    assert shapes[0] == shapes[1]


# -- privacy units -----------------------------------------------------------------------


def persons(seed: int, most: int = 12) -> Dataset:
    rng = np.random.default_rng(seed)
    units = rng.integers(0, rng.integers(1, most + 1), rng.integers(1, 60))
    return Dataset(name="", points=rng.integers(0, 4, (len(units), 2)) / 4, units=units)


def rows_of(dataset: Dataset, person: int) -> list[list[float]]:
    return sorted(dataset.points[dataset.units == person].tolist())


@quick
@given(seed=seeds, cap=st.integers(1, 6), key=st.integers(0, 99))
def test_each_person_keeps_the_cap_or_all_records(seed: int, cap: int, key: int) -> None:
    data = persons(seed)
    kept = cap_records(data, cap, key)
    before = dict(zip(*np.unique(data.units, return_counts=True), strict=True))
    after = dict(zip(*np.unique(kept.units, return_counts=True), strict=True))
    assert after == {person: min(cap, number) for person, number in before.items()}
    for person in before:
        pool = rows_of(data, person)
        for row in rows_of(kept, person):
            pool.remove(row)  # a row is kept at most as often as it occurs
    left_out = data.n - kept.n
    assert bool(kept.notes) == bool(left_out)
    # The rows keep the order of the file.
    everything = np.column_stack([data.points, data.units]).tolist()
    rest = iter(everything)
    assert all(row in rest for row in np.column_stack([kept.points, kept.units]).tolist())


@quick
@given(seed=seeds, cap=st.integers(1, 4), key=st.integers(0, 99), order=seeds)
def test_a_person_who_joins_changes_nobody_elses_records(
    seed: int, cap: int, key: int, order: int
) -> None:
    data = persons(seed)
    rng = np.random.default_rng(order)
    points = np.concatenate([data.points, rng.random((5, 2))])
    shuffled = rng.permutation(len(points))
    joined = Dataset(
        name="",
        points=points[shuffled],
        units=np.concatenate([data.units, np.full(5, 77)])[shuffled],
    )
    without, with_one = (cap_records(one, cap, key) for one in (data, joined))
    for person in np.unique(data.units):
        assert rows_of(without, person) == rows_of(with_one, person)


def test_ids_that_turn_to_floats_keep_the_same_records() -> None:
    # If one person has the id 1.5, a column of whole numbers is read as floats.
    rng = np.random.default_rng(0)
    points, units = rng.random((200, 2)), np.repeat(np.arange(40), 5)
    one, other = (
        cap_records(Dataset(name="", points=points, units=ids), 2, 3)
        for ids in (units, units.astype(float))
    )
    np.testing.assert_array_equal(one.points, other.points)


ODD = [
    "7", "007", "7.0", " 7", "7e0", "A1", "", " ", " NA", "null ", "nan?", "1.5", "True", "-0", "0",
    "1e3", "١", "2020-01-01", "2020-01-01 00:00:00", "1,0", "1", "0x10", "16", "1e-400",
    "1.0000000000000000001", "1.0000000000000000002", "9007199254740993", "9007199254740992",
    "1e99999999999999999999", "-0e-99999999999999999999",
]  # fmt: skip


def as_text(names: list[str]) -> Table:
    rows = "".join(f"{i};{i * i % 7};{name}\n" for i, name in enumerate(names))
    return read_table(io.BytesIO(b"x;y;id\n" + rows.encode()), name="t", header=True)


def as_quoted_text(names: list[str]) -> Table:
    rows = "".join(f'{i},{i * i % 7},"{name}"\n\n' for i, name in enumerate(names))
    return read_table(io.BytesIO(b"x,y,id\n" + rows.encode()), name="t", header=True)


def as_frame(names: list[str]) -> Table:
    count = range(len(names))
    return read_table(pd.DataFrame({"x": count, "y": [i * i % 7 for i in count], "id": names}))


def as_arrow(names: list[str]) -> Table:
    count = range(len(names))
    return read_table(pa.table({"x": count, "y": [i * i % 7 for i in count], "id": names}))


@quick
@given(
    read=st.sampled_from([as_text, as_quoted_text, as_frame, as_arrow]),
    ids=st.lists(st.sampled_from(ODD), min_size=2, max_size=12),
    joins=st.sampled_from([*ODD, "K9"]),
    cap=st.integers(1, 2),
)
def test_an_odd_identifier_changes_nobody_elses_records(
    read: Callable[[list[str]], Table], ids: list[str], joins: str, cap: int
) -> None:
    def kept(names: list[str]) -> set[float]:
        found = cap_records(read(names).select(("x", "y"), unit="id"), cap)
        assert found.points is not None
        return set(found.points[:, 0])

    names = [*ids, "3"]  # at least one person exists
    without, with_one = kept(names), kept([*names, joins])
    own = {i for i, name in enumerate(names) if same(name, joins)}
    assert without - own == with_one - own - {len(names)}
    # No person has more rows than the cap, and a blank is not a person.
    for name in {*names}:
        count = len(without & {i for i, one in enumerate(names) if same(one, name)})
        blank = name.strip() in ("", "NA", "null")
        assert count == 0 if blank else 1 <= count <= cap


def test_who_a_person_is_does_not_depend_on_the_others() -> None:
    """One more person turns the file's column of numbers into text."""
    rows = "".join(f"1.{'0' * 16}{i:04d};0.5;0.5\n" for i in range(200))
    sizes = []
    for more in ("", "K9;0.5;0.5\n"):
        table = read_table(io.BytesIO(f"who;x;y\n{rows}{more}".encode()), name="t")
        sizes.append(len(cap_records(table.select(("x", "y"), unit="who"), 1).units))
    assert sizes == [200, 201]


def test_an_exponent_without_end_is_an_identifier_like_any_other() -> None:
    names = ["1e99999999999999999999", "1E99999999999999999999", "-1e-99999999999999999999"]
    for read in (as_text, as_quoted_text, as_frame, as_arrow):
        found = cap_records(read(names).select(("x", "y"), unit="id"), 1)
        assert len(found.units) == 3


def same(one: str, other: str) -> bool:
    def number(text: str) -> Decimal | str:
        text = text.strip()
        try:
            known = re.fullmatch(r"[\d.e+-]+", text, re.ASCII) and not re.search(r"e\d", text)
            return Decimal(text) if known else text
        except InvalidOperation:
            return text

    return number(one) == number(other)


def test_key_chooses_the_records_without_favour() -> None:
    # One person has 8 records, the cap is 2, and there are 400 keys. Each record is kept 100 times
    # on average, with a standard deviation of 8.7. For all eight records together, a deviation of 5
    # standard deviations has a probability of 1 in 200,000.
    data = Dataset(name="", points=np.arange(8.0)[:, None], units=np.zeros(8, dtype=int))
    kept = np.concatenate([cap_records(data, 2, key).points for key in range(400)])
    times = np.bincount(kept.ravel().astype(int), minlength=8)
    assert np.abs(times - 100).max() < 5 * 8.7


def test_cap_needs_persons_and_at_least_one_record() -> None:
    data = persons(0)
    with pytest.raises(InputError, match="cap = 0"):
        cap_records(data, 0, 0)
    with pytest.raises(InputError, match="unit column"):
        cap_records(Dataset(name="", points=data.points), 1, 0)


def test_positive_values_and_rank_give_the_true_target() -> None:
    # PrivTHREM aims at the rank that the plain pipeline uses.
    source = source_of(2, 5)
    true = average_subband(source.counts, "haar", 1)
    target = rank_of(0.3, positive_values(true).size)
    recorder = Recorder(NoNoise(), 1.0)
    WAVECLUSTER["privthrem"].run(source, Config(method="privthrem", density=0.3), recorder)
    assert recorder.asked[1]["scores"][positive_values(true).size - target] == 0
    assert recorder.asked[1]["scores"].max() == 0
    assert Truth(source, Config(density=0.3)).stages.threshold.k == target

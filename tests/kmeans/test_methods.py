"""Every k-means method: it spends its claimed budget, leaks nothing else, accepts any input."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans as LibraryKMeans
from threadpoolctl import threadpool_info, threadpool_limits

from dpviz.base import threads
from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS
from dpviz.family.claim import claim
from dpviz.grid.domain import Domain
from dpviz.kmeans import chain as chain_module
from dpviz.kmeans.grid import cell_counts
from dpviz.kmeans.lloyd import space_of
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.methods import mcmc as mcmc_module
from dpviz.kmeans.methods.contour import dealt
from dpviz.kmeans.methods.dpkmeanspp import as_printed
from dpviz.kmeans.methods.gupt import _block_centers
from dpviz.kmeans.methods.hybrid import iterates
from dpviz.kmeans.methods.privgene import (
    CANDIDATES,
    FEWEST,
    PARENTS,
    _offspring,
    difference,
    printed_generations,
)
from dpviz.kmeans.parameters import DEFAULTS, STARTS, TEMPERATURES, KMeansConfig, defaults_of
from dpviz.kmeans.passes import excess, simplified_silhouettes, wcss
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun, canonical
from dpviz.kmeans.schedule import SCHEDULES
from dpviz.kmeans.space import GEOMETRIES, Space
from dpviz.kmeans.start import best_of, uniform
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.ledger import RELATIONS, Neighbours
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise, Silenced
from dpviz.privacy.secure import LATTICE
from tests.support.replaying import Recorder, Request
from tests.support.tiers import examples

SPENDING = tuple(name for name, entry in KMEANS.items() if entry.card.spends)
VARIANTS = ("sound", "published")

#: Methods and variants whose card claims privacy.
PRIVATE = tuple(
    (name, variant.name)
    for name, entry in KMEANS.items()
    for variant in entry.card.variants
    if variant.private
)

#: The same methods, except methods with nested or K-norm noise, which tests/test_replay.py checks.
LAPLACE = tuple(one for one in PRIVATE if one[0] != "dprefine")

#: Methods with a choice of start.
STARTING = tuple(name for name, options in DEFAULTS.items() if "start" in options)

CHOICES: dict[str, tuple[str, ...]] = {
    "start": STARTS,
    "schedule": SCHEDULES,
    "geometry": GEOMETRIES,
    "temperature": TEMPERATURES,
}

seeds = st.integers(0, 2**32)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Prevent scikit-learn from waiting for processors that other processes use."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a tenth of the steps of a chain, because other tests check chains."""
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.STEPS", 3000)
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.RESTARTS", 2)


class Streams(SeededNoise):
    """Noise source that records the name of each stream that it opens."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.opened: list[str] = []

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.opened.append(step)
        return super().laplace(step, scale, shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.opened.append(step)
        return super().gumbel(step, scale, shape)

    def uniform(self, step: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self.opened.append(step)
        return super().uniform(step, shape)

    def generator(self, step: str) -> np.random.Generator:
        self.opened.append(step)
        return super().generator(step)


# -- cases -------------------------------------------------------------------------------


def domain_of(ndim: int) -> Domain:
    return Domain(tuple((-3.0 * axis, 2.0 + axis) for axis in range(ndim)))


def place(unit: NDArray[np.float64]) -> NDArray[np.float64]:
    domain = domain_of(unit.shape[1])
    inside = domain.lows + unit * (domain.highs - domain.lows)
    return np.clip(np.where(unit >= 1, domain.highs, inside), domain.lows, domain.highs)


def unit_points(rng: np.random.Generator, n: int, ndim: int) -> NDArray[np.float64]:
    """Three blobs, with some points on the border and some points twice."""
    points = np.clip(rng.choice(rng.random((3, ndim)), n) + rng.normal(0, 0.1, (n, ndim)), 0, 1)
    points[1::7] = points[0]
    return points


def records_of(points: NDArray[np.float64]) -> Records:
    """New records in their domain, without cached values of another run."""
    domain = domain_of(points.shape[1])
    return Records.build(Dataset(name="", points=np.ascontiguousarray(points)), domain)


def drawn(seed: int, n: int, ndim: int) -> NDArray[np.float64]:
    return place(unit_points(np.random.default_rng(seed), n, ndim))


neighbourhoods = st.builds(
    Neighbours, relation=st.sampled_from(RELATIONS), cap=st.sampled_from([1, 1, 3])
)


@st.composite
def configs(
    draw: st.DrawFn, pairs: tuple[tuple[str, str], ...], most_clusters: int = 6, **fixed: Any
) -> KMeansConfig:
    method, variant = draw(st.sampled_from(pairs))
    options = defaults_of(method, variant)
    chosen: dict[str, Any] = {
        name: draw(st.none() | st.sampled_from(values))
        for name, values in CHOICES.items()
        if name in options
    }
    if "iterations" in options:
        chosen["iterations"] = draw(st.none() | st.integers(1, 4))
    free = {
        "clusters": st.integers(1, most_clusters),
        "epsilon": st.sampled_from([0.3, 1.0, 7.7]),
        "neighbours": neighbourhoods,
    }
    chosen |= {name: draw(one) for name, one in free.items() if name not in fixed}
    return KMeansConfig(method=method, variant=variant, **(chosen | fixed))


every = tuple((name, variant) for name in KMEANS for variant in VARIANTS)


def assert_same(one: KMeansRun, other: KMeansRun) -> None:
    np.testing.assert_array_equal(one.centers, other.centers)
    assert one.ledger == other.ledger
    assert len(one.path) == len(other.path)
    for centers, others in zip(one.path, other.path, strict=True):
        np.testing.assert_array_equal(centers, others)
    for mine, yours in zip(one.iterations, other.iterations, strict=True):
        assert (mine.epsilon, mine.span) == (yours.epsilon, yours.span)
        for name in ("counts", "sums", "scales", "kept"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(yours, name))
    for whole in ("before", "start"):
        mine, yours = getattr(one, whole), getattr(other, whole)
        assert (mine is None) == (yours is None)
        if mine is not None:
            np.testing.assert_array_equal(mine, yours)
    assert (one.grid is None, one.chain is None) == (other.grid is None, other.chain is None)
    if one.grid is not None and other.grid is not None:
        assert (one.grid.shape, one.grid.scale) == (other.grid.shape, other.grid.scale)
        np.testing.assert_array_equal(one.grid.weights, other.grid.weights)
    if one.chain is not None and other.chain is not None:
        np.testing.assert_array_equal(one.chain.points, other.chain.points)


def refusal(run: Any) -> str | None:
    """Message of the only error that input can cause; None if there is a result."""
    try:
        run()
    except InputError as error:
        sentence = str(error)
        assert sentence.endswith(".")
        assert "\n" not in sentence
        return sentence
    return None


# -- every method ------------------------------------------------------------------------


@examples(150)
@given(
    config=configs(every),
    ndim=st.sampled_from([1, 2, 2, 3]),
    n=st.sampled_from([6, 30, 150]),
    seed=seeds,
    draw=st.integers(0, 999),
)
def test_ledger_sums_to_epsilon_and_centers_are_usable_and_reproducible(
    config: KMeansConfig, ndim: int, n: int, seed: int, draw: int
) -> None:
    records = records_of(drawn(seed, n, ndim))
    recorder = Recorder(SeededNoise(draw), config.epsilon, config.neighbours)
    found = KMEANS[config.method].run(records, config, recorder)
    assert_usable(found, records, config)
    assert_paid(found, config)
    assert_consistent(found, records, config, recorder)
    # Run again on the same records, and on new records without cached values.
    assert_same(found, run_kmeans(records, config, SeededNoise(draw)))
    assert_same(found, run_kmeans(records_of(drawn(seed, n, ndim)), config, SeededNoise(draw)))


def assert_usable(found: KMeansRun, records: Records, config: KMeansConfig) -> None:
    """K finite centres in the domain, in canonical order, equal to the last centres of the path."""
    ndim = records.domain.ndim
    for centers in (found.centers, *found.path):
        # Without noise all centres are different.
        most = len(np.unique(records.points, axis=0)) if config.method == "kmeans" else np.inf
        assert centers.shape == (min(config.clusters, most), ndim)
        assert np.isfinite(centers).all()
        assert records.domain.contains(centers).all()
    rows = [tuple(row) for row in found.centers.tolist()]
    assert rows == sorted(rows)
    card = KMEANS[config.method].card
    assert (found.before is not None) == card.post_processes
    assert (found.chain is not None) == (config.temperature is not None)
    if found.path:
        end = found.centers if found.before is None else found.before
        np.testing.assert_array_equal(found.path[-1], end)
        assert [tuple(row) for row in end.tolist()] == sorted(map(tuple, end.tolist()))
    assert bool(found.path) == (config.method in STARTING or bool(found.iterations))
    assert bool(found.decision) == card.decides


def budget_of(found: KMeansRun) -> float:
    """The whole epsilon; if published, the paper's budgets of the steps that were made."""
    config = found.config
    if config.method not in SPENDING:
        return 0.0
    if config.variant == "sound" or config.iterations is None or config.method == "privgene":
        return config.epsilon
    start = config.start == "partition"
    steps = len(found.iterations) + start
    if config.schedule == "halving":
        return config.epsilon * (1 - 0.5**steps)
    return config.epsilon * steps / (config.iterations + start)


def assert_paid(found: KMeansRun, config: KMeansConfig) -> None:
    """The whole budget is spent, and every scale matches its spent budget."""
    budget = budget_of(found)
    assert found.ledger.epsilon == pytest.approx(budget, abs=1e-9)
    assert found.ledger.unspent(config.epsilon) == pytest.approx(
        config.epsilon - budget if budget else config.epsilon, abs=1e-9 * config.epsilon
    )
    assert found.ledger.neighbours == config.neighbours or not budget
    twice = (config.method, config.variant) == ("privgene", "published")
    rough = 0.0
    for spend in found.ledger:
        # The noise of a refined count is the noise for the sum of both budgets.
        nested, rough = rough, spend.epsilon if spend.step == "rough cells" else 0.0
        budget = nested + spend.epsilon
        assert spend.scale == pytest.approx((1 + twice) * spend.sensitivity / budget)
        assert spend.epsilon > 0


def assert_consistent(
    found: KMeansRun, records: Records, config: KMeansConfig, recorder: Recorder
) -> None:
    """Centres move exactly to the places that the noisy numbers of their cluster give."""
    space = space_of(records, config)
    paid = {spend.step: spend for spend in found.ledger}
    asked = {one.step: one for one in recorder.requests}
    for number, one in enumerate(found.iterations):
        before, after = found.path[number], found.path[number + 1]
        step = f"iteration {number + 1}"
        usable = one.counts > 0
        moved = one.sums / np.where(usable, one.counts, 1)[:, None]
        usable &= space.contains(moved)
        if config.variant == "published":
            usable = one.counts != 0  # a noisy count is never exactly 0
            moved = np.clip(one.sums / one.counts[:, None], space.low, 1)
        np.testing.assert_array_equal(one.kept, ~usable)
        np.testing.assert_array_equal(after[one.kept], before[one.kept])
        np.testing.assert_array_equal(after[usable], space.restore(moved[usable]))
        # The noisy numbers and the scale of a cluster stay together.
        answer = asked[step].answer.tolist()
        noisy = np.column_stack([one.counts, one.sums]).tolist()
        place_of = [answer.index(row) for row in noisy]
        assert sorted(place_of) == list(range(len(noisy)))
        scales = np.broadcast_to(scales_of(asked[step]), one.scales.shape)
        np.testing.assert_array_equal(one.scales, scales[place_of])
        assert one.scales.min() == pytest.approx(paid[step].sensitivity / one.epsilon)
        assert one.span == (1 if config.geometry == "cube" else 2)
    assert found.kept_centers == sum(one.kept.sum() for one in found.iterations)


@pytest.mark.parametrize("name", SPENDING)
@pytest.mark.parametrize("variant", VARIANTS)
def test_another_seed_gives_another_result(name: str, variant: Any) -> None:
    # A method that chooses one of a few candidates can choose the same candidate again.
    records = records_of(drawn(0, 150, 2))
    config = KMeansConfig(method=name, variant=variant, clusters=3, epsilon=0.5)
    found = [run_kmeans(records, config, SeededNoise(seed)).centers for seed in range(4)]
    assert len({centers.tobytes() for centers in found}) == 4


@pytest.fixture(scope="module")
def used_records() -> Records:
    records = records_of(drawn(3, 60, 2))
    for name, variant in every:
        for geometry in GEOMETRIES if "geometry" in DEFAULTS[name] else (None,):
            for clusters in (2, 3):
                config = KMeansConfig(
                    method=name, variant=variant, clusters=clusters, geometry=geometry
                )
                run_kmeans(records, config, SeededNoise(1))
    return records


@pytest.mark.parametrize(("name", "variant"), every)
def test_runs_leave_records_and_other_runs_alone(
    name: str, variant: Any, used_records: Records
) -> None:
    points = drawn(3, 60, 2)
    np.testing.assert_array_equal(used_records.points, points)
    for geometry in GEOMETRIES if "geometry" in DEFAULTS[name] else (None,):
        config = KMeansConfig(method=name, variant=variant, clusters=3, geometry=geometry)
        fresh = run_kmeans(records_of(points), config, SeededNoise(0))
        assert_same(run_kmeans(used_records, config, SeededNoise(0)), fresh)


@examples(80)
@given(config=configs(every), seed=st.integers(0, 99))
def test_every_stream_of_randomness_is_used_once(config: KMeansConfig, seed: int) -> None:
    # Two uses of one stream are not independent: a record's random set would reveal the noise on
    # the count of this set.
    noise = Streams(seed)
    run_kmeans(records_of(drawn(0, 30, 2)), config, noise)
    assert len(set(noise.opened)) == len(noise.opened), noise.opened


@pytest.mark.daily("mcmc", "eugkm")
@pytest.mark.parametrize("method", ["kmeans", "mcmc", "eugkm"])
def test_more_threads_change_nothing_about_a_result(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One seed gives one result, also on a machine with many processors.
    points = place(np.random.default_rng(0).random((3000, 2)))
    config = KMeansConfig(method=method, clusters=8, epsilon=5.0)

    def several(runs: int) -> set[bytes]:
        found = [run_kmeans(records_of(points), config, SeededNoise(0)) for _ in range(runs)]
        return {one.centers.tobytes() for one in found}

    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    with threadpool_limits(8, user_api="openmp"):
        together = several(8)
    assert len(together) == 1
    with threadpool_limits(1):
        assert several(1) == together


@pytest.mark.parametrize("options", [{"method": "kmeans"}, {"method": "eugkm", "epsilon": 9.0}])
def test_threads_for_large_data_change_no_more_than_rounding(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = place(np.random.default_rng(0).random((3000, 2)))
    config = KMeansConfig(clusters=8, **options)
    one = run_kmeans(records_of(points), config, SeededNoise(0))
    monkeypatch.setattr("dpviz.kmeans.start.MANY", 100)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    with threadpool_limits(4, user_api="openmp"):
        other = run_kmeans(records_of(points), config, SeededNoise(0))
    np.testing.assert_allclose(one.centers, other.centers, rtol=1e-12, atol=1e-12)


def test_a_library_that_is_loaded_in_a_draw_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    points = place(np.random.default_rng(0).random((50, 2)))

    def fit(model: Any, *_: Any, **__: Any) -> None:
        model.cluster_centers_ = points[:3]
        infos = threadpool_info()
        seen.append(max(one["num_threads"] for one in infos if one["user_api"] == "openmp"))

    monkeypatch.setattr(LibraryKMeans, "fit", fit)
    monkeypatch.setattr("dpviz.kmeans.start.MANY", 10)
    # A library that loads now would have this number of threads.
    with threadpool_limits(3, user_api="openmp"):
        best_of(points, None, 3, 0)
    with threads.one_thread(), threadpool_limits(3, user_api="openmp"):
        best_of(points, None, 3, 0)
    assert seen == [3, 1]


# -- shares and scales -------------------------------------------------------------------

#: Method with options: step, budget at epsilon 2, sensitivity of one record in 2 columns.
SHARES: list[tuple[dict[str, Any], list[tuple[str, float, float]]]] = [
    (
        {"method": "dplloyd", "iterations": 4},
        [(f"iteration {t}", 0.5, 3) for t in (1, 2, 3, 4)],
    ),
    (
        {"method": "dplloyd", "iterations": 3, "schedule": "halving", "geometry": "cube"},
        [("iteration 1", 1.0, 3), ("iteration 2", 0.5, 3), ("iteration 3", 0.5, 3)],
    ),
    (
        {"method": "mcmc", "variant": "published", "iterations": 2},
        [("iteration 1", 1.0, 2), ("iteration 2", 1.0, 2)],
    ),
    (
        {"method": "dpkmeanspp"},
        [("start: records", 0.012, 1), ("start", 0.588, 1), ("iteration 1", 1.4, 3)],
    ),
    ({"method": "dpkmeanspp", "variant": "published", "iterations": 1}, [("iteration 1", 1.0, 3)]),
    (
        {"method": "dplloyd", "variant": "published", "iterations": 2, "schedule": "halving"},
        [("iteration 1", 1.0, 2), ("iteration 2", 0.5, 2)],
    ),
    (
        {"method": "dpkmeans_mapreduce", "variant": "published", "iterations": 1},
        [("partition", 1.0, 3), ("iteration 1", 0.5, 3)],
    ),
    (
        {"method": "dpkmeansup", "geometry": "l1"},
        [("start: records", 0.012, 1), ("start", 0.588, 1), ("iteration 1", 1.4, 2)],
    ),
    (
        {"method": "dpkmeans_mapreduce", "iterations": 1},
        [("partition", 1.0, 3), ("iteration 1", 1.0, 3)],
    ),
    (
        {"method": "contour", "iterations": 1},
        [
            ("contours: records", 0.012, 1),
            ("contours", 0.588, 1),
            ("partition", 0.7, 3),
            ("iteration 1", 0.7, 3),
        ],
    ),
    ({"method": "eugkm"}, [("cells: records", 0.04, 1), ("cells", 1.96, 1)]),
    ({"method": "eugkm", "variant": "published"}, [("cells", 2.0, 1)]),
    # 1024 records are too few for an iteration with epsilon 2.
    ({"method": "hybrid"}, [("cells: records", 0.04, 1), ("cells", 1.96, 1)]),
    (
        {"method": "hybrid", "clusters": 1, "epsilon": 100.0},
        [("cells: records", 2.0, 1), ("cells", 49.0, 1), ("iteration 1", 49.0, 3)],
    ),
    (
        {"method": "hybrid", "clusters": 1, "variant": "published"},
        [("cells", 1.0, 1), ("iteration 1", 1.0, 3)],
    ),
    # There are 1024^0.4 = 16 blocks; the sensitivity is 2 K d / 16 with K = 4.
    ({"method": "gupt", "variant": "published"}, [("centers", 2.0, 1.0)]),
]


@pytest.mark.parametrize(("options", "expected"), SHARES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_shares_and_sensitivities_on_the_ledger(
    options: dict[str, Any], expected: list[tuple[str, float, float]], relation: Any
) -> None:
    unit = Neighbours(relation=relation, cap=3)
    times = 3 if relation == "add_remove" else 6
    config = KMeansConfig(**{"clusters": 4, "epsilon": 2.0, "neighbours": unit, **options})
    ledger = run_kmeans(records_of(drawn(0, 1024, 2)), config, SeededNoise(0)).ledger
    found: dict[str, tuple[float, float]] = {}
    for spend in ledger:  # of parallel spends of a step, the largest counts
        largest = max(spend.epsilon, found.get(spend.step, (0.0,))[0])
        found[spend.step] = (largest, spend.sensitivity)
    assert list(found) == [step for step, _, _ in expected]
    for step, epsilon, sensitivity in expected:
        assert found[step] == (pytest.approx(epsilon), pytest.approx(sensitivity * times))


def test_gupt_divides_by_as_many_blocks_as_the_noisy_number_says() -> None:
    # All records are in one place, which is also the centre of each block and their average.
    records = records_of(place(np.full((1024, 2), 0.75)))
    for seed in range(5):
        config = KMeansConfig(method="gupt", clusters=4, epsilon=2.0)
        noise = SeededNoise(seed)
        found = run_kmeans(records, config, noise)
        size, centers = found.ledger
        assert (size.epsilon, centers.epsilon) == (pytest.approx(0.04), pytest.approx(1.96))
        blocks = round((1024 + float(noise.laplace("records", size.scale, ()))) ** 0.4)
        off = noise.laplace("centers", centers.scale, (4, 2)) / blocks
        space = Space(records.domain)
        expected = space.restore(np.clip(space.scale(records.points[:1]) + off, -1, 1))
        np.testing.assert_allclose(
            np.sort(found.centers, axis=0), np.sort(expected, axis=0), rtol=1e-5
        )


@pytest.mark.parametrize("name", STARTING)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_as_many_iterations_as_may_be_asked_for(name: str, variant: Any, schedule: Any) -> None:
    config = KMeansConfig(
        method=name, variant=variant, schedule=schedule, iterations=100, clusters=2, epsilon=0.3
    )
    found = run_kmeans(records_of(drawn(0, 30, 2)), config, SeededNoise(0))
    assert_paid(found, config)
    assert 1 <= len(found.iterations) <= 100


# -- edges -------------------------------------------------------------------------------


def edge_cases() -> dict[str, tuple[NDArray[np.float64], int]]:
    rng = np.random.default_rng(0)
    return {
        "all points equal": (np.full((20, 2), 0.3), 4),
        "all points in a corner": (np.ones((20, 2)), 3),
        "fewer places than clusters": (np.repeat(rng.random((3, 2)), 7, axis=0), 6),
        "one column": (rng.random((40, 1)), 4),
        "fifty columns": (rng.random((40, 50)), 4),
        "one cluster": (rng.random((40, 2)), 1),
        "one cluster of equal points": (np.full((20, 2), 0.3), 1),
        "fewer records than clusters": (rng.random((3, 2)), 6),
        "as many records as clusters": (rng.random((5, 2)), 5),
        "one record": (rng.random((1, 2)), 1),
        "one record for several clusters": (rng.random((1, 3)), 4),
        "one record in one column": (rng.random((1, 1)), 3),
    }


EDGES = edge_cases()


def needs_grid(config: KMeansConfig) -> bool:
    if config.method in ("eugkm", "hybrid"):
        return True
    seeded = config.start in ("records", "kmeans++", "utility_plus")
    from_cells = seeded or config.method == "contour"
    return CARDS[config.method].taken(config.variant) == "sound" and from_cells


@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize(("name", "variant"), every)
def test_edge_cases_give_a_result_or_one_sentence(case: str, name: str, variant: Any) -> None:
    unit, clusters = EDGES[case]
    options = DEFAULTS[name]
    for number, begin in enumerate(STARTS if "start" in options else (None,)):
        geometry = GEOMETRIES[number % 3] if "geometry" in options else None
        config = KMeansConfig(
            method=name,
            variant=variant,
            clusters=clusters,
            epsilon=0.7,
            start=begin,
            geometry=geometry,
        )
        records = records_of(place(unit))

        def attempt(config: KMeansConfig = config, records: Records = records) -> None:
            found = run_kmeans(records, config, SeededNoise(1))
            assert_usable(found, records, config)
            assert_paid(found, config)

        sentence = refusal(attempt)
        if name == "kmeans" and len(unit) < clusters:
            assert sentence is not None
            assert sentence.startswith(f"clusters = {clusters}, but")
        elif case == "fifty columns" and needs_grid(config):
            assert sentence is not None
            assert "50 columns" in sentence
            assert "dplloyd" in sentence
        else:
            assert sentence is None


@pytest.mark.some(10)
@pytest.mark.daily(besides=("1000000.0-eugkm-published", "1000000.0-hybrid-published"))
@pytest.mark.parametrize(("name", "variant"), every)
@pytest.mark.parametrize("epsilon", [1e-3, 1e6])
def test_tiny_and_huge_budgets_give_a_result(name: str, variant: Any, epsilon: float) -> None:
    records = records_of(drawn(0, 60, 2))
    config = KMeansConfig(method=name, variant=variant, clusters=3, epsilon=epsilon)
    for seed in range(3):
        found = run_kmeans(records, config, SeededNoise(seed))
        assert_usable(found, records, config)
        assert found.ledger.epsilon == pytest.approx(budget_of(found), rel=1e-12)


@pytest.mark.parametrize("name", SPENDING)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_huge_budget_buys_the_run_without_noise(name: str, variant: Any) -> None:
    # Both runs make the same choices, so only the noise differs: its scale is at most 1e-4, on sums
    # of dozens of records.
    records = records_of(drawn(1, 150, 2))
    config = KMeansConfig(method=name, variant=variant, clusters=2, epsilon=1e6)
    silent = KMEANS[name].run(records, config, Accountant(Silenced(SeededNoise(5)), 1e6))
    found = run_kmeans(records, config, SeededNoise(5))
    # The chain of MCMC can make other steps, but it starts from the same centres.
    ends = [one.centers if one.before is None else one.before for one in (found, silent)]
    width = records.domain.highs - records.domain.lows
    # Published: the positive noise of a million empty cells adds up to half a record of 150.
    # PrivGene's noise of 200 * 16 / 10^6 can exchange two sets of centres at a distance of up to
    # sqrt(noise / 75).
    most = {("eugkm", "published"): 0.5 / 150, ("privgene", "published"): (3.2e-3 / 75) ** 0.5}
    assert np.abs((ends[0] - ends[1]) / width).max() < most.get((name, variant), 1e-3)
    assert (ends[0] != ends[1]).any() or name == "privgene"


# -- configuration -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        ({"method": "kmean"}, 'method = "kmean" is unknown: choose one of kmeans, dplloyd'),
        ({"method": "privqt"}, 'method = "privqt" is unknown'),
        ({"variant": "new"}, 'variant = "new" is unknown: choose sound or published'),
        ({"epsilon": 0}, "epsilon = 0 is not a usable privacy budget"),
        ({"epsilon": math.nan}, "epsilon = nan is not a usable privacy budget"),
        ({"clusters": 0}, "clusters = 0: give a whole number from 1 to 1,000"),
        ({"clusters": 1001}, "clusters = 1001: give a whole number"),
        ({"clusters": 2.5}, "clusters = 2.5: give a whole number"),
        ({"clusters": math.inf}, "clusters = inf: give a whole number"),
        ({"clusters": math.nan}, "clusters = nan: give a whole number"),
        ({"clusters": True}, "clusters = True is not a number"),
        ({"clusters": "3"}, "clusters = '3' is not a number"),
        ({"iterations": 0}, "iterations = 0: give a whole number from 1 to 100"),
        ({"iterations": 101}, "iterations = 101: give a whole number"),
        ({"iterations": math.inf}, "iterations = inf: give a whole number"),
        ({"start": "kmeans"}, 'start = "kmeans" is unknown: choose one of sphere_packing'),
        ({"schedule": "double"}, 'schedule = "double" is unknown: choose one of uniform, halving'),
        ({"geometry": "ball"}, 'geometry = "ball" is unknown: choose one of box'),
        ({"temperature": "printed"}, "temperature = printed: dplloyd has no temperature"),
        ({"method": "eugkm", "iterations": 3}, "iterations = 3: eugkm has no iterations"),
        ({"method": "kmeans", "geometry": "box"}, "geometry = box: kmeans has no geometry"),
        ({"method": "mcmc", "temperature": "hot"}, 'temperature = "hot" is unknown'),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(options: dict[str, Any], begins: str) -> None:
    sentence = refusal(lambda: KMeansConfig(**options))
    assert sentence is not None
    assert sentence.startswith(begins)


@pytest.mark.parametrize("number", [3.0, np.float64(3), np.int32(3), np.uint8(3)])
@pytest.mark.parametrize("name", ["clusters", "iterations"])
def test_a_whole_number_of_another_type_works_or_is_refused(name: str, number: Any) -> None:
    records = records_of(drawn(0, 30, 2))

    def attempt() -> None:
        config = KMeansConfig(**({"clusters": 2} | {name: number}))
        found = run_kmeans(records, config, SeededNoise(0))
        assert (found.centers.shape[0], len(found.iterations))[name == "iterations"] == 3

    refusal(attempt)


@pytest.mark.parametrize(("name", "variant"), every)
def test_defaults_fill_what_a_method_has_and_nothing_else(name: str, variant: Any) -> None:
    config = KMeansConfig(method=name, variant=variant)
    options = defaults_of(name, variant)
    for one in ("iterations", "start", "schedule", "geometry", "temperature"):
        assert getattr(config, one) == options.get(one)
    shown = {parameter.name for parameter in KMEANS[name].card.parameters}
    assert shown - {"epsilon", "clusters"} == set(DEFAULTS[name])
    assert KMEANS[name].card.spends == (name != "kmeans")


# -- privacy: runs depend only on answers ----------------------------------------------------


def replayed(
    config: KMeansConfig, one: NDArray[np.float64], other: NDArray[np.float64]
) -> tuple[tuple[KMeansRun, Recorder], tuple[KMeansRun, Recorder]]:
    """Run on one data set, then on another data set with the answers of the first run."""
    asked = Recorder(SeededNoise(7), config.epsilon, config.neighbours)
    found = KMEANS[config.method].run(records_of(one), config, asked)
    answers = [request.answer for request in asked.requests]
    replay = Recorder(SeededNoise(7), config.epsilon, config.neighbours, answers=answers)
    again = KMEANS[config.method].run(records_of(other), config, replay)
    return (found, asked), (again, replay)


def promises(config: KMeansConfig) -> bool:
    return claim(KMEANS[config.method].card, config, domain_of(2)).private


@examples(200)
@given(
    config=configs(PRIVATE).filter(promises),
    ndim=st.sampled_from([1, 2, 3]),
    seed=seeds,
    sizes=st.lists(st.sampled_from([1, 4, 40, 400]), min_size=2, max_size=2),
)
def test_private_results_are_functions_of_the_mechanisms_answers(
    config: KMeansConfig, ndim: int, seed: int, sizes: list[int]
) -> None:
    # Data sets with the same public values give the same run if the answers are the same. For
    # example, the number of cells and blocks, the stop and the starts depend only on the answers.
    one, other = drawn(seed, sizes[0], ndim), drawn(seed + 1, sizes[1], ndim)
    (found, _), (again, replay) = replayed(config, one, other)
    assert_same(found, again)
    assert replay.answers is not None
    assert next(replay.answers, None) is None


@pytest.mark.some(1000)
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("dpkmeanspp", None),
        ("dpkmeansup", None),
        ("dplloyd", "records"),
        ("dplloyd", "kmeans++"),
        ("dplloyd", "utility_plus"),
        ("mcmc", "records"),
        ("contour", None),
        ("eugkm", None),
        ("hybrid", None),
        ("gupt", None),
    ],
)
def test_replay_finds_what_published_variants_read_past_the_mechanisms(
    name: str, start: Any
) -> None:
    config = KMeansConfig(method=name, variant="published", start=start, clusters=3, epsilon=5.0)
    assert not promises(config)
    with pytest.raises(AssertionError):
        assert_same(*(run for run, _ in replayed(config, drawn(0, 40, 2), drawn(1, 400, 2))))


# -- privacy: changes by one record ------------------------------------------------------


def scales_of(request: Request) -> NDArray[np.float64]:
    return np.array([spend.scale for spend in request.spends])


def loss_of(one: Request, other: Request) -> float:
    """Largest log ratio of the answer's densities on two data sets, computed from the requests."""
    assert (one.kind, one.step) == (other.kind, other.step)
    np.testing.assert_array_equal(scales_of(one), scales_of(other))
    if one.kind != "choose":
        gaps = np.abs(other.values - one.values)
        return float((gaps.T / scales_of(one)).sum())
    possible = np.isfinite(one.values)
    np.testing.assert_array_equal(possible, np.isfinite(other.values))
    logs = []
    for asked in (one, other):  # the distribution of the exponential mechanism
        weights = asked.values[possible] / scales_of(asked)[0]
        weights = weights - weights.max()
        logs.append(weights - np.log(np.exp(weights).sum()))
    return float(np.abs(logs[0] - logs[1]).max())


def requests(
    config: KMeansConfig, points: NDArray[np.float64], more: NDArray[np.float64]
) -> list[tuple[Request, Request]]:
    """Requests to the mechanisms on neighbours, with the answers of the first data set."""
    (_, asked), (_, replay) = replayed(config, points, more)
    return list(zip(asked.requests, replay.requests, strict=True))


def joiners(rng: np.random.Generator, number: int, ndim: int, kind: str) -> NDArray[np.float64]:
    if kind == "corners":
        return place(rng.integers(0, 2, (number, ndim)).astype(float))
    return place(rng.random((number, ndim)))


@examples(200)
@given(
    config=configs(LAPLACE).filter(promises),
    ndim=st.sampled_from([1, 2, 3]),
    n=st.sampled_from([3, 30, 300]),
    seed=seeds,
    kind=st.sampled_from(["corners", "anywhere"]),
)
def test_whoever_joins_is_kept_from_sight_by_the_noise_on_every_request(
    config: KMeansConfig, ndim: int, n: int, seed: int, kind: str
) -> None:
    # Given earlier answers and the random sets, the loss of a request is at most its share of the
    # budget: compare scales with the true change of the values that they protect.
    rng, unit = np.random.default_rng(seed), config.neighbours
    points = drawn(seed, n, ndim)
    joined = joiners(rng, unit.cap, ndim, kind)
    more = np.vstack([points, joined])
    if unit.relation == "replace_one":
        points = np.vstack([points, joiners(rng, unit.cap, ndim, "anywhere")])
    total = 0.0
    for one, other in requests(config, points, more):
        possible = np.isfinite(one.values)  # a candidate that was chosen before is impossible
        gaps = np.abs(other.values[possible] - one.values[possible])
        bound = one.spends[0].sensitivity * (1 + 1e-9) + 1e-9
        if one.kind == "choose":
            assert gaps.max() <= bound
            if one.monotone and unit.relation == "add_remove":
                assert (other.values <= one.values).all()
        else:
            assert gaps.sum() <= bound
        if one.disjoint:
            rows = np.abs(other.values - one.values).sum(axis=1)
            assert np.count_nonzero(rows > 1e-9) <= unit.multiplier
        loss = loss_of(one, other)
        share = max(spend.epsilon for spend in one.spends)
        assert loss <= share * (1 + 1e-9) + 1e-9
        total += loss
    assert total <= config.epsilon * (1 + 1e-9)


def test_noise_is_no_larger_than_it_has_to_be() -> None:
    # A record in the far corner, alone in its cluster, uses the whole share of each iteration.
    points, more = np.array([[0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 1.0]])
    for geometry in GEOMETRIES:
        config = KMeansConfig(method="dplloyd", clusters=1, iterations=2, geometry=geometry)
        losses = [loss_of(*pair) for pair in requests(config, place(points), place(more))]
        assert losses == [pytest.approx(0.5), pytest.approx(0.5)]


@pytest.mark.parametrize(
    ("n", "ndim"), [(31, 2), (31, 16), (7, 17), (31, 17), (47, 17), (127, 20), (3, 33)]
)
def test_whoever_joins_moves_nobody_between_centers_in_one_place(n: int, ndim: int) -> None:
    # All sets without a usable mean start in the middle, where every record has the same distance
    # to several centres.
    config = KMeansConfig(
        method="dpkmeans_mapreduce", clusters=6, epsilon=0.1, geometry="cube", iterations=1
    )
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = place(np.repeat(rng.random((1, ndim)), n, axis=0))
        more = np.vstack([points, place(rng.random((1, ndim)))])
        pairs = requests(config, points, more)
        assert sum(loss_of(*pair) for pair in pairs) <= config.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 7, 8, 15, 100, 1000])
def test_own_draws_of_records_stay_when_another_is_appended(K: int) -> None:
    for seed in range(20):
        generators = [SeededNoise(seed).generator("sets") for _ in range(3)]
        long = generators[0].integers(K, size=500)
        assert 0 <= long.min() <= long.max() < K
        for n, generator in zip((37, 499), generators[1:], strict=True):
            np.testing.assert_array_equal(generator.integers(K, size=n), long[:n])


def test_whoever_is_appended_moves_nobody_to_another_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    orders: list[NDArray[np.int64]] = []

    def spy(points: Any, order: Any, *more: Any) -> Any:
        orders.append(order)
        return _block_centers(points, order, *more)

    monkeypatch.setattr("dpviz.kmeans.methods.gupt._block_centers", spy)
    points = drawn(0, 50, 2)
    config = KMeansConfig(method="gupt", clusters=2, epsilon=5.0)
    requests(config, points, np.vstack([points, points[:3]]))
    one, other = orders
    assert (len(one), len(other)) == (50, 53)
    np.testing.assert_array_equal(other[:50], one)
    assert len(set(other)) > 1


@pytest.mark.parametrize("K", [1, 3, 15])
def test_one_record_changes_the_centers_of_its_own_block_alone(K: int) -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (80, 2))
    order = rng.integers(12, size=81)
    before = _block_centers(points, order[:-1], 12, K)
    for corner in ([1.0, 1.0], [-1.0, 1.0], [0.1, 0.2]):
        after = _block_centers(np.vstack([points, [corner]]), order, 12, K)
        changed = (before != after).any(axis=(1, 2))
        assert np.flatnonzero(changed).tolist() == [order[-1]]
        assert np.abs(after - before).max() <= 2


def test_sets_cut_by_order_change_more_than_the_noise_is_for() -> None:
    # There are 40 sets of 3 records. Records alternate between two corners, which are -1 and 1 when
    # scaled, so each sum is 1 or -1. One more record at the end moves all 39 borders by one and
    # changes the sign of each sum. The total change is 39 times 2 in both columns. The noise hides
    # only a change of 3.
    points = np.tile([[0.0, 0.0], [1.0, 1.0]], (60, 1))
    more = np.vstack([points, [[0.5, 0.5]]])
    losses = {}
    for variant in VARIANTS:
        config = KMeansConfig(
            method="dpkmeans_mapreduce", variant=variant, clusters=40, iterations=1, geometry="box"
        )
        first, _ = requests(config, place(points), place(more))
        assert first[0].step == "partition"
        losses[variant] = loss_of(*first)
    assert losses["sound"] <= 0.5 * (1 + 1e-9)
    assert losses["published"] > 0.5 * 39 * 4 / 3
    # The claims of all methods agree with these losses.
    for method in ("dplloyd", "mcmc", "dpkmeans_mapreduce"):
        for variant in VARIANTS:
            cut = KMeansConfig(method=method, variant=variant, start="partition")
            assert promises(cut) == (variant == "sound")


def test_blocks_cut_by_order_change_more_than_the_noise_is_for() -> None:
    # There are 9 blocks of 27 records; at every second border, the records on both sides are in the
    # far corner. One more record at the end moves the borders, so both records are then in one
    # block. So 4 of the 9 blocks lose their second centre, which falls by 2 in both columns. The
    # noise hides a change of both centres in only 1 of the 9 blocks.
    points = np.zeros((243, 2))
    for border in (27, 81, 135, 189):
        points[border - 1 : border + 1] = 1
    config = KMeansConfig(method="gupt", variant="published", clusters=2, epsilon=0.5)
    more = np.vstack([points, np.zeros((1, 2))])
    (pair,) = requests(config, place(points), place(more))
    assert pair[0].spends[0].sensitivity == pytest.approx(8 / 9)
    assert np.abs(pair[0].values - pair[1].values).sum() == pytest.approx(16 / 9)
    assert loss_of(*pair) == pytest.approx(2 * 0.5)


@pytest.mark.parametrize("method", ["dplloyd", "mcmc"])
def test_a_corner_record_is_drawn_into_the_ball_that_the_noise_is_for(method: str) -> None:
    # Lee, Kifer, section 4: records are normalized, then projected onto the ball. Without the
    # projection the loss would be (d + 1)/2 times the budget.
    points = drawn(0, 30, 3)
    more = np.vstack([points, place(np.ones((1, 3)))])
    for variant in VARIANTS:
        config = KMeansConfig(method=method, variant=variant, clusters=3, geometry="l1")
        total = sum(loss_of(*pair) for pair in requests(config, points, more))
        assert total == pytest.approx(config.epsilon)


def test_the_true_number_of_records_sets_the_published_grid() -> None:
    # The card of EUGkM says that one more record can change the grid, which is public.
    config = KMeansConfig(method="eugkm", variant="published", clusters=2)
    shapes = []
    for n in range(280, 320):
        found = run_kmeans(records_of(drawn(0, 340, 2)[:n]), config, SeededNoise(0))
        assert found.grid is not None
        shapes.append(found.grid.shape)
    assert len(set(shapes)) > 1


def test_published_contour_budgets_tell_about_the_records() -> None:
    # With the same answers and one more record, the scales differ.
    config = KMeansConfig(method="contour", variant="published", clusters=3, epsilon=5.0)
    points = drawn(0, 12, 2)
    pairs = requests(config, points, np.vstack([points, place(np.ones((1, 2)))]))
    disjoint = [pair for pair in pairs if pair[0].disjoint]
    assert disjoint
    for one, other in disjoint:
        assert (scales_of(one) != scales_of(other)).any()


# -- parts of single methods -------------------------------------------------------------


def test_published_contour_deals_by_averages_of_clusters() -> None:
    # The sound variant computes S_k of single distances from a grid. The scales of the published
    # variant follow from the raw records and the printed averages.
    records = records_of(drawn(3, 600, 2))
    config = KMeansConfig(method="contour", variant="published", clusters=3, epsilon=50.0)
    run = run_kmeans(records, config, SeededNoise(0))
    assert run.start is not None
    assert run.iterations
    space = Space(records.domain, "cube")
    path = [run.start, *(one.centers for one in run.iterations)]
    for before, one in zip(path, run.iterations, strict=False):
        contours = records.contours(space, space.scale(before))
        share = (1 + contours - contours.min()) / (1 + contours.max() - contours.min())
        np.testing.assert_allclose(one.scales, 3 / (one.epsilon * share))


def by_contour(points: NDArray[np.float64], weights: Any) -> Any:
    return lambda centers, epsilon: dealt(simplified_silhouettes(points, centers, weights), epsilon)


def test_contour_deals_an_iterations_budget_by_hand() -> None:
    # Records 0, 4, 10, 11; centres 0, 10, 12: S of 0 and 4 is 1 and 1/3, of 10 it is 1 (b = 2, a =
    # 0), of 11 it is 0 (a tie). S_k = 2/3, 1/2, 0 (empty). Shares: (1 + S_k - 0) / (1 + 2/3).
    points, centers = (np.array([row], dtype=float).T for row in ([0, 4, 10, 11], [0, 10, 12]))
    deal = by_contour(points, None)
    np.testing.assert_allclose(deal(centers, 0.5), [0.5, 0.5 * 1.5 * 3 / 5, 0.5 * 3 / 5])
    # Without the third centre, S of 10 is 1 and of 11 it is 10/11: S_k = 2/3 and 21/22, which is
    # larger by 19/66.
    np.testing.assert_allclose(deal(centers[:2], 2.0), [2 * 66 / 85, 2])
    # With weights, 10 is counted three times, so S_2 = 3/4 is the largest: the shares are
    # proportional to 1 + 2/3, 1 + 3/4 and 1.
    heavy = by_contour(points, np.array([1.0, 1.0, 3.0, 1.0]))
    np.testing.assert_allclose(heavy(centers, 1.0), np.array([5 / 3, 7 / 4, 1]) * 4 / 7)
    # A single cluster gets the whole budget, because there is no other cluster to compare.
    assert deal(centers[:1], 0.5).tolist() == [0.5]


@examples(60)
@given(seed=seeds, K=st.integers(1, 6), epsilon=st.sampled_from([0.1, 1.0, 3.3]))
def test_no_cluster_gets_more_than_its_iteration_has(seed: int, K: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    points, weights = rng.uniform(-1, 1, (20, 2)), rng.choice([0.0, 1.0, 4.0], 20)
    shares = by_contour(points, weights)(rng.uniform(-1, 1, (K, 2)), epsilon)
    assert shares.max() == pytest.approx(epsilon, rel=1e-12)
    assert shares.min() >= epsilon / 2 * (1 - 1e-12)  # S is in [0, 1]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_contour_coefficients_are_taken_where_the_iterations_take_place(
    geometry: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[NDArray[np.float64], Any]] = []

    def spy(points: NDArray[np.float64], centers: NDArray[np.float64], weights: Any) -> Any:
        seen.append((points, weights))
        return simplified_silhouettes(points, centers, weights)

    monkeypatch.setattr("dpviz.kmeans.methods.contour.simplified_silhouettes", spy)
    unit = np.repeat([[0.1, 0.2], [0.9, 0.6]], 300, axis=0)
    config = KMeansConfig(method="contour", clusters=2, geometry=geometry, epsilon=50.0)
    run_kmeans(records_of(place(unit)), config, SeededNoise(0))
    points, weights = seen[0]
    low = 0 if geometry == "cube" else -1
    heaviest = (points[np.argsort(weights)[-2:]] - low) / (1 - low)
    side = round(len(points) ** 0.5)
    assert side > 20
    assert np.abs(heaviest[np.argsort(heaviest[:, 0])] - unit[[0, -1]]).max() <= 0.5001 / side


@pytest.mark.parametrize(
    "options",
    [
        {"method": "hybrid", "epsilon": 100.0},
        {"method": "dplloyd", "start": "records"},
        {"method": "dplloyd", "start": "kmeans++"},
        {"method": "dpkmeansup"},
    ],
)
def test_a_start_from_cells_is_one_place_in_every_geometry(options: dict[str, Any]) -> None:
    records = records_of(drawn(0, 200, 2))
    starts = []
    for geometry in GEOMETRIES:
        found = run_kmeans(
            records, KMeansConfig(clusters=3, geometry=geometry, **options), SeededNoise(0)
        )
        assert found.start is not None
        starts.append(found.start[canonical(found.start)])
    for start in starts[1:]:
        np.testing.assert_allclose(start, starts[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "printed"),
    # The second start is already the optimum; the first start is two records.
    [("dpkmeanspp", [0.5, 0.25]), ("dpkmeansup", [0.5])],
)
def test_only_as_printed_the_raw_errors_stop_the_iterations(
    name: str, printed: list[float]
) -> None:
    cross = 0.05 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    unit = np.concatenate([np.add(cross, middle) for middle in ([0.2, 0.3], [0.7, 0.9])])
    records = records_of(place(np.repeat(unit, 50, axis=0)))
    shares = {}
    for variant in VARIANTS:
        config = KMeansConfig(method=name, variant=variant, clusters=2, iterations=4)
        found = KMEANS[name].run(records, config, Accountant(Silenced(SeededNoise(0)), 1.0))
        shares[variant] = [one.epsilon for one in found.iterations]
    assert shares["published"] == printed
    assert shares["sound"] == pytest.approx([0.35, 0.175, 0.0875, 0.0875])


def test_errors_have_settled_where_they_change_by_a_thousandth() -> None:
    # Records -1 and 1 on [-1, 1], one centre c: the error is 2 + 2 c^2, so from 0 to c it changes
    # by the share c^2.
    domain = Domain(((-1, 1),))
    records = Records.build(Dataset(name="", points=np.array([[-1.0], [1.0]])), domain)
    config = KMeansConfig(method="dpkmeanspp", variant="published", clusters=1, geometry="box")
    settled = as_printed(records, config)
    assert settled is not None
    middle = np.zeros((1, 1))
    for c, answer in ((0.0, True), (0.031, True), (0.032, False), (-0.031, True), (-0.5, False)):
        assert settled(middle, middle + c) == answer
    # The change is relative to the previous error, so the change back to 0 is smaller.
    assert not settled(middle, middle + 0.03163)
    assert settled(middle + 0.03163, middle)
    assert as_printed(records, KMeansConfig(method="dpkmeanspp", clusters=1)) is None


def test_gupt_averages_the_ordered_centers_of_its_blocks() -> None:
    # There are 4 blocks of 8 records; a block has four copies of each of two points, in any order.
    rng = np.random.default_rng(0)
    lefts, rights = rng.uniform(-0.9, -0.5, (4, 2)), rng.uniform(0.5, 0.9, (4, 2))
    blocks = [
        rng.permutation(np.repeat([left, right], 4, axis=0))
        for left, right in zip(lefts, rights, strict=True)
    ]
    domain = Domain(((-1, 1), (-1, 1)))
    records = Records.build(Dataset(name="", points=np.concatenate(blocks)), domain)
    config = KMeansConfig(method="gupt", variant="published", clusters=2)
    found = KMEANS["gupt"].run(records, config, Accountant(Silenced(SeededNoise(0)), 1.0))
    expected = [lefts.mean(axis=0), rights.mean(axis=0)]
    np.testing.assert_allclose(found.centers, expected, atol=LATTICE)


@pytest.mark.parametrize("name", ["eugkm", "hybrid"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_grid_methods_find_clear_clusters(name: str, variant: Any) -> None:
    unit = np.repeat([[0.1, 0.2], [0.8, 0.3], [0.5, 0.9]], 400, axis=0)
    unit += np.random.default_rng(0).normal(0, 0.01, unit.shape)
    records = records_of(place(unit))
    config = KMeansConfig(method=name, variant=variant, clusters=3, epsilon=2.0)
    truth = KMeansTruth(records, 3)
    width = records.domain.highs - records.domain.lows
    for seed in range(10):
        found = run_kmeans(records, config, SeededNoise(seed))
        assert found.grid is not None
        cell = width / found.grid.shape
        assert (np.abs(found.centers - truth.centers) <= cell / 2).all()


def test_privgene_takes_the_best_of_its_first_candidates_where_nothing_is_hidden() -> None:
    points = drawn(0, 50, 2)
    records = records_of(points)
    config = KMeansConfig(method="privgene", clusters=3, iterations=1)
    found = KMEANS["privgene"].run(records, config, Accountant(Silenced(SeededNoise(2)), 1.0))
    generator = SeededNoise(2).generator("breeding")
    candidates = [uniform(3, 2, generator) for _ in range(CANDIDATES)]
    space = Space(records.domain)
    best = min(candidates, key=lambda centers: wcss(space.scale(points), centers))
    np.testing.assert_allclose(found.centers, space.restore(best[canonical(best)]))


def test_privgene_without_noise_only_gets_better() -> None:
    records = records_of(drawn(0, 80, 2))
    errors = []
    for generations in (1, 2, 4, 8, 16):
        config = KMeansConfig(method="privgene", clusters=3, iterations=generations)
        found = KMEANS["privgene"].run(records, config, Accountant(Silenced(SeededNoise(2)), 1.0))
        scaled = Space(records.domain).scale(found.centers)
        errors.append(wcss(records.scaled(Space(records.domain)), scaled))
    assert errors == sorted(errors, reverse=True)
    best = KMeansTruth(records, 3).errors[1] * records.n * 4  # on the unit square
    assert errors[-1] < 1.1 * best < errors[0]


def test_parents_are_different_candidates_and_share_a_generation_s_budget() -> None:
    config = KMeansConfig(method="privgene", clusters=2, iterations=3, epsilon=100.0)
    recorder = Recorder(SeededNoise(0), 100.0)
    KMEANS["privgene"].run(records_of(drawn(0, 80, 2)), config, recorder)
    assert len(recorder.requests) == 2 * PARENTS + 1
    for generation in range(2):
        asked = recorder.requests[generation * PARENTS :][:PARENTS]
        chosen = [one.answer for one in asked]
        assert len(set(chosen)) == PARENTS
        assert len({one.spends[0].sensitivity for one in asked}) == 1
        for number, one in enumerate(asked):
            left = np.flatnonzero(~np.isfinite(one.values))
            assert sorted(left) == sorted(chosen[:number])
            assert one.spends[0].epsilon == pytest.approx(100 / 3 / PARENTS)
    assert recorder.requests[-1].spends[0].epsilon == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("size", "epsilon", "generations"),
    [(0, 1.0, 8), (5000, 1.0, 8), (71_999, 1.0, 8), (72_000, 1.0, 9), (30_000, 8.0, 30)],
)
def test_printed_number_of_generations(size: int, epsilon: float, generations: int) -> None:
    # max(8, x n epsilon / m') with x = 1.25e-3 and m' = 10.
    assert printed_generations(size, epsilon) == generations


@pytest.mark.parametrize(("most", "variant", "found"), [(5, "published", 5), (20, "published", 8),
                                                        (20, "sound", 20)])  # fmt: skip
def test_generations_of_both_variants(most: int, variant: Any, found: int) -> None:
    config = KMeansConfig(method="privgene", clusters=1, iterations=most, variant=variant)
    ledger = run_kmeans(records_of(drawn(0, 20, 1)), config, SeededNoise(0)).ledger
    assert len(ledger.spends) == (found - 1) * PARENTS + 1


def test_offspring_take_blocks_of_two_parents_and_move_one_center() -> None:
    rng = np.random.default_rng(0)
    parents = rng.uniform(-1, 1, (PARENTS, 5, 2))
    born = _offspring(parents, 1, np.random.default_rng(1))
    assert born.shape == (CANDIDATES, 5, 2)
    assert np.abs(born).max() <= 1
    np.testing.assert_array_equal(born[:PARENTS], parents)
    pairs, cuts = set(), set()
    for child in born[PARENTS:]:
        # Each centre has the same place as in its parent.
        owners = [np.flatnonzero((parents[:, k] == child[k]).all(axis=1)) for k in range(5)]
        assert sum(len(one) == 0 for one in owners) == 1
        kept = [int(one[0]) for one in owners if len(one)]
        changes = np.flatnonzero(np.diff(kept))
        assert len(changes) <= 1
        cuts.add(tuple(changes))
        pairs.add((kept[0], kept[-1]))
    assert len(pairs) > 50
    assert cuts == {(), (0,), (1,), (2,)}


@pytest.mark.parametrize("generation", [1, 4, 8])
def test_mutations_shrink_by_a_twentieth_each_generation(generation: int) -> None:
    # With 190 children of 2 coordinates and 20 seeds, the standard error of the spread is 0.8%.
    moves, width = [], 0.2 * 0.95 ** (generation - 1)
    for seed in range(20):
        born = _offspring(np.zeros((PARENTS, 3, 2)), generation, np.random.default_rng(seed))
        moved = born[PARENTS:][(born[PARENTS:] != 0).any(axis=2)]
        assert moved.shape == (CANDIDATES - PARENTS, 2)
        moves.append(moved)
    assert np.std(moves) == pytest.approx(width, rel=4 * 0.008)
    assert abs(np.mean(moves)) < 4 * width / np.size(moves) ** 0.5


def relatives(rng: np.random.Generator, clusters: int, ndim: int) -> NDArray[np.float64]:
    base = rng.uniform(-1, 1, (1, clusters, ndim))
    spread = rng.choice([0.0, 0.01, 0.3, 2.0])
    return np.clip(base + rng.normal(0, spread, (6, clusters, ndim)), -1, 1)


@given(seeds, st.integers(1, 4), st.integers(1, 3))
@examples(60)
def test_no_record_tells_candidates_apart_by_more_than_the_bound(
    seed: int, clusters: int, ndim: int
) -> None:
    """Try records on a lattice of the box, which contains its corners, and next to all centres."""
    rng = np.random.default_rng(seed)
    candidates = relatives(rng, clusters, ndim)
    axis = np.linspace(-1, 1, 9)
    lattice = np.stack(np.meshgrid(*[axis] * ndim), axis=-1).reshape(-1, ndim)
    records = np.vstack([lattice, candidates.reshape(-1, ndim), rng.uniform(-1, 1, (50, ndim))])
    squares = ((records[:, None, None] - candidates) ** 2).sum(axis=-1).min(axis=2)
    worst = float((squares.max(axis=1) - squares.min(axis=1)).max())
    bound = difference(candidates)
    assert worst <= bound + 1e-12
    assert bound <= 4 * ndim + 1e-12
    if clusters == 1:  # then a corner attains the bound, unless the farthest distance is less
        assert bound == pytest.approx(worst)
    # An added record lowers scores on the lattice by at most the bound for which the noise is
    # computed.
    most = (math.floor(bound / LATTICE) + 2) * LATTICE
    ones = np.array([excess(one[None], None, candidates, LATTICE) for one in records])
    assert (ones >= 0).all()
    assert (ones.min(axis=1) == 0).all()
    assert ones.max() <= most


def test_alike_candidates_need_less_noise() -> None:
    rng = np.random.default_rng(0)
    parents = rng.uniform(-1, 1, (PARENTS, 4, 2))
    kin = np.repeat(parents[:1], PARENTS, axis=0)
    assert difference(_offspring(kin, 8, rng)) < 0.8 * difference(_offspring(parents, 8, rng))
    assert difference(kin) == 0


@given(seeds, st.integers(1, 5), st.integers(1, 3), st.integers(0, 300))
@examples(40)
def test_excess_is_the_wcss_beyond_what_all_sets_share(
    seed: int, clusters: int, ndim: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n, ndim))
    candidates = np.repeat(rng.uniform(-1, 1, (4, clusters, ndim)), 2, axis=0)
    candidates[::2, 0] = rng.uniform(-1, 1, (4, ndim))
    weights = rng.integers(0, 5, n)
    squares = ((points[:, None, None] - candidates) ** 2).sum(axis=-1).min(axis=2)
    whole = np.floor(squares / LATTICE)
    more = (whole - whole.min(axis=1, keepdims=True, initial=np.inf)) * LATTICE
    np.testing.assert_array_equal(excess(points, None, candidates, LATTICE), more.sum(axis=0))
    np.testing.assert_array_equal(excess(points, weights, candidates, LATTICE), weights @ more)
    errors = [wcss(points, one) for one in candidates]
    found = excess(points, None, candidates, LATTICE)
    np.testing.assert_allclose(found - found[0], np.subtract(errors, errors[0]), atol=n * LATTICE)


def test_excess_of_many_records_adds_up_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points, candidates = rng.uniform(-1, 1, (1000, 2)), rng.uniform(-1, 1, (5, 3, 2))
    weights = rng.integers(0, 9, 1000)
    whole = [excess(points, one, candidates, LATTICE) for one in (None, weights)]
    monkeypatch.setattr("dpviz.kmeans.passes.CHUNK", 300)
    parts = [excess(points, one, candidates, LATTICE) for one in (None, weights)]
    np.testing.assert_array_equal(whole, parts)


def test_excess_of_far_points_is_as_exact() -> None:
    """At distances above 2,047 a square has more multiples of 2^-20 than fit into 32 bits."""
    rng = np.random.default_rng(0)
    points, candidates = rng.uniform(-1, 1, (200, 2)), rng.uniform(-1, 1, (5, 3, 2))
    for far in (2.0**4, 2.0**12):
        more = excess(far * points, None, far * candidates, far**2 * LATTICE)
        np.testing.assert_array_equal(more, far**2 * excess(points, None, candidates, LATTICE))
        squares = ((far * points[:, None, None] - far * candidates) ** 2).sum(axis=-1).min(axis=2)
        whole = np.floor(squares / LATTICE)
        more = (whole - whole.min(axis=1, keepdims=True)).sum(axis=0) * LATTICE
        np.testing.assert_array_equal(excess(far * points, None, far * candidates, LATTICE), more)


# -- Hybrid ------------------------------------------------------------------------------


def box_of(ndim: int, geometry: Any = "box") -> Space:
    return Space(Domain(((0.0, 1.0),) * ndim), geometry)


@pytest.mark.parametrize(("ndim", "clusters", "size"), [(2, 15, 5000), (2, 3, 31_200), (4, 5, 900)])
def test_published_hybrid_iterates_from_the_printed_budget_on(
    ndim: int, clusters: int, size: int
) -> None:
    least = math.sqrt(500 * clusters**3 / size**2 * (ndim + (4 * ndim * 0.225**2) ** (1 / 3)) ** 3)
    for factor, expected in ((1.999, False), (2.001, True)):
        space = box_of(ndim)
        assert iterates("published", size, factor * least, space, clusters) == expected


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_sound_hybrid_iterates_where_its_noise_is_small_beside_the_cells(geometry: Any) -> None:
    # One centre in the middle of 100,000 records in two columns, with noise computed by hand.
    space, size = box_of(2, geometry), 100_000
    clusters, found = 20, []
    for epsilon in np.geomspace(0.01, 50, 40):
        scale = space.sensitivity / (epsilon / 2)
        norm = 2 * 4 * 0.225**2 if geometry != "cube" else 2 * (0.25 + 0.225**2)
        error = 2 * (scale * clusters / size) ** 2 * (2 + norm)
        side = round((size * epsilon / 3) ** 0.5)
        width = (1 if geometry == "cube" else 2) / min(max(side, 5), 1024)
        expected = error <= 3 / 8 * 2 * width**2 / 12
        assert iterates("sound", size, float(epsilon), space, clusters) == expected
        found.append(expected)
    assert found == sorted(found)
    assert set(found) == {False, True}


def test_more_records_of_a_person_take_more_noise_and_less_iterating() -> None:
    sizes = [next(n for n in range(100, 10**6, 100) if iterates("sound", n, 1.0, box_of(2), 3, m))
             for m in (1, 2, 4)]  # fmt: skip
    assert sizes == sorted(set(sizes))


def test_hybrid_without_iteration_is_eugkm_draw_for_draw() -> None:
    records = records_of(drawn(0, 500, 2))
    for variant, seed in product(VARIANTS, range(3)):
        options = {"clusters": 8, "epsilon": 0.5, "variant": variant}
        found, grid = (
            run_kmeans(records, KMeansConfig(method=name, **options), SeededNoise(seed))
            for name in ("hybrid", "eugkm")
        )
        np.testing.assert_array_equal(found.centers, grid.centers)
        assert found.ledger == grid.ledger
        assert found.decision.startswith("No iteration")


def blobs(clusters: int, n: int) -> tuple[Records, KMeansTruth]:
    rng = np.random.default_rng(3)
    places = np.stack(np.meshgrid([0.2, 0.5, 0.8], [0.2, 0.5, 0.8]), axis=-1).reshape(-1, 2)
    points = places[rng.integers(clusters, size=n)] + rng.normal(0, 0.05, (n, 2))
    records = records_of(place(np.clip(points, 0, 1)))
    return records, KMeansTruth(records, clusters)


@pytest.mark.parametrize(("clusters", "n", "epsilon"), [(9, 2000, 0.3), (4, 20_000, 2.0)])
def test_hybrid_is_as_good_as_the_better_of_grid_and_half_and_half(
    clusters: int, n: int, epsilon: float
) -> None:
    """Hybrid is not worse than the grid; with many records it is better in almost all runs.

    With many records, Hybrid was better in 100 of 100 other runs, so its probability is above 0.95
    with 99% confidence. Then the probability of fewer than 13 better runs of 20 is below 1e-6.
    """
    records, truth = blobs(clusters, n)
    ratios: dict[str, NDArray[np.float64]] = {}
    for name in ("hybrid", "eugkm"):
        config = KMeansConfig(method=name, clusters=clusters, epsilon=epsilon)
        runs = [run_kmeans(records, config, SeededNoise(seed)) for seed in range(20)]
        ratios[name] = np.array([truth.nicv(run.centers) for run in runs]) / truth.errors[1]
        iterated = [bool(run.iterations) for run in runs]
        if name == "hybrid":
            assert len(set(iterated)) == 1
            assert iterated[0] == (n == 20_000)
    if n == 20_000:
        assert (ratios["hybrid"] < ratios["eugkm"]).sum() >= 13
        assert np.median(ratios["hybrid"]) < np.median(ratios["eugkm"])
    else:
        np.testing.assert_array_equal(ratios["hybrid"], ratios["eugkm"])


# -- EUGkM as printed --------------------------------------------------------------------


def test_published_grid_is_the_raw_noisy_counts_above_zero() -> None:
    records = records_of(drawn(0, 900, 2))
    config = KMeansConfig(method="eugkm", clusters=4, epsilon=1.0, variant="published")
    noise = SeededNoise(0)
    found = run_kmeans(records, config, noise).grid
    assert found is not None
    assert found.shape == (
        10,
        10,
    )  # (900 * 1 / 10)^(2 * 2 / (2 + 2)) = 90 cells; 9 * 10 is not more
    noisy = cell_counts(records, found.shape) + noise.laplace("cells", 1.0, (100,))
    np.testing.assert_array_equal(found.weights, np.maximum(noisy, 0))
    assert (noisy < 0).any()


# -- the true run ------------------------------------------------------------------------


def test_true_run_finds_clear_clusters_and_spends_nothing() -> None:
    middles = np.array([[0.1, 0.2], [0.4, 0.8], [0.8, 0.3], [0.9, 0.9]])
    unit = np.repeat(middles, 50, axis=0)
    records = records_of(place(unit + np.random.default_rng(0).normal(0, 0.005, unit.shape)))
    for variant in VARIANTS:
        config = KMeansConfig(method="kmeans", variant=variant, clusters=4)
        found = run_kmeans(records, config, SeededNoise(0))
        means = [records.points[50 * k : 50 * (k + 1)].mean(axis=0) for k in range(4)]
        np.testing.assert_allclose(found.centers, means, rtol=1e-9)
        assert not found.ledger.spends


def _noise() -> SeededNoise:
    return SeededNoise(0)


# -- MCMC --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_chain_is_told_what_the_iterations_did(
    variant: Any, geometry: Any, temperature: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}
    walk = chain_module.run_chain

    def spy(
        statistics: Any, rates: Any, size: int, draws: Any, delta: float = chain_module.DELTA
    ) -> Any:
        told.update(statistics=statistics, rates=rates, size=size, draws=draws, delta=delta)
        return walk(statistics, rates, size, draws, delta)

    monkeypatch.setattr(chain_module, "run_chain", spy)
    records = records_of(drawn(0, 3000, 3))
    config = KMeansConfig(
        method="mcmc",
        variant=variant,
        geometry=geometry,
        temperature=temperature,
        clusters=4,
        iterations=3,
        epsilon=2.0,
    )
    found = run_kmeans(records, config, SeededNoise(0))
    # These are the places to which records were assigned, even the places outside the ball.
    domain = records.domain
    low = 0 if geometry == "cube" else -1
    path = [
        low + (centers - domain.lows) / (domain.highs - domain.lows) * (1 - low)
        for centers in found.path
    ]
    np.testing.assert_allclose(told["statistics"].assigned, path[:-1], atol=1e-12)
    counts, sums = chain_module.consistent(
        np.array([one.counts for one in found.iterations]),
        np.array([one.sums for one in found.iterations]),
    )
    # Published: proposals and the first data set are from the consistent statistics.
    centers = path[1:]
    if variant == "published":
        with np.errstate(divide="ignore"):
            centers = np.clip(sums / counts[:, :, None], low, 1)
        assert not np.allclose(centers, path[1:])
    np.testing.assert_allclose(told["statistics"].updated, centers, atol=1e-12)
    np.testing.assert_array_equal(told["statistics"].counts, counts)
    np.testing.assert_array_equal(told["statistics"].sums, sums)
    # Published: all records are simulated. The sound variant simulates 2,000 records, and each
    # represents several records.
    size = round(counts[0].sum()) if variant == "published" else 2000
    assert size > 2000 or variant == "sound"
    assert (told["size"], told["delta"]) == (size, 0.001)
    own = chain_module.draws(SeededNoise(0).generator("chain"), 3000, 3)
    for name in ("index", "iteration", "component", "normals", "accept"):
        np.testing.assert_array_equal(getattr(told["draws"], name), getattr(own, name))
    # Each record costs 1 / b, or 1 if the temperature is "printed".
    worth = counts[0].sum() / size
    scale = (2 if geometry == "l1" else 4) / (2 / 3)
    printed = worth if variant == "published" else 1.0
    rates = {"printed": [printed] * 3, "posterior": [worth / scale] * 3}
    np.testing.assert_allclose(told["rates"], rates[temperature])
    assert found.chain is not None
    assert found.chain.points.shape == (size, 3)
    lloyd = run_kmeans(
        records,
        KMeansConfig(
            method="dplloyd",
            variant=variant,
            geometry=geometry,
            clusters=4,
            iterations=3,
            epsilon=2.0,
        ),
        SeededNoise(0),
    )
    assert found.before is not None
    np.testing.assert_array_equal(found.before, lloyd.centers)
    assert found.ledger == lloyd.ledger
    assert (found.centers != found.before).any()


def test_as_printed_equal_points_of_the_chain_are_one_of_more_weight() -> None:
    points = np.array([[0.5, 0.0], [0.1, 0.2], [0.5, 0.0]])
    published = KMeansConfig(method="mcmc", variant="published")
    distinct, weights = mcmc_module._distinct(points, published)
    assert distinct.tolist() == [[0.1, 0.2], [0.5, 0.0]]
    assert weights is not None
    assert weights.tolist() == [1, 2]
    assert mcmc_module._distinct(points, KMeansConfig(method="mcmc")) == (points, None)


def test_at_most_so_many_records_are_simulated_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcmc_module, "SIZE", {"published": 500})
    config = KMeansConfig(method="mcmc", variant="published", clusters=2, epsilon=5.0)
    found = run_kmeans(records_of(drawn(0, 900, 2)), config, SeededNoise(0))
    assert found.chain is not None
    assert len(found.chain.points) == 500


def test_cards_tell_how_this_paper_is_read() -> None:
    for method in ("dplloyd", "mcmc"):
        told = " ".join(KMEANS[method].card.deviations)
        for reading in ("line to the origin", "do not mention clipping", "constant least"):
            assert reading in told
    assert "likeliest values" in " ".join(KMEANS["mcmc"].card.deviations)
    assert any("minus sign" in erratum for erratum in KMEANS["mcmc"].card.errata)


def test_a_printed_number_of_generations_is_nobodys_but_the_implementations() -> None:
    reason = KMEANS["privgene"].card.variant("published").reason
    assert "Lee, Kifer do not print a number" in reason
    assert "also a replaced record" in reason
    # This is the largest number of records with eight generations, even if a record is added or
    # removed.
    assert printed_generations(71_999, 1.0) == FEWEST < printed_generations(72_000, 1.0)

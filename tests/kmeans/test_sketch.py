"""A sketch of very many records: runs on it have the law of runs on all, but for nested grids."""

import numpy as np
import pytest
from scipy import stats

from dpviz.domain import Domain
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.sketch import MOST_CELLS, SKETCHED, Sketch, worth_sketching
from dpviz.kmeans.space import Space
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.noise_source import SeededNoise

DOMAIN = Domain(((0.0, 10.0), (-5.0, 5.0)))


def records(n: int = 5 * SKETCHED + 17) -> Records:
    rng = np.random.default_rng(3)
    middles = np.array([[2.0, -3.0], [7.0, 3.0], [8.0, -3.0], [3.0, 2.0]])
    codes = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    points = np.clip(middles[codes] + rng.normal(0, 0.4, (n, 2)), DOMAIN.lows, DOMAIN.highs)
    return Records(points=points, domain=DOMAIN, n_outside=9, classes=codes)


@pytest.fixture(scope="module")
def many() -> Records:
    return records()


def test_a_sketch_stands_for_all_records(many: Records) -> None:
    sketch = Sketch.of(many)
    assert SKETCHED <= len(sketch.points) < 2 * SKETCHED
    # Less than one record of the sample is missing.
    assert many.n - sketch.each < sketch.n <= many.n
    assert (sketch.n_outside, sketch.domain) == (9, DOMAIN)
    held = {tuple(point) for point in many.points}
    assert all(tuple(point) in held for point in sketch.points)
    assert len(np.unique(sketch.points, axis=0)) == len(sketch.points)
    assert sketch.classes is not None
    # The same sample each time: a picture of the same settings stays the same.
    np.testing.assert_array_equal(Sketch.of(many).points, sketch.points)


def test_counts_sums_and_errors_have_the_size_of_all_records(many: Records) -> None:
    sketch, space = Sketch.of(many), Space(DOMAIN)
    truth = KMeansTruth(many, 4)
    scaled = space.scale(truth.centers)
    whole, rough = many.sums(space, scaled), sketch.sums(space, scaled)
    # Sampling moves a share of .1 by about 1% of it.
    np.testing.assert_allclose(rough.counts, whole.counts, rtol=0.05)
    np.testing.assert_allclose(rough.sums, whole.sums, rtol=0.05, atol=0.02 * many.n)
    assert rough.counts.sum() == sketch.n
    assert sketch.wcss(space, scaled) == pytest.approx(many.wcss(space, scaled), rel=0.02)
    there = KMeansTruth(sketch, 4, start=truth.centers)
    assert there.errors[1] == pytest.approx(truth.errors[1], rel=0.02)
    # Clusters keep their numbers, so they keep their colours.
    np.testing.assert_allclose(there.centers, truth.centers, atol=0.05)
    assert sketch.cells((8, 8)).sum() == sketch.n
    run = run_kmeans(many, KMeansConfig(method="dplloyd", clusters=4), SeededNoise(0))
    scores = there.scores(run)
    for name, value in truth.scores(run).items():
        assert scores[name] == pytest.approx(value, rel=0.05, abs=0.01), name


@pytest.mark.daily("dplloyd", "dpkmeanspp")
@pytest.mark.parametrize("method", ["dplloyd", "eugkm", "dprefine", "dpkmeanspp"])
def test_runs_on_a_sketch_have_the_law_of_runs_on_all(many: Records, method: str) -> None:
    """Errors of 40 draws on each side: a false alarm in about 1 of 1,000 runs of this test."""
    config = KMeansConfig(method=method, clusters=4, epsilon=0.003)
    sketch, errors = Sketch.of(many), []
    truth = KMeansTruth(many, 4)
    for side in (many, sketch):
        found = [run_kmeans(side, config, SeededNoise(seed)).centers for seed in range(40)]
        errors.append([truth.nicv(centers) / truth.errors[1] for centers in found])
    assert stats.ks_2samp(*errors).pvalue > 0.001
    # Noise that is not there would show: with a hundredth of it the errors differ.
    quiet = KMeansConfig(method=method, clusters=4, epsilon=0.3)
    exact = [truth.nicv(run_kmeans(sketch, quiet, SeededNoise(seed)).centers) for seed in range(40)]
    assert stats.ks_2samp(errors[0], np.array(exact) / truth.errors[1]).pvalue < 0.001


def test_a_nested_grid_over_a_sketch_stays_small_and_places_centres(many: Records) -> None:
    config = KMeansConfig(method="dprefine", clusters=4, epsilon=10)
    whole, rough = (run_kmeans(one, config, SeededNoise(1)) for one in (many, Sketch.of(many)))
    assert whole.grid.weights.size > MOST_CELLS >= rough.grid.weights.size
    truth = KMeansTruth(many, 4)
    # A coarser grid costs little.
    assert truth.nicv(rough.centers) < 1.02 * truth.nicv(truth.centers)


@pytest.mark.parametrize("ndim", [2, 4, 5, 8])
@pytest.mark.parametrize("method", ["dprefine", "eugkm", "hybrid"])
def test_a_sketch_is_as_good_as_all_records(method: str, ndim: int) -> None:
    """In all numbers of columns: what is seen while a slider moves is what comes after it."""
    rng, box = np.random.default_rng(ndim), Domain(((0.0, 1.0),) * ndim)
    middles = rng.uniform(0.2, 0.8, (4, ndim))
    points = middles[rng.integers(4, size=2 * SKETCHED)]
    points = np.clip(points + rng.normal(0, 0.04, points.shape), 0, 1)
    some = Records(points=points, domain=box)
    config = KMeansConfig(method=method, clusters=4, epsilon=5)
    each = []
    for one in (some, Sketch.of(some)):
        found = [run_kmeans(one, config, SeededNoise(seed)).centers for seed in range(5)]
        each.append(np.median([some.wcss(None, centers) for centers in found]))
    assert each[1] == pytest.approx(each[0], rel=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_a_sketch_with_the_ledger_of_all_records(method: str) -> None:
    some = records(2 * SKETCHED)
    config = KMeansConfig(method=method, clusters=3, epsilon=0.5)
    ledgers = [run_kmeans(one, config, SeededNoise(1)).ledger for one in (some, Sketch.of(some))]
    spent = 0.5 * METHODS[method].card.spends
    assert [ledger.epsilon for ledger in ledgers] == pytest.approx([spent, spent])


def test_few_records_weighted_ones_and_methods_of_blocks_need_no_sketch(many: Records) -> None:
    assert worth_sketching(many, "dplloyd")
    assert not worth_sketching(many, "gupt")
    assert not worth_sketching(records(2 * SKETCHED - 1), "dplloyd")
    assert not worth_sketching(Sketch.of(many), "dplloyd")

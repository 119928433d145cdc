"""A sketch of many records: runs on it are distributed like runs on all records."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpviz.grid.domain import Domain
from dpviz.kmeans.grid import NoisyGrid, block_widths
from dpviz.kmeans.methods import METHODS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.sketch import (
    MANY,
    MOST_CELLS,
    SKETCHED,
    SKETCHED_BLOCKS,
    Sketch,
    worth_sketching,
)
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import best_of
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.privacy.noise_source import SeededNoise
from tests.support.tiers import examples

quick = examples(60)

DOMAIN = Domain(((0.0, 10.0), (-5.0, 5.0)))


def records(n: int = 5 * 2**16 + 17) -> Records:
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
    # The sketch represents all records except fewer than ``each``.
    assert many.n - sketch.each < sketch.n <= many.n
    assert (sketch.n_outside, sketch.domain) == (9, DOMAIN)
    held = {tuple(point) for point in many.points}
    assert all(tuple(point) in held for point in sketch.points)
    assert len(np.unique(sketch.points, axis=0)) == len(sketch.points)
    assert sketch.classes is not None
    # The sample is the same each time, so that a picture of the same settings does not change.
    np.testing.assert_array_equal(Sketch.of(many).points, sketch.points)


def test_counts_sums_and_errors_have_the_size_of_all_records(many: Records) -> None:
    sketch, space = Sketch.of(many), Space(DOMAIN)
    truth = KMeansTruth(many, 4)
    scaled = space.scale(truth.centers)
    whole, rough = many.sums(space, scaled), sketch.sums(space, scaled)
    # Sampling changes a share of 0.1 by about 0.001.
    np.testing.assert_allclose(rough[:, 0], whole[:, 0], rtol=0.05)
    np.testing.assert_allclose(rough[:, 1:], whole[:, 1:], rtol=0.05, atol=0.02 * many.n)
    assert rough[:, 0].sum() == sketch.n
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


@pytest.mark.daily("dplloyd")
@pytest.mark.parametrize("method", ["dplloyd", "eugkm", "dprefine", "dpkmeanspp", "gupt"])
def test_runs_on_a_sketch_have_the_law_of_runs_on_all(many: Records, method: str) -> None:
    """Errors of 40 runs on each side: this test fails by chance in about 1 of 1,000 cases."""
    config = KMeansConfig(method=method, clusters=4, epsilon=0.003)
    sketch, errors = Sketch.of(many), []
    truth = KMeansTruth(many, 4)
    for side in (many, sketch):
        found = [run_kmeans(side, config, SeededNoise(seed)).centers for seed in range(40)]
        errors.append([truth.nicv(centers) / truth.errors[1] for centers in found])
    assert stats.ks_2samp(*errors).pvalue > 0.001
    # The test would notice wrong noise: with a hundredth of the noise the errors differ.
    quiet = KMeansConfig(method=method, clusters=4, epsilon=0.3)
    exact = [truth.nicv(run_kmeans(sketch, quiet, SeededNoise(seed)).centers) for seed in range(40)]
    assert stats.ks_2samp(errors[0], np.array(exact) / truth.errors[1]).pvalue < 0.001


@pytest.mark.exhaustive(reason="the law of runs of DPLloyd on a sketch is tested daily")
def test_a_nested_grid_over_a_sketch_stays_small_and_places_centres(many: Records) -> None:
    config = KMeansConfig(method="dprefine", clusters=4, epsilon=10)
    whole, rough = (run_kmeans(one, config, SeededNoise(1)) for one in (many, Sketch.of(many)))
    assert whole.grid.weights.size > MOST_CELLS >= rough.grid.weights.size
    truth = KMeansTruth(many, 4)
    # A coarser grid costs little.
    assert truth.nicv(rough.centers) < 1.02 * truth.nicv(truth.centers)


@pytest.mark.parametrize("ndim", [2, 4, 5, 8])
@pytest.mark.parametrize("method", ["dprefine", "eugkm", "hybrid", "gupt"])
@pytest.mark.exhaustive(reason="the law of runs of DPLloyd on a sketch is tested daily")
def test_a_sketch_is_as_good_as_all_records(method: str, ndim: int) -> None:
    """A moving slider shows a sketch; after it stops, the page shows results with all records."""
    rng, box = np.random.default_rng(ndim), Domain(((0.0, 1.0),) * ndim)
    middles = rng.uniform(0.2, 0.8, (4, ndim))
    points = middles[rng.integers(4, size=MANY)]
    points = np.clip(points + rng.normal(0, 0.04, points.shape), 0, 1)
    some = Records(points=points, domain=box)
    config = KMeansConfig(method=method, clusters=4, epsilon=5)
    each = []
    for one in (some, Sketch.of(some)):
        found = [run_kmeans(one, config, SeededNoise(seed)).centers for seed in range(5)]
        each.append(np.median([some.wcss(None, centers) for centers in found]))
    assert each[1] == pytest.approx(each[0], rel=0.1)


@quick
@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple),
    most=st.integers(1, 200),
    seed=st.integers(0, 9),
)
def test_blocks_of_cells_keep_counts_and_centres_of_mass(
    shape: tuple[int, ...], most: int, seed: int
) -> None:
    weights = np.random.default_rng(seed).integers(0, 3, math.prod(shape)).astype(float)
    cells = NoisyGrid(shape=shape, weights=weights, counts=weights - 1, scale=3.0)
    grid = replace(cells, most_places=most)
    places, totals = grid.places()
    points = grid.points
    np.testing.assert_array_equal(points.places, places)
    np.testing.assert_array_equal(points.weights, totals)
    # A count and its noise are sums over the cells of a block.
    np.testing.assert_array_equal(points.variances / 18, totals - points.counts)
    assert points.variances.sum() == pytest.approx(18 * len(weights))
    if len(weights) <= most:
        np.testing.assert_array_equal(places, cells.centers)
        np.testing.assert_array_equal(totals, weights)
        return
    assert len(places) == len(totals) <= most
    # Check with plain means: the block's number is the cell's number divided by the width.
    widths = block_widths(shape, most)
    blocks = tuple(-(-side // width) for side, width in zip(shape, widths, strict=True))
    places_of = np.array(np.unravel_index(np.arange(len(weights)), shape))
    numbers = places_of // np.array(widths)[:, None]
    owner = np.ravel_multi_index(tuple(numbers), blocks)
    np.testing.assert_array_equal(totals, np.bincount(owner, weights, len(totals)))
    for axis, column in enumerate(cells.centers.T):
        moments = np.bincount(owner, weights * column, len(totals))
        np.testing.assert_allclose(places[:, axis] * totals, moments, atol=1e-12)
    # The last step was necessary; it at most halves the number of blocks.
    assert 2 * len(places) > most


def test_only_cells_beyond_the_limit_are_put_together(many: Records) -> None:
    config, sketch = KMeansConfig(method="eugkm", clusters=4, epsilon=1), Sketch.of(many)
    whole, rough = (run_kmeans(one, config, SeededNoise(1)) for one in (many, sketch))
    # The released grid is as fine as with all records; only the search uses fewer places.
    assert rough.grid.shape == whole.grid.shape
    assert len(rough.grid.places()[1]) <= sketch.most_places < len(rough.grid.weights)
    assert len(whole.grid.places()[1]) == len(whole.grid.weights)


def test_few_blocks_of_gupt_stand_for_all(many: Records, monkeypatch) -> None:
    blocks = []
    monkeypatch.setattr(
        "dpviz.kmeans.methods.gupt.best_of",
        lambda points, *more: blocks.append(len(points)) or best_of(points, *more),
    )
    config, sketch = KMeansConfig(method="gupt", clusters=4, epsilon=1), Sketch.of(many)
    run = run_kmeans(sketch, config, SeededNoise(1))
    assert (len(blocks), sum(blocks)) == (SKETCHED_BLOCKS, len(sketch.points))
    # The noise is the noise of a sum over all blocks; the sketch has fewer blocks.
    assert round(sketch.n**0.4) > SKETCHED_BLOCKS
    assert run.ledger.spends[-1].scale == pytest.approx(2 * 4 * 2 / 0.98)
    whole = run_kmeans(many, config, SeededNoise(1))
    np.testing.assert_allclose(run.centers, whole.centers, atol=0.3)
    # Another epsilon uses the same blocks and needs no k-means.
    blocks.clear()
    run_kmeans(sketch, KMeansConfig(method="gupt", clusters=4, epsilon=1.0001), SeededNoise(1))
    assert not blocks
    run_kmeans(sketch, config, SeededNoise(2))
    assert len(blocks) == SKETCHED_BLOCKS


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_on_a_sketch_with_the_ledger_of_all_records(method: str) -> None:
    some = records(MANY)
    config = KMeansConfig(method=method, clusters=3, epsilon=0.5)
    ledgers = [run_kmeans(one, config, SeededNoise(1)).ledger for one in (some, Sketch.of(some))]
    spent = 0.5 * METHODS[method].card.spends
    assert [ledger.epsilon for ledger in ledgers] == pytest.approx([spent, spent])


def test_few_records_and_weighted_ones_need_no_sketch(many: Records) -> None:
    assert worth_sketching(many)
    assert not worth_sketching(records(MANY - 1))
    assert not worth_sketching(Sketch.of(many))

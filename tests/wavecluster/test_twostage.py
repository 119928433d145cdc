"""Two-stage: its samples, its results, and its notices if nothing is found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample, sample
from dpviz.grid.counts import block_sums
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import dsg_c
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import SeededNoise, Silenced
from dpviz.privacy.secure import SecureAccountant
from dpviz.wavecluster import likely_cells as likely
from dpviz.wavecluster import random_field, significant, smoothing
from dpviz.wavecluster.budget_share import (
    LARGE,
    SHARES,
    SMALL_BUDGET,
    TINY_BUDGET,
    Choice,
    choose_share,
)
from dpviz.wavecluster.components import connected_components
from dpviz.wavecluster.deconvolution import (
    Bins,
    Released,
    expectation_maximisation,
    likelihood,
    noise_variance,
)
from dpviz.wavecluster.evidence import Evidence, chance_of_count, coherence, evidence
from dpviz.wavecluster.likely_cells import (
    FEW,
    LIKELY,
    RIGHT,
    WEAK,
    WIDE,
    likely_cells,
    with_surroundings,
)
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.methods.twostage import release
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Source
from dpviz.wavecluster.random_field import (
    MEMORY,
    PRIOR,
    SPARSE,
    SWEEPS,
    TABLES,
    field_samples,
    likely_counts,
    neighbours,
    zero_shares,
)
from dpviz.wavecluster.smoothing import WIDTHS, Smoothed, smoothed
from dpviz.wavecluster.truth import Truth, run
from dpviz.wavecluster.wavelet import average_subband, sums_blocks, wavelet_names
from tests.support.tiers import examples

Floats = NDArray[np.float64]

quick = examples(30)


def source_of(counts: Any) -> Source:
    array = np.asarray(counts, dtype=np.int64)
    return Source.build(Dataset(name="", counts=array), array.shape)


def drawn(counts: Any, seed: int = 0, **options: Any) -> Run:
    source = source_of(counts)
    return run(source, Config(method="twostage", grid=source.shape, **options), SeededNoise(seed))


# -- deconvolution ---------------------------------------------------------------------------


@quick
@given(st.integers(-40, 300), st.floats(0.01, 5), st.floats(1, 300))
def test_likelihoods_are_means_over_the_counts_of_a_bin(
    noisy: int, rate: float, top: float
) -> None:
    bins = Bins.up_to(top)
    found = likelihood(np.array([float(noisy)]), np.array([rate]), bins.edges)[0]
    expected = [
        np.mean(np.exp(-rate * np.abs(noisy - np.arange(low, high)))) * (1 - math.exp(-rate))
        for low, high in zip(bins.edges[:-1], bins.edges[1:], strict=True)
    ]
    # Differences of sums lose values that are much smaller than the largest likelihood.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-13)


@quick
@given(st.floats(0, 1e15))
def test_bins_hold_every_count_once_and_parts_divide_them(top: float) -> None:
    bins = Bins.up_to(top)
    assert bins.edges[0] == 0
    assert bins.edges[1] == 1
    assert bins.edges[-1] > top
    assert (np.diff(bins.parts) >= 1).all()
    np.testing.assert_array_equal(bins.parts[bins.first], bins.edges)


def test_expectation_maximisation_climbs_and_keeps_the_share_of_zeros() -> None:
    rng = np.random.default_rng(0)
    chances, times = rng.random((30, 6)), rng.integers(1, 5, 30).astype(float)
    weights, last = np.full(6, 1 / 6), -math.inf
    for _ in range(20):
        weights = expectation_maximisation(chances, weights, times, 1)
        score = float(times @ np.log(chances @ weights))
        assert score >= last
        last = score
    # Several mixtures together give the same results as each mixture separately.
    shares = np.array([[0.25], [0.0], [0.9]])
    fixed = expectation_maximisation(chances, np.full((3, 6), 1 / 6), times, 10, shares)
    np.testing.assert_allclose(fixed[:, :1], shares, rtol=1e-12)
    assert fixed.sum(axis=1) == pytest.approx(np.ones(3))
    for share, found in zip(shares, fixed, strict=True):
        alone = expectation_maximisation(chances, np.full((1, 6), 1 / 6), times, 10, share[None])
        np.testing.assert_allclose(alone[0], found, rtol=1e-12)


# -- choice ----------------------------------------------------------------------------------


@quick
@given(st.lists(st.integers(-50, 10**13), min_size=1, max_size=30), st.floats(1e-6, 1e3))
def test_a_choice_is_made_of_any_release(noisy: list[int], rate: float) -> None:
    choice = choose_share(np.array(noisy, dtype=float), rate, 0.5)
    if len(noisy) * rate**2 < TINY_BUDGET:
        assert choice == Choice(0, -math.inf)
        return
    assert 0 <= choice.share < len(SHARES)
    assert 2 - 1e-9 <= choice.limit * SHARES[choice.share] * rate <= 4 + 1e-9
    assert len(noisy) * rate**2 >= SMALL_BUDGET or SHARES[choice.share] >= LARGE
    assert choice == choose_share(np.array(noisy[::-1], dtype=float), rate, 0.5)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_tiny_budget_goes_to_all_counts_alike(epsilon: float) -> None:
    counts = np.arange(256).reshape(16, 16)
    config = Config(method="twostage", grid=32, epsilon=epsilon)
    released, _, _ = release(counts, config, Accountant(SeededNoise(0), epsilon))
    assert released.low.any() == (counts.size * epsilon**2 >= TINY_BUDGET)
    if not released.low.any():
        np.testing.assert_array_equal(released.rough, released.noisy)
        np.testing.assert_allclose(released.rate, epsilon)
        assert released.rough_rate == pytest.approx(epsilon)
        assert released.zeros_rate == 0


# -- coarse estimate -------------------------------------------------------------------------


def rough_alone(noisy: Floats, rate: float) -> Released:
    return Released(
        noisy=noisy, rate=np.full(noisy.shape, rate), low=np.zeros(noisy.shape, dtype=bool),
        zeros=0.0, zeros_rate=0.0, rough=noisy, rough_rate=rate,
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(40,), (7, 9), (4, 5, 3), (1, 2)])
@pytest.mark.parametrize("width", [WIDTHS[0], 1.0, WIDTHS[-1]])
def test_risks_are_those_of_the_definition(
    shape: tuple[int, ...], width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoothing, "WIDTHS", (width,))
    noisy, rate = np.random.default_rng(0).normal(0, 50, shape).round(), 0.1
    found = smoothed(rough_alone(noisy, rate))
    places = np.argwhere(np.ones(shape))
    far = np.abs(places[:, None] - places[None])
    # Weights are cut off at four widths.
    weights = np.exp(-((far / width) ** 2) / 2) * (far <= int(4 * width + 0.5))
    matrix = weights.prod(axis=2)
    matrix /= matrix.sum(axis=1, keepdims=True)
    counts = matrix @ noisy.ravel()
    np.testing.assert_allclose(found.counts.ravel(), counts, atol=1e-9)
    residual = np.mean((noisy.ravel() - counts) ** 2)
    risk = residual + noise_variance(rate) * (2 * np.trace(matrix) / noisy.size - 1)
    assert found.risk == pytest.approx(max(risk, 1e-9))


def test_risks_are_true_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.zeros((20, 20))
    counts[3:12, 5:15] = 30
    rng, stop, risks, errors = np.random.default_rng(0), -np.expm1(-0.1), [], []
    monkeypatch.setattr(smoothing, "WIDTHS", (1.0,))
    for _ in range(400):
        noise = rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)
        found = smoothed(rough_alone(counts + noise, 0.1))
        risks.append(found.risk)
        errors.append(((found.counts - counts) ** 2).mean())
    assert np.mean(risks) == pytest.approx(np.mean(errors), abs=4 * np.std(risks) / 20)
    # Estimates of equal risk get half of the trust each; an estimate with twice the risk gets
    # nearly no trust.
    assert Smoothed(counts, 9.0).trust(9.0) == 0.5
    assert Smoothed(counts, 9.0).trust(18.0) > 0.9
    assert Smoothed(counts, 9.0).trust(0.0) == pytest.approx(0)


def test_wide_clusters_are_smoothed_and_single_cells_are_not() -> None:
    rng, far = np.random.default_rng(0), (np.arange(24) - 12) ** 2
    noise = rng.geometric(0.1, (24, 24)) - rng.geometric(0.1, (24, 24))
    wide = 100 * np.exp(-np.add.outer(far, far) / 72)
    single = 900.0 * (rng.random((24, 24)) < 0.1)
    taken = []
    for counts in (wide, single):
        found = smoothed(rough_alone(counts.round() + noise, 0.1))
        taken.append(np.mean((found.counts - counts.round() - noise) ** 2))
    # Smoothing removes nearly all noise from the wide cluster, but little from single cells.
    assert taken[0] > 0.8 * noise_variance(0.1)
    assert taken[1] < 0.01 * (single + noise).var()


# -- samples ---------------------------------------------------------------------------------


def law_within(low: float, high: float, noisy: float, rate: float) -> tuple[Floats, Floats]:
    """Counts below the noisy count, then counts above it, with their cumulative probabilities."""
    counts = np.arange(low, high)
    ordered = np.concatenate([counts[counts <= noisy][::-1], counts[counts > noisy]])
    far = np.abs(ordered - noisy)
    weights = np.exp(-rate * (far - far.min()))
    return ordered, weights.cumsum() / weights.sum()


@quick
@given(
    st.integers(0, 500), st.integers(1, 60), st.integers(-300, 900),
    st.sampled_from([1e-3, 0.05, 1.0, 30.0, 500.0]), st.floats(0, 1, exclude_max=True),
)  # fmt: skip
def test_counts_inside_a_part_have_the_law_of_the_noise(
    low: int, width: int, noisy: int, rate: float, pick: float
) -> None:
    ordered, law = law_within(low, low + width, noisy, rate)
    found = random_field.within(low, low + width, noisy, rate, pick)
    at = ordered.tolist().index(found)
    assert law[at] > pick - 1e-9
    assert at == 0 or law[at - 1] < pick + 1e-9


def plain_gibbs(
    noisy: Floats, rates: Floats, chances: Floats, parts: Floats, row: Any, first: Any,
    edges: Floats, bin_of: Any, prior: Floats, height: Floats, near: Any, weights: Floats,
    total: Floats, low: Any, zeros: float, zeros_rate: float, small: int, sweeps: int,
    found: Floats, generator: np.random.Generator, *_memory: Floats,
) -> None:  # fmt: skip
    """By the definition: every probability is computed from the whole state."""
    cells, bins = len(row), chances.shape[1]
    tables, sums = np.tile(prior, (TABLES, 1)), np.zeros((TABLES, bins))
    burn, kept = sweeps // 3, 0
    every = (sweeps - burn) // len(found)
    for sweep in range(sweeps):
        sums *= MEMORY
        for cell in range(cells):
            there = near[cell] >= 0
            mean = 0.0
            if there.any():
                mean = np.average(height[bin_of[near[cell][there]]], weights=weights[there])
            at = min(mean, 0.999) * (TABLES - 1)
            table, share = int(at), at - int(at)
            mixed = (1 - share) * tables[table] + share * tables[table + 1]
            others = np.delete(np.arange(cells), cell)
            few = np.sum((bin_of[others] > 0) & (bin_of[others] < small))
            value = chances[row[cell]] * mixed
            value[1:small] *= ((1 + few) / (2 + few)) ** SPARSE
            if low[cell]:
                empty = np.sum(low[others] & (bin_of[others] == 0))
                value[0] *= np.exp(-zeros_rate * (abs(empty + 1 - zeros) - abs(empty - zeros)))
            chosen = np.searchsorted(value.cumsum(), generator.random() * value.sum())
            bin_of[cell] = min(chosen, bins - 1)
            sums[table] += (1 - share) * (1 - MEMORY) * value / value.sum()
            sums[table + 1] += share * (1 - MEMORY) * value / value.sum()
        for table in range(TABLES):
            padded = np.concatenate([sums[table, 1:2], sums[table, 1:], sums[table, -1:]])
            smooth = 0.7 * padded[1:-1] + 0.15 * (padded[:-2] + padded[2:])
            new = np.append(sums[table, 0], smooth) + PRIOR * prior
            tables[table] = new / new.sum()
        if sweep >= burn and (sweep - burn) % every == 0 and kept < len(found):
            for cell in range(cells):
                low_part, high_part = first[bin_of[cell]], first[bin_of[cell] + 1]
                own = np.diff(parts[row[cell]], prepend=0.0)[low_part:high_part]
                pick = generator.random() * own.sum()
                part = low_part + min(int(np.searchsorted(own.cumsum(), pick)), len(own) - 1)
                one, (low_edge, high_edge) = row[cell], edges[part : part + 2]
                found[kept, cell] = low_edge
                if high_edge > low_edge + 1:
                    ordered, law = law_within(low_edge, high_edge, noisy[one], rates[one])
                    at = np.searchsorted(law, generator.random(), side="right")
                    found[kept, cell] = ordered[min(at, len(ordered) - 1)]
            kept += 1


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 2), (1, 1)])
def test_compiled_samples_are_those_of_the_definition(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(len(shape))
    low = rng.random(shape) < 0.5
    released = Released(
        noisy=np.where(low, rng.integers(-9, 9, shape), rng.integers(5, 60, shape)).astype(float),
        rate=np.where(low, 0.2, 0.5),
        low=low,
        zeros=float(low.sum() // 2),
        zeros_rate=0.3,
        rough=np.zeros(shape),
        rough_rate=0.2,
    )
    fast, _ = random_field.field_samples(released, 0.5, np.random.default_rng(3), sweeps=12)
    monkeypatch.setattr(random_field, "gibbs", plain_gibbs)
    plain, _ = random_field.field_samples(released, 0.5, np.random.default_rng(3), sweeps=12)
    assert fast.shape == (8, *shape)
    np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 2, 2, 3)])
def test_neighbours_touch_at_edges_or_corners(shape: tuple[int, ...]) -> None:
    near, weights = neighbours(shape)
    assert near.shape == (math.prod(shape), 3 ** len(shape) - 1)
    places = np.argwhere(np.ones(shape))
    for cell, row in enumerate(near):
        steps = np.abs(places[row[row >= 0]] - places[cell])
        assert (steps.max(axis=1) == 1).all()
        np.testing.assert_allclose(weights[row >= 0], 0.6 ** (steps.sum(axis=1) - 1))
        assert len(steps) == np.sum(np.abs(places - places[cell]).max(axis=1) == 1)


def test_samples_of_exact_counts_are_these_counts() -> None:
    counts = np.array([[0, 3, 9], [1, 0, 4_000_000]])
    released = Released(
        noisy=counts.astype(float), rate=np.full((2, 3), 60.0), low=np.zeros((2, 3), dtype=bool),
        zeros=0.0, zeros_rate=1.0, rough=counts.astype(float), rough_rate=60.0,
    )  # fmt: skip
    found, filled = random_field.field_samples(released, 0.5, np.random.default_rng(0))
    # If 4 of 6 cells are filled, the mean over all shares with equal weights is (4 + 1) / (6 + 2).
    assert filled == pytest.approx(6 * 5 / 8, abs=0.1)
    # This includes large counts, which share bins with other counts.
    assert (found == counts).all()


@pytest.mark.parametrize("cells", [1, 9, 50, 80, 1024, 10**6])
def test_shares_of_zeros_leave_at_least_one_cell_filled(cells: int) -> None:
    filled = cells * (1 - zero_shares(cells))
    assert (np.diff(filled) < 0).all()
    assert filled[0] == cells
    few = cells * 0.02
    assert filled[-1] == pytest.approx(few) if few < 1.5 else 1 - 1e-9 <= filled[-1] < 1.5
    assert (filled[25:] / filled[24:-1] == pytest.approx(1 / 1.5)) or cells < 75


@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_a_box_far_wider_than_its_data_is_nearly_empty(epsilon: float) -> None:
    """If 4 of 1,600 blocks are filled, the method finds at most 12 filled blocks, not 2% of all."""
    counts = np.zeros((80, 80), dtype=np.int64)
    counts[40:44, 40:44] = 900
    released, config, _ = release(
        block_sums(counts, 1), Config(method="twostage", grid=80, epsilon=epsilon),
        Accountant(SeededNoise(0), epsilon),
    )  # fmt: skip
    _, filled = random_field.field_samples(released, config.density, np.random.default_rng(0))
    assert 3 < filled < 12


@quick
@given(st.integers(0, 2**30), st.sampled_from([(9,), (6, 7), (4, 3, 5)]), st.floats(0, 1))
def test_counts_that_are_certain_are_likely(
    seed: int, shape: tuple[int, ...], share: float
) -> None:
    rng = np.random.default_rng(seed)
    one = rng.integers(1, 9, shape) * (rng.random(shape) < share)
    samples = np.repeat(one[None], 5, axis=0).astype(float)
    np.testing.assert_array_equal(likely_counts(samples), samples)


@quick
@given(st.integers(0, 2**30), st.sampled_from([(30,), (9, 11), (4, 5, 6)]), st.floats(0, 1))
def test_cells_that_samples_fill_most_keep_their_records(
    seed: int, shape: tuple[int, ...], share: float
) -> None:
    rng = np.random.default_rng(seed)
    samples = (rng.random((50, *shape)) < share * rng.random(shape)).astype(float)
    found, filled = likely_counts(samples), (samples > 0).mean(axis=0)
    kept = (found > 0).any(axis=0)
    around = ndimage.generic_filter(filled, np.nanmean, size=3, mode="constant", cval=np.nan)
    rank = 0.7 * filled + 0.3 * around
    np.testing.assert_array_equal(found, samples * kept)
    last = float(rank[kept].min()) if kept.any() else math.inf
    # Sums in another order may differ in the last digits.
    assert (rank[~kept & (filled > 0)] < last + 1e-9).all()
    # The mean number of filled cells, except for equal ranks and cells that no sample fills.
    number = round(float(filled.sum()))
    assert (rank > last + 1e-9).sum() < max(number, 1)
    assert kept.any() == (number > 0)


def test_scattered_records_are_left_out() -> None:
    """A dense box, and ten single records that are in other places in each sample."""
    samples = np.zeros((50, 20, 20))
    samples[:, :10, :10] = 5
    for seed, one in enumerate(samples):
        one[10:].flat[np.random.default_rng(seed).choice(200, 10, replace=False)] = 1
    found = likely_counts(samples)
    assert (found[:, :10, :10] == 5).all()
    assert (found > 0).any(axis=0).sum() <= 110
    before, after = ((average_subband(one[0], "db2", 1) > 0).sum() for one in (samples, found))
    assert after < before


# -- what to report --------------------------------------------------------------------------


@quick
@given(st.integers(0, 2**30), st.sampled_from([(9,), (6, 7), (4, 3, 5)]))
def test_certain_cells_are_reported_and_no_others(bits: int, shape: tuple[int, ...]) -> None:
    sure = np.random.default_rng(bits).random(shape) < 0.3
    # Without doubt, the expected number of cells has no effect.
    for expected in (0.0, 1.0, float(sure.size)):
        np.testing.assert_array_equal(likely_cells(sure.astype(float), expected), sure)


def test_unlikely_cells_are_not_reported_where_none_are_expected() -> None:
    chance = np.zeros((20, 20))
    chance[2:6, 2:8] = 1.0
    chance[10, 10:12] = LIKELY
    found = likely_cells(chance, 26)
    np.testing.assert_array_equal(found, chance > 0)
    chance[14:16, 4:14] = 0.05
    np.testing.assert_array_equal(likely_cells(chance, 26), found)
    assert not likely_cells(np.zeros((3, 3)), 9).any()
    assert not likely_cells(np.full((3, 3), 0.01), 0).any()


def test_no_cell_is_reported_of_which_nothing_is_known() -> None:
    chance = np.zeros((64, 64))
    chance[10:14, 20:24] = np.random.default_rng(0).choice([0.1, 0.3, 0.5], (4, 4))
    near = ndimage.maximum_filter(chance, 3, mode="constant") > 0
    assert not (likely_cells(chance, 400) & ~near).any()


def test_the_more_doubt_the_nearer_is_the_number_of_cells_to_the_expected_one() -> None:
    # The number is between the numbers of likely and of expected cells, and depends on doubt.
    chance = np.zeros((9, 12))
    chance[:, :6] = np.linspace(0.54, 0.5, 54).reshape(9, 6)
    chance[:, 6:8] = 0.9
    doubt = np.minimum(chance, 1 - chance).sum() / chance.sum()
    number = likely_cells(chance, 60).sum()
    assert 18 < number < 60
    assert number == round(18 ** (1 - doubt) * 60**doubt)
    # Few cells are likely and all cells are doubtful. So the number is the geometric mean of the
    # expected number and of the number at which enough cells are correct.
    chance[:, :6], chance[:, 6:] = np.linspace(0.6, 0.1, 54).reshape(9, 6), 0.0
    doubt = np.minimum(chance, 1 - chance).sum() / chance.sum()
    rank = np.sort(with_surroundings(chance, likely.SURROUNDINGS * doubt), axis=None)[::-1]
    right = sum(rank[:size].mean() >= RIGHT for size in range(1, rank.size + 1))
    likely_ones = int((chance >= LIKELY).sum())
    wanted = round(likely_ones ** (1 - doubt) * 60**doubt)
    assert 0 < right < wanted
    assert likely_cells(chance, 60).sum() == round(math.sqrt(right * wanted))


def test_nothing_is_reported_where_even_the_likeliest_cells_are_rather_wrong() -> None:
    chance = np.random.default_rng(0).random((9, 9)) * RIGHT
    for trust in (0.0, 1.0):
        assert not likely_cells(chance, 21, chance, trust).any()


def test_doubtful_cells_have_the_rank_of_their_surroundings() -> None:
    chance = np.full((9, 9), 0.1)
    chance[2:5, 2:5] = 0.8
    chance[3, 3], chance[7, 7] = 0.6, 0.79
    found = likely_cells(chance, 9)
    # A cell among reported cells ranks higher than a likelier isolated cell.
    assert found[3, 3]
    assert not found[7, 7]


def test_a_trusted_estimate_ranks_the_expected_number_of_cells() -> None:
    chance = 0.6 + np.random.default_rng(0).random((9, 9)) / 5
    coarse = -np.add.outer((np.arange(9) - 4) ** 2, (np.arange(9) - 4) ** 2).astype(float)
    found = likely_cells(chance, 21, coarse, 1.0)
    np.testing.assert_array_equal(found, coarse >= np.sort(coarse, axis=None)[-21])
    # With little trust, the chances decide, and the number of cells is the same as without trust.
    for trust in (0.0, 1e-6):
        near = likely_cells(chance, 21, coarse, trust)
        assert (near != likely_cells(chance, 21)).sum() <= 2
    # Certain cells stay.
    sure = np.zeros((9, 9))
    sure[1:4, 1:4] = 1.0
    np.testing.assert_array_equal(likely_cells(sure, 9, coarse, 0.4), sure > 0)


@pytest.mark.parametrize(("cells", "between", "clusters"), [(3, 0.6, 2), (4, 0.6, 1), (5, 0.1, 2)])
def test_wide_joins_stay_where_they_are_likely(cells: int, between: float, clusters: int) -> None:
    chance = two_blobs(0.0)
    chance[:cells, 6] = between
    # Unlikely cells are reported if this many cells are expected.
    likelier = likely_cells(chance, 60 + cells, (chance > 0).astype(float), 0.9)
    assert connected_components(likelier)[1] == clusters


def two_blobs(between: float) -> Floats:
    chance = np.zeros((5, 13))
    chance[:, :6] = chance[:, 7:] = 1.0
    chance[2, 6] = between
    return chance


def test_doubtful_cells_join_no_large_clusters() -> None:
    apart = likely_cells(two_blobs(0.6), 61)
    assert (apart != (two_blobs(0.6) > 0)).sum() == 1
    assert connected_components(apart)[1] == 2
    np.testing.assert_array_equal(likely_cells(two_blobs(WEAK), 61), two_blobs(WEAK) > 0)
    # A small cluster can be joined.
    chance = two_blobs(0.6)
    chance[:, 8:] = 0.0
    np.testing.assert_array_equal(likely_cells(chance, 36), chance > 0)


@quick
@given(st.integers(0, 2**30), st.sampled_from([(30,), (9, 11), (4, 5, 6)]))
def test_a_cut_takes_doubtful_cells_that_touch_two_clusters(
    seed: int, shape: tuple[int, ...]
) -> None:
    chance = np.random.default_rng(seed).random(shape) ** 0.3
    chance[chance < 0.8] = 0.0
    mask = chance > 0
    kept = likely_cells(chance, float(mask.sum()))
    assert not (kept & ~mask).any()
    assert (chance[mask & ~kept] < WEAK).all()
    # The definition, cell by cell, starting with the likeliest.
    plain, large = np.zeros(shape, dtype=bool), max(likely.LARGE * mask.sum(), FEW)
    flat = chance.ravel()
    for place in np.argsort(-flat, kind="stable"):
        if not mask.ravel()[place]:
            continue
        labels, number = connected_components(plain)
        at = np.unravel_index(place, shape)
        near = np.unique(labels[tuple(slice(max(one - 1, 0), one + 2) for one in at)])
        sizes = np.bincount(labels.ravel(), minlength=number + 1)[near[near > 0]]
        if (sizes >= large).sum() < 2 or flat[place] >= WEAK:
            plain[at] = True
    groups, number = connected_components(mask & ~plain)
    for group in range(1, number + 1):
        lost = groups == group
        plain |= lost & (lost.sum() >= WIDE) & (1 - np.prod(1 - chance[lost]) >= 0.5)
    np.testing.assert_array_equal(kept, plain)


def two_hills(bottom: float, width: int, beside: float) -> Floats:
    """Chances for two 5 x 5 clusters with cells between them, and for a cluster of 600 cells."""
    chance = np.zeros((30, 30))
    chance[1:6, 1:6] = chance[1:6, 9:14] = 0.75
    chance[1 : 1 + width, 6:9] = bottom
    chance[10:] = beside
    return chance


@pytest.mark.parametrize(
    ("bottom", "width", "beside", "clusters"),
    [
        (0.6, 1, 0.7, 3),  # saddle and much doubt
        (WEAK, 1, 0.7, 2),  # the cells between are not weak
        (0.7, 5, 0.7, 2),  # no saddle
        (0.6, 1, 1.0, 2),  # little doubt
    ],
)
def test_a_saddle_joins_nothing_where_doubt_is_large(
    bottom: float, width: int, beside: float, clusters: int
) -> None:
    chance = two_hills(bottom, width, beside)
    mask = likely_cells(chance, float((chance > 0).sum()))
    assert connected_components(mask)[1] == clusters


@quick
@given(st.integers(0, 2**30), st.sampled_from([(30,), (9, 11), (4, 5, 6)]), st.floats(0, 1.2))
def test_cells_grow_into_clusters_as_defined(
    seed: int, shape: tuple[int, ...], saddle: float
) -> None:
    rng = np.random.default_rng(seed)
    padded = np.pad(rng.random(shape), 1, constant_values=-1.0)
    heights, weak = rng.random(padded.size), rng.random(padded.size) < 0.7
    order = rng.permutation(np.flatnonzero(padded.ravel() > rng.uniform(0.2, 0.7)))
    large = float(rng.integers(FEW, 12))
    steps = np.argwhere(np.ones((3,) * len(shape))) - 1
    near = (steps[steps.any(axis=1)] * (np.array(padded.strides) // padded.itemsize)).sum(axis=1)
    plain = np.zeros(padded.shape, dtype=bool)
    for place in order:
        labels, number = connected_components(plain)
        at = np.unravel_index(place, padded.shape)
        around = np.unique(labels[tuple(slice(one - 1, one + 2) for one in at)])
        sizes = np.bincount(labels.ravel(), minlength=number + 1)
        means = np.bincount(labels.ravel(), heights, number + 1) / np.maximum(sizes, 1)
        touched = around[around > 0]
        wide = touched[sizes[touched] >= FEW]
        joins = (sizes[touched] >= large).sum() > 1
        if wide.size > 1:
            joins |= heights[place] < saddle * means[wide].min() - 1e-12
        plain[at] = not (weak[place] and joins)
    parent, size, sums = np.full(padded.size, -1), np.zeros(padded.size, int), np.zeros(padded.size)
    roots = np.zeros(near.size, int)
    likely.grown(order, weak, near, large, heights, saddle, parent, size, sums, roots)
    np.testing.assert_array_equal(parent >= 0, plain.ravel())


def rough(counts: NDArray[np.int64], rate: float, seed: int, share: float = 0.65) -> Released:
    rng, stop = np.random.default_rng(seed), -np.expm1(-rate)
    noisy = (counts + rng.geometric(stop, counts.shape) - rng.geometric(stop, counts.shape)) * 1.0
    low = noisy < 3 / rate
    rest = rate * (1 - share) / share
    return Released(
        noisy=noisy, rate=np.full(counts.shape, rate), low=low,
        zeros=float((counts[low] == 0).sum() + rng.laplace(0, 1 / rest)), zeros_rate=rest,
        rough=noisy, rough_rate=rate,
    )  # fmt: skip


def shown(counts: NDArray[np.int64], rate: float, runs: int = 200) -> list[Evidence]:
    return [
        evidence(rough(counts, rate, seed), np.random.default_rng(seed + runs))
        for seed in range(runs)
    ]


@pytest.mark.parametrize(("shape", "rate"), [((40,), 0.1), ((9, 8), 1.0), ((4, 4, 4), 0.1)])
def test_no_records_are_noise(shape: tuple[int, ...], rate: float) -> None:
    """Other results occur in 1 of 100 runs; 9 or more in 200 runs have probability 1 in 4,000."""
    found = shown(np.zeros(shape, dtype=np.int64), rate)
    assert sum(one != "noise" for one in found) < 9


@pytest.mark.parametrize(("mean", "rate", "said"), [(20, 0.5, "even"), (4, 0.3, "unclear")])
def test_evenly_spread_records_are_no_structure(mean: int, rate: float, said: Evidence) -> None:
    counts = np.random.default_rng(0).poisson(mean, (9, 8))
    found = shown(counts, rate)
    assert sum(one == "structure" for one in found) < 9
    assert sum(one == said for one in found) > 150


def test_structure_is_seen_and_where_none_can_be_seen_records_are_enough() -> None:
    counts = np.random.default_rng(0).poisson(20, (12, 12))
    counts[:, :6] += 20
    assert evidence(rough(counts, 0.3, 0), np.random.default_rng(0)) == "structure"
    # All sums over 3 x 3 cells are the same, so single counts decide.
    two = np.array([[0, 50], [0, 9]])
    assert evidence(rough(two, 1.0, 0), np.random.default_rng(0)) == "structure"
    assert evidence(rough(two * 0, 1.0, 0), np.random.default_rng(0)) == "noise"


@pytest.mark.parametrize(("shape", "more", "rate"), [("one", 60, 0.5), ("half", 3, 0.15)])
def test_one_dense_cell_and_a_broad_weak_half_are_structure(
    shape: str, more: int, rate: float
) -> None:
    """Sums of squares over 3 x 3 cells hide this; the largest count and wide sums reveal it."""
    counts = np.random.default_rng(0).poisson(20, (64, 64))
    counts[(20, 30) if shape == "one" else np.s_[:, 32:]] += more
    found = [evidence(rough(counts, rate, seed), np.random.default_rng(seed)) for seed in range(20)]
    assert found.count("structure") >= 19


def test_a_dense_cell_among_empty_ones_is_no_noise() -> None:
    """A count of 50 among 1,024 empty cells: noise reaches 50 in one of 10,000 releases."""
    counts = np.zeros((32, 32), dtype=np.int64)
    counts[10, 10] = 50
    assert "noise" not in shown(counts, 0.4, 20)


@pytest.mark.parametrize(("side", "level"), [(33, 1), (66, 3)])
def test_evenly_spread_records_are_even_where_the_edge_is_padded(side: int, level: int) -> None:
    """Blocks at the edge have fewer cells and fewer records, which is not structure."""
    counts = np.random.default_rng(0).poisson(20, (side, side))
    blocks, room = block_sums(counts, level), block_sums(np.ones((side, side)), level)
    found = [
        evidence(replace(rough(blocks, 0.5, seed), room=room), np.random.default_rng(seed))
        for seed in range(100)
    ]
    # Results other than "even" occur in 1 of 100 runs; 7 or more occur in 1 of 10,000 tests.
    assert found.count("even") > 93
    # A run computes ``room`` from its grid.
    source = Source.build(Dataset(name="", counts=counts), 1)
    stages = run(source, Config(method="twostage", grid=source.shape, level=level), SeededNoise(0))
    assert stages.stages.evidence == "even"


def test_a_single_block_holds_records_or_none() -> None:
    assert shown(np.full((1, 1), 500), 1.0, 5) == ["structure"] * 5
    assert shown(np.zeros((1, 1), dtype=np.int64), 1.0, 5) == ["noise"] * 5


@pytest.mark.parametrize("mean", [0.0, 0.3, 20.0, 2e6])
@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_chances_of_noisy_counts_are_those_of_draws(mean: float, rate: float) -> None:
    """Each share is within 5 standard errors; a larger error occurs in 1 of 2,000,000 cases."""
    rng, stop, runs = np.random.default_rng(0), -np.expm1(-rate), 200_000
    drawn = rng.poisson(mean, runs) + rng.geometric(stop, runs) - rng.geometric(stop, runs)
    for part in (0.1, 0.5, 0.9, 0.999):
        count = float(np.quantile(drawn, part, method="higher"))
        chance, seen = chance_of_count(count, mean, rate), float((drawn >= count).mean())
        assert abs(chance - seen) < 5 * math.sqrt(seen * (1 - seen) / runs) + 1e-3 * (mean > 1e6)
    if not mean:
        assert chance_of_count(9.0, 0.0, rate) == pytest.approx(
            math.exp(-9 * rate) / (1 + math.exp(-rate))
        )


def test_large_counts_are_as_exact_as_their_release() -> None:
    """Blocks have 10,000 or 20,000 records, and the noise is a few records."""
    counts = np.full((32, 32), 2_500)
    counts[:, 16:] = 5_000
    found = run(
        Source.build(Dataset(name="", counts=counts), 1),
        Config(method="twostage", grid=(32, 32), epsilon=1.0), SeededNoise(0),
    ).stages  # fmt: skip
    assert np.abs(block_sums(found.counts, 1) - block_sums(counts, 1)).mean() < 2


def test_clusters_as_narrow_as_a_cell_are_structure() -> None:
    """Sums over 3 x 3 cells, each with one cluster, are nearly equal; single counts are not."""
    counts = np.zeros((24, 24), dtype=np.int64)
    counts[1::3, 1::3] = 9
    found = [evidence(rough(counts, 0.6, seed), np.random.default_rng(seed)) for seed in range(20)]
    assert found == ["structure"] * 20


@quick
@given(st.integers(0, 2**30), st.sampled_from([(7,), (4, 5), (3, 4, 3)]), st.sampled_from([1, 3]))
def test_coherence_sums_squares_over_surroundings(
    seed: int, shape: tuple[int, ...], width: int
) -> None:
    first, counts = np.random.default_rng(seed).normal(size=(2, *shape))
    off, total, side = counts - counts.mean(), 0.0, width // 2
    for place in np.ndindex(shape):
        total += off[tuple(slice(max(at - side, 0), at + side + 1) for at in place)].sum() ** 2
    deviations = np.stack([first, counts - counts.mean()])
    assert coherence(deviations, width)[1] == pytest.approx(total)


# -- the method ------------------------------------------------------------------------------


def blobs(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.int64]:
    counts = np.zeros(shape, dtype=np.int64)
    near = tuple(slice(0, max(side // 3, 2)) for side in shape)
    far = tuple(slice(side - max(side // 3, 2), side) for side in shape)
    rng = np.random.default_rng(seed)
    counts[near] += rng.poisson(40, counts[near].shape)
    counts[far] += rng.poisson(40, counts[far].shape)
    return counts


@pytest.mark.parametrize("shape", [(40,), (24, 24), (15, 23), (12, 12, 13), (8, 8, 8, 8)])
@pytest.mark.parametrize(("wavelet", "level"), [("haar", 1), ("haar", 2), ("db2", 1)])
def test_two_dense_boxes_are_two_clusters(shape: tuple[int, ...], wavelet: str, level: int) -> None:
    options = {"wavelet": wavelet, "level": level, "density": 0.1}
    counts = blobs(shape)
    one = drawn(counts, epsilon=4.0, **options)
    truth = Truth(source_of(counts), Config(**options)).stages
    assert one.stages.n_clusters == truth.n_clusters
    assert one.stages.labels.shape == truth.labels.shape
    assert dsg_c(truth.labels, one.stages.labels) < 0.4
    assert one.ledger.epsilon == 4.0


@pytest.mark.parametrize("wavelet", ["haar", "db1", "bior1.1", "rbio1.1", "sym3", "bior2.2"])
def test_screen_shows_means_on_the_scale_of_the_subband(wavelet: str) -> None:
    counts = blobs((14, 21))
    one = drawn(counts, wavelet=wavelet, level=2, density=0.2, epsilon=2.0)
    stages = one.stages
    assert stages.counts.shape == counts.shape
    np.testing.assert_allclose(
        stages.average, average_subband(stages.counts, wavelet, 2), atol=1e-9
    )
    assert stages.threshold.sampled
    assert stages.threshold.positive + stages.threshold.nonpositive == stages.average.size
    np.testing.assert_array_equal(stages.labels, connected_components(stages.significant)[0])
    if sums_blocks(wavelet):
        blocks = block_sums(stages.counts, 2)
        np.testing.assert_allclose(stages.average, blocks / 4, atol=1e-9)
        # Cells of a block are equal, because the releases do not distinguish them.
        assert np.ptp(stages.counts[:4, :4]) == pytest.approx(0, abs=1e-12)


def test_blocks_are_summed_by_wavelets_of_two_equal_taps_alone() -> None:
    found = {name for name in wavelet_names() if sums_blocks(name)}
    assert found == {"haar", "db1", "bior1.1", "rbio1.1"}
    counts = np.random.default_rng(0).poisson(3, (8, 12))
    for name in found:
        np.testing.assert_allclose(
            average_subband(counts, name, 1), block_sums(counts, 1) / 2, atol=1e-9
        )


def test_without_noise_it_finds_the_true_cells() -> None:
    source = source_of(blobs((24, 24)))
    config = Config(method="twostage", grid=24, density=0.5, epsilon=20.0)
    found = run(source, config, Silenced(SeededNoise(0))).stages
    assert dsg_c(Truth(source, config).stages.labels, found.labels) < 0.2


@pytest.mark.parametrize(("shape", "epsilon"), [((40,), 0.05), ((32, 32), 1.0), ((6, 6, 6), 1.0)])
def test_nothing_is_found_where_there_is_nothing(shape: tuple[int, ...], epsilon: float) -> None:
    """The chance of a cluster is 1 in 100; 2 of 6 runs with clusters occur in 1 of 700 tests."""
    empty = np.zeros(shape, dtype=np.int64)
    runs = [drawn(empty, seed, epsilon=epsilon).stages for seed in range(6)]
    assert sum(stages.n_clusters > 0 for stages in runs) < 2
    for stages in runs:
        if not stages.n_clusters:
            assert not stages.labels.any()
            assert (stages.threshold.k, stages.threshold.value) == (0, math.inf)


@pytest.mark.parametrize("epsilon", [0.25, 2.0])
def test_evenly_spread_records_are_nothing_where_structure_would_show(epsilon: float) -> None:
    source = Source.build(load_sample("noise"), sample("noise").grid)
    config = Config(method="twostage", epsilon=epsilon)
    stages = run(source, config, SeededNoise(1)).stages
    assert (stages.evidence, stages.n_clusters) == ("even", 0)
    assert "no more structure than evenly spread records" in stages.notices[0]


def test_clusters_without_evidence_come_with_a_warning() -> None:
    counts = np.random.default_rng(0).poisson(2.0, (40, 40))
    stages = drawn(counts, epsilon=0.1).stages
    assert stages.evidence == "unclear"
    assert stages.n_clusters
    assert stages.notices[0].startswith("Read the clusters with care")


@pytest.mark.parametrize(("base", "evidence"), [(3, "unclear"), (8, "structure")])
def test_no_likely_cell_is_not_called_noise(
    base: int, evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Structure without a significant cell is rare, so a fake function reports no cell.
    monkeypatch.setattr(
        significant, "likely_cells", lambda chance, *_: np.zeros(chance.shape, dtype=bool)
    )
    counts = np.random.default_rng(0).poisson(base, (8, 8))
    counts[:4] += np.random.default_rng(1).poisson(base, (4, 8))
    stages = drawn(counts, epsilon=0.25, density=0.97).stages
    assert (stages.evidence, stages.n_clusters) == (evidence, 0)
    (said,) = stages.notices
    assert "differ clearly from noise, but no single cell is likely enough" in said


@pytest.mark.parametrize("epsilon", [20.0, 1500.0, 1e5])
def test_a_huge_budget_finds_the_true_cells(epsilon: float) -> None:
    counts = blobs((24, 24))
    config = Config(method="twostage", grid=24, density=0.5, epsilon=epsilon)
    truth = Truth(source_of(counts), config).stages
    assert dsg_c(truth.labels, drawn(counts, epsilon=epsilon, density=0.5).stages.labels) < 0.2


def test_a_record_alone_or_too_few_for_the_budget_are_nothing() -> None:
    counts = np.zeros((32, 32), dtype=np.int64)
    counts[10:14, 10:14] = 1
    assert drawn(counts, epsilon=0.05).stages.n_clusters == 0
    assert drawn(counts, epsilon=20.0).stages.n_clusters == 1


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 20.0, 1e6])
@pytest.mark.parametrize("most", [0, 1, 10**13])
def test_any_budget_and_any_counts_are_fit(epsilon: float, most: int) -> None:
    counts = np.random.default_rng(0).integers(0, most + 1, (6, 5))
    for density in (0.001, 0.5, 0.999):
        stages = drawn(counts, epsilon=epsilon, density=density).stages
        assert np.isfinite(stages.average).all()
        assert stages.n_clusters == stages.labels.max()


@pytest.mark.parametrize(("shape", "level"), [((2,), 1), ((2, 2), 1), ((1024,), 10), ((64, 64), 6)])
def test_one_block_is_a_grid_too(shape: tuple[int, ...], level: int) -> None:
    stages = drawn(np.ones(shape, dtype=np.int64), epsilon=5.0, level=level).stages
    assert stages.labels.size == 1


def test_levels_that_do_not_fit_are_refused_before_anything_is_spent() -> None:
    accountant = SecureAccountant(1.0)
    with pytest.raises(InputError, match="level = 7 does not fit"):
        METHODS["twostage"].run(
            source_of(np.zeros((16, 16))), Config(method="twostage", grid=16, level=7), accountant
        )
    assert accountant.ledger.spends == ()


def test_one_seed_is_one_draw_and_epsilon_moves_it_smoothly() -> None:
    counts = blobs((32, 32))
    first, again, near = (drawn(counts, 5, epsilon=one).stages for one in (1.0, 1.0, 1.001))
    np.testing.assert_array_equal(first.average, again.average)
    assert dsg_c(first.labels, near.labels) < 0.1


@pytest.mark.parametrize(("relation", "cap"), [("replace_one", 1), ("add_remove", 3)])
def test_noise_is_for_all_records_that_change(relation: Any, cap: int) -> None:
    unit = Neighbours(relation=relation, cap=cap)
    one = drawn(blobs((24, 24)), neighbours=unit, epsilon=3.0, density=0.1)
    scales = [spend.scale * spend.epsilon / spend.sensitivity for spend in one.ledger]
    number = one.ledger.neighbours.multiplier
    assert {spend.sensitivity for spend in one.ledger} == {number}
    assert scales[0] == scales[-1] == pytest.approx(1)
    assert one.stages.n_clusters == 2


def dsg(
    name: str, method: str, epsilon: float, seeds: Sequence[int], wavelet: str = "haar"
) -> float:
    facts = sample(name)
    source = Source.build(load_sample(name), facts.grid)
    config = Config(
        method=method, grid=facts.grid, density=facts.density, epsilon=epsilon, wavelet=wavelet
    )
    true = Truth(source, config).stages.labels
    return float(
        np.mean(
            [dsg_c(true, run(source, config, SeededNoise(seed)).stages.labels) for seed in seeds]
        )
    )


@pytest.mark.parametrize(("name", "epsilon"), [("gaussians", 0.1), ("shapes", 0.5)])
def test_it_finds_more_than_noise_on_all_counts(name: str, epsilon: float) -> None:
    """The error is below two thirds of PrivTHR's error with the same budget; seeds are fixed."""
    ours, theirs = (dsg(name, method, epsilon, range(4)) for method in ("twostage", "privthr"))
    assert ours < 0.67 * theirs


def test_a_broad_cluster_of_few_records_is_found() -> None:
    """No single cell differs from noise; smoothed counts reduce the error by a quarter."""
    rng = np.random.default_rng(0)
    points = rng.normal(0.5, 0.15, (2_000, 2)).clip(0, 1)
    source = Source.build(Dataset(name="", points=points), 32, Domain(((0.0, 1.0),) * 2))
    config = Config(method="twostage", grid=32, density=0.8, epsilon=0.1)
    true = Truth(source, config).stages.labels
    whole, field = [], []
    for errors, trust in ((whole, Smoothed.trust), (field, lambda *_: 0.0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Smoothed, "trust", trust)
            for seed in range(12):
                found = run(source, config, SeededNoise(seed)).stages.labels
                errors.append(dsg_c(true, found))
    assert np.mean(whole) < 0.75 * np.mean(field)


@pytest.mark.daily("0.25-db2", "1.0-bior2.2")
@pytest.mark.parametrize("wavelet", ["db2", "bior2.2", "sym4"])
@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_it_finds_more_with_other_wavelets(wavelet: str, epsilon: float) -> None:
    """On blurred data, a rank from scattered small counts is much too large."""
    ours, theirs = (
        dsg("gaussians", method, epsilon, range(4), wavelet) for method in ("twostage", "privthr")
    )
    assert ours < 0.9 * theirs


@pytest.mark.parametrize("wavelet", ["db2", "bior2.2", "sym4"])
def test_the_number_of_positive_coefficients_is_right_with_other_wavelets(wavelet: str) -> None:
    source = Source.build(load_sample("gaussians"), 64)
    config = Config(method="twostage", grid=64, density=0.58, epsilon=0.5, wavelet=wavelet)
    true = Truth(source, config).stages.threshold.positive
    found = [run(source, config, SeededNoise(seed)).stages.threshold for seed in range(3)]
    np.testing.assert_allclose([one.positive for one in found], true, rtol=0.1)


def test_on_the_papers_set_a_quarter_of_the_budget_beats_their_techniques(reference: Any) -> None:
    """DSG_C on DS1 at 0.25 is below 0.19, the value of PrivTHR, the paper's best technique."""
    source = Source.build(reference("ds1"), 64)
    true, errors = Truth(source, Config(density=0.58)).stages.labels, []
    for method in ("twostage", "privthr"):
        config = Config(method=method, density=0.58, epsilon=0.25)
        found = (run(source, config, SeededNoise(seed)).stages.labels for seed in range(5))
        errors.append(np.mean([dsg_c(true, labels) for labels in found]))
    assert errors[0] < 0.11 < errors[1]


@pytest.mark.parametrize(("grid", "said"), [(64, ""), (256, "sketch from 24 of 244 sweeps")])
def test_a_hurried_run_differs_only_on_a_large_grid_and_says_so(grid: int, said: str) -> None:
    source = Source.build(load_sample("gaussians"), grid)
    config = Config(method="twostage", density=0.58)
    whole = run(source, config, SeededNoise(0))
    hurried = run(replace(source, hurried=True), config, SeededNoise(0))
    assert (whole.sketch, hurried.sketch) == ("", said)
    assert hurried.ledger == whole.ledger
    wrong = hurried.stages.significant != whole.stages.significant
    if not said:
        assert not wrong.any()
        np.testing.assert_array_equal(hurried.stages.counts, whole.stages.counts)
        return
    # Measured: 0.3% to 0.5% of the cells, and 8% of the cells are significant.
    assert 0 < wrong.mean() < 0.01


def test_a_chain_multiplies_no_subnormal_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For cells with many records, most bins have a likelihood far below the smallest number."""
    given_to: list[Any] = []
    monkeypatch.setattr(random_field, "gibbs", lambda *given: given_to.extend(given))
    counts = np.arange(256.0).reshape(16, 16) * 20
    field_samples(rough_alone(counts, 1.0), 0.5, np.random.default_rng(0))
    chances, prior = given_to[2], given_to[8]
    # Tables of the prior have at least this weight for each bin, and lose a tenth in each sweep.
    least = chances.min() * PRIOR * prior.min() / counts.size * MEMORY**SWEEPS
    assert chances.min() < 1e-200
    assert least > np.finfo(float).tiny


def test_a_hurried_test_draws_nothing_if_one_count_decides_it() -> None:
    even, one = np.full((8, 8), 20.0), np.full((8, 8), 20.0)
    one[3, 3] = 400.0
    for counts, draws in ((even, True), (one, False)):
        generator = np.random.default_rng(0)
        found = evidence(rough_alone(counts, 1.0), generator, hurried=True)
        assert found == ("even" if draws else "structure")
        assert (generator.random() == np.random.default_rng(0).random()) != draws
    generator = np.random.default_rng(0)
    assert evidence(rough_alone(one, 1.0), generator) == "structure"
    assert generator.random() != np.random.default_rng(0).random()

"""Subbands equal PyWavelets' subbands; sensitivities equal the largest effect of one record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import pywt
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.grid.counts import pad
from dpviz.wavecluster.threshold import positive_values
from dpviz.wavecluster.wavelet import (
    Sensitivity,
    average_subband,
    check_level,
    check_wavelet,
    delay,
    detail_delay,
    detail_subbands,
    rank_of,
    sensitivity,
    wavelet_names,
)
from tests.support.tiers import daily, examples

WAVELETS = wavelet_names()
SOME = ("haar", "db2", "db7", "sym5", "coif2", "bior2.2", "bior3.1", "rbio4.4", "dmey")
# One wavelet of each kind: short and long, symmetric and asymmetric, with two pairs of filters.
EVERY = daily(WAVELETS, SOME.__contains__)

#: Grids with odd, short and unequal sides; most filters are longer than most sides.
SHAPES = ((2,), (3,), (17,), (38,), (2, 2), (5, 5), (4, 10), (9, 3), (8, 8), (3, 4, 5))

quick = examples(40)


def counts_of(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.exponential(3, shape) * (rng.random(shape) < 0.6))


def plain_subbands(counts: NDArray, wavelet: str, level: int) -> dict[str, NDArray[np.float64]]:
    band, bands = np.asarray(counts, dtype=float), {}
    for _ in range(level):
        bands = pywt.dwtn(band, wavelet, mode="periodization")
        band = bands["a" * counts.ndim]
    return bands


def rolled(band: NDArray[np.float64], wavelet: str, level: int) -> NDArray[np.float64]:
    return np.roll(band, [-delay(wavelet, level)] * band.ndim, axis=tuple(range(band.ndim)))


# -- subbands ----------------------------------------------------------------------------


# PyWavelets warns about short sides, on which filters wrap around.
@pytest.mark.filterwarnings("ignore:Level value")
@pytest.mark.parametrize("wavelet", EVERY)
@pytest.mark.parametrize("shape", [(11,), (8, 13), (3, 4, 5)])
def test_average_subband_is_that_of_wavedecn(wavelet: str, shape: tuple[int, ...]) -> None:
    counts = counts_of(shape)
    expected = pywt.wavedecn(pad(counts, 1), wavelet, mode="periodization", level=1)[0]
    average = average_subband(counts, wavelet, 1)
    np.testing.assert_allclose(average, rolled(expected, wavelet, 1), atol=1.1e-9)


@pytest.mark.parametrize("wavelet", SOME)
@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("shape", [(19,), (8, 21), (9, 8, 10)])
def test_deeper_levels_are_those_of_pywavelets(
    wavelet: str, level: int, shape: tuple[int, ...]
) -> None:
    counts = counts_of(shape)
    bands = plain_subbands(pad(counts, level), wavelet, level)
    average = average_subband(counts, wavelet, level)
    np.testing.assert_allclose(
        average, rolled(bands["a" * len(shape)], wavelet, level), atol=1.1e-9
    )
    assert average.shape == tuple(-(-side // 2**level) for side in shape)


# PyWavelets warns about short sides, on which filters wrap around.
@pytest.mark.filterwarnings("ignore:Level value")
@pytest.mark.parametrize("wavelet", EVERY)
def test_details_of_all_levels_are_those_of_wavedecn(wavelet: str) -> None:
    for shape, level in (((12,), 1), ((7, 10), 1), ((9, 12), 3), ((3, 4, 5), 1)):
        counts = counts_of(shape)
        padded = pad(counts, level)
        expected = pywt.wavedecn(padded, wavelet, mode="periodization", level=level)[:0:-1]
        details = detail_subbands(counts, wavelet, level)
        assert len(details) == len(expected) == level
        for one, (found, known) in enumerate(zip(details, expected, strict=True), start=1):
            assert set(found) == set(known)
            lag = {"a": delay(wavelet, one), "d": detail_delay(wavelet, one)}
            for key, band in found.items():
                assert band.shape == tuple(side // 2**one for side in padded.shape)
                back = np.roll(known[key], [-lag[part] for part in key], axis=range(len(shape)))
                np.testing.assert_allclose(band, back, atol=1.1e-9)


def test_names_of_details_follow_the_direction_of_the_edges() -> None:
    """A belt along the first axis, which points right, is only visible in "ad", called H."""
    counts = np.zeros((16, 16), dtype=np.int64)
    counts[:, 5:12] = 10
    for belt, seen in ((counts, "ad"), (counts.T, "da")):
        (details,) = detail_subbands(belt, "haar", 1)
        assert {key for key, band in details.items() if band.any()} == {seen}
    counts = np.zeros((4, 4), dtype=np.int64)
    counts[[0, 1], [0, 1]] = 10
    (details,) = detail_subbands(counts, "haar", 1)
    assert {key for key, band in details.items() if band.any()} == {"dd"}


def test_haar_averages_blocks() -> None:
    counts = np.arange(16).reshape(4, 4)
    blocks = counts.reshape(2, 2, 2, 2).sum(axis=(1, 3))
    np.testing.assert_array_equal(average_subband(counts, "haar", 1), blocks / 2)


@quick
@given(seed=st.integers(0, 2**32), level=st.integers(1, 3), wavelet=st.sampled_from(SOME))
def test_coefficients_that_are_equal_on_paper_are_equal(
    seed: int, level: int, wavelet: str
) -> None:
    # The same block of counts at two places gives exactly equal coefficients.
    counts = np.zeros((96, 16), dtype=np.int64)
    block = counts_of((2**level, 2**level), seed)
    counts[: 2**level, : 2**level] = block
    shifted = np.roll(counts, 5 * 2**level, axis=0)
    one = average_subband(counts, wavelet, level)
    other = average_subband(shifted, wavelet, level)
    np.testing.assert_array_equal(np.roll(one, 5, axis=0), other)


@pytest.mark.parametrize("wavelet", EVERY)
def test_empty_cells_beyond_the_filters_reach_are_exactly_zero(wavelet: str) -> None:
    counts = np.zeros(2048, dtype=np.int64)
    counts[1024] = 10**6
    average = average_subband(counts, wavelet, 2)
    far = np.abs(4 * np.arange(512) - 1024) > 6 * pywt.Wavelet(wavelet).dec_len
    assert far.any()
    assert not average[far].any()


# -- the delay ---------------------------------------------------------------------------


@pytest.mark.parametrize("wavelet", EVERY)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_blob_stays_where_it_is(wavelet: str, level: int) -> None:
    """The centre of mass moves by less than half a cell of the subband."""
    step = 2**level
    cells = np.arange(step * max(16, 2 * pywt.Wavelet(wavelet).dec_len))
    for off in (0, 1, step + 1):
        middle = cells.mean() + off
        blob = np.round(1000 * np.exp(-0.5 * ((cells - middle) / (1.5 * step)) ** 2))
        average = average_subband(blob, wavelet, level)
        centres = step * np.arange(len(average)) + (step - 1) / 2
        # The tails of long filters leave the subband at one end and enter at the other end.
        around = (centres - middle + len(cells) / 2) % len(cells) - len(cells) / 2
        moved = (around @ average) / average.sum() - (cells - middle) @ blob / blob.sum()
        assert abs(moved) < step / 2


@pytest.mark.parametrize(
    ("wavelet", "cells"), [("haar", 0), ("bior2.2", 0), ("coif17", 8), ("db38", 15)]
)
def test_delay_of_known_wavelets(wavelet: str, cells: int) -> None:
    assert delay(wavelet, 1) == cells


@pytest.mark.parametrize("wavelet", EVERY)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_an_edge_stays_where_it_is(wavelet: str, level: int) -> None:
    """The energy of an edge's details is within two subband cells of the edge."""
    step = 2**level
    cells = step * max(32, 4 * pywt.Wavelet(wavelet).dec_len)
    for edge in cells // 2 + np.array([0, 1, step + 1]):
        counts = np.zeros(cells, dtype=np.int64)
        counts[edge : edge + cells // 4] = 1000
        band = detail_subbands(counts, wavelet, level)[-1]["d"]
        centres = step * np.arange(len(band)) + step / 2
        # Only this edge is used, not the other end of the plateau.
        energy = band**2 * (np.abs(centres - edge) < cells / 8)
        if energy.any():
            assert abs(centres @ energy / energy.sum() - edge) < 2 * step


@pytest.mark.parametrize("wavelet", ["coif17", "db38"])
def test_a_blob_on_the_plane_peaks_in_its_own_cell(wavelet: str) -> None:
    x, y = np.mgrid[:160, :200]
    blob = np.round(500 * np.exp(-((x - 60.5) ** 2 + (y - 130.5) ** 2) / 72))
    peak = np.unravel_index(average_subband(blob, wavelet, 1).argmax(), (80, 100))
    assert np.abs(np.subtract(peak, (30, 65))).max() <= 1


# -- sensitivity -------------------------------------------------------------------------


@cache
def responses(wavelet: str, level: int, shape: tuple[int, ...]) -> tuple[NDArray, ...]:
    def all_of_them() -> Iterator[NDArray[np.float64]]:
        for cell in np.ndindex(shape):
            record = np.zeros(shape)
            record[cell] = 1
            yield plain_subbands(pad(record, level), wavelet, level)["a" * len(shape)]

    return tuple(all_of_them())


def touched(response: NDArray[np.float64]) -> tuple[int, int]:
    residue = 1e-13 * np.abs(response).max()
    return int((response > residue).sum()), int((response < -residue).sum())


def check_by_brute_force(wavelet: str, level: int, shape: tuple[int, ...]) -> None:
    changes = responses(wavelet, level, shape)
    norm = max(float(np.abs(change).sum()) for change in changes)
    pairs = {touched(change) for change in changes}
    for density in (0.5, 0.25, 0.9):  # values for which rounding in (1 - p) * cells has no effect
        found = sensitivity(wavelet, level, shape, density)
        share = 1 - density
        assert found.average == pytest.approx(norm, rel=1e-12)
        assert found.nonpositive == max(max(pair) for pair in pairs)
        assert found.rank == max(
            max(up + math.ceil(share * down), down + math.ceil(share * up)) for up, down in pairs
        )
        assert found.positive_cells == max(up for up, _ in pairs)
        assert found.negative_cells == max(down for _, down in pairs)


@pytest.mark.parametrize("wavelet", EVERY)
def test_sensitivity_is_that_of_a_record_in_every_cell(wavelet: str) -> None:
    for shape in SHAPES:
        check_by_brute_force(wavelet, 1, shape)


@pytest.mark.parametrize("wavelet", SOME)
@pytest.mark.parametrize(("level", "shape"), [(2, (13,)), (2, (5, 8)), (3, (17,)), (3, (8, 9))])
def test_sensitivity_of_deeper_levels(wavelet: str, level: int, shape: tuple[int, ...]) -> None:
    check_by_brute_force(wavelet, level, shape)


@pytest.mark.parametrize("wavelet", EVERY)
def test_every_tap_of_a_filter_counts_as_a_touched_coefficient(wavelet: str) -> None:
    # With one level, and a side that is long enough for the filter, zeros are exact.
    changes = responses(wavelet, 1, (2 * pywt.Wavelet(wavelet).dec_len,))[:2]
    most = max(int((change != 0).sum()) for change in changes)
    found = sensitivity(wavelet, 1, (256,), 1e-9)
    # If p is nearly 0, each touched coefficient moves the rank or the target by one.
    assert found.rank == most


@pytest.mark.parametrize("side", [2, 5, 64])
@pytest.mark.parametrize("density", [0.01, 0.5, 0.99])
def test_haar_on_the_plane_gives_a_half_one_and_one(side: int, density: float) -> None:
    found = sensitivity("haar", 1, (side, side), density)
    assert found.average == pytest.approx(0.5, abs=1e-15)
    assert (found.nonpositive, found.rank) == (1, 1)


def test_unpadded_odd_side_would_quadruple_the_sensitivity() -> None:
    changes = [
        plain_subbands(record.reshape(5, 5), "haar", 1)["aa"] for record in np.eye(25, dtype=int)
    ]
    assert max(np.abs(change).sum() for change in changes) == pytest.approx(2.0)
    assert sensitivity("haar", 1, (5, 5), 0.5).average == pytest.approx(0.5)


def distances(average: NDArray, density: float, at: NDArray) -> NDArray[np.int64]:
    values = positive_values(average)
    ranks = (values[None, :] >= at[:, None]).sum(axis=1)
    return np.abs(ranks - rank_of(density, values.size))


def candidates(*averages: NDArray) -> NDArray[np.float64]:
    values = np.unique(np.concatenate([average[average > 0] for average in averages]))
    return np.concatenate([[1e-9], values, np.nextafter(values, np.inf)])


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[NDArray, NDArray]:
    """Sparse, dense or large counts on 1 to 3 axes, and the same counts with one more record."""
    shape = draw(st.sampled_from([(6,), (40,), (5, 5), (8, 8), (7, 12), (4, 4, 4)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    mean = draw(st.sampled_from([0.05, 0.3, 1.0, 5.0]))
    counts = rng.poisson(mean, shape) * draw(st.sampled_from([1, 1, 7, 10**6]))
    more = counts.copy()
    more[tuple(draw(st.integers(0, side - 1)) for side in shape)] += 1
    return counts, more


@examples(400)
@given(
    pair=neighbours(),
    wavelet=st.sampled_from(("haar", "db2", "db4", "sym4", "bior2.2", "bior3.1", "rbio3.1")),
    level=st.integers(1, 2),
    density=st.sampled_from((0.05, 0.1, 0.42, 0.5, 0.58, 0.9, 0.99)),
)
def test_one_record_never_changes_more_than_the_sensitivity(
    pair: tuple[NDArray, NDArray], wavelet: str, level: int, density: float
) -> None:
    """Checks the theory with the rounding, thresholds and ranks of the code."""
    without, with_it = (average_subband(counts, wavelet, level) for counts in pair)
    bound = sensitivity(wavelet, level, pair[0].shape, density)
    # Rounding of the last digit, and errors of sums of counts in the millions.
    rounding = without.size * (1e-9 + 8 * np.spacing(np.abs(without).max()))
    assert np.abs(with_it - without).sum() <= bound.average + rounding
    changed_z = int((with_it <= 0).sum()) - int((without <= 0).sum())
    assert abs(changed_z) <= bound.nonpositive
    at = candidates(without, with_it)
    change = distances(with_it, density, at) - distances(without, density, at)
    assert np.abs(change).max(initial=0) <= bound.rank


@pytest.mark.parametrize(
    ("wavelet", "density", "counts", "change"),
    [("bior3.1", 0.5, [3, 1, 0, 2, 2, 0], 2), ("bior2.2", 0.1, [0, 1, 3, 3, 3, 1], 3)],
)
def test_larger_sign_count_alone_is_too_small_a_sensitivity_of_the_rank(
    wavelet: str, density: float, counts: list[int], change: int
) -> None:
    """These neighbours exceed the paper's hint, max(n+, n-), and reach our bound."""
    more = [counts[0] + 1, *counts[1:]]
    without, with_it = (average_subband(np.array(one), wavelet, 1) for one in (counts, more))
    at = candidates(without, with_it)
    found = np.abs(distances(with_it, density, at) - distances(without, density, at)).max()
    bound = sensitivity(wavelet, 1, (6,), density)
    assert max(bound.positive_cells, bound.negative_cells) < change == found == bound.rank


# -- rounding ----------------------------------------------------------------------------


def assert_within(bound: Sensitivity, without: NDArray, with_it: NDArray, density: float) -> None:
    assert int((with_it > without).sum()) <= bound.positive_cells
    assert int((with_it < without).sum()) <= bound.negative_cells
    assert abs(int((with_it > 0).sum()) - int((without > 0).sum())) <= bound.nonpositive
    at = candidates(without, with_it)
    change = distances(with_it, density, at) - distances(without, density, at)
    assert np.abs(change).max(initial=0) <= bound.rank


def test_taps_that_cancel_on_paper_leave_no_residue() -> None:
    """Millions of records, and one more record in a cell where two taps cancel."""
    counts = np.zeros((4, 8), dtype=np.int64)
    for column in (2, 4, 5, 6):
        counts[2, column] = 68_281_193
    more = counts.copy()
    more[0, 2] += 1
    without, with_it = (average_subband(one, "bior1.5", 1) for one in (counts, more))
    assert_within(sensitivity("bior1.5", 1, (4, 8), 0.5), without, with_it, 0.5)


@pytest.mark.parametrize(
    ("wavelet", "level", "shape"),
    [
        ("bior1.3", 1, (4, 4)),
        ("bior1.5", 1, (8, 2)),
        ("bior2.2", 2, (8, 8)),
        ("bior3.1", 3, (16, 16)),
        ("db2", 2, (8, 8)),
        ("coif1", 3, (8, 12)),
    ],
)
def test_large_cancelling_counts_change_no_more_than_the_sensitivity(
    wavelet: str, level: int, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(7)
    bound = sensitivity(wavelet, level, shape, 0.5)
    for _ in range(300):
        counts = cancelling(rng, wavelet, level, shape)
        cell = tuple(int(rng.integers(side)) for side in shape)
        more = counts.copy()
        more[cell] += 1
        without, with_it = (average_subband(one, wavelet, level) for one in (counts, more))
        assert_within(bound, without, with_it, 0.5)


def cancelling(
    rng: np.random.Generator, wavelet: str, level: int, shape: tuple[int, ...]
) -> NDArray[np.int64]:
    counts = np.zeros(shape, dtype=np.int64)
    size = 10 ** rng.uniform(0, 13)
    chosen = [tuple(rng.integers(side) for side in shape) for _ in range(rng.integers(1, 7))]
    for cell in chosen:
        counts[cell] = int(size) if rng.random() < 0.7 else int(size * rng.random())
    if len(chosen) > 1 and rng.random() < 0.5:
        # The last cell cancels the other cells in one of the coefficients that it lowers.
        last = chosen[-1]
        counts[last] = 0
        record = np.zeros(shape)
        record[last] = 1
        weights = average_subband(record, wavelet, level)
        lowered = np.argwhere(weights < 0)
        if len(lowered):
            place = tuple(lowered[rng.integers(len(lowered))])
            others = average_subband(counts, wavelet, level)[place]
            counts[last] = min(max(round(-others / weights[place]), 0), 10**13)
    return counts


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("part", range(4))
def test_no_wavelet_and_no_side_exceeds_its_sensitivity(level: int, part: int) -> None:
    rng = np.random.default_rng(level)
    for wavelet in WAVELETS[part::4]:
        shapes = [(side,) for side in range(2**level, 33)]
        shapes += [tuple(rng.integers(2**level, 33, 2).tolist()) for _ in range(6)]
        for shape in shapes:
            density = float(rng.choice([0.01, 0.3, 0.5, 0.9]))
            bound = sensitivity(wavelet, level, shape, density)
            counts = cancelling(rng, wavelet, level, shape)
            without = average_subband(counts, wavelet, level)
            for _ in range(4):
                more = counts.copy()
                more[tuple(int(rng.integers(side)) for side in shape)] += 1
                assert_within(bound, without, average_subband(more, wavelet, level), density)


# -- wrong input -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "morl", "Haar", "db99"])
def test_unknown_wavelet_is_refused_with_the_families(name: str) -> None:
    with pytest.raises(InputError, match=rf'wavelet = "{name}" .* bior'):
        check_wavelet(name)


@pytest.mark.parametrize(
    ("level", "shape"), [(0, (8, 8)), (-1, (8, 8)), (4, (8, 99)), (1.5, (8, 8)), (True, (8, 8))]
)
def test_level_that_does_not_fit_is_refused(level: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="level ="):
        check_level(level, shape)


@pytest.mark.parametrize(("level", "shape"), [(1, (2, 99)), (3, (8, 9)), (3, (15,))])
def test_highest_level_fits_the_shortest_side(level: int, shape: tuple[int, ...]) -> None:
    assert check_level(level, shape) == level

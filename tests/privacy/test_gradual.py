"""Nested releases: their distributions, their coins, and the exact worst loss of a transcript."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import PrivacyRefusal
from dpviz.privacy.ledger import RELATIONS, Neighbours, Relation
from dpviz.privacy.mechanisms import Accountant, Gradual, Level, geometric, stay_chance
from dpviz.privacy.noise_source import SeededNoise, Silenced
from dpviz.privacy.secure import LATTICE, CertifiedSpend, SecureAccountant, coins, stay_bits
from dpviz.wavecluster import budget_share
from dpviz.wavecluster.budget_share import SHARES, Choice, choose_share
from dpviz.wavecluster.methods import twostage
from dpviz.wavecluster.parameters import Config
from tests.support.tiers import examples

Floats = NDArray[np.float64]

quick = examples(40)

BUDGETS = (0.4, 0.5, 0.65, 0.8, 1.0)


def levels(epsilon: float = 1.0) -> list[Level]:
    return [Level(f"step {number}", one * epsilon) for number, one in enumerate(BUDGETS)]


def law(scale: float, size: int) -> Floats:
    """Two-sided geometric probabilities of -size to size, from the formula."""
    x = np.arange(-size, size + 1)
    return math.tanh(0.5 / scale) * np.exp(-np.abs(x) / scale)


# -- laws ------------------------------------------------------------------------------------


@quick
@given(st.floats(0.2, 30), st.floats(1.001, 20))
def test_staying_or_more_noise_gives_the_coarser_law(fine: float, times: float) -> None:
    """The convolution of the fine noise with the kernel is exactly the coarse noise."""
    coarse = fine * times
    size = int(60 * coarse)
    chance = stay_chance(coarse, fine)
    kernel = (1 - chance) * law(coarse, size)
    kernel[size] += chance
    folded = np.fft.irfft(
        np.fft.rfft(law(fine, size), 4 * size + 1) * np.fft.rfft(kernel, 4 * size + 1), 4 * size + 1
    )[size : 3 * size + 1]
    np.testing.assert_allclose(folded, law(coarse, size), rtol=0, atol=1e-12)


@quick
@given(st.floats(0.05, 50))
def test_geometric_noise_is_the_inverse_of_its_law(scale: float) -> None:
    """Laplace noise of quantile u gives the smallest number with a distribution function >= u."""
    share = (np.arange(4000) + 0.5) / 4000
    drawn = geometric(stats.laplace.ppf(share), scale)
    size = int(40 * scale) + 2
    below = law(scale, size).cumsum()
    np.testing.assert_array_equal(drawn[400:3600], (np.searchsorted(below, share) - size)[400:3600])
    assert geometric(np.zeros(1), scale)[0] == 0


@pytest.mark.parametrize("secure", [False, True])
def test_every_level_has_the_law_that_its_budget_buys(secure: bool) -> None:
    """A false alarm occurs in one of ten thousand runs of release noise. Other noise is seeded."""
    cells = 3000
    accountant = SecureAccountant(1.0) if secure else Accountant(SeededNoise(4), 1.0)
    found = accountant.gradual(np.full(cells, 7), levels(), sensitivity=1)
    for level, release in zip(found.levels, found.releases, strict=True):
        ends = np.arange(-6, 7)
        seen = np.bincount(np.clip(release - 7, -7, 6).astype(int) + 7, minlength=14)
        below = np.append(law(1 / level.epsilon, 200).cumsum()[200 + ends - 1], 1.0)
        expected = cells * np.diff(below, prepend=0.0)
        assert stats.chisquare(seen, expected).pvalue > 1e-5, level
    for coarse, fine in zip(found.releases[:-1], found.releases[1:], strict=True):
        assert 0.3 < (coarse == fine).mean() < 0.95


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("secure", [False, True])
def test_numbers_beside_have_the_noise_of_what_is_left(secure: bool, relation: Relation) -> None:
    """A false alarm occurs in one of ten thousand runs of release noise. Other noise is seeded."""
    unit = Neighbours(relation=relation)
    accountant = SecureAccountant(1.0, unit) if secure else Accountant(SeededNoise(2), 1.0, unit)
    found = accountant.gradual(np.arange(3), levels(), sensitivity=1)
    accountant.finer(found, 1)
    numbers = np.arange(3000)
    finest, noisy = accountant.split(found, np.array([False, True, True]), numbers)
    np.testing.assert_array_equal(finest, found.releases[-1][1:])
    scale = unit.multiplier / (1 - BUDGETS[1])
    if secure:
        size = int(50 * scale)
        # The bin limits are integers, because the noise is an integer.
        below = np.append(law(scale, size).cumsum()[size + np.arange(-6, 6)], 1.0)
        seen = np.bincount(np.clip(noisy - numbers, -6, 6).astype(int) + 6, minlength=13)
        expected = len(numbers) * np.diff(below, prepend=0.0)
        assert stats.chisquare(seen, expected).pvalue > 1e-4
    else:
        assert stats.kstest(noisy - numbers, stats.laplace(scale=scale).cdf).pvalue > 1e-4


def test_one_seed_is_one_frozen_draw() -> None:
    first, second = (
        Accountant(SeededNoise(1), epsilon).gradual(np.zeros(2000), levels(epsilon), sensitivity=1)
        for epsilon in (1.0, 1.01)
    )
    for one, other in zip(first.releases, second.releases, strict=True):
        assert (one == other).mean() > 0.9
    silent = Accountant(Silenced(SeededNoise(1)), 1.0).gradual(
        np.arange(50), levels(), sensitivity=1
    )
    for one in silent.releases:
        np.testing.assert_array_equal(one, np.arange(50))


# -- coins -----------------------------------------------------------------------------------


@quick
@given(st.floats(0.01, 1e6), st.floats(1.0001, 1e3), st.integers(1, 4))
def test_bits_of_the_chance_are_those_of_another_formula(
    fine: float, times: float, words: int
) -> None:
    coarse = fine * times
    with localcontext() as context:
        context.prec = 250
        less, more = ((-1 / Decimal(one)).exp() for one in (fine, coarse))
        chance = ((1 - more) / (1 - less)) ** 2 * less / more
        assert stay_bits(coarse, fine, words) == int(chance * 2 ** (64 * words))
    assert stay_bits(coarse, fine, 1) / 2**64 == pytest.approx(stay_chance(coarse, fine), rel=1e-9)


def test_a_coin_looks_at_more_bits_only_where_all_before_are_equal() -> None:
    first, second = (stay_bits(5.0, 2.0, words) % 2**64 for words in (1, 2))
    asked = []

    def entropy(size: int) -> bytes:
        asked.append(size)
        drawn = (
            [first - 1, first, first, first + 1] if len(asked) == 1 else [second - 1, second + 1]
        )
        return np.array(drawn, dtype="<u8").tobytes()

    np.testing.assert_array_equal(coins(5.0, 2.0, 4, entropy), [True, True, False, False])
    assert asked == [32, 16]


def test_coins_fall_as_often_as_they_should() -> None:
    """A false alarm occurs once in a hundred thousand runs."""
    chance = stay_chance(2.5, 2.0)
    heads = int(coins(2.5, 2.0, 20_000).sum())
    assert stats.binomtest(heads, 20_000, chance).pvalue > 1e-5


def test_random_numbers_that_repeat_release_nothing() -> None:
    bits = iter(stay_bits(5.0, 2.0, words) % 2**64 for words in range(1, 99))
    with pytest.raises(PrivacyRefusal, match="repeat themselves"):
        coins(5.0, 2.0, 1, lambda _: np.array([next(bits)], dtype="<u8").tobytes())


# -- budget ----------------------------------------------------------------------------------


@quick
@given(
    epsilon=st.floats(1e-5, 1e3),
    share=st.integers(0, 3),
    relation=st.sampled_from(RELATIONS),
    cap=st.integers(1, 4),
    secure=st.booleans(),
)
def test_all_levels_together_cost_the_last_budget_exactly(
    epsilon: float, share: int, relation: Relation, cap: int, secure: bool
) -> None:
    unit = Neighbours(relation=relation, cap=cap)
    accountant = (
        SecureAccountant(epsilon, unit) if secure else Accountant(SeededNoise(0), epsilon, unit)
    )
    counts = np.array([0, 3, 5])
    found = accountant.gradual(counts, levels(epsilon), sensitivity=1)
    if share:
        accountant.finer(found, share)
    finest, _ = accountant.split(found, counts > 2, 1.0)
    assert finest.shape == (2,)
    assert accountant.ledger.epsilon == epsilon
    for spend in accountant.ledger:
        assert spend.sensitivity == unit.multiplier
        if secure:
            assert isinstance(spend, CertifiedSpend)
            assert spend.certified <= spend.epsilon
    if isinstance(accountant, SecureAccountant):
        assert accountant.certified <= epsilon
    with pytest.raises(PrivacyRefusal):
        accountant.laplace("more", 0, sensitivity=1, epsilon=epsilon / 1e3)


@pytest.mark.parametrize("secure", [False, True])
def test_what_is_over_budget_or_not_nested_is_refused_and_spends_nothing(secure: bool) -> None:
    accountant = SecureAccountant(0.7) if secure else Accountant(SeededNoise(0), 0.7)
    for wrong, said in (
        (levels(1.0), r"asks for epsilon 1 in total, but only 0\.7 of 0\.7 is left"),
        (levels(0.5)[::-1], "each must be greater than the previous one"),
    ):
        with pytest.raises(PrivacyRefusal, match=said):
            accountant.gradual(np.zeros(3), wrong, sensitivity=1)
    if secure:
        with pytest.raises(PrivacyRefusal, match="not whole multiples"):
            accountant.gradual(np.full(3, 0.5), levels(0.5), sensitivity=1)
    assert accountant.ledger.spends == ()


@pytest.mark.parametrize("secure", [False, True])
def test_what_was_split_is_told_no_finer(secure: bool) -> None:
    """Only the largest parallel cost of a step is added, so each value is split only once."""
    accountant = SecureAccountant(1.0) if secure else Accountant(SeededNoise(0), 1.0)
    found = accountant.gradual(np.zeros(4), levels(), sensitivity=1)
    half = np.array([True, True, False, False])
    accountant.split(found, half, 2.0)
    for more in (lambda: accountant.split(found, ~half, 2.0), lambda: accountant.finer(found, 1)):
        with pytest.raises(PrivacyRefusal, match="was split before"):
            more()


def test_nested_counts_are_whole_whatever_the_unit() -> None:
    """Integer noise has variance 0.36, other noise 0.54; a false alarm has probability < 1e-6."""
    accountant = SecureAccountant(2.0, unit=LATTICE)
    found = accountant.gradual(np.full(4000, 7), levels(2.0), sensitivity=1)
    finest = found.releases[-1] - 7
    np.testing.assert_array_equal(finest, np.rint(finest))
    assert finest.var() < 0.45
    assert {spend.unit for spend in accountant.certificates} == {1.0}


# -- the worst loss of a transcript, enumerated ------------------------------------------------

#: Enumerated releases are at most this far from 0; farther away, each loss equals the loss at the
#: end.
SIZE = 9

#: Summed releases are at most this far from 0; releases outside have a probability below e^-20.
ROOM = 45

EPSILON = 3.0


class Enumerated:
    """All transcripts of a few cells: Y at 0.4, the choice, Y at the share, and the last step.

    Parameters
    ----------
    scales
        Noise scales of the levels.
    zeros_scale
        Noise scale of the number of zeros, for each share.
    """

    def __init__(self, scales: Sequence[float], zeros_scale: Sequence[float]) -> None:
        self.scales, self.zeros_scale = scales, zeros_scale
        self.values = np.arange(-ROOM, ROOM + 1)
        self.shown = slice(ROOM - SIZE, ROOM + SIZE + 1)
        distance = self.values[:, None] - self.values
        self.kernels = []
        for coarse, fine in pairwise(scales):
            chance = stay_chance(coarse, fine)
            noise = math.tanh(0.5 / coarse) * np.exp(-np.abs(distance) / coarse)
            self.kernels.append(chance * np.eye(len(distance)) + (1 - chance) * noise)

    def down(self, high: int, low: int) -> Floats:
        """P(release at the lower level | release at the higher level), matrix (lower, higher)."""
        found = np.eye(len(self.values))
        for kernel in self.kernels[low:high]:
            found = found @ kernel
        return found

    def cell(self, count: int, share: int) -> tuple[Floats, Floats]:
        """P(Y0, Ya) of a low cell, and P(Y0, Ya, Y1) of any other cell, for the shown values."""
        last = len(self.scales) - 1
        finest = law(self.scales[last], 2 * ROOM)[2 * ROOM - ROOM - count :][: len(self.values)]
        first, second = self.down(share, 0)[self.shown], self.down(last, share)[self.shown]
        inner = first[:, self.shown]
        low = inner * (second @ finest)
        high = inner[:, :, None] * (second * finest)[:, self.shown]
        return low, high


def log_ratio(one: Floats, other: Floats) -> Floats:
    """Logarithm of the ratio of probabilities; 0 where both probabilities are 0."""
    np.testing.assert_array_equal(one > 0, other > 0)
    there = one > 0
    return np.log(np.where(there, one, 1.0) / np.where(there, other, 1.0))


def worst_loss(counts: tuple[int, ...], others: tuple[int, ...], room: Enumerated) -> float:
    """Largest log ratio of a transcript's probabilities for two sets of counts."""
    shown, worst, rate = np.arange(-SIZE, SIZE + 1), 0.0, 1 / room.scales[-1]
    chosen: dict[tuple[int, ...], Choice] = {}
    logs: dict[tuple[int, int, int], tuple[Floats, Floats]] = {}
    for share in range(len(SHARES)):
        for one, other in zip(counts, others, strict=True):
            low, high = map(log_ratio, room.cell(one, share), room.cell(other, share))
            logs[share, one, other] = low, high
    for first in product(range(len(shown)), repeat=len(counts)):
        key = tuple(sorted(first))
        if key not in chosen:
            noisy = shown[list(key)].astype(float)
            chosen[key] = choose_share(noisy, rate, 0.5)
        choice = chosen[key]
        for lows in product([True, False], repeat=len(counts)):
            ends = [0.0, 0.0]
            for y, is_low, one, other in zip(first, lows, counts, others, strict=True):
                table = logs[choice.share, one, other][0 if is_low else 1][y]
                # With the first share there is no release between them, so Ya equals Y0.
                there = shown == shown[y] if choice.share == 0 else np.ones(len(shown), dtype=bool)
                there &= (shown < choice.limit) == is_low
                if not there.any():
                    break
                ends = [ends[0] + table[there].min(), ends[1] + table[there].max()]
            else:
                zeros = sum(low and not one for low, one in zip(lows, counts, strict=True))
                zeros -= sum(low and not one for low, one in zip(lows, others, strict=True))
                more = abs(zeros) / room.zeros_scale[choice.share]
                worst = max(worst, ends[1] + more, more - ends[0])
    return worst


def bought(relation: Relation) -> Enumerated:
    unit = Neighbours(relation=relation)
    config = Config(method="twostage", epsilon=EPSILON, neighbours=unit)
    accountant = Accountant(SeededNoise(0), EPSILON, unit)
    kept: list[Gradual] = []
    inner = accountant.gradual

    def gradual(*given: object, **named: object) -> Gradual:
        kept.append(inner(*given, **named))  # type: ignore[arg-type]
        return kept[-1]

    accountant.gradual = gradual  # type: ignore[method-assign]
    # There are enough cells for low counts with this budget, for both relations.
    twostage.release(np.zeros((4, 4), dtype=np.int64), config, accountant)
    number = accountant.ledger.spends[-1]
    share = kept[0].known
    # The number of zeros gets the rest of the budget.
    assert number.epsilon == pytest.approx((1 - SHARES[share]) * EPSILON)
    assert number.scale == number.sensitivity / number.epsilon
    zeros = [number.sensitivity / ((1 - one) * EPSILON) for one in SHARES]
    return Enumerated(kept[0].scales, zeros)


def test_zeros_are_counted_among_low_counts_alone() -> None:
    """A record in another count changes this count's finer release, so nothing else may change."""
    counts, seen = np.tile([0, 0, 30], (20, 10)), 0
    for seed in range(20):
        accountant = Accountant(SeededNoise(seed), EPSILON)
        inner = accountant.split
        asked: list[tuple[NDArray[np.bool_], float]] = []

        def split(
            gradual: Gradual, where: NDArray[np.bool_], numbers: float, inner: Any = inner,
            asked: list[Any] = asked,
        ) -> Any:  # fmt: skip
            asked.append((where, numbers))
            return inner(gradual, where, numbers)

        accountant.split = split  # type: ignore[assignment, method-assign]
        twostage.release(counts, Config(method="twostage", epsilon=EPSILON), accountant)
        ((where, numbers),) = asked
        assert numbers == ((counts == 0) & ~where).sum()
        seen += int(((counts == 0) & where).sum())
    assert seen > 10, seen


PAIRS: dict[Relation, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = {
    "add_remove": (((0,), (1,)), ((1,), (2,)), ((0, 0), (0, 1)), ((3, 0), (3, 1))),
    "replace_one": (((0, 1), (1, 0)), ((1, 1), (0, 2)), ((6, 0), (5, 1)), ((6, 6), (5, 7))),
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_transcript_loses_more_than_epsilon_and_some_lose_all(
    relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With so few cells a public rule excludes small shares and low counts. Without this rule the
    # test covers more.
    monkeypatch.setattr(budget_share, "SMALL_BUDGET", 0.0)
    monkeypatch.setattr(budget_share, "TINY_BUDGET", 0.0)
    room = bought(relation)
    losses = [worst_loss(*pair, room) for pair in PAIRS[relation]]
    assert max(losses) <= EPSILON * (1 + 1e-9)
    assert max(losses) >= EPSILON * 0.99


@pytest.mark.parametrize("relation", RELATIONS)
def test_half_the_noise_of_any_part_shows(
    relation: Relation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_share, "TINY_BUDGET", 0.0)
    room = bought(relation)
    half_zeros = Enumerated(room.scales, [scale / 2 for scale in room.zeros_scale])
    half_finest = Enumerated([*room.scales[:-1], room.scales[-1] / 2], room.zeros_scale)
    half_rough = Enumerated([scale / 2 for scale in room.scales], room.zeros_scale)
    for part in (half_zeros, half_finest, half_rough):
        assert any(worst_loss(*pair, part) > 1.1 * EPSILON for pair in PAIRS[relation])

"""Seeded noise is reproducible, has an independent stream for each step, and is Laplace noise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpviz.privacy.noise_source import SeededNoise, Silenced
from tests.support.tiers import examples

#: Seeds are fixed, so each test either always passes or always fails. With a new stream, a test
#: fails by chance with this probability.
FALSE_ALARM = 1e-4

quick = examples(40)


@quick
@given(seed=st.integers(0, 2**63), step=st.text(), size=st.sampled_from([1, 100, 2**17 + 1]))
def test_same_seed_step_and_shape_give_the_same_draw(seed: int, step: str, size: int) -> None:
    # Draws beyond 2**17 are not stored, but must be repeatable, too.
    one, other = SeededNoise(seed, 3), SeededNoise(seed, 3)
    np.testing.assert_array_equal(
        one.laplace(step, 1.0, (size,)), other.laplace(step, 1.0, (size,))
    )
    np.testing.assert_array_equal(one.uniform(step, (size,)), other.uniform(step, (size,)))
    np.testing.assert_array_equal(one.gumbel(step, 1.0, (size,)), other.gumbel(step, 1.0, (size,)))
    np.testing.assert_array_equal(one.generator(step).random(9), other.generator(step).random(9))


def test_seed_key_and_step_each_give_another_draw() -> None:
    draws = [
        SeededNoise(seed, *key).laplace(step, 1.0, (5,))
        for seed in (0, 1)
        for key in ((), (0,), (1,), (0, 1))
        for step in ("counts", "nonpositive", "")
    ]
    for one, other in combinations(draws, 2):
        assert not np.isin(one, other).any()
    generators = [
        SeededNoise(seed, *key).generator(step).random(5)
        for seed in (0, 1)
        for key in ((), (0,))
        for step in ("start", "chain")
    ]
    for one, other in combinations(generators, 2):
        assert not np.isin(one, other).any()


def test_a_longer_draw_of_one_step_continues_a_shorter_one() -> None:
    # If a picture needs more points, the existing points do not change.
    noise = SeededNoise(5)
    long, short = noise.uniform("points", (30, 2)), noise.uniform("points", (10, 2))
    np.testing.assert_array_equal(long[:10], short)
    assert noise.laplace("counts", 1.0, (3, 4)).shape == (3, 4)


@quick
@given(seed=st.integers(0, 99), scale=st.floats(1e-9, 1e9), power=st.integers(-20, 20))
def test_noise_is_proportional_to_its_scale(seed: int, scale: float, power: int) -> None:
    noise = SeededNoise(seed)
    unit = noise.laplace("counts", 1.0, (4, 4))
    np.testing.assert_array_equal(noise.laplace("counts", scale, (4, 4)), scale * unit)
    # Multiplication by a power of two is exact, so the noise is exactly proportional to its scale.
    doubled = noise.laplace("counts", scale * 2.0**power, (4, 4))
    np.testing.assert_array_equal(doubled, 2.0**power * noise.laplace("counts", scale, (4, 4)))
    gumbel = noise.gumbel("counts", 1.0, (7,))
    np.testing.assert_array_equal(noise.gumbel("counts", scale, (7,)), scale * gumbel)


def test_kept_draws_can_not_be_changed_from_outside() -> None:
    noise = SeededNoise(1)
    unit = noise.uniform("step", (3,))
    with pytest.raises(ValueError, match="read-only"):
        unit[0] = 0
    before = noise.laplace("step", 1.0, (3,)).copy()
    noise.laplace("step", 1.0, (3,))[:] = 0
    np.testing.assert_array_equal(noise.laplace("step", 1.0, (3,)), before)


def test_uniform_draws_lie_in_zero_to_one() -> None:
    unit = SeededNoise(2).uniform("step", (50_000,))
    assert unit.min() >= 0
    assert unit.max() < 1
    assert stats.kstest(unit, "uniform").pvalue > FALSE_ALARM


def test_noise_follows_the_law_of_laplace() -> None:
    draw = SeededNoise(3).laplace("counts", 2.5, (200, 250)).ravel()
    assert stats.kstest(draw, stats.laplace(scale=2.5).cdf).pvalue > FALSE_ALARM
    # Test the distribution over seeds, because a privacy claim is about this distribution.
    first = [float(SeededNoise(seed).laplace("z", 1.0, ())) for seed in range(5000)]
    assert stats.kstest(first, stats.laplace.cdf).pvalue > FALSE_ALARM


def test_noise_follows_the_law_of_gumbel() -> None:
    draw = SeededNoise(3).gumbel("choice", 2.5, (50_000,))
    assert stats.kstest(draw, stats.gumbel_r(scale=2.5).cdf).pvalue > FALSE_ALARM
    # Within 4 standard errors: mean 0.5772 times the scale, deviation pi / sqrt(6) times the scale.
    error = 4 * 2.5 * 1.2825 / 50_000**0.5
    assert draw.mean() == pytest.approx(0.5772 * 2.5, abs=error)
    first = [float(SeededNoise(seed).gumbel("choice", 1.0, ())) for seed in range(5000)]
    assert stats.kstest(first, stats.gumbel_r.cdf).pvalue > FALSE_ALARM


def test_a_generator_starts_at_the_beginning_of_its_stream_every_time() -> None:
    noise = SeededNoise(8)
    first = noise.generator("start").random(4)
    noise.generator("start").random(100)
    np.testing.assert_array_equal(noise.generator("start").random(4), first)


@quick
@given(seed=st.integers(0, 99), step=st.text(), scale=st.floats(1e-9, 1e9), size=st.integers(0, 9))
def test_a_silenced_source_keeps_its_choices_and_loses_its_noise(
    seed: int, step: str, scale: float, size: int
) -> None:
    source = SeededNoise(seed, 2)
    silent = Silenced(source)
    for law in (silent.laplace, silent.gumbel):
        for shape in ((), (size,), (size, 3)):
            noise = law(step, scale, shape)
            assert noise.shape == shape
            assert not noise.any()
    np.testing.assert_array_equal(silent.uniform(step, (size,)), source.uniform(step, (size,)))
    np.testing.assert_array_equal(
        silent.generator(step).normal(size=5), source.generator(step).normal(size=5)
    )


def test_a_silenced_source_does_not_show_its_seed() -> None:
    noise = Silenced(SeededNoise(987654321))
    for shown in (repr(noise), str(noise), f"{noise}"):
        assert "987654321" not in shown


@pytest.mark.parametrize(
    "others",
    [
        [SeededNoise(4).laplace("second level", 1.0, (20_000,))],
        [SeededNoise(5).laplace("counts", 1.0, (20_000,))],
        [SeededNoise(4, fold).laplace("counts", 1.0, (20_000,)) for fold in range(3)],
    ],
    ids=["steps", "seeds", "folds"],
)
def test_streams_are_independent(others: list) -> None:
    for one, other in combinations([SeededNoise(4).laplace("counts", 1.0, (20_000,)), *others], 2):
        assert stats.spearmanr(one, other).pvalue > FALSE_ALARM
        # Absolute values show a dependence that a correlation does not detect.
        assert stats.spearmanr(np.abs(one), np.abs(other)).pvalue > FALSE_ALARM


def test_cells_of_one_draw_are_independent() -> None:
    draw = SeededNoise(6).laplace("counts", 1.0, (40_000,))
    for lag in (1, 2, 64):
        assert stats.spearmanr(draw[lag:], draw[:-lag]).pvalue > FALSE_ALARM


def test_global_random_state_plays_no_part() -> None:
    noise = SeededNoise(7)
    np.random.seed(0)  # noqa: NPY002 - the very state that must not matter
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    noise.laplace("a step not drawn before", 1.0, (2**17 + 1,))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_seed_is_never_shown() -> None:
    noise = SeededNoise(987654321, 123456)
    for shown in (repr(noise), str(noise), f"{noise}", repr([noise])):
        assert "987654321" not in shown
        assert "123456" not in shown


def test_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        SeededNoise(-1).uniform("step", (1,))

"""K-norm noise has its distribution and its cost, in the explorer and rounded in a release."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.errors import PrivacyRefusal
from dpviz.privacy.ledger import Neighbours
from dpviz.privacy.mechanisms import Accountant, k_norm
from dpviz.privacy.noise_source import SeededNoise, Silenced, unit_k_norm
from dpviz.privacy.rounded import k_norm_row
from dpviz.privacy.secure import LATTICE, ROUNDED, SecureAccountant
from tests.support.tiers import examples

#: With the fixed seeds a test always passes or always fails. With new random numbers a correct test
#: would fail with this probability.
FALSE_ALARM = 1e-4

#: Numbers of columns: in the cube, and in the ball.
SHAPES = ((0, 1), (0, 2), (0, 5), (2, 1), (2, 4), (2, 9), (3, 0), (7, 0))


def plain_norm(row: NDArray[np.float64], ball: int) -> float:
    """Norm by its definition: the smallest factor for which the scaled body contains the row."""
    entries, vector = row[: len(row) - ball], row[len(row) - ball :]
    return max([0.0, *np.abs(entries), math.sqrt((vector**2).sum())])


def rounded(entries: int, ball: int, rows: int, scale: int = 2**30) -> NDArray[np.float64]:
    """Rows of a release's noise in units of its scale, from reproducible bits."""
    bits = Random(entries * 100 + ball).getrandbits
    noise = [k_norm_row(Fraction(scale), entries, ball, draw=bits) for _ in range(rows)]
    return np.array(noise, dtype=float) / scale


def explored(entries: int, ball: int, rows: int) -> NDArray[np.float64]:
    return unit_k_norm(np.random.default_rng(5), (rows, entries + ball), ball)


LAWS = pytest.mark.parametrize(("law", "rows"), [(explored, 20_000), (rounded, 800)])


@examples(60)
@given(values=st.lists(st.floats(-9, 9), min_size=6, max_size=6), ball=st.integers(0, 6))
def test_norm_is_that_of_the_body(values: list[float], ball: int) -> None:
    table = np.array(values).reshape(1, 6)
    assert k_norm(table, ball)[0] == pytest.approx(plain_norm(table[0], ball), rel=1e-12)


@LAWS
@pytest.mark.parametrize(("entries", "ball"), SHAPES)
def test_radius_is_gamma_and_the_rest_uniform_in_the_body(
    law: Callable[..., NDArray[np.float64]], rows: int, entries: int, ball: int
) -> None:
    # If the density is exp(-norm), the norm has the Gamma(D) distribution and is independent of the
    # direction. For a uniform point of the body, the norm r has the distribution function r^D.
    columns = entries + ball
    noise = law(entries, ball, rows)
    norms = k_norm(noise, ball)
    assert stats.kstest(norms, stats.gamma(columns).cdf).pvalue > FALSE_ALARM
    assert stats.spearmanr(norms, noise[:, 0] / norms).pvalue > FALSE_ALARM
    if columns > 1:
        assert stats.spearmanr(norms, np.abs(noise[:, -1]) / norms).pvalue > FALSE_ALARM
    for column in noise.T:  # both signs have the same probability
        assert stats.binomtest(int((column > 0).sum()), rows).pvalue > FALSE_ALARM
    if ball > 1:
        angles = np.arctan2(noise[:, -1], noise[:, -2])
        assert stats.kstest(angles, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > FALSE_ALARM
    if ball and entries:
        # Given the norm, the share of rows whose norm is the largest entry is the share for a
        # uniform point, entries / (entries + ball).
        largest = np.abs(noise[:, :entries]).max(axis=1) >= norms
        share = stats.binomtest(int(largest.sum()), rows, entries / columns)
        assert share.pvalue > FALSE_ALARM


@LAWS
@pytest.mark.parametrize(("entries", "ball"), [(2, 3), (2, 10), (12, 0)])
def test_mean_squares_are_those_of_the_card(
    law: Callable[..., NDArray[np.float64]], rows: int, entries: int, ball: int
) -> None:
    columns = entries + ball
    radius = (columns + 1) * (columns + 2)
    noise = law(entries, ball, rows)
    assert (noise[:, :entries] ** 2).mean() == pytest.approx(radius / 3, rel=0.15)
    length = (noise[:, entries:] ** 2).sum(axis=1).mean()
    assert length == pytest.approx(radius * ball / (ball + 2), rel=0.15)


# -- the mechanism -----------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [Neighbours(), Neighbours(relation="replace_one", cap=3)])
def test_spend_and_scale_count_all_changed_records(unit: Neighbours) -> None:
    accountant = Accountant(SeededNoise(0), 0.5, unit)
    values = np.arange(20.0).reshape(4, 5)
    noisy = accountant.k_norm("residuals", values, ball=3, sensitivity=1, epsilon=0.5)
    (spend,) = accountant.ledger
    assert (spend.epsilon, spend.sensitivity) == (0.5, unit.multiplier)
    assert spend.scale == unit.multiplier / 0.5
    noise = SeededNoise(0).k_norm("residuals", 1.0, (4, 5), 3)
    np.testing.assert_allclose(noisy, values + spend.scale * noise, rtol=1e-12)


def test_silence_has_no_k_norm_noise() -> None:
    assert not Silenced(SeededNoise(0)).k_norm("residuals", 5.0, (3, 4), 2).any()


def test_densities_of_neighbours_differ_by_no_more_than_epsilon() -> None:
    # The log density is -norm / scale, so by the triangle inequality it changes by at most the norm
    # of the difference.
    rng = np.random.default_rng(0)
    for unit in (Neighbours(), Neighbours(cap=4)):
        scale = unit.multiplier / 0.7
        noise = scale * unit_k_norm(rng, (2000, 6), 4)
        change = rng.normal(size=(2000, 6))
        change *= unit.multiplier / k_norm(change, 4)[:, None]
        loss = np.abs(k_norm(noise + change, 4) - k_norm(noise, 4)) / scale
        assert 0.5 < loss.max() <= 0.7 * (1 + 1e-9)


# -- in a release ------------------------------------------------------------------------------


def bits_in_pieces(seed: int, digits: int) -> Callable[[int], int]:
    """Random bits for which the n-th new number has the same digits for every size of request."""
    streams: list[Random] = []

    def draw(size: int) -> int:
        assert size in (1, digits)
        streams.append(Random(seed * 1000 + len(streams)))
        return streams[-1].getrandbits(size) if size == 1 else take(streams[-1], size)

    return draw


def take(stream: Random, size: int) -> int:
    """First bits of a stream; a longer request begins with the bits of a shorter request."""
    found = 0
    for _ in range(size):
        found = (found << 1) | stream.getrandbits(1)
    return found


@pytest.mark.parametrize(("entries", "ball"), [(2, 3), (2, 8), (4, 0)])
def test_more_digits_give_the_same_numbers(entries: int, ball: int) -> None:
    # At this scale no further digits are requested, so the rows of both calls must be equal.
    for seed in range(30):
        few, many = (
            k_norm_row(
                Fraction(2**12), entries, ball, digits=digits, draw=bits_in_pieces(seed, digits)
            )
            for digits in (128, 640)
        )
        assert few == many


def test_numbers_that_few_digits_leave_open_get_more() -> None:
    asked: list[int] = []
    bits = Random(1)

    def draw(size: int) -> int:
        asked.append(size)
        return bits.getrandbits(size)

    # Noise with the scale 2^40 is known only up to many units, so 96 digits can't determine it.
    noise = np.array(
        [k_norm_row(Fraction(2**40), 2, 3, digits=96, draw=draw) for _ in range(400)], dtype=float
    )
    first = 6 + 2 + 3  # radius, entries, lengths of three pairs
    assert asked.count(96) > 400 * 1.9 * first
    norms = k_norm(noise / 2**40, 3)
    assert stats.kstest(norms, stats.gamma(5).cdf).pvalue > FALSE_ALARM


@pytest.mark.some(1)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_one_entry_is_rounded_laplace_noise(scale: Fraction) -> None:
    # D = 1: the whole number nearest to Lap(scale), whose probabilities are simple.
    bits = Random(3).getrandbits
    noise = np.array([k_norm_row(scale, 1, 0, draw=bits)[0] for _ in range(20_000)])
    wide = 25
    law = stats.laplace(scale=float(scale))
    edges = np.arange(-wide, wide + 2) - 0.5
    chances = np.diff(law.cdf(edges))
    found = np.bincount(np.clip(noise, -wide, wide) + wide, minlength=len(chances))
    enough = chances * len(noise) > 5
    chances[~enough], rest = 0.0, 1 - chances[enough].sum()
    expected = np.append(chances[enough], rest) * len(noise)
    observed = np.append(found[enough], found[~enough].sum())
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 3.0])
def test_release_pays_its_own_certificate_within_the_budget(epsilon: float) -> None:
    unit = Neighbours(relation="replace_one", cap=2)
    secure = SecureAccountant(epsilon, unit, unit=LATTICE)
    values = np.zeros((5, 6))
    for part in (0.3, 0.7):
        noisy = secure.k_norm(
            f"residuals {part}", values, ball=4, sensitivity=1, epsilon=part * epsilon
        )
        assert (np.mod(noisy / LATTICE, 1) == 0).all()
        assert len(np.unique(noisy)) == noisy.size
    assert secure.certified <= epsilon
    assert secure.certified == pytest.approx(epsilon, rel=1e-12)
    for spend in secure.certificates:
        assert (spend.mechanism, spend.unit, spend.sensitivity) == (ROUNDED, LATTICE, 4)
        assert spend.scale == pytest.approx(4 / spend.certified, rel=1e-12)
    with pytest.raises(PrivacyRefusal, match="left"):
        secure.k_norm("more", values, ball=4, sensitivity=1, epsilon=epsilon)


def test_release_refuses_values_off_the_lattice() -> None:
    secure = SecureAccountant(1.0, unit=LATTICE)
    with pytest.raises(PrivacyRefusal, match="not whole multiples"):
        secure.k_norm("residuals", np.full((1, 3), 1e-9), ball=2, sensitivity=1, epsilon=1.0)
    assert not secure.ledger.spends


def test_release_has_the_law_of_the_explorer() -> None:
    secure = SecureAccountant(0.5, unit=LATTICE)
    noise = secure.k_norm("residuals", np.zeros((2000, 7)), ball=5, sensitivity=1, epsilon=0.5)
    assert stats.kstest(k_norm(noise, 5) * 0.5, stats.gamma(7).cdf).pvalue > FALSE_ALARM

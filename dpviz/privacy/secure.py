"""Noise for releases, by OpenDP: it has no seed, is exact, and OpenDP's privacy map certifies it.

Floating-point Laplace noise reveals the true value through its last bits (Mironov 2012). Here all
values are whole multiples of a public unit. They get discrete Laplace noise as integers, and are
converted back. Counts have the unit 1. Sums of scaled records have the unit 2^-20; records are
first truncated to its multiples (:func:`on_lattice`), so sums are exact in any order. OpenDP has no
K-norm noise; :mod:`dpviz.privacy.rounded` has this noise and its proof.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Ints, Mask
from dpviz.base.errors import InputError, PrivacyRefusal
from dpviz.grid.counts import MAX_EXACT
from dpviz.privacy.ledger import Composition, Neighbours, Spend, check_epsilon, composed
from dpviz.privacy.mechanisms import Accountant, Gradual, Level, Numbers
from dpviz.privacy.rounded import k_norm_row

if TYPE_CHECKING:
    from opendp.mod import Domain, Measurement

#: Unit for k-means: a power of 2, so that the conversion to integers and back is exact.
LATTICE = 2.0**-20

#: Number of candidates on a line; their noisy maximum takes about 20 ms.
CANDIDATES = 2**14

#: Names of the noise mechanisms that are not OpenDP's own.
ROUNDED, NESTED = "rounded K-norm", "nested discrete Laplace"

#: Number of scales to try, each slightly larger than the previous scale; two have always sufficed.
_HAIRS = 4

#: Noise of this scale would exceed the 64-bit integers of the sampler.
WIDEST = 2**60


@dataclass(frozen=True, kw_only=True)
class CertifiedSpend(Spend):
    """A spend with its certificate from OpenDP's privacy map.

    ``certified``: epsilon that this map returns for ``sensitivity``; rounded up, at most
    ``epsilon``. For rounded K-norm noise, it is sensitivity / scale. ``unit``: spacing of the
    values.
    """

    certified: float
    mechanism: str
    unit: float


class SecureAccountant(Accountant):
    """An accountant whose noise may be published; methods need no change to use it.

    The privacy map covers only the noise: the method must prove the ``sensitivity``. The certified
    epsilon never exceeds the budget, not even by rounding. All values must be whole multiples of
    ``unit``, a power of 2: 1 for counts, ``LATTICE`` for sums of records. Nested releases take only
    counts.
    """

    def __init__(
        self, epsilon: float, neighbours: Neighbours | None = None, *, unit: float = 1.0
    ) -> None:
        super().__init__(_Unseeded(), check_epsilon(epsilon), neighbours)
        if not (0 < unit <= 1 and math.frexp(unit)[0] == 0.5):
            raise InputError(f"unit = {unit:g} is not a power of 2 up to 1: give 1 or 2**-20.")
        self.unit = unit

    @property
    def certificates(self) -> tuple[CertifiedSpend, ...]:
        """All spends so far, each with a certificate."""
        return tuple(spend for spend in self._spends if isinstance(spend, CertifiedSpend))

    @property
    def certified(self) -> float:
        """Total epsilon that the privacy maps certify for all spends so far; at most the budget."""
        return _above(_total(self._spends))

    def laplace(self, step: str, values: Numbers, *, sensitivity: float, epsilon: float) -> Floats:
        """Discrete Laplace mechanism: adds noise to whole multiples of the unit.

        x units have a probability proportional to exp(-abs(x) epsilon / sensitivity), with the
        sensitivity in units (Ghosh, Roughgarden, Sundararajan 2012; sampled by Canonne, Kamath,
        Steinke 2020). Also raises PrivacyRefusal if values are not multiples of the unit.
        """
        whole = self._whole(step, values)
        measurement = self._pay(step, sensitivity, epsilon, _LAPLACE, "sequential")
        return self._noisy(measurement, whole)

    def laplace_disjoint(
        self, step: str, values: Floats, *, sensitivity: float, epsilons: Floats
    ) -> Floats:
        """Discrete Laplace noise on disjoint rows; see :meth:`Accountant.laplace_disjoint`."""
        whole = self._whole(step, values)
        with self._all_or_nothing():
            paid = [
                self._pay(step, sensitivity, float(epsilon), _LAPLACE, "parallel")
                for epsilon in epsilons
            ]
        rows = [self._noisy(*pair) for pair in zip(paid, whole, strict=True)]
        return np.array(rows).reshape(whole.shape)

    def gradual(
        self, values: NDArray[np.number], levels: Sequence[Level], *, sensitivity: float
    ) -> Gradual:
        """Gradual release of whole numbers, for any unit; exact at every level.

        The finest level has OpenDP's noise. For each coarser level, a coin with exactly the
        required probability (:func:`coins`) decides whether OpenDP's noise of this level is added.
        So each level has exactly OpenDP's distribution.
        """
        self._whole(levels[0].step, values, 1.0)
        return self._certified(super().gradual(values, levels, sensitivity=sensitivity), 0)

    def _spend_on(self, gradual: Gradual, level: int, composition: Composition) -> float:
        part = super()._spend_on(gradual, level, composition)
        self._certified(gradual, level)
        return part

    def _beside(self, step: str, numbers: Numbers, sensitivity: float, epsilon: float) -> Floats:
        whole = self._whole(step, numbers)
        return self._noisy(self._pay(step, sensitivity, epsilon, _LAPLACE, "parallel"), whole)

    def _certified(self, gradual: Gradual, level: int) -> Gradual:
        """Add the certificate to the latest spend; the privacy maps certify each level's budget."""
        # The levels' budgets differ by exact doubles, so the payments for a level sum to its
        # budget.
        spend, change = self._spends.pop(), self._units(gradual.sensitivity, 1.0)
        self._certify(spend, change, gradual.scales[level], spend.epsilon, NESTED, 1.0)
        return gradual

    def _certify(
        self, spend: Spend, change: float, scale: float, certified: float, name: str, unit: float
    ) -> None:
        known = vars(spend) | {"sensitivity": change, "scale": scale}
        one = CertifiedSpend(**known, certified=certified, mechanism=name, unit=unit)
        self._spends.append(one)

    def _units(self, sensitivity: float, unit: float | None = None) -> int:
        return math.ceil(sensitivity * self._changed / (unit or self.unit))

    def _check_levels(self, levels: Sequence[Level]) -> None:
        """Also refuse a last level that exceeds the budget only by rounding."""
        super()._check_levels(levels)
        if Fraction(levels[-1].epsilon) > Fraction(self.budget) - _total(self._spends):
            raise PrivacyRefusal(
                f"step {levels[-1].step} asks for epsilon {levels[-1].epsilon:g} in total, which "
                f"is more than what is left of {self.budget:g}."
            )

    def _scales(self, levels: Sequence[Level], sensitivity: float) -> list[float]:
        change = self._units(sensitivity, 1.0)
        return [
            _calibrated(level.step, _LAPLACE, change, Fraction(level.epsilon))[1]
            for level in levels
        ]

    def _chain(
        self, values: NDArray[np.number], levels: Sequence[Level], scales: Sequence[float]
    ) -> tuple[Floats, ...]:
        """All releases, from the coarsest to the finest, with new noise and coins."""
        whole = self._whole(levels[0].step, values, 1.0)
        # Use Python's integers, because sums of noise are exact at any size.
        noisy = self._drawn(_LAPLACE.build(scales[-1]), whole)
        found = [noisy]
        for coarse, fine in zip(scales[-2::-1], scales[:0:-1], strict=True):
            moves = ~self._coins(coarse, fine, noisy.size).reshape(noisy.shape)
            noisy = noisy.copy()
            noisy[moves] += self._drawn(_LAPLACE.build(coarse), np.zeros_like(whole[moves]))
            found.append(noisy)
        return tuple(one.astype(float) for one in reversed(found))

    def _coins(self, coarse: float, fine: float, size: int) -> Mask:
        return coins(coarse, fine, size)

    def k_norm(
        self, step: str, values: Floats, *, ball: int, sensitivity: float, epsilon: float
    ) -> Floats:
        """K-norm mechanism on whole multiples of the unit, see :meth:`Accountant.k_norm`.

        Noise is the multiple nearest to a real vector (:func:`dpviz.privacy.rounded.k_norm_row`).
        This equals rounding of the real noisy values, which is post-processing.
        """
        whole = self._whole(step, values)
        left = Fraction(self.budget) - _total(self._spends)
        self._spend(step, sensitivity, epsilon, 1.0, "sequential")
        spend, change = self._spends.pop(), self._units(sensitivity)
        cost = Fraction(_below(min(Fraction(epsilon), left)))
        if cost <= 0:
            raise _nothing_left(step, epsilon, self.budget)
        scale = float(change / cost) * self.unit
        self._certify(spend, change * self.unit, scale, float(cost), ROUNDED, self.unit)
        columns = whole.shape[1]
        noise = [k_norm_row(change / cost, columns - ball, ball) for _ in whole]
        return np.array(whole + np.array(noise, dtype=object), dtype=float) * self.unit

    def choose(
        self, step: str, scores: Floats, *, sensitivity: float, epsilon: float,
        monotone: bool = False,
    ) -> int:  # fmt: skip
        """Permute and flip (McKenna, Sheldon 2020) over a list of public candidates.

        Never worse than the exponential mechanism with the same epsilon. Scores are whole multiples
        of the unit. The score -infinity excludes a candidate; all excluded candidates must be
        public.
        """
        possible = np.flatnonzero(scores != -np.inf)
        whole = self._whole(step, scores[possible])
        mechanism = _MONOTONE_MAX if monotone else _MAX
        measurement = self._pay(step, sensitivity, epsilon, mechanism, "sequential")
        return int(possible[measurement(whole)])

    def interval(
        self, step: str, edges: Floats, scores: Floats, *, sensitivity: float, epsilon: float
    ) -> tuple[int, float]:
        """Permute and flip over evenly spaced points on a line; see :meth:`Accountant.interval`.

        The first and the last edge must be public; candidates do not depend on the other edges.
        """
        candidates = on_line(float(edges[0]), float(edges[-1]))
        # Interval i contains edge i + 1 but not edge i.
        intervals = np.clip(np.searchsorted(edges, candidates) - 1, 0, len(scores) - 1)
        chosen = self.choose(step, scores[intervals], sensitivity=sensitivity, epsilon=epsilon)
        return int(intervals[chosen]), float(candidates[chosen])

    def _whole(self, step: str, values: Numbers, unit: float | None = None) -> Ints:
        unit = unit or self.unit
        exact = np.asarray(values, dtype=float) / unit
        # This condition also refuses NaN and infinity.
        if not (np.isfinite(exact) & (exact == np.rint(exact))).all():
            raise PrivacyRefusal(
                f"step {step} can't be released: its values are not whole multiples of "
                f"{unit:g}, and only whole multiples get secure noise."
            )
        # Clipping does not increase a difference; a refusal would reveal a record.
        return np.clip(exact, -MAX_EXACT, MAX_EXACT).astype(np.int64)

    def _noisy(self, measurement: Measurement, whole: Ints) -> Floats:
        return np.asarray(self._drawn(measurement, whole).astype(float) * self.unit)

    def _drawn(self, measurement: Measurement, whole: Ints) -> NDArray[np.object_]:
        """Add noise and return Python integers; OpenDP accepts only one axis."""
        return np.array(measurement(whole.ravel()), dtype=object).reshape(whole.shape)

    def _pay(
        self,
        step: str,
        sensitivity: float,
        epsilon: float,
        mechanism: _Mechanism,
        composition: Composition,
    ) -> Measurement:
        # Epsilons that should sum to the budget may exceed it by rounding: reduce the last one.
        left = Fraction(self.budget) - _total(self._spends, (step, composition))
        self._spend(step, sensitivity, epsilon, mechanism.factor, composition)
        spend, change = self._spends.pop(), self._units(sensitivity)
        if left <= 0:
            raise _nothing_left(step, epsilon, self.budget)
        measurement, scale, certified = _calibrated(
            step, mechanism, change, min(Fraction(epsilon), left)
        )
        noise, unit = scale * self.unit, self.unit
        self._certify(spend, change * unit, noise, certified, mechanism.name, unit)
        return measurement


def coins(
    coarse: float, fine: float, size: int, entropy: Callable[[int], bytes] = os.urandom
) -> Mask:
    """Sample coins with exactly the probability that a coarser release equals the finer release.

    A random number in [0, 1) is compared with this probability, 64 bits at a time, as long as all
    bits are equal. Scales are exact doubles; ``entropy`` returns random bytes.
    """
    found, open_ = np.zeros(size, dtype=bool), np.arange(size)
    for words in range(1, _WORDS):
        if not open_.size:
            return found
        word = stay_bits(coarse, fine, words) % 2**64
        drawn = np.frombuffer(entropy(8 * open_.size), dtype="<u8")
        found[open_] = drawn < word
        open_ = open_[drawn == word]
    raise PrivacyRefusal("the system's random numbers repeat themselves: nothing can be released.")


#: Largest number of 64-bit words of a coin; a second word is needed once in 10^19 coins.
_WORDS = 16


def stay_bits(coarse: float, fine: float, words: int) -> int:
    """First 64 * ``words`` bits of the probability :func:`dpviz.privacy.mechanisms.stay_chance`.

    Decimal operations have a relative error below 10^-digits; digits are added until both ends of
    the error interval have the same bits. If scales are equal, all bits are 1.
    """
    if coarse == fine:
        return int(2 ** (64 * words) - 1)
    digits = 40 + 20 * words
    while True:
        with localcontext(Context(prec=digits)) as context:
            context.Emin, context.Emax = -(10**17), 10**17
            chance = (_sinh_of_half(coarse) / _sinh_of_half(fine)) ** 2
            # Two of the twelve operations are differences, which lose at most 25 digits.
            error = Decimal(10) ** (30 - digits)
            ends = [chance * (1 + sign * error) * 2 ** (64 * words) for sign in (-1, 1)]
        low, high = (int(end) for end in ends)
        if low == high and 0 <= low < 2 ** (64 * words):
            return low
        digits *= 2


def _sinh_of_half(scale: float) -> Decimal:
    half = 1 / (2 * Decimal(scale))
    return ((2 * half).exp() - 1) / half.exp()  # twice the value of sinh


def on_lattice(points: Floats) -> Floats:
    """Truncate scaled records (n, d) to multiples of ``LATTICE``, each coordinate towards 0.

    Each record is separate, so neighbours stay neighbours. No norm becomes larger, so box, cube and
    L1 ball keep their sensitivities. A record moves by less than 1e-6 per axis; sums are exact
    below 2^33.
    """
    return np.asarray(np.trunc(points / LATTICE) * LATTICE)


def on_line(low: float, high: float) -> Floats:
    """``CANDIDATES`` evenly spaced numbers; the first is above ``low``, the last is ``high``."""
    if not (math.isfinite(high - low) and high > low):
        raise InputError(f"candidates = {low:g} to {high:g}: give a lower and a higher end.")
    places = low + (high - low) / CANDIDATES * np.arange(1, CANDIDATES + 1)
    # Rounding must not exceed the upper end.
    return np.asarray(np.minimum(places, high))


def _nothing_left(step: str, epsilon: float, budget: float) -> PrivacyRefusal:
    return PrivacyRefusal(
        f"step {step} asks for epsilon {epsilon:g}, but nothing of {budget:g} is left."
    )


class _Unseeded:
    """Randomness outside the mechanisms; new in each call, from the system's entropy."""

    def generator(self, step: str) -> np.random.Generator:
        return np.random.default_rng()

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        raise PrivacyRefusal(
            f"step {step} draws noise without the accountant, so it can't be released."
        )

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        return self.laplace(step, 1.0, shape)

    gumbel = laplace

    def k_norm(self, step: str, scale: float, shape: tuple[int, int], ball: int) -> Floats:
        return self.laplace(step, scale, shape)


@dataclass(frozen=True)
class _Mechanism:
    """A mechanism of OpenDP: its name, its constructor, and its scale * epsilon / sensitivity."""

    name: str
    build: Callable[[float], Measurement]
    factor: float


def _discrete_laplace(scale: float) -> Measurement:
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    return make_laplace(_integers(), l1_distance(T="i64"), scale=scale)


def _noisy_max(scale: float, *, monotone: bool) -> Measurement:
    """Number of the highest noisy score, for the L-infinity distance between neighbours' scores."""
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance

    # Monotone: the factor is 1, as in :meth:`Accountant.choose`; the map of an exchange is linear.
    metric = linf_distance(T="i64", monotonic=monotone)
    return make_noisy_max(_integers(), metric, max_divergence(), scale=scale)


def _integers() -> Domain:
    """Vectors of 64-bit integers. OpenDP is imported here because its import is slow."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))


_LAPLACE = _Mechanism("discrete Laplace", _discrete_laplace, 1.0)
_MAX = _Mechanism("permute and flip", partial(_noisy_max, monotone=False), 2.0)
_MONOTONE_MAX = _Mechanism("permute and flip", partial(_noisy_max, monotone=True), 1.0)


def _calibrated(
    step: str, mechanism: _Mechanism, change: int, epsilon: Fraction
) -> tuple[Measurement, float, float]:
    """Measurement with the least noise that is certified for epsilon; scale; certified epsilon."""
    scale = mechanism.factor * change / float(epsilon)
    if not (change < WIDEST and scale < WIDEST):
        raise PrivacyRefusal(
            f"step {step} needs noise of scale {scale:g} at sensitivity {change:g}, which 64-bit "
            "integers can't store: raise epsilon or lower the sensitivity."
        )
    for _ in range(_HAIRS):
        measurement = mechanism.build(scale)
        certified = float(measurement.map(change))  # type: ignore[no-untyped-call]
        if certified <= epsilon:
            return measurement, scale, certified
        # The privacy map rounds up: 1/0.7 gives 0.7000000000000001. So use slightly more noise.
        scale = math.nextafter(scale, math.inf)
    raise PrivacyRefusal(
        f"step {step} can't be released: OpenDP certifies epsilon {certified:g} for it instead "
        f"of {float(epsilon):g}."
    )


def _total(spends: Iterable[Spend], apart: tuple[str, Composition] | None = None) -> Fraction:
    """Certified epsilon of all spends, composed as on the ledger, but without rounding."""
    costs = (
        (spend, Fraction(spend.certified if isinstance(spend, CertifiedSpend) else spend.epsilon))
        for spend in spends
        if spend.composition == "sequential" or apart != (spend.step, "parallel")
    )
    return composed(costs, Fraction())


def _above(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def _below(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)

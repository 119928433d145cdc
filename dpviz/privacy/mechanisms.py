"""The mechanisms of all methods; each records its spend. Releases use :mod:`.secure`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Mask
from dpviz.base.errors import PrivacyRefusal
from dpviz.privacy.ledger import Composition, Ledger, Neighbours, Spend
from dpviz.privacy.noise_source import NoiseSource

#: Values to which noise is added.
Numbers = NDArray[np.number] | float


class Level(NamedTuple):
    """One of several nested releases: the step that records its spend, and its total budget."""

    step: str
    epsilon: float


@dataclass(kw_only=True, eq=False, repr=False)
class Gradual:
    """Gradual releases of the same values; at first, only the coarsest release is paid for.

    ``noisy`` is the release of level ``known``, the finest paid level. Only the accountant may read
    ``values`` and ``releases``. ``closed``: they were split, so no finer release is possible.
    """

    levels: tuple[Level, ...]
    sensitivity: float
    noisy: Floats
    scales: Sequence[float]
    values: NDArray[np.number]
    releases: tuple[Floats, ...]
    known: int = 0
    closed: bool = False


class Accountant:
    """Adds noise only together with a spend on the ledger, and refuses spends over budget.

    ``epsilon`` is the whole budget. ``sensitivity`` bounds the L1 change of the values if a record
    is added or removed; mechanisms multiply it for other neighbours. They raise PrivacyRefusal if
    the budget does not suffice. ``step`` names the spend and the noise stream.
    """

    def __init__(
        self, noise: NoiseSource, epsilon: float, neighbours: Neighbours | None = None
    ) -> None:
        self.noise = noise
        self.budget = epsilon
        self.neighbours = neighbours or Neighbours()
        self._spends: list[Spend] = []
        self._changed = self.neighbours.multiplier

    @property
    def ledger(self) -> Ledger:
        """Spends so far."""
        return Ledger(tuple(self._spends), self.neighbours)

    def hide(self, changed: int) -> None:
        """Add the noise for ``changed`` records in all further steps, for any neighbours.

        This is for published variants whose paper uses another number; their card says that the
        claim fails.
        """
        self._changed = changed

    def laplace(self, step: str, values: Numbers, *, sensitivity: float, epsilon: float) -> Floats:
        """Laplace mechanism (Dwork 2006): adds Lap(sensitivity / epsilon) to each value."""
        scale = self._spend(step, sensitivity, epsilon, 1.0, "sequential")
        return self._add_laplace(step, np.asarray(values, dtype=float), scale)

    def _add_laplace(self, step: str, exact: Floats, scale: float) -> Floats:
        return exact + self.noise.laplace(step, scale, exact.shape)

    def laplace_disjoint(
        self, step: str, values: Floats, *, sensitivity: float, epsilons: Floats
    ) -> Floats:
        """Laplace mechanism on rows (K, m) that depend on disjoint records, with budgets (K,).

        Row k gets Lap(sensitivity / epsilon_k); the cost is the largest budget (parallel
        composition). This also holds for neighbours that differ in m records of different rows:
        scales are m times as large, and the cost is the sum of m_k epsilon_k / m if m_k records
        change row k.
        """
        with self._all_or_nothing():
            scales = [
                self._spend(step, sensitivity, float(epsilon), 1.0, "parallel")
                for epsilon in epsilons
            ]
        return self._add_disjoint(step, values, np.array(scales)[:, None])

    def _add_disjoint(self, step: str, values: Floats, scales: Floats) -> Floats:
        return np.asarray(values + scales * self.noise.laplace(step, 1.0, values.shape))

    def gradual(
        self, values: NDArray[np.number], levels: Sequence[Level], *, sensitivity: float
    ) -> Gradual:
        """Gradual release (Koufogiannis, Han, Pappas 2015) of whole numbers.

        Level k is the values plus two-sided geometric noise, P(x) proportional to exp(-abs(x)
        epsilon_k / sensitivity). It is a random function of only the next finer level, so all
        levels together cost as much as the finest. This call pays for the coarsest level,
        :meth:`finer` for finer levels. Budgets (coarsest first) are rounded down to multiples of
        the floating-point spacing at the last budget, so that differences are exact. Raises
        PrivacyRefusal if the budget does not suffice for the finest level.
        """
        levels = exact_levels(levels)
        self._check_levels(levels)
        with self._all_or_nothing():
            self._spend(levels[0].step, sensitivity, levels[0].epsilon, 1.0, "sequential")
            scales = self._scales(levels, sensitivity)
        releases = self._chain(values, levels, scales)
        return Gradual(
            levels=levels,
            sensitivity=sensitivity,
            noisy=releases[0],
            scales=scales,
            values=values,
            releases=releases,
        )

    def finer(self, gradual: Gradual, level: int) -> Floats:
        """Pay for release number ``level``: its budget minus the budget that is paid so far."""
        self._spend_on(gradual, level, "sequential")
        gradual.known, gradual.noisy = level, gradual.releases[level]
        return gradual.noisy

    def split(self, gradual: Gradual, where: Mask, numbers: Numbers) -> tuple[Floats, Floats]:
        """Finest release of the values in ``where``; of the other values, only noisy numbers.

        ``where`` comes from earlier releases. ``numbers`` are whole numbers that one record changes
        by at most the sensitivity (L1), and only if it changes a value outside ``where``. Both are
        parallel: together they cost the difference of the budgets, and no finer release can follow.
        For neighbours that differ in m records, noise is m times as large. If m_1 records change
        values in ``where`` and m_2 change others, the cost is (m_1 + m_2) / m of the difference.
        """
        with self._all_or_nothing():
            part = self._spend_on(gradual, len(gradual.levels) - 1, "parallel")
            noisy = self._beside(gradual.levels[-1].step, numbers, gradual.sensitivity, part)
            # A second split costs as much again, but parallel spends don't add up.
            gradual.closed = True
        return gradual.releases[-1][where], noisy

    def _beside(self, step: str, numbers: Numbers, sensitivity: float, epsilon: float) -> Floats:
        scale = self._spend(step, sensitivity, epsilon, 1.0, "parallel")
        return self._add_laplace(step, np.asarray(numbers, dtype=float), scale)

    def _spend_on(self, gradual: Gradual, level: int, composition: Composition) -> float:
        step, epsilon = gradual.levels[level]
        if gradual.closed:
            raise PrivacyRefusal(f"step {step} was split before: no finer release is possible.")
        part = epsilon - gradual.levels[gradual.known].epsilon
        self._spend(step, gradual.sensitivity, part, part / epsilon, composition)
        return part

    def _check_levels(self, levels: Sequence[Level]) -> None:
        budgets = [level.epsilon for level in levels]
        if any(fine <= coarse for coarse, fine in pairwise(budgets)):
            raise PrivacyRefusal(
                f"step {levels[0].step} has nested budgets {budgets}: each must be greater than "
                "the previous one."
            )
        left = self.budget - self.ledger.epsilon
        if not budgets[-1] <= left + 1e-9 * self.budget:
            raise PrivacyRefusal(
                f"step {levels[-1].step} asks for epsilon {budgets[-1]:g} in total, but only "
                f"{left:g} of {self.budget:g} is left."
            )

    def _scales(self, levels: Sequence[Level], sensitivity: float) -> list[float]:
        return [sensitivity * self._changed / level.epsilon for level in levels]

    def _chain(
        self, values: NDArray[np.number], levels: Sequence[Level], scales: Sequence[float]
    ) -> tuple[Floats, ...]:
        """All releases, from the coarsest to the finest; each level has a separate noise stream."""
        noisy, found = np.asarray(values, dtype=float), list[Floats]()
        for number in reversed(range(len(levels))):
            stream = f"{levels[0].step}, level {number}"
            noise = geometric(self.noise.laplace(stream, 1.0, noisy.shape), scales[number])
            if found:
                coins = self.noise.uniform(f"{stream}, coins", noisy.shape)
                noise[coins < stay_chance(scales[number], scales[number + 1])] = 0.0
            noisy = noisy + noise
            found.append(noisy)
        return tuple(reversed(found))

    def k_norm(
        self, step: str, values: Floats, *, ball: int, sensitivity: float, epsilon: float
    ) -> Floats:
        """K-norm mechanism (Hardt, Talwar 2010) on rows (m, D) that depend on disjoint records.

        Noise z has a density proportional to exp(-epsilon * norm(z) / sensitivity), with the norm
        :func:`k_norm`. One record changes one row: the last ``ball`` columns by a vector of bounded
        length, and each other column by a bounded amount.
        """
        scale = self._spend(step, sensitivity, epsilon, 1.0, "sequential")
        return self._add_k_norm(step, values, scale, ball)

    def _add_k_norm(self, step: str, values: Floats, scale: float, ball: int) -> Floats:
        rows, columns = values.shape
        return np.asarray(values + self.noise.k_norm(step, scale, (rows, columns), ball))

    def choose(
        self, step: str, scores: Floats, *, sensitivity: float, epsilon: float,
        monotone: bool = False,
    ) -> int:  # fmt: skip
        """Choose a public candidate by its score (m,), with Gumbel noise (exponential mechanism).

        One record changes each score by at most ``sensitivity``. If it moves all scores in one
        direction (``monotone``), half the noise suffices. This holds for an exchange, too, which
        removes and adds a record, each at half the budget.
        """
        factor = 1.0 if monotone else 2.0
        scale = self._spend(step, sensitivity, epsilon, factor, "sequential")
        return self._highest(step, scores, scale)

    def _highest(self, step: str, scores: Floats, scale: float) -> int:
        return int(np.argmax(scores + self.noise.gumbel(step, scale, scores.shape)))

    def interval(
        self, step: str, edges: Floats, scores: Floats, *, sensitivity: float, epsilon: float
    ) -> tuple[int, float]:
        """Exponential mechanism (McSherry, Talwar 2007) over a line that is split into intervals.

        Edges (m + 1,) ascend; one record changes the score (m,) of each point by at most
        ``sensitivity``. Returns the interval (private: it reveals the rank in the true data) and a
        uniform point of it.
        """
        scale = self._spend(step, sensitivity, epsilon, 2.0, "sequential")
        return self._point(step, edges, scores, scale)

    def _point(self, step: str, edges: Floats, scores: Floats, scale: float) -> tuple[int, float]:
        cumulated = np.cumsum(interval_weights(edges, scores, scale))
        pick, place = self.noise.uniform(step, (2,))
        index = int(np.searchsorted(cumulated, pick * cumulated[-1], side="right"))
        # Rounding must not return the lower end, which belongs to the interval below.
        low, high = edges[index], edges[index + 1]
        return index, float(max(high - place * (high - low), np.nextafter(low, np.inf)))

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Remove all spends of the block if one spend is refused, since no noise was drawn yet."""
        before = len(self._spends)
        try:
            yield
        except PrivacyRefusal:
            del self._spends[before:]
            raise

    def _spend(
        self, step: str, sensitivity: float, epsilon: float, factor: float, composition: Composition
    ) -> float:
        if not (math.isfinite(epsilon) and epsilon > 0):
            raise PrivacyRefusal(
                f"step {step} asks for epsilon {epsilon:g}: only a finite number greater than 0 "
                "can be spent."
            )
        if not (math.isfinite(sensitivity) and sensitivity > 0):
            raise PrivacyRefusal(
                f"step {step} has sensitivity {sensitivity:g}: noise needs a finite number "
                "greater than 0."
            )
        changed = sensitivity * self._changed
        spend = Spend(
            step=step,
            epsilon=epsilon,
            sensitivity=changed,
            scale=factor * changed / epsilon,
            composition=composition,
        )
        after = Ledger((*self._spends, spend), self.neighbours)
        if after.epsilon > self.budget * (1 + 1e-9):
            raise PrivacyRefusal(
                f"step {step} asks for epsilon {epsilon:g}, but only "
                f"{self.budget - self.ledger.epsilon:g} of {self.budget:g} is left."
            )
        self._spends.append(spend)
        return spend.scale


def exact_levels(levels: Sequence[Level]) -> tuple[Level, ...]:
    """Round budgets down so that all their differences are exact in double precision."""
    last = math.ulp(levels[-1].epsilon)
    return tuple(
        level._replace(epsilon=math.floor(level.epsilon / last) * last) for level in levels
    )


def geometric(unit: Floats, scale: float) -> Floats:
    """Two-sided geometric noise, P(x) proportional to exp(-abs(x) / scale), from Laplace noise.

    Both numbers are the same quantile. So 0 gives 0, and noise grows smoothly with the scale.
    """
    # P(abs(x) >= k) = 2 q^k / (1 + q), q = exp(-1 / scale). Unit Laplace: P(abs(x) >= t) = e^-t.
    more = math.log(2) - math.log1p(math.exp(-1 / scale))
    noise: Floats = np.floor((np.abs(unit) + more) * scale)
    return np.copysign(noise, unit) + 0.0


def stay_chance(coarse: float, fine: float) -> float:
    """Probability that a coarser release equals the next finer release, by their noise scales.

    Two-sided geometric noise with parameter q has the characteristic function (1 - q)^2 / abs(1 - q
    e^it)^2. This function of the coarse noise, divided by that of the fine noise, is s + (1 - s)
    times the function of the coarse noise, with s = (sinh(1 / (2 coarse)) / sinh(1 / (2 fine)))^2.
    So no noise is added with probability s, otherwise the coarse release's noise.
    """
    return math.exp(2 * (_log_sinh(0.5 / coarse) - _log_sinh(0.5 / fine)))


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2 * x)) - math.log(2)


def k_norm(values: Floats, ball: int) -> Floats:
    """Norm of each row (m, D): its largest entry or, if larger, the length of the ``ball`` part."""
    entries = np.abs(values[:, : values.shape[1] - ball]).max(axis=1, initial=0.0)
    lengths = np.linalg.norm(values[:, values.shape[1] - ball :], axis=1)
    return np.asarray(np.maximum(entries, lengths))


def interval_weights(edges: Floats, scores: Floats, scale: float) -> Floats:
    """Weights of :meth:`Accountant.interval`: length * exp(score / scale), the largest is 1.

    ``scale`` is 2 * sensitivity / epsilon.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(np.diff(edges)) + scores / scale
    return np.asarray(np.exp(logs - logs.max()))

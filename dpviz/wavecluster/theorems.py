"""Bounds on k' from Theorems 4, 5 and 6 of Chen, Yu and Chirkova, as numbers for one true run.

The theorems (section 5.2; in one version 5.7, 5.9, 5.11) bound k', the rank of the private
threshold, for PrivQT, PrivTHR and PrivTHREM. The bounds are as printed, with the noise of the
actual run. They read the true data, so they are only for the owner's screen.

The theorems are stated for Haar. With other wavelets, noise of coefficients is not independent, and
negative coefficients turn positive less often, so the bounds are only a guide. ``gamma`` is known
for Haar, level 1, two columns. |L'_n| is set to its expected value theta, although it varies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.wavecluster.methods import METHODS
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Stages
from dpviz.wavecluster.threshold import positive_values
from dpviz.wavecluster.truth import Truth
from dpviz.wavecluster.wavelet import coefficient_weights, rank_of, sensitivity

#: Default failure probability of each part of a theorem.
OMEGA = 0.05

#: Number of the theorem for each technique that has a theorem, as numbered in the paper's text.
THEOREMS = {
    name: method.card.theorem for name, method in METHODS.items() if method.card.theorem is not None
}

#: Names of Haar's wavelet, for which the theorems are stated.
_HAAR = ("haar", "db1")

#: Largest error of a tail probability: half from the end of the sum, half from its step.
TAIL_ERROR = 1e-8


@dataclass(frozen=True, kw_only=True)
class KBounds:
    """A theorem's bounds on k' for one true run, as printed.

    ``promise``: proved least share of draws with k' between ``low`` and ``high``; NaN unless Haar.
    k' is at most ``most``. In Theorem 6, eta1 and eta2 are at least 0, since the proof needs this.
    ``theta``: E|L'_n|, number of positive coefficients that noise makes non-positive; NaN in
    Theorem 6. ``beta``: bound on the noise of |Z|/2 in Theorem 5. ``gamma``: width of the margin in
    W, NaN if not given. ``surplus``: (1 - p) |Z| / 2. All coefficients above ``sure_above`` and no
    coefficients below ``never_below`` are found significant; each claim has the probability
    ``printed``.
    """

    theorem: int
    omega: float
    promise: float
    low: float
    high: float
    most: int
    eta1: float
    eta2: float
    theta: float
    beta: float
    gamma: float
    surplus: float
    sure_above: float
    never_below: float
    largest: float

    @property
    def printed(self) -> float:
        """Lower bound in the paper on the probability of each of the two claims on cells."""
        # One factor for the end of k', one for noise on W; in Theorem 5, one more for noise on Z.
        return float((1 - self.omega) ** (3 if self.theorem == 5 else 2))

    @property
    def ends(self) -> tuple[int, int]:
        """Smallest and largest whole k' between the bounds, limited to possible values."""
        low = math.ceil(min(max(self.low, 0.0), self.most) - 1e-9)
        high = math.floor(min(max(self.high, 0.0), self.most) + 1e-9)
        return low, high

    @property
    def says(self) -> tuple[bool, bool]:
        """Whether the lower end, and the upper end, exclude some possible k'."""
        return self.low > 0, self.high < self.most

    @property
    def text(self) -> str:
        """Both ends in words, with a note on ends that exclude nothing."""
        low, high = self.ends
        below, above = self.says
        nothing = {
            (True, True): "",
            (False, True): " (the lower end says nothing)",
            (True, False): " (the upper end says nothing)",
            (False, False): " (says nothing: every k′ possible)",
        }[below, above]
        return f"Theorem {self.theorem}: {low:,} to {high:,}{nothing}"

    @property
    def promised(self) -> str:
        """Promise of the proof for both ends together, as a sentence; empty without a promise."""
        if math.isnan(self.promise):
            return "The theorem is stated for Haar: with this wavelet it promises nothing."
        return f"At least {self.promise:.0%} of all draws are inside." if any(self.says) else ""

    def inside(self, ranks: Floats) -> float:
        """Share of the draws with k' between both ends; NaN if there are no draws."""
        low, high = self.ends
        return float(np.mean((ranks >= low) & (ranks <= high))) if len(ranks) else math.nan


def k_bounds(truth: Truth, config: Config, omega: float = OMEGA) -> KBounds | None:
    """Bounds on k' from the theorem on a technique; None for a technique without a theorem.

    With several records or a larger sensitivity, the theorem holds with the smaller epsilon that
    gives this noise for one record. ``omega``: failure probability of each part, between 0 and 1.
    Chen, Yu, Chirkova, section 5.2, Theorems 4 to 6 (5.7, 5.9, 5.11).
    """
    theorem = THEOREMS.get(config.method)
    if theorem is None:
        return None
    true = truth.stages
    k, positive, empty = _rank(true), true.threshold.positive, true.threshold.nonpositive
    share = 1 - config.density
    counts = 1.0 if theorem == 4 else config.counts_share
    eps1 = counts * config.epsilon / config.neighbours.multiplier
    surplus = share * empty / 2
    theta, beta = math.nan, math.nan
    if theorem == 6:
        eta1, eta2 = _eta_of_draw(truth, config, omega)
        low, high, most, promise = k - eta1, k + eta2, positive, 1 - 2 * omega
    else:
        away = math.sqrt(empty * math.log(1 / omega) / 2)
        eta1, eta2 = empty / 2 - away, empty / 2 + away
        theta = lost(true, truth.source.shape, 1 / eps1)
        most, promise = rank_of(config.density, positive + empty), 1 - 2 * omega
        down, up = eta1 - theta, eta2 - theta
        if theorem == 5:
            beta = 2 / _second(truth, config) * math.log(1 / omega)
            down, up, promise = down - empty / 2 - beta, up - empty / 2 + beta, 1 - 3 * omega
        low, high = k + share * down, k + share * up
    printed_gamma = true.wavelet in _HAAR and true.level == 1 and true.average.ndim == 2
    gamma = 8 / eps1 * math.log(4 * true.average.size / omega) if printed_gamma else math.nan
    values = positive_values(true.average)
    promise = max(promise, 0.0) if true.wavelet in _HAAR else math.nan
    return KBounds(
        theorem=theorem, omega=omega, promise=promise, low=low,
        high=high, most=most, eta1=eta1, eta2=eta2, theta=theta, beta=beta, gamma=gamma,
        surplus=surplus, sure_above=_at_rank(values, low) + gamma,
        never_below=_at_rank(values, high) - gamma, largest=float(values.max(initial=0.0)),
    )  # fmt: skip


def _rank(true: Stages) -> int:
    assert true.threshold.k is not None  # noqa: S101 - only a private rank is secret
    return true.threshold.k


def _second(truth: Truth, config: Config) -> float:
    """Budget eps2 of the threshold that would give the same noise for one record and Haar."""
    bound = sensitivity(config.wavelet, config.level, truth.source.shape, config.density)
    sound = THEOREMS[config.method] == 6 and config.variant == "sound"
    changed = bound.rank if sound else bound.nonpositive
    left = config.epsilon - config.counts_share * config.epsilon
    return left / (changed * config.neighbours.multiplier)


def _eta_of_draw(truth: Truth, config: Config, omega: float) -> tuple[float, float]:
    true = truth.stages
    k, positive = _rank(true), true.threshold.positive
    if not positive:
        return math.inf, math.inf
    per_log = 2 / _second(truth, config)
    below = true.threshold.value
    above = float(true.average.max()) - below
    with np.errstate(divide="ignore"):
        ratio = float(np.log(above / below))  # minus infinity if W_k is the largest coefficient
    left = math.log(1 / omega)
    eta1 = positive - k - 1 + per_log * (ratio + left)
    eta2 = k - 2 + per_log * (-ratio + left)
    return max(eta1, 0.0), max(eta2, 0.0)


def _at_rank(values: Floats, rank: float) -> float:
    place = math.ceil(min(max(rank, 0.0), values.size + 1) - 1e-9)
    if place < 1:
        return math.inf
    return float(values[values.size - place]) if place <= values.size else 0.0


# -- theta -------------------------------------------------------------------------------


def lost(true: Stages, shape: tuple[int, ...], scale: float) -> float:
    """Theta = E|L'_n|, the expected number of positive coefficients that noise makes non-positive.

    It is the sum over L of P(noise of the cell <= -W_i), up to ``TAIL_ERROR`` per cell, for
    Lap(scale) on every count of a grid of this shape. Chen, Yu, Chirkova, section 5.2.1: the noise
    is a weighted sum of independent Lap(b). For Haar, level 1, two dimensions, four terms have
    weight 1/2. Cells at a padded end have fewer counts.
    """
    kinds = [coefficient_weights(true.wavelet, true.level, side) for side in shape]
    total = 0.0
    for combination in product(*(range(len(weights)) for weights, _ in kinds)):
        cells = true.average[
            np.ix_(*(kind == one for (_, kind), one in zip(kinds, combination, strict=True)))
        ]
        found, times = np.unique(cells[cells > 0], return_counts=True)
        if found.size:
            axes = tuple(w[one] for (w, _), one in zip(kinds, combination, strict=True))
            total += float(times @ tail(axes, found / scale))
    return total


def tail(axes: tuple[tuple[float, ...], ...], values: Floats) -> Floats:
    """P(sum of weights times independent Lap(1) <= -value), for values (m,) > 0.

    Weights are all products of one positive weight of each axis. One weight gives the Laplace
    distribution; otherwise the characteristic function is integrated (Davies 1973) up to
    ``TAIL_ERROR``.
    """
    if math.prod(map(len, axes)) == 1:
        weight = math.prod(one for (one,) in axes)
        return np.asarray(0.5 * np.exp(-values / weight))
    reach, nodes, factors = _integral(axes)
    found = np.zeros(len(values))
    near = values < reach
    found[near] = 0.5 - np.sin(np.outer(values[near], nodes)) @ factors
    return np.clip(found, 0.0, 0.5)


@lru_cache(maxsize=4096)
def _integral(axes: tuple[tuple[float, ...], ...]) -> tuple[float, Floats, Floats]:
    weights = np.sort([math.prod(one) for one in product(*axes)])
    # Chernoff bound: P(N > x) <= E[exp(s N)] exp(-s x), with the best of several s.
    rates = np.linspace(0, 1, 102)[1:-1] / weights[-1]
    moments = np.array([-np.log1p(-((rate * weights) ** 2)).sum() for rate in rates])
    reach = float(np.min((moments + math.log(4 / TAIL_ERROR)) / rates))
    end = 1 / weights[-2]
    # Above the inverses of the two largest weights, the integrand falls at least like t^-5.
    while _characteristic(weights, end) > TAIL_ERROR:
        end *= 1.25
    # Copies of the distribution, a step apart, must not reach values up to ``reach``.
    step = math.pi / reach
    nodes = (np.arange(math.ceil(end / step)) + 0.5) * step
    heights = np.array([_characteristic(weights, node) for node in nodes])
    factors = heights / (np.pi * (np.arange(len(nodes)) + 0.5))
    return reach, nodes, factors


def _characteristic(weights: Floats, node: float) -> float:
    return math.exp(-float(np.log1p((node * weights) ** 2).sum()))

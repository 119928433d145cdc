"""Lower bound on epsilon from the scores of many runs on two neighbouring data sets.

The first half of the runs chooses one event: score, threshold, tail, and the data set that shows it
more. The second half tests the event once. Only a bound above the claim proves something.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from dpviz.base.arrays import Floats, Indices
from dpviz.base.lazy import special

Sign = Literal[">=", "<=", "==", "!="]

_COMPARE: dict[Sign, Callable[..., Any]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip

SIGNS = tuple(_COMPARE)

#: Confidence of a bound, for both shares together; and the error probability of each share.
CONFIDENCE = 0.99
_ERROR = (1 - CONFIDENCE) / 2

#: Decimals of a score; more would show NumPy's grid of floats, which exact mechanisms don't have.
DECIMALS = 6

#: The best of thousands of rare events is often best by chance. So the choice compares bounds with
#: an error that is smaller by this factor; such bounds prefer more frequent events.
CAUTION = 10

#: A loss is called visible if the runs show it with this probability.
POWER = 0.9

#: Minimum number of runs on each data set; with fewer runs, even the best bound is small.
FEWEST = 20


@dataclass(frozen=True, kw_only=True)
class Event:
    """Event that a run shows or not: column ``score`` compared with a value (``">= 12"``).

    ``joined_more``: the second data set, with the person, should show it more often.
    """

    score: int
    sign: Sign
    value: float
    joined_more: bool

    def count(self, scores: Floats) -> int:
        """Number of runs that show the event; scores have shape (runs, columns)."""
        return int(np.count_nonzero(_COMPARE[self.sign](scores[:, self.score], self.value)))


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Lower bound (0 or more) for one event, and the shares of deciding runs that show it."""

    epsilon: float
    event: Event
    without: float
    joined: float


def lower_bound(without: Floats, joined: Floats, delta: float = 0.0) -> Bound:
    """Lower bound on epsilon from the scores (runs, columns) of independent runs on two data sets.

    The bound is ln((p_low - delta) / q_high) for the tested event, with one-sided Clopper-Pearson
    bounds on both probabilities. With probability at least :data:`CONFIDENCE`, it is not above the
    true epsilon at this delta. Both arrays have the same shape, with at least ``FEWEST`` runs.
    """
    half = len(without) // 2
    first, second = _rounded(without), _rounded(joined)
    _, event = best_event(first[:half], second[:half], delta)
    n = len(first) - half
    low, high = _log_shares(n, _ERROR, delta)
    few, many = event.count(first[half:]), event.count(second[half:])
    loss = low[many] - high[few] if event.joined_more else low[few] - high[many]
    return Bound(epsilon=max(float(loss), 0.0), event=event, without=few / n, joined=many / n)


def best_event(without: Floats, joined: Floats, delta: float = 0.0) -> tuple[float, Event]:
    """Best event of choosing runs (runs, columns), and its cautious bound, which is not a test."""
    first, second = _rounded(without), _rounded(joined)
    choices = (
        _best_event(column, first[:, column], second[:, column], _ERROR / CAUTION, delta)
        for column in range(first.shape[1])
    )
    # If two events have the same bound, choose the first score, because it is the simplest.
    return max(choices, key=lambda choice: choice[0])


def highest(runs: int, delta: float = 0.0) -> float:
    """Largest bound that is possible with this number of runs on each data set."""
    low, high = _log_shares(runs - runs // 2, _ERROR, delta)
    return float(low[-1] - high[0])


def visible(runs: int, claim: float, delta: float = 0.0) -> float | None:
    """Smallest real epsilon of one Laplace mechanism that these runs nearly always show.

    For this epsilon, the event "at least the mean with the record" has a bound above the claim with
    probability :data:`POWER` or more. None if no epsilon is large enough. ``runs``: on each set.
    """
    n = runs - runs // 2
    low, high = _log_shares(n, _ERROR, delta)
    counts = np.arange(n + 1)

    def quantile(share: float, probability: float) -> int:
        return int(np.searchsorted(special.bdtr(counts, n, probability), share))

    often = low[quantile((1 - POWER) / 2, 0.5)]
    for epsilon in np.linspace(0, highest(runs, delta) + 5, 1_001):
        if often - high[quantile((1 + POWER) / 2, np.exp(-epsilon) / 2)] > claim:
            return float(epsilon)
    return None


def share_bounds(count: int, n: int, error: float) -> tuple[float, float]:
    """Clopper-Pearson bounds on a probability; each is wrong with probability at most ``error``.

    Quantiles of beta distributions, for ``count`` of ``n`` independent runs (Clopper, Pearson
    1934).
    """
    low = special.betaincinv(count, n - count + 1, error) if count else 0.0
    high = special.betaincinv(count + 1, n - count, 1 - error) if count < n else 1.0
    return float(low), float(high)


@lru_cache(maxsize=32)
def _log_shares(n: int, error: float, delta: float = 0.0) -> tuple[Floats, Floats]:
    """Logarithms of both Clopper-Pearson bounds for all counts 0 to n; each has shape (n + 1,).

    The lower bound is reduced by ``delta``, because the claim allows this part of the larger share
    without any loss: the hockey-stick divergence is above delta if p > exp(epsilon) q + delta.
    """
    counts = np.arange(n + 1)
    low, high = np.zeros(n + 1), np.ones(n + 1)
    low[1:] = special.betaincinv(counts[1:], n - counts[1:] + 1, error)
    high[:-1] = special.betaincinv(counts[:-1] + 1, n - counts[:-1], 1 - error)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0)), np.log(high)


def _rounded(scores: Floats) -> Floats:
    return np.nan_to_num(np.round(scores, DECIMALS), nan=np.inf, posinf=np.inf, neginf=-np.inf)


def _best_event(
    column: int, without: Floats, joined: Floats, error: float, delta: float = 0.0
) -> tuple[float, Event]:
    n = len(without)
    values, place = np.unique(np.concatenate([without, joined]), return_inverse=True)
    few, many = (_counts(part, len(values)) for part in (place[:n], place[n:]))
    low, high = _log_shares(n, error, delta)
    # If bounds are equal, prefer an event that is more frequent with the person: it is clearer.
    gains = np.stack([low[many] - high[few], low[few] - high[many]])
    direction, sign, value = np.unravel_index(int(np.argmax(gains)), gains.shape)
    event = Event(
        score=column, sign=SIGNS[sign], value=float(values[value]), joined_more=bool(direction == 0)
    )
    return float(gains[direction, sign, value]), event


def _counts(place: Indices, values: int) -> Indices:
    equal = np.bincount(place, minlength=values)
    at_most = np.cumsum(equal)
    return np.stack([len(place) - at_most + equal, at_most, equal, len(place) - equal])

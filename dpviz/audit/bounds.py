"""From the scores of many runs on two neighbouring data sets to a lower bound on epsilon.

One half of the runs chooses one event: a score, a threshold, a tail and which data set shows it
more often. The other half, which the choice never saw, tests that event once. A bound above the
claim disproves it; one below proves nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpviz.errors import InputError

Floats = NDArray[np.float64]
Sign = Literal[">=", "<=", "==", "!="]

_COMPARE: dict[Sign, Callable[..., Any]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip

SIGNS = tuple(_COMPARE)

#: Joint confidence of a bound, and the probability of an error in each of its two shares.
CONFIDENCE = 0.99
_ERROR = (1 - CONFIDENCE) / 2

#: Decimals of a score. Finer ones show NumPy's grid of floats, which no exact mechanism has.
DECIMALS = 6

#: Of thousands of rare events the luckiest one looks best. So the choice compares bounds with an
#: error that is this many times smaller, and prefers events that more runs show.
CAUTION = 10

#: Fewest runs on a data set: with fewer no event can show anything.
FEWEST = 20


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that a run shows or doesn't.

    Parameters
    ----------
    score
        Column of the scores.
    sign, value
        The score ``sign`` the value, ``">= 12"`` say.
    joined_more
        Whether it is expected more often on the second data set, where the person joined.
    """

    score: int
    sign: Sign
    value: float
    joined_more: bool

    def count(self, scores: Floats) -> int:
        """Number of the runs, scores of shape (runs, columns), that show it."""
        return int(np.count_nonzero(_COMPARE[self.sign](scores[:, self.score], self.value)))


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Lower bound that the deciding half of the runs gives for one event.

    Parameters
    ----------
    epsilon
        Lower bound on the privacy loss, never below 0.
    event
        The event that was tested.
    without, joined
        Share of the deciding runs on the first and on the second data set that show it.
    """

    epsilon: float
    event: Event
    without: float
    joined: float


def lower_bound(without: Floats, joined: Floats) -> Bound:
    """Lower bound on epsilon from the scores of runs on two neighbouring data sets.

    Parameters
    ----------
    without, joined
        Scores, shape (runs, columns), the same shape for both; runs are independent.

    Returns
    -------
    Bound
        ln(p_low / q_high) of the tested event, with p_low and q_high the one-sided
        Clopper-Pearson bounds on its two chances. With the probability :data:`CONFIDENCE` at
        least it is not above the true epsilon.

    Raises
    ------
    InputError
        Where there are too few runs, or shapes differ.
    """
    if without.shape != joined.shape or without.ndim != 2:
        raise InputError(
            f"scores of shapes {without.shape} and {joined.shape} can't be held against each "
            "other: give as many runs and columns on both sides."
        )
    if len(without) < FEWEST:
        raise InputError(
            f"runs = {len(without)}: an audit needs {FEWEST} on each data set at least."
        )
    half = len(without) // 2
    first, second = _rounded(without), _rounded(joined)
    choices = (
        _best_event(column, first[:half, column], second[:half, column], _ERROR / CAUTION)
        for column in range(first.shape[1])
    )
    # Of equally good scores the first, which is the plainest, wins.
    _, event = max(choices, key=lambda choice: choice[0])
    return _tested(event, first[half:], second[half:])


def highest(runs: int) -> float:
    """Largest bound that as many runs on each data set can show."""
    low, high = _log_shares(runs - runs // 2, _ERROR)
    return float(low[-1] - high[0])


def share_bounds(count: int, n: int, error: float) -> tuple[float, float]:
    """Clopper-Pearson bounds on a chance, each wrong with probability ``error`` at most.

    Parameters
    ----------
    count, n
        So many of n independent runs showed the event.

    Notes
    -----
    Clopper, Pearson 1934: quantiles of beta distributions.
    """
    low, high = _log_shares(n, error)
    return float(np.exp(low[count])), float(np.exp(high[count]))


@lru_cache(maxsize=32)
def _log_shares(n: int, error: float) -> tuple[Floats, Floats]:
    """Logarithms of both Clopper-Pearson bounds for all counts 0 to n, each of shape (n + 1,)."""
    counts = np.arange(n + 1)
    low, high = np.zeros(n + 1), np.ones(n + 1)
    low[1:] = special.betaincinv(counts[1:], n - counts[1:] + 1, error)
    high[:-1] = special.betaincinv(counts[:-1] + 1, n - counts[:-1], 1 - error)
    with np.errstate(divide="ignore"):
        return np.log(low), np.log(high)


def _rounded(scores: Floats) -> Floats:
    """Scores as they are compared: rounded, and infinite where a run has no such number."""
    return np.nan_to_num(np.round(scores, DECIMALS), nan=np.inf, posinf=np.inf, neginf=-np.inf)


def _best_event(column: int, without: Floats, joined: Floats, error: float) -> tuple[float, Event]:
    """Event of one score with the largest bound on the choosing half, and that bound.

    All values that occur are tried as thresholds at once, with all signs, in both directions.
    """
    n = len(without)
    values, place = np.unique(np.concatenate([without, joined]), return_inverse=True)
    few, many = (_counts(part, len(values)) for part in (place[:n], place[n:]))
    low, high = _log_shares(n, error)
    # Of equally good events the one that the person makes more frequent is easier to explain.
    gains = np.stack([low[many] - high[few], low[few] - high[many]])
    direction, sign, value = np.unravel_index(int(np.argmax(gains)), gains.shape)
    event = Event(
        score=column,
        sign=SIGNS[sign],
        value=float(values[value]),
        joined_more=bool(direction == 0),
    )
    return float(gains[direction, sign, value]), event


def _counts(place: NDArray[np.intp], values: int) -> NDArray[np.intp]:
    """Runs that show each event, shape (signs, values), from the place of each run's value."""
    equal = np.bincount(place, minlength=values)
    at_most = np.cumsum(equal)
    return np.stack([len(place) - at_most + equal, at_most, equal, len(place) - equal])


def _tested(event: Event, without: Floats, joined: Floats) -> Bound:
    """Bound from one test of one event, in the direction that was chosen."""
    n = len(without)
    low, high = _log_shares(n, _ERROR)
    few, many = event.count(without), event.count(joined)
    loss = low[many] - high[few] if event.joined_more else low[few] - high[many]
    return Bound(epsilon=max(float(loss), 0.0), event=event, without=few / n, joined=many / n)

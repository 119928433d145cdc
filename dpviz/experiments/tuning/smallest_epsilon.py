"""The smallest budget at which most draws meet a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.display import Displayed
from dpviz.base.errors import InputError, check_number, shown
from dpviz.base.numbers import readable, written_out
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.dataset import Dataset
from dpviz.experiments.tuning.common import (
    SEEDS,
    SHARE,
    check_share,
    check_spends,
    checked_seeds,
    is_slow,
    score_at,
)
from dpviz.families import score_of, trial_of
from dpviz.family.score import Better, check_scores
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain, Outside
from dpviz.metrics.bands import Band, band

Search = Literal["every", "bisect"]
Floats = NDArray[np.float64]

#: Budgets that are searched: ten per decade from 0.01 to 10, with three significant digits.
GRID = tuple(float(f"{10 ** (step / 10 - 2):.3g}") for step in range(31))

#: Confidence level of the interval for the share of all possible draws.
CONFIDENCE = 0.95

#: Bisection begins with every fifth budget of the grid. At the end it checks that the next three
#: budgets above the result meet the target, too.
_COARSE, _NEIGHBOURS = 5, 3


@dataclass(frozen=True)
class Target:
    """A condition on a score that a draw must meet; InputError if sign or value is invalid."""

    score: str
    sign: Better
    value: float

    def __post_init__(self) -> None:
        """Check sign and value."""
        if self.sign not in ("<=", ">="):
            raise InputError(f'sign = "{shown(self.sign)}" is unknown: choose <= or >=.')
        if not math.isfinite(check_number("target", self.value)):
            raise InputError(f"target = {self.value}: give a finite number, for example 0.2.")

    def met(self, values: Floats) -> NDArray[np.bool_]:
        """Mask of the values that meet the target; undefined values do not meet it."""
        return values <= self.value if self.sign == "<=" else values >= self.value

    def __str__(self) -> str:
        """Text on the screen: "DSG_C ≤ 0.2"."""
        sign = "≤" if self.sign == "<=" else "≥"
        return f"{score_of(self.score).title} {sign} {readable(self.value, 4)}"


@dataclass(frozen=True, kw_only=True, eq=False)
class SmallestEpsilon(Displayed):
    """The smallest budget that meets a target in most draws, with the scores of all draws.

    ``values`` (E, R) are for E ascending ``epsilons`` and R ``seeds``; if ``tried`` (E,) is false,
    they are NaN. ``epsilon`` is None if no budget meets the target.
    """

    target: Target
    share: float
    epsilons: tuple[float, ...]
    seeds: tuple[int, ...]
    values: Floats
    tried: NDArray[np.bool_]
    epsilon: float | None

    @cached_property
    def shares(self) -> Floats:
        """Share of the draws that meet the target, shape (E,); NaN for budgets not tried."""
        return np.where(self.tried, self.target.met(self.values).mean(axis=1), np.nan)

    @cached_property
    def bands(self) -> dict[float, Band]:
        """Median and band of the score at each budget that was tried."""
        rows = zip(self.epsilons, self.values, self.tried, strict=True)
        return {epsilon: band(row) for epsilon, row, tried in rows if tried}

    @property
    def early(self) -> tuple[float, ...]:
        """Budgets that meet the target although a larger budget does not."""
        end = math.inf if self.epsilon is None else self.epsilon
        met = self.shares >= self.share
        return tuple(e for e, one in zip(self.epsilons, met, strict=True) if one and e < end)

    @property
    def summary(self) -> str:
        """The result and its confidence, in one or two sentences."""
        if self.epsilon is None:
            return self._missed
        found = (
            f"ε = {written_out(self.epsilon)} met {self.target} in {self._draws(self.epsilon)} "
            f"({self._confidence(self.epsilon)})"
        )
        if self.epsilon == self.epsilons[-1]:
            return f"{found}. It is the largest ε that was tried."
        if self.epsilon == self.epsilons[0]:
            return f"{found}. It is the smallest ε that was tried; a smaller ε may be enough."
        if self.early:
            listed = ", ".join(written_out(epsilon) for epsilon in self.early)
            return f"{found}. ε = {listed} met it too, but a larger ε below the answer did not."
        return (
            f"{found}. At every larger budget that was tried, {self.share:.0%} or more of the "
            "draws met it too."
        )

    @property
    def _missed(self) -> str:
        best = self.epsilons[int(np.nanargmax(self.shares))]
        end = f"ε = {written_out(self.epsilons[-1])}"
        if self.early:
            return (
                f"{self.target} is met in {self._draws(best)} at ε = {written_out(best)}, but not "
                f"at every larger budget up to {end}."
            )
        if not np.nanmax(self.shares):
            return f"{self.target} is met in no draw at any budget that was tried up to {end}."
        return (
            f"{self.target} is not met in {self.share:.0%} of draws at any budget that was tried "
            f"up to {end}: the best is {self._draws(best)}, at ε = {written_out(best)}."
        )

    def _draws(self, epsilon: float) -> str:
        return f"{self._met(epsilon)} of {len(self.seeds)} draws"

    def _confidence(self, epsilon: float) -> str:
        from dpviz.audit.bounds import share_bounds  # only needed here

        low, high = share_bounds(self._met(epsilon), len(self.seeds), (1 - CONFIDENCE) / 2)
        # Round outwards, so that rounding does not overstate the confidence.
        ends = f"{math.floor(100 * low)}% to {math.ceil(100 * high)}%"
        return f"with {CONFIDENCE:.0%} confidence, {ends} of all possible draws meet it"

    def _met(self, epsilon: float) -> int:
        return int(self.target.met(self.values[self.epsilons.index(epsilon)]).sum())


def smallest_epsilon(
    dataset: Dataset,
    config: Configuration,
    target: Target,
    *,
    domain: Domain | None = None,
    outside: Outside = "clip",
    seeds: Sequence[int] = SEEDS,
    epsilons: Sequence[float] = GRID,
    share: float = SHARE,
    search: Search | None = None,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> SmallestEpsilon:
    """Find the smallest budget of a grid such that, from it on, most draws meet a target.

    All budgets have the same seeds, so that the share does not change by chance. Data, config and
    domain are as for :func:`dpviz.families.trial_of`. The search ``"every"`` tries all budgets;
    ``"bisect"`` tries every fifth budget, bisects, and tries the next three above. This needs less
    than half of the draws, and the answer can differ only if the share drops for a short range.
    None chooses by speed. Raises InputError if the method spends nothing, or the score, seeds or
    budgets are missing. For exploring only: see ``TUNING``.
    """
    check_spends(config)
    check_share(share)
    seeds, grid = checked_seeds(seeds), tuple(sorted(set(epsilons)))
    if not grid:
        raise InputError("epsilons are missing: give one or more budgets to search.")
    trial = trial_of(dataset, config, domain, outside)
    check_scores((target.score,), trial.score_names)
    chosen = search or ("bisect" if is_slow(trial, target.score) else "every")
    halves = -(-len(grid) // _COARSE) + math.ceil(math.log2(_COARSE)) + _NEIGHBOURS
    places = len(grid) if chosen == "every" else min(len(grid), halves)
    work = Work(places * len(seeds), "draws", progress, cancelled)
    values = np.full((len(grid), len(seeds)), np.nan)
    tried = np.zeros(len(grid), dtype=bool)

    def met(place: int) -> bool:
        if not tried[place]:
            score = partial(score_at, trial, target.score, {"epsilon": grid[place]})
            values[place] = [score(seed) for seed in work.over(seeds)]
            tried[place] = True
        return bool(target.met(values[place]).mean() >= share)

    find = _first_of_all if chosen == "every" else _first_by_halves
    found = find(met, len(grid))
    work.finish()
    return SmallestEpsilon(
        target=target,
        share=share,
        epsilons=grid,
        seeds=seeds,
        values=values,
        tried=tried,
        epsilon=None if found is None else grid[found],
    )


def _first_of_all(met: Callable[[int], bool], n: int) -> int | None:
    failed = [place for place in range(n) if not met(place)]
    first = failed[-1] + 1 if failed else 0
    return first if first < n else None


def _first_by_halves(met: Callable[[int], bool], n: int) -> int | None:
    """Same as ``_first_of_all`` by bisection, which may miss failures at larger untried indexes."""
    coarse = range((n - 1) % _COARSE, n, _COARSE)
    first = _first_of_all(lambda place: met(coarse[place]), len(coarse))
    if first is None:
        return None
    found = coarse[first]
    low = coarse[first - 1] if first else -1
    while found - low > 1:
        middle = (low + found) // 2
        low, found = (low, middle) if met(middle) else (middle, found)
    place = found + 1
    while place <= min(found + _NEIGHBOURS, n - 1):
        if not met(place):
            found = place + 1  # at most the last index, where the target is met
        place += 1
    return found

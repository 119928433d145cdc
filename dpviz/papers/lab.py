"""Measurements for the table of the papers, on reference data that is handed in.

The papers' data sets may not be distributed, so whoever has them hands in a function that loads
them. What several rows need is measured once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.experiments.paper_sets import PAPER_SETS
from dpviz.families import CARDS, family_of
from dpviz.metrics.matching import f_measure

T = TypeVar("T")
Floats = NDArray[np.float64]

#: Parameters that suit each reference set.
SETS: dict[str, dict[str, Any]] = {
    name: dict(PAPER_SETS[name].settings)
    for name in ("ds1", "ds2", "ds3", "s1", "unbalance", "birch3", "blood", "gamma")
} | {"abalone": {"clusters": 3}}

#: Scores that are computed together, since one draw serves all of them.
_TOGETHER = (
    ("k", "clusters", "dsg_c", "f_measure"),
    ("ocm", "two_ce"),
    ("wcss", "nicv", "f_measure"),
    ("zhang_f",),
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measured number.

    Parameters
    ----------
    value
        The number.
    sd
        Standard deviation of a single draw, 0 for an exact number; None for a bound that rises
        with the number of runs.
    draws
        Draws behind the number.
    how
        Data, seeds and settings, for people.
    """

    value: float
    sd: float | None = 0.0
    draws: int = 1
    how: str = ""

    @property
    def error(self) -> float:
        """Standard error of the number."""
        return (self.sd or 0.0) / math.sqrt(self.draws)


@dataclass(frozen=True, eq=False)
class Reference:
    """A data set of a paper, with the known class of each record where there is one."""

    dataset: Dataset
    classes: NDArray[np.intp] | None = None


class Lab:
    """Draws and scores on reference data, each computed once.

    Parameters
    ----------
    load
        Returns the reference set of a name in ``SETS``.
    most
        Upper limit on the draws of each point, for a quick check; None for none.
    """

    def __init__(self, load: Callable[[str], Reference], most: int | None = None) -> None:
        self._load = load
        self._most = most
        self._kept: dict[Hashable, Any] = {}

    def kept(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return what does not change, built once."""
        if key not in self._kept:
            self._kept[key] = build()
        found: T = self._kept[key]
        return found

    def limited(self, draws: int) -> int:
        """Number of draws, limited for a quick check."""
        return draws if self._most is None else min(draws, self._most)

    def data(self, name: str) -> Reference:
        """Reference set of a name."""
        return self.kept(("data", name), lambda: self._load(name))

    def trial(self, data: str, method: str, epsilon: float = 1.0, **options: Any) -> Any:
        """Trial of a method on a reference set, as published, on the range of the data."""
        card, family = CARDS[method], family_of(method)
        own = {name: value for name, value in SETS[data].items() if card.parameter(name)}
        given = {"variant": "published", **own, **options}
        config = family.config(method=method, epsilon=epsilon, **given)
        key = ("truth", data, family.name, family.true_settings(config))
        first: Any = self.kept(
            key, lambda: family.build(self.data(data).dataset, config, None, "clip")
        )
        return replace(first, config=config)

    def scores(self, data: str, method: str, score: str, draws: int, **options: Any) -> Floats:
        """Score of each of the first seeds, shape (draws,)."""
        trial = self.trial(data, method, **options)
        known = trial.score_names
        names = next(
            (group for group in _TOGETHER if score in group and set(group) <= set(known)), (score,)
        )
        key = ("scores", data, names, trial.config)
        found: dict[str, list[float]] = self.kept(key, lambda: {name: [] for name in names})
        for seed in range(len(found[score]), draws):
            drawn = trial.scores(trial.draw(seed), seed, names)
            for name in names:
                found[name].append(drawn[name])
        return np.array(found[score][:draws])

    def mean(self, data: str, method: str, score: str, draws: int, **options: Any) -> Measured:
        """Mean of a score over the first seeds."""
        values = self.scores(data, method, score, self.limited(draws), **options)
        return averaged(values, ", ".join([titled(data), CARDS[method].title, *_said(options)]))

    def class_f(self, data: str, method: str, draws: int, **options: Any) -> Floats:
        """F-measure of each of the first seeds against the known classes, shape (draws,)."""
        trial = self.trial(data, method, **options)
        classes = self.data(data).classes
        if classes is None:
            raise ValueError(f"{data} has no classes")
        key = ("classes", data, trial.config)
        found: list[float] = self.kept(key, list)
        table = trial.tables(classes)
        found.extend(float(f_measure(table(trial.draw(seed)))) for seed in range(len(found), draws))
        return np.array(found[:draws])

    def loss(self, method: str, variant: str, scenario: str, runs: int) -> Measured:
        """Lower bound on the privacy loss at claim 1."""
        from dpviz.audit import audit

        runs = runs if self._most is None else min(runs, 1000)
        found = audit(method, variant, runs=runs, scenario=scenario)
        # An audit that finds nothing proves nothing.
        proof = "" if found.violated else "; the proof is on the card"
        return Measured(
            value=found.epsilon_lower,
            sd=None,
            draws=runs,
            how=f"audit of {CARDS[method].title} ({variant}), {scenario}, {runs:,} runs on each of "
            f"two data sets, 99% confidence{proof}",
        )


def averaged(values: Sequence[float] | Floats, how: str) -> Measured:
    """Mean of draws, with their standard deviation."""
    array = np.asarray(values, dtype=float)
    sd = float(array.std(ddof=1)) if array.size > 1 else 0.0
    return Measured(
        value=float(array.mean()), sd=sd, draws=array.size, how=f"{how}, {array.size} draws"
    )


def least(found: Iterable[Measured]) -> Measured:
    """The smallest of several numbers."""
    return min(found, key=lambda one: one.value)


def largest(found: Iterable[Measured]) -> Measured:
    """The largest of several numbers."""
    return max(found, key=lambda one: one.value)


def gap(low: Floats, high: Floats, how: str) -> Measured:
    """Mean of ``high`` minus mean of ``low``, drawn with different noise."""
    sd = math.hypot(low.std(ddof=1), high.std(ddof=1)) if min(low.size, high.size) > 1 else 0.0
    return Measured(
        value=float(high.mean() - low.mean()), sd=sd, draws=low.size, how=f"{how}, {low.size} draws"
    )


def titled(data: str) -> str:
    """Name of a reference set for people."""
    return data.upper() if len(data) < 4 else data.capitalize()


def _said(options: dict[str, Any]) -> list[str]:
    """Settings for people."""
    signs = {"epsilon": "ε", "alpha": "α"}
    given = {"epsilon": 1.0} | options
    return [
        f"{signs.get(name, name)} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in given.items()
    ]

"""Facts of a run, by name; lessons use the facts, so the texts contain no typed numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.base.cached import cached_property
from dpviz.base.numbers import readable
from dpviz.families import CARDS
from dpviz.family.claim import claim
from dpviz.family.parameter import GIVEN
from dpviz.kmeans.family import FAMILY as KMEANS
from dpviz.privacy.ledger import Ledger
from dpviz.privacy.noise_source import SeededNoise
from dpviz.teaching.lessons.parser import DIGITS, Step
from dpviz.ui.explorer.explorer import Explorer
from dpviz.ui.explorer.kmeans import KMeansExplorer
from dpviz.ui.explorer.settings import RunSettings
from dpviz.ui.explorer.wavecluster import WaveClusterExplorer
from dpviz.ui.session.cache import grid_of
from dpviz.wavecluster.family import FAMILY as WAVECLUSTER
from dpviz.wavecluster.fates import fates
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.theorems import k_bounds
from dpviz.wavecluster.truth import run

EXPLORERS: dict[str, type[Explorer]] = {
    one.family.name: one for one in (WaveClusterExplorer, KMeansExplorer)
}

DRAWS = 50


@dataclass(frozen=True, eq=False)
class Look:
    """The run on the screen of an explorer, and the values that facts need."""

    settings: RunSettings
    explorer: str

    @cached_property
    def runs(self) -> Any:
        """True and private run, as in the explorer."""
        return EXPLORERS[self.explorer].run_both(self.settings)

    @property
    def ledger(self) -> Ledger:
        """Spends of the private run."""
        ledger: Ledger = self.runs.private.ledger
        return ledger

    @property
    def epsilon(self) -> float:
        """Budget; NaN for a method without noise."""
        return float(self.settings.config.epsilon) if self.ledger.spends else math.nan

    @property
    def _person(self) -> int:
        facts, n = self.settings.active.sample, self.settings.active.dataset.n
        return n - 1 if facts is None or facts.person is None else facts.person % n

    @property
    def person(self) -> tuple[float, float]:
        """Coordinates of this person's record."""
        points = self.settings.active.dataset.points
        if points is None:
            raise TypeError
        x, y = points[self._person][:2]
        return float(x), float(y)

    @cached_property
    def without(self) -> Source:
        """The grid without the sample set's special person, or without its last record."""
        active, config = self.settings.active, self.settings.config
        left = active.dataset.take(np.arange(active.dataset.n) != self._person)
        return grid_of(left, config.grid, active.domain, active.outside, is_sample=True).source

    def clusters_of(self, source: Source) -> int:
        """Number of clusters of a private run on other data, with the settings on the screen."""
        noise = SeededNoise(self.settings.seed)
        return run(source, self.settings.config, noise).stages.n_clusters

    @cached_property
    def outcomes(self) -> tuple[list[int], list[int]]:
        """Numbers of clusters in draws with and without the person; each draw has its own seed."""
        config = replace(self.settings.config, choose=GIVEN)
        joined, without = (
            [run(source, config, SeededNoise(seed)).stages.n_clusters for seed in seeds]
            for source, seeds in (
                (self.runs.truth.source, range(DRAWS)),
                (self.without, range(DRAWS, 2 * DRAWS)),
            )
        )
        return joined, without

    @cached_property
    def fates(self) -> Any:
        """Fates of the true clusters."""
        return fates(self.runs.truth.stages.labels, self.runs.private.stages.labels)

    @cached_property
    def bounds(self) -> Any:
        """A theorem's bounds of k'."""
        return k_bounds(self.runs.truth, self.settings.config)

    def error_ratio(self, private: Any) -> float:
        """Error of the centres, divided by the error of the best centres."""
        return float(self.runs.truth.scores(private, ("nicv_ratio",))["nicv_ratio"])


_COMMON: dict[str, Callable[[Look], float]] = {
    "epsilon": lambda one: one.epsilon,
    "person_x": lambda one: one.person[0],
    "person_y": lambda one: one.person[1],
    "half_epsilon": lambda one: one.epsilon / 2,
    "double_epsilon": lambda one: one.epsilon * 2,
    "odds": lambda one: odds_at_most(one.epsilon),
    "odds_half": lambda one: odds_at_most(one.epsilon / 2),
    "records": lambda one: one.settings.active.dataset.n,
    "seed": lambda one: one.settings.seed,
    "draws": lambda one: DRAWS,
    "spent": lambda one: one.ledger.epsilon,
    "spends": lambda one: len(one.ledger.spends),
    "noise_scale": lambda one: one.ledger.spends[0].scale,
    "noise_sensitivity": lambda one: one.ledger.spends[0].sensitivity,
    "count_epsilon": lambda one: one.ledger.spends[0].epsilon,
    "other_epsilon": lambda one: one.ledger.epsilon - one.ledger.spends[0].epsilon,
    "noise_scale_half": lambda one: 2 * one.ledger.spends[0].scale,
}

_WAVECLUSTER: dict[str, Callable[[Look], float]] = {
    "true_clusters": lambda one: one.runs.truth.stages.n_clusters,
    "private_clusters": lambda one: one.runs.private.stages.n_clusters,
    "without_clusters": lambda one: one.clusters_of(one.without),
    "two_with": lambda one: one.outcomes[0].count(2),
    "two_without": lambda one: one.outcomes[1].count(2),
    "found": lambda one: one.fates.having("kept").size,
    "merged": lambda one: one.fates.having("joined").size,
    "lost": lambda one: one.fates.having("lost").size,
    "invented": lambda one: one.fates.invented.size,
    "side": lambda one: one.runs.truth.source.shape[0],
    "cells": lambda one: one.runs.truth.source.counts.size,
    "largest_count": lambda one: one.runs.truth.source.counts.max(),
    "blocks": lambda one: one.runs.truth.stages.average.size,
    "block_cells": lambda one: 2 ** (2 * one.settings.config.level),
    "alpha": lambda one: one.settings.config.alpha,
    "counts_percent": lambda one: 100 * one.settings.config.alpha,
    "rest_percent": lambda one: 100 - 100 * one.settings.config.alpha,
    "p": lambda one: one.settings.config.density,
    "keep_percent": lambda one: 100 - 100 * one.settings.config.density,
    "true_positive": lambda one: one.runs.truth.stages.threshold.positive,
    "true_empty": lambda one: one.runs.truth.stages.threshold.nonpositive,
    "half_empty": lambda one: one.runs.truth.stages.threshold.nonpositive / 2,
    "private_positive": lambda one: one.runs.private.stages.threshold.positive,
    "true_k": lambda one: one.runs.truth.stages.threshold.k,
    "private_k": lambda one: one.runs.private.k,
    "true_d": lambda one: one.runs.truth.stages.threshold.value,
    "private_d": lambda one: one.runs.private.stages.threshold.value,
    "true_significant": lambda one: one.runs.truth.stages.significant.sum(),
    "private_significant": lambda one: one.runs.private.stages.significant.sum(),
    "largest_average": lambda one: one.runs.truth.stages.average.max(),
    "k_low": lambda one: one.bounds.ends[0],
    "k_high": lambda one: one.bounds.ends[1],
    "surplus": lambda one: one.bounds.surplus,
}

_KMEANS: dict[str, Callable[[Look], float]] = {
    "clusters": lambda one: one.runs.private.config.clusters,
    "iterations": lambda one: len(one.runs.private.iterations),
    "error_ratio": lambda one: one.error_ratio(one.runs.private),
    "error_before": lambda one: one.error_ratio(replace(one.runs.private, centers=_before(one))),
    "private": lambda one: float(_claim(one).private),
}

_OF_EXPLORER = {WAVECLUSTER.name: _WAVECLUSTER, KMEANS.name: _KMEANS}

#: Facts that need many draws; they are not computed while a slider is dragged.
_SLOW = ("two_with", "two_without")

#: Names of all facts; "goal" is the number in a step's task.
FACTS = (*dict.fromkeys((*_COMMON, *_WAVECLUSTER, *_KMEANS)), "goal")


def odds_at_most(epsilon: float) -> float:
    """e^epsilon, rounded up to the digits of a lesson, because the texts say "at most"."""
    step = 10.0 ** (math.floor(epsilon / math.log(10)) + 1 - DIGITS)
    return math.ceil(math.exp(epsilon) / step) * step


def _before(one: Look) -> Any:
    if one.runs.private.before is None:
        raise TypeError
    return one.runs.private.before


def _claim(one: Look) -> Any:
    config = one.settings.config
    return claim(CARDS[config.method], config, one.settings.active.domain)


def facts_of(step: Step, look: Look) -> dict[str, float]:
    """Facts that a step uses; NaN if this run does not have a fact."""
    known = {**_COMMON, **_OF_EXPLORER[step.explorer]}
    parts = step.wanted.parts if step.wanted else ()
    goals = (side for one in parts for side in one if isinstance(side, float))
    found = {"goal": next(goals, math.nan)}
    for name in sorted(step.names - {"goal"}):
        waits = name in _SLOW and not look.settings.settled
        found[name] = math.nan if waits or name not in known else _value(known[name], look)
    return found


def _value(fact: Callable[[Look], float], look: Look) -> float:
    try:
        return float(fact(look))
    except (AttributeError, IndexError, TypeError):
        # A method without noise spends no budget, and a method without a threshold has no rank.
        return math.nan


def texts(facts: Mapping[str, float]) -> dict[str, str]:
    """Values as text for people; "…" for missing values."""
    return {
        name: "…" if math.isnan(value) else readable(value, 6 if value.is_integer() else DIGITS)
        for name, value in facts.items()
    }

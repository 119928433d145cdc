"""A k-means method with one configuration, ready to run and to be scored many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Indices, Ints, Labels, Mask
from dpviz.base.cached import cached_property
from dpviz.family.score import OF_CLASSES, scores_for
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.scores import SCORES
from dpviz.kmeans.truth import Evaluation, KMeansTruth, run_kmeans
from dpviz.metrics.matching import contingency
from dpviz.privacy.noise_source import SeededNoise

#: Number of records whose cluster is recorded over many runs; more records would take too long.
MOST_WATCHED = 20_000


@dataclass(frozen=True, eq=False)
class KMeansTrial:
    """A k-means method on records, and the best clustering of the records without noise."""

    truth: KMeansTruth
    config: KMeansConfig

    @classmethod
    def of(cls, records: Records, config: KMeansConfig) -> KMeansTrial:
        """Make a trial on records, with the true run for the configuration."""
        return cls(KMeansTruth(records, config.clusters), config)

    @property
    def material(self) -> Records:
        """The records."""
        return self.truth.records

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of all scores that are possible with the data."""
        return scores_for(SCORES, SCORES, classed=self.truth.records.classes is not None)

    def at(self, **changes: Any) -> KMeansTrial:
        """Return the trial with other settings and the same true run."""
        return replace(self, config=replace(self.config, **changes))

    def draw(self, seed: int) -> KMeansRun:
        """Make one private run; its clusters have the numbers of the matched true clusters."""
        return self.truth.matched(run_kmeans(self.truth.records, self.config, SeededNoise(seed)))

    def scores(self, one: KMeansRun, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Score a private run with its seed."""
        drawn = Evaluation(self.truth.beyond(one.centers), one, seed)
        return {name: float(SCORES[name].compute(drawn)) for name in names}

    def affected(self, one: KMeansRun) -> Mask:
        """Mask (m,) of watched records whose cluster is not the true cluster, for the same K."""
        scaled, truth = self._watched, self.truth.at(len(one.centers))
        moved = nearest(scaled, truth.space.scale(one.centers)) != truth.labels[self.watched]
        return np.asarray(moved)

    def centers(self, one: KMeansRun) -> Centers:
        """Centres of a private run, shape (K, d)."""
        return one.centers

    def true(self) -> dict[str, float]:
        """Errors of the true run, and its scores that compare with known classes."""
        names = ["wcss", "nicv", "wcss_ratio", "nicv_ratio"]
        names += [name for name in self.score_names if name in OF_CLASSES]
        return self.truth.scores(self.truth.run, tuple(names))

    def label(self, one: KMeansRun | None) -> Labels:
        """Cluster of every record in a private run or in the true run, shape (n,)."""
        return self.truth.labels if one is None else self.truth.assign(one.centers)

    def tables(self, reference: Labels) -> Callable[[KMeansRun], Ints]:
        """Return a function from a private run to its contingency table with labels (n,)."""
        return lambda one: contingency(reference, self.truth.assign(one.centers))

    @cached_property
    def watched(self) -> Indices:
        """Indices of the records that :meth:`affected` compares, shape (m,): all, or a sample."""
        n = self.truth.records.n
        if n <= MOST_WATCHED:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, MOST_WATCHED, replace=False))

    @cached_property
    def _watched(self) -> Floats:
        return self.truth.records.scaled(self.truth.space)[self.watched]

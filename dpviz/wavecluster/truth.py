"""The true run on a source, private runs, and scores; values that no budget changes are cached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dpviz.base.arrays import Ints
from dpviz.base.cached import cached_property
from dpviz.base.lru import LRUCache
from dpviz.base.numbers import counted
from dpviz.base.work import IsCancelled, Work
from dpviz.family.parameter import GIVEN, check_option
from dpviz.grid.counts import block_sums
from dpviz.metrics.matching import contingency
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.noise_source import NoiseSource, SeededNoise
from dpviz.wavecluster.heldout import Folds, agreement
from dpviz.wavecluster.methods import METHODS, NOISE_FREE
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Crossed, Run, Source, Stages, cluster
from dpviz.wavecluster.scores import OF_LABELS, SCORES

#: Number of true runs with other g and p that stay in memory.
_MOST_TRUTHS = 16


def run(source: Source, config: Config, noise: NoiseSource) -> Run:
    """Run the configured method once; raise InputError if the method or the level is invalid."""
    accountant = Accountant(noise, config.epsilon, config.neighbours)
    check_option("method", config.method, METHODS)
    result: Run = METHODS[config.method].run(source, config, accountant)
    return result


@dataclass(frozen=True, eq=False)
class Truth:
    """The true run on a source, and its values that scores need.

    Only density, wavelet and level of the configuration matter.
    """

    source: Source
    config: Config
    _others: LRUCache = field(default_factory=lambda: LRUCache(_MOST_TRUTHS), init=False)

    def at(self, config: Config) -> Truth:
        """The true run at g and p of a run, which may have chosen g and p itself."""
        source, true = self.source.on_grid(config.grid), true_config(config)
        # A true run has the g of its source.
        if source is self.source and true == self.config:
            return self
        return self._others.get((source.shape, true), lambda: Truth(source, true))

    @cached_property
    def stages(self) -> Stages:
        """Stages of the true run."""
        return cluster(self.source.counts, self.config)

    @cached_property
    def records(self) -> Ints:
        """Number of records in each subband cell."""
        return block_sums(self.source.counts, self.config.level)

    @cached_property
    def folds(self) -> Folds:
        """Ten parts of the points, for OCM and 2CE."""
        return Folds(self.source)

    @cached_property
    def fold_stages(self) -> tuple[Stages, ...]:
        """Stages of the true run on each training part."""
        return tuple(cluster(part.counts, self.config) for part in self.folds.training)

    def tables(self, crossed: Crossed) -> Callable[[Stages], Ints]:
        """Return a function from stages on this grid to the contingency table with the labels."""
        level, shape = self.config.level, self.stages.labels.shape
        fine = np.unravel_index(crossed.cell, self.source.shape)
        cell = np.ravel_multi_index([axis >> level for axis in fine], shape)
        return lambda stages: contingency(
            crossed.label, stages.labels.ravel()[cell], crossed.records
        )

    @cached_property
    def class_table(self) -> Callable[[Stages], Ints]:
        """Function from stages to the table of known classes and clusters; noise is column 0."""
        return self.tables(self.source.crossed_classes)

    def noise_points(self, stages: Stages) -> int:
        """Number of points in cells that are not significant."""
        return int(self.records[~stages.significant].sum())

    def scores(self, private: Stages, names: tuple[str, ...] = OF_LABELS) -> dict[str, float]:
        """Scores that need only the two label grids: see ``OF_LABELS``."""
        one = Evaluation(self, private)
        return {name: float(SCORES[name].compute(one)) for name in names}

    def agreement(
        self, config: Config, seed: int, cancelled: IsCancelled | None = None
    ) -> dict[str, float]:
        """OCM and 2CE of one seed, from :meth:`on_parts`."""
        private = self.on_parts(config, seed, cancelled)
        ocm, two_ce = agreement(self.folds, self.fold_stages, private)
        return {"ocm": ocm, "two_ce": two_ce}

    def on_parts(
        self, config: Config, seed: int, cancelled: IsCancelled | None = None
    ) -> tuple[Stages, ...]:
        """Stages of a private run of one seed on each of ten training parts; raises Cancelled."""
        parts = self.folds.training
        work = Work(len(parts), "runs", cancelled=cancelled)
        # A private choice of g and p is made only once, on all records.
        config = replace(config, choose=GIVEN)
        return tuple(
            run(part, config, SeededNoise(seed, fold)).stages
            for fold, part in enumerate(work.over(parts))
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A result and the true run; scores that need only label grids need neither run nor seed."""

    truth: Truth
    stages: Stages
    run: Run | None = None
    seed: int = 0

    @property
    def drawn(self) -> Run:
        """The run that gave the result."""
        assert self.run is not None  # noqa: S101 - only called for scores that need a run
        return self.run

    @cached_property
    def table(self) -> Ints:
        """Number of records for each pair of true and private cluster."""
        return contingency(self.truth.stages.labels, self.stages.labels, self.truth.records)

    @cached_property
    def class_table(self) -> Ints:
        """Number of records for each pair of class and private cluster; noise is a cluster."""
        return self.truth.class_table(self.stages)

    @cached_property
    def _on_parts(self) -> tuple[Stages, ...]:
        return self.truth.on_parts(self.drawn.config, self.seed)

    @cached_property
    def agreement(self) -> tuple[float, float]:
        """OCM and 2CE, from private runs on ten training parts."""
        return agreement(self.truth.folds, self.truth.fold_stages, self._on_parts)

    @cached_property
    def agreement_alone(self) -> tuple[float, float]:
        """OCM and 2CE of classifiers that know only clusters, from the same runs."""
        return agreement(self.truth.folds, self.truth.fold_stages, self._on_parts, alone=True)


def true_config(config: Config) -> Config:
    """Settings of the true run, with defaults for all other settings, as a key for caches."""
    return replace(
        Config(method=NOISE_FREE),
        density=config.density,
        wavelet=config.wavelet,
        level=config.level,
    )


def surprises(truth: Truth, private: Run) -> list[str]:
    """Explain unexpected results; reads the true run, so it is only for the owner's screen."""
    own = METHODS[private.config.method].surprise
    explained = [own(truth.stages, private) if own else "", _ranks(truth.stages, private)]
    return [one for one in explained if one]


def _ranks(true: Stages, private: Run) -> str:
    k = true.threshold.k or 0
    cells, noisy = int(true.significant.sum()), int(private.stages.significant.sum())
    said = []
    if cells != k:
        said.append(
            f"True k is {k:,}, but {counted(cells, 'cell')} are significant, because all cells "
            "that equal the threshold are significant."
        )
    if private.stages.threshold.k is None and noisy != private.k:
        said.append(
            f"k′ = {private.k:,} is a rank among the true coefficients; "
            f"{counted(noisy, 'noisy cell')} {'reaches' if noisy == 1 else 'reach'} the threshold."
        )
    return " ".join(said)

"""A WaveCluster technique with fixed settings, prepared for many draws and scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from dpviz.base.arrays import Ints, Labels, Mask
from dpviz.family.parameter import PRIVATE
from dpviz.family.score import OF_CLASSES, scores_for
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Crossed, Run, Source, Stages
from dpviz.wavecluster.scores import QUICK, RANK, RANK_ERROR, SCORES
from dpviz.wavecluster.truth import Evaluation, Truth, run, true_config


@dataclass(frozen=True, eq=False)
class WaveClusterTrial:
    """A WaveCluster technique on a grid, with the true run on this grid."""

    truth: Truth
    config: Config

    @classmethod
    def of(cls, source: Source, config: Config) -> WaveClusterTrial:
        """Trial on a source, with the true run for the configuration."""
        return cls(Truth(source, true_config(config)), config)

    @property
    def material(self) -> Source:
        """Data in the form that the methods read."""
        return self.truth.source

    @property
    def score_names(self) -> tuple[str, ...]:
        """Scores that are possible: a single record, or stored records, can't be held out."""
        quick = (*QUICK, RANK, RANK_ERROR, *OF_CLASSES)
        names = tuple(SCORES) if self.truth.source.holds_out else quick
        return scores_for(names, SCORES, classed=self.truth.source.classes is not None)

    def at(self, **changes: Any) -> WaveClusterTrial:
        """Return a trial with other settings and the same true run."""
        return replace(self, config=replace(self.config, **changes))

    def beside(self, one: Run) -> WaveClusterTrial:
        """Return a trial whose true run has the g and p of a draw, if draws choose g and p."""
        if self.config.choose != PRIVATE:
            return self
        return replace(self, truth=self.truth.at(one.config))

    def draw(self, seed: int) -> Run:
        """One private run."""
        return run(self.truth.source, self.config, SeededNoise(seed))

    def scores(self, one: Run, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Compute scores of the draw of a seed; OCM and 2CE need more draws on parts of data."""
        drawn = Evaluation(self.beside(one).truth, one.stages, one, seed)
        return {name: float(SCORES[name].compute(drawn)) for name in names}

    def affected(self, one: Run) -> Mask:
        """Mask of the significant cells of a draw, resampled to the true run's average subband."""
        mask, shape = one.stages.significant, self.truth.stages.labels.shape
        places = (
            np.arange(side) * own // side for side, own in zip(shape, mask.shape, strict=True)
        )
        return mask if mask.shape == shape else mask[np.ix_(*places)]

    def centers(self, one: Run) -> None:
        """Return None, because clusters of any shape have no centres."""

    def true(self) -> dict[str, float]:
        """Main numbers of the true run, and its scores that compare with known classes."""
        names = ["clusters", "significant", "noise_points"]
        names += [name for name in self.score_names if name in OF_CLASSES]
        return self.truth.scores(self.truth.stages, tuple(names))

    def label(self, one: Run | None) -> Labels:
        """Cluster of every record in a draw, shape (n,); None = the true run. -1 = noise."""
        truth = self.truth if one is None else self.beside(one).truth
        stages = truth.stages if one is None else one.stages
        return truth.source.label(truth.source.points, stages)

    def tables(self, reference: Labels) -> Callable[[Run], Ints]:
        """Return a function from a draw to its contingency table with record labels (n,)."""

        # Draws that only choose p share the pass over the records.
        @cache
        def crossed(source: Source) -> Crossed:
            return source.crossed(reference + 1)

        @cache
        def table_of(truth: Truth) -> Callable[[Stages], Ints]:
            return truth.tables(crossed(truth.source))

        return lambda one: table_of(self.beside(one).truth)(one.stages)

"""A WaveCluster technique at one setting, ready to be drawn and scored many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.domain import flat_cells
from dpviz.metrics.matching import contingency
from dpviz.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Source
from dpviz.wavecluster.scores import QUICK, RANK, SCORES, Evaluation
from dpviz.wavecluster.truth import Truth, run, true_config


@dataclass(frozen=True, eq=False)
class WaveClusterTrial:
    """A WaveCluster technique on a grid.

    Parameters
    ----------
    truth
        True run on the grid.
    config
        Technique and parameters.
    """

    truth: Truth
    config: Config

    @classmethod
    def of(cls, source: Source, config: Config) -> WaveClusterTrial:
        """Trial on a source, with the true run that goes with the configuration."""
        return cls(Truth(source, true_config(config)), config)

    @property
    def material(self) -> Source:
        """Data as the methods read them."""
        return self.truth.source

    @property
    def score_names(self) -> tuple[str, ...]:
        """All scores; with a single record only the quick ones, since no record can be held out."""
        return tuple(SCORES) if self.truth.source.n > 1 else (*QUICK, RANK)

    def at(self, **changes: Any) -> WaveClusterTrial:
        """Return the trial at other settings, on the same true run."""
        return replace(self, config=replace(self.config, **changes))

    def draw(self, seed: int) -> Run:
        """One private run."""
        return run(self.truth.source, self.config, SeededNoise(seed))

    def scores(self, one: Run, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Score the draw of a seed; OCM and 2CE need more draws on parts of the data."""
        drawn = Evaluation(self.truth, one.stages, one, seed)
        return {name: float(SCORES[name].compute(drawn)) for name in names}

    def affected(self, one: Run) -> NDArray[np.bool_]:
        """Mask of the significant cells of the average subband."""
        return one.stages.significant

    def centers(self, one: Run) -> None:
        """None: clusters of any shape have no centres."""

    def true(self) -> dict[str, float]:
        """Numbers of the true run."""
        true = Evaluation(self.truth, self.truth.stages)
        return {
            name: float(SCORES[name].compute(true))
            for name in ("clusters", "significant", "noise_points")
        }

    def label(self, one: Run | None) -> NDArray[np.intp]:
        """Cluster of every record in a draw, or in the true run, shape (n,); -1 = noise."""
        stages = self.truth.stages if one is None else one.stages
        return self.truth.source.label(self.truth.source.points, stages)

    def tables(self, reference: NDArray[np.intp]) -> Callable[[Run], NDArray[np.int64]]:
        """Return the function from a draw to its contingency table with labels of the records.

        Parameters
        ----------
        reference
            Labels of the records, shape (n,), of any grid; -1 = noise.
        """
        label, cell, records = self._joint(reference + 1)
        return lambda one: contingency(label, one.stages.labels.ravel()[cell], records)

    def _joint(self, reference: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
        """Existing pairs of label and subband cell, and the number of records with each pair.

        With these pairs, a table needs no pass over the records.
        """
        cells, total = self._cells
        pairs, records = np.unique(reference * total + cells, return_counts=True)
        return pairs // total, pairs % total, records

    @cached_property
    def _cells(self) -> tuple[NDArray[np.intp], int]:
        """Cell of the average subband in which each record lies, and the number of cells."""
        source, stages = self.truth.source, self.truth.stages
        fine = np.unravel_index(
            flat_cells(source.points, source.domain, source.shape), source.shape
        )
        shape = stages.labels.shape
        index = [axis >> stages.level for axis in fine]
        return np.ravel_multi_index(index, shape), stages.labels.size

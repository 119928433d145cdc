"""The WaveCluster family in the ``run`` command."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.commands.output import Report, first_draws
from dpviz.data.dataset import Dataset
from dpviz.domain import Domain, Outside
from dpviz.noise import SeededNoise
from dpviz.privacy.ledger import Ledger
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.pipeline import Run, Source
from dpviz.wavecluster.truth import CELL_SCORES, Truth, run, true_config


@dataclass(frozen=True, eq=False)
class WaveClusterComparison:
    """True and private runs of one technique; the methods that ``run`` asks for."""

    config: Config
    truth: Truth
    outside: Outside

    @classmethod
    def build(
        cls, config: Config, data: Dataset, domain: Domain | None, outside: Outside
    ) -> WaveClusterComparison:
        """Lay the grid over the data."""
        source = Source.build(data, config.grid, domain, outside)
        return cls(config, Truth(source, true_config(config)), outside)

    @property
    def domain(self) -> Domain:
        """Bounds of the grid."""
        return self.truth.source.domain

    @property
    def n(self) -> int:
        """Number of records that take part."""
        return self.truth.source.n

    @property
    def n_outside(self) -> int:
        """Points outside the domain."""
        return self.truth.source.n_outside

    def settings(self) -> Report:
        """All public choices."""
        return {**asdict(self.config), "grid": self.truth.source.shape}

    def notes(self) -> list[str]:
        """What a person may not expect of this grid."""
        return self.truth.source.notices(self.config.level)

    def true(self) -> Report:
        """Key figures of the true run."""
        return self._figures(Run(config=self.config, stages=self.truth.stages, ledger=Ledger()))

    def draw(self, seed: int) -> Run:
        """One private run."""
        return run(self.truth.source, self.config, SeededNoise(seed))

    def scores(self, one: Run, seed: int) -> dict[str, float]:
        """All scores of one draw."""
        found = self.truth.scores(one.stages, CELL_SCORES)
        return found | (self.truth.agreement(self.config, seed) if self.n > 1 else {})

    def summary(self, one: Run, scores: dict[str, float]) -> Report:
        """Key figures of one draw."""
        return self._figures(one)

    def label(self, points: NDArray[np.float64], one: Run | None) -> NDArray[np.intp]:
        """Cluster of every point in a draw, or in the true run; -1 = noise."""
        stages = self.truth.stages if one is None else one.stages
        return self.truth.source.label(points, stages, self.outside)

    def text(self, report: Report) -> list[str]:
        """Choices and key figures for people."""
        true, config = report["true"], report["config"]
        grid = " x ".join(str(side) for side in config["grid"])
        draws = [
            f"private  k' {one['k']}  threshold {one['threshold']:g}  "
            f"clusters {one['n_clusters']}  (seed {one['seed']})"
            for one in report["private"]
        ]
        return [
            f"grid {grid}, p {config['density']:g}, {config['wavelet']} level {config['level']}",
            f"true     k {true['k']}  threshold {true['threshold']:g}  "
            f"clusters {true['n_clusters']}  noise points {true['noise_points']:,}",
            *first_draws(draws),
        ]

    def _figures(self, one: Run) -> Report:
        """Key figures of one run."""
        threshold = one.stages.threshold
        return {
            "k": one.k,
            "threshold": threshold.value,
            "positive": threshold.positive,
            "nonpositive": threshold.nonpositive,
            "significant": int(one.stages.significant.sum()),
            "n_clusters": one.stages.n_clusters,
            "cluster_sizes": one.stages.cluster_sizes,
            "noise_points": self.truth.noise_points(one.stages),
        }

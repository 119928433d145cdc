"""True and private runs of a WaveCluster technique, as the ``run`` command prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from dpviz.domain import Domain, Outside
from dpviz.family.comparison import Classes, Report, first_draws
from dpviz.noise import SeededNoise
from dpviz.privacy.ledger import Ledger
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.pipeline import Run, Source
from dpviz.wavecluster.scores import HELD_OUT, OF_LABELS
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth, run, true_config


@dataclass(frozen=True, eq=False)
class WaveClusterComparison:
    """True and private runs of one technique; the methods that ``run`` asks for."""

    config: Config
    truth: Truth
    outside: Outside

    @classmethod
    def of(
        cls, source: Source, config: Config, outside: Outside, classes: Classes
    ) -> WaveClusterComparison:
        """Compare on a source; clusters of any shape are not scored against known classes."""
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

    def beyond(self, draws: Sequence[Run]) -> WaveClusterComparison:
        """Return itself: there is one true run."""
        return self

    def true(self) -> Report:
        """Key figures of the true run."""
        return self._figures(Run(config=self.config, stages=self.truth.stages, ledger=Ledger()))

    def draw(self, seed: int) -> Run:
        """One private run."""
        return run(self.truth.source, self.config, SeededNoise(seed))

    def scores(self, one: Run, seed: int) -> dict[str, float]:
        """All scores of one draw."""
        names = (*OF_LABELS, *(HELD_OUT if self.n > 1 else ()))
        return WaveClusterTrial(self.truth, self.config).scores(one, seed, names)

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

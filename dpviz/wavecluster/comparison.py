"""True and private runs of a WaveCluster technique, in the form that the ``run`` command prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from dpviz.base.arrays import Floats, Labels
from dpviz.family.comparison import Comparison, Report, class_text, first_draws
from dpviz.family.parameter import PRIVATE
from dpviz.privacy.ledger import Ledger
from dpviz.wavecluster.pipeline import Run
from dpviz.wavecluster.scores import HELD_OUT, OF_LABELS
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth


class WaveClusterComparison(Comparison):
    """True and private runs of one technique."""

    trial: WaveClusterTrial

    def settings(self) -> Report:
        """All public choices."""
        truth = self.trial.truth
        at = {"grid": truth.source.shape, "density": truth.config.density}
        return asdict(self.trial.config) | at

    def beyond(self, draws: Sequence[Run]) -> WaveClusterComparison:
        """Compare with the true run at g and p of the first draw, if draws choose g and p."""
        return replace(self, trial=self.trial.beside(draws[0])) if draws else self

    def notes(self) -> list[str]:
        """Notes on unexpected properties of this grid."""
        return self.trial.truth.source.notices(self.trial.config.level)

    def true(self) -> Report:
        """Main numbers of the true run."""
        truth = self.trial.truth
        true = Run(config=self.trial.config, stages=truth.stages, ledger=Ledger())
        return self._figures(true, truth) | truth.scores(truth.stages, self.class_scores)

    def scores(self, one: Run, seed: int) -> dict[str, float]:
        """All scores of one draw."""
        names = (
            *OF_LABELS,
            *(HELD_OUT if self.trial.truth.source.holds_out else ()),
            *self.class_scores,
        )
        return self.trial.scores(one, seed, names)

    def summary(self, one: Run, scores: dict[str, float]) -> Report:
        """Main numbers of one draw."""
        chosen = {"grid": one.stages.counts.shape, "density": one.config.density}
        return (chosen if one.decision else {}) | self._figures(one, self.trial.beside(one).truth)

    def label(self, points: Floats, one: Run | None) -> Labels:
        """Cluster of every point in a draw, or (if None) in the true run; -1 is noise."""
        truth = self.trial.truth if one is None else self.trial.beside(one).truth
        stages = truth.stages if one is None else one.stages
        return truth.source.label(points, stages, self.outside)

    def text(self, report: Report) -> list[str]:
        """Lines for human readers with the settings and the main numbers of a report."""
        true, config = report["true"], report["config"]
        grid = " x ".join(str(side) for side in config["grid"])
        by = " (chosen privately, as in the first draw)" if config["choose"] == PRIVATE else ""
        draws = [
            f"private  k' {one['k']}  threshold {one['threshold']:g}  "
            f"clusters {one['n_clusters']}  (seed {one['seed']})"
            for one in report["private"]
        ]
        return [
            f"grid {grid}, p {config['density']:g}{by}, "
            f"{config['wavelet']} level {config['level']}",
            f"true     k {true['k']}  threshold {true['threshold']:g}  "
            f"clusters {true['n_clusters']}  noise points {true['noise_points']:,}"
            f"{class_text(true)}",
            *first_draws(draws),
        ]

    def _figures(self, one: Run, truth: Truth) -> Report:
        threshold = one.stages.threshold
        return {
            "k": one.k,
            "threshold": threshold.value,
            "positive": threshold.positive,
            "nonpositive": threshold.nonpositive,
            "significant": int(one.stages.significant.sum()),
            "n_clusters": one.stages.n_clusters,
            "cluster_sizes": one.stages.cluster_sizes,
            "noise_points": truth.noise_points(one.stages),
        }

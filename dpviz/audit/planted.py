"""Mistakes planted on purpose: an audit that misses these sees nothing.

A :class:`Bug` sits in any step of any method; what is more than too little noise is a mechanism
of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.methods import privqt, privthr
from dpviz.wavecluster.methods.privthr import pruned_threshold
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Source, cluster, transform
from dpviz.wavecluster.threshold import Threshold, density_threshold

#: Half of the noise, and next to none: the laws of noise have no scale of 0.
HALF, NONE = 0.5, 1e-9


@dataclass(frozen=True)
class Bug:
    """Noise of some steps is drawn at another scale than the ledger shows.

    Parameters
    ----------
    steps
        Pattern for the names of the steps, ``*`` standing for anything.
    factor
        Their scales are multiplied by it.
    """

    steps: str = "*"
    factor: float = HALF

    def of(self, step: str) -> float:
        """Factor on a step's scale."""
        return self.factor if fnmatchcase(step, self.steps) else 1.0


def known_seed(source: Source, config: Config, accountant: Accountant) -> Run:
    """PrivQT for whoever knows the seed: the noise taken off again.

    Works with a source that draws the same noise whenever the same step asks for it.
    """
    noisy = privqt.run(source, config, accountant).stages.counts
    (spend,) = accountant.ledger
    known = accountant.noise.laplace(spend.step, spend.scale, noisy.shape)
    return Run(config=config, stages=cluster(noisy - known, config), ledger=accountant.ledger)


def true_threshold(source: Source, config: Config, accountant: Accountant) -> Run:
    """PrivTHR with the threshold of the true subband."""
    threshold = density_threshold(transform(source.counts, config), config.density)
    return _at(threshold, privthr.run(source, config, accountant))


def exact_pruning(source: Source, config: Config, accountant: Accountant) -> Run:
    """PrivTHR that prunes by the exact number of non-positive coefficients."""
    run = privthr.run(source, config, accountant)
    exact = run.trace["nonpositive"]
    return _at(pruned_threshold(run.stages.average, config.density, exact), run)


def _at(threshold: Threshold, run: Run) -> Run:
    """Cluster a run's noisy subband at another threshold."""
    stages = run.stages
    return replace(
        run,
        stages=cluster(stages.counts, run.config, average=stages.average, threshold=threshold),
    )

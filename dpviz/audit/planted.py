"""Mistakes that are planted on purpose: too little noise (a :class:`Bug`), or wrong methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.families import family_of
from dpviz.privacy.mechanisms import Accountant, Gradual, Numbers
from dpviz.wavecluster.methods import privqt, privthr
from dpviz.wavecluster.methods.privthr import pruned_threshold
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Run, Source, cluster, transform
from dpviz.wavecluster.threshold import Threshold, density_threshold

#: Factors for half of the noise and for almost no noise; noise can't have the scale 0.
HALF, NONE = 0.5, 1e-9


@dataclass(frozen=True)
class Bug:
    """In the ``steps`` (a pattern), the noise scale is ``factor`` times the scale on the ledger.

    If a step makes earlier releases finer, the factor is for the scale that its own budget gives.
    """

    steps: str = "*"
    factor: float = HALF

    def of(self, step: str) -> float:
        """Factor on a step's scale."""
        return self.factor if fnmatchcase(step, self.steps) else 1.0


def known_seed(source: Source, config: Config, accountant: Accountant) -> Run:
    """PrivQT for an attacker who knows the seed of a repeatable source, and removes the noise."""
    noisy = privqt.run(source, config, accountant).stages.counts
    (spend,) = accountant.ledger
    known = accountant.noise.laplace(spend.step, spend.scale, noisy.shape)
    return Run(config=config, stages=cluster(noisy - known, config), ledger=accountant.ledger)


def true_threshold(source: Source, config: Config, accountant: Accountant) -> Run:
    """PrivTHR with the threshold of the true subband."""
    threshold = density_threshold(transform(source.counts, config), config.density)
    return _at(threshold, privthr.run(source, config, accountant))


def exact_pruning(source: Source, config: Config, accountant: Accountant) -> Run:
    """PrivTHR that prunes with the exact number of non-positive coefficients."""
    run = privthr.run(source, config, accountant)
    exact = run.trace["nonpositive"]
    return _at(pruned_threshold(run.stages.average, config.density, exact), run)


def _at(threshold: Threshold, run: Run) -> Run:
    stages = run.stages
    return replace(
        run, stages=cluster(stages.counts, run.config, average=stages.average, threshold=threshold)
    )


def all_refined(data: Any, config: Any, accountant: Accountant) -> Any:
    """A method whose nested releases refine all counts, and publish the noisy numbers as well."""

    def split(gradual: Gradual, where: Mask, numbers: Numbers) -> tuple[Floats, Floats]:
        finest, noisy = built(gradual, np.ones_like(where), numbers)
        return finest[where], noisy

    built = accountant.split
    accountant.split = split  # type: ignore[method-assign]
    return family_of(config.method).run(data, config, accountant)

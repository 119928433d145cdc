"""One method at one setting on one data set, ready to be drawn and scored many times.

Both families behind one face: what varies is the seed, and all that does not depend on it is
computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.domain import Domain, Outside
from dpviz.errors import InputError
from dpviz.family.card import Family
from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.truth import SCORES as CENTER_SCORES
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.noise import SeededNoise
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.pipeline import Run, Source, Stages
from dpviz.wavecluster.truth import CELL_SCORES, Truth, run, true_config

#: Records whose cluster is watched over many draws; more would take too long.
MOST_WATCHED = 20_000

#: All scores of a draw.
WAVECLUSTER_SCORES = (
    "clusters", "significant", "dsg_c", "f_measure", "noise_points", "ocm", "two_ce", "ari", "ami",
)  # fmt: skip
KMEANS_SCORES = (*CENTER_SCORES, "kept_centers", "zhang_f")

#: Scores that cost no more than a draw itself.
CHEAP: dict[Family, tuple[str, ...]] = {
    "wavecluster": ("clusters", "significant", "dsg_c", "f_measure", "noise_points"),
    "kmeans": ("nicv_ratio", "wcss_ratio", "f_measure", "displacement", "kept_centers"),
}


class Trial(Protocol):
    """One method at one setting on one data set."""

    @property
    def family(self) -> Family:
        """Family of the method."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Scores that a draw has, the cheap ones first."""
        ...

    def draw(self, seed: int) -> Any:
        """One private run."""
        ...

    def scores(self, one: Any, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Score the draw of a seed."""
        ...

    def touched(self, one: Any) -> NDArray[np.bool_]:
        """Mask of what a draw touches: see the two families."""
        ...

    def true(self) -> dict[str, float]:
        """Scores of the true run, those that are no comparison with it."""
        ...


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

    @property
    def family(self) -> Family:
        """Family of the method."""
        return "wavecluster"

    @property
    def names(self) -> tuple[str, ...]:
        """Scores that a draw has."""
        # Nothing can be held out of fewer records.
        return WAVECLUSTER_SCORES if self.truth.source.n > 1 else CHEAP["wavecluster"]

    def draw(self, seed: int) -> Run:
        """One private run."""
        return run(self.truth.source, self.config, SeededNoise(seed))

    def scores(self, one: Run, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Score the draw of a seed; OCM and 2CE draw anew on parts of the data."""
        found = self._counted(one.stages)
        found |= self.truth.scores(one.stages, tuple(n for n in names if n in CELL_SCORES))
        if {"ocm", "two_ce"} & set(names):
            found |= self.truth.agreement(self.config, seed)
        return {name: float(found[name]) for name in names}

    def touched(self, one: Run) -> NDArray[np.bool_]:
        """Mask of the significant cells of the average subband."""
        return one.stages.significant

    def true(self) -> dict[str, float]:
        """Numbers of the true run."""
        return self._counted(self.truth.stages)

    def _counted(self, stages: Stages) -> dict[str, float]:
        """What is counted on a run alone."""
        return {
            "clusters": float(stages.n_clusters),
            "significant": float(stages.significant.sum()),
            "noise_points": float(self.truth.noise_points(stages)),
        }


@dataclass(frozen=True, eq=False)
class KMeansTrial:
    """A k-means method on records.

    Parameters
    ----------
    truth
        Best clustering of the records without noise.
    config
        Method and parameters.
    """

    truth: KMeansTruth
    config: KMeansConfig

    @property
    def family(self) -> Family:
        """Family of the method."""
        return "kmeans"

    @property
    def names(self) -> tuple[str, ...]:
        """Scores that a draw has."""
        return KMEANS_SCORES

    def draw(self, seed: int) -> KMeansRun:
        """One private run, its clusters numbered like the true ones that they are matched to."""
        return self.truth.matched(run_kmeans(self.truth.records, self.config, SeededNoise(seed)))

    def scores(self, one: KMeansRun, seed: int, names: Sequence[str]) -> dict[str, float]:
        """Score the draw of a seed."""
        found = self.truth.scores(one, tuple(name for name in names if name in CENTER_SCORES))
        found["kept_centers"] = float(one.kept_centers)
        if "zhang_f" in names:
            found["zhang_f"] = self.truth.against_silenced(one, SeededNoise(seed))
        return {name: float(found[name]) for name in names}

    def touched(self, one: KMeansRun) -> NDArray[np.bool_]:
        """Mask (m,) of the watched records that are in another cluster than truly."""
        scaled, labels = self._watched
        return np.asarray(nearest(scaled, self.truth.space.scale(one.centers)) != labels)

    def true(self) -> dict[str, float]:
        """Errors of the true run."""
        return self.truth.scores(self.truth.run, ("wcss", "nicv", "wcss_ratio", "nicv_ratio"))

    @property
    def watched(self) -> NDArray[np.intp]:
        """Numbers of the records that :meth:`touched` watches, shape (m,): all, or a sample."""
        n = self.truth.records.n
        if n <= MOST_WATCHED:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, MOST_WATCHED, replace=False))

    @cached_property
    def _watched(self) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Watched records, scaled, and their true clusters."""
        watched = self.watched
        return self.truth.records.scaled(self.truth.space)[watched], self.truth.labels[watched]


def trial_of(
    dataset: Dataset,
    config: Config | KMeansConfig,
    domain: Domain | None = None,
    outside: Outside = "clip",
) -> WaveClusterTrial | KMeansTrial:
    """Bring data and setting together.

    Parameters
    ----------
    dataset, domain, outside
        As for :meth:`Source.build` and :meth:`Records.build`.
    config
        Method and parameters, of either family.

    Raises
    ------
    InputError
        Where they do not fit together.
    """
    if isinstance(config, Config):
        source = Source.build(dataset, config.grid, domain, outside)
        return WaveClusterTrial(Truth(source, true_config(config)), config)
    records = Records.build(dataset, domain, outside)
    return KMeansTrial(KMeansTruth(records, config.clusters), config)


def check_scores(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError where a score is unknown, with the choices."""
    for name in names:
        if name not in known:
            raise InputError(f'score = "{name}" is unknown: choose from {", ".join(known)}.')

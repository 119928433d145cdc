"""Data from which all panels of a WaveCluster run are drawn: the true run and a private run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError
from dpviz.data.geographic import map_axes
from dpviz.family.parameter import GIVEN
from dpviz.figures.ground import PLAIN, Ground
from dpviz.figures.raster import Raster
from dpviz.figures.theme import Mode
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import matched_numbers
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.fates import Fates, fates
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth
from dpviz.wavecluster.truth import run as run_wavecluster

#: An array of the true run, and the same array of the private run.
Pair = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class WaveClusterPicture:
    """Data behind all panels."""

    truth: Truth  # true run and its source, with two axes
    private: Stages
    raster: Raster  # points on the lattice of the screen
    columns: Sequence[str]
    mode: Mode = "light"
    title: str = ""
    #: Heading of the private panels, and their name in tables; different if the run isn't private.
    private_title: str = "private"
    side: str = "private"
    #: The private run, with its synopsis and the sampling of its threshold; or None.
    run: Run | None = None
    ground: Ground = PLAIN
    #: Whether the true points are shown over the private clusters; a release has no such points.
    with_points: bool = False
    #: Makes a run of the same method, with the same seed, at another epsilon; or None.
    again: Callable[[float], Run] | None = None

    def __post_init__(self) -> None:
        """Refuse data that don't have two axes."""
        if self.truth.source.counts.ndim != 2:
            raise InputError("the panels show two columns: choose two of the data's columns.")

    @property
    def true(self) -> Stages:
        """Stages of the true run."""
        return self.truth.stages

    @property
    def stages(self) -> tuple[Stages, Stages]:
        """Stages of the true and of the private run."""
        return self.true, self.private

    @property
    def domain(self) -> Domain:
        """Bounds of both axes."""
        return self.truth.source.domain

    def width(self, level: int) -> NDArray[np.float64]:
        """Width of a cell of the grid (level 0) or of a subband, per axis."""
        return cell_width(self.domain, self.truth.source.shape, level)

    @cached_property
    def numbers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number, and therefore colour, of each true and private cluster (index 0 = noise)."""
        # A private cluster gets the number of the true cluster with which it shares most cells, but
        # no two private clusters get the same number. So numbers rarely change between draws. The
        # other clusters get further numbers.
        true, private = self.stages
        new = np.concatenate([self.fates.invented, self.fates.splinters])
        return np.arange(true.n_clusters + 1), matched_numbers(true.labels, private.labels, new)

    @cached_property
    def fates(self) -> Fates:
        """What happened to the true clusters, and which private clusters have no true cluster."""
        return fates(self.true.labels, self.private.labels)

    @property
    def denoised(self) -> bool:
        """Whether private counts are computed from the noisy counts, and not equal to them."""
        drawn = self.run is not None and self.run.leaves is not None
        return drawn or self.private.threshold.sampled

    @property
    def labels(self) -> Pair:
        """Label grids with the numbers that the screen shows."""
        true, private = self.numbers
        return true[self.true.labels], private[self.private.labels]


def picture_of(
    trial: WaveClusterTrial, run: Run, columns: Sequence[str], title: str, mode: Mode
) -> WaveClusterPicture:
    """Build the picture of a private run next to the true run; longitude is the horizontal axis."""
    truth, turned = trial.truth, map_axes(columns) == (1, 0)
    source, config = truth.source, run.config
    if turned:
        truth = Truth(truth.source.turned(), truth.config)
        run, columns = run.turned(), columns[::-1]

    def again(epsilon: float) -> Run:
        given = replace(config, epsilon=epsilon, choose=GIVEN)
        found = run_wavecluster(source, given, SeededNoise(0))
        return found.turned() if turned else found

    return WaveClusterPicture(
        truth=truth,
        private=run.stages,
        raster=Raster.of_source(truth.source),
        columns=columns,
        mode=mode,
        title=title,
        run=run,
        again=again if run.ledger.spends else None,
    )

"""The null set: how many clusters each technique finds where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpviz.data.dataset import Dataset
from dpviz.display import Displayed
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.experiments.tuning.common import SEEDS, checked_seeds
from dpviz.metrics.bands import Band, band
from dpviz.noise import SeededNoise
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run
from dpviz.work import IsCancelled, Progress, Work


@dataclass(frozen=True, kw_only=True, eq=False)
class NullSet(Displayed):
    """How many clusters each technique finds where there is none.

    Parameters
    ----------
    config
        Settings; the method in it does not matter.
    n
        Number of records.
    seeds
        One set of uniform noise and one draw of each technique for each.
    clusters
        Numbers of clusters, shape (R,), by technique; without privacy first.
    """

    config: Config
    n: int
    seeds: tuple[int, ...]
    clusters: dict[str, NDArray[np.float64]]

    @cached_property
    def bands(self) -> dict[str, Band]:
        """Median and band of each technique."""
        return {name: band(values) for name, values in self.clusters.items()}


def null_clusters(
    config: Config,
    n: int,
    seeds: Sequence[int] = SEEDS,
    domain: Domain | None = None,
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> NullSet:
    """Count the clusters that each technique invents on uniform noise.

    The points are drawn anew for every seed, and all techniques see the same ones: the band
    holds the luck of the points as well as that of the privacy noise, and no answer depends on
    one set of points. The true WaveCluster has a band for that reason too.

    Parameters
    ----------
    config
        Grid, density, wavelet, level, epsilon, variant and synopsis. Its alpha goes to its own
        method; the others take their defaults.
    n
        Number of records, at least 1.
    seeds
        One set of points each.
    domain
        Box of the points; None takes the unit square. Where it lies does not matter.
    progress, cancelled
        As for :class:`dpviz.work.Work`; a step is one draw.

    Raises
    ------
    InputError
        Where there is no record or no seed.
    Cancelled
        Where ``cancelled`` returns true.

    Notes
    -----
    The points are public, nobody's data: this spends nothing.
    """
    if n < 1:
        raise InputError(f"n = {n}: give one or more records of uniform noise.")
    seeds, box = checked_seeds(seeds), domain or Domain(((0.0, 1.0), (0.0, 1.0)))
    work = Work(len(seeds) * len(WAVECLUSTER), "draws", progress, cancelled)
    clusters = {name: np.empty(len(seeds)) for name in WAVECLUSTER}
    for number, seed in enumerate(seeds):
        generator = SeededNoise(seed).generator("null set")
        points = generator.uniform(box.lows, box.highs, (n, box.ndim))
        source = Source.build(Dataset(name="uniform noise", points=points), config.grid, box)
        for name in work.over(tuple(WAVECLUSTER)):
            alpha = config.alpha if name == config.method else None
            one = replace(config, method=name, alpha=alpha)
            clusters[name][number] = run(source, one, SeededNoise(seed)).stages.n_clusters
    return NullSet(config=config, n=n, seeds=seeds, clusters=clusters)

"""The null set: the number of clusters that each technique finds in data without clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.display import Displayed
from dpviz.base.errors import InputError
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.dataset import Dataset
from dpviz.experiments.tuning.common import SEEDS, checked_seeds, score_at
from dpviz.families import family_of, trial_of
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain
from dpviz.metrics.bands import Band, band
from dpviz.privacy.noise_source import SeededNoise


@dataclass(frozen=True, kw_only=True, eq=False)
class NullSet(Displayed):
    """Number of clusters that each technique finds in data without clusters.

    Each of R ``seeds`` has its own uniform points. ``clusters`` has the numbers (R,) by technique,
    the techniques without privacy first. Each technique replaces the method of ``config``.
    """

    config: Any
    n: int
    seeds: tuple[int, ...]
    clusters: dict[str, NDArray[np.float64]]

    @cached_property
    def bands(self) -> dict[str, Band]:
        """Median and band of each technique."""
        return {name: band(values) for name, values in self.clusters.items()}


def null_clusters(
    config: Configuration,
    n: int,
    seeds: Sequence[int] = SEEDS,
    domain: Domain | None = None,
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> NullSet:
    """Count the clusters that each technique invents on uniform noise.

    Every seed has new points, the same for all techniques, so WaveCluster without noise has a band,
    too. Parameters that not all methods have apply to the method in ``config``. The points are
    random in the box ``domain`` (None: the unit square), so this spends no budget. Raises
    InputError without records or seeds.
    """
    if n < 1:
        raise InputError(f"n = {n}: give one or more records of uniform noise.")
    seeds, box = checked_seeds(seeds), domain or Domain(((0.0, 1.0), (0.0, 1.0)))
    family = family_of(config.method)
    work = Work(len(seeds) * len(family.methods), "draws", progress, cancelled)
    clusters = {name: np.empty(len(seeds)) for name in family.methods}
    for number, seed in enumerate(seeds):
        points = SeededNoise(seed).generator("null set").uniform(box.lows, box.highs, (n, box.ndim))
        trial = trial_of(Dataset(name="uniform noise", points=points), config, box)
        for name in work.over(tuple(family.methods)):
            own = {} if name == config.method else family.defaults(name, config.variant)
            clusters[name][number] = score_at(trial, "clusters", {"method": name, **own}, seed)
    return NullSet(config=config, n=n, seeds=seeds, clusters=clusters)

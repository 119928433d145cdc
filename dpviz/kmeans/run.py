"""The result of one run of a k-means method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpviz.base.arrays import Floats, Indices, Mask
from dpviz.kmeans.choose_clusters import ClusterChoice
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.privacy.ledger import Ledger

if TYPE_CHECKING:
    from dpviz.kmeans.chain import Chain
    from dpviz.kmeans.grid import NoisyGrid

Centers = Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Iteration:
    """One noisy update of the centres (K, d), which are in the units of the data.

    It has noisy counts n' (K,), scaled sums s' (K, d), and the scale of each cluster's noise.
    ``kept`` centres did not move, because their update could not be used.
    ``span`` is the domain's scaled width.
    """

    centers: Centers
    counts: Floats
    sums: Floats
    scales: Floats
    kept: Mask
    epsilon: float
    span: float

    def reordered(self, order: Indices) -> Iteration:
        """Return the same iteration with clusters in another order."""
        return replace(
            self,
            **{
                name: getattr(self, name)[order]
                for name in ("centers", "counts", "sums", "scales", "kept")
            },
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansRun:
    """One run of a method; all parts of a sound private run are private.

    ``start``, ``iterations``, ``before`` (post-processing), ``chain``, ``grid`` and ``choice`` (of
    K) are empty if the method has none. ``decision`` says what the method decided from released
    numbers. Centres (K, d) are in the units of the data.
    """

    config: KMeansConfig
    centers: Centers
    ledger: Ledger
    start: Centers | None = None
    iterations: tuple[Iteration, ...] = ()
    before: Centers | None = None
    chain: Chain | None = None
    grid: NoisyGrid | None = None
    choice: ClusterChoice | None = None
    decision: str = ""

    @property
    def path(self) -> tuple[Centers, ...]:
        """Centres at the start and after each iteration, arrays of shape (K, d)."""
        start = () if self.start is None else (self.start,)
        return (*start, *(iteration.centers for iteration in self.iterations))

    @property
    def kept_centers(self) -> int:
        """Number of updates that were unusable, so that a centre did not move."""
        return sum(int(iteration.kept.sum()) for iteration in self.iterations)

    @property
    def centre_noise(self) -> Floats:
        """Typical move of a coordinate by noise, % of the domain (T, K); NaN if it did not move."""
        shift = [
            np.where(one.kept, np.nan, one.scales / np.where(one.counts > 0, one.counts, np.nan))
            for one in self.iterations
        ]
        return 100 * np.array(shift) / self.iterations[0].span

    def with_choice(self, choice: ClusterChoice | None) -> KMeansRun:
        """Return the same run with a description of how K was chosen; unchanged if K was given."""
        if choice is None:
            return self
        config = replace(self.config, clusters=choice.clusters)
        decision = f"{choice.words} {self.decision}".strip()
        return replace(self, config=config, choice=choice, decision=decision)

    def reordered(self, order: Indices) -> KMeansRun:
        """Return the run with its clusters in another order.

        Iterations before a post-processing step keep their own order.
        """
        if self.before is not None:
            return replace(self, centers=self.centers[order])
        return replace(
            self,
            centers=self.centers[order],
            start=None if self.start is None else self.start[order],
            iterations=tuple(iteration.reordered(order) for iteration in self.iterations),
        )


def canonical(centers: Centers) -> Indices:
    """Return the order of centres (K, d) by first coordinate, then by the later coordinates."""
    return np.lexsort(centers.T[::-1])

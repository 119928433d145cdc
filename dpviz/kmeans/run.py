"""The result of one run of a k-means method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.kmeans.choose_clusters import ClusterChoice
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.privacy.ledger import Ledger

if TYPE_CHECKING:
    from dpviz.kmeans.chain import Chain
    from dpviz.kmeans.grid import NoisyGrid

Centers = Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Iteration:
    """One noisy update of the centres.

    Parameters
    ----------
    centers
        Centres after the update, shape (K, d), in the units of the data.
    counts, sums, scales
        Noisy number of records per cluster n', shape (K,); noisy sums s', shape (K, d), scaled;
        scale of the Laplace noise on the count and on each sum of a cluster, shape (K,).
    kept
        Mask (K,) of the centres that did not move, because n' was not positive or the new place
        was outside the domain.
    epsilon, span
        Budget of the iteration; width of the domain in scaled coordinates.
    """

    centers: Centers
    counts: Floats
    sums: Floats
    scales: Floats
    kept: NDArray[np.bool_]
    epsilon: float
    span: float

    def reordered(self, order: NDArray[np.intp]) -> Iteration:
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
    """One run of a method. All parts of a sound private run are private.

    Parameters
    ----------
    config, choice
        Public parameters; if the method chose K, its choice and the reason.
    centers, ledger
        Final centres, shape (K, d), in the units of the data; spent budget, empty for the true run.
    start, iterations
        Centres before the first iteration, or None; noisy updates in order. Empty for methods
        without iterations.
    before, chain
        Centres before post-processing; the Markov chain of MCMC.
    grid, decision
        A noisy grid that the run released. A sentence about the method's decisions from released
        numbers; may be empty.
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
        """Typical move of a centre's coordinate by noise, in % of the domain, shape (T, K).

        Scale of the noise divided by the noisy count. NaN if the centre did not move.
        """
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

    def reordered(self, order: NDArray[np.intp]) -> KMeansRun:
        """Return the same run with its clusters, in all iterations, in another order.

        Post-processed centres have no path, so the path before post-processing keeps its order.
        """
        if self.before is not None:
            return replace(self, centers=self.centers[order])
        return replace(
            self,
            centers=self.centers[order],
            start=None if self.start is None else self.start[order],
            iterations=tuple(iteration.reordered(order) for iteration in self.iterations),
        )


def canonical(centers: Centers) -> NDArray[np.intp]:
    """Return the order of centres (K, d) by first coordinate, then second, and so on."""
    return np.lexsort(centers.T[::-1])

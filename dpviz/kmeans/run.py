"""What one run of a k-means method leaves behind."""

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
        After the update, shape (K, d), in the units of the data.
    counts, sums, scales
        Noisy records per cluster n', shape (K,); noisy sums s', shape (K, d), scaled; scale of the
        Laplace noise on the count and on each sum of every cluster, shape (K,).
    kept
        Mask (K,) of the centres that stayed where they were, since n' was not positive or
        the new place lay outside the domain.
    epsilon, span
        What the iteration cost; extent of the domain in scaled coordinates.
    """

    centers: Centers
    counts: Floats
    sums: Floats
    scales: Floats
    kept: NDArray[np.bool_]
    epsilon: float
    span: float

    def reordered(self, order: NDArray[np.intp]) -> Iteration:
        """Return the same with clusters in another order."""
        return replace(
            self,
            **{
                name: getattr(self, name)[order]
                for name in ("centers", "counts", "sums", "scales", "kept")
            },
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class KMeansRun:
    """One run of a method; of a sound private run all of it is private.

    Parameters
    ----------
    config, choice
        Public parameters; K as the method chose it, where it did, and how.
    centers, ledger
        Final centres, shape (K, d), in the units of the data; spends, empty for the true run.
    start, iterations
        Centres before the first iteration, or None, and noisy updates in order; empty for methods
        without any.
    before, chain
        Centres that post-processing improved upon; the Markov chain of MCMC.
    grid, decision
        The noisy grid that was released on the way. What the method decided from released numbers,
        in one sentence; may be empty.
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
        """Centres from the start on, one (K, d) array per iteration."""
        start = () if self.start is None else (self.start,)
        return (*start, *(iteration.centers for iteration in self.iterations))

    @property
    def kept_centers(self) -> int:
        """How often a centre stayed where it was since it had no usable update."""
        return sum(int(iteration.kept.sum()) for iteration in self.iterations)

    @property
    def centre_noise(self) -> Floats:
        """How far noise moves a coordinate of each centre, in % of the domain, shape (T, K).

        Scale of the noise over the noisy count. NaN where the centre stayed where it was.
        """
        shift = [
            np.where(one.kept, np.nan, one.scales / np.where(one.counts > 0, one.counts, np.nan))
            for one in self.iterations
        ]
        return 100 * np.array(shift) / self.iterations[0].span

    def with_choice(self, choice: ClusterChoice | None) -> KMeansRun:
        """Return the same run, which says how its K was chosen, if it was."""
        if choice is None:
            return self
        config = replace(self.config, clusters=choice.clusters)
        decision = f"{choice.words} {self.decision}".strip()
        return replace(self, config=config, choice=choice, decision=decision)

    def reordered(self, order: NDArray[np.intp]) -> KMeansRun:
        """Return the same run with its clusters, along their whole path, in another order.

        Post-processed centres have no path of their own, so the path before them stays.
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
    """Order of centres (K, d) by their first coordinate, then the second, and so on."""
    return np.lexsort(centers.T[::-1])

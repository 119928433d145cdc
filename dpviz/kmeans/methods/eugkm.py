"""EUGkM: k-means on the noisy counts of a uniform grid."""

from __future__ import annotations

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.choose_clusters import choose_clusters
from dpviz.kmeans.grid import NoisyGrid, noisy_grid
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.passes import assigned
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import spread, utility_plus
from dpviz.privacy.mechanisms import Accountant

#: Largest number of iterations, and smallest change of the movement, in the program of Su et al.
STEPS, SETTLED = 101, 1e-6

CARD = card_of(__file__, takes("eugkm"))


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run k-means on a noisy grid (Su et al., EUGkM); choose K from the grid if configured."""
    grid = noisy_grid(records, config, accountant, step="cells", epsilon=config.epsilon)
    return from_grid(grid, records, config, accountant)


def from_grid(
    grid: NoisyGrid, records: Records, config: KMeansConfig, accountant: Accountant
) -> KMeansRun:
    """Return a run of k-means on a noisy grid; choose K from the grid if configured."""
    choice, K = None, config.clusters
    if config.choose == PRIVATE:
        seed = int(accountant.noise.generator("choice").integers(2**31))
        choice = choose_clusters(grid.points, seed)
        K = choice.clusters
    centers = grid_centers(grid, K, config, accountant.noise.generator("restarts"))
    run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger, grid=grid)
    return restored(run.with_choice(choice), Space(records.domain))


def grid_centers(
    grid: NoisyGrid, clusters: int, config: KMeansConfig, generator: np.random.Generator
) -> Floats:
    """Centres (K, d) of k-means on a noisy grid, in scaled coordinates."""
    if config.variant == "sound":
        return utility_plus(*grid.places(), clusters, generator)
    start = spread(clusters, grid.ndim, generator)
    if len(grid.counts) > grid.most_places:
        return printed_kmeans(*grid.places(), start)
    return printed_kmeans(grid.centers, grid.counts, start)


def printed_kmeans(places: Floats, counts: Floats, centers: Floats) -> Floats:
    """Move centres (K, d) to the means of their places (m, d), weighted by counts of any sign.

    A mean is clipped to the box; a centre without places moves to the middle. The program of Su et
    al. 2016 (github.com/DongSuIBM/PrivKmeans) returns the centres before the last movement.
    """
    before, movement, last = centers, float(((centers + 1) ** 2).sum()), np.inf
    steps = 0
    while abs(last - movement) >= SETTLED and steps < STEPS:
        before, last = centers, movement
        labels, _ = assigned(places, before)
        totals = np.bincount(labels, counts, len(before))
        sums = [np.bincount(labels, counts * axis, len(before)) for axis in places.T]
        means = np.stack(sums, axis=1) / np.where(totals, totals, np.inf)[:, None]
        centers = np.clip(means, -1, 1)
        movement = float(((centers - before) ** 2).sum())
        steps += 1
    return before

"""EUGkM: k-means on the noisy counts of a uniform grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.family.card import Card, Variant
from dpviz.kmeans.grid import NoisyGrid, noisy_grid
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import utility_plus
from dpviz.privacy.mechanisms import Accountant

TRUE_SIZE = (
    "The number of cells is computed from the true number of records: one that comes or goes (also "
    "a replaced one that leaves the domain or lacks a value) can change the grid, which is plain "
    "to see."
)

CELLS = (
    "Cells hold 3 records per unit of 1/epsilon when sound, 10 as published: on S1 (K 15, epsilon "
    "0.1) NICV is 1.1 times the true one with 3, and 2.2 with 10. All axes have equally many "
    "cells, at least 2, and there are at least K cells."
)

RESTARTS = (
    "k-means on the cells moves its least useful centre (Hu et al., Algorithm 3) instead of only "
    "starting again: simple restarts often end with two clusters joined."
)

CARD = Card(
    name="eugkm",
    family="kmeans",
    title="EUGkM",
    estimator="EUGkM",
    summary=(
        "Counts of a uniform grid with noise, once; then k-means on the cell centres, weighted by "
        "the noisy counts. The grid has (N epsilon / c)^(2d / (2 + d)) cells, c = 3 (printed: 10)."
    ),
    paper="Su, Cao, Li, Bertino, Jin 2016; as in Lee, Kifer 2016",
    algorithm="EUGkM",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Two Laplace mechanisms of sensitivity 1: the number of records (2% of epsilon), "
                "which sets the grid, and the counts of its cells (98%); all else is computed from "
                "their outputs."
            ),
        ),
        Variant(name="published", private=False, reason=TRUE_SIZE),
    ),
    parameters=takes("eugkm"),
    deviations=(
        CELLS,
        "When sound, noisy counts are taken to the nearest non-negative ones with the noisy total; "
        "without it positive noise in empty cells weighs as much as the data. As published, they "
        "are used as they are; negative ones count as 0, since k-means takes no negative weights.",
        RESTARTS,
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """k-means on a noisy grid (Su et al., EUGkM)."""
    grid = noisy_grid(
        records,
        accountant,
        step="cells",
        epsilon=config.epsilon,
        clusters=config.clusters,
        variant=config.variant,
    )
    centers = grid_centers(grid, config.clusters, accountant.noise.generator("restarts"))
    run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger, grid=grid)
    return restored(run, Space(records.domain))


def grid_centers(
    grid: NoisyGrid, clusters: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Scaled centres (K, d) of the weighted cells; improves the start instead of only restarting.

    Simple restarts have one of two results: the right one, or one with two clusters joined.
    """
    return utility_plus(grid.centers, grid.weights, clusters, generator)

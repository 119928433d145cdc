"""DP-Refine: a nested grid, or in many columns a tree of residual steps; ours."""

from __future__ import annotations

import math

import numpy as np

from dpviz.family.card import Card, Variant
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.choose_clusters import USUAL, choose_clusters
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.nested_grid import Estimate, NestedGrid, nested_grid
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.passes import assigned
from dpviz.kmeans.records import Records
from dpviz.kmeans.residual import Prototypes, residual_step, spread
from dpviz.kmeans.residual_tree import residual_tree
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import utility_plus
from dpviz.privacy.mechanisms import Accountant

#: Up to as many columns a nested grid, from more on a residual tree.
GRID_COLUMNS = 4

#: Share of the budget for the number of records: before a grid, and before a tree.
GRID_SIZE, TREE_SIZE = 0.02, 0.01

#: Share of the budget for a residual step after a grid, and records per cluster, times epsilon,
#: from which on there is one.
LAST, ENOUGH = 0.2, 300.0


CARD = Card(
    name="dprefine",
    family="kmeans",
    title="DP-Refine",
    estimator="DPRefine",
    summary=(
        f"Up to {GRID_COLUMNS} columns: noisy counts of a grid, whose full cells are split once "
        "more; k-means on the counts after noise is taken off, then one noisy iteration where "
        "records are many. With more columns: prototypes that split and move to the noisy means of "
        "their records, level by level; then k-means on them."
    ),
    paper="no paper",
    algorithm="our own method",
    origin="ours",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Sequential composition. The number of records and the numbers of records by "
                "distance: Laplace mechanisms of sensitivity 1. Root and residuals: K-norm "
                "mechanisms. A record changes one cluster, by a count of 1, a square of at most 1 "
                "and a residual of length at most 1 (of the root: no entry by more than 1), which "
                "is 1 in the norm of the noise; centres and clip radius were computed from outputs "
                "before. Grid: which cells are split is computed from rough counts. A cell that is "
                "not split gets a count with the noise of both budgets; its rough count is drawn "
                "from that one, so both together cost both budgets. A cell that is split costs the "
                "budget of its rough count and that of its subcells. So a record costs the same in "
                "either, and each of m records in different cells an m-th of it."
            ),
        ),
    ),
    parameters=takes("dprefine"),
    deviations=(
        "No paper: built from known parts. Nested noise after Koufogiannis, Han, Pappas 2015, "
        "K-norm noise after Hardt, Talwar 2010, a grid of two levels as in Qardaji, Yang, Li 2013.",
        "A release has the same noise as the explorer, rounded to multiples of 2^-20. OpenDP has "
        "no K-norm noise: it is drawn as real numbers to as many digits as decide the rounding.",
        "All constants were chosen on sets of 2 to 32 columns that we looked at. They follow from "
        "the noisy number of records, epsilon, K and the number of columns, and from nothing else.",
        "k-means on the cells moves its least useful centre (Hu et al., Algorithm 3) instead of "
        "only starting again.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Nested grid and k-means on it, or residual tree (ours)."""
    space, d = Space(records.domain), records.domain.ndim
    given = None if config.choose == PRIVATE else config.clusters
    share = GRID_SIZE if d <= GRID_COLUMNS else TREE_SIZE
    size = Estimate.release(records, accountant, config.epsilon, share)
    # Rounded down: what is left may not sum to more than the budget.
    left = math.nextafter(config.epsilon - share * config.epsilon, 0)
    if d > GRID_COLUMNS:
        centers, choice = residual_tree(
            records, space, accountant, epsilon=left, clusters=given, size=size
        )
        run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger)
        return restored(choice.told(run) if choice else run, space)
    K = given or USUAL
    iterates = size.value * left / accountant.neighbours.multiplier > ENOUGH * K
    last = LAST * left if iterates else 0.0
    grid = nested_grid(records, space, accountant, epsilon=left - last, clusters=K, size=size)
    choice = None
    if given is None:
        choice = choose_clusters(
            grid.noisy, int(accountant.noise.generator("choice").integers(2**31))
        )
        K = choice.clusters
    centers = utility_plus(grid.points, grid.weights, K, accountant.noise.generator("restarts"))
    decision = "No residual step: at this ε and number of records the grid alone is better."
    if iterates:
        found = _scaled(centers, grid)
        centers = residual_step(
            records, space, accountant, found,
            number=1, epsilon=last, size=size.value, shrink=True,
        ).centers  # fmt: skip
        decision = "One residual step: at this ε and number of records it improves the grid."
    run = KMeansRun(
        config=config,
        centers=centers,
        ledger=accountant.ledger,
        grid=grid.cells,
        decision=decision,
    )
    return restored(choice.told(run) if choice else run, space)


def _scaled(centers: np.ndarray, grid: NestedGrid) -> Prototypes:
    """Centres with the numbers and distances of the grid's records."""
    labels, squares = assigned(grid.points, centers)
    counts = np.bincount(labels, grid.weights, len(centers)).astype(float)
    errors = np.bincount(labels, grid.weights * squares, len(centers))
    return Prototypes(centers, counts, spread(np.sqrt(errors / np.maximum(counts, 1e-9))))

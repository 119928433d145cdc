"""DP-Refine: seeds from a noisy grid, or in many columns from a tree, and residual steps; ours."""

from __future__ import annotations

import math
from dataclasses import replace

from dpviz.family.card import Card, Variant
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.choose_clusters import NOTHING, USUAL
from dpviz.kmeans.grid import Size, noisy_grid
from dpviz.kmeans.grid_seeds import DIMENSIONS, SPARSE_BOX, WHOLE_BOX, grid_seeds
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.methods.eugkm import from_grid
from dpviz.kmeans.nested_grid import Estimate
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.residual import residual_step
from dpviz.kmeans.residual_tree import Seeding, last_steps, mean_noise, packed, residual_tree
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.privacy.mechanisms import Accountant

#: Up to as many columns a nested grid and at most one residual step.
GRID_COLUMNS = 4

#: Share of the budget for the number of records: in few columns, and at least in many, where it
#: is PER_EPSILON / epsilon, up to MOST_SIZE: a small epsilon would hide which of the ways to take.
GRID_SIZE, TREE_SIZE, PER_EPSILON, MOST_SIZE = 0.02, 0.01, 0.0015, 0.03

#: With fewer records per cluster, over the noise of a count, they are few: in up to FLAT columns,
#: and from more than GRID_COLUMNS to as many as a grid has room for. Between, splits pay.
FLAT = 2
FEW_SPARSE, MANY_SPARSE = 16.0, 120.0

#: In few columns: share of the budget for a residual step, and records per cluster, times epsilon,
#: from which on there is one.
LAST, ENOUGH = 0.2, 300.0

#: In many columns: records per cluster, over the noise of a mean, from which on a tree is as good
#: as a grid, and quicker.
TREE_FROM = 40.0

#: In many columns: share of the budget for last steps, and records per cluster, over the noise of
#: a mean with that share, from which on one and two of them pay.
TREE_LAST, ONE_STEP, TWO_STEPS = 0.45, 1.5, 4.0

#: With fewer records per cluster, over the noise of a mean, a plain grid tells more than all else,
#: in more than FLAT columns and as many as a grid has room for; with far fewer all is noise.
VERY_FEW, BLIND = 3.0, 0.2

#: Most columns of such a grid; in more columns, a number of records below which all is noise.
PLAIN_BOX, BLIND_BEYOND = 16, 2.0

#: In many columns, where records are few: mean square of the moves that are no noise, at least,
#: of the mean square of the distances.
LEAST_MOVE = 0.25

_DECISIONS = (
    "No residual step: at this ε and number of records the start alone is better.",
    "One residual step: at this ε and number of records it improves the start.",
    "Two residual steps: at this ε and number of records they improve the start.",
)
_BLIND = (
    "Centres that look at no data, and one residual step: at this ε and number of records all "
    "else is noise."
)
_PLAIN = "A plain grid as in EUGkM: at this ε and number of records it tells more than all else."

CARD = Card(
    name="dprefine",
    family="kmeans",
    title="DP-Refine",
    estimator="DPRefine",
    summary=(
        f"Up to {GRID_COLUMNS} columns: noisy counts of a grid, whose full cells are split once "
        "more; k-means on the counts after noise is taken off, then one noisy iteration where "
        f"records are many. Up to {WHOLE_BOX} columns: a grid without split cells. More columns: a "
        f"grid in a random projection to {DIMENSIONS} dimensions, which divides the records into "
        "groups, whose noisy means go into k-means. With very many records, prototypes that split "
        "and move to the noisy means of their records, level by level. Up to two noisy iterations "
        f"follow. With few records no cell is split (except in {FLAT + 1} and {GRID_COLUMNS} "
        f"columns), a grid covers up to {SPARSE_BOX} columns, and at most one noisy iteration "
        "follows, which moves centres by what can be told from noise. With very few, in "
        f"{FLAT + 1} to {PLAIN_BOX} columns, a plain grid as in EUGkM is all; with next to none, "
        "centres that look at no data, and one such iteration."
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
                "is 1 in the norm of the noise. Centres and clip radius were computed from outputs "
                "before, and a record's cluster from these and from the record alone. Grid: which "
                "cells are split is computed from rough counts. A cell that is not split gets a "
                "count with the noise of both budgets; its rough count is drawn from that one, so "
                "both together cost both budgets. A cell that is split costs the budget of its "
                "rough count and that of its subcells. So a record costs the same in either, and "
                "each of m records in different cells an m-th of it. Plain grid: one Laplace "
                "mechanism on its counts, whose number follows from the noisy number of records. "
                "Projection: its directions "
                "are random numbers that look at no data and may be known; its middle and width "
                "come from the root. So a record's projection, clipped to the box of the grid, "
                "depends on the record and on outputs alone, and lies in one cell and one group."
            ),
        ),
    ),
    parameters=takes("dprefine"),
    decides=True,
    coarser="on a coarse grid",
    deviations=(
        "No paper: built from known parts. Random projection after Balcan, Dick, Liang, Mou, Zhang "
        "2017. Nested noise after Koufogiannis, Han, Pappas 2015, "
        "K-norm noise after Hardt, Talwar 2010, a grid of two levels as in Qardaji, Yang, Li 2013.",
        "A release has the same noise as the explorer: whole numbers on rough and fine counts, all "
        "else rounded to multiples of 2^-20. OpenDP has no K-norm noise: it is drawn as real "
        "numbers to as many digits as decide the rounding.",
        "All constants were chosen on sets of 2 to 32 columns that we looked at. They follow from "
        "the noisy number of records, epsilon, K and the number of columns, and from nothing else.",
        "K can be chosen privately as in EUGkM: from the counts of the grid, or from groups and "
        "prototypes, each of which stands for random points around it. It costs no further "
        "epsilon. On 12 sets of 2 to 16 columns it reaches more than 0.99 of the best silhouette "
        "in hindsight at epsilon 0.5, 1 and 2.",
        "k-means on the cells moves its least useful centre (as in Hu et al., Algorithm 3) besides "
        "starting again.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Nested grid, or residual tree, and residual steps (ours)."""
    space, d = Space(records.domain), records.domain.ndim
    clusters = None if config.choose == PRIVATE else config.clusters
    share = size_share(d, config.epsilon)
    size = Estimate.release(records, accountant, config.epsilon, share)
    # Rounded down: what is left may not sum to more than the budget.
    left = math.nextafter(config.epsilon - share * config.epsilon, 0)
    times, K = accountant.neighbours.multiplier, clusters or USUAL
    # Records per cluster, over the scale of the noise of a count.
    many = size.value * left / (times * K)
    seeded, sparse, least, noise = grid_seeds, few(d, many), None, mean_noise(d, 1)
    if d > FLAT and many < (BLIND if d <= PLAIN_BOX else BLIND_BEYOND) * noise:
        return _blind(records, space, accountant, config, left, size)
    if FLAT < d <= PLAIN_BOX and many < VERY_FEW * noise:
        return _plain(records, accountant, config, left, size)
    if d <= GRID_COLUMNS:
        steps, last = (1, LAST * left) if many > ENOUGH else (0, 0.0)
        least = 0.0
    else:
        room = TREE_LAST * many / noise
        steps = 0 if room < ONE_STEP else 1 if room < TWO_STEPS else 2
        if sparse:
            steps, least = min(steps, 1), LEAST_MOVE
        elif many >= TREE_FROM * noise:
            seeded = residual_tree
        last = TREE_LAST * left if steps else 0.0
    seeds = seeded(
        Seeding(
            records=records, space=space, accountant=accountant,
            epsilon=left - last, clusters=clusters, size=size, sparse=sparse,
        )
    )  # fmt: skip
    found = last_steps(records, space, accountant, seeds, epsilon=last, steps=steps, least=least)
    run = KMeansRun(
        config=config,
        centers=found.centers,
        ledger=accountant.ledger,
        grid=seeds.grid,
        decision=_DECISIONS[steps],
    )
    return restored(run.with_choice(seeds.choice), space)


def size_share(ndim: int, epsilon: float) -> float:
    """Share of the budget for the number of records."""
    if ndim <= GRID_COLUMNS:
        return GRID_SIZE
    return min(max(PER_EPSILON / epsilon, TREE_SIZE), MOST_SIZE)


def few(ndim: int, records: float) -> bool:
    """Whether records are few: a grid keeps its cells whole, and one residual step is enough.

    ``records`` are those per cluster, over the noise of a count.
    """
    if ndim <= GRID_COLUMNS:
        return ndim <= FLAT and records < FEW_SPARSE
    return ndim <= SPARSE_BOX and records < MANY_SPARSE


def _plain(
    records: Records, accountant: Accountant, config: KMeansConfig, epsilon: float, size: Estimate
) -> KMeansRun:
    """Centres from a grid whose cells are neither split nor smoothed, as in EUGkM."""
    grid = noisy_grid(
        records,
        accountant,
        step="cells",
        epsilon=epsilon,
        clusters=USUAL if config.choose == PRIVATE else config.clusters,
        variant="sound",
        size=Size(value=size.value, scale=math.sqrt(size.variance / 2), left=epsilon),
    )
    return replace(from_grid(grid, records, config, accountant), decision=_PLAIN)


def _blind(
    records: Records,
    space: Space,
    accountant: Accountant,
    config: KMeansConfig,
    epsilon: float,
    size: Estimate,
) -> KMeansRun:
    """Centres that look at no data, moved by as much as can be told from noise."""
    choice = NOTHING if config.choose == PRIVATE else None
    K = choice.clusters if choice else config.clusters
    start = packed(K, records.domain.ndim, accountant.noise.generator("places"))
    found = residual_step(
        records, space, accountant, start, number=1, epsilon=epsilon, size=size.value, least=0.0
    )
    run = KMeansRun(config=config, centers=found.centers, ledger=accountant.ledger, decision=_BLIND)
    return restored(run.with_choice(choice), space)

"""DP-Refine (ours): seeds from a noisy grid (many columns: from a tree), then residual steps."""

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

#: Approximate time of a draw in seconds, on two columns.
SECONDS = 0.1

#: Largest number of columns with a nested grid and at most one residual step ("few columns").
GRID_COLUMNS = 4

#: Budget share of the number of records. With few columns, this share is GRID_SIZE. With many
#: columns, this share is PER_EPSILON / epsilon, between TREE_SIZE and MOST_SIZE, because with a
#: small epsilon noise would hide the correct branch.
GRID_SIZE, TREE_SIZE, PER_EPSILON, MOST_SIZE = 0.02, 0.01, 0.0015, 0.03

#: Records are few if their number per cluster, divided by the noise of a count, is below these
#: limits: the first for up to FLAT columns, the second for more than GRID_COLUMNS columns. For
#: other numbers of columns, cells are always split.
FLAT = 2
FEW_SPARSE, MANY_SPARSE = 16.0, 120.0

#: With few columns: budget share of a residual step; number of records per cluster, times epsilon,
#: above which there is a residual step.
LAST, ENOUGH = 0.2, 300.0

#: With many columns, a tree is as good as a grid, and faster, from this number of records per
#: cluster (divided by the noise of a mean).
TREE_FROM = 40.0

#: With many columns: budget share of the last steps; least numbers of records per cluster, divided
#: by the noise of a mean with this share, for one step and for two steps.
TREE_LAST, ONE_STEP, TWO_STEPS = 0.45, 1.5, 4.0

#: Limits for the records per cluster, divided by the noise of a mean, in more than FLAT columns.
#: Below VERY_FEW a plain grid is best (if it is possible); below BLIND everything is noise.
VERY_FEW, BLIND = 3.0, 0.2

#: Largest number of columns of a plain grid; with more columns, BLIND_BEYOND replaces BLIND.
PLAIN_BOX, BLIND_BEYOND = 16, 2.0

#: With many columns and few records: assumed mean square of the moves that are not noise, as a
#: share of the mean square of the distances.
LEAST_MOVE = 0.25

_DECISIONS = (
    "No residual step: at this ε and number of records the start alone is better.",
    "One residual step: at this ε and number of records it improves the start.",
    "Two residual steps: at this ε and number of records they improve the start.",
)
_BLIND = (
    "Centres that use no data, and one residual step: at this ε and number of records everything "
    "else is noise."
)
_PLAIN = "A plain grid as in EUGkM: at this ε and number of records nothing else is better."

CARD = Card(
    name="dprefine",
    family="kmeans",
    title="DP-Refine",
    estimator="DPRefine",
    summary=(
        f"With up to {GRID_COLUMNS} columns, k-means runs on denoised counts of a noisy grid, "
        "whose full cells are split, and one noisy iteration follows if there are many records. "
        f"With {GRID_COLUMNS + 1} to {WHOLE_BOX} columns, no cell is split. With more columns, a "
        f"grid in a random projection to {DIMENSIONS} dimensions divides the records into groups, "
        "and k-means runs on the groups' noisy means. With very many records, prototypes split and "
        "move to the noisy means of their records, level by level. Up to two noisy iterations "
        f"follow. With few records no cell is split (except in {FLAT + 1} and {GRID_COLUMNS} "
        f"columns), and a grid covers up to {SPARSE_BOX} columns. Then at most one noisy iteration "
        "follows, whose moves are shortened by their share of noise. With very few records in "
        f"{FLAT + 1} to {PLAIN_BOX} columns, there is only a plain grid as in EUGkM. With almost "
        "no records, the centres use no data, and one iteration with shortened moves follows."
    ),
    paper="no paper",
    algorithm="our own method",
    origin="ours",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "All steps are a sequential composition. Laplace mechanisms of sensitivity 1 "
                "release the number of records and the number of records at each distance. K-norm "
                "mechanisms release the root and the residuals. A record changes one cluster: its "
                "count by 1, its square by at most 1 and its residual by a length of at most 1 (at "
                "the root: each entry by at most 1). In the norm of the noise, this change is 1. "
                "Centres and clip radius are computed from earlier outputs; a record's cluster is "
                "computed only from these outputs and the record. In a grid, rough counts "
                "determine which cells are split. A cell that is not split gets a count with the "
                "noise of both budgets. The cell's rough count is sampled from this count, so both "
                "counts together cost both budgets. A split cell costs the budget of its rough "
                "count and the budget of its subcells. So a record costs the same in both cases, "
                "and each of m records in different cells costs 1/m of this amount. A plain grid "
                "is one Laplace mechanism on counts, whose number depends on the noisy number of "
                "records. The directions of a projection are random numbers that use no data and "
                "are not secret; the projection's middle and width come from the root. So a "
                "record's projection, clipped to the box of the grid, depends only on the record "
                "and on outputs, and is in one cell and one group."
            ),
        ),
    ),
    parameters=takes("dprefine"),
    decides=True,
    coarser="on a coarse grid",
    deviations=(
        "No paper describes this method. It combines random projection (Balcan, Dick, Liang, Mou, "
        "Zhang 2017), nested noise (Koufogiannis, Han, Pappas 2015), K-norm noise (Hardt, Talwar "
        "2010) and the grid of two levels (Qardaji, Yang, Li 2013).",
        "A release has the same noise as the explorer: rough and fine counts are whole numbers, "
        "and all other numbers are rounded to multiples of 2^-20. OpenDP has no K-norm noise, so "
        "this noise is sampled as real numbers, with as many digits as the rounding needs.",
        "All constants were chosen on sets of 2 to 32 columns that we looked at. Choices depend "
        "only on the noisy number of records, epsilon, K and the number of columns.",
        "K can be chosen privately as in EUGkM: from the counts of the grid, or from groups and "
        "prototypes, each represented by random points around it. This costs no further epsilon. "
        "On 12 sets of 2 to 16 columns the chosen K has more than 0.99 of the best possible "
        "silhouette at epsilon 0.5, 1 and 2.",
        "k-means on the cells uses restarts, and also moves its least useful centre (as in Hu et "
        "al., Algorithm 3).",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run a nested grid or a residual tree, then residual steps (ours)."""
    space, d = Space(records.domain), records.domain.ndim
    clusters = None if config.choose == PRIVATE else config.clusters
    share = size_share(d, config.epsilon)
    size = Estimate.release(records, accountant, config.epsilon, share)
    # Round down, so that the sum of the parts does not exceed the budget.
    left = math.nextafter(config.epsilon - share * config.epsilon, 0)
    times, K = accountant.neighbours.multiplier, clusters or USUAL
    # Records per cluster, divided by the scale of the noise of a count.
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
    """Return the budget share of the number of records."""
    if ndim <= GRID_COLUMNS:
        return GRID_SIZE
    return min(max(PER_EPSILON / epsilon, TREE_SIZE), MOST_SIZE)


def few(ndim: int, records: float) -> bool:
    """Return whether records (per cluster, by the noise of a count) are too few to split cells."""
    if ndim <= GRID_COLUMNS:
        return ndim <= FLAT and records < FEW_SPARSE
    return ndim <= SPARSE_BOX and records < MANY_SPARSE


def _plain(
    records: Records, accountant: Accountant, config: KMeansConfig, epsilon: float, size: Estimate
) -> KMeansRun:
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
    """Centres that use no data, then moved by a residual step as far as noise allows."""
    choice = NOTHING if config.choose == PRIVATE else None
    K = choice.clusters if choice else config.clusters
    start = packed(K, records.domain.ndim, accountant.noise.generator("places"))
    found = residual_step(
        records, space, accountant, start, number=1, epsilon=epsilon, size=size.value, least=0.0
    )
    run = KMeansRun(config=config, centers=found.centers, ledger=accountant.ledger, decision=_BLIND)
    return restored(run.with_choice(choice), space)

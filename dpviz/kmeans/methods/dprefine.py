"""DP-Refine (ours): seeds from a noisy grid (many columns: from a tree), then residual steps."""

from __future__ import annotations

import math
from dataclasses import replace

from dpviz.base.numbers import counted
from dpviz.family.card import card_of
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

#: Budget share of the number of records: GRID_SIZE with few columns, otherwise PER_EPSILON /
#: epsilon, limited by TREE_SIZE and MOST_SIZE. Noise must not hide the correct branch.
GRID_SIZE, TREE_SIZE, PER_EPSILON, MOST_SIZE = 0.02, 0.01, 0.0015, 0.03

#: Records are few if their number per cluster, divided by the noise of a count, is below FEW_SPARSE
#: (up to FLAT columns) or MANY_SPARSE (above GRID_COLUMNS). In between, cells are always split.
FLAT = 2
FEW_SPARSE, MANY_SPARSE = 16.0, 120.0

#: With few columns: budget share of a residual step, and the least such quotient for it.
LAST, ENOUGH = 0.2, 300.0

#: With many columns: records per cluster / noise of a mean from which on a tree equals a grid.
TREE_FROM = 40.0

#: With many columns: budget share of the last steps. One step and two steps need these least
#: numbers of records per cluster, divided by the noise of a mean with this share.
TREE_LAST, ONE_STEP, TWO_STEPS = 0.45, 1.5, 4.0

#: Limits for records per cluster divided by the noise of a mean, in more than FLAT columns. Below
#: VERY_FEW a plain grid is best (if possible); below BLIND everything is noise.
VERY_FEW, BLIND = 3.0, 0.2

#: Largest number of columns of a plain grid; with more columns, BLIND_BEYOND replaces BLIND.
PLAIN_BOX, BLIND_BEYOND = 16, 2.0

#: With many columns and few records: least mean square of true moves, relative to distances.
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

CARD = card_of(
    __file__,
    takes("dprefine"),
    GRID_COLUMNS=GRID_COLUMNS,
    AFTER_GRID=GRID_COLUMNS + 1,
    WHOLE_BOX=WHOLE_BOX,
    DIMENSIONS=DIMENSIONS,
    AFTER_FLAT=FLAT + 1,
    SPARSE_BOX=SPARSE_BOX,
    PLAIN_BOX=PLAIN_BOX,
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
        decision=_decision(steps, before=seeds.steps),
    )
    return restored(run.with_choice(seeds.choice), space)


def _decision(steps: int, *, before: int) -> str:
    """Words on the last steps, and on the steps ``before`` them, which the ledger also has."""
    if not before:
        return _DECISIONS[steps]
    last = _DECISIONS[steps].replace(" residual", " last residual", 1)
    return f"{last} {counted(before, 'earlier residual step')} made the start."


def size_share(ndim: int, epsilon: float) -> float:
    """Return the budget share of the number of records."""
    if ndim <= GRID_COLUMNS:
        return GRID_SIZE
    return min(max(PER_EPSILON / epsilon, TREE_SIZE), MOST_SIZE)


def few(ndim: int, records: float) -> bool:
    """Return whether ``records`` (per cluster / noise of a count) are too few to split cells."""
    if ndim <= GRID_COLUMNS:
        return ndim <= FLAT and records < FEW_SPARSE
    return ndim <= SPARSE_BOX and records < MANY_SPARSE


def _plain(
    records: Records, accountant: Accountant, config: KMeansConfig, epsilon: float, size: Estimate
) -> KMeansRun:
    known = Size(value=size.value, scale=math.sqrt(size.variance / 2), left=epsilon)
    grid = noisy_grid(records, config, accountant, step="cells", epsilon=epsilon, size=known)
    return replace(from_grid(grid, records, config, accountant), decision=_PLAIN)


def _blind(
    records: Records,
    space: Space,
    accountant: Accountant,
    config: KMeansConfig,
    epsilon: float,
    size: Estimate,
) -> KMeansRun:
    """Centres that use no data; then a residual step moves them as far as noise allows."""
    choice = NOTHING if config.choose == PRIVATE else None
    K = choice.clusters if choice else config.clusters
    start = packed(K, records.domain.ndim, accountant.noise.generator("places"))
    found = residual_step(
        records, space, accountant, start, number=1, epsilon=epsilon, size=size.value, least=0.0
    )
    run = KMeansRun(config=config, centers=found.centers, ledger=accountant.ledger, decision=_BLIND)
    return restored(run.with_choice(choice), space)

"""Hybrid: EUGkM, then one noisy Lloyd iteration where an analysis of the errors allows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpviz.family.card import Card, Variant, VariantName
from dpviz.kmeans.grid import PER_CELL, grid_sides, noisy_grid, noisy_size
from dpviz.kmeans.lloyd import lloyd, restored, space_of
from dpviz.kmeans.methods.dplloyd import KEEPING
from dpviz.kmeans.methods.eugkm import CELLS, RESTARTS, TRUE_SIZE
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import utility_plus
from dpviz.privacy.mechanisms import Accountant

#: Root mean square distance of a centre's coordinate from the middle of the domain, as a share of
#: the domain's extent (Su et al. 2016).
SPREAD = 0.225

#: As printed: the largest error of an iteration, summed over all centres, that is worth it.
LARGEST_ERROR = 0.004

#: Sound: the largest error of an iteration at a centre, as a share of the variance of a record's
#: place in its cell. Fitted to S1, Unbalance, DS1 and DS3, in two columns: interpolated between
#: epsilons of 11 draws each, grid and iteration are equally good there at about 0.4 to 0.6.
LARGEST_SHARE = 3 / 8

CARD = Card(
    name="hybrid",
    family="kmeans",
    title="Hybrid",
    estimator="Hybrid",
    summary=(
        "EUGkM finds the centres; one noisy Lloyd iteration on the records refines them with half "
        "of the budget, if its expected error is small enough. Otherwise EUGkM gets all of it."
    ),
    paper="Su, Cao, Li, Bertino, Jin 2016; as in Lee, Kifer 2016",
    algorithm="Hybrid",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Sequential composition of Laplace mechanisms: the number of records (2% of "
                "epsilon), the counts of the cells, and the counts and sums of the iteration if "
                "there is one. Whether there is one is computed from the noisy number of records "
                "and public parameters alone."
            ),
        ),
        Variant(name="published", private=False, reason=TRUE_SIZE),
    ),
    parameters=takes("hybrid"),
    decides=True,
    deviations=(
        "Su et al. let an analysis of the errors decide. As published: one iteration with half of "
        "epsilon if half of it is at least sqrt(500 K^3 (d + (4 d r^2)^(1/3))^3) / N, r = 0.225: "
        "the error of the iteration, summed over the centres, is then at most 0.004. The formula "
        "is the one that IBM's diffprivlib takes from their paper; that it decides here, and half "
        "and half, is our reading.",
        "When sound: one iteration with half of what the number of records leaves, if its error "
        "2 (K s / N)^2 (d + q) at a centre is at most 3/8 of d h^2 / 12. s is the scale of its "
        "noise, q the mean squared norm of a centre (r = 0.225), h the width of EUGkM's cells and "
        "d h^2 / 12 the variance of a record's place in its cell. The factor 3/8 is fitted to S1, "
        "Unbalance, DS1 and DS3. On DS2 (K 3) it costs a little: median NICV over true 1.0061 "
        "instead of EUGkM's 1.0040 at epsilon 0.1, 1.0010 instead of 1.0006 at 2 (200 draws each).",
        "The iteration adds the same noise to counts and sums; Su et al. split its budget between "
        "them. With two columns the error of both is equal within 6%.",
        CELLS,
        RESTARTS,
        KEEPING,
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """EUGkM, then one iteration if it pays (Su et al., Hybrid)."""
    space, K, variant = space_of(records, config), config.clusters, config.variant
    size = noisy_size(records, accountant, step="cells", epsilon=config.epsilon, variant=variant)
    times = config.neighbours.multiplier
    rest = size.left / 2 if iterates(variant, size.value, size.left, space, K, times) else 0.0
    grid = noisy_grid(
        records,
        accountant,
        step="cells",
        epsilon=size.left - rest,
        clusters=K,
        variant=variant,
        size=size,
    )
    centers = utility_plus(*grid.places(), K, accountant.noise.generator("restarts"))
    if rest:
        run = lloyd(records, config, accountant, epsilon=rest, start=space.placed(centers))
        decision = (
            "One iteration: at this ε and number of records it is better than the grid alone."
        )
    else:
        run = KMeansRun(config=config, centers=centers, ledger=accountant.ledger)
        run = restored(run, Space(records.domain))
        decision = "No iteration: at this ε and number of records the grid alone is better."
    return replace(run, grid=grid, decision=decision)


def iterates(
    variant: VariantName, size: float, epsilon: float, space: Space, clusters: int, times: int = 1
) -> bool:
    """Whether one iteration with half of ``epsilon`` is worth it.

    Neighbours differ by ``times`` records. The number of records is noisy when sound, the true one
    as published. ``epsilon`` is the budget of grid and iteration together.

    Notes
    -----
    The error at a centre is the mean squared shift by the noise, for clusters of equal size. Noise
    of scale s on the d sums and on the count of n records, at a centre c, shifts it by
    2 s^2 (d + c^2) / n^2.
    """
    d, half = space.domain.ndim, epsilon / 2
    if variant == "published":
        # The best split between the count and the sums gives this error in the box of side 2.
        error = 2 * clusters**3 * (d + np.cbrt(4 * d * SPREAD**2)) ** 3 / (size * half) ** 2
        return bool(error <= LARGEST_ERROR)
    middle = space.low + space.span / 2
    square = d * (middle**2 + (SPREAD * space.span) ** 2)
    scale = space.sensitivity * times / half
    error = 2 * (clusters * scale / size) ** 2 * (d + square)
    side = grid_sides(size, epsilon, d, clusters, PER_CELL[variant])[0]
    return bool(error <= LARGEST_SHARE * d * (space.span / side) ** 2 / 12)

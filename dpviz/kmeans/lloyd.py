"""Lloyd's iteration with a privacy budget; methods replace its start, schedule and update."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpviz.base.arrays import Floats, Mask
from dpviz.kmeans.grid import NoisyGrid, noisy_grid
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import Iteration, KMeansRun, canonical
from dpviz.kmeans.schedule import budgets
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import drawn, plus_plus, sphere_packing, uniform, utility_plus
from dpviz.privacy.mechanisms import Accountant

#: Budget share of the noisy grid from which the sound variant samples a start.
START_SHARE = 0.3

#: Returns whether the iteration can stop, given the scaled centres before and after an update.
Settled = Callable[[Floats, Floats], bool]

#: Returns the budget of each cluster, from the centres and the budget of the iteration.
ClusterBudgets = Callable[[Floats, float], Floats]

#: Starts from points. The points are the records (published) or the cells of a noisy grid (sound).
_SEEDINGS = {"records": drawn, "kmeans++": plus_plus, "utility_plus": utility_plus}


def space_of(records: Records, config: KMeansConfig) -> Space:
    """Return the space in which a configuration computes."""
    return Space(records.domain, config.geometry or "box")


def lloyd(
    records: Records,
    config: KMeansConfig,
    accountant: Accountant,
    *,
    epsilon: float | None = None,
    start: Floats | None = None,
    settled: Settled | None = None,
    cluster_budgets: ClusterBudgets | None = None,
) -> KMeansRun:
    """Run Lloyd's iteration with noisy counts and sums.

    If ``epsilon`` is None, it is the whole budget. If scaled ``start`` (K, d) is None, it is the
    configured start. After the early stop ``settled``, the sound variant uses the remaining budget
    in one last iteration; the published variant does not spend it. ``cluster_budgets`` splits an
    iteration's budget over the clusters; if None, each gets the whole budget, in one release.

    Blum, Dwork, McSherry, Nissim 2005; McSherry 2009; Algorithm 1 of Lee, Kifer and of Hu et al.
    """
    space = space_of(records, config)
    left = config.epsilon if epsilon is None else epsilon
    grid = None
    shares: tuple[float, ...]
    if start is None:
        start, grid, shares = _start(records, space, config, accountant, left)
    else:
        shares = _shares(config, left, config.iterations or 1)
    first, centers = start, start
    iterations: list[Iteration] = []
    while shares:
        epsilon, shares = shares[0], shares[1:]
        before = centers
        step = f"iteration {len(iterations) + 1}"
        iteration = _iterate(
            records, space, config, before, accountant, step, epsilon, cluster_budgets
        )
        centers = iteration.centers
        iterations.append(iteration)
        if shares and settled and settled(before, centers):
            shares = (math.fsum(shares),) if config.variant == "sound" else ()
    run = KMeansRun(
        config=config,
        centers=centers,
        start=first,
        iterations=tuple(iterations),
        ledger=accountant.ledger,
        grid=grid,
    )
    return restored(run, space)


def restored(run: KMeansRun, space: Space) -> KMeansRun:
    """Convert a run's scaled centres to the units of the data, in canonical order."""
    run = replace(
        run,
        centers=space.restore(run.centers),
        start=None if run.start is None else space.restore(run.start),
        before=None if run.before is None else space.restore(run.before),
        iterations=tuple(
            replace(one, centers=space.restore(one.centers)) for one in run.iterations
        ),
    )
    return run.reordered(canonical(run.centers))


def _iterate(
    records: Records,
    space: Space,
    config: KMeansConfig,
    centers: Floats,
    accountant: Accountant,
    step: str,
    epsilon: float,
    cluster_budgets: ClusterBudgets | None,
) -> Iteration:
    values = records.sums(space, centers)
    if cluster_budgets is None:
        noisy = accountant.laplace(step, values, sensitivity=space.sensitivity, epsilon=epsilon)
        scales = np.full(len(centers), accountant.ledger.spends[-1].scale)
    else:
        noisy = accountant.laplace_disjoint(
            step, values, sensitivity=space.sensitivity, epsilons=cluster_budgets(centers, epsilon)
        )
        spends = accountant.ledger.spends[-len(centers) :]
        scales = np.array([spend.scale for spend in spends])
    counts, sums = noisy[:, 0], noisy[:, 1:]
    update = updated_centers if config.variant == "sound" else printed_centers
    updated, kept = update(centers, counts, sums, space)
    return Iteration(
        centers=updated,
        counts=counts,
        sums=sums,
        scales=scales,
        kept=kept,
        epsilon=epsilon,
        span=space.span,
    )


def _shares(config: KMeansConfig, epsilon: float, steps: int) -> tuple[float, ...]:
    whole = config.variant == "sound"
    return budgets(config.schedule or "uniform", epsilon, steps, whole=whole)


def updated_centers(
    centers: Floats, counts: Floats, sums: Floats, space: Space
) -> tuple[Floats, Mask]:
    """Return centres s'/n' (K, d), and a mask of the centres that did not move.

    A centre does not move if n' is not positive or s'/n' is outside the domain: such a value shows
    only noise, and clipping it would move the centre to a corner.
    """
    positive = counts > 0
    moved = sums / np.where(positive, counts, 1)[:, None]
    kept = ~(positive & space.contains(moved))
    return np.where(kept[:, None], centers, moved), kept


def printed_centers(
    centers: Floats, counts: Floats, sums: Floats, space: Space
) -> tuple[Floats, Mask]:
    """Return centres s'/n' (K, d) as in the paper, and a mask of the centres that did not move.

    Divides by n' of any sign and clips to the domain; 0/0 does not change a coordinate. Hu et al.,
    Algorithm 1, lines 15-19; Algorithm 3 of Hu et al., Algorithm 1 of Lee and Kifer, and Zhang, Liu
    and Wang divide in the same way. None mentions clipping.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = sums / counts[:, None]
    none = np.isnan(moved)
    return np.where(none, centers, np.clip(moved, space.low, 1)), np.asarray(none.all(axis=1))


def _start(
    records: Records, space: Space, config: KMeansConfig, accountant: Accountant, epsilon: float
) -> tuple[Floats, NoisyGrid | None, tuple[float, ...]]:
    """Initial centres, the grid from which they are sampled, and the budgets of the iterations."""
    K, d, steps = config.clusters, records.domain.ndim, config.iterations or 1
    if config.start == "partition":
        first, *shares = _shares(config, epsilon, steps + 1)
        return _partition(records, space, config, accountant, first), None, tuple(shares)
    generator = accountant.noise.generator("places")
    if config.start in ("sphere_packing", "random"):
        place = sphere_packing if config.start == "sphere_packing" else uniform
        return space.placed(place(K, d, generator)), None, _shares(config, epsilon, steps)
    seeding = _SEEDINGS[str(config.start)]
    if config.variant == "published":
        centers = seeding(records.scaled(space), None, K, generator)
        return centers, None, _shares(config, epsilon, steps)
    grid = noisy_grid(records, config, accountant, step="start", epsilon=START_SHARE * epsilon)
    centers = space.placed(seeding(*grid.places(), K, generator))
    left = epsilon - START_SHARE * epsilon
    return centers, grid, _shares(config, left, steps)


def _partition(
    records: Records, space: Space, config: KMeansConfig, accountant: Accountant, epsilon: float
) -> Floats:
    K = config.clusters
    if config.variant == "published":
        values = records.slices(space, K)
    else:
        values = records.dealt(space, K, accountant.noise.generator("sets"))
    noisy = accountant.laplace("partition", values, sensitivity=space.sensitivity, epsilon=epsilon)
    middle = space.placed(np.zeros((K, records.domain.ndim)))
    update = updated_centers if config.variant == "sound" else printed_centers
    return update(middle, noisy[:, 0], noisy[:, 1:], space)[0]

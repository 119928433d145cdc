"""Measurements for the rows of Lee, Kifer 2016."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.papers.row import Measured
from tests.benchmarks.papers.lab import (
    Floats,
    Lab,
    averaged,
    estimated,
    exact,
    gap,
    largest,
    least,
    ratio,
    space_of_trial,
    titled,
)
from tests.kmeans import plain

#: Budgets of figure 1 that the text names, and budgets between them.
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0)

#: Number of draws for a point; a chain takes 0.1 s on S1 and Lifesci, and 0.3 s on Adult.
DRAWS = {"s1": 400, "adult": 200, "lifesci": 400}


# -- algorithm 1 ------------------------------------------------------------------------------


def scales(lab: Lab) -> Measured:
    """Scale of the noise of the first iteration, with T = 5 and epsilon = 1."""
    run = lab.trial("s1", "dplloyd").draw(0)
    return exact(run.iterations[0].scales.max(), "S1, T 5, ε 1")


def shares(lab: Lab) -> Measured:
    """Largest difference between an iteration's budget and epsilon / T."""
    run = lab.trial("s1", "dplloyd").draw(0)
    off = [abs(one.epsilon - 1 / len(run.iterations)) for one in run.iterations]
    return exact(max(off), "S1, T 5, ε 1")


def default(method: str, name: str, lab: Lab) -> Measured:
    """Default of a parameter."""
    config = lab.trial("s1", method).config
    return exact(getattr(config, name), "default as published")


def kept_centres(lab: Lab) -> Measured:
    """Share of new centres that are not the quotient of the noisy sum and the noisy count."""
    space = space_of_trial(lab.trial("s1", "dplloyd"))

    def clipped(run: Any) -> float:
        off = [
            np.abs(space.stretch(one.centers) - one.sums / one.counts[:, None]).max(axis=1) > 1e-9
            for one in run.iterations
        ]
        return float(np.mean(off))

    found = lab.of_draws("clipped", "s1", "dplloyd", 200, clipped, epsilon=0.1)
    return averaged(found, "S1, T 5, ε 0.1")


def norms(lab: Lab) -> Measured:
    """Largest L1 norm of a scaled record, in the published variant."""
    trial = lab.trial("s1", "dplloyd")
    scaled = trial.material.scaled(space_of_trial(trial))
    return exact(np.abs(scaled).sum(axis=1).max(), "S1, all records")


def distances(lab: Lab) -> Measured:
    """Smallest distance of two sphere-packed centres / smallest distance of two random centres."""
    from dpviz.kmeans.start import sphere_packing, uniform

    def closest(place: Any) -> Any:
        def number(seed: int) -> float:
            centers = place(15, 2, np.random.default_rng(seed))
            apart = np.linalg.norm(centers[:, None] - centers[None], axis=2)
            return float(apart[np.triu_indices(15, 1)].min())

        return lab.each(f"closest {place.__name__}", 400, number)

    return ratio(closest(sphere_packing), closest(uniform), "K 15, 2 columns, means")


# -- section 3 --------------------------------------------------------------------------------


def _statistics(seed: int) -> Any:
    """Small noisy statistics: 3 iterations, 2 clusters, 2 columns."""
    from dpviz.kmeans.chain import Statistics, consistent

    generator = np.random.default_rng(seed)
    counts, sums = consistent(generator.normal(10, 6, (3, 2)), generator.normal(0, 4, (3, 2, 2)))
    return Statistics(
        assigned=generator.uniform(-1, 1, (3, 2, 2)),
        updated=generator.uniform(-1, 1, (3, 2, 2)),
        counts=counts,
        sums=sums,
    )


def _log_likelihood(points: Floats, statistics: Any, size: int) -> float:
    """Negative sum of the L1 distances of all counts and sums (section 3.1)."""
    total = float(statistics.counts[-1].sum())
    factor, loss = size / total if total else 1.0, 0.0
    for centers, counts, sums in zip(
        statistics.assigned, statistics.counts, statistics.sums, strict=True
    ):
        owner = ((points[:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        for k in range(len(centers)):
            loss += abs(factor * counts[k] - (owner == k).sum())
            loss += np.abs(factor * sums[k] - points[owner == k].sum(axis=0)).sum()
    return -float(loss)


def plain_likelihood(lab: Lab) -> Measured:
    """Number of chains whose best log likelihood is not the log likelihood of their points."""
    from dpviz.kmeans.chain import draws, run_chain

    wrong, cases = 0, 20
    for seed in range(cases):
        statistics, size = _statistics(seed), 12
        chain = run_chain(statistics, np.ones(3), size, draws(np.random.default_rng(seed), 200, 2))
        plain = _log_likelihood(chain.points, statistics, size)
        wrong += not math.isclose(chain.best, plain, rel_tol=1e-9, abs_tol=1e-9)
    return exact(wrong, f"{cases} random statistics, chains of 200 steps")


def plain_chain(lab: Lab) -> Measured:
    """Number of chains that differ from a plain program with the same random numbers."""
    from dpviz.kmeans.chain import DELTA, draws, run_chain, start

    wrong, cases, steps, size = 0, 10, 60, 12
    for seed in range(cases):
        statistics = _statistics(seed)
        random = draws(np.random.default_rng(seed), steps, 2)
        weights = statistics.counts / statistics.counts.sum(axis=1, keepdims=True)
        points, clusters = start(statistics, size)
        points, own = points.copy(), np.log(weights[-1][clusters])
        taken = 0
        current = _log_likelihood(points, statistics, size)
        for step in range(steps):
            i = int(random.index[step] * size)
            t = int(random.iteration[step] * len(weights))
            k = int((np.cumsum(weights[t]) > random.component[step]).argmax())
            proposed = points.copy()
            proposed[i] = statistics.updated[t, k] + math.sqrt(DELTA) * random.normals[step]
            density = math.log(weights[t, k]) - (random.normals[step] ** 2).sum() / 2
            after = _log_likelihood(proposed, statistics, size)
            if random.accept[step] < math.exp(min(0.0, after - current + own[i] - density)):
                points, current, taken = proposed, after, taken + 1
                own[i] = density
        chain = run_chain(statistics, np.ones(3), size, random)
        same = math.isclose(chain.log_likelihood[-1], current, rel_tol=1e-9, abs_tol=1e-9)
        wrong += not (same and math.isclose(chain.accepted, taken / steps))
    return exact(wrong, f"{cases} random statistics, {steps} steps each")


def consistency(lab: Lab) -> Measured:
    """Number of cases with unequal totals, negative counts, or a change that is too large."""
    from scipy.optimize import linprog

    from dpviz.kmeans.chain import consistent

    wrong, cases = 0, 30
    for seed in range(cases):
        generator = np.random.default_rng(seed)
        counts, sums = generator.normal(4, 6, (3, 4)), generator.normal(0, 4, (3, 4, 2))
        new_counts, new_sums = consistent(counts, sums)
        totals = np.ptp(new_counts.sum(axis=1)) + np.ptp(new_sums.sum(axis=1), axis=0).max()
        change = np.abs(new_counts - counts).sum()
        wrong += not (
            totals < 1e-9
            and new_counts.min() >= 0
            and math.isclose(change, _least_change(counts, linprog), rel_tol=1e-6, abs_tol=1e-6)
        )
    return exact(wrong, f"{cases} random statistics, linear programme beside it")


def _least_change(counts: NDArray[Any], linprog: Any) -> float:
    """Smallest L1 change that makes totals equal and no count negative, by linear programming."""
    rows, columns = counts.shape
    size = counts.size
    # The variables are the new counts, then the absolute changes of the counts.
    cost = np.concatenate([np.zeros(size), np.ones(size)])
    one = np.eye(size)
    above = np.vstack([np.hstack([one, -one]), np.hstack([-one, -one])])
    limits = np.concatenate([counts.ravel(), -counts.ravel()])
    equal = np.zeros((rows - 1, 2 * size))
    for i in range(rows - 1):
        equal[i, i * columns : (i + 1) * columns] = 1
        equal[i, (i + 1) * columns : (i + 2) * columns] = -1
    found = linprog(cost, above, limits, equal, np.zeros(rows - 1), bounds=(0, None))
    return float(found.fun)


def first_state(lab: Lab) -> Measured:
    """Number of cases with an initial point that is not a last centre, or with wrong counts."""
    from dpviz.kmeans.chain import start

    wrong = 0
    for seed in range(20):
        statistics = _statistics(seed)
        counts = np.round(statistics.counts[-1])
        size = int(counts.sum())
        points, clusters = start(statistics, size)
        at_centre = (points == statistics.updated[-1][clusters]).all()
        numbers = np.bincount(clusters, minlength=2)
        wrong += not (at_centre and np.abs(numbers - statistics.counts[-1]).max() <= 1)
    return exact(wrong, "20 random statistics")


def rejected(lab: Lab) -> Measured:
    """Share of the chain's steps that are rejected on S1."""
    found = lab.of_draws("rejected", "s1", "mcmc", 200, lambda run: 1 - run.chain.accepted)
    return averaged(found, "S1, ε 1, 30,000 steps")


def constant(name: str, lab: Lab) -> Measured:
    """A constant of the post-processing."""
    from dpviz.kmeans import chain
    from dpviz.kmeans.methods import mcmc

    value = chain.DELTA if name == "DELTA" else getattr(mcmc, name)
    return exact(value, f"mcmc.{name}")


def simulated(lab: Lab) -> Measured:
    """Number of runs whose simulated data set does not have the consistent noisy size."""
    from dpviz.kmeans.chain import consistent

    wrong, cases, trial = 0, 10, lab.trial("s1", "mcmc")
    for seed in range(cases):
        run = trial.draw(seed)
        noisy = np.array([one.counts for one in run.iterations])
        sums = np.array([one.sums for one in run.iterations])
        wrong += len(run.chain.points) != round(consistent(noisy, sums)[0][0].sum())
    return exact(wrong, f"S1, ε 1, {cases} seeds")


def without_epsilon(epsilon: float, lab: Lab) -> Measured:
    """WCSS with the target's acceptance ratio, divided by WCSS with the printed ratio, on S1."""
    return ratio(
        over_optimum("s1", "mcmc", epsilon, lab, temperature="posterior"),
        over_optimum("s1", "mcmc", epsilon, lab),
        f"S1, ε {epsilon:g}",
    )


# -- section 4 --------------------------------------------------------------------------------


def over_optimum(data: str, method: str, epsilon: float, lab: Lab, **options: Any) -> Floats:
    """WCSS of each draw, divided by WCSS without noise; records are in the paper's L1 ball.

    The data are read only if a draw is not stored.
    """

    def number(seed: int) -> float:
        trial = lab.trial(data, method, epsilon=epsilon, **options)
        found: float = trial.scores(trial.draw(seed), seed, ("space_ratio",))["space_ratio"]
        return found

    given = [f"{name}={value}" for name, value in options.items()]
    name = " ".join(["space_ratio", data, method, f"epsilon={epsilon}", *given])
    return lab.each(name, DRAWS[data], number)


def gain(data: str, epsilon: float, lab: Lab) -> Measured:
    """Mean WCSS of MCMC / mean WCSS of DPLloyd, with the same noisy iterations per seed."""
    before, after = (over_optimum(data, method, epsilon, lab) for method in ("dplloyd", "mcmc"))
    value = after.mean() / before.mean()
    error = (after - value * before).std(ddof=1) / math.sqrt(after.size) / before.mean()
    how = f"{titled(data)}, ε {epsilon:g}, {after.size} pairs of draws"
    return estimated(float(value), float(error), after.size, how)


def worst_ratio(data: str, lab: Lab) -> Measured:
    """Largest ratio, over all budgets, of the WCSS of MCMC to the WCSS of DPLloyd."""
    return largest(gain(data, epsilon, lab) for epsilon in EPSILONS)


def best_ratio(data: str, lab: Lab) -> Measured:
    """Smallest ratio, over all budgets, of the WCSS of MCMC to the WCSS of DPLloyd."""
    return least(gain(data, epsilon, lab) for epsilon in EPSILONS)


def lead_of_the_least_budget(lab: Lab) -> Measured:
    """Gain in WCSS at epsilon 0.05 minus the gain at another budget: the smallest difference."""
    gained = {
        epsilon: over_optimum("s1", "dplloyd", epsilon, lab)
        - over_optimum("s1", "mcmc", epsilon, lab)
        for epsilon in EPSILONS
    }
    first, *others = EPSILONS
    return least(gap(gained[one], gained[first], f"S1, ε {first:g} and {one:g}") for one in others)


def shape(data: str, axis: int, lab: Lab) -> Measured:
    """Number of records (axis 0) or columns (axis 1); stored, as not every machine has the set."""

    def number(seed: int) -> float:
        return float(np.asarray(lab.data(data).dataset.points).shape[axis])

    return exact(lab.each(f"shape {data} {axis}", 2, number)[0], titled(data))


def plain_wcss(lab: Lab) -> Measured:
    """Number of cases in which WCSS differs from the sum of all squared distances."""
    from dpviz.kmeans.passes import wcss

    wrong = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        points, centers = generator.normal(size=(60, 3)), generator.normal(size=(4, 3))
        plain = ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum()
        wrong += not math.isclose(wcss(points, centers), plain)
    return exact(wrong, "50 random sets")


def beside_plain(
    method: str, data: str, epsilon: float, draws: int, lab: Lab, **options: Any
) -> Measured:
    """Mean NICV divided by the mean NICV of a plain program (tests/kmeans/plain.py)."""
    trial = lab.trial(data, method, epsilon=epsilon, **options)
    points = plain.in_box(np.asarray(lab.data(data).dataset.points))
    program, K = getattr(plain, method), trial.config.clusters

    def number(seed: int) -> float:
        return plain.nicv(points, program(points, K, epsilon, np.random.default_rng(seed)))

    ours = lab.scores(data, method, "nicv", draws, epsilon=epsilon, **options)
    theirs = lab.each(f"nicv {data} plain_{method} clusters={K} epsilon={epsilon}", draws, number)
    return ratio(ours, theirs, f"{titled(data)}, K {K}, ε {epsilon:g}")


def nicv(method: str, data: str, epsilon: float, lab: Lab) -> Measured:
    """Mean NICV divided by the NICV of the best clustering."""
    found = lab.scores(data, method, "nicv_ratio", 400, epsilon=epsilon)
    return averaged(found, f"{titled(data)}, ε {epsilon:g}")


def spends_epsilon(method: str, lab: Lab) -> Measured:
    """Difference between the total of a method's ledger and epsilon."""
    run = lab.trial("s1", method).draw(0)
    return exact(abs(run.ledger.epsilon - 1), "S1, ε 1")

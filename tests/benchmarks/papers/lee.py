"""What is measured for the rows of Lee, Kifer 2016."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.papers.row import Measured
from tests.benchmarks.papers.lab import Floats, Lab, averaged, largest, least, ratio, space_of_trial

#: Budgets of figure 1, as far as the text names them, and between.
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0)
DRAWS = 40


# -- algorithm 1 ------------------------------------------------------------------------------


def scales(lab: Lab) -> Measured:
    """Scale of the noise of the first iteration, T 5, epsilon 1."""
    run = lab.trial("s1", "dplloyd").draw(0)
    return exact(run.iterations[0].scales.max(), "S1, T 5, ε 1")


def shares(lab: Lab) -> Measured:
    """Largest distance of an iteration's budget from epsilon / T."""
    run = lab.trial("s1", "dplloyd").draw(0)
    off = [abs(one.epsilon - 1 / len(run.iterations)) for one in run.iterations]
    return exact(max(off), "S1, T 5, ε 1")


def default(method: str, name: str, lab: Lab) -> Measured:
    """Default of a parameter."""
    config = lab.trial("s1", method).config
    return exact(getattr(config, name), "default as published")


def kept_centres(lab: Lab) -> Measured:
    """Share of the new centres that are not the quotient of noisy sum and noisy count."""
    draws = lab.limited(DRAWS)
    trial = lab.trial("s1", "dplloyd", epsilon=0.1)
    space, found = space_of_trial(trial), []
    for seed in range(draws):
        off = [
            np.abs(space.stretch(one.centers) - one.sums / one.counts[:, None]).max(axis=1) > 1e-9
            for one in trial.draw(seed).iterations
        ]
        found.append(np.mean(off))
    return averaged(found, "S1, T 5, ε 0.1")


def norms(lab: Lab) -> Measured:
    """Largest L1 norm of a scaled record, as published."""
    trial = lab.trial("s1", "dplloyd")
    scaled = trial.material.scaled(space_of_trial(trial))
    return exact(np.abs(scaled).sum(axis=1).max(), "S1, all records")


def distances(lab: Lab) -> Measured:
    """Smallest distance of two starting centres over that of centres drawn at random."""
    from dpviz.kmeans.start import sphere_packing, uniform

    found = []
    for seed in range(lab.limited(DRAWS)):
        ends = []
        for place in (sphere_packing, uniform):
            centers = place(15, 2, np.random.default_rng(seed))
            apart = np.linalg.norm(centers[:, None] - centers[None], axis=2)
            ends.append(apart[np.triu_indices(15, 1)].min())
        found.append(ends[0] / max(ends[1], 1e-9))
    return Measured(
        value=float(np.median(found)), sd=None, draws=len(found), how="K 15, 2 columns, median"
    )


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
    """Minus the L1 distances of all counts and sums, as section 3.1 defines them."""
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
    """Chains whose best log likelihood is not that of their points."""
    from dpviz.kmeans.chain import draws, run_chain

    wrong, cases = 0, 20
    for seed in range(cases):
        statistics, size = _statistics(seed), 12
        chain = run_chain(statistics, np.ones(3), size, draws(np.random.default_rng(seed), 200, 2))
        plain = _log_likelihood(chain.points, statistics, size)
        wrong += not math.isclose(chain.best, plain, rel_tol=1e-9, abs_tol=1e-9)
    return exact(wrong, f"{cases} random statistics, chains of 200 steps")


def plain_chain(lab: Lab) -> Measured:
    """Chains that differ from Metropolis-Hastings in plain lines with the same random numbers."""
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
    """Cases whose totals differ, whose counts are negative, or whose change is not the least."""
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
    """Least L1 change to equal totals without negative counts, as a linear programme."""
    rows, columns = counts.shape
    size = counts.size
    # Variables: the new counts, then the sizes of their changes.
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
    """Points of the first data set that are not on their last centre in the right number."""
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


def accepted(lab: Lab) -> Measured:
    """Share of the steps of the chain that are rejected on S1."""
    trial = lab.trial("s1", "mcmc")
    found = [1 - trial.draw(seed).chain.accepted for seed in range(lab.limited(10))]
    return averaged(found, "S1, ε 1, 30,000 steps")


def constant(name: str, lab: Lab) -> Measured:
    """A constant of the post-processing."""
    from dpviz.kmeans import chain
    from dpviz.kmeans.methods import mcmc

    value = chain.DELTA if name == "DELTA" else getattr(mcmc, name)
    return exact(value, f"mcmc.{name}")


def simulated(lab: Lab) -> Measured:
    """Records of the simulated data set on S1."""
    chain = lab.trial("s1", "mcmc").draw(0).chain
    return exact(float(len(chain.points)), "S1, ε 1, first seed")


def printed_rate(lab: Lab) -> Measured:
    """WCSS with the ratio as defined (posterior) over WCSS with the ratio as printed, S1."""
    found = [
        ratio_of("mcmc", "mcmc", epsilon, lab, temperature="posterior") for epsilon in EPSILONS
    ]
    return least(found)


# -- section 4 --------------------------------------------------------------------------------


def ratio_of(above: str, under: str, epsilon: float, lab: Lab, **options: Any) -> Measured:
    """Mean WCSS of one method over that of another, on S1; options are the first one's.

    Of the records in the L1 ball, as the paper has them.
    """
    draws = lab.limited(DRAWS)
    first = lab.scores("s1", above, "space_ratio", draws, epsilon=epsilon, **options)
    second = lab.scores("s1", under, "space_ratio", draws, epsilon=epsilon)
    return ratio(first, second, f"S1, ε {epsilon:g}")


def worst_ratio(lab: Lab) -> Measured:
    """Largest WCSS of MCMC over that of DPLloyd over all budgets."""
    return largest(ratio_of("mcmc", "dplloyd", epsilon, lab) for epsilon in EPSILONS)


def gain_at_least(lab: Lab) -> Measured:
    """WCSS gained at epsilon 0.05 over the most gained at another budget."""
    gains, draws = {}, lab.limited(DRAWS)
    for epsilon in EPSILONS:
        before, after = (
            lab.scores("s1", method, "space_ratio", draws, epsilon=epsilon)
            for method in ("dplloyd", "mcmc")
        )
        gains[epsilon] = before - after
    others = max((gains[epsilon] for epsilon in EPSILONS[1:]), key=np.mean)
    first = gains[EPSILONS[0]]
    return ratio(first, others, "S1")


def plain_wcss(lab: Lab) -> Measured:
    """Cases in which WCSS is not the plain sum."""
    from dpviz.kmeans.passes import wcss

    wrong = 0
    for seed in range(50):
        generator = np.random.default_rng(seed)
        points, centers = generator.normal(size=(60, 3)), generator.normal(size=(4, 3))
        plain = ((points[:, None] - centers[None]) ** 2).sum(axis=2).min(axis=1).sum()
        wrong += not math.isclose(wcss(points, centers), plain)
    return exact(wrong, "50 random sets")


def spends_epsilon(method: str, lab: Lab) -> Measured:
    """Distance of a method's ledger from epsilon."""
    run = lab.trial("s1", method).draw(0)
    return exact(abs(run.ledger.epsilon - 1), "S1, ε 1")

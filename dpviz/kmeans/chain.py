"""Find the data set that best explains the noisy statistics of all private Lloyd iterations.

A Metropolis-Hastings chain that reads no data (Lee, Kifer, "Postprocessing for Iterative
Differentially Private Algorithms", section 3). There are T iterations, K clusters, d coordinates
and M points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpviz.base.arrays import Floats, Indices, Ints, Mask
from dpviz.base.compiled import compiled

#: Variance of the proposals around their centre, in data scaled to [-1, 1] (section 4).
DELTA = 0.001

#: Largest number of log likelihood values that a chain returns.
TRACE = 300

#: Log likelihoods that differ by less are equal: rounding errors must not choose.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """Scaled statistics that private Lloyd released.

    ``assigned`` (T, K, d) are centres to which an iteration assigned records. ``updated`` are
    centres after its update. A chain needs consistent counts n' (T, K) and sums s' (T, K, d).
    """

    assigned: Floats
    updated: Floats
    counts: Floats
    sums: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Random numbers of a chain, sampled in advance: uniform (steps,) and normal (steps, d)."""

    index: Floats
    iteration: Floats
    component: Floats
    normals: Floats
    accept: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """The best data set (M, d) of a chain, up to 300 log likelihoods, and the accepted share."""

    points: Floats
    log_likelihood: Floats
    best: float
    accepted: float


def draws(generator: np.random.Generator, steps: int, d: int) -> Draws:
    """Sample the random numbers of a chain; a shorter chain gets the first of the same numbers."""
    uniform, normal = generator.spawn(2)
    index, iteration, component, accept = uniform.random((steps, 4)).T
    return Draws(
        index=index,
        iteration=iteration,
        component=component,
        normals=normal.standard_normal((steps, d)),
        accept=accept,
    )


# -- consistency -------------------------------------------------------------------------


def consistent(counts: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Make totals of counts (T, K) and sums (T, K, d) equal in all iterations, and counts >= 0.

    The result has the least L1 distance to the noisy values, so it is likeliest under Laplace noise
    (Lee, Kifer, section 3.2; Lee, Wang, Kifer 2015). This is one optimum of the linear programme in
    closed form: negative counts become zero, then totals move to their median, which costs least. A
    Euclidean projection spreads the change over the clusters: all counts move in one direction.
    """
    raised = np.maximum(counts, 0.0).sum(axis=1)
    totals = sums.sum(axis=1)
    correction = (np.median(totals, axis=0) - totals) / sums.shape[1]
    return _project(counts, float(np.median(raised))), sums + correction[:, None, :]


def _project(counts: Floats, total: float) -> Floats:
    largest = -np.sort(-counts, axis=1)
    # Subtract one amount from every count, but not below zero. Each possible number of counts above
    # zero gives an amount; the largest amount is correct.
    levels = (np.cumsum(largest, axis=1) - total) / np.arange(1, counts.shape[1] + 1)
    return np.asarray(np.maximum(counts - levels.max(axis=1, keepdims=True), 0.0))


# -- the start and the likelihood --------------------------------------------------------


def start(statistics: Statistics, size: int) -> tuple[Floats, Indices]:
    """Return the first data set, with n'_k(T) points on centre c_k(T), and its points' clusters."""
    shares = size * _weights(statistics.counts)[-1]
    points_of = np.floor(shares).astype(np.intp)
    left = size - int(points_of.sum())
    points_of[np.argsort(points_of - shares, kind="stable")[:left]] += 1
    clusters = np.repeat(np.arange(len(shares)), points_of)
    return statistics.updated[-1][clusters], clusters


def _weights(counts: Floats) -> Floats:
    totals = counts.sum(axis=1, keepdims=True)
    weights: Floats
    weights = np.where(totals > 0, counts, 1.0) / np.where(totals > 0, totals, counts.shape[1])
    return weights


def _scaled(statistics: Statistics, size: int) -> Statistics:
    total = float(statistics.counts[-1].sum())
    factor = size / total if total > 0 else 1.0
    return replace(statistics, counts=factor * statistics.counts, sums=factor * statistics.sums)


# -- the chain ---------------------------------------------------------------------------


def run_chain(
    statistics: Statistics, rates: Floats, size: int, draws: Draws, delta: float = DELTA
) -> Chain:
    """Search for the data set of ``size`` points that makes the statistics most likely.

    The log likelihood is minus a sum over the iterations: rate times L1 distance between (n', s')
    and the data set's counts and sums at the nearest centres of ``assigned``. A step replaces one
    point by a random point around a centre of ``updated``. The centre is chosen by its count, and
    the variance is ``delta``. Metropolis-Hastings accepts or rejects a step. A step costs O(T K d).

    Lee, Kifer, section 3, with the minus sign that is missing in 3.1. The correction for the
    proposals is the paper's: weight and density of the sampled component, not of the mixture. If a
    point stays in its cluster, the cluster's change is added once; the paper's sum adds it twice.
    """
    statistics = _scaled(statistics, size)
    points, clusters = start(statistics, size)
    proposed, proposed_density = _proposals(statistics, draws, delta)
    index = (draws.index * size).astype(np.int64)
    trace, taken = np.empty(len(index) + 1), np.zeros(len(index), dtype=bool)
    _walk(
        _copy(statistics.assigned),
        _copy(np.concatenate([statistics.counts[:, :, None], statistics.sums], axis=2)),
        _copy(rates),
        _with_one(points),
        _copy(np.log(_weights(statistics.counts)[-1][clusters])),
        _with_one(proposed),
        _copy(proposed_density),
        index,
        _copy(draws.accept),
        np.zeros((len(points) + 1, len(rates)), dtype=np.int64),
        trace,
        taken,
    )
    step = _best_step(trace)
    shown = np.linspace(0, len(index), min(len(trace), TRACE)).round().astype(np.intp)
    return Chain(
        points=_replayed(points, proposed, index, taken[:step]),
        log_likelihood=trace[shown],
        best=float(trace[step]),
        accepted=float(taken.mean()) if len(taken) else 0.0,
    )


def _proposals(statistics: Statistics, draws: Draws, delta: float) -> tuple[Floats, Floats]:
    """All proposed points, and for each point the log of weight times density, up to a constant."""
    weights = _weights(statistics.counts)
    t = (draws.iteration * len(weights)).astype(np.intp)
    upto = np.cumsum(weights, axis=1)[t]
    # The comparison is strict: a component of weight zero, without logarithm, is never chosen.
    k = (upto > (draws.component * upto[:, -1])[:, None]).argmax(axis=1)
    points = statistics.updated[t, k] + math.sqrt(delta) * draws.normals
    return points, np.log(weights[t, k]) - (draws.normals**2).sum(axis=1) / 2


def _copy(values: Floats) -> Floats:
    """Writable copy in C order; another layout or data type would take seconds to compile."""
    return np.array(values, dtype=np.float64, order="C")


def _with_one(points: Floats) -> Floats:
    """Rows (1, x): contribution of each point to the count and the sums of its cluster."""
    return _copy(np.column_stack([np.ones(len(points)), points]))


def _best_step(trace: Floats) -> int:
    return int(np.argmax(trace >= trace.max() - ROUNDING))


def _replayed(points: Floats, proposed: Floats, index: Ints, taken: Mask) -> Floats:
    """Return the data set after the given steps; a copy at each improvement would cost O(M)."""
    steps = np.flatnonzero(taken)
    last = np.full(len(points), -1)
    np.maximum.at(last, index[steps], steps)
    replaced = last >= 0
    after = points.copy()
    after[replaced] = proposed[last[replaced]]
    return after


@compiled()
def _walk(
    assigned: Floats, gaps: Floats, rates: Floats, points: Floats, densities: Floats,
    proposed: Floats, proposed_densities: Floats, index: Ints, accept: Floats, labels: Ints,
    trace: Floats, taken: Mask,
) -> None:  # fmt: skip
    """Write the log likelihood after every step (steps + 1,), and accepted steps.

    Changes its arguments. ``labels`` (points + 1, T) is memory.
    """
    for i in range(len(points)):
        _assign(assigned, points[i], labels[i])
        _add(gaps, points[i], labels[i], -1.0)
    trace[0] = 0.0
    for t in range(len(rates)):
        whole = 0.0
        for k in range(gaps.shape[1]):
            for j in range(gaps.shape[2]):
                whole += abs(gaps[t, k, j])
        trace[0] -= rates[t] * whole
    new_labels = labels[len(points)]
    for step in range(len(index)):
        i, new = index[step], proposed[step]
        _assign(assigned, new, new_labels)
        gain = _gain(gaps, rates, points[i], labels[i], new, new_labels)
        ratio = gain + densities[i] - proposed_densities[step]
        taken[step] = accept[step] < math.exp(min(0.0, ratio))
        trace[step + 1] = trace[step] + gain if taken[step] else trace[step]
        if taken[step]:
            _add(gaps, points[i], labels[i], 1.0)
            _add(gaps, new, new_labels, -1.0)
            for j in range(len(new)):
                points[i, j] = new[j]
            for t in range(len(rates)):
                labels[i, t] = new_labels[t]
            densities[i] = proposed_densities[step]


@compiled()
def _assign(assigned: Floats, point: Floats, labels: Ints) -> None:
    for t in range(len(assigned)):
        nearest = np.inf
        for k in range(assigned.shape[1]):
            distance = 0.0
            for j in range(assigned.shape[2]):
                distance += (point[j + 1] - assigned[t, k, j]) ** 2
            if distance < nearest:
                nearest, labels[t] = distance, k


@compiled()
def _gain(
    gaps: Floats, rates: Floats, old: Floats, old_labels: Ints, new: Floats, new_labels: Ints
) -> float:
    total = 0.0
    for t in range(len(rates)):
        left, joined = gaps[t, old_labels[t]], gaps[t, new_labels[t]]
        closed = 0.0
        for j in range(len(old)):
            if old_labels[t] == new_labels[t]:
                closed += abs(left[j]) - abs(left[j] + (old[j] - new[j]))
            else:
                closed += abs(left[j]) - abs(left[j] + old[j])
                closed += abs(joined[j]) - abs(joined[j] - new[j])
        total += rates[t] * closed
    return total


@compiled()
def _add(gaps: Floats, point: Floats, labels: Ints, sign: float) -> None:
    for t in range(len(gaps)):
        for j in range(len(point)):
            gaps[t, labels[t], j] += sign * point[j]

"""All numbers that a run releases, as one row of scores, and some numbers that stay secret.

A group maps a run to named arrays. Their shapes are equal in all runs; missing numbers are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpviz.base.arrays import Floats
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.ledger import Ledger
from dpviz.wavecluster.pipeline import Run

#: Name for users, and numbers of any shape; the positions in the array are appended to the name.
Named = tuple[str, ArrayLike]
Group = Callable[[Any], Iterator[Named]]

#: Number of ledger entries whose scale gets a separate score; the sums include all entries.
SPENDS = 8


# -- both families -----------------------------------------------------------------------


def ledger(run: Run | KMeansRun) -> Iterator[Named]:
    """Number of entries on the ledger, and the scales of their noise."""
    spends: Ledger = run.ledger
    yield "number of spends on the ledger", len(spends.spends)
    yield "sum of the noise scales on the ledger", sum(spend.scale for spend in spends)
    yield "noise scale of spend", _padded([spend.scale for spend in spends], SPENDS)


# -- WaveCluster -------------------------------------------------------------------------


def clusters(run: Run) -> Iterator[Named]:
    """Number and sizes of the clusters."""
    stages = run.stages
    yield "number of clusters", stages.n_clusters
    yield "number of significant cells", np.count_nonzero(stages.labels)
    yield "cells of the largest cluster", _padded(stages.cluster_sizes, 1)[0]


def threshold(run: Run) -> Iterator[Named]:
    """Threshold of the noisy subband, and the counts computed from the subband."""
    found = run.stages.threshold
    yield "density threshold d'", found.value
    yield "number of positive coefficients", found.positive
    yield "rank k' of the threshold", np.nan if found.k is None else found.k
    if found.k is not None:
        # Use only d' and W': k' is (1 - p) times the number of positive coefficients after pruning.
        left = np.floor(found.k / (1 - run.config.density) + 1e-9)
        yield "number of positive coefficients that were dropped", found.positive - left


def counts(run: Run) -> Iterator[Named]:
    """Noisy counts M'."""
    yield "smallest noisy count", run.stages.counts.min()
    yield "largest noisy count", run.stages.counts.max()
    yield "noisy count of cell", run.stages.counts


def subband(run: Run) -> Iterator[Named]:
    """Average subband W' and the cluster of each of its cells."""
    yield "average subband in cell", run.stages.average
    yield "cluster number of cell", run.stages.labels


def rank(run: Run) -> Iterator[Named]:
    """PrivTHREM's k' in the true data. The rank is never released; this score shows why."""
    yield "rank k' of the threshold in the true data", run.trace["rank"]


# -- k-means -----------------------------------------------------------------------------


def centers(run: KMeansRun) -> Iterator[Named]:
    """Final centres, and the centres before post-processing."""
    yield "coordinate of final centre", run.centers
    if run.before is not None:
        yield "coordinate of centre before post-processing", run.before


def start(run: KMeansRun) -> Iterator[Named]:
    """Initial centres."""
    # Only some runs have starting centres if a method decides whether to iterate.
    if run.start is not None or run.decision:
        yield "coordinate of starting centre", _nothing(run) if run.start is None else run.start


def iterations(run: KMeansRun) -> Iterator[Named]:
    """Noisy counts and sums of each iteration, and their noise. Sorted copies ignore the order."""
    most = run.config.iterations or 1
    yield "number of iterations", len(run.iterations)
    yield "number of centres that stayed", run.kept_centers
    for number in range(most):
        one = run.iterations[number] if number < len(run.iterations) else None
        empty = np.full(len(run.centers), np.nan)
        counted = empty if one is None else one.counts
        where = f" in iteration {number + 1}, cluster"
        yield f"smallest noisy count in iteration {number + 1}", counted.min()
        yield f"largest noisy count in iteration {number + 1}", counted.max()
        yield "noise scale" + where, empty if one is None else one.scales
        yield "noisy count" + where, counted
        yield "noisy sums" + where, _nothing(run) if one is None else one.sums
        yield "centre" + where, _nothing(run) if one is None else one.centers


def grid(run: KMeansRun) -> Iterator[Named]:
    """The noisy grid: its size, total and largest cell."""
    if run.grid is not None:
        yield "number of cells of the grid", run.grid.weights.size
        yield "noise scale of the grid", run.grid.scale
        yield "total weight of the grid", run.grid.weights.sum()
        yield "largest weight of a cell", run.grid.weights.max()


def chain(run: KMeansRun) -> Iterator[Named]:
    """MCMC's Markov chain: number and likelihood of the simulated records, and taken steps."""
    if run.chain is not None:
        yield "number of simulated records", len(run.chain.points)
        yield "log-likelihood of the simulated records", run.chain.best
        yield "share of the chain's steps that were taken", run.chain.accepted


_OF_WAVECLUSTER: tuple[Group, ...] = (ledger, clusters, threshold, counts, subband, rank)
_OF_KMEANS: tuple[Group, ...] = (centers, start, iterations, grid, chain)

GROUPS: dict[str, Group] = {
    function.__name__: function for function in (*_OF_WAVECLUSTER, *_OF_KMEANS)
}

#: All scores that a run of a family releases.
WAVECLUSTER_RELEASES = ("clusters", "threshold", "ledger", "counts", "subband")
KMEANS_RELEASES = ("iterations", "grid", "ledger", "centers", "start", "chain")

#: Score that is computed from the answers of all mechanisms of a run, not from the run's results.
LIKELIHOOD = "likelihood"
LIKELIHOOD_NAME = "log-likelihood ratio of all noisy answers"


def row(run: Run | KMeansRun, groups: tuple[str, ...]) -> Floats:
    """All scores of the given groups in one row."""
    found = [np.ravel(np.asarray(values, dtype=float)) for _, values in _all(run, groups)]
    return np.concatenate(found) if found else np.empty(0)


def names(run: Run | KMeansRun, groups: tuple[str, ...]) -> list[str]:
    """Names (for users) of the scores of :func:`row`, with positions from 1, and of likelihood."""
    found = [
        f"{name}{position(place)}"
        for name, values in _all(run, groups)
        for place in np.ndindex(np.shape(values))
    ]
    return [*found, LIKELIHOOD_NAME] if LIKELIHOOD in groups else found


def position(place: tuple[int, ...]) -> str:
    """Position of a number in an array, from 1, after the array's name; "" for a single number."""
    shown = ", ".join(str(index + 1) for index in place)
    return f" ({shown})" if len(place) > 1 else f" {shown}".rstrip()


def _all(run: Run | KMeansRun, groups: tuple[str, ...]) -> Iterator[Named]:
    for group in groups:
        if group != LIKELIHOOD:
            yield from GROUPS[group](run)


def _padded(values: ArrayLike, size: int) -> Floats:
    padded = np.full(size, np.nan)
    given = np.asarray(values, dtype=float)[:size]
    padded[: len(given)] = given
    return padded


def _nothing(run: KMeansRun) -> Floats:
    return np.full(run.centers.shape, np.nan)

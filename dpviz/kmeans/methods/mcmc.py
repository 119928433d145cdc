"""MCMC post-processing: the data set under which all noisy iterations are most likely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd, space_of
from dpviz.kmeans.methods.dplloyd import KEEPING, OUT_OF_BALL, SOUND
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun, canonical
from dpviz.kmeans.start import best_of, enough
from dpviz.privacy.mechanisms import Accountant

#: Length of the chain and variance of its proposals, from the paper.
STEPS, DELTA = 30_000, 0.001

#: Maximum number of simulated records: statistics are scaled down to it.
SIZE = 2000

#: Runs of k-means on the simulated records.
RESTARTS = 10

#: Rough time of a draw on 30,000 records.
SECONDS = 0.04

CARD = Card(
    name="mcmc",
    family="kmeans",
    title="MCMC post-processing",
    estimator="MCMCKMeans",
    summary=(
        "Runs DPLloyd and keeps the noisy counts and sums of all its iterations; a Markov chain "
        "of 30,000 steps looks for the data set under which they are most likely, and k-means on "
        "it gives the centres. Costs no further budget."
    ),
    paper="Lee, Kifer 2016",
    algorithm="section 3",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=f"{SOUND} What follows reads those numbers alone: post-processing is free.",
        ),
        Variant(
            name="published",
            private=False,
            reason=f"Post-processing is free, but DPLloyd as printed is not private. {OUT_OF_BALL}",
        ),
    ),
    parameters=takes("mcmc"),
    deviations=(
        KEEPING,
        f"At most {SIZE:,} records are simulated, statistics scaled down to as many: better and "
        "faster than one for each record.",
        "It gains where DPLloyd is poor, and can lose where it is good. Median WCSS over that of "
        "DPLloyd, T 5, 20 draws, domain from the data, epsilon 0.05, 0.1, 0.25, 0.5, 1: as printed "
        "on S1 (K 15) .54 .56 .56 .64 .84, unbalance (8) .52 .56 .65 .70 .64, blood (2) .43 .72 "
        ".95 .95 1.03, DS1 (15) .57 .72 .98 .99 1.02, DS3 (5) 1.00 1.01 1.06 1.07 1.07; sound on "
        "S1 .52 .52 .55 .52 .71.",
        "temperature printed: the paper's log ratio has no epsilon in it, which follows the "
        "likelihood more closely than its definition (posterior) and works better, as measured.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """DPLloyd, then the Markov chain over data sets (Lee, Kifer, section 3)."""
    # Compiled code, only needed by this method.
    from dpviz.kmeans.chain import Statistics, consistent, draws, run_chain

    before = lloyd(records, config, accountant)
    # Centres may lie in the domain's corners, outside the L1 ball; they are not projected into it.
    space = replace(space_of(records, config), projected=False)
    path = np.array([space.scale(centers) for centers in before.path])
    iterations = before.iterations
    counts, sums = consistent(
        np.array([one.counts for one in iterations]), np.array([one.sums for one in iterations])
    )
    statistics = Statistics(assigned=path[:-1], updated=path[1:], counts=counts, sums=sums)
    total = float(counts[0].sum())
    size = int(min(max(round(total), config.clusters), SIZE))
    generator = accountant.noise.generator("chain")
    chain = run_chain(
        statistics,
        _rates(before, config, total / size if total else 1.0),
        size,
        draws(generator, STEPS, records.domain.ndim),
        DELTA,
    )
    points, weights = enough(chain.points, None, config.clusters, generator)
    seed = int(generator.integers(2**31))
    centers = space.restore(best_of(points, weights, config.clusters, seed, restarts=RESTARTS))
    return replace(before, centers=centers[canonical(centers)], before=before.centers, chain=chain)


def _rates(run: KMeansRun, config: KMeansConfig, worth: float) -> NDArray[np.float64]:
    """Log likelihood lost per unit of deviation in each iteration, shape (T,).

    The noise has scale b, so a deviation costs 1/b per record. A simulated record represents
    ``worth`` records.
    """
    if config.temperature == "printed":
        return np.ones(len(run.iterations))
    return np.array([worth / one.scales[0] for one in run.iterations])

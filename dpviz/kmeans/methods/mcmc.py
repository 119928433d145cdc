"""MCMC post-processing: finds the data set that makes all noisy iterations most likely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd, printed_centers, space_of
from dpviz.kmeans.methods.dplloyd import (
    BALL,
    FAILS,
    KEEPING,
    PRINTED,
    SOUND,
    START,
    UNSPENT,
)
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun, canonical
from dpviz.kmeans.start import best_of, enough
from dpviz.privacy.mechanisms import Accountant

#: Length of the chain, from the paper.
STEPS = 30_000

#: Maximum number of simulated records; statistics of more records are scaled down. The published
#: variant simulates all records: the largest set of the paper, Gowalla, has 107,021 records.
SIZE = {"sound": 2000, "published": 200_000}

#: Number of k-means runs on the simulated records.
RESTARTS = 10

#: Approximate time of a run on 30,000 records.
SECONDS = 0.04

CARD = Card(
    name="mcmc",
    family="kmeans",
    title="MCMC post-processing",
    estimator="MCMCKMeans",
    summary=(
        "Runs DPLloyd and keeps the noisy counts and sums of all its iterations. A Markov chain of "
        "30,000 steps searches for the data set that makes these numbers most likely, and k-means "
        "on this data set gives the centres. Costs no further budget."
    ),
    paper="Lee, Kifer 2016",
    algorithm="section 3",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=f"{SOUND} All later steps read only these numbers: post-processing is free.",
        ),
        Variant(
            name="published",
            private=True,
            reason=f"{PRINTED} All later steps read only these numbers: post-processing is free.",
            fails=FAILS,
        ),
    ),
    parameters=takes("mcmc"),
    post_processes=True,
    deviations=(
        KEEPING,
        UNSPENT,
        START,
        BALL,
        "Section 3.2 names the constraints; Lee, Wang, Kifer 2015 give the likeliest values, which "
        "under Laplace noise have the least L1 change. These values are not unique; our values "
        "spread the change equally over the clusters. The published chain starts and samples from "
        "the centres of these statistics; the sound chain uses the centres of the iterations. Both "
        "chains assign records to the centres that the iterations used (section 3.1). After "
        "section 3.2 the same symbol means the consistent centres, which are worse (on S1 they "
        "have the ratios 10.0, 7.3, 4.2, 2.7, 2.1).",
        f"The sound variant simulates at most {SIZE['sound']:,} records, scales statistics down to "
        "this number, and counts a deviation once. The published variant simulates all records, up "
        f"to {SIZE['published']:,}; with more records, it counts a deviation once for every record "
        "that a simulated record represents. On S1 as in figure 1 (epsilon 0.05, 0.1, 0.25, 0.5, "
        "1, mean of 20 draws), the published variant has the ratios 9.5, 6.8, 4.1, 2.7, 2.1; with "
        "at most 2,000 simulated records it has 8.6, 6.1, 3.7, 2.6, 2.0. The sound variant, in the "
        "box, has the ratios 5.8, 4.7, 3.7, 2.6, 2.1.",
        "MCMC is better than DPLloyd if the result of DPLloyd is poor, and can be worse if that "
        "result is good. These are the medians of WCSS divided by the WCSS of DPLloyd, in the "
        "method's space (T 5, 20 draws, domain from the data, same epsilons): published on S1 (K "
        "15) .53 .53 .55 .62 .89, unbalance (8) .59 .68 .76 .75 .67, blood (2) .61 .49 .84 .95 "
        ".98, DS1 (15) .73 .77 .96 1.01 1.02, DS3 (5) 1.00 1.05 1.06 1.07 1.09; sound on S1 .53 "
        ".52 .55 .52 .72.",
        "With temperature printed, the log ratio does not contain epsilon, as in section 3.3. The "
        "target distribution of the paper contains epsilon (temperature posterior); then published "
        "MCMC on S1 has the ratios 11.2, 8.7, 4.9, 3.0, 2.2.",
        "Section 3.3 writes the log ratio with one cluster i and one cluster j for all iterations; "
        "here each iteration has its own i and j. If i and j are the same cluster, its change is "
        "added once, as in the target distribution. The correction uses the component from which a "
        "point was sampled.",
        "The paper says that k-means can be restarted, but not how often; here there are "
        f"{RESTARTS} runs.",
    ),
    errata=(
        "In section 3.1, the log likelihood should be proportional to minus the sum of the "
        "distances, but the minus sign, which the target distribution of section 3.3 has, is "
        "missing.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run DPLloyd, then the Markov chain over data sets (Lee, Kifer, section 3)."""
    # Import here, because only this method needs the compiled code.
    from dpviz.kmeans.chain import Statistics, consistent, draws, run_chain

    before, space = lloyd(records, config, accountant), space_of(records, config)
    # Centres may be in the domain's corners, outside the L1 ball; they are not projected into it.
    path = np.array([space.stretch(centers) for centers in before.path])
    iterations = before.iterations
    counts, sums = consistent(
        np.array([one.counts for one in iterations]), np.array([one.sums for one in iterations])
    )
    updated = path[1:]
    if config.variant == "published":
        updated = np.array(
            [printed_centers(*one, space)[0] for one in zip(updated, counts, sums, strict=True)]
        )
    statistics = Statistics(assigned=path[:-1], updated=updated, counts=counts, sums=sums)
    total = float(counts[0].sum())
    size = int(min(max(round(total), config.clusters), SIZE[config.variant]))
    generator = accountant.noise.generator("chain")
    chain = run_chain(
        statistics,
        _rates(before, config, total / size if total else 1.0),
        size,
        draws(generator, STEPS, records.domain.ndim),
    )
    points, weights = enough(*_distinct(chain.points, config), config.clusters, generator)
    seed = int(generator.integers(2**31))
    centers = space.restore(best_of(points, weights, config.clusters, seed, restarts=RESTARTS))
    return replace(before, centers=centers[canonical(centers)], before=before.centers, chain=chain)


def _distinct(points: Floats, config: KMeansConfig) -> tuple[Floats, Floats | None]:
    if config.variant == "sound":
        return points, None
    distinct, numbers = np.unique(points, axis=0, return_counts=True)
    return distinct, numbers.astype(float)


def _rates(run: KMeansRun, config: KMeansConfig, worth: float) -> Floats:
    """Log likelihood lost per unit of deviation: 1/b per record for noise of scale b."""
    if config.temperature == "printed":
        return np.full(len(run.iterations), worth if config.variant == "published" else 1.0)
    return np.array([worth / one.scales[0] for one in run.iterations])

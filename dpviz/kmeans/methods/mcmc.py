"""MCMC post-processing: finds the data set that makes all noisy iterations most likely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import lloyd, printed_centers, space_of
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun, canonical
from dpviz.kmeans.start import best_of, enough
from dpviz.privacy.mechanisms import Accountant

#: Length of the chain, from the paper.
STEPS = 30_000

#: Largest number of simulated records; the paper's largest set, Gowalla, has 107,021 records.
SIZE = {"sound": 2000, "published": 200_000}

#: Number of k-means runs on the simulated records.
RESTARTS = 10

#: Approximate time of a run on 30,000 records.
SECONDS = 0.04

CARD = card_of(__file__, takes("mcmc"), SIZE=SIZE, RESTARTS=RESTARTS)


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

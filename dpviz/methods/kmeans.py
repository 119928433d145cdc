"""k-means without noise: the reference that every private run is held against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import InputError
from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.start import best_of
from dpviz.methods.card import Card, Variant
from dpviz.methods.parameters import parameters
from dpviz.methods.wavecluster import NOT_PRIVATE
from dpviz.privacy.mechanisms import Accountant

#: Runs of k-means, of which the best counts.
RESTARTS = 10

#: Above as many records, restarts look at a sample, and only the best goes on with all.
MANY, SAMPLE = 2**17, 2**15

CARD = Card(
    name="kmeans",
    family="kmeans",
    title="k-means (true)",
    estimator="TrueKMeans",
    summary=(
        "Lloyd's algorithm from ten k-means++ starts, by scikit-learn, on the domain scaled to a "
        "cube: K centres with the smallest sum of squared distances that was found."
    ),
    paper="Lloyd 1982; Arthur, Vassilvitskii 2007",
    algorithm="k-means++",
    origin="Lloyd",
    variants=(
        Variant(name="sound", private=False, reason=NOT_PRIVATE),
        Variant(name="published", private=False, reason=NOT_PRIVATE),
    ),
    parameters=parameters("kmeans"),
    deviations=(
        f"Above {MANY:,} records the restarts see a fixed random sample of {SAMPLE:,}, and the "
        "best of them goes on with all records.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Cluster the true records; spends nothing and promises nothing."""
    space = Space(records.domain)
    points = records.scaled(space)
    if config.clusters > records.n:
        only = "is only 1 record" if records.n == 1 else f"are only {records.n:,} records"
        raise InputError(
            f"clusters = {config.clusters}, but there {only}: choose at most as many clusters as "
            "records."
        )
    centers = records.kept(("true", config.clusters), lambda: _centers(points, config.clusters))
    return restored(KMeansRun(config=config, centers=centers, ledger=accountant.ledger), space)


def _centers(points: NDArray[np.float64], clusters: int) -> NDArray[np.float64]:
    """Best centres (K, d) of several runs."""
    if len(points) <= MANY:
        return best_of(points, None, clusters, 0, restarts=RESTARTS)
    # Without replacement, and always the same: the reference must not change between runs.
    chosen = np.random.default_rng(0).choice(len(points), max(SAMPLE, clusters), replace=False)
    best = best_of(points[chosen], None, clusters, 0, restarts=RESTARTS)
    return best_of(points, None, clusters, 0, start=best)

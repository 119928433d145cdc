"""k-means without noise: the reference for every private run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError
from dpviz.family.card import NOT_PRIVATE, card_of
from dpviz.kmeans.lloyd import restored
from dpviz.kmeans.optimum import SAMPLE
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.passes import loops
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.privacy.mechanisms import Accountant

#: Scaled centres that are nearer to each other than this may be equal.
_EQUAL = 1e-12

CARD = card_of(__file__, takes("kmeans")[1:], NOT_PRIVATE=NOT_PRIVATE, SAMPLE=SAMPLE)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Cluster the true records; spends no budget and is not private."""
    space = Space(records.domain)
    if config.clusters > records.n:
        only = "is only 1 record" if records.n == 1 else f"are only {records.n:,} records"
        raise InputError(
            f"clusters = {config.clusters}, but there {only}: choose at most as many clusters as "
            "records."
        )
    centers = records.kept(
        ("true", config.clusters),
        lambda: _unequal(records, space, records.optimum(space, config.clusters)),
    )
    config = replace(config, clusters=len(centers))
    return restored(KMeansRun(config=config, centers=centers, ledger=accountant.ledger), space)


def _unequal(records: Records, space: Space, centers: Floats) -> Floats:
    radii, numbers, squares, _ = loops().tables(*centers.shape)
    radii[:] = 0
    loops().neighbours(centers, radii, numbers, squares)
    apart = np.sqrt(squares[:, 0])
    if apart.min() > _EQUAL:
        return centers
    # If centres are equal, all records are assigned to one of these centres; keep this centre.
    kept: Floats = centers[(apart > _EQUAL) | (records.sums(space, centers)[:, 0] > 0)]
    return kept

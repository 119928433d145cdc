"""DP-Kmeans in its MapReduce form: noisy means of an equal partition, then noisy iterations."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd, space_of
from dpviz.kmeans.methods.dplloyd import KEEPING, SOUND
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

#: The paper stops when all centres together move by less than this, on data scaled to [0, 1]^d.
THRESHOLD = 1.0

SOUND_SETS = (
    f"{SOUND} Each record goes to its starting set by its own draw, and the iterations stop early "
    "only on the movement of released centres."
)

BY_ORDER = (
    "The starting sets of the paper are cut from the list in order: one record more moves the "
    "borders of all of them, which changes far more than the d + 1 that the noise is for."
)

STOPPING = (
    "Stops when released centres moved by less than 1 in all (scaled to the unit cube), as "
    "printed; what is left of the budget then goes to one final iteration. T is at most 3 by "
    "default instead of 10: halving starves later iterations."
)

CARD = Card(
    name="dpkmeans_mapreduce",
    family="kmeans",
    title="DP-Kmeans (MapReduce)",
    estimator="DPKMeansMapReduce",
    summary=(
        "The records are split into K sets whose noisy means are the first centres; each iteration "
        "adds up counts and sums of chunks (map) and merges them (reduce) before noise is added."
    ),
    paper="Li, Hao, Wen, Li 2016; as in Zhang, Liu, Wang 2018",
    algorithm="section Related work, steps 1 to 4",
    origin="004",
    variants=(
        Variant(name="sound", private=True, reason=SOUND_SETS),
        Variant(name="published", private=False, reason=BY_ORDER),
    ),
    parameters=takes("dpkmeans_mapreduce"),
    deviations=(KEEPING, STOPPING),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Partition start, then noisy iterations until the released centres converge."""
    span = space_of(records, config).span
    return lloyd(records, config, accountant, settled=partial(resting, span=span))


def resting(before: NDArray[np.float64], after: NDArray[np.float64], *, span: float) -> bool:
    """Whether the scaled centres (K, d) together moved by less than the published threshold."""
    return float(np.linalg.norm(after - before, axis=1).sum()) / span < THRESHOLD

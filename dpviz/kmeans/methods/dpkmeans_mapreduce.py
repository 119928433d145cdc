"""DP-Kmeans in its MapReduce form: noisy means of an equal partition, then noisy iterations."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd, space_of
from dpviz.kmeans.methods.dplloyd import BY_ORDER, KEEPING, SOUND
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

#: The paper stops when the moves of all centres sum to less than this, on data in [0, 1]^d.
THRESHOLD = 1.0

SOUND_SETS = (
    f"{SOUND} Each record joins a random starting set, independently of other records, and only "
    "the movement of released centres stops the iterations early."
)

STOPPING = (
    "Stops when the moves of all released centres sum to less than 1 (scaled to the unit cube), or "
    'after T iterations. The paper says "the distance between the centers" of two iterations, '
    "which may also mean the distance of each centre. Published: T is 10, and the remaining budget "
    "is not spent. With many clusters the sum never falls below 1, and halving ends in noise: on "
    "S1 (K 15) at epsilon 0.5, the median NICV of 20 draws is 44 times the true NICV. If each "
    "centre's distance must be less than 1, the method stops after one iteration, and NICV is 12 "
    "times the true NICV. Sound: T is 3, and one final iteration uses the remaining budget."
)

START_BUDGET = (
    "Zhang, Liu, Wang add noise to the start, too, but do not state a budget for this noise. In "
    "their paper, iteration t uses epsilon / 2^t, so the sum may be more than epsilon. Here the "
    "start uses epsilon / 2, and iteration t uses epsilon / 2^(t + 1). These authors do not "
    "mention noise for the start of DP-Kmeans; here this start gets the same noise."
)

CARD = Card(
    name="dpkmeans_mapreduce",
    family="kmeans",
    title="DP-Kmeans (MapReduce)",
    estimator="DPKMeansMapReduce",
    summary=(
        "The records are split into K sets, and the sets' noisy means are the first centres. Each "
        "iteration adds up counts and sums of chunks (map) and merges these (reduce) before noise "
        "is added."
    ),
    paper="Li H., Wu, Chen 2016; start of Li Y., Hao, Wen, Xie 2013; as in Zhang, Liu, Wang 2018",
    algorithm="section Main idea of DP-Kmeans algorithm, steps 1 to 4",
    origin="004",
    variants=(
        Variant(name="sound", private=True, reason=SOUND_SETS),
        Variant(name="published", private=False, reason=BY_ORDER),
    ),
    parameters=takes("dpkmeans_mapreduce"),
    deviations=(KEEPING, STOPPING, START_BUDGET),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Start from a partition, then run noisy iterations until the released centres settle."""
    span = space_of(records, config).span
    return lloyd(records, config, accountant, settled=partial(resting, span=span))


def resting(before: Floats, after: Floats, *, span: float) -> bool:
    """Return whether the moves of all scaled centres (K, d) sum to less than ``THRESHOLD``."""
    return float(np.linalg.norm(after - before, axis=1).sum()) / span < THRESHOLD

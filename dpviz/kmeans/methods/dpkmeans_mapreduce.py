"""DP-Kmeans in its MapReduce form: noisy means of an equal partition, then noisy iterations."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import lloyd, space_of
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

#: The paper stops when the moves of all centres sum to less than this, on data in [0, 1]^d.
THRESHOLD = 1.0

CARD = card_of(__file__, takes("dpkmeans_mapreduce"))


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Start from a partition, then run noisy iterations until the released centres settle."""
    span = space_of(records, config).span
    return lloyd(records, config, accountant, settled=partial(resting, span=span))


def resting(before: Floats, after: Floats, *, span: float) -> bool:
    """Return whether the moves of all scaled centres (K, d) sum to less than ``THRESHOLD``."""
    return float(np.linalg.norm(after - before, axis=1).sum()) / span < THRESHOLD

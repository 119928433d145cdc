"""DPk-means++: noisy Lloyd iterations from a k-means++ start."""

from __future__ import annotations

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import START_SHARE, Settled, lloyd, space_of
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

#: The published rule stops if the sum of squared errors changes by at most this share.
SETTLED = 1e-3

CARD = card_of(__file__, takes("dpkmeanspp"), START_SHARE=START_SHARE, SETTLED=SETTLED)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run the configured start and noisy Lloyd iterations (Hu et al., Algorithms 2 and 3)."""
    return lloyd(records, config, accountant, settled=as_printed(records, config))


def as_printed(records: Records, config: KMeansConfig) -> Settled | None:
    """Return the published stopping rule, which reads the raw records; None if sound."""
    if config.variant == "sound":
        return None
    space = space_of(records, config)

    def settled(before: Floats, after: Floats) -> bool:
        error = records.wcss(space, before)
        return abs(error - records.wcss(space, after)) <= SETTLED * error

    return settled

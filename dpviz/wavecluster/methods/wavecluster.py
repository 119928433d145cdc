"""WaveCluster itself: the true run, which is the reference for every private run."""

from __future__ import annotations

from dpviz.family.card import NOT_PRIVATE, card_of
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster

CARD = card_of(__file__, takes("wavecluster"), NOT_PRIVATE=NOT_PRIVATE)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Cluster the true counts, without spending budget and without a privacy promise."""
    return Run(config=config, stages=cluster(source.counts, config), ledger=accountant.ledger)

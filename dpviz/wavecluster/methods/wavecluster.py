"""WaveCluster itself: the true run, which is the reference for every private run."""

from __future__ import annotations

from dpviz.family.card import NOT_PRIVATE, Card, Variant
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.methods.printed import READINGS
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster

CARD = Card(
    name="wavecluster",
    family="wavecluster",
    title="WaveCluster (true)",
    estimator="WaveCluster",
    summary=(
        "Counts on a grid, average subband of a wavelet transform, cells above a density "
        "threshold; connected groups of these cells are clusters. Finds clusters of any shape."
    ),
    paper="Sheikholeslami, Chatterjee, Zhang 1998; as in Chen, Yu, Chirkova 2015",
    algorithm="section 3.2",
    origin="000",
    variants=(
        Variant(name="sound", private=False, reason=NOT_PRIVATE),
        Variant(name="published", private=False, reason=NOT_PRIVATE),
    ),
    parameters=takes("wavecluster"),
    deviations=READINGS,
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Cluster the true counts, without spending budget and without a privacy promise."""
    return Run(config=config, stages=cluster(source.counts, config), ledger=accountant.ledger)

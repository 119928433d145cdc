"""DPk-means-up: a k-means++ start, improved until moving a centre no longer helps."""

from __future__ import annotations

from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import START_SHARE, lloyd
from dpviz.kmeans.methods.dpkmeanspp import SETTLED, as_printed
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.start import BETTER, OFFSET, RETRIES, STEPS, TOLERANCE
from dpviz.privacy.mechanisms import Accountant

CARD = card_of(
    __file__,
    takes("dpkmeansup"),
    START_SHARE=START_SHARE,
    SETTLED=SETTLED,
    OFFSET=OFFSET,
    RETRIES=RETRIES,
    STEPS=STEPS,
    TOLERANCE=TOLERANCE,
    BETTER=BETTER,
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run an improved start and noisy Lloyd iterations (Hu et al., Algorithm 3)."""
    return lloyd(records, config, accountant, settled=as_printed(records, config))

"""DPk-means-up: a k-means++ start, improved until moving a centre no longer helps."""

from __future__ import annotations

from dpviz.family.card import card_of
from dpviz.kmeans.lloyd import START_SHARE
from dpviz.kmeans.methods.dpkmeanspp import SETTLED, run
from dpviz.kmeans.parameters import takes
from dpviz.kmeans.start import BETTER, OFFSET, RETRIES, STEPS, TOLERANCE

# The steps are those of DPk-means++; the configuration has the improved start.
__all__ = ["CARD", "run"]

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

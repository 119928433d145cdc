"""The WaveCluster techniques: one file each, and the registry that finds them by name."""

from __future__ import annotations

from dpviz.family.method import registry
from dpviz.wavecluster.methods import baseline, privqt, privthr, privthrem, twostage, wavecluster

METHODS = registry(
    (wavecluster, baseline, privqt, privthr, privthrem, twostage),
    seconds=0.0005,
    # Counts of records are whole numbers.
    unit=1.0,
)

"""The WaveCluster techniques: one file each, and the registry that finds them by name."""

from __future__ import annotations

from dpviz.family.method import Method, check_method
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.methods import baseline, privqt, privthr, privthrem, wavecluster
from dpviz.wavecluster.pipeline import Run, Source

WAVECLUSTER: dict[str, Method[Source, Config, Run]] = {
    module.CARD.name: Method(module.CARD, module.run)
    for module in (wavecluster, baseline, privqt, privthr, privthrem)
}


def method(name: str) -> Method[Source, Config, Run]:
    """Return the WaveCluster technique of that name, or raise InputError with the choices."""
    check_method(name, WAVECLUSTER)
    return WAVECLUSTER[name]

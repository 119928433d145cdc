"""One file a method, and the registry that finds them by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from dpviz.config import Config
from dpviz.errors import InputError
from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.methods import (
    baseline,
    contour,
    dpkmeans_mapreduce,
    dpkmeanspp,
    dpkmeansup,
    dplloyd,
    eugkm,
    gupt,
    hybrid,
    kmeans,
    mcmc,
    privgene,
    privqt,
    privthr,
    privthrem,
    wavecluster,
)
from dpviz.methods.card import Card
from dpviz.pipeline import Run, Source
from dpviz.privacy.mechanisms import Accountant

S = TypeVar("S")
C = TypeVar("C")
R = TypeVar("R")


@dataclass(frozen=True)
class Method(Generic[S, C, R]):
    """A method's card and the function that runs it on its family's kind of source."""

    card: Card
    run: Callable[[S, C, Accountant], R]


WAVECLUSTER: dict[str, Method[Source, Config, Run]] = {
    module.CARD.name: Method(module.CARD, module.run)
    for module in (wavecluster, baseline, privqt, privthr, privthrem)
}

KMEANS: dict[str, Method[Records, KMeansConfig, KMeansRun]] = {
    module.CARD.name: Method(module.CARD, module.run)
    for module in (
        kmeans,
        dplloyd,
        dpkmeanspp,
        dpkmeansup,
        dpkmeans_mapreduce,
        contour,
        mcmc,
        eugkm,
        hybrid,
        gupt,
        privgene,
    )
}

#: Cards of all methods, by name.
CARDS: dict[str, Card] = {
    **{name: entry.card for name, entry in WAVECLUSTER.items()},
    **{name: entry.card for name, entry in KMEANS.items()},
}


def method(name: str) -> Method[Source, Config, Run]:
    """Return the WaveCluster technique of that name, or raise InputError with the choices."""
    check_method(name, WAVECLUSTER)
    return WAVECLUSTER[name]


def check_method(name: str, choices: Mapping[str, object]) -> None:
    """Raise InputError where no method of that name is among the choices."""
    if name not in choices:
        raise InputError(f'method = "{name}" is unknown: choose one of {", ".join(choices)}.')

"""Options that name a method and its parameters, checked and put together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from dpviz.commands.source import known_sample
from dpviz.errors import InputError
from dpviz.families import CARDS
from dpviz.family.card import Family
from dpviz.family.method import check_method
from dpviz.kmeans.config import KMeansConfig
from dpviz.privacy.ledger import Neighbours
from dpviz.wavecluster.config import Config

#: Draws of one setting at most.
MOST_REPEATS = 100_000

#: Options that only one family has.
OPTIONS: dict[Family, tuple[str, ...]] = {
    "wavecluster": ("grid", "density", "wavelet", "level", "alpha", "synopsis"),
    "kmeans": (
        "clusters",
        "iterations",
        "start",
        "schedule",
        "geometry",
        "temperature",
        "classes",
    ),
}

FAMILY_TITLES: dict[Family, str] = {"wavecluster": "WaveCluster", "kmeans": "k-means"}


def check_options(given: argparse.Namespace) -> None:
    """Refuse what is wrong whatever the data."""
    check_method(given.method, CARDS)
    _check_family(given)
    if given.cap is not None and given.unit is None:
        raise InputError(
            f"--cap {given.cap} needs --unit: name the column that tells persons apart."
        )
    if given.unit is not None and given.cap is None:
        raise InputError(
            f"--unit {given.unit} needs --cap: say how many records of a person count."
        )
    if not 0 <= given.seed < 2**63:
        raise InputError(f"--seed {given.seed}: give a whole number from 0 to {2**63 - 1:,}.")


def check_repeats(repeats: int) -> None:
    """Raise InputError where nothing would be drawn, or more than anybody waits for."""
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError(f"--repeats {repeats}: ask for 1 to {MOST_REPEATS:,} draws.")


def _check_family(given: argparse.Namespace) -> None:
    """Refuse options of the other family."""
    for family, names in OPTIONS.items():
        for name, value in _given(given, names).items():
            if family != CARDS[given.method].family:
                shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
                raise InputError(
                    f"--{name} {shown} goes with {FAMILY_TITLES[family]} methods, and "
                    f"{given.method} is none of them: leave it out."
                )


def config_of(given: argparse.Namespace) -> Config | KMeansConfig:
    """Public choices of the run; a sample set brings its own where none are given."""
    known = known_sample(given)
    shared: dict[str, Any] = {
        "method": given.method,
        "epsilon": given.epsilon,
        "variant": given.variant,
        "neighbours": Neighbours(relation=given.neighbours, cap=_cap(given)),
    }
    family = CARDS[given.method].family
    chosen = _given(given, OPTIONS[family])
    if family == "wavecluster":
        usual = {"grid": known.grid, "density": known.density} if known else {}
        return Config(**shared, **(usual | chosen))
    # Where WaveCluster sees one cluster, k-means still has something to tell apart.
    usual = {"clusters": max(known.clusters, 2)} if known else {}
    chosen.pop("classes", None)  # of the data, not of the method
    return KMeansConfig(**shared, **(usual | chosen))


def _cap(given: argparse.Namespace) -> int:
    """Most records of a privacy unit."""
    return 1 if given.cap is None else int(given.cap)


def _given(given: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Return the options among these that were given, with their values."""
    values = {name: getattr(given, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}

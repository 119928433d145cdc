"""Options that name a method and its parameters, checked and put together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from dpviz.commands.source import known_sample
from dpviz.errors import InputError
from dpviz.families import CARDS, FAMILIES, family_of
from dpviz.family.family import Family
from dpviz.family.method import check_method
from dpviz.family.trial import Configuration
from dpviz.privacy.ledger import Neighbours

#: Draws of one setting at most.
MOST_REPEATS = 100_000


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
    """Refuse options of another family."""
    own = family_of(given.method)
    for family in FAMILIES.values():
        for name, value in _given(given, _names(family)).items():
            if family is not own:
                shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
                raise InputError(
                    f"--{name} {shown} goes with {family.title} methods, and "
                    f"{given.method} is none of them: leave it out."
                )
    # Known classes belong to the data, but only centres are scored against them.
    if given.classes is not None and not own.scores_classes:
        titles = " or ".join(one.title for one in FAMILIES.values() if one.scores_classes)
        raise InputError(
            f"--classes {given.classes} goes with {titles} methods, and {given.method} is none of "
            "them: leave it out."
        )


def config_of(given: argparse.Namespace) -> Configuration:
    """Public choices of the run; a sample set brings its own where none are given."""
    known, family = known_sample(given), family_of(given.method)
    config: Configuration = family.config(
        method=given.method,
        epsilon=given.epsilon,
        variant=given.variant,
        neighbours=Neighbours(relation=given.neighbours, cap=_cap(given)),
        **((family.suited(known) if known else {}) | _given(given, _names(family))),
    )
    return config


def _names(family: Family) -> list[str]:
    """Options that only one family has."""
    return [one.name for one in family.own]


def _cap(given: argparse.Namespace) -> int:
    """Most records of a privacy unit."""
    return 1 if given.cap is None else int(given.cap)


def _given(given: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Return the options among these that were given, with their values."""
    values = {name: getattr(given, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}

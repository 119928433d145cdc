"""Lists of the help texts, checks of options, and the resulting configuration."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from dpviz.base.errors import InputError, shown
from dpviz.base.formats import ACCEPTED
from dpviz.commands.source import known_sample
from dpviz.data.engine.choice import ENGINES
from dpviz.data.samples import sample_names
from dpviz.experiments.illustrations import FIGURES
from dpviz.experiments.sweep import MOST_SEED
from dpviz.families import CARDS, FAMILIES, family_of
from dpviz.family.parameter import check_option
from dpviz.family.trial import Configuration
from dpviz.privacy.ledger import RELATIONS, Neighbours

#: Maximum number of draws of one setting.
MOST_REPEATS = 100_000

#: Lists that replace names in braces in help texts.
LISTS = {
    "accepted": ACCEPTED,
    "engines": " or ".join(ENGINES),
    "figures": ", ".join(FIGURES),
    "methods": ", ".join(CARDS),
    "relations": " or ".join(RELATIONS),
    "released": ", ".join(card.name for card in CARDS.values() if card.spends),
    "samples": ", ".join(sample_names()),
    "scores": ", ".join(dict.fromkeys(name for one in FAMILIES.values() for name in one.scores)),
}


def check_common(given: argparse.Namespace, methods: Iterable[str]) -> None:
    """Refuse options that are invalid for any data and parameters."""
    for method in methods:
        check_option("method", method, CARDS)
    if given.cap is not None and given.unit is None:
        raise InputError(
            f"--cap {given.cap} needs --unit: name the column that identifies persons."
        )
    if given.unit is not None and given.cap is None:
        raise InputError(
            f"--unit {shown(given.unit)} needs --cap, the largest number of records per person."
        )
    if not 0 <= given.seed <= MOST_SEED:
        raise InputError(
            f"--seed {shown(given.seed)}: give a whole number from 0 to {MOST_SEED:,}."
        )


def check_options(given: argparse.Namespace) -> None:
    """Refuse options that are invalid for any data."""
    check_common(given, [given.method])
    own = family_of(given.method)
    for family in FAMILIES.values():
        values = given_of(given, [one.name for one in family.own if one.name not in own.by_name])
        for name, value in values.items() if family is not own else ():
            text = ",".join(map(str, value)) if isinstance(value, tuple) else value
            raise InputError(
                f"--{name} {shown(text)} applies only to {family.title} methods, but "
                f"{given.method} is not a {family.title} method: leave it out."
            )


def check_repeats(repeats: int) -> None:
    """Raise InputError if the number of draws is below 1 or too large."""
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError(f"--repeats {repeats}: ask for 1 to {MOST_REPEATS:,} draws.")


def config_of(given: argparse.Namespace) -> Configuration:
    """Public choices of the run; a sample set provides defaults for missing parameters."""
    known, family = known_sample(given), family_of(given.method)
    values = given_of(given, [one.name for one in family.own])
    config: Configuration = family.config(
        method=given.method,
        epsilon=given.epsilon,
        variant=family.methods[given.method].card.taken(given.variant),
        neighbours=neighbours(given),
        **((family.suited(known) if known else {}) | values),
    )
    return config


def neighbours(given: argparse.Namespace) -> Neighbours:
    """Neighbour relation and cap from the options."""
    return Neighbours(relation=given.neighbours, cap=1 if given.cap is None else given.cap)


def given_of(given: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of the options in ``names``, except options that the user did not give."""
    values = {name: getattr(given, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}

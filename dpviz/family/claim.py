"""Decides whether a run keeps its privacy promise, for screen, command line and library."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.family.card import Card
from dpviz.family.parameter import CHOOSE, PRIVATE
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain

#: Statement shown with every true result and every seeded draw.
EXPLORATION = "Exploration, not private: true results and seeded draws are for the data owner only."

#: The same statement for sample sets.
MADE_UP = "Exploration of made-up data, which are not records of persons: the results may be shown."

#: Reason why a run without a declared domain is not private.
UNDECLARED = (
    "The domain spans the data: it reveals the smallest and the largest value, and one record can "
    "move all cells and scales; declare a domain."
)


@dataclass(frozen=True)
class Claim:
    """Whether the mechanism is epsilon-private with its configuration, and the reason."""

    private: bool
    reason: str


def why_not(card: Card, config: Configuration, domain: Domain | None) -> str:
    """Reason why a run is not private; empty if :func:`claim` calls the run private."""
    if claim(card, config, domain).private:
        return ""
    if not card.spends:
        return "no noise"
    return "the domain spans the data" if _undeclared(domain) else "its card says why"


def variant_words(variant: str, *, private: bool) -> str:
    """Name of a variant; a run that is not private is not called sound."""
    if private:
        return variant
    return "not private" if variant == "sound" else f"{variant} steps, not private"


def _undeclared(domain: Domain | None) -> bool:
    return domain is None or not domain.declared


def claim(card: Card, config: Configuration, domain: Domain | None) -> Claim:
    """Judge a run by its variant, neighbour relation, parameters and domain; None is undeclared.

    The claim is about the mechanism with unseeded noise; its reason is the proof sketch, or all
    reasons why this run is not private.
    """
    variant = card.variant(config.variant)
    chosen = (getattr(config, parameter.name) for parameter in card.parameters if parameter.options)
    fails = [] if variant.private else [variant.reason]
    fails += [
        variant.fails[value]
        for value in (config.neighbours.relation, *chosen)
        if value in variant.fails
    ]
    if card.spends and _undeclared(domain):
        fails.append(UNDECLARED)
    if fails:
        return Claim(False, " ".join(fails))
    number = config.neighbours.multiplier
    chooses = getattr(config, CHOOSE.name, None) == PRIVATE
    choice = " The method chooses parameters from noisy numbers, which are all on the ledger."
    more = f" Here neighbours differ by {number} records, and the noise hides {number} records."
    return Claim(True, variant.reason + choice * chooses + more * (number > 1))

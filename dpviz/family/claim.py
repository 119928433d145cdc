"""Does this run keep its privacy promise? One answer for screen, command line and library."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.family.card import Card
from dpviz.family.parameter import CHOOSE, PRIVATE
from dpviz.family.trial import Configuration
from dpviz.grid.domain import Domain

#: Statement shown with every true result and every seeded draw.
EXPLORATION = "Exploration, not private: true results and seeded draws are for the data owner only."

#: The same of sample sets.
MADE_UP = "Exploration of made-up data, nobody's records: it may be shown."

#: Reason of a run whose domain nobody declared.
UNDECLARED = (
    "The domain spans the data: it gives the smallest and the largest value away, and one record "
    "moves everything laid over it; declare a domain."
)


@dataclass(frozen=True)
class Claim:
    """Whether the mechanism is epsilon-private as configured, and why or why not."""

    private: bool
    reason: str


def why_not(card: Card, config: Configuration, domain: Domain | None) -> str:
    """Why a run is not private, in a few words; empty where it is, as :func:`claim` judges."""
    if claim(card, config, domain).private:
        return ""
    if not card.spends:
        return "no noise"
    return "the domain spans the data" if _undeclared(domain) else "its card says why"


def variant_words(variant: str, *, private: bool) -> str:
    """A variant's name; alone it would promise what the run does not keep."""
    return variant if private else f"{variant} steps, not private"


def _undeclared(domain: Domain | None) -> bool:
    return domain is None or not domain.declared


def claim(card: Card, config: Configuration, domain: Domain | None) -> Claim:
    """Judge a run: the steps of its variant, neighbour relation and parameters, and the domain.

    The claim is about the mechanism with unseeded noise; see ``EXPLORATION`` for the effect of a
    seed. The domain is None if nobody declared any. Its reason is the proof sketch, or everything
    that fails in this run.
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
    choice = " What it chooses itself comes from noisy numbers: the ledger has them all."
    more = f" Here neighbours differ by {number} records: the noise is for {number}."
    return Claim(True, variant.reason + choice * chooses + more * (number > 1))

"""Does this run keep its privacy promise? One answer for screen, command line and library."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.config import Config
from dpviz.domain import Domain
from dpviz.kmeans.config import KMeansConfig
from dpviz.methods.card import Card

#: What every true result and every seeded draw is: stated wherever one is shown.
EXPLORATION = "Exploration, not private: true results and seeded draws are for the data owner only."


@dataclass(frozen=True)
class Claim:
    """Whether the mechanism is epsilon-private as configured, and why or why not."""

    private: bool
    reason: str


def claim(card: Card, config: Config | KMeansConfig, domain: Domain) -> Claim:
    """Judge a configuration: the method's variant first, then the domain.

    The claim is about the mechanism with unseeded noise; see ``EXPLORATION`` for what a
    seed takes away.
    """
    variant = card.variant(config.variant)
    if not variant.private:
        return Claim(False, variant.reason)
    if not domain.declared:
        return Claim(
            False,
            "The domain spans the smallest to the largest value of the data, which gives them "
            "away and moves everything laid over it with one record: declare a domain.",
        )
    return Claim(True, variant.reason)

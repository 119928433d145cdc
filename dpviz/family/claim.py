"""Does this run keep its privacy promise? One answer for screen, command line and library."""

from __future__ import annotations

from dataclasses import dataclass

from dpviz.domain import Domain
from dpviz.family.card import Card, VariantName

#: Statement shown with every true result and every seeded draw.
EXPLORATION = "Exploration, not private: true results and seeded draws are for the data owner only."


@dataclass(frozen=True)
class Claim:
    """Whether the mechanism is epsilon-private as configured, and why or why not."""

    private: bool
    reason: str


def claim(card: Card, variant: VariantName, domain: Domain) -> Claim:
    """Judge a run: the method's variant first, then the domain.

    The claim is about the mechanism with unseeded noise; see ``EXPLORATION`` for the effect of a
    seed.
    """
    judged = card.variant(variant)
    if not judged.private:
        return Claim(False, judged.reason)
    if not domain.declared:
        return Claim(
            False,
            "The domain spans the smallest to the largest value of the data, which gives them "
            "away and moves everything laid over it with one record: declare a domain.",
        )
    return Claim(True, judged.reason)

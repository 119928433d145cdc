"""Seeds, file names and method cards, the same on all pages."""

from __future__ import annotations

from dpviz.family.card import Card

MAX_SEED = 2**31 - 1

#: Prefix of the names of files with true results.
FILE_NAME = "dpviz-exploration-not-private"


def card_text(card: Card) -> str:
    """Card of a method: source, privacy claims with their reasons, deviations from the paper."""
    promises = [f"* **{variant.name}**: {variant.text}" for variant in card.variants]
    deviations = [f"* Differs from the paper: {deviation}" for deviation in card.deviations]
    title = f"**{card.title}** ({card.paper}, {card.algorithm}). {card.summary}"
    return "\n".join([title, "", *promises, *deviations])

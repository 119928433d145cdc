"""Seeds, file names and method cards, the same on all pages."""

from __future__ import annotations

from dpviz.family.card import Card
from dpviz.ui.messages import plain_text

MAX_SEED = 2**31 - 1


def card_text(card: Card) -> str:
    """Card of a method: source, claims with reasons, deviations or notes, errors of the paper."""
    differs = "" if card.origin == "ours" else "Differs from the paper: "
    title = f"**{plain_text(card.title)}** ({plain_text(card.source)}). {plain_text(card.summary)}"
    promises = [f"* **{one.name}**: {plain_text(one.text)}" for one in card.variants]
    deviations = [f"* {differs}{plain_text(one)}" for one in card.deviations]
    errata = [f"* The paper is off here: {plain_text(one)}" for one in card.errata]
    return "\n".join([title, "", *promises, *deviations, *errata])

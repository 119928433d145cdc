"""List the methods."""

from __future__ import annotations

import argparse

from dpviz.families import CARDS
from dpviz.family.comparison import Report


def methods_command(given: argparse.Namespace) -> tuple[Report, str]:
    """List all methods with their variants and parameters."""
    width = max(map(len, CARDS))
    lines = []
    for card in CARDS.values():
        lines.append(f"{card.name:<{width}}  {card.title}: {card.summary}")
        lines.append(f"{'':<{width}}  {card.source}")
        lines += [f"{'':<{width}}  {variant.name}: {variant.text}" for variant in card.variants]
    return {"methods": [card.facts for card in CARDS.values()]}, "\n".join(lines)

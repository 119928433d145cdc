"""Description of a run: the title of its figures, and the note whether they may be published."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from dpviz.base.errors import shown
from dpviz.families import CARDS, family_of
from dpviz.family.card import Card
from dpviz.family.claim import Claim, why_not
from dpviz.family.trial import Configuration
from dpviz.figures.panels import NO_NOISE
from dpviz.ui.data.panel import ActiveData
from dpviz.ui.widgets.stamp import Stamp

#: Largest number of columns that are named.
_NAMED = 4


def run_title(
    active: ActiveData,
    config: Configuration,
    *,
    seed: int | None = None,
    without: Collection[str] = (),
) -> str:
    """Title of a run: data, method, parameters (except ``without``), seed of a single run."""
    card, counts = CARDS[config.method], active.dataset.counts
    family = family_of(config.method)
    left_out = {*without, *family.chosen(config)}
    parts: list[str] = []
    for one in family.parameters:
        value = getattr(config, one.name)
        if one.name == "grid" and counts is not None:
            value = counts.shape  # data given as counts fixes the grid
        if one.titled == "no" or one.name in left_out or not card.parameter(one.name):
            continue
        if one.titled == "joined":
            parts[-1] += f" {one.text(value)}"
        else:
            parts.append(one.text(value))
    if card.spends and seed is not None:
        parts.append(f"seed {seed}")
    return " · ".join([active.title, card.title, *parts])


def columns_fact(names: Sequence[str]) -> str:
    """Words for the columns that a run uses, or their number if there are many."""
    return f"columns {', '.join(map(shown, names)) if len(names) <= _NAMED else len(names)}"


def side_title(card: Card, verdict: Claim) -> str:
    """Heading of a private run that is shown beside the true run."""
    if not card.spends:
        return NO_NOISE
    return card.title if verdict.private else f"{card.title}, not private"


def true_words(active: ActiveData) -> str:
    """Sentence on who may see true values; "" for public data."""
    return "" if active.public else "True values are for the owner only."


def stamp_of(active: ActiveData, config: Configuration, *, seed: int | None = None) -> Stamp:
    """Note on an explorer's pictures and tables; they may be published if the data is public."""
    card = CARDS[config.method]
    # Noise with a known seed is not secret.
    noise = ", and " + "on the noisy side " * (seed is not None) + "noise anyone can repeat"
    return replace(
        active.public or Stamp(allowed=False, shows=f"true data{noise * card.spends}"),
        title=run_title(active, config, seed=seed),
        facts=(columns_fact(active.dataset.columns),),
        fails=why_not(card, config, active.domain),
    )

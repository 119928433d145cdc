"""One line that describes a run: the title of all its figures."""

from __future__ import annotations

from collections.abc import Collection

from dpviz.families import CARDS, family_of
from dpviz.family.trial import Configuration
from dpviz.ui.data_panel import ActiveData


def run_title(
    active: ActiveData,
    config: Configuration,
    *,
    seed: int | None = None,
    without: Collection[str] = (),
) -> str:
    """Title of a run: data, method, parameters.

    Parameters
    ----------
    active, config
        The run.
    seed
        Seed of the noise; None for many draws.
    without
        Parameters that a search varies.
    """
    card, counts = CARDS[config.method], active.dataset.counts
    family = family_of(config.method)
    left_out = {*without, *family.chosen(config)}
    parts: list[str] = []
    for one in family.parameters:
        value = getattr(config, one.name)
        if one.name == "grid" and counts is not None:
            value = counts.shape  # counts have their own
        if one.titled == "no" or one.name in left_out or not card.parameter(one.name):
            continue
        if one.titled == "joined":
            parts[-1] += f" {one.text(value)}"
        else:
            parts.append(one.text(value))
    if card.spends and seed is not None:
        parts.append(f"seed {seed}")
    return " · ".join([active.title, card.title, *parts])

"""What describes a run: the title of all its figures, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Collection

from dpviz.errors import shown
from dpviz.families import CARDS, family_of
from dpviz.family.trial import Configuration
from dpviz.ui.data_panel import ActiveData
from dpviz.ui.stamp import Stamp

#: Up to this many columns are named.
_NAMED = 4


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


def stamp_of(
    active: ActiveData,
    config: Configuration,
    *,
    seed: int | None = None,
    title: str = "",
) -> Stamp:
    """Stamp of an explorer's pictures and tables, which nobody may publish.

    Parameters
    ----------
    active, config
        The run.
    seed
        Seed of the draw; None for many draws.
    title
        Data, method and parameters; those of the run unless given.
    """
    names = active.dataset.columns
    columns = ", ".join(map(shown, names)) if len(names) <= _NAMED else f"{len(names)}"
    true = "true data (made up here)" if active.is_sample else "true data"
    # A draw of a known seed is no secret.
    noise = "noise anyone can repeat"
    noise = noise if seed is None else f"on the private side {noise}"
    return Stamp(
        allowed=False,
        shows=f"{true}, and {noise}" if CARDS[config.method].spends else true,
        title=title or run_title(active, config, seed=seed),
        facts=(f"columns {columns}",),
    )

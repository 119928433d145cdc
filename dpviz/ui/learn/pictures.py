"""The picture of a step on paper: true data beside the draw with which the step begins."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.families import CARDS, trial_of
from dpviz.figures.svg import svg
from dpviz.ui.learn.facts import EXPLORERS, Look

#: Largest number of cells per side of a grid whose counts are printed as numbers.
_MOST_CELLS = 8

#: Width of a map in pixels; the paper scales the map, and its letters become larger.
_SIDE = 280


def picture_of(look: Look) -> str:
    """HTML of the picture: tables of counts for a tiny grid, else maps of the clusters."""
    settings = look.settings
    card, dataset = CARDS[settings.config.method], settings.active.dataset
    runs = [(look.runs.truth, "True counts")]
    if card.spends:
        runs.append((look.runs.private, f"Counts of {card.title}"))
    grids = [(one.stages.counts, title) for one, title in runs if hasattr(one, "stages")]
    if grids and max(grids[0][0].shape) <= _MOST_CELLS:
        return f'<div class="pair">{"".join(_table(*one) for one in grids)}</div>'
    trial: Any = trial_of(dataset, settings.config, settings.active.domain, settings.active.outside)
    figures = EXPLORERS[look.explorer].figures
    picture = figures.picture_of(trial, look.runs.private, dataset.columns, "", "light")
    panels = figures.panels(replace(picture, private_title=card.title), next(iter(figures.VIEWS)))
    for one in panels.layout["annotations"]:  # the number of clusters may be a question of the step
        one["text"] = one["text"].partition(" · ")[0]
    return svg(panels, "light", _SIDE, (1, 2) if card.spends else (1,))


def _table(counts: NDArray[np.number], title: str) -> str:
    # The second axis points upwards, as on the screen.
    rows = "".join(
        f"<tr>{''.join(f'<td>{_number(one)}</td>' for one in row)}</tr>" for row in counts.T[::-1]
    )
    return f'<table class="counts"><caption>{html.escape(title)}</caption>{rows}</table>'


def _number(count: float) -> str:
    return f"{count:.1f}" if count % 1 else f"{count:.0f}"

"""The picture of a step on paper: true data beside the draw with which the step begins."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.docs.figures import Cells, panels_of, svg
from dpviz.families import CARDS, trial_of
from dpviz.figures.wavecluster.picture import picture_of as cell_picture
from dpviz.ui.learn.facts import Look

#: Largest number of cells per side of a grid whose counts are printed as numbers.
_MOST_CELLS = 8

#: Number of records of a picture; more would only make the file larger.
_SHOWN = 1500


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
    domain = settings.active.domain
    assert dataset.points is not None  # noqa: S101 - sample sets have points
    order = np.random.default_rng(0).permutation(dataset.n)[:_SHOWN]
    trial: Any = trial_of(dataset, settings.config, domain, settings.active.outside)
    # The step's text has the numbers of clusters; a cluster without a record is not in the picture.
    true, private = panels_of(trial, trial.draw(settings.seed), domain, order, card.title)
    panels = [replace(true, heading="True"), replace(private, heading=card.title)]
    if grids:  # as on the screen: squares and numbers, and no dots on the right
        shown = cell_picture(trial, look.runs.private, ("x", "y"), "", "light")
        _, numbers = shown.numbers
        average, (_, labels) = shown.private.average, shown.labels
        strong = average > np.median(average[labels > 0]) if labels.any() else labels > 0
        width, height = (2**shown.true.level / g for g in grids[0][0].shape)
        left = Cells(shown.labels[0], labels < 0, numbers[:0], (width, height))
        right = Cells(labels, strong, numbers[shown.fates.invented], (width, height))
        dots = private.labels[:0]
        panels = [replace(panels[0], cells=left), replace(panels[1], cells=right, labels=dots)]
    scaled = (dataset.points[order] - domain.lows) / (domain.highs - domain.lows)
    return svg(scaled, panels if grids or card.spends else panels[:1])


def _table(counts: NDArray[np.number], title: str) -> str:
    # The second axis points upwards, as on the screen.
    rows = "".join(
        f"<tr>{''.join(f'<td>{_number(one)}</td>' for one in row)}</tr>" for row in counts.T[::-1]
    )
    return f'<table class="counts"><caption>{html.escape(title)}</caption>{rows}</table>'


def _number(count: float) -> str:
    return f"{count:.1f}" if count % 1 else f"{count:.0f}"

"""Which epsilons a view shows, and the places of their maps."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from dpviz.family.parameter import EPSILON
from dpviz.figures.ground import Ground
from dpviz.figures.marks import Trace, note
from dpviz.figures.panels import add_maps, place
from dpviz.grid.domain import Domain

#: Ratio of two neighbouring epsilons.
_RATIO = 5.0

#: Width of the true map, as a share of the figure; space between the other maps, as a share of
#: their part of it; letters in a line of the text beside the maps.
_HALF, _GAP, _LETTERS = 0.49, 0.07, 30


def three_epsilons(chosen: float) -> tuple[float, float, float]:
    """Return the chosen epsilon, and two others, about a ratio of 5 apart, in ascending order.

    The others have one digit, which is easy to say. The chosen epsilon is in the middle, unless
    another epsilon would then be outside of the slider's range.
    """
    least, most = EPSILON.reach
    first = 0 if chosen / _RATIO < least else 2 if chosen * _RATIO > most else 1
    low, middle, high = (
        chosen if step == first else float(f"{chosen * _RATIO ** (step - first):.1g}")
        for step in range(3)
    )
    return low, middle, high


def add_epsilons(
    layout: dict[str, Any],
    columns: Sequence[str],
    domain: Domain,
    maps: Sequence[tuple[str, list[Trace]]],
    said: Sequence[str],
    ground: Ground,
) -> list[Trace]:
    """Put maps on linked axes, as in ``add_maps``; ``said`` has a sentence for each but the first.

    Of four maps, three are in two rows beside the first, because one row of four maps would fill
    only half of a window. The sentences are in the fourth place of the two rows.
    """
    data = add_maps(layout, columns, domain, maps, len(maps), ground)
    if len(maps) == 4:
        layout["meta"]["across"] = 2  # as wide as two maps
        layout["xaxis"]["domain"] = [0, _HALF]
        for panel, at in enumerate(((0, 0), (0, 1), (1, 0)), 2):
            across, up = place((at[0], 2), (at[1], 2), _GAP, _GAP)
            ends = [1 - _HALF + _HALF * end for end in across]
            layout[f"xaxis{panel}"] |= {"domain": ends, "showticklabels": False, "title": ""}
            layout[f"yaxis{panel}"]["domain"] = list(up)
        text = "<br><br>".join("<br>".join(wrap(one, _LETTERS)) for one in said)
        own = note(text, 0, 1, "x3 domain", "y4 domain", yanchor="top", align="left")
        layout["annotations"].append(own)
    return data

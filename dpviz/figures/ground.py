"""Background of maps: the scale of their axes, and the lines beneath their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.data.background import Background, coastlines
from dpviz.data.scale import Axes, Scale, scale_of
from dpviz.figures.marks import Trace, faded, scatter
from dpviz.figures.theme import BACKGROUND, GROUND
from dpviz.grid.domain import Domain

EARTH, OWN = "coastlines and borders", "own background"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The user's choices for the background of maps."""

    axes: Axes = "auto"
    earth: bool = True  # whether maps of longitude and latitude have coastlines and borders
    own: Background | None = None  # lines from the user's file

    def scale(self, columns: Sequence[str], domain: Domain) -> Scale:
        """Return the ratio of the two axes."""
        return scale_of(columns, domain, self.axes)

    def lines(self, columns: Sequence[str], domain: Domain) -> list[Trace]:
        """Lines inside the domain, beneath all other traces and without hover texts."""
        drawn = []
        degrees = self.scale(columns, domain).degrees
        if self.earth and degrees:
            drawn.append((EARTH, coastlines(domain, swapped=degrees == "latlon"), 1.0))
        if self.own:
            drawn.append((OWN, self.own.within(domain), 1.5))
        return [
            scatter(
                "lines",
                *points.T.astype(np.float32),
                name=name,
                line={"color": GROUND, "width": width},
            )
            for name, points, width in drawn
            if len(points)
        ]


PLAIN = Ground()


def axis_looks(scale: Scale, panel: int) -> dict[str, dict[str, Any]]:
    """Properties that keep the scale, for the x and the y axis of a panel."""
    if scale.ratio is None:
        return {"x": {}, "y": {}}
    # The panel shrinks inside its area; its left end stays below its heading.
    kept = {"constrain": "domain"}
    number = "" if panel == 1 else panel
    anchored = {"scaleanchor": f"x{number}", "scaleratio": scale.ratio}
    return {
        "x": {**kept, "constraintoward": "left"},
        "y": {**kept, "constraintoward": "top", **anchored},
    }


def see_through(look: dict[str, Any]) -> dict[str, Any]:
    """Make the background colour of a heatmap or colour axis transparent, to show lines."""
    if "colorscale" not in look:
        return look
    clear = {ground: faded(ground, 0) for ground in BACKGROUND.values()}
    scale = [[place, clear.get(colour, colour)] for place, colour in look["colorscale"]]
    return {**look, "colorscale": scale}

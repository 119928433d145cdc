"""A figure of panels as one object, and panels with linked axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpviz.figures.ground import PLAIN, Ground, axis_looks, see_through
from dpviz.figures.marks import Trace, axis_title, note
from dpviz.grid.domain import Domain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Title of a private panel if its method adds no noise.
NO_NOISE = "no noise"

#: Horizontal and vertical range of a panel, as shares of the figure.
Extent = tuple[tuple[float, float], tuple[float, float]]

#: Look of an axis with a frame around the map.
FRAME = {"showgrid": False, "zeroline": False, "showline": True, "mirror": True}


@dataclass(frozen=True, kw_only=True, eq=False)
class Panels:
    """A figure of panels, as plain dictionaries in the form of Plotly's JSON, fast to redraw."""

    data: list[Trace]
    layout: dict[str, Any]
    #: Indexes of (true, private) heatmaps whose hover texts show both values.
    pairs: list[tuple[int, int]] = field(default_factory=list)
    alt: str = ""
    #: Least height in pixels, and as a share of the window's height; the larger height is used.
    height: int = 385
    share: float = 0.56
    least_width: int = 0  # minimum width in pixels; on a narrower page the figure can be scrolled
    #: Clusters that the words of the headline count, see wavecluster.damage.pieces.
    pieces: dict[str, Any] = field(default_factory=dict)

    def spec(self) -> dict[str, Any]:
        """Return data and layout in one dictionary."""
        return {"data": self.data, "layout": self.layout}

    def figure(self) -> Figure:
        """Return a Plotly figure, with the values that the page adds to hover texts."""
        # Imported here because the app needs only the dictionaries.
        import plotly.graph_objects as go

        data = list(self.data)
        for true, private in self.pairs:
            error = np.subtract(data[private]["z"], data[true]["z"], dtype=float)
            for one, other in ((true, private), (private, true)):
                # The function `pairUp` in live_figure.js does the same.
                parts = [data[other]["z"], error]
                if places := data[one].get("meta"):
                    parts += np.meshgrid(places["across"], places["up"])
                kind = object if places else float
                data[one] = {**data[one], "customdata": np.stack(parts, axis=2, dtype=kind)}
        return go.Figure({"data": data, "layout": self.layout})


def suffix(panel: int) -> str:
    """Number of a panel, from 1, in the form that Plotly appends to axis names."""
    return "" if panel == 1 else str(panel)


def on(panel: int) -> dict[str, str]:
    """Axes of the traces of a panel."""
    return {"xaxis": f"x{suffix(panel)}", "yaxis": f"y{suffix(panel)}"}


def place(
    row: tuple[int, int], slot: tuple[int, int], gap_x: float = 0.05, gap_y: float = 0.12
) -> Extent:
    """Range of a panel; ``row`` is (row, number of rows), ``slot`` (column, number of columns)."""
    wide = (1 - gap_x * (slot[1] - 1)) / slot[1]
    high = (1 - gap_y * (row[1] - 1)) / row[1]
    left, bottom = slot[0] * (wide + gap_x), (row[1] - 1 - row[0]) * (high + gap_y)
    return (left, left + wide), (bottom, bottom + high)


def is_at_edge(row: tuple[int, int], slot: tuple[int, int]) -> tuple[bool, bool]:
    """Whether a panel is in the lowest row, and whether it is in the leftmost column."""
    return row[0] == row[1] - 1, slot[0] == 0


def add_chart_axes(
    layout: dict[str, Any], panel: int, extent: Extent, across: dict[str, Any], up: dict[str, Any]
) -> None:
    """Add both axes of a panel with further properties."""
    for axis, other, ends, look in zip("xy", "yx", extent, (across, up), strict=True):
        anchored = {"domain": list(ends), "anchor": other + suffix(panel)}
        layout[f"{axis}axis{suffix(panel)}"] = anchored | look


def add_axes(
    layout: dict[str, Any],
    columns: Sequence[str],
    domain: Domain,
    panel: int,
    row: tuple[int, int],
    slot: tuple[int, int],
    ground: Ground = PLAIN,
) -> None:
    """Add the axes of one map; zoom and pan are linked to the first panel."""
    scale = ground.scale(columns, domain)
    # The page uses these values to compute the height of the figure.
    layout["meta"] = {"shape": scale.panel(domain), "rows": row[1], "across": slot[1]}
    looks = [
        {
            **FRAME,
            "range": list(bounds),
            "ticks": "outside",
            "ticklen": 3,
            "nticks": 6,
            "showticklabels": titled,
            "tickfont": {"size": 11},
            **({"title": axis_title(name)} if titled else {}),
            # Numbers at the ends of two maps side by side would overlap.
            **({"matches": axis, "ticklabeloverflow": "hide past domain"} if panel > 1 else {}),
            **axis_looks(scale, panel)[axis],
        }
        for axis, name, bounds, titled in zip(
            "xy", columns, domain.bounds, is_at_edge(row, slot), strict=True
        )
    ]
    # Only the first map of a row has numbers at its left side, so the space between maps is small.
    add_chart_axes(layout, panel, place(row, slot, 0.02), looks[0], looks[1])


def add_heading(
    layout: dict[str, Any], panel: int, text: str, at: tuple[float, float] = (0, 1), **more: Any
) -> None:
    """Add a text, by default above a panel. External text must pass through ``literal``."""
    axes = (f"{axis} domain" for axis in on(panel).values())
    layout["annotations"].append(note(text, *at, *axes, **more))


def add_maps(
    layout: dict[str, Any],
    columns: Sequence[str],
    domain: Domain,
    maps: Sequence[tuple[str, list[Trace]]],
    across: int = 2,
    ground: Ground = PLAIN,
) -> list[Trace]:
    """Put maps (heading with tags, traces) on linked axes of the layout; return all traces."""
    data = []
    lines = ground.lines(columns, domain)
    for slot, (heading, traces) in enumerate(maps):
        add_axes(layout, columns, domain, slot + 1, (0, 1), (slot, across), ground)
        add_heading(layout, slot + 1, heading)
        data += [{**trace, **on(slot + 1)} for trace in beneath(lines, traces)]
    if lines:
        clear_axes(layout)
    return data


def beneath(lines: list[Trace], traces: list[Trace]) -> list[Trace]:
    """Put a map's traces above lines; a heatmap shows lines where it has the background colour."""
    if not lines:
        return traces
    # By default, Plotly draws heatmaps below lines; "scattergl" traces have no ``zorder``.
    above = {"heatmap": {"zorder": 1}, "scatter": {"zorder": 1}}
    return [*lines, *({**see_through(one), **above.get(one["type"], {})} for one in traces)]


def clear_axes(layout: dict[str, Any]) -> None:
    """Make the background colour transparent in all colour axes, so that lines are visible."""
    for name in layout:
        if name.startswith("coloraxis"):
            layout[name] = see_through(layout[name])

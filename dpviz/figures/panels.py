"""What the figures of all explorers are put together from: panels, linked axes, rasters."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpviz.domain import Domain
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, NOISE, Mode, blend, steps

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Cells a side that travel to the screen at most; finer ones are put together in blocks.
MOST_CELLS = 256


@dataclass(frozen=True, kw_only=True, eq=False)
class Panels:
    """A figure of true and private panels.

    Parameters
    ----------
    data, layout
        As in Plotly's JSON.
    pairs
        Indexes of (true, private) heatmaps whose hover texts tell of each other.
    alt
        What the figure shows, in words.
    height, share
        Pixels at least; share of the window's height where that is more.
    """

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    pairs: list[tuple[int, int]] = field(default_factory=list)
    alt: str = ""
    height: int = 385
    share: float = 0.56

    def spec(self) -> dict[str, Any]:
        """Data and layout in one dictionary."""
        return {"data": self.data, "layout": self.layout}

    def figure(self) -> Figure:
        """Return the same as a Plotly figure."""
        import plotly.graph_objects as go  # the app draws from the dictionaries alone

        return go.Figure(self.spec())


#: Legend above a chart, its entries in a row.
LEGEND = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "y": 1.0,
    "yanchor": "bottom",
    "font": {"size": 12},
}


def literal(text: str) -> str:
    """Text that Plotly draws as it is: it reads no tag, no entity and no formula in it.

    File names and names of columns come from outside, and Plotly makes links of their tags.
    """
    return html.escape(text, quote=False).replace("$", "&#36;")


def titled(text: str) -> dict[str, Any]:
    """Title in the top left corner, any text."""
    return {"text": literal(text), "font": {"size": 12}, "x": 0, "xanchor": "left", "y": 0.985}


def axis_title(text: str) -> dict[str, Any]:
    """Name of an axis, any text."""
    return {"text": literal(text), "font": {"size": 12}, "standoff": 4}


def named_axis(text: str) -> dict[str, Any]:
    """Axis with a name."""
    return {
        "title": axis_title(text),
        "tickfont": {"size": 11},
        "zeroline": False,
    }


def shades(counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """0 where there is no point, 1 where there are few, 2 where there are many."""
    filled = counts[counts > 0]
    middle = np.median(filled) if filled.size else 0
    return (counts > 0).astype(np.uint8) + (counts > max(1, middle))


def cluster_scale(mode: Mode) -> dict[str, Any]:
    """Colours of the codes 3 * entry + shade: entry 0 is noise, 1, 2, ... the palette.

    Ends and colour scale of a heatmap of such codes.
    """
    ground = BACKGROUND[mode]
    scale = [ground, blend(NOISE[mode], ground, 0.55), NOISE[mode]]
    for colour in CLUSTERS[mode]:
        scale += [blend(colour, ground, 0.22), blend(colour, ground, 0.7), colour]
    return {"colorscale": steps(scale), "zmin": 0, "zmax": len(scale) - 1}


def heatmap(
    band: NDArray[Any], domain: Domain, width: NDArray[np.float64], **more: Any
) -> dict[str, Any]:
    """Heatmap of an array over a domain of two axes; its first axis runs to the right.

    Parameters
    ----------
    width
        Cell width per axis.
    more
        Further properties of the trace.
    """
    z = band.T
    return {
        "type": "heatmap",
        "z": np.ascontiguousarray(z.astype(np.uint8) if z.dtype == bool else z),
        "x0": float(domain.lows[0] + width[0] / 2),
        "dx": float(width[0]),
        "y0": float(domain.lows[1] + width[1] / 2),
        "dy": float(width[1]),
        "showscale": False,
        **more,
    }


def number_font(mode: Mode) -> dict[str, Any]:
    """Font of cluster numbers, which stand on any colour."""
    ground = BACKGROUND[mode]
    return {
        "size": 13,
        "color": INK[mode],
        "shadow": f"0 0 3px {ground}, 0 0 3px {ground}, 0 0 4px {ground}",
    }


def place(
    row: tuple[int, int], slot: tuple[int, int]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Horizontal and vertical extent of a panel: (its row, rows), (its column, columns)."""
    gap_x, gap_y = (0.05, 0.12)
    wide = (1 - gap_x * (slot[1] - 1)) / slot[1]
    high = (1 - gap_y * (row[1] - 1)) / row[1]
    left, bottom = slot[0] * (wide + gap_x), (row[1] - 1 - row[0]) * (high + gap_y)
    return (left, left + wide), (bottom, bottom + high)


def add_axes(
    layout: dict[str, Any],
    columns: Sequence[str],
    domain: Domain,
    panel: int,
    row: tuple[int, int],
    slot: tuple[int, int],
) -> None:
    """Add the axes of one panel, linked to the first one's for zoom and pan."""
    suffix = "" if panel == 1 else str(panel)
    across, up = place(row, slot)
    lowest, leftmost = row[0] == row[1] - 1, slot[0] == 0
    for axis, name, extent, bounds, titled in (
        ("x", columns[0], across, domain.bounds[0], lowest),
        ("y", columns[1], up, domain.bounds[1], leftmost),
    ):
        described = {
            "domain": list(extent),
            "anchor": ("y" if axis == "x" else "x") + suffix,
            "range": list(bounds),
            "showgrid": False,
            "zeroline": False,
            "showline": True,
            "mirror": True,
            "ticks": "outside",
            "ticklen": 3,
            "nticks": 6,
            "showticklabels": titled,
            "tickfont": {"size": 11},
        }
        if titled:
            described["title"] = axis_title(name)
        if panel > 1:
            described["matches"] = axis
        layout[f"{axis}axis{suffix}"] = described


def add_heading(layout: dict[str, Any], panel: int, text: str) -> None:
    """Add the heading above a panel, with tags: take text from outside from :func:`literal`."""
    suffix = "" if panel == 1 else str(panel)
    layout["annotations"].append(
        {
            "text": text,
            "xref": f"x{suffix} domain",
            "yref": f"y{suffix} domain",
            "x": 0,
            "y": 1,
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12},
        }
    )

"""Common parts of Plotly figures; text may contain tags unless a function shows it literally."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.base.numbers import readable
from dpviz.figures import theme
from dpviz.figures.theme import Mode
from dpviz.grid.domain import Domain

Trace = dict[str, Any]

BUDGET = "privacy budget ε"

#: Rounding error of a cell's computed end, as a share of the cell's width.
_ROUNDING = 1e-6

#: Name of the overlay that the owner sees on a private panel.
OVERLAY = "true points, not released"

#: Hover text of a position: its values on both axes.
PLACE = "%{x:,.4~r}, %{y:,.4~r}"

ROW = {"orientation": "h", "x": 0, "xanchor": "left", "font": {"size": 12}}

#: Legend above a chart, left or right; it is transparent, so it hides no letter of the title.
LEGEND = {**ROW, "y": 1.0, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}
LEGEND_RIGHT = {**LEGEND, "x": 1, "xanchor": "right"}


# -- text --------------------------------------------------------------------------------


def literal(text: str) -> str:
    """Return text that Plotly shows literally, without finding tags, entities or formulas."""
    # File names and column names are external, and Plotly would convert their tags to links.
    return html.escape(text, quote=False).replace("$", "&#36;")


def lower_first(label: str) -> str:
    """Label as it is written inside a sentence."""
    return label[:1].lower() + label[1:]


def bold_numbers(numbers: Sequence[int | str] | NDArray[np.integer]) -> list[str]:
    """Texts of cluster numbers, in bold."""
    return [f"<b>{number}</b>" for number in numbers]


def note(
    text: str,
    x: float,
    y: float,
    xref: str = "paper",
    yref: str = "paper",
    *,
    size: int = 12,
    colour: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Text that may contain tags; it is placed above and to the right of a position."""
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": xref,
        "yref": yref,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": size, **({"color": colour} if colour else {})},
        **more,
    }


def number_font(mode: Mode, size: int = 13, texts: Sequence[str] = ()) -> dict[str, Any]:
    """Font of cluster numbers, readable on any colour; some ``texts`` may be struck through."""
    ground = theme.BACKGROUND[mode]
    shadow = f"0 0 3px {ground}, 0 0 3px {ground}, 0 0 4px {ground}"
    struck = ["<s>" in text for text in texts]
    return {
        "size": size,
        "color": theme.INK[mode],
        # The shadow of a line through a number would cover the number.
        "shadow": ["none" if one else shadow for one in struck] if any(struck) else shadow,
    }


def finite(values: Any) -> Floats:
    """Replace infinite numbers by NaN, so that they are not drawn."""
    given = np.asarray(values, dtype=float)
    return np.where(np.isfinite(given), given, np.nan)


# -- layout ------------------------------------------------------------------------------


def base_layout(title: str, margin: tuple[int, int, int, int], **more: Any) -> dict[str, Any]:
    """Layout of all figures, with a title shown literally, and margins left, right, top, bottom."""
    # The page's theme replaces Plotly's templates. Legends are shown only if ``legend`` is given.
    heading = {"text": literal(title), "font": {"size": 12}, "x": 0, "xanchor": "left", "y": 0.985}
    return {
        "title": heading,
        "margin": dict(zip("lrtb", margin, strict=True)),
        "annotations": [],
        "hovermode": "closest",
        "showlegend": "legend" in more,
        **more,
    }


def axis_title(text: str, standoff: int = 4) -> dict[str, Any]:
    """Title of an axis; the text is shown literally."""
    return {"text": literal(text), "font": {"size": 12}, "standoff": standoff}


def chart_axis(title: str | None = None, **more: Any) -> dict[str, Any]:
    """Axis without a line at zero; its title is shown literally."""
    named = {} if title is None else {"title": axis_title(title)}
    return {"tickfont": {"size": 11}, "zeroline": False, **named, **more}


def log_axis(
    ticks: Sequence[float],
    ends: tuple[float, float] | None = None,
    write: Callable[[Any], str] = readable,
) -> dict[str, Any]:
    """Logarithmic axis with the given ticks; by default, the data determine the range."""
    reach = {} if ends is None else {"range": [math.log10(end) for end in ends]}
    texts = [write(tick) for tick in ticks]
    return {"type": "log", "tickvals": [*ticks], "ticktext": texts, **reach}


def category_axis(names: Sequence[str], fewest: int) -> dict[str, Any]:
    """Vertical axis with one row per name (the first is on top) and at least ``fewest`` rows."""
    return {
        "type": "category",
        "categoryarray": names,
        "categoryorder": "array",
        "range": [max(len(names), fewest) - 0.5, -0.5],
        "tickfont": {"size": 12},
        "automargin": True,
        "showgrid": False,
    }


def colour_axis(low: float, high: float, mode: Mode, unit: str) -> dict[str, Any]:
    """Colour axis from ``low`` (0 or less) to ``high``; 0 has the page's background colour."""
    scale = theme.zero_centred(low, high, mode) if low else theme.above_zero(mode)
    bar = colour_bar(unit, outlinewidth=0, len=0.9)
    return {"cmin": low, "cmax": high, "colorscale": scale, "colorbar": bar}


def colour_bar(title: str, side: str = "top", **more: Any) -> dict[str, Any]:
    """Colour bar with its title at the top or at the right."""
    return {
        "thickness": 10,
        "tickfont": {"size": 11},
        "title": {"text": title, "side": side, "font": {"size": 11}},
        **more,
    }


# -- shapes ------------------------------------------------------------------------------


def shape(
    kind: str,
    x: tuple[float, float],
    y: tuple[float, float],
    xref: str = "paper",
    yref: str = "paper",
    **more: Any,
) -> dict[str, Any]:
    """Line between two corners ("line"), or rectangle ("rect")."""
    ends = {"x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1]}
    return {"type": kind, "xref": xref, "yref": yref, **ends, **more}


def line_at(x: float, xref: str, colour: str, width: float, **more: Any) -> dict[str, Any]:
    """Vertical line at a value, over the whole height of the figure."""
    return shape("line", (x, x), (0, 1), xref, line={"width": width, "color": colour, **more})


# -- traces ------------------------------------------------------------------------------


def hovering(text: str | None) -> dict[str, Any]:
    """Hover text of a trace, which may contain tags; with None the trace ignores the pointer."""
    return {"hovertemplate": f"{text}<extra></extra>"} if text else {"hoverinfo": "skip"}


def scatter(mode: str, x: Any, y: Any, hover: str | None = None, **more: Any) -> Trace:
    """Lines, markers or text at the given positions."""
    return {"type": "scatter", "mode": mode, "x": x, "y": y, **hovering(hover), **more}


def marker(size: float, colour: Any = None, symbol: Any = None, **more: Any) -> dict[str, Any]:
    """Look of markers; Plotly chooses the properties that are None."""
    given = {"color": colour, "symbol": symbol}
    return {"size": size, **{name: one for name, one in given.items() if one is not None}, **more}


def outlined(
    size: float, colour: str, symbol: Any, edge: str, width: float, **more: Any
) -> dict[str, Any]:
    """Look of markers with an edge; the width of the edge is in pixels."""
    return marker(size, colour, symbol, line={"width": width, "color": edge}, **more)


def bar(x: Any, y: Any, hover: str, **more: Any) -> Trace:
    """Bars."""
    return {"type": "bar", "x": x, "y": y, **hovering(hover), **more}


def side_look(number: int, mode: Mode) -> dict[str, Any]:
    """Look of a data set's bars: a colour; the bars of the second data set also have hatching."""
    colour = theme.CLUSTERS[mode][number]
    return {**(hatched(colour, mode) if number else {"color": colour}), "line": {"width": 0}}


def whiskers(low: Any, median: Any, high: Any, **more: Any) -> dict[str, Any]:
    """Error bars from the low end to the high end of a band."""
    return {
        "type": "data",
        "symmetric": False,
        "array": np.subtract(high, median),
        "arrayminus": np.subtract(median, low),
        "thickness": 1.5,
        **more,
    }


def hatched(colour: str, mode: Mode) -> dict[str, Any]:
    """Look of bars with hatching in addition to colour."""
    lines = {"shape": "/", "size": 5, "solidity": 0.35}
    return {
        "color": colour,
        "pattern": {**lines, "fgcolor": theme.BACKGROUND[mode], "bgcolor": colour},
    }


def faded(colour: str, opacity: float) -> str:
    """Colour "#rrggbb" with an opacity."""
    channels = ",".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return f"rgba({channels},{opacity})"


def area(x: Any, low: Any, high: Any, colour: str, opacity: float, **more: Any) -> Trace:
    """Area between two curves, at the positions where both are finite."""
    look = {"fill": "toself", "fillcolor": faded(colour, opacity), "line": {"width": 0}}
    x, low, high = (one[np.isfinite(low) & np.isfinite(high)] for one in (x, low, high))
    across, up = np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]])
    return scatter("lines", across, up, **look | more)


#: A map has about this number of hatching strokes on each side.
_HATCHED = 64

#: Lines between cells are visible if there are at most this many cells per axis.
_COUNTED = 16


def heatmap(
    band: NDArray[Any], domain: Domain, width: Floats, hover: str | None = None, **more: Any
) -> Trace:
    """Heatmap of an array over a domain with two axes; the array's first axis is horizontal."""
    # ``width`` is the width of a cell on each axis. Cells beyond the domain are cut at its end.
    z = band.T
    places: dict[str, Any] = {}
    for name, cells, (low, high), step in zip("xy", band.shape, domain.bounds, width, strict=True):
        if low + step * cells > high + _ROUNDING * step:
            places[name] = cell_edges(np.arange(cells + 1), low, high, step)
        else:
            places |= {f"{name}0": float(low + step / 2), f"d{name}": float(step)}
    return {
        "type": "heatmap",
        "z": np.ascontiguousarray(z.astype(np.uint8) if z.dtype == bool else z),
        **places,
        # With few cells, lines between them allow counting adjacent cells of one colour.
        **({"xgap": 1, "ygap": 1} if max(band.shape) <= _COUNTED else {}),
        "showscale": False,
        **hovering(hover),
        **more,
    }


def coded(colours: list[str]) -> dict[str, Any]:
    """Colour scale of a heatmap with codes 0, 1, 2, ...; each code has one flat colour."""
    return {"colorscale": theme.steps(colours), "zmin": 0, "zmax": len(colours) - 1}


def cluster_codes(
    labels: NDArray[Any], shade: NDArray[Any], mode: Mode, wrong: NDArray[np.bool_] | None = None
) -> NDArray[np.uint8]:
    """Codes of cells for :func:`cluster_colours`."""
    # Label 0 is noise; labels 1, 2, ... use the colours in turn; ``wrong`` cells have the last
    # colour. Shade 0 is the palest, 2 the full colour.
    entry = np.where(labels > 0, (labels - 1) % len(theme.CLUSTERS[mode]) + 1, 0)
    if wrong is not None:
        entry = np.where(wrong, len(theme.CLUSTERS[mode]) + 1, entry)
    codes: NDArray[np.uint8] = (3 * entry + shade).astype(np.uint8)
    return codes


def cluster_colours(mode: Mode) -> dict[str, Any]:
    """Colour scale of :func:`cluster_codes`."""
    ground = theme.BACKGROUND[mode]
    scale = [ground, theme.blend(theme.NOISE[mode], ground, 0.55), theme.NOISE[mode]]
    for colour in theme.CLUSTERS[mode]:
        scale += [theme.blend(colour, ground, 0.22), theme.blend(colour, ground, 0.7), colour]
    # These colours are pale, so that the hatching over them is visible.
    scale += [theme.blend(theme.WRONG[mode], ground, share) for share in (0.1, 0.16, 0.28)]
    return coded(scale)


def true_points(counts: NDArray[Any], domain: Domain, width: Floats, mode: Mode) -> Trace:
    """Overlay :data:`OVERLAY`: grey cells where records are, from counts (right, up)."""
    scale = coded([faded(theme.NOISE[mode], 0), faded(theme.NOISE[mode], 0.75)])
    return heatmap(counts > 0, domain, width, name=OVERLAY, **scale)


def overlay_note(mode: Mode) -> str:
    """Text about the overlay for the heading of a private panel, with the overlay's colour."""
    return f' · <span style="color:{theme.NOISE[mode]}">■</span> {OVERLAY}'


def outline(
    labels: NDArray[Any], domain: Domain, width: Floats, line: dict[str, Any], hatched: int = 0
) -> Trace:
    """Borders between the cells of a mask, or of labels (right, up), as one line with gaps."""
    # ``hatched`` is the number of diagonal strokes that begin on a side of each cell in the mask.
    edges: list[NDArray[Any]] = []
    # The border between two neighbours on one axis is parallel to the other axis.
    for across in (0, 1):
        border = np.diff(np.pad(labels, 1).astype(np.int64), axis=across) != 0
        # Cells of a straight border are one stroke, so that a dashed line has visible dashes.
        ends = np.diff(np.pad(border.swapaxes(across, 0), ((0, 0), (1, 1))).astype(int), axis=1)
        at, begin = np.nonzero(ends > 0)
        strokes = np.stack([np.stack([at, at]), np.stack([begin, np.nonzero(ends < 0)[1]])])
        # Padding moves the positions along the border by one cell.
        strokes[1] -= 1
        edges.append(strokes if across == 0 else strokes[::-1])
    cell = np.stack(np.nonzero(labels))[:, None]
    for place in range(1 - hatched, hatched):
        shift = place / hatched
        low, high = max(shift, 0), 1 + min(shift, 0)
        edges.append(cell + np.array([[[low], [high]], [[low - shift], [high - shift]]]))
    gaps = [np.concatenate([one, np.full((2, 1, one.shape[2]), np.nan)], 1) for one in edges]
    x, y = np.concatenate(gaps, axis=2).transpose(0, 2, 1).reshape(2, -1)
    return scatter("lines", domain.lows[0] + x * width[0], domain.lows[1] + y * width[1], line=line)


def hatching(labels: NDArray[Any], domain: Domain, width: Floats, mode: Mode) -> Trace:
    """Red outline and hatching of clusters that noise alone made or could have made."""
    strokes = min(max(_HATCHED // max(labels.shape), 1), 8)
    return outline(labels, domain, width, {"color": theme.WRONG[mode], "width": 1.5}, strokes)


# -- cells -------------------------------------------------------------------------------


def cell_edges(at: Any, low: float, high: float, width: float) -> Floats:
    """Positions on an axis where the cells with these indexes begin, up to the domain's end."""
    # If the block size does not divide the side of the grid, the last blocks exceed the domain.
    place = low + width * np.asarray(at, dtype=float)
    return np.where(place > high - _ROUNDING * width, high, place)


def middles(index: Any, domain: Domain, width: Floats) -> tuple[Floats, Floats]:
    """Middles of the cells with numbers ``index`` on both axes, or of their parts in the domain."""
    x, y = (
        np.where(
            low + (at + 1) * step > high + _ROUNDING * step,
            (cell_edges(at, low, high, step) + high) / 2,
            low + (at + 0.5) * step,
        )
        for (low, high), at, step in zip(domain.bounds, index, width, strict=True)
    )
    return x, y


def cell_columns(
    columns: Sequence[str], shape: tuple[int, ...], domain: Domain, width: Floats
) -> dict[str, Floats]:
    """First columns of a table with one row per cell: the middles of the cells."""
    places = middles(np.indices(shape), domain, width)
    return {name: place.ravel() for name, place in zip(columns, places, strict=True)}

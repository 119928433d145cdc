"""Maps of an explorer as one SVG, for paper, for the documentation and for the first picture."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.figures.marks import Trace
from dpviz.figures.panels import Panels, on, suffix
from dpviz.figures.theme import BACKGROUND, GROUND, INK, Mode

#: Pixels above a map for its heading, and below it; font size of a heading; gap between two maps.
TOP, _BELOW, _HEADING, _GAP = 20, 2, 12, 18

#: Plotly's tags as SVG; other text of a figure is escaped already.
_TAGS = {
    r"<b>": '<tspan font-weight="bold">',
    r"<s>": '<tspan text-decoration="line-through">',
    r'<span style="color:(#\w+)">': r'<tspan fill="\1">',
    r"</(b|s|span)>": "</tspan>",
}

#: Horizontal and vertical directions of the words in a text's position.
_DIRECTIONS = {"left": -1, "center": 0, "right": 1, "top": -1, "middle": 0, "bottom": 1}
_ANCHORS = {-1: "end", 0: "middle", 1: "start"}


def can_draw(panels: Panels) -> bool:
    """Whether :func:`svg` draws the figure: two maps, with one flat colour per code."""
    flat = (one["type"] == "scatter" or "zmax" in one or not one.get("opacity", 1)
            for one in panels.data)  # fmt: skip
    rows = panels.layout.get("meta", {}).get("rows")
    return rows == 1 and "xaxis3" not in panels.layout and all(flat)


def svg(
    panels: Panels, mode: Mode, side: float | None = None, shown: Sequence[int] = (1, 2)
) -> str:
    """Draw the ``shown`` maps of a figure for which :func:`can_draw` is True.

    ``side`` is a map's width in pixels. Without it, the maps fill their place on a page, and their
    headings are above this place.
    """
    size, below = 'width="100%" height="100%" overflow="visible"', ""
    ends = [panels.layout[f"xaxis{suffix(number)}"]["domain"] for number in shown]
    if side:
        wide = len(shown) * (side + _GAP) - _GAP
        high = side * (panels.layout["meta"]["shape"] or 1)  # axes with different units: a square
        size = f'width="{wide:g}" viewBox="-1 0 {wide + 2:g} {high + TOP + _BELOW:g}"'
        below = f'y="{TOP}" width="{wide:g}" height="{high:g}" overflow="visible"'
        starts = [slot * (side + _GAP) / wide for slot in range(len(shown))]
        ends = [[start, start + side / wide] for start in starts]
    parts = [_panel(panels, number, one, mode) for number, one in zip(shown, ends, strict=True)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" fill="{INK[mode]}" '
        f'font-family="Source Sans,sans-serif" font-size="{_HEADING}">'
        f"<title>{html.escape(panels.alt)}</title>"
        f"<svg {below or size}>{''.join(parts)}</svg></svg>\n"
    )


def _panel(panels: Panels, number: int, ends: Sequence[float], mode: Mode) -> str:
    axes, (start, end) = on(number), ends
    x, y = (panels.layout[f"{axis}axis{suffix(number)}"]["range"] for axis in "xy")
    heading = "".join(
        f'<text y="-6">{_tagged(one["text"])}</text>'
        for one in panels.layout["annotations"]
        if one["xref"] == f"{axes['xaxis']} domain"
    )
    drawn = [
        part
        for trace in panels.data
        if {name: trace.get(name, name[0]) for name in axes} == axes and trace.get("opacity") != 0
        for part in (_heatmap if trace["type"] == "heatmap" else _scatter)(trace, x, y, mode)
    ]
    frame = f'<rect width="100%" height="100%" fill="none" stroke="{GROUND}" stroke-width=".5"/>'
    return (
        f'<svg x="{start:.2%}" width="{end - start:.2%}" overflow="visible">{heading}'
        f'<rect width="100%" height="100%" fill="{BACKGROUND[mode]}"/>{"".join(drawn)}{frame}</svg>'
    )


def _tagged(text: str) -> str:
    for tag, instead in _TAGS.items():
        text = re.sub(tag, instead, text)
    return text


def _shares(values: Any, ends: Sequence[float]) -> Floats:
    return (np.asarray(values, dtype=float) - ends[0]) / (ends[1] - ends[0])


def _heatmap(trace: Trace, x: Sequence[float], y: Sequence[float], mode: Mode) -> Iterator[str]:
    z, steps = np.asarray(trace["z"]), trace["colorscale"][::2]  # each colour has two ends
    found, codes = np.unique(z, return_inverse=True)
    image = codes.reshape(z.shape)[::-1].astype(np.uint8)
    colours = [_channels(steps[int(code) - trace["zmin"]][1]) for code in found]
    box = []
    for name, ends, cells in zip("xy", (x, y), z.shape[::-1], strict=True):
        # Cells beyond the domain are cut at its end, like the panel's part.
        edges = trace.get(name)
        step = trace[f"d{name}"] if edges is None else edges[1] - edges[0]
        first = trace[f"{name}0"] - step / 2 if edges is None else edges[0]
        box.append(_shares([first, first + step * cells], ends))
    (left, right), (bottom, top) = box
    yield '<svg viewBox="0 0 1 1" preserveAspectRatio="none">'
    yield (
        f'<image x="{left:.6g}" y="{1 - top:.6g}" width="{right - left:.6g}" '
        f'height="{top - bottom:.6g}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{_png(image, colours)}"/>'
    )
    if "xgap" in trace:
        lines = [f"M{at:.5g} 0v1" for at in np.linspace(left, right, z.shape[1] + 1)]
        lines += [f"M0 {1 - at:.5g}h1" for at in np.linspace(bottom, top, z.shape[0] + 1)]
        yield f'<path d="{"".join(lines)}" stroke="{BACKGROUND[mode]}" {_STROKE}/>'
    yield "</svg>"


_STROKE = 'fill="none" vector-effect="non-scaling-stroke"'


def _channels(colour: str) -> list[int]:
    """Red, green, blue and alpha from 0 to 255."""
    if colour.startswith("#"):
        return [*bytes.fromhex(colour[1:]), 255]
    *rest, alpha = re.findall(r"[\d.]+", colour)
    return [*map(int, rest), round(255 * float(alpha))]


def _png(codes: NDArray[np.uint8], colours: list[list[int]]) -> str:
    from PIL import Image  # imported here, because it loads slowly

    image, out = Image.fromarray(codes), BytesIO()
    image.putpalette([one for colour in colours for one in colour], "RGBA")
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def _scatter(trace: Trace, x: Sequence[float], y: Sequence[float], mode: Mode) -> Iterator[str]:
    across, up = _shares(trace["x"], x), 1 - _shares(trace["y"], y)
    faded = f'opacity="{trace.get("opacity", 1)}"'
    if "lines" in trace["mode"]:
        line, path, begins = trace["line"], [], True
        for a, b in zip(across.tolist(), up.tolist(), strict=True):
            if not np.isnan(a):
                path.append(f"{'M' if begins else 'L'}{a:.4g} {b:.4g}")
            begins = bool(np.isnan(a))
        dashes = line.get("dash", "none").replace("px", "")
        yield (
            f'<svg viewBox="0 0 1 1" preserveAspectRatio="none"><path d="{"".join(path)}" '
            f'stroke="{line["color"]}" stroke-width="{line["width"]}" stroke-dasharray="{dashes}" '
            f'stroke-linecap="round" {faded} {_STROKE}/></svg>'
        )
    places = [f'x="{a:.2%}" y="{b:.2%}"' for a, b in zip(across, up, strict=True)]
    if "markers" in trace["mode"]:
        for place, shape in zip(places, _shapes(trace["marker"], len(places)), strict=True):
            yield f'<svg {place} overflow="visible" {faded}>{shape}</svg>' * ("nan" not in place)
    if "text" in trace["mode"]:
        yield from _texts(trace, places, mode)


def _shapes(marker: dict[str, Any], n: int) -> Iterator[str]:
    """SVG of each marker, around the point (0, 0)."""
    symbols, half = marker.get("symbol", "circle"), marker["size"] / 2
    edge, colour = marker.get("line", {}), marker.get("color")
    for symbol in [symbols] * n if isinstance(symbols, str) else symbols:
        fill = "none" if symbol.endswith("-open") else colour
        look = f'fill="{fill}" stroke="{edge.get("color", colour)}" '
        look += f'stroke-width="{edge.get("width", 0)}"'
        kind = symbol.removesuffix("-open")
        path = {
            "square": f"M-{half} -{half}h{2 * half}v{2 * half}h-{2 * half}z",
            "cross-thin": f"M-{half} 0h{2 * half}M0 -{half}v{2 * half}",
        }.get(kind)
        yield f'<path d="{path}" {look}/>' if path else f'<circle r="{half}" {look}/>'


def _texts(trace: Trace, places: list[str], mode: Mode) -> Iterator[str]:
    font, away = trace["textfont"], trace.get("marker", {}).get("size", 0) / 2 + 2
    given = trace.get("textposition", "middle center")
    sides = [given] * len(places) if isinstance(given, str) else given
    for place, text, one in zip(places, trace["text"], sides, strict=True):
        down, aside = (_DIRECTIONS[word] for word in one.split())
        drop = down * away + font["size"] * (0.35 + down * 0.4)
        yield (
            f'<text {place} dx="{aside * away:g}" dy="{drop:.3g}" text-anchor="{_ANCHORS[aside]}" '
            f'font-size="{font["size"]}" fill="{font["color"]}" stroke="{BACKGROUND[mode]}" '
            f'stroke-width="3" stroke-opacity=".8" paint-order="stroke">{_tagged(text)}</text>'
        )

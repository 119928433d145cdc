"""Maps of a release with two columns, as SVG: noisy counts, and clusters.

No plotting library is used, because its output changes with its version. Here the same document
always gives the same bytes. The background is white, also on a dark page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.data.background import coastlines
from dpviz.data.cities import cities_within, city_words
from dpviz.data.geographic import Bounds, in_degrees, map_axes
from dpviz.data.scale import Scale, length, scale_of
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, WRONG, blend, zero_centred
from dpviz.grid.domain import Domain
from dpviz.release.formatting import cut, escape, number
from dpviz.release.tables import Document, block_sums, on_map, run_line, scale_on, tidy

#: Maximum number of squares per side of a map. Finer grids are summed in blocks.
MOST_SQUARES = 256

#: Number of shades on each side of zero.
_SHADES = 24

#: Longest side of the plot, and margins around it, in pixels.
_LONG, _TOP, _BOTTOM, _GAP = 560, 62, 52, 20

#: Minimum width, so that a heading fits above a narrow plot.
_NARROWEST = 480

#: For the map of a domain: longest side, maximum number of cities, minimum pixels between cities.
_SMALL_MAP, _MOST_CITIES, _APART = 280, 4, 16.0

#: West, north, east and south end of a part of the picture, in pixels.
Box = tuple[float, float, float, float]

#: A corner of an area is left out if the border then moves by less than this number of pixels.
_FINEST = 0.4

#: Longest scale bar as a share of the plot's width.
_BAR = 0.3

#: Width of a character divided by the font size.
_CHARACTER = 0.6

_SMALL, _LABEL, _HEADING = 11, 12, 15

_GROUND, _INK, _WRONG = BACKGROUND["light"], INK["light"], WRONG["light"]
_LINE = blend(_INK, _GROUND, 0.45)

#: Pattern over clusters that noise alone could have made, as in an explorer. Its lines are so close
#: together that even a small block shows them.
_HATCHING = (
    '<defs><pattern id="clusters-doubtful" width="5" height="5" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><path d="M0 0v5" stroke="{_WRONG}" stroke-width="1.6"/>'
    "</pattern></defs>"
)


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A plot with its axes and title."""

    #: Names and bounds of the two axes: the first axis is horizontal, the second axis is vertical.
    columns: tuple[str, str]
    bounds: tuple[tuple[float, float], tuple[float, float]]
    #: Position and size of the plot; its top is fixed.
    left: float
    width: float
    height: float
    #: Space to the right of the plot.
    right: float
    #: Values and texts of the ticks on each axis.
    ticks: tuple[list[tuple[float, str]], list[tuple[float, str]]]
    #: Minimum width of the whole picture, for its heading.
    narrowest: float = _NARROWEST

    @classmethod
    def build(cls, document: Document, right: float) -> Frame:
        """Lay out the plot of a document."""
        columns, bounds = document["domain"]["columns"], document["domain"]["bounds"]
        scale, box = scale_on(columns, bounds)
        return cls.of(columns, bounds, (box and scale.panel(box)) or 1.0, right)

    @classmethod
    def of(
        cls, names: Sequence[str], pairs: Bounds, ratio: float, right: float, long: float = _LONG
    ) -> Frame:
        """Lay out a plot from names and bounds of axes, height / width, right margin, long side."""
        bounds = tuple((float(lo), float(hi)) for lo, hi in pairs)
        width, height = (long, long * ratio) if ratio <= 1 else (long / ratio, long)
        up = ticks(*bounds[1], 7)
        # The largest number of tick labels that don't touch each other.
        for wanted in (8, 6, 5, 4, 3, 2):
            across = ticks(*bounds[0], wanted)
            if sum(len(text) + 3 for _, text in across) * _SMALL * _CHARACTER < width:
                break
        left = 36 + max((len(text) for _, text in up), default=0) * _SMALL * _CHARACTER
        return cls(
            columns=tuple(names),  # type: ignore[arg-type]
            bounds=bounds,  # type: ignore[arg-type]
            left=round(left),
            width=round(width),
            height=round(height),
            right=right,
            ticks=(across, up),
        )

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the whole picture."""
        wide = max(self.left + self.width + self.right, self.narrowest)
        return wide, _TOP + self.height + _BOTTOM

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixel position of a point in the units of the data."""
        (west, east), (south, north) = self.bounds
        return (
            self.left + (x - west) / (east - west) * self.width,
            _TOP + (north - y) / (north - south) * self.height,
        )

    def picture(self, name: str, heading: str, line: str, described: str, content: str) -> str:
        """Build a complete SVG file.

        ``name`` distinguishes the pictures of one page; ``described`` is read to people who can't
        see the picture.
        """
        wide, high = (pixels(side) for side in self.size)
        room = int((self.size[0] - 16) / (_LABEL * 0.52))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
            f'viewBox="0 0 {wide} {high}" role="img" aria-labelledby="{name}-title {name}-desc" '
            f'font-family="system-ui, sans-serif" font-size="{_SMALL}" fill="{_INK}">\n'
            f'<title id="{name}-title">{escape(f"{heading}. {line}")}</title>\n'
            f'<desc id="{name}-desc">{escape(described)}</desc>\n'
            f'<rect width="{wide}" height="{high}" fill="{_GROUND}"/>\n'
            f"{_text(heading, x=12, y=24, font_size=_HEADING, font_weight='bold')}\n"
            f"{_text(cut(line, room), x=12, y=44, font_size=_LABEL)}\n"
            f"{content}\n{self._axes()}\n</svg>\n"
        )

    def _axes(self) -> str:
        bottom = _TOP + self.height
        parts = [
            f'<rect x="{self.left}" y="{_TOP}" width="{self.width}" height="{self.height}" '
            f'fill="none" stroke="{_LINE}"/>'
        ]
        for value, text in self.ticks[0]:
            x, _ = self.place(value, self.bounds[1][0])
            parts.append(f'<path d="M{pixels(x)} {bottom}v4" stroke="{_LINE}"/>')
            parts.append(_text(text, x=x, y=bottom + 16, text_anchor="middle"))
        for value, text in self.ticks[1]:
            _, y = self.place(self.bounds[0][0], value)
            parts.append(f'<path d="M{self.left} {pixels(y)}h-4" stroke="{_LINE}"/>')
            parts.append(_text(text, x=self.left - 7, y=y, dy="0.35em", text_anchor="end"))
        across, up = (
            cut(name, int(side / (_LABEL * _CHARACTER)))
            for name, side in zip(self.columns, (self.width, self.height), strict=True)
        )
        style = {"font_size": _LABEL, "text_anchor": "middle"}
        parts.append(_text(across, x=self.left + self.width / 2, y=bottom + 38, **style))
        turned = f"translate(18 {pixels(_TOP + self.height / 2)}) rotate(-90)"
        parts.append(_text(up, transform=turned, **style))
        return "\n".join(parts)


#: Smallest exponent of the colour scale, and pixels between two of its numbers.
_LEAST_POWER, _MARKS_APART = 0.2, 18.0


def counts_svg(document: Document) -> str:
    """Map of the noisy counts: white means zero, blue means above zero, brown means below zero."""
    document = on_map(document)
    result = document["result"]
    counts = np.array(result["counts"], dtype=float)
    if of_areas := result.get("kind") == "areas":
        counts = counts[:, None]
    # All areas are drawn, so they are never summed.
    same = 1 if of_areas else _same_side(counts)
    steps = [1 if of_areas else max(same, math.ceil(side / MOST_SQUARES)) for side in counts.shape]
    squares = block_sums(counts, steps)
    size = np.abs(squares[squares != 0])
    largest = float(size.max(initial=0.0))
    # A few peaks must neither hide all other values nor be cut off. So the usual values get half of
    # the colours, and the peaks get the other half.
    usual = float(np.quantile(size, 0.98)) if size.size else 0.0
    top, power = largest or 1.0, 1.0
    if largest > 2 * usual > 0:
        power = max(math.log(0.5) / math.log(usual / largest), _LEAST_POWER)
    shades = np.rint(_share(squares, top, power) * _SHADES).astype(int)
    frame = Frame.build(document, right=92)
    lowest, highest = float(squares.min()), float(squares.max())
    what = "cell" if steps == [1, 1] else f"block of {steps[0]} × {steps[1]} cells"
    x, y = document["domain"]["columns"]
    parts = f"{counts.shape[0]} by {counts.shape[1]} cells"
    if of_areas:
        what, parts = "area", f"{len(counts):,} areas"
    described = (
        f"Map of {parts} over {x} (to the right) and {y} "
        f"(upwards). Each {what} is coloured by its noisy number of records, from "
        f"{number(lowest, 4)} to {number(highest, 4)}: white is zero, "
        "and darker blue means more records"
        + (", and brown is below zero, which only noise can cause." if lowest < 0 else ".")
    )
    viewed = [side / step for side, step in zip(counts.shape, steps, strict=True)]
    content = (
        "\n".join(map(partial(_area, frame), result["polygons"], shades[:, 0])) + "\n"
        if of_areas
        else f'<svg x="{frame.left}" y="{_TOP}" width="{frame.width}" height="{frame.height}" '
        f'viewBox="0 0 {viewed[0]:g} {viewed[1]:g}" preserveAspectRatio="none">'
        f'<g transform="translate(0 {viewed[1] - 0.5:g})" shape-rendering="crispEdges" '
        f'fill="none">\n{_rows(shades)}\n</g></svg>\n'
    )
    content += _legend(frame, lowest, highest, top, power)
    return frame.picture(
        "counts", f"Noisy number of records in each {what}", run_line(document), described, content
    )


def _same_side(counts: Floats) -> int:
    """Side of the blocks of equal cells, which look like one square (Two-stage); or 1."""
    for side in (8, 4, 2):
        blocks = np.kron(counts[::side, ::side], np.ones((side, side)))
        if np.ptp(counts) and np.array_equal(blocks[: len(counts), : counts.shape[1]], counts):
            return side
    return 1


def _area(frame: Frame, polygon: Mapping[str, Any], shade: int) -> str:
    look = f'fill="{_colour(shade / _SHADES)}" stroke="{_LINE}" stroke-width="0.4"'
    return f'<path {look} fill-rule="evenodd" d="{_path(frame, _coarse(frame, polygon))}"/>'


def _coarse(frame: Frame, geometry: Mapping[str, Any]) -> dict[str, Any]:
    import shapely

    (west, east), _ = frame.bounds
    pixel = (east - west) / frame.width
    shape = shapely.simplify(shapely.geometry.shape(geometry), _FINEST * pixel)
    return {"geometry": shapely.geometry.mapping(shape)}


def clusters_svg(document: Document, collection: Mapping[str, Any]) -> str:
    """Map of the clusters with their numbers.

    ``collection`` has all clusters of :func:`dpviz.release.geojson.clusters`, or only the clusters
    that are not doubtful.
    """
    document = on_map(document)
    frame = Frame.build(document, right=44)
    features = [one for one in collection["features"] if one["geometry"]]
    kind = document["result"]["kind"]
    of_cells = kind != "centers"
    if kind == "areas":
        features = [{**one, **_coarse(frame, one["geometry"])} for one in features]
    paths = "\n".join(_outline(frame, feature, of_cells) for feature in features)
    if kind == "areas":
        grey = [_area(frame, one, 0) for one in document["result"]["polygons"]]
        paths = "\n".join([*grey, paths])
    labels, taken = _labels(frame, features)
    below, above = _ground(frame, taken)
    total = len(collection["features"])
    left_out = total - len(taken)
    x, y = document["domain"]["columns"]
    shown = {
        "cells": "areas of dense cells",
        "areas": "areas with many records",
        "centers": "the areas nearest to each centre",
    }
    found = "1 cluster" if total == 1 else f"{total:,} clusters" if total else "No clusters"
    described = (
        f"Map of {found} over {x} (to the right) and {y} (upwards)"
        + f", as {shown[kind]}."
        + (f" {left_out:,} of them have no number, because there is no space." if left_out else "")
        + " The table of clusters lists all of them."
    )
    if not total:
        x0, y0 = frame.left + frame.width / 2, _TOP + frame.height / 2
        none = "None is sure." if collection.get("left_out") else "No cluster was found."
        labels = _text(none, x=x0, y=y0, font_size=_LABEL, text_anchor="middle")
    of = {"cells": " of dense cells", "areas": " of areas with many records"}
    heading = found + of.get(kind, " and their centres")
    doubtful = sum(map(_doubtful, features))
    if doubtful:
        heading += f"; hatched: {doubtful:,} that may be noise"
        described += " Clusters that noise alone could have made are hatched, with a question mark."
        paths = f"{_HATCHING}\n{paths}"
    if away := collection.get("left_out"):
        heading += f"; {away:,} that may be noise {'is' if away == 1 else 'are'} left out"
        described += f" {away:,} more, which noise alone could have made, are left out."
    line = run_line(document)
    if left_out:
        line += f"; {left_out:,} without a number, because there is no space"
    if above:
        described += " Coasts, borders, the largest cities and a scale bar show the place."
    content = "\n".join(filter(None, (*below, paths, *above, labels)))
    return frame.picture("clusters", heading, line, described, content)


def _ground(frame: Frame, taken: Sequence[Box]) -> tuple[list[str], list[str]]:
    """Coasts and borders, below the clusters; cities and a scale bar, above; not in ``taken``."""
    scale, box = scale_on(frame.columns, frame.bounds)
    if box is None or not in_degrees(frame.columns, frame.bounds):
        return [], _scale_bar(frame, scale, taken)[0]
    bar, place = _scale_bar(frame, scale, taken)
    return [_coasts(frame, box)], [*_cities(frame, [*taken, *place], grey=True), *bar]


def _scale_bar(
    frame: Frame, scale: Scale, taken: Sequence[Box] = ()
) -> tuple[list[str], list[Box]]:
    """Bar of a round length, exact at the middle latitude, in the first free corner; its box."""
    if not scale.metres or not scale.ratio:
        return [], []
    (west, east), _ = frame.bounds
    pixel = (east - west) * scale.metres / frame.width
    rough = frame.width * _BAR * pixel
    power = 10.0 ** math.floor(math.log10(rough))
    metres = next(step * power for step in (5, 2, 1) if step * power <= rough)
    wide = metres / pixel
    corners = [
        (x, y)
        for y in (_TOP + frame.height - 10, _TOP + 28)
        for x in (frame.left + 12, frame.left + frame.width - 12 - wide)
    ]
    boxes = [(x - 4, y - 20, x + wide + 4, y + 4) for x, y in corners]
    free = [at for at, box in enumerate(boxes) if not _touches(box, taken)]
    (x, y), box = corners[(free or [0])[0]], boxes[(free or [0])[0]]
    halo = {"stroke": _GROUND, "stroke_width": 3, "paint_order": "stroke"}
    return [
        f'<path class="scale" fill="none" stroke="{_INK}" stroke-width="2" '
        f'd="M{pixels(x)} {pixels(y - 5)}v5h{pixels(wide)}v-5"/>',
        _text(length(metres), x=x + wide / 2, y=y - 7, text_anchor="middle", **halo),
    ], [box]


def _touches(box: Box, others: Sequence[Box]) -> bool:
    west, north, east, south = box
    return any(west < e and w < east and north < s and n < south for w, n, e, s in others)


def domain_svg(columns: Sequence[str], domain: Domain) -> str:
    """Map of a declared domain; a map in degrees also shows coasts and the largest cities.

    The map uses only the names and bounds, so it reveals nothing about the data.
    """
    axes = map_axes(columns, domain.bounds)
    names, box = [columns[axis] for axis in axes], domain.select(axes)
    scale = scale_of(names, box)
    frame = Frame.of(names, box.bounds, scale.panel(box) or 1.0, right=20, long=_SMALL_MAP)
    frame = replace(frame, narrowest=_SMALL_MAP)
    parts: list[str] = []
    line = f"{names[0]} to the right, {names[1]} upwards"
    if in_degrees(names, box.bounds):
        bar, place = _scale_bar(frame, scale)
        parts = [_coasts(frame, box), *_cities(frame, place), *bar]
    described = f"Map of the declared domain: {line}. {city_words(names, box.bounds)}".rstrip()
    return frame.picture("domain", "Declared domain", line, described, "\n".join(parts))


def _coasts(frame: Frame, box: Domain) -> str:
    lines = coastlines(box)
    breaks = np.nonzero(np.isnan(lines[:, 0]))[0]
    drawn = "".join(
        "M" + "L".join(" ".join(map(pixels, frame.place(*at))) for at in part if at[0] == at[0])
        for part in np.split(lines, breaks)
        if len(part)
    )
    return f'<path fill="none" stroke="{_LINE}" d="{drawn}"/>' if drawn else ""


def _cities(frame: Frame, taken: Sequence[Box], *, grey: bool = False) -> list[str]:
    (west, east), lat = frame.bounds
    colour = {"fill": blend(_INK, _GROUND, 0.7)} if grey else {}
    parts: list[str] = []
    boxes = list(taken)
    for one in cities_within((west, east), lat):
        lon = next(at for at in (one.lon, one.lon + 360, one.lon - 360) if west <= at <= east)
        x, y = frame.place(lon, one.lat)
        wide = len(one.name) * _SMALL * _CHARACTER
        # The name is to the right of the dot, or to the left, above or below, where there is space.
        high = _APART / 2
        sides: tuple[tuple[Box, dict[str, object]], ...] = (
            ((x + 6, y - high, x + 6 + wide, y + high), {"dx": 6}),
            ((x - 6 - wide, y - high, x - 6, y + high), {"dx": -6, "text_anchor": "end"}),
            *(
                ((x - wide / 2, y + up - high, x + wide / 2, y + up + high),
                 {"y": y + up, "text_anchor": "middle"})
                for up in (-_APART, _APART)
            ),
        )  # fmt: skip
        free = [
            side for side in sides
            if frame.left <= side[0][0] and side[0][2] <= frame.left + frame.width
            and not _touches(side[0], boxes)
        ]  # fmt: skip
        if not free:
            continue
        box, look = free[0]
        parts.append(f'<circle cx="{pixels(x)}" cy="{pixels(y)}" r="2.5"/>')
        # A halo in the background colour, drawn over the lines.
        look |= {"stroke": _GROUND, "stroke_width": 3, "paint_order": "stroke"} | colour
        parts.append(_text(one.name, **{"x": x, "y": y, "dy": "0.35em"} | look))
        boxes.append(box)
        if len(boxes) - len(taken) == _MOST_CITIES:
            break
    return parts


def pixels(value: float) -> str:
    """Format a position on the picture, to a hundredth of a pixel."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def _text(text: str, **attributes: object) -> str:
    written = "".join(
        f' {name.replace("_", "-")}="{pixels(value) if isinstance(value, int | float) else value}"'
        for name, value in attributes.items()
    )
    return f"<text{written}>{escape(text)}</text>"


def ticks(lo: float, hi: float, wanted: int) -> list[tuple[float, str]]:
    """About `wanted` round values within an interval, with their labels.

    The step is 1, 2 or 5 times a power of 10.
    """
    rough = (hi - lo) / wanted
    power = math.floor(math.log10(rough))
    step = next(s * 10.0**power for s in (1, 2, 5, 10) if s * 10.0**power >= rough * (1 - 1e-9))
    first, last = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9)
    values = [tidy(i * step) for i in range(first, last + 1)]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if decimals > 6 or max(map(abs, values), default=0) >= 1e9:
        return [(value, f"{value:.10g}") for value in values]
    comma = "," if max(map(abs, values), default=0) >= 10_000 else ""
    # Zero has no sign, and a year has no comma.
    return [(value, f"{value + 0.0:{comma}.{decimals}f}") for value in values]


def _colour(share: float) -> str:
    scale = zero_centred(-1.0, 1.0, "light")
    place = (share + 1) / 2
    upper = next(i for i, (at, _) in enumerate(scale) if at >= place)
    if upper == 0:
        return str(scale[0][1])
    (start, low), (end, high) = scale[upper - 1], scale[upper]
    return blend(high, low, (place - start) / (end - start))


def _rows(shades: NDArray[np.int_]) -> str:
    """Draw squares as strokes of width 1, with one path per shade; shade 0 is the background."""
    rows = shades.T
    edge = np.ones(rows.shape, dtype=bool)
    edge[:, 1:] = rows[:, 1:] != rows[:, :-1]
    y, x = np.nonzero(edge)
    # A run of equal squares ends where the next run begins, or at the end of the row.
    ends = np.append(x[1:], 0)
    lengths = np.where(ends > 0, ends, rows.shape[1]) - x
    paths: dict[int, list[str]] = {}
    runs = zip(x.tolist(), y.tolist(), lengths.tolist(), rows[edge].tolist(), strict=True)
    for start, row, across, shade in runs:
        if shade:
            paths.setdefault(shade, []).append(f"M{start} {-row}h{across}")
    return "\n".join(
        f'<path stroke="{_colour(shade / _SHADES)}" d="{"".join(paths[shade])}"/>'
        for shade in sorted(paths)
    )


def _share(values: Any, top: float, power: float) -> Floats:
    return np.asarray(np.sign(values) * (np.abs(values) / top) ** power)


def _legend(frame: Frame, lowest: float, highest: float, top: float, power: float) -> str:
    low, high = min(lowest, 0.0), max(highest, 0.0)
    if low == high:
        high = top
    x, height = frame.left + frame.width + _GAP, min(frame.height, 300.0)
    first, last = (round(float(_share(one, top, power)) * _SHADES) for one in (low, high))
    step = height / (last - first + 1)
    parts = [
        f'<rect x="{x}" y="{pixels(_TOP + (last - shade) * step)}" width="12" '
        f'height="{pixels(step)}" fill="{_colour(shade / _SHADES)}" shape-rendering="crispEdges"/>'
        for shade in range(last, first - 1, -1)
    ]
    parts.append(
        f'<rect x="{x}" y="{_TOP}" width="12" height="{pixels(height)}" fill="none" '
        f'stroke="{_LINE}"/>'
    )

    def place(value: float) -> float:
        return _TOP + (last + 0.5 - float(_share(value, top, power)) * _SHADES) * step

    marks = [value for value, _ in ticks(low, high, 6)] if power == 1 else _decades(low, high)
    taken: list[float] = []
    for value in marks:
        if all(abs(place(value) - one) >= _MARKS_APART for one in taken):
            taken.append(place(value))
            parts.append(_text(number(value), x=x + 17, y=place(value), dy="0.35em"))
    return "\n".join(parts)


def _decades(low: float, high: float) -> list[float]:
    """Round values of all sizes within an interval around 0; the most useful values come first."""
    found = [0.0]
    for end in (high, low):
        size, sign = abs(end), 1 if end > 0 else -1
        if not size:
            continue
        begin = math.floor(math.log10(size))
        for decade in range(begin, begin - 6, -1):
            found += [sign * tidy(m * 10.0**decade) for m in (5, 2, 1) if m * 10.0**decade <= size]
    return found


def _fill(feature: Mapping[str, Any]) -> str:
    colours = CLUSTERS["light"]
    return colours[(int(feature["properties"]["cluster"]) - 1) % len(colours)]


def _doubtful(feature: Mapping[str, Any]) -> bool:
    return bool(feature["properties"].get("doubtful"))


def _polygons(feature: Mapping[str, Any]) -> list[Any]:
    coordinates: list[Any] = feature["geometry"]["coordinates"]
    return [coordinates] if feature["geometry"]["type"] == "Polygon" else list(coordinates)


def _path(frame: Frame, feature: Mapping[str, Any]) -> str:
    rings = [ring for polygon in _polygons(feature) for ring in polygon]
    return "".join(
        "M" + "L".join(" ".join(map(pixels, frame.place(*point))) for point in ring[:-1]) + "z"
        for ring in rings
    )


def _outline(frame: Frame, feature: Mapping[str, Any], of_cells: bool) -> str:
    drawn = _path(frame, feature)
    fill = _fill(feature)
    look = (
        f'fill="{fill}" shape-rendering="crispEdges"'
        if of_cells
        else f'fill="{blend(fill, _GROUND, 0.35)}" stroke="{_GROUND}"'
    )
    name = f"cluster {feature['properties']['cluster']}"
    path = f'<path {look} fill-rule="evenodd" d="{drawn}"><title>{name}</title></path>'
    if not _doubtful(feature):
        return path
    pale = f'fill="{blend(_WRONG, _GROUND, 0.16)}" fill-rule="evenodd" d="{drawn}"'
    hatched = f'fill="url(#clusters-doubtful)" stroke="{_WRONG}" stroke-width="1.5"'
    return (
        f"<path {pale}/>\n"
        f'<path {hatched} fill-rule="evenodd" d="{drawn}">'
        f"<title>{name}: may be noise</title></path>"
    )


def _labels(frame: Frame, features: Sequence[Mapping[str, Any]]) -> tuple[str, list[Box]]:
    taken: list[Box] = []
    dots, texts = [], []
    radius = 3 if len(features) <= 100 else 1.5
    for feature in sorted(features, key=lambda one: -one["properties"]["area_share"]):
        text = f"{feature['properties']['cluster']}{'?' if _doubtful(feature) else ''}"
        half = len(text) * _LABEL * _CHARACTER / 2 + 1
        center = feature["properties"].get("center")
        if center:
            x, y = frame.place(*center)
            dots.append(
                f'<circle cx="{pixels(x)}" cy="{pixels(y)}" r="{radius}" fill="{_fill(feature)}" '
                f'stroke="{_INK}"/>'
            )
            y -= 11 if y > _TOP + 20 else -11
        else:
            x, y = _number_place(frame, feature, half)
        x = min(max(x, frame.left + half + 2), frame.left + frame.width - half - 2)
        y = min(max(y, _TOP + 8), _TOP + frame.height - 8)
        box = (x - half, y - _LABEL / 2, x + half, y + _LABEL / 2)
        if _touches(box, taken):
            continue
        taken.append(box)
        look = {"font_size": _LABEL, "font_weight": "bold", "text_anchor": "middle"}
        halo = {"stroke": _GROUND, "stroke_width": 3, "stroke_linejoin": "round"}
        texts.append(_text(text, x=x, y=y, dy="0.35em", **look, **halo, paint_order="stroke"))
    return "\n".join(dots + texts), taken


def _number_place(frame: Frame, feature: Mapping[str, Any], half: float) -> tuple[float, float]:
    import shapely

    parts = [shapely.Polygon(rings[0], rings[1:]) for rings in _polygons(feature)]
    largest = max(parts, key=lambda part: part.area)
    point = largest.point_on_surface()
    west, south, east, north = largest.bounds
    (left, bottom), (right, top) = frame.place(west, south), frame.place(east, north)
    x, y = frame.place(point.x, point.y)
    if right - left >= 2 * half and bottom - top >= _LABEL:
        return x, y
    beside = right + half + 2
    return (beside if beside + half < frame.left + frame.width else left - half - 2), y

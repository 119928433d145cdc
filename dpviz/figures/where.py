"""A map without data, on which the user draws the bounds of a release."""

from __future__ import annotations

from collections.abc import Sequence

from dpviz.data.cities import City, cities_within
from dpviz.figures.ground import PLAIN
from dpviz.figures.marks import base_layout, literal, marker, scatter, shape
from dpviz.figures.panels import Panels, add_axes, on
from dpviz.figures.theme import BOTH, INK, Mode
from dpviz.grid.domain import Domain

#: What is shown before there are bounds: the Earth without the poles.
_EARTH = Domain(((-180.0, 180.0), (-60.0, 80.0)))

#: Largest number of cities with a name, and smallest distance of two names as shares of the map.
_MOST, _APART = 8, (0.2, 0.06)

#: Height of the figure in pixels, and height of the map divided by its width.
_HEIGHT, _SHAPE = 400, 0.48


def where_map(columns: Sequence[str], box: Domain | None, mode: Mode) -> Panels:
    """Plot coasts, borders and cities around a declared box, or the whole Earth if there is none.

    ``columns`` and ``box`` have first the longitude, then the latitude, in degrees.
    """
    view = _EARTH if box is None else _around(columns, box)
    said = f"box of the release: {box}" if box else "no box yet"
    layout = base_layout("Drag over the map to draw the box. The map shows no record.",
                         (48, 8, 34, 44), dragmode="select", uirevision=str(view))  # fmt: skip
    add_axes(layout, columns, view, 1, (0, 1), (0, 1))
    # Without a shape here, the figure keeps its height. As on all maps, a new box resets the zoom.
    layout["meta"] = {"across": 1}
    apart = _APART * (view.highs - view.lows)
    named: list[City] = []
    for city in cities_within(*view.bounds):
        far = all(
            abs(city.lon - one.lon) > apart[0] or abs(city.lat - one.lat) > apart[1]
            for one in named
        )
        if far and view.lows[0] <= city.lon <= view.highs[0]:
            named.append(city)
        if len(named) == _MOST:
            break
    ink = INK[mode]
    dots = scatter(
        "markers+text",
        [one.lon for one in named],
        [one.lat for one in named],
        text=[literal(one.name) for one in named],
        textposition="top center",
        textfont={"size": 11, "color": ink},
        marker=marker(5, ink),
        cliponaxis=True,
    )
    if box is not None:
        line = {"color": BOTH[mode], "width": 2}
        across, up = box.bounds
        layout["shapes"] = [shape("rect", across, up, "x", "y", line=line)]
    return Panels(
        data=[{**one, **on(1)} for one in (*PLAIN.lines(columns, view), dots)],
        layout=layout,
        alt=f"Map of {columns[0]} (to the right) and {columns[1]} (upwards); {said}.",
        height=_HEIGHT,
        share=0.0,
    )


def _around(columns: Sequence[str], box: Domain) -> Domain:
    (west, east), (south, north) = box.bounds
    shape = (PLAIN.scale(columns, box).panel(box) or _SHAPE) / _SHAPE
    x, y = (east - west) * max(shape, 1.0), (north - south) * max(1 / shape, 1.0)
    lon, lat = (west + east) / 2, (south + north) / 2
    return Domain(
        (
            (max(lon - 0.75 * x, -360.0), min(lon + 0.75 * x, 360.0)),
            (max(lat - 0.75 * y, -90.0), min(lat + 0.75 * y, 90.0)),
        )
    )

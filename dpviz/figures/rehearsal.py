"""Small maps of possible results of a planned release, from draws on public data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.numbers import counted
from dpviz.figures import marks
from dpviz.figures.panels import Panels, add_axes, add_heading, on
from dpviz.figures.theme import BACKGROUND, BOTH, INK, NOISE, WRONG, Mode, blend
from dpviz.grid.domain import Domain

#: Number of maps in a row, number of rows, and minimum height in pixels; square maps are higher
#: than this minimum.
_ACROSS, _ROWS, _HEIGHT = 5, 2, 300

#: Meaning of the two colours, for cells and for centres.
_OF_CELLS = ("a true cluster", "invented by noise")
_OF_CENTRES = ("finds a cluster", "finds none")

#: Maximum number of marks of invented clusters on a map.
_MOST_MARKS = 60


def small_maps(
    draws: Sequence[tuple[Mapping[str, Any], NDArray[np.bool_]]],
    places: NDArray[np.float64],
    columns: Sequence[str],
    domain: Domain,
    title: str,
    mode: Mode,
) -> Panels:
    """Plot possible results: one small map per draw, with marks on invented clusters.

    ``draws`` has at most nine pairs: a result, as in ``release.json``, and whether each of its
    clusters is true. Other positions stay empty. ``places`` (clusters, d) are those of the true
    clusters. Only the first two ``columns`` and axes of ``domain`` are shown.
    """
    flat = domain.select((0, 1))
    # The page shows the names of the axes, because small maps have no space for them.
    layout = marks.base_layout(title, (8, 8, 64, 8))
    x, y = places[:, :2].T
    rings = marks.scatter(
        "markers",
        x,
        y,
        f"true cluster of the public data<br>{marks.PLACE}",
        marker=marks.outlined(12, INK[mode], "circle-open", INK[mode], 1.2),
    )
    data: list[marks.Trace] = []
    words = []
    for number in range(_ACROSS * _ROWS - 1):
        row, slot = divmod(number, _ACROSS)
        panel = number + 1
        add_axes(layout, columns[:2], flat, panel, (row, _ROWS), (slot, _ACROSS))
        for axis in "xy":
            looks = layout[f"{axis}axis{panel if number else ''}"]
            looks |= {"showticklabels": False, "ticks": "", "title": None}
        if number >= len(draws):
            add_heading(layout, panel, " ", size=11)
            # An axis without a trace would not be drawn, and the map would not keep its position.
            data.append({**marks.scatter("markers", [None], [None]), **on(panel)})
            continue
        result, real = draws[number]
        of_cells = result["kind"] == "cells"
        if of_cells:
            words.append(f"{real.sum()} true, {(~real).sum()} invented")
            traces = _cells(result, real, flat, mode)
        else:
            words.append(f"{real.sum()} of {len(places)} found")
            traces = _centres(result, real, mode)
        add_heading(layout, panel, words[-1], size=11)
        data += [{**trace, **on(panel)} for trace in (*traces, rings)]
    of_cells = draws[0][0]["kind"] == "cells"
    _key(layout, *(_OF_CELLS if of_cells else _OF_CENTRES), mode)
    names = " and ".join(columns[:2])
    return Panels(
        data=data,
        layout=layout,
        alt=f"{title}. {counted(len(words), 'draw')} over {names}: {'; '.join(words)}.",
        height=_HEIGHT,
        share=0.0,
        least_width=620,
    )


def _cells(
    result: Mapping[str, Any], real: NDArray[np.bool_], domain: Domain, mode: Mode
) -> list[marks.Trace]:
    labels = np.asarray(result["labels"])
    width = (domain.highs - domain.lows) / labels.shape
    kinds = np.concatenate([[0], np.where(real, 1, 2)])[labels]
    colours = marks.coded(
        [BACKGROUND[mode], BOTH[mode], blend(WRONG[mode], BACKGROUND[mode], 0.16)]
    )
    invented, ink = (np.flatnonzero(~real) + 1)[:_MOST_MARKS], INK[mode]
    cross = marks.outlined(4, ink, "x-thin", ink, 1)
    order = np.argsort(labels, axis=None, kind="stable")
    first = order[np.searchsorted(labels.ravel()[order], invented)]
    x, y = marks.middles(np.unravel_index(first, labels.shape), domain, width)
    return [
        marks.heatmap(kinds, domain, width, **colours),
        marks.hatching(kinds == 2, domain, width, mode),
        marks.scatter("markers", x, y, f"invented<br>{marks.PLACE}", marker=cross),
    ]


def _centres(result: Mapping[str, Any], real: NDArray[np.bool_], mode: Mode) -> list[marks.Trace]:
    x, y = np.asarray(result["centers"])[:, :2].T
    return [
        marks.scatter(
            "markers",
            x[chosen],
            y[chosen],
            f"{name}<br>{marks.PLACE}",
            marker=marks.outlined(*look, BACKGROUND[mode], 1.0),
        )
        for chosen, name, look in (
            (real, "centre", (8, BOTH[mode], "circle")),
            (~real, "centre that finds no cluster", (9, WRONG[mode], "x")),
        )
    ]


def _key(layout: dict[str, Any], real: str, wrong: str, mode: Mode) -> None:
    left, bottom = 4 * (1 + 0.05) / _ACROSS, 0.40
    lines = (
        f'<span style="color:{BOTH[mode]}">■</span> {real}',
        f'<span style="color:{WRONG[mode]}">✕</span> {wrong}',
        "○ a true cluster's place",
        f'<span style="color:{NOISE[mode]}">public data, not yours</span>',
    )
    key = marks.note("<br>".join(lines), left, bottom, yanchor="top", align="left", size=11)
    layout["annotations"].append(key)

"""Best parameters: a map with the score for each combination of two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpviz.base.numbers import readable
from dpviz.experiments.tuning.best_parameters import ParameterMap
from dpviz.experiments.tuning.common import BETTER
from dpviz.families import PARAMETERS, score_of
from dpviz.figures.marks import (
    LEGEND_RIGHT,
    Floats,
    Trace,
    base_layout,
    chart_axis,
    colour_bar,
    finite,
    hovering,
    lower_first,
    outlined,
    scatter,
)
from dpviz.figures.panels import Panels
from dpviz.figures.theme import BACKGROUND, BOTH, INK, INVENTED, Mode, blend


def parameter_map(found: ParameterMap, title: str, mode: Mode) -> Panels:
    """Plot a score over two parameters, the first horizontal; ``title`` names method and data."""
    values = finite(found.reached)
    low, high = _ends(values, found.score)
    named = _map_name(found)
    across, up = found.values
    layout = base_layout(
        f"{title} · {named} · {len(found.seeds)} draws in each cell",
        (62, 14, 62, 46),
        xaxis=_steps(found.names[0], across),
        yaxis=_steps(found.names[1], up),
        legend=LEGEND_RIGHT,
        uirevision="map",
    )
    first, second = (_axis(name) for name in found.names)
    better = "lower is better" if BETTER[found.score] == "<=" else "higher is better"
    heat = {
        "type": "heatmap",
        "z": np.ascontiguousarray(values.T),
        "text": [[_number(value) for value in column] for column in found.reached.T],
        "texttemplate": "%{text}",
        "textfont": {"size": 12, "color": INK[mode]},
        "customdata": [[[readable(x), readable(y)] for x in across] for y in up],
        **hovering(f"{first} %{{customdata[0]}}<br>{second} %{{customdata[1]}}<br>%{{text}}"),
        "zmin": low,
        "zmax": high,
        "xgap": 1,
        "ygap": 1,
        # The colours are not too dark, so that the text is readable.
        "colorscale": [
            [end, blend(BOTH[mode], BACKGROUND[mode], s)] for end, s in enumerate((0.05, 0.6))
        ],
        "colorbar": colour_bar(f"{score_of(found.score).title}<br>{better}", outlinewidth=0),
    }
    return Panels(
        data=[heat, *_marks(found, mode)],
        layout=layout,
        alt=_map_alt(found, title, named),
        height=130 + 27 * max(len(up), 7),
        share=0.0,
    )


def _map_name(found: ParameterMap) -> str:
    sign = "at most" if BETTER[found.score] == "<=" else "at least"
    return f"{score_of(found.score).title}, {sign} this in {found.share:.0%} of draws"


def _ends(values: Floats, score: str) -> tuple[float, float]:
    """Ends of the colour scale. A few huge errors must not make all other cells look the same."""
    if np.isnan(values).all():
        return 0.0, 1.0
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if BETTER[score] == "<=":
        high = min(high, max(1.0, 2 * low))
    return low, max(high, low + 1e-9)


def _steps(name: str, values: Sequence[float]) -> dict[str, Any]:
    """Axis that shows its values at equal distances, even if the steps between them differ."""
    return chart_axis(
        _axis(name),
        tickvals=list(range(len(values))),
        ticktext=[readable(value) for value in values],
        range=[-0.5, len(values) - 0.5],
        showgrid=False,
    )


def _marks(found: ParameterMap, mode: Mode) -> list[Trace]:
    rows = [(row, column) for row, column in enumerate(found.best_at) if row != found.best[0]]
    marks = [
        ("best", "star", 0.36, [found.best], 12),
        ("setting of the search", "circle-open", -0.36, [found.current], 9),
    ]
    if rows:
        marks.append(
            (f"best {PARAMETERS[found.names[1]].sign} at other ε", "diamond-open", 0.36, rows, 7)
        )
    return [
        scatter(
            "markers",
            [cell[0] + aside for cell in cells],
            [cell[1] for cell in cells],
            name=name,
            marker=outlined(
                size, INVENTED[mode] if symbol == "star" else INK[mode], symbol, INK[mode], 1.5
            ),
        )
        for name, symbol, aside, cells, size in marks
    ]


def _axis(name: str) -> str:
    return lower_first(PARAMETERS[name].label)


def _map_alt(found: ParameterMap, title: str, named: str) -> str:
    best, now = (
        ", ".join(
            f"{PARAMETERS[name].sign} {readable(values[place])}"
            for name, values, place in zip(found.names, found.values, cell, strict=True)
        )
        for cell in (found.best, found.current)
    )
    first, second = (_axis(name) for name in found.names)
    return (
        f"{title}: {named}, over {first} and {second}. Best at {best}: "
        f"{_number(found.reached[found.best])}; at the setting of the search, {now}: "
        f"{_number(found.reached[found.current])}."
    )


def map_frame(found: ParameterMap) -> pd.DataFrame:
    """Table behind the map: one row per cell."""
    cells = list(np.ndindex(*found.reached.shape))
    first, second = found.names
    reached = f"{score_of(found.score).title} reached in {found.share:.0%}"
    return pd.DataFrame(
        {
            first: [found.values[0][row] for row, _ in cells],
            second: [found.values[1][column] for _, column in cells],
            f"{reached} of draws": found.reached.ravel(),
            "draws": len(found.seeds),
            "best": [cell == found.best for cell in cells],
            "setting of the search": [cell == found.current for cell in cells],
        }
    )


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else readable(value)

"""What broke this cluster: all stages around one true cluster, true above private.

The figure is that of all stages (:func:`dpviz.figures.wavecluster.panels`), zoomed to the
cluster's surroundings, with its outline on every panel and the stage marked that broke it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.counts import block_sums
from dpviz.figures.panels import Panels
from dpviz.figures.theme import BACKGROUND, INK
from dpviz.figures.wavecluster import Scene, panels
from dpviz.figures.wavecluster import frame as cells_frame
from dpviz.wavecluster.diagnosis import RUNS, Diagnosis, KeptDraws, Stage

#: Column of the figure that a stage is marked at; the grid shows in the counts.
COLUMNS: dict[Stage, int] = {
    "grid": 0,
    "counts": 0,
    "subband": 1,
    "threshold": 2,
    "components": 3,
}

STAGE_TITLES: dict[Stage, str] = {
    "grid": "the grid",
    "counts": "the counts",
    "subband": "the subband",
    "threshold": "the threshold",
    "components": "one cell",
}

FATE_TITLES = {
    "kept": "kept",
    "grown": "grown",
    "joined": "joined with others",
    "broken": "broken into pieces",
    "shrunk": "shrunk",
    "lost": "lost",
}

#: Subband cells that are shown around a cluster.
_MARGIN = 4

_ACROSS = 4


def diagnosis_panels(scene: Scene, diagnosis: Diagnosis) -> Panels:
    """Draw all stages around one true cluster, true above private.

    Parameters
    ----------
    scene
        True and private run.
    diagnosis
        Of the cluster, in these runs.
    """
    drawn = panels(scene, "overview")
    layout = drawn.layout
    inside = scene.true.labels == diagnosis.cluster
    for axis, (low, high) in zip("xy", _window(scene, inside), strict=True):
        for panel in range(1, 2 * _ACROSS + 1):
            layout[f"{axis}axis{_suffix(panel)}"]["range"] = [low, high]
    layout["uirevision"] += f" cluster {diagnosis.cluster}"
    layout["margin"]["t"] = 78  # the mark stands below the tool bar
    outline = _outline(scene, inside)
    for panel in range(1, 2 * _ACROSS + 1):
        for style in _edge_styles(scene):
            drawn.data.append({**outline, **style, **_on(panel)})
    if diagnosis.cell:
        for panel in (3, 4, 3 + _ACROSS, 4 + _ACROSS):
            drawn.data.append({**_ring(scene, diagnosis.cell), **_on(panel)})
    if diagnosis.stage:
        _mark(scene, layout, diagnosis.stage)
    return Panels(
        data=drawn.data,
        layout=layout,
        pairs=drawn.pairs,
        alt=_alt(scene, diagnosis),
        height=505,
        share=0.68,
    )


def frame(scene: Scene, diagnosis: Diagnosis) -> pd.DataFrame:
    """Table behind the figure: one row per subband cell around the cluster."""
    inside = scene.true.labels == diagnosis.cluster
    table = cells_frame(scene, "overview")
    for place, (side, stages) in enumerate((("true", scene.true), ("private", scene.private))):
        records = block_sums(stages.counts, stages.level).ravel()
        table.insert(2 + place, f"{side} records", records)
    table[f"in cluster {diagnosis.cluster}"] = inside.ravel()
    for name, (low, high) in zip(scene.columns, _window(scene, inside), strict=True):
        table = table[table[name].between(low, high)]
    return table.reset_index(drop=True)


def fates_frame(diagnosis: Diagnosis, draws: KeptDraws | None = None) -> pd.DataFrame:
    """Table of what would have kept a cluster: this draw, and over many."""
    table = pd.DataFrame(
        {
            "run": [title[0].upper() + title[1:] for title in RUNS.values()],
            "this draw": [FATE_TITLES[diagnosis.runs[name].fate] for name in RUNS],
            "overlap": [diagnosis.runs[name].overlap for name in RUNS],
        }
    )
    if draws:
        table[f"kept in {draws.draws} draws"] = [draws.of(name, diagnosis.cluster) for name in RUNS]
    return table


def _alt(scene: Scene, diagnosis: Diagnosis) -> str:
    """What the figure shows, in words."""
    said = f"{scene.title}. Cluster {diagnosis.cluster} and its surroundings at all stages, true "
    said += "above private: count grid, average subband, significant cells, clusters. "
    if diagnosis.stage is None:
        return said + "It is kept."
    fate = FATE_TITLES[diagnosis.outcome.fate]
    return said + f"It is {fate}; true and private part at {STAGE_TITLES[diagnosis.stage]}."


def _width(scene: Scene) -> NDArray[np.float64]:
    """Width of a subband cell per axis."""
    extent = scene.domain.highs - scene.domain.lows
    shape = np.asarray(scene.truth.source.shape)
    width: NDArray[np.float64] = extent / shape * 2.0**scene.true.level
    return width


def _window(scene: Scene, inside: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Surroundings of a cluster: lowest and highest value per axis."""
    width = _width(scene)
    window = []
    for axis, cells in enumerate(np.nonzero(inside)):
        low, high = cells.min() - _MARGIN, cells.max() + 1 + _MARGIN
        bounds = scene.domain.bounds[axis]
        low, high = (bounds[0] + at * width[axis] for at in (low, high))
        window.append((float(max(low, bounds[0])), float(min(high, bounds[1]))))
    return window


def _outline(scene: Scene, inside: NDArray[np.bool_]) -> dict[str, Any]:
    """Edges between cells of a cluster and all others, as one broken line."""
    padded = np.pad(inside, 1)
    x: list[NDArray[np.float64]] = []
    y: list[NDArray[np.float64]] = []
    for axis in (0, 1):
        along, across = np.nonzero(np.diff(padded, axis=axis))
        if axis == 0:  # an edge to the next column runs upwards
            starts, ends = (along, across - 1), (along, across)
        else:
            starts, ends = (along - 1, across), (along, across)
        gap = np.full(along.size, np.nan)
        x.append(np.stack([starts[0], ends[0], gap], axis=1).ravel())
        y.append(np.stack([starts[1], ends[1], gap], axis=1).ravel())
    width = _width(scene)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": scene.domain.lows[0] + np.concatenate(x) * width[0],
        "y": scene.domain.lows[1] + np.concatenate(y) * width[1],
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _edge_styles(scene: Scene) -> list[dict[str, Any]]:
    """Line styles of the outline: ink on a lighter ground, so that it shows on any colour."""
    return [
        {"line": {"color": BACKGROUND[scene.mode], "width": 4}},
        {"line": {"color": INK[scene.mode], "width": 1.5}},
    ]


def _ring(scene: Scene, cell: tuple[int, ...]) -> dict[str, Any]:
    """Ring around the cell that bridges or cuts."""
    place = scene.domain.lows + (np.asarray(cell) + 0.5) * _width(scene)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [float(place[0])],
        "y": [float(place[1])],
        "marker": {
            "symbol": "circle-open",
            "size": 22,
            "color": INK[scene.mode],
            "line": {"width": 3, "color": INK[scene.mode]},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _mark(scene: Scene, layout: dict[str, Any], stage: Stage) -> None:
    """Frame around the two panels of a stage, with its name above."""
    column = COLUMNS[stage]
    suffix, below = _suffix(column + 1), _suffix(column + 1 + _ACROSS)
    left, right = layout[f"xaxis{suffix}"]["domain"]
    top, bottom = layout[f"yaxis{suffix}"]["domain"][1], layout[f"yaxis{below}"]["domain"][0]
    ink = INK[scene.mode]
    layout["shapes"] = [
        {
            "type": "rect",
            "xref": "paper",
            "yref": "paper",
            "x0": left - 0.006,
            "x1": right + 0.006,
            "y0": bottom - 0.015,
            "y1": top + 0.065,
            "line": {"color": ink, "width": 2.5, "dash": "dash"},
            "layer": "above",
        }
    ]
    layout["annotations"].append(
        {
            "text": f"<b>▼ parts here: {STAGE_TITLES[stage]}</b>",
            "xref": "paper",
            "yref": "paper",
            "x": (left + right) / 2,
            "y": top + 0.07,
            "xanchor": "center",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 13, "color": ink},
        }
    )


def _on(panel: int) -> dict[str, str]:
    """Axes of a panel."""
    return {"xaxis": f"x{_suffix(panel)}", "yaxis": f"y{_suffix(panel)}"}


def _suffix(panel: int) -> str:
    """Number of a panel as Plotly appends it to the names of axes."""
    return "" if panel == 1 else str(panel)

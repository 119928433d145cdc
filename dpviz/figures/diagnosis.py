"""Figure of the stage that broke a true cluster: the true stages above the private stages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.lazy import pandas as pd
from dpviz.figures.marks import middles, note, outline, outlined, scatter, shape
from dpviz.figures.panels import Panels, on, suffix
from dpviz.figures.theme import BACKGROUND, INK
from dpviz.figures.wavecluster import WaveClusterPicture, stage_panels
from dpviz.figures.wavecluster import frame as cells_frame
from dpviz.grid.counts import block_sums
from dpviz.wavecluster.diagnosis import RUNS, Diagnosis, RetainedDraws, Stage

#: Column of the figure for each stage; the effect of the grid is visible in the counts.
COLUMNS: dict[Stage, int] = {"grid": 0, "counts": 0, "subband": 1, "threshold": 2, "components": 3}

STAGE_TITLES: dict[Stage, str] = {
    "grid": "the grid",
    "counts": "the counts",
    "subband": "the subband",
    "threshold": "the threshold",
    "components": "one cell",
}

#: Fates that need more words than their names.
_FATES = {"joined": "joined with others", "broken": "broken into pieces"}

_MARGIN = 4

_ACROSS = 4


def fate_words(fate: str) -> str:
    """What became of a cluster."""
    return _FATES.get(fate, fate)


def diagnosis_panels(picture: WaveClusterPicture, diagnosis: Diagnosis) -> Panels:
    """Plot all stages around one true cluster, the true run above the private run."""
    drawn = stage_panels(picture)
    layout = drawn.layout
    inside = picture.true.labels == diagnosis.cluster
    for name, (low, high) in zip("xy", _window(picture, inside), strict=True):
        for panel in range(1, 2 * _ACROSS + 1):
            axis = layout[f"{name}axis{suffix(panel)}"]
            axis["range"] = [low, high]
            if "constrain" in axis:
                # A long cluster has many cells around it, so that it does not look like a strip.
                axis["constrain"] = "range"
    layout["uirevision"] += f" cluster {diagnosis.cluster}"
    layout["margin"]["t"] = 78  # the mark is below the tool bar
    width = picture.width(picture.true.level)
    # A dark line on a wider light line is visible on any colour.
    edges = [
        outline(inside, picture.domain, width, {"color": colour, "width": pixels})
        for colour, pixels in ((BACKGROUND[picture.mode], 4), (INK[picture.mode], 1.5))
    ]
    for panel in range(1, 2 * _ACROSS + 1):
        drawn.data.extend({**edge, **on(panel)} for edge in edges)
    if diagnosis.cell:
        ink, (x, y) = INK[picture.mode], middles(diagnosis.cell, picture.domain, width)
        look = outlined(22, ink, "circle-open", ink, 3)
        ring = scatter("markers", [float(x)], [float(y)], marker=look)
        drawn.data.extend({**ring, **on(panel)} for panel in (3, 4, 3 + _ACROSS, 4 + _ACROSS))
    if diagnosis.stage:
        _mark(picture, layout, diagnosis.stage)
    return replace(drawn, alt=_alt(picture, diagnosis), height=505, share=0.68)


def frame(picture: WaveClusterPicture, diagnosis: Diagnosis) -> pd.DataFrame:
    """Table behind the figure: one row per subband cell around the cluster."""
    inside = picture.true.labels == diagnosis.cluster
    table = cells_frame(picture, "overview")
    for place, (side, stages) in enumerate((("true", picture.true), ("private", picture.private))):
        records = block_sums(stages.counts, stages.level).ravel()
        table.insert(2 + place, f"{side} records", records)
    table[f"in cluster {diagnosis.cluster}"] = inside.ravel()
    for name, (low, high) in zip(picture.columns, _window(picture, inside), strict=True):
        table = table[table[name].between(low, high)]
    return table.reset_index(drop=True)


def fates_frame(diagnosis: Diagnosis, draws: RetainedDraws | None = None) -> pd.DataFrame:
    """Table of the changes that would have kept the cluster, in this draw and in many draws."""
    table = pd.DataFrame(
        {
            "run": [title[0].upper() + title[1:] for title in RUNS.values()],
            "this draw": [fate_words(diagnosis.runs[name].fate) for name in RUNS],
            "overlap": [diagnosis.runs[name].overlap for name in RUNS],
        }
    )
    if draws:
        table[f"kept in {draws.draws} draws"] = [draws.of(name, diagnosis.cluster) for name in RUNS]
    return table


def _alt(picture: WaveClusterPicture, diagnosis: Diagnosis) -> str:
    text = f"{picture.title}. Cluster {diagnosis.cluster} and its surroundings at all stages: the "
    text += f"true run above the {picture.side} run. "
    if diagnosis.stage is None:
        return text + "It is kept."
    fate, stage = fate_words(diagnosis.outcome.fate), STAGE_TITLES[diagnosis.stage]
    return text + f"It is {fate}; the runs first differ at {stage}."


def _window(picture: WaveClusterPicture, inside: NDArray[np.bool_]) -> list[tuple[float, float]]:
    width = picture.width(picture.true.level)
    window = []
    for axis, cells in enumerate(np.nonzero(inside)):
        low, high = cells.min() - _MARGIN, cells.max() + 1 + _MARGIN
        bounds = picture.domain.bounds[axis]
        low, high = (bounds[0] + at * width[axis] for at in (low, high))
        window.append((float(max(low, bounds[0])), float(min(high, bounds[1]))))
    return window


def _mark(picture: WaveClusterPicture, layout: dict[str, Any], stage: Stage) -> None:
    above, below = COLUMNS[stage] + 1, COLUMNS[stage] + 1 + _ACROSS
    left, right = layout[f"xaxis{suffix(above)}"]["domain"]
    top = layout[f"yaxis{suffix(above)}"]["domain"][1]
    bottom = layout[f"yaxis{suffix(below)}"]["domain"][0]
    ink = INK[picture.mode]
    layout["shapes"] = [
        shape(
            "rect",
            (left - 0.006, right + 0.006),
            (bottom - 0.015, top + 0.065),
            line={"color": ink, "width": 2.5, "dash": "dash"},
            layer="above",
        )
    ]
    text = f"<b>▼ first differs here: {STAGE_TITLES[stage]}</b>"
    middle = (left + right) / 2
    layout["annotations"].append(
        note(text, middle, top + 0.07, xanchor="center", size=13, colour=ink)
    )

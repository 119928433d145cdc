"""Panels of the WaveCluster explorer: the stages of the true and private run; one file per view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from dpviz.base.lazy import pandas as pd
from dpviz.figures.cell_numbers import LARGEST, MOST_OF_STAGES
from dpviz.figures.marks import Trace, base_layout, cell_columns
from dpviz.figures.panels import Panels, add_axes, add_heading, beneath, clear_axes, on
from dpviz.figures.wavecluster import (
    added,
    clusters,
    damage,
    details,
    epsilons,
    significant,
    synthetic,
    threshold,
)
from dpviz.figures.wavecluster.cards import cards as cards
from dpviz.figures.wavecluster.picture import Pair
from dpviz.figures.wavecluster.picture import WaveClusterPicture as WaveClusterPicture
from dpviz.figures.wavecluster.picture import picture_of as picture_of
from dpviz.figures.wavecluster.stage import StagePair, draw_values
from dpviz.wavecluster.pipeline import Run

VIEWS = {
    "clusters": "Clusters",
    "significant": "Significant cells",
    "threshold": "Threshold",
    "average": "Average subband",
    "details": "All subbands",
    "added": "Noise",
    "counts": "Count grid",
    "synthetic": "Synthetic points",
    "overview": "All stages",
    "epsilons": "Three ε",
}

#: Stages in the order of the method, and their views; the first view of a stage is its picture.
STAGES: dict[str, tuple[str, ...]] = {
    "counts": ("counts", "synthetic"),
    "noise": ("added",),
    "wavelet": ("average", "details"),
    "cut": ("significant", "threshold"),
    "clusters": ("clusters",),
}

WITH_SUBBANDS = ("details", "overview")

#: Views that show counts or coefficients.
WITH_COUNTS = ("threshold", "average", "details", "added", "counts", "overview")

#: Views that can show the true points over the private clusters.
WITH_POINTS = ("clusters", "overview")

#: Views whose maps can show the pieces that the headline counts.
WITH_PIECES = ("clusters", "significant", "average", "counts", "synthetic")


#: Stages in the units of the data, in their order.
_STAGES: dict[str, Callable[[WaveClusterPicture], StagePair]] = {
    "counts": partial(draw_values, name="counts", title="Count grid", unit="records"),
    "average": partial(draw_values, name="average", title="Average subband", unit="coefficient"),
    "significant": significant.draw,
    "clusters": clusters.draw,
}


def views_of(run: Run) -> dict[str, str]:
    """Views of a run with their titles: no noise or synthetic points if the run has none."""
    has = {"synthetic": run.leaves is not None, "added": bool(run.ledger.spends)}
    has["epsilons"] = has["added"]
    return {view: title for view, title in VIEWS.items() if has.get(view, True)}


def panels(picture: WaveClusterPicture, view: str) -> Panels:
    """Plot one of ``VIEWS``, true and private; InputError if the run lacks the synthetic points."""
    if view == "threshold":
        return threshold.draw(picture)
    if view == "epsilons":
        return epsilons.draw(picture)
    if view != "overview":
        others = {"details": details.draw, "added": added.draw, "synthetic": synthetic.draw}
        draw = (others | _STAGES)[view]
        drawn = _lay_out(picture, [draw(picture)], stacked=False)
        return replace(drawn, pieces=damage.pieces(picture)) if view in WITH_PIECES else drawn
    stages = [draw(picture) for draw in _STAGES.values()]
    stages.insert(1, details.draw(picture, small=True))
    return _lay_out(picture, stages, stacked=True)


def stage_panels(picture: WaveClusterPicture) -> Panels:
    """Plot the four stages on linked axes, in the units of the data; the true run is on top."""
    return _lay_out(picture, [draw(picture) for draw in _STAGES.values()], stacked=True)


def frame(picture: WaveClusterPicture, view: str) -> pd.DataFrame:
    """Table behind a view: one row per cell, true and private values side by side."""
    # For "threshold", a row is a coefficient or an interval of the law; for "synthetic", a box.
    own = {"synthetic": synthetic, "threshold": threshold, "details": details, "epsilons": epsilons}
    if view in own:
        return own[view].frame(picture)
    true, private = picture.stages
    values: dict[str, Pair] = {"average": (true.average, private.average)}
    if view in ("counts", "added"):
        values = {"count": (true.counts, private.counts)}
    elif view != "average":
        values["significant"] = (true.significant, private.significant)
        values["cluster"] = picture.labels
    shape = next(iter(values.values()))[0].shape
    width = picture.width(0 if view in ("counts", "added") else true.level)
    table = pd.DataFrame(cell_columns(picture.columns, shape, picture.domain, width))
    for name, pair in values.items():
        for side, array in zip(("true", "private"), pair, strict=True):
            table[f"{side} {name}"] = array.ravel()
    if view == "added":
        table["private minus true"] = table["private count"] - table["true count"]
    return table


def _lay_out(picture: WaveClusterPicture, stages: list[StagePair], *, stacked: bool) -> Panels:
    right = 84 if stages[-1].coloraxis else 12
    layout = base_layout(
        picture.title,
        (48, right, 46, 38),
        # Keep the zoom unless the data, the columns or the domain change.
        uirevision=str(picture.domain) + picture.title.partition(" · ")[0],
    )
    data: list[Trace] = []
    pairs: list[tuple[int, int]] = []
    rows, across = (2, len(stages)) if stacked else (1, 2)
    # Small panels have no space for lines.
    lines = [] if stacked else picture.ground.lines(picture.columns, picture.domain)
    for number, stage in enumerate(stages):
        coloured = {}
        if stage.coloraxis:
            # Plotly calls the first colour axis "coloraxis".
            name = f"coloraxis{number + 1 if number else ''}"
            coloured = {"coloraxis": name}
            shown = {"showscale": number == len(stages) - 1} if stacked else {}
            layout[name] = {**stage.coloraxis, **shown}
        layout |= stage.coloraxes
        hovered: tuple[list[int], list[int]] = ([], [])
        for side, name in enumerate(("true", picture.private_title)):
            row, slot = (side, number) if stacked else (0, side)
            panel = row * across + slot + 1
            where = ((row, rows), (slot, across))
            if stage.axes:
                first = panel if side == 0 else panel - (across if stacked else 1)
                details.add_axes(layout, stage.axes, panel, *where, first)
            else:
                add_axes(layout, picture.columns, picture.domain, panel, *where, picture.ground)
            heading = f"<b>{name}</b> · {stage.notes[side]}"
            if stacked:
                heading = f"{stage.title} · {('true', picture.side)[side]}"
            add_heading(layout, panel, heading + stage.overlay * side)
            for trace in beneath([] if stage.axes else lines, stage.traces[side]):
                if "texttemplate" in trace:
                    if stacked and max(trace["z"].shape) > MOST_OF_STAGES:
                        continue
                    layout["font"] = {"size": LARGEST}  # Plotly's limit for numbers in cells
                if stage.paired and "hovertemplate" in trace:
                    hovered[side].append(len(data))
                look = coloured if trace["type"] == "heatmap" else {}
                data.append({**trace, **look, **on(panel)})
        pairs += zip(*hovered, strict=True)
    if lines:
        clear_axes(layout)
    return Panels(
        data=data,
        layout=layout,
        pairs=pairs,
        alt=f"{picture.title}. {'; '.join(stage.alt for stage in stages)}.",
        height=470 if stacked else 385,
        share=0.7 if stacked else 0.56,
        least_width=max(stage.least_width for stage in stages),
    )

"""Panels of the WaveCluster explorer: every stage, true beside private.

A figure is built as plain dictionaries, which cost next to nothing per redraw;
:meth:`Panels.figure` makes a ``plotly.graph_objects.Figure`` of it for everything else.
The first axis of the data runs to the right, the second upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from dpviz.counts import quantize
from dpviz.domain import Domain
from dpviz.errors import InputError
from dpviz.figures.panels import (
    MOST_CELLS,
    Panels,
    add_axes,
    add_heading,
    cluster_scale,
    heatmap,
    number_font,
    shades,
    titled,
)
from dpviz.figures.theme import (
    BACKGROUND,
    BOTH,
    CLUSTERS,
    INK,
    INVENTED,
    MISSED,
    Mode,
    steps,
    zero_centred,
)
from dpviz.metrics.matching import contingency
from dpviz.wavecluster.pipeline import Source, Stages
from dpviz.wavecluster.truth import Truth

View = Literal["clusters", "significant", "average", "details", "counts", "overview"]

VIEWS: dict[View, str] = {
    "clusters": "Clusters",
    "significant": "Significant cells",
    "average": "Average subband",
    "details": "Detail subbands",
    "counts": "Count grid",
    "overview": "All stages",
}

DETAILS = {"ad": "H", "da": "V", "dd": "D"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Raster:
    """Points as counts on a lattice that refines the grid: what the screen shows of them.

    Parameters
    ----------
    counts
        Points per lattice cell, shape (g * factor, ...).
    factor
        Lattice cells per grid cell and axis.
    """

    counts: NDArray[np.int64]
    factor: int

    @classmethod
    def build(cls, source: Source) -> Raster:
        """Count the points of a source on the finest lattice that fits the screen."""
        factor = max(1, MOST_CELLS // max(source.shape))
        if factor == 1:
            return cls(counts=source.counts, factor=1)
        shape = tuple(side * factor for side in source.shape)
        counts, _ = quantize(source.points, source.domain, shape)
        return cls(counts=counts, factor=factor)

    @cached_property
    def shade(self) -> NDArray[np.uint8]:
        """0 where there is no point, 1 where there are few, 2 where there are many."""
        return shades(self.counts)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """What all panels are drawn from.

    Parameters
    ----------
    truth
        True run and its source, two-dimensional.
    private
        Stages of the private run.
    raster
        Points on the screen's lattice.
    columns
        Names of the two axes.
    mode
        ``"light"`` or ``"dark"``.
    title
        Parameters of the run, in the figure's title.
    private_title
        Heading of the private panels.
    """

    truth: Truth
    private: Stages
    raster: Raster
    columns: Sequence[str]
    mode: Mode = "light"
    title: str = ""
    private_title: str = "private"

    def __post_init__(self) -> None:
        """Two axes only."""
        if self.truth.source.counts.ndim != 2:
            raise InputError("the panels show two columns: choose two of the data's columns.")

    @property
    def true(self) -> Stages:
        """Stages of the true run."""
        return self.truth.stages

    @property
    def domain(self) -> Domain:
        """Bounds of both axes."""
        return self.truth.source.domain

    @cached_property
    def numbers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number, and so colour, of each true and private cluster (index 0 = noise).

        A private cluster takes the number of the true one that it shares most cells with,
        one to one, so numbers and colours don't jump from draw to draw.
        """
        true = np.arange(self.true.n_clusters + 1)
        overlap = contingency(self.true.labels, self.private.labels)
        full = np.zeros((self.true.n_clusters + 1, self.private.n_clusters + 1), dtype=np.int64)
        full[: overlap.shape[0], : overlap.shape[1]] = overlap
        rows, columns = linear_sum_assignment(full[1:, 1:], maximize=True)
        private = np.zeros(self.private.n_clusters + 1, dtype=np.intp)
        shared = full[1:, 1:][rows, columns] > 0
        private[columns[shared] + 1] = rows[shared] + 1
        rest = np.flatnonzero(private[1:] == 0) + 1
        private[rest] = self.true.n_clusters + 1 + np.arange(rest.size)
        return true, private


def panels(scene: Scene, view: View) -> Panels:
    """Draw one view of a scene.

    Parameters
    ----------
    scene
        True and private run.
    view
        One of ``VIEWS``.
    """
    if view == "overview":
        stages: tuple[View, ...] = ("counts", "average", "significant", "clusters")
        return _assemble(scene, [_column(scene, stage) for stage in stages], stacked=True)
    if view == "details":
        return _assemble(scene, _detail_columns(scene), stacked=True)
    return _assemble(scene, [_column(scene, view)], stacked=False)


def frame(scene: Scene, view: View) -> pd.DataFrame:
    """Table behind a view: one row per cell, true and private side by side."""
    if view == "counts":
        return _cell_table(scene, 0, {"count": (scene.true.counts, scene.private.counts)})
    table: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
        "average": (scene.true.average, scene.private.average)
    }
    if view == "details":
        table = {
            name: (scene.true.details[key], scene.private.details[key])
            for key, name in DETAILS.items()
        }
    if view in ("significant", "clusters", "overview"):
        table["significant"] = (scene.true.significant, scene.private.significant)
        table["cluster"] = _shown_labels(scene)
    return _cell_table(scene, scene.true.level, table)


def _shown_labels(scene: Scene) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Labels grids with the numbers that the screen shows."""
    true, private = scene.numbers
    return true[scene.true.labels], private[scene.private.labels]


def _cell_table(
    scene: Scene, level: int, values: dict[str, tuple[NDArray[Any], NDArray[Any]]]
) -> pd.DataFrame:
    """Cell centres and pairs of values in columns."""
    shape = next(iter(values.values()))[0].shape
    width = _cell_width(scene, level)
    index = np.indices(shape)
    table = pd.DataFrame(
        {
            name: (scene.domain.lows[axis] + (index[axis] + 0.5) * width[axis]).ravel()
            for axis, name in enumerate(scene.columns)
        }
    )
    for name, (true, private) in values.items():
        table[f"true {name}"] = true.ravel()
        table[f"private {name}"] = private.ravel()
    return table


# -- one stage ---------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class _Column:
    """One stage as a pair of panels: traces of the true and of the private one."""

    title: str
    true: list[dict[str, Any]]
    private: list[dict[str, Any]]
    alt: str
    coloraxis: dict[str, Any] | None = None
    note: str = ""


def _column(scene: Scene, view: View) -> _Column:
    """Panels of one stage."""
    if view == "counts":
        return _values(
            scene, "Count grid", scene.true.counts, scene.private.counts, level=0, unit="records"
        )
    if view == "average":
        return _values(
            scene,
            "Average subband",
            scene.true.average,
            scene.private.average,
            level=scene.true.level,
        )
    if view == "significant":
        return _significant(scene)
    return _clusters(scene)


def _detail_columns(scene: Scene) -> list[_Column]:
    """Panels of the three detail subbands on one symmetric colour scale."""
    top = max(_top(scene.true.details[key]) for key in DETAILS)
    return [
        _values(
            scene,
            f"{name} ({meaning} edges)",
            scene.true.details[key],
            scene.private.details[key],
            level=scene.true.level,
            limits=(-top, top),
        )
        for (key, name), meaning in zip(
            DETAILS.items(), ("horizontal", "vertical", "diagonal"), strict=True
        )
    ]


def _values(
    scene: Scene,
    title: str,
    true: NDArray[Any],
    private: NDArray[Any],
    *,
    level: int,
    unit: str = "coefficient",
    limits: tuple[float, float] | None = None,
) -> _Column:
    """Pair of heatmaps of numbers with one colour scale, taken from the true panel."""
    width = _cell_width(scene, level)
    true, private = true.astype(np.float32), private.astype(np.float32)
    low, high = limits or (-0.4 * _top(true), _top(true))
    axis = {
        "cmin": low,
        "cmax": high,
        "colorscale": zero_centred(low, high, scene.mode),
        "colorbar": {
            "thickness": 10,
            "outlinewidth": 0,
            "len": 0.9,
            "tickfont": {"size": 11},
            "title": {"text": unit, "side": "top", "font": {"size": 11}},
        },
    }
    hover = "%{x:.4~g}, %{y:.4~g}<br>"
    return _Column(
        title=title,
        true=[
            _heatmap(
                scene,
                true,
                width,
                coloraxis=True,
                hovertemplate=hover + "true %{z:.4~g}<br>private %{customdata[0]:.4~g}"
                "<br>error %{customdata[1]:+.4~g}<extra></extra>",
            )
        ],
        private=[
            _heatmap(
                scene,
                private,
                width,
                coloraxis=True,
                hovertemplate=hover + "true %{customdata[0]:.4~g}<br>private %{z:.4~g}"
                "<br>error %{customdata[1]:+.4~g}<extra></extra>",
            )
        ],
        alt=f"{title}, true and private, on one colour scale from {low:.3g} to {high:.3g}",
        coloraxis=axis,
    )


def _significant(scene: Scene) -> _Column:
    """Significant cells; the private panel tells invented and missed ones."""
    width = _cell_width(scene, scene.true.level)
    true, private = scene.true.significant, scene.private.significant
    codes = true.astype(np.uint8) + 2 * private
    mode = scene.mode
    # 0 neither, 1 missed, 2 invented, 3 both
    scale = steps([BACKGROUND[mode], MISSED[mode], INVENTED[mode], BOTH[mode]])
    invented, missed = private & ~true, true & ~private
    of_true = f"threshold: true {scene.true.threshold.value:.4g}, private "
    of_true += f"{scene.private.threshold.value:.4g}<extra></extra>"
    verdict = "W true %{z:.4~g}, private %{customdata[0]:.4~g}, error %{customdata[1]:+.4~g}<br>"
    back = "W true %{customdata[0]:.4~g}, private %{z:.4~g}, error %{customdata[1]:+.4~g}<br>"
    flat = steps([BACKGROUND[mode], BOTH[mode]])
    return _Column(
        title="Significant cells",
        true=[
            _heatmap(scene, true, width, hoverinfo="skip", colorscale=flat, zmin=0, zmax=1),
            _ghost(scene, scene.true.average, width, verdict + of_true),
        ],
        private=[
            _heatmap(scene, codes, width, hoverinfo="skip", colorscale=scale, zmin=0, zmax=3),
            _ghost(scene, scene.private.average, width, back + of_true),
            _marks(scene, invented, width, "x-thin", "invented"),
            _marks(scene, missed, width, "circle-open", "missed"),
        ],
        alt=(
            f"Significant cells: {int(true.sum())} true, {int(private.sum())} private, of which "
            f"{int(invented.sum())} are invented; {int(missed.sum())} are missed"
        ),
        note=(
            f"{int((true & private).sum())} in both, {int(invented.sum())} invented (×), "
            f"{int(missed.sum())} missed (○)"
        ),
    )


def _clusters(scene: Scene) -> _Column:
    """Clusters on the points, cells tinted, each cluster numbered."""
    width = _cell_width(scene, scene.true.level)
    true_colours, private_colours = scene.numbers
    true_shown, private_shown = _shown_labels(scene)
    hover = "true cluster %{z:d}, private %{customdata[0]:d} (0 = noise)<extra></extra>"
    back = "true cluster %{customdata[0]:d}, private %{z:d} (0 = noise)<extra></extra>"
    n_true, n_private = scene.true.n_clusters, scene.private.n_clusters
    return _Column(
        title="Clusters",
        true=[
            _points(scene, scene.true, true_colours),
            _ghost(scene, true_shown, width, hover),
            _numbers(scene, scene.true, true_colours),
        ],
        private=[
            _points(scene, scene.private, private_colours),
            _ghost(scene, private_shown, width, back),
            _numbers(scene, scene.private, private_colours),
        ],
        alt=f"Clusters on the points: {n_true} true, {n_private} private",
    )


# -- traces ------------------------------------------------------------------------------


def _cell_width(scene: Scene, level: int) -> NDArray[np.float64]:
    """Width of a cell of the grid (level 0) or of a subband, per axis."""
    extent = scene.domain.highs - scene.domain.lows
    width: NDArray[np.float64] = extent / np.asarray(scene.truth.source.shape) * 2.0**level
    return width


def _top(band: NDArray[Any]) -> float:
    """Upper end of a colour scale: nearly the largest value, so one peak can't hide the rest."""
    size = np.abs(band[band != 0])
    return float(np.quantile(size, 0.97)) if size.size else 1.0


def _blocks(band: NDArray[Any], width: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
    """Put cells together where there are more than the screen should get.

    Values become means; labels, codes and masks the highest of their block, so that a
    single cell does not vanish.
    """
    step = -(-max(band.shape) // MOST_CELLS)
    if step == 1:
        return band, width
    missing = [(0, -side % step) for side in band.shape]
    padded = np.pad(band, missing, mode="edge")
    rows, columns = (side // step for side in padded.shape)
    blocks = padded.reshape(rows, step, columns, step)
    merged = blocks.mean(axis=(1, 3)) if band.dtype.kind == "f" else blocks.max(axis=(1, 3))
    return merged, width * step


def _heatmap(
    scene: Scene, band: NDArray[Any], width: NDArray[np.float64], **more: Any
) -> dict[str, Any]:
    """Heatmap of one array over the domain; ``coloraxis=True`` is given its axis later."""
    band, width = _blocks(band, width)
    return heatmap(band, scene.domain, width, **more)


def _ghost(
    scene: Scene, band: NDArray[Any], width: NDArray[np.float64], hovertemplate: str
) -> dict[str, Any]:
    """Invisible heatmap that only answers the pointer: what it says is not what is drawn."""
    return _heatmap(
        scene,
        band.astype(np.float32),
        width,
        opacity=0,
        colorscale=[[0, "#000000"], [1, "#000000"]],
        hovertemplate=hovertemplate,
    )


def _points(scene: Scene, stages: Stages, colours: NDArray[np.intp]) -> dict[str, Any]:
    """Points on the lattice in the colours of their clusters; cells without points tinted."""
    palette = CLUSTERS[scene.mode]
    shade = scene.raster.shade
    step = scene.raster.factor * 2**stages.level
    # Palette entry 0 is noise, 1 to len(palette) are clusters, in turn.
    entry = np.where(colours > 0, (colours - 1) % len(palette) + 1, 0).astype(np.uint8)
    labels = entry[stages.labels]
    for axis in (0, 1):
        labels = np.repeat(labels, step, axis=axis)
    labels = labels[: shade.shape[0], : shade.shape[1]]
    scale = cluster_scale(scene.mode)
    codes = labels * 3 + shade
    return _heatmap(
        scene,
        codes,
        _cell_width(scene, 0) / scene.raster.factor,
        hoverinfo="skip",
        **scale,
    )


def _numbers(scene: Scene, stages: Stages, colours: NDArray[np.intp]) -> dict[str, Any]:
    """Number of each cluster near its middle: the cue beside colour."""
    shown = min(stages.n_clusters, 40)
    if stages.n_clusters > 20:  # in a crowd, single cells go without
        shown = min(shown, int((stages.cluster_sizes > 1).sum()))
    width = _cell_width(scene, stages.level)
    x, y = np.nonzero(stages.labels)
    cluster = stages.labels[x, y]
    sizes = np.maximum(stages.cluster_sizes, 1)
    centre = [np.bincount(cluster, at, stages.n_clusters + 1)[1:] / sizes for at in (x, y)]
    # A concave cluster's centre may lie outside of it: take its own cell next to that.
    gap = np.hypot(x - centre[0][cluster - 1], y - centre[1][cluster - 1])
    order = np.lexsort((gap, cluster))
    first = order[np.searchsorted(cluster[order], np.arange(1, shown + 1))]
    return {
        "type": "scatter",
        "mode": "text",
        "x": scene.domain.lows[0] + (x[first] + 0.5) * width[0],
        "y": scene.domain.lows[1] + (y[first] + 0.5) * width[1],
        "text": [f"<b>{colours[number]}</b>" for number in range(1, shown + 1)],
        "textfont": number_font(scene.mode),
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": True,
    }


def _marks(
    scene: Scene, mask: NDArray[np.bool_], width: NDArray[np.float64], symbol: str, name: str
) -> dict[str, Any]:
    """Marks on cells, the cue beside colour; left out where they would be a blur."""
    x, y = np.nonzero(mask) if mask.sum() <= 400 else (np.empty(0), np.empty(0))
    ink = INK[scene.mode]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": scene.domain.lows[0] + (x + 0.5) * width[0],
        "y": scene.domain.lows[1] + (y + 0.5) * width[1],
        "marker": {"symbol": symbol, "size": 6, "color": ink, "line": {"width": 1, "color": ink}},
        "hoverinfo": "skip",
        "showlegend": False,
    }


# -- layout ------------------------------------------------------------------------------


def _assemble(scene: Scene, columns: list[_Column], *, stacked: bool) -> Panels:
    """Lay out panels: true above private for several stages, side by side for one."""
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "title": titled(scene.title),
        "margin": {
            "l": 56,
            "r": 12 if stacked and not any(c.coloraxis for c in columns[-1:]) else 84,
            "t": 46,
            "b": 38,
        },
        "annotations": [],
        # Zoom survives every change but that of the ground it was made on.
        "uirevision": str(scene.domain) + scene.title.partition(" · ")[0],
        "hovermode": "closest",
        "showlegend": False,
    }
    pairs: list[tuple[int, int]] = []
    rows = 2 if stacked else 1
    across = len(columns) if stacked else 2
    for number, column in enumerate(columns):
        if column.coloraxis:
            axis = dict(column.coloraxis)
            if stacked:
                axis["showscale"] = number == len(columns) - 1
            layout[f"coloraxis{number + 1}"] = axis
        places = [(0, number), (1, number)] if stacked else [(0, 0), (0, 1)]
        indexes = []
        for (row, slot), traces, side in zip(
            places, (column.true, column.private), ("true", "private"), strict=True
        ):
            panel = row * across + slot + 1
            add_axes(layout, scene.columns, scene.domain, panel, (row, rows), (slot, across))
            _heading(scene, layout, column, panel, side, stacked=stacked)
            for trace in traces:
                if "hovertemplate" in trace:
                    indexes.append(len(data))
                if trace.pop("coloraxis", False):
                    trace["coloraxis"] = f"coloraxis{number + 1}"
                suffix = "" if panel == 1 else str(panel)
                data.append({**trace, "xaxis": f"x{suffix}", "yaxis": f"y{suffix}"})
        pairs.append((indexes[0], indexes[1]))
    # Plotly calls the first colour axis "coloraxis".
    if "coloraxis1" in layout:
        layout["coloraxis"] = layout.pop("coloraxis1")
        for trace in data:
            if trace.get("coloraxis") == "coloraxis1":
                trace["coloraxis"] = "coloraxis"
    alt = "; ".join(column.alt for column in columns)
    return Panels(
        data=data,
        layout=layout,
        pairs=pairs,
        alt=f"{scene.title}. {alt}.",
        height=470 if stacked else 385,
        share=0.7 if stacked else 0.56,
    )


def _heading(
    scene: Scene,
    layout: dict[str, Any],
    column: _Column,
    panel: int,
    side: str,
    *,
    stacked: bool,
) -> None:
    """Heading above a panel: what it is, and its key figure."""
    stages = scene.true if side == "true" else scene.private
    name = "true" if side == "true" else scene.private_title
    clusters = f"{stages.n_clusters} cluster{'' if stages.n_clusters == 1 else 's'}"
    if stacked:
        text = f"{column.title} · {side}"
    elif column.note and side == "private":
        text = f"<b>{name}</b> · {column.note}"
    elif column.title == "Significant cells":
        text = f"<b>{name}</b> · {int(stages.significant.sum())} significant cells"
    elif column.title == "Clusters":
        text = f"<b>{name}</b> · {clusters}"
    else:
        text = f"<b>{name}</b> · {column.title.lower()}"
    add_heading(layout, panel, text)

"""Panels of the WaveCluster explorer: every stage, true beside private.

A figure is built as plain dictionaries, which cost next to nothing per redraw;
:meth:`Panels.figure` makes a ``plotly.graph_objects.Figure`` of it for everything else.
The first axis of the data runs to the right, the second upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.base.numbers import counted, readable
from dpviz.data.geographic import map_axes
from dpviz.figures import subbands
from dpviz.figures.cell_numbers import (
    LARGEST,
    MOST,
    MOST_OF_STAGES,
    cell_numbers,
    colours_at,
)
from dpviz.figures.ground import PLAIN, Ground
from dpviz.figures.marks import (
    PLACE,
    Trace,
    base_layout,
    bold_numbers,
    cell_columns,
    cluster_codes,
    cluster_colours,
    coded,
    colour_bar,
    heatmap,
    middles,
    number_font,
    outlined,
    overlay_note,
    scatter,
    true_points,
)
from dpviz.figures.panels import Panels, add_axes, add_heading, beneath, clear_axes, on
from dpviz.figures.raster import MOST_CELLS, Raster
from dpviz.figures.theme import BACKGROUND, BOTH, INK, INVENTED, MISSED, Mode, zero_centred
from dpviz.figures.threshold import threshold_frame, threshold_panels
from dpviz.grid.counts import cell_width
from dpviz.grid.domain import Domain
from dpviz.metrics.matching import matched_numbers
from dpviz.wavecluster.pipeline import Run, Stages
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import Truth

View = Literal["clusters", "significant", "threshold", "average", "details", "counts", "overview"]

VIEWS: dict[View, str] = {
    "clusters": "Clusters",
    "significant": "Significant cells",
    "threshold": "Threshold",
    "average": "Average subband",
    "details": "All subbands",
    "counts": "Count grid",
    "overview": "All stages",
}

#: Views that show the mosaic of the subbands.
WITH_SUBBANDS = ("details", "overview")

#: Views that show counts or coefficients.
WITH_COUNTS = ("threshold", "average", "details", "counts", "overview")

#: Views on whose private clusters the true points can lie.
WITH_POINTS = ("clusters", "overview")

#: Clusters up to which all have their number on a panel, and up to which in large type; of more,
#: the largest ones alone, since each number takes half a millisecond of a drag; cells a side whose
#: cells hold them.
_MOST_NUMBERS, _FEW_NUMBERS, _OF_MORE, _LARGE_CELLS = 60, 20, 30, 16

#: True and private values in the hover texts of the true and of the private panel.
_HOVERED = (("z", "customdata[0]"), ("customdata[0]", "z"))

#: An array of the true run and the same of the private one.
Pair = tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class WaveClusterPicture:
    """Data behind all panels.

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
    private_title, side
        Heading of the private panels, and their word beside "true": another one where the run is
        not private.
    run
        The run with the private stages: how its threshold was drawn. None: not drawn.
    ground
        What the maps stand on.
    with_points
        Whether the true points lie over the private clusters; a release has none.
    """

    truth: Truth
    private: Stages
    raster: Raster
    columns: Sequence[str]
    mode: Mode = "light"
    title: str = ""
    private_title: str = "private"
    side: str = "private"
    run: Run | None = None
    ground: Ground = PLAIN
    with_points: bool = False

    def __post_init__(self) -> None:
        """Two axes only."""
        if self.truth.source.counts.ndim != 2:
            raise InputError("the panels show two columns: choose two of the data's columns.")

    @property
    def true(self) -> Stages:
        """Stages of the true run."""
        return self.truth.stages

    @property
    def stages(self) -> tuple[Stages, Stages]:
        """Stages of the true and of the private run."""
        return self.true, self.private

    @property
    def domain(self) -> Domain:
        """Bounds of both axes."""
        return self.truth.source.domain

    def width(self, level: int) -> NDArray[np.float64]:
        """Width of a cell of the grid (level 0) or of a subband, per axis."""
        return cell_width(self.domain, self.truth.source.shape, level)

    @cached_property
    def numbers(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number, and so colour, of each true and private cluster (index 0 = noise).

        A private cluster takes the number of the true one that it shares most cells with,
        one to one, so numbers and colours don't jump from draw to draw.
        """
        true, private = self.stages
        return np.arange(true.n_clusters + 1), matched_numbers(true.labels, private.labels)

    @property
    def labels(self) -> Pair:
        """Labels grids with the numbers that the screen shows."""
        true, private = self.numbers
        return true[self.true.labels], private[self.private.labels]


def picture_of(
    trial: WaveClusterTrial, run: Run, columns: Sequence[str], title: str, mode: Mode
) -> WaveClusterPicture:
    """Build the picture of a private run beside the true one, longitude to the right."""
    truth = trial.truth
    if map_axes(columns) == (1, 0):
        truth = Truth(truth.source.turned(), truth.config)
        run, columns = replace(run, stages=run.stages.turned()), columns[::-1]
    return WaveClusterPicture(
        truth=truth,
        private=run.stages,
        raster=Raster.of_source(truth.source),
        columns=columns,
        mode=mode,
        title=title,
        run=run,
    )


def panels(picture: WaveClusterPicture, view: View) -> Panels:
    """Draw one view of ``VIEWS``: true and private panels."""
    if view == "threshold":
        return threshold_panels(picture)
    if view == "details":
        return _assemble(picture, [_mosaic(picture)], stacked=False)
    if view != "overview":
        return _assemble(picture, [_DRAWN[view](picture)], stacked=False)
    columns = [draw(picture) for draw in _DRAWN.values()]
    columns.insert(1, _mosaic(picture, small=True))
    return _assemble(picture, columns, stacked=True)


def stage_panels(picture: WaveClusterPicture) -> Panels:
    """Draw the four stages in the units of the data, true above private, on linked axes."""
    return _assemble(picture, [draw(picture) for draw in _DRAWN.values()], stacked=True)


def frame(picture: WaveClusterPicture, view: View) -> pd.DataFrame:
    """Table behind a view: one row per cell, true and private side by side.

    Behind "threshold", a row is a positive coefficient or an interval of the drawn threshold.
    """
    if view == "threshold":
        return threshold_frame(picture)
    true, private = picture.stages
    if view == "details":
        bands = subbands.subbands(true, private)
        return subbands.frame(bands, picture.columns, picture.domain, picture.width(0))
    level = 0 if view == "counts" else true.level
    values: dict[str, Pair]
    if view == "counts":
        values = {"count": (true.counts, private.counts)}
    else:
        values = {"average": (true.average, private.average)}
        if view != "average":
            values["significant"] = (true.significant, private.significant)
            values["cluster"] = picture.labels
    shape = next(iter(values.values()))[0].shape
    columns = cell_columns(picture.columns, shape, picture.domain, picture.width(level))
    table = pd.DataFrame(columns)
    for name, pair in values.items():
        for side, array in zip(("true", "private"), pair, strict=True):
            table[f"{side} {name}"] = array.ravel()
    return table


# -- one stage ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _Column:
    """One stage as a pair of panels.

    ``traces`` and ``notes``, which stand in the headings, are of the true and of the private
    panel; ``overlay`` says in the private heading what of the truth lies over it. A mosaic has
    axes of its own, with ``axes`` as their names, two colour axes, and a width in pixels that the
    whole figure has at least.
    """

    title: str
    traces: tuple[list[Trace], list[Trace]]
    notes: tuple[str, str]
    alt: str
    coloraxis: dict[str, Any] | None = None
    axes: tuple[str, str] | None = None
    coloraxes: dict[str, dict[str, Any]] = field(default_factory=dict)
    least_width: int = 0
    overlay: str = ""


def _counts(picture: WaveClusterPicture) -> _Column:
    """Panels of the count grids."""
    pair = (picture.true.counts, picture.private.counts)
    return _values(picture, "Count grid", pair, level=0, unit="records")


def _average(picture: WaveClusterPicture) -> _Column:
    """Panels of the average subbands."""
    pair = (picture.true.average, picture.private.average)
    return _values(picture, "Average subband", pair, level=picture.true.level)


def _mosaic(picture: WaveClusterPicture, *, small: bool = False) -> _Column:
    """Panels of all subbands, each pair of panels on one pair of colour scales."""
    average, *details = bands = subbands.subbands(*picture.stages)
    tops = _top(average.true), max(_top(band.true) for band in details)
    traces: tuple[list[Trace], list[Trace]] = ([], [])
    numbered = not small and max(picture.true.counts.shape) <= MOST_OF_STAGES
    for band in bands:
        cell = (band.place.highs - band.place.lows) / band.true.shape
        drawn = [_blocks(one.astype(np.float32), cell) for one in (band.true, band.private)]
        shape, width = drawn[0][0].shape, picture.width(band.level) * (drawn[0][1] / cell)
        meta = subbands.hovered(picture.columns, picture.domain, width, shape)
        for side, (array, wide), (of_true, of_private) in zip(traces, drawn, _HOVERED, strict=True):
            hover = (
                f"<b>{band.title}</b>, level {band.level}<br>{subbands.PLACE}"
                f"<br>true %{{{of_true}:,.4~r}}<br>{picture.side} %{{{of_private}:,.4~r}}"
                "<br>error %{customdata[1]:+,.4~r}"
            )
            look = {"meta": meta, "coloraxis": subbands.colour_axis(band)}
            side.append(heatmap(array, band.place, wide, hover, **look))
            if numbered:
                colours = colours_at(*subbands.shares(band, array, tops, picture.mode))
                side += cell_numbers(array, colours, band.place, wide)
    for side in traces:
        side.append(subbands.borders(picture.true.level, picture.mode))
        # Long names would cover the numbers of the cells behind them.
        side.append(subbands.labels(bands, picture.mode, small=small or numbered))
    padded = any(side % 2**picture.true.level for side in picture.true.counts.shape)
    note = subbands.heading(picture.true.level, small=small or numbered)
    return _Column(
        title="All subbands",
        traces=traces,
        notes=(note, note),
        alt=subbands.in_words(bands, tops),
        axes=subbands.axis_names(picture.columns, picture.domain, small=small or padded),
        coloraxes=subbands.colour_axes(*tops, average.name, picture.mode, shown=not small),
        least_width=940 if small else 700,
    )


def _values(
    picture: WaveClusterPicture,
    title: str,
    pair: Pair,
    *,
    level: int,
    unit: str = "coefficient",
) -> _Column:
    """Pair of heatmaps of numbers with one colour scale, taken from the true panel."""
    true, private = (array.astype(np.float32) for array in pair)
    low, high = -0.4 * _top(true), _top(true)
    axis: dict[str, Any] = {
        "cmin": low,
        "cmax": high,
        "colorscale": zero_centred(low, high, picture.mode),
        "colorbar": colour_bar(unit, outlinewidth=0, len=0.9),
    }
    width = picture.width(level)
    numbers = [
        _in_cells(
            picture, array, level, colours_at(axis["colorscale"], (array - low) / (high - low))
        )
        for array in (pair if max(true.shape) <= MOST else ())
    ] or [[], []]
    first, second = (
        _heatmap(
            picture,
            array,
            width,
            f"{PLACE}<br>true %{{{of_true}:,.4~r}}<br>{picture.side} %{{{of_private}:,.4~r}}"
            "<br>error %{customdata[1]:+,.4~r}",
        )
        for array, (of_true, of_private) in zip((true, private), _HOVERED, strict=True)
    )
    return _Column(
        title=title,
        traces=([first, *numbers[0]], [second, *numbers[1]]),
        notes=(title.lower(), title.lower()),
        alt=f"{title}, true and {picture.side}, on one colour scale from {readable(low)} to "
        f"{readable(high)}",
        coloraxis=axis,
    )


def significant_cells(
    true: NDArray[np.bool_], private: NDArray[np.bool_], mode: Mode
) -> tuple[NDArray[np.uint8], dict[str, Any]]:
    """Codes of the cells that are significant in either run, or both, and their colours."""
    colours = [BACKGROUND[mode], MISSED[mode], INVENTED[mode], BOTH[mode]]
    return true.astype(np.uint8) + 2 * private, coded(colours)


def _significant(picture: WaveClusterPicture) -> _Column:
    """Significant cells; the private panel marks invented and missed ones."""
    width, mode = picture.width(picture.true.level), picture.mode
    true, private = (stages.significant for stages in picture.stages)
    codes, colours = significant_cells(true, private, mode)
    both, invented, missed = (
        int(m.sum()) for m in (true & private, private & ~true, true & ~private)
    )
    first, second = (
        _ghost(
            picture,
            stages.average,
            f"W true %{{{of_true}:,.4~r}}, {picture.side} %{{{of_private}:,.4~r}}, error "
            "%{customdata[1]:+,.4~r}<br>threshold: true "
            f"{readable(picture.true.threshold.value, 4)}, {picture.side} "
            f"{readable(picture.private.threshold.value, 4)}",
        )
        for stages, (of_true, of_private) in zip(picture.stages, _HOVERED, strict=True)
    )
    few = max(true.shape) <= MOST
    palette = np.array([BACKGROUND[mode], MISSED[mode], INVENTED[mode], BOTH[mode]])
    numbers = [
        _in_cells(picture, stages.average, stages.level, palette[code])
        for stages, code in (zip(picture.stages, (3 * true, codes), strict=True) if few else ())
    ] or [[], []]
    return _Column(
        title="Significant cells",
        traces=(
            [
                _heatmap(picture, true, width, **coded([BACKGROUND[mode], BOTH[mode]])),
                first,
                *numbers[0],
            ],
            [
                _heatmap(picture, codes, width, **colours),
                second,
                *numbers[1],
                _marks(picture, private & ~true, "x-thin", "invented", aside=few),
                _marks(picture, true & ~private, "circle-open", "missed", aside=few),
            ],
        ),
        notes=(
            f"{int(true.sum())} significant cells",
            f"{both} in both, {invented} invented (×), {missed} missed (○)",
        ),
        alt=(
            f"Significant cells: {int(true.sum())} true, {int(private.sum())} {picture.side}, of "
            f"which {invented} are invented; {missed} are missed"
        ),
    )


def _clusters(picture: WaveClusterPicture) -> _Column:
    """True clusters on the points; private ones as cells, as a release has them; all numbered."""
    drawn = ([_points(picture)], _private_cells(picture))
    first, second = (
        [
            *painted,
            _ghost(
                picture,
                labels,
                f"true cluster %{{{of_true}:d}}, {picture.side} %{{{of_private}:d}} (0 = noise)",
            ),
            _numbers(picture, stages, numbers),
        ]
        for painted, labels, stages, numbers, (of_true, of_private) in zip(
            drawn, picture.labels, picture.stages, picture.numbers, _HOVERED, strict=True
        )
    )
    true, private = (stages.n_clusters for stages in picture.stages)
    return _Column(
        title="Clusters",
        traces=(first, second),
        notes=(counted(true, "cluster"), counted(private, "cluster")),
        overlay=overlay_note(picture.mode) if picture.with_points else "",
        alt=f"Clusters: {true} true, on the points; {private} {picture.side}, as cells",
    )


#: Stages that a view shows one of.
_DRAWN = {
    "counts": _counts,
    "average": _average,
    "significant": _significant,
    "clusters": _clusters,
}


# -- traces ------------------------------------------------------------------------------


def _top(band: NDArray[Any]) -> float:
    """Upper end of a colour scale: nearly the largest value, so one peak can't hide the rest."""
    size = np.abs(band[band != 0])
    return float(np.quantile(size, 0.97)) if size.size else 1.0


def _blocks(band: NDArray[Any], width: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
    """Combine cells into blocks if there are too many for the screen.

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
    picture: WaveClusterPicture,
    band: NDArray[Any],
    width: NDArray[np.float64],
    hover: str | None = None,
    **more: Any,
) -> Trace:
    """Heatmap of one array over the domain."""
    band, width = _blocks(band, width)
    return heatmap(band, picture.domain, width, hover, **more)


def _ghost(picture: WaveClusterPicture, band: NDArray[Any], hover: str) -> Trace:
    """Invisible heatmap for hover texts only: they differ from the drawn values."""
    return _heatmap(
        picture,
        band.astype(np.float32),
        picture.width(picture.true.level),
        hover,
        opacity=0,
        colorscale=[[0, "#000000"], [1, "#000000"]],
    )


def _in_cells(
    picture: WaveClusterPicture, band: NDArray[Any], level: int, colours: NDArray[np.str_]
) -> list[Trace]:
    """Numbers of a small array in its cells."""
    return cell_numbers(band, colours, picture.domain, picture.width(level))


def _points(picture: WaveClusterPicture) -> Trace:
    """Points on the lattice in the colours of their true clusters; cells without any tinted."""
    shade, factor = picture.raster.shade, _per_cell(picture)
    labels = picture.labels[0]
    for axis in (0, 1):
        labels = np.repeat(labels, factor * 2**picture.true.level, axis=axis)
    labels = labels[: shade.shape[0], : shade.shape[1]]
    return _heatmap(
        picture,
        cluster_codes(labels, shade, picture.mode),
        picture.width(0) / factor,
        **cluster_colours(picture.mode),
    )


def _per_cell(picture: WaveClusterPicture) -> int:
    """How many cells of the screen's lattice a cell of the grid has, per axis."""
    return int(picture.raster.counts.shape[0] // picture.truth.source.shape[0])


def _private_cells(picture: WaveClusterPicture) -> list[Trace]:
    """Cells of private clusters, the ones with more records darker; over them the true points.

    All but the overlay comes from private numbers alone.
    """
    private, labels = picture.private, picture.labels[1]
    width, inside = picture.width(private.level), labels > 0
    middle = np.median(private.average[inside]) if inside.any() else 0
    shade = inside.astype(np.uint8) + (inside & (private.average > middle))
    codes = cluster_codes(labels, shade, picture.mode)
    cells = _heatmap(picture, codes, width, **cluster_colours(picture.mode))
    if not picture.with_points:
        return [cells]
    lattice, factor = picture.raster.counts, _per_cell(picture)
    return [
        cells,
        true_points(lattice, picture.domain, picture.width(0) / factor, picture.mode),
    ]


def _numbers(picture: WaveClusterPicture, stages: Stages, numbers: NDArray[np.intp]) -> Trace:
    """Number of each cluster near its middle: the cue beside colour.

    A cluster of one or two small cells has it outside, where it does not hide them.
    """
    shown = stages.n_clusters if stages.n_clusters <= _MOST_NUMBERS else _OF_MORE
    x, y = np.nonzero(stages.labels)
    cluster = stages.labels[x, y]
    sizes = np.maximum(stages.cluster_sizes, 1)
    centre = [np.bincount(cluster, at, stages.n_clusters + 1)[1:] / sizes for at in (x, y)]
    # A concave cluster's centre may lie outside of it: take its own cell next to that.
    gap = np.hypot(x - centre[0][cluster - 1], y - centre[1][cluster - 1])
    order = np.lexsort((gap, cluster))
    first = order[np.searchsorted(cluster[order], np.arange(1, shown + 1))]
    cell = np.column_stack([x[first], y[first]])
    width, shape = picture.width(stages.level), stages.labels.shape
    aside = (stages.cluster_sizes[:shown] <= 2) & (min(shape) > _LARGE_CELLS)
    at_edge = cell * 10 // np.array(shape)  # tenths of the panel
    above = at_edge[:, 1] < 9
    vertical = np.where(aside, np.where(above, "top", "bottom"), "middle")
    sideways = np.select([at_edge[:, 0] == 0, at_edge[:, 0] == 9], ["right", "left"], "center")
    across, up = middles((cell[:, 0], cell[:, 1]), picture.domain, width)
    return scatter(
        "text",
        across,
        up + aside * np.where(above, 1, -1) * width[1] / 2,
        text=bold_numbers(numbers[1 : shown + 1]),
        textposition=[
            f"{one} {other if beside else 'center'}"
            for one, other, beside in zip(vertical, sideways, aside, strict=True)
        ],
        textfont=number_font(picture.mode, 13 if shown <= _FEW_NUMBERS else 10),
    )


def _marks(
    picture: WaveClusterPicture, mask: NDArray[np.bool_], symbol: str, name: str, *, aside: bool
) -> Trace:
    """Marks on cells, the cue beside colour; left out where they would be a blur.

    ``aside`` puts them into the upper left corners: the middles have numbers.
    """
    cells = np.nonzero(mask) if mask.sum() <= 400 else (np.empty(0), np.empty(0))
    ink, width = INK[picture.mode], picture.width(picture.true.level)
    x, y = middles(cells, picture.domain, width)
    return scatter(
        "markers",
        *((x - 0.4 * width[0], y + 0.36 * width[1]) if aside else (x, y)),
        name=name,
        marker=outlined(6, ink, symbol, ink, 1),
    )


# -- layout ------------------------------------------------------------------------------


def _assemble(picture: WaveClusterPicture, columns: list[_Column], *, stacked: bool) -> Panels:
    """Lay out panels: true above private for several stages, side by side for one."""
    right = 12 if stacked and not columns[-1].coloraxis else 84
    layout = base_layout(
        picture.title,
        (56, right, 46, 38),
        # Zoom survives every change except one of the data, columns or domain.
        uirevision=str(picture.domain) + picture.title.partition(" · ")[0],
    )
    data: list[Trace] = []
    pairs: list[tuple[int, int]] = []
    rows, across = (2, len(columns)) if stacked else (1, 2)
    # Small panels have no room for lines.
    lines = [] if stacked else picture.ground.lines(picture.columns, picture.domain)
    for number, column in enumerate(columns):
        coloured = {}
        if column.coloraxis:
            # Plotly calls the first colour axis "coloraxis".
            name = f"coloraxis{number + 1 if number else ''}"
            coloured = {"coloraxis": name}
            shown = {"showscale": number == len(columns) - 1} if stacked else {}
            layout[name] = {**column.coloraxis, **shown}
        layout |= column.coloraxes
        hovered: tuple[list[int], list[int]] = ([], [])
        for side, name in enumerate(("true", picture.private_title)):
            row, slot = (side, number) if stacked else (0, side)
            panel = row * across + slot + 1
            where = ((row, rows), (slot, across))
            if column.axes:
                first = panel if side == 0 else panel - (across if stacked else 1)
                subbands.add_axes(layout, column.axes, panel, *where, first)
            else:
                add_axes(layout, picture.columns, picture.domain, panel, *where, picture.ground)
            heading = f"<b>{name}</b> · {column.notes[side]}"
            if stacked:
                heading = f"{column.title} · {('true', picture.side)[side]}"
            heading += column.overlay * side
            add_heading(layout, panel, heading)
            for trace in beneath([] if column.axes else lines, column.traces[side]):
                if "texttemplate" in trace:
                    if stacked and max(trace["z"].shape) > MOST_OF_STAGES:
                        continue
                    layout["font"] = {"size": LARGEST}  # Plotly's limit for numbers in cells
                if "hovertemplate" in trace:
                    hovered[side].append(len(data))
                data.append({**trace, **coloured, **on(panel)})
        pairs += zip(*hovered, strict=True)
    if lines:
        clear_axes(layout)
    return Panels(
        data=data,
        layout=layout,
        pairs=pairs,
        alt=f"{picture.title}. {'; '.join(column.alt for column in columns)}.",
        height=470 if stacked else 385,
        share=0.7 if stacked else 0.56,
        least_width=max(column.least_width for column in columns),
    )

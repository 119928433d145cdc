"""One stage as a pair of panels, true and private, and functions common to all stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.numbers import readable
from dpviz.figures.cell_numbers import MOST, cell_numbers, colours_at
from dpviz.figures.marks import PLACE, Trace, colour_axis, heatmap
from dpviz.figures.raster import MOST_CELLS
from dpviz.figures.wavecluster.picture import WaveClusterPicture

#: Keys of the true and the private value in the hover texts of the true and the private panel.
VALUE_KEYS = (("z", "customdata[0]"), ("customdata[0]", "z"))


@dataclass(frozen=True, kw_only=True, eq=False)
class StagePair:
    """One stage as a pair of panels."""

    title: str
    #: Traces and notes of the true and of the private panel; notes are shown in the headings.
    traces: tuple[list[Trace], list[Trace]]
    notes: tuple[str, str]
    alt: str
    #: Text in the private panel's heading about the true data that the panel shows.
    overlay: str = ""
    coloraxis: dict[str, Any] | None = None
    #: Layout of a mosaic: its own axes, its two colour axes, its minimum width in pixels.
    axes: tuple[str, str] | None = None
    coloraxes: dict[str, dict[str, Any]] = field(default_factory=dict)
    least_width: int = 0
    #: Whether the hover texts of each panel also show the values of the other panel.
    paired: bool = True


def draw_values(picture: WaveClusterPicture, name: str, title: str, unit: str) -> StagePair:
    """Pair of heatmaps of "counts" or "average"; both have the colour scale of the true panel."""
    pair = [getattr(stages, name) for stages in picture.stages]
    level = 0 if name == "counts" else picture.true.level
    high = scale_end(pair[0].astype(np.float32))
    axis = colour_axis(-0.4 * high, high, picture.mode, unit)
    first, second = (
        with_numbers(picture, band, level, errors(picture, side), axis)
        for side, band in enumerate(pair)
    )
    return StagePair(
        title=title,
        traces=(first, second),
        notes=(title.lower(), title.lower()),
        alt=f"{title}, true and {picture.side}, on one colour scale from {readable(axis['cmin'])} "
        f"to {readable(high)}",
        coloraxis=axis,
    )


def with_numbers(
    picture: WaveClusterPicture, band: NDArray[Any], level: int, hover: str, axis: dict[str, Any]
) -> list[Trace]:
    """Heatmap of one array on a colour axis; the cells of a small array have their numbers."""
    width = picture.width(level)
    drawn = [cells(picture, band.astype(np.float32), width, f"{PLACE}<br>{hover}")]
    if max(band.shape) > MOST:
        return drawn
    share = (band - axis["cmin"]) / (axis["cmax"] - axis["cmin"])
    colours = colours_at(axis["colorscale"], share)
    return [*drawn, *cell_numbers(band, colours, picture.domain, width)]


def errors(picture: WaveClusterPicture, side: int, between: str = "<br>") -> str:
    """Hover text of the true (0) or private (1) panel: both values and their difference."""
    true, private = VALUE_KEYS[side]
    return between.join(
        (
            f"true %{{{true}:,.4~r}}",
            f"{picture.side} %{{{private}:,.4~r}}",
            "error %{customdata[1]:+,.4~r}",
        )
    )


def scale_end(band: NDArray[Any]) -> float:
    """Upper end of a colour scale: nearly the largest value, so a peak can't hide other cells."""
    size = np.abs(band[band != 0])
    return float(np.quantile(size, 0.97)) if size.size else 1.0


def blocks(band: NDArray[Any], width: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
    """Combine cells into blocks if there are too many for the screen."""
    # A block of values gets the mean of its cells. A block of labels, codes or masks gets the
    # highest value of its cells, so that a single cell does not disappear.
    step = -(-max(band.shape) // MOST_CELLS)
    if step == 1:
        return band, width
    missing = [(0, -side % step) for side in band.shape]
    padded = np.pad(band, missing, mode="edge")
    rows, columns = (side // step for side in padded.shape)
    parts = padded.reshape(rows, step, columns, step)
    merged = parts.mean(axis=(1, 3)) if band.dtype.kind == "f" else parts.max(axis=(1, 3))
    return merged, width * step


def cells(
    picture: WaveClusterPicture,
    band: NDArray[Any],
    width: NDArray[np.float64],
    hover: str | None = None,
    **more: Any,
) -> Trace:
    """Heatmap of one array over the domain."""
    band, width = blocks(band, width)
    return heatmap(band, picture.domain, width, hover, **more)


def ghost(picture: WaveClusterPicture, band: NDArray[Any], hover: str) -> Trace:
    """Invisible heatmap for hover texts, because these texts do not show the plotted values."""
    black = [[0, "#000000"], [1, "#000000"]]
    width = picture.width(picture.true.level)
    return cells(picture, band.astype(np.float32), width, hover, opacity=0, colorscale=black)

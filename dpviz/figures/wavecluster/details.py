"""View of all wavelet subbands as a mosaic, in Mallat's nested layout.

The average of the last level is in the lower left corner, the details of level 1 are outermost.
Bands on the right are differences along the first axis, bands at the top along the second axis. A
mosaic fills the unit square, so the zoom stays the same after a change of grid or level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import readable, written_out
from dpviz.figures import marks
from dpviz.figures.cell_numbers import MOST_OF_STAGES, cell_numbers, colours_at
from dpviz.figures.panels import FRAME, add_chart_axes, is_at_edge, place, suffix
from dpviz.figures.theme import BACKGROUND, INK, Mode, zero_centred
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, blocks, errors, scale_end
from dpviz.grid.domain import Domain
from dpviz.wavecluster.pipeline import Stages

#: For each name of PyWavelets: filters of both axes, letter, and edges that the detail shows.
DETAILS = {
    "ad": ("LH", "H", "horizontal"),
    "da": ("HL", "V", "vertical"),
    "dd": ("HH", "D", "diagonal"),
}

#: Hover text with a cell's intervals; see :func:`_hovered`.
_PLACE = "%{customdata[2]}<br>%{customdata[3]}"

#: Deepest level with space for a label: in half a page, and in a small panel.
_LABELLED = {False: 4, True: 2}

Band = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Subband:
    """One band of the true run and of the private run, with coefficients of the same shape."""

    name: str  # name with the level, for example "LH1" for level 1
    level: int
    #: Letter and edges of a detail, such as "H" and "horizontal"; empty for the average.
    letter: str = ""
    edges: str = ""
    true: Band
    private: Band
    #: Lower left corner in the mosaic; the length of each side is ``0.5**level``.
    corner: tuple[float, float] = (0.0, 0.0)

    @property
    def place(self) -> Domain:
        """Square of the band in the mosaic."""
        side = 0.5**self.level
        x, y = self.corner
        return Domain(((x, x + side), (y, y + side)))

    @property
    def title(self) -> str:
        """Name and meaning: "LH1 · H, horizontal edges"."""
        return f"{self.name} · {f'{self.letter}, {self.edges} edges' if self.edges else 'average'}"


def draw(picture: WaveClusterPicture, *, small: bool = False) -> StagePair:
    """Plot all subbands; both panels have the same two colour scales."""
    average, *details = bands = _subbands(*picture.stages)
    tops = scale_end(average.true), max(scale_end(band.true) for band in details)
    scales = _colour_scales(*tops, average.name, picture.mode, shown=not small)
    numbered = not small and max(picture.true.counts.shape) <= MOST_OF_STAGES
    traces: tuple[list[marks.Trace], list[marks.Trace]] = ([], [])
    for band in bands:
        cell = (band.place.highs - band.place.lows) / band.true.shape
        axis = "coloraxis9" if band.edges else "coloraxis8"
        low, high = scales[axis]["cmin"], scales[axis]["cmax"]
        meta = None
        for side, values in enumerate((band.true, band.private)):
            array, wide = blocks(values.astype(np.float32), cell)
            meta = meta or _hovered(picture, picture.width(band.level) * (wide / cell), array.shape)
            hover = (
                f"<b>{band.title}</b>, level {band.level}<br>{_PLACE}<br>{errors(picture, side)}"
            )
            traces[side].append(
                marks.heatmap(array, band.place, wide, hover, meta=meta, coloraxis=axis)
            )
            if numbered:
                colours = colours_at(scales[axis]["colorscale"], (array - low) / (high - low))
                traces[side].extend(cell_numbers(array, colours, band.place, wide))
    # Long names would hide the numbers of the cells behind them.
    short = small or numbered
    for drawn in traces:
        drawn += [_borders(picture.true.level, picture.mode), _labels(bands, picture.mode, short)]
    padded = any(side % 2**picture.true.level for side in picture.true.counts.shape)
    axes = [
        f"{name} in each band"
        + ("" if small or padded else f": {written_out(low)} to {written_out(high)}")
        for name, (low, high) in zip(picture.columns, picture.domain.bounds, strict=True)
    ]
    heading = f"all subbands, {_levels(1, picture.true.level)}"
    if picture.true.level > (labelled := _LABELLED[short]):
        heading += f"; in the corner {average.name}, {_levels(labelled + 1, picture.true.level)}"
    return StagePair(
        title="All subbands",
        traces=traces,
        notes=(heading, heading),
        alt=f"All subbands of both runs: {', '.join(band.title for band in bands)}; the average "
        f"on one colour scale up to {readable(tops[0])}, all details on one from "
        f"{readable(-tops[1])} to {readable(tops[1])}",
        axes=(axes[0], axes[1]),
        coloraxes=scales,
        least_width=940 if small else 700,
    )


def frame(picture: WaveClusterPicture) -> pd.DataFrame:
    """Table of all bands: one row per coefficient, with its band, level, place and both values."""
    # The place is the middle of the cell, empty in the padding beyond the domain.
    domain, parts = picture.domain, []
    for band in _subbands(*picture.stages):
        wide = picture.width(0) * 2**band.level
        places = marks.middles(np.indices(band.true.shape), domain, wide)
        table = pd.DataFrame(
            {"true coefficient": band.true.ravel(), "private coefficient": band.private.ravel()}
        )
        first: list[tuple[str, Any]] = [("band", band.name), ("level", band.level)]
        for column, at, high in zip(picture.columns, places, domain.highs, strict=True):
            first.append((column, np.where(at < high, at, np.nan).ravel()))
        for name, values in reversed(first):
            table.insert(0, name, values, allow_duplicates=True)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def meaning(columns: Sequence[str]) -> str:
    """Meaning of the names of the bands, for given column names."""
    x, y = columns
    return (
        f"LL is the average. LH (H) averages along {x} and takes differences along {y}: horizontal "
        f"edges. HL (V) takes differences along {x}: vertical edges. HH (D) takes both "
        "differences: diagonal edges. The number is the level, 1 is the finest. Each band covers "
        "the whole domain. If the side of the grid can't be halved that often, a band also covers "
        "padding beyond the domain. Point at a cell to read its band and its position."
    )


def add_axes(
    layout: dict[str, Any],
    titles: tuple[str, str],
    panel: int,
    row: tuple[int, int],
    slot: tuple[int, int],
    first: int,
) -> None:
    """Add the axes of one mosaic, linked to the axes of the panel ``first``; see ``panels``."""
    looks = [
        {
            **FRAME,
            "range": [0, 1],
            "showticklabels": False,
            "ticks": "",
            # The zoom of the data must not be used for the mosaic.
            "uirevision": "subbands",
            **({"title": marks.axis_title(title, 8)} if titled else {}),
            **({"matches": axis + suffix(first)} if panel > first else {}),
        }
        for axis, title, titled in zip("xy", titles, is_at_edge(row, slot), strict=True)
    ]
    add_chart_axes(layout, panel, place(row, slot), looks[0], looks[1])


def _subbands(true: Stages, private: Stages) -> list[Subband]:
    last = true.level
    bands = [Subband(name=f"LL{last}", level=last, true=true.average, private=private.average)]
    for level in range(last, 0, -1):
        side = 0.5**level
        for key, (name, letter, edges) in DETAILS.items():
            bands.append(
                Subband(
                    name=f"{name}{level}",
                    level=level,
                    letter=letter,
                    edges=edges,
                    true=true.details[level - 1][key],
                    private=private.details[level - 1][key],
                    corner=(side * (key[0] == "d"), side * (key[1] == "d")),
                )
            )
    return bands


def _colour_scales(
    average: float, details: float, name: str, mode: Mode, *, shown: bool
) -> dict[str, dict[str, Any]]:
    return {
        axis: {
            "cmin": low,
            "cmax": high,
            "colorscale": zero_centred(low, high, mode),
            "colorbar": marks.colour_bar(title, outlinewidth=0, len=0.47, y=y, yanchor="bottom"),
            "showscale": shown,
        }
        for axis, low, high, title, y in (
            ("coloraxis8", -0.4 * average, average, f"{name}: average", 0.53),
            ("coloraxis9", -details, details, "H, V, D: details", 0.0),
        )
    }


def _hovered(
    picture: WaveClusterPicture, width: Band, shape: tuple[int, ...]
) -> dict[str, list[str]]:
    # The browser combines texts of columns and of rows to texts of all cells (``_PLACE``).
    across, up = (
        _intervals(name, *bounds, float(step), cells)
        for name, bounds, step, cells in zip(
            picture.columns, picture.domain.bounds, width, shape, strict=True
        )
    )
    return {"across": across, "up": up}


# The texts do not depend on the draw, and dragging a slider requests them repeatedly.
@lru_cache(maxsize=64)
def _intervals(name: str, low: float, high: float, width: float, cells: int) -> list[str]:
    edges = marks.cell_edges(np.arange(cells + 1), low, high, width).tolist()
    ends = [(edge, readable(edge, 7)) for edge in edges]
    return [
        f"{marks.literal(name)} "
        + (f"{start} to {end}" if at < below else "beyond the domain (padding)")
        for (at, start), (below, end) in pairwise(ends)
    ]


def _labels(bands: Sequence[Subband], mode: Mode, small: bool) -> marks.Trace:
    named = [band for band in bands if band.level <= _LABELLED[small]]
    return marks.scatter(
        "text",
        [band.corner[0] for band in named],
        [band.place.highs[1] for band in named],
        text=[
            f"<b>{band.name}</b>"
            + band.title.removeprefix(band.name) * (band.level == 1 and not small)
            for band in named
        ],
        textposition="bottom right",
        textfont={
            **marks.number_font(mode),
            # The cells of noise below a small name are dark and light.
            "shadow": ", ".join([f"0 0 4px {BACKGROUND[mode]}"] * 12),
            "size": [13 - small - band.level for band in named],
        },
    )


def _borders(level: int, mode: Mode) -> marks.Trace:
    x: list[float | None] = []
    y: list[float | None] = []
    for one in range(1, level + 1):
        inner, outer = 0.5**one, 0.5 ** (one - 1)
        x += [inner, inner, None, 0, outer, None]
        y += [0, outer, None, inner, inner, None]
    return marks.scatter("lines", x, y, line={"color": INK[mode], "width": 1}, opacity=0.45)


def _levels(first: int, last: int) -> str:
    return f"level {first}" if first == last else f"levels {first} to {last}"

"""Mosaic of all wavelet subbands in Mallat's nested layout, for the panels of WaveCluster.

The average of the last level stands in the lower left corner; the details of each level stand
around it, level 1 outermost. To the right is the difference along the first axis, upwards that
along the second. A mosaic fills the unit square, so zoom outlives a change of grid or level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpviz.base.numbers import readable
from dpviz.figures.marks import (
    Trace,
    axis_title,
    cell_edges,
    colour_bar,
    literal,
    middles,
    number_font,
    scatter,
)
from dpviz.figures.panels import place, suffix
from dpviz.figures.theme import INK, Mode, zero_centred
from dpviz.grid.domain import Domain
from dpviz.wavecluster.pipeline import Stages

#: Detail subbands by the name of PyWavelets: L for low-pass and H for high-pass, first axis
#: first; their letter; the edges that they show.
DETAILS = {
    "ad": ("LH", "H", "horizontal"),
    "da": ("HL", "V", "vertical"),
    "dd": ("HH", "D", "diagonal"),
}

#: Hover text of a cell's intervals: see :func:`hovered`.
PLACE = "%{customdata[2]}<br>%{customdata[3]}"

#: Colour axes of the average and of all details.
_AVERAGE, _DETAILS = "coloraxis8", "coloraxis9"

#: Deepest level whose bands have room for a label: in a panel of half a page, and in a small one.
_LABELLED = {False: 4, True: 2}

Band = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Subband:
    """One band of the true and of the private run.

    Parameters
    ----------
    name, level
        Such as "LH1" of level 1.
    letter, edges
        Of a detail: "H" and "horizontal"; empty for the average.
    true, private
        Coefficients, of one shape.
    corner
        Lower left corner in the mosaic; its sides are ``0.5**level``.
    """

    name: str
    level: int
    letter: str = ""
    edges: str = ""
    true: Band
    private: Band
    corner: tuple[float, float] = (0.0, 0.0)

    @property
    def place(self) -> Domain:
        """Its square in the mosaic."""
        side = 0.5**self.level
        x, y = self.corner
        return Domain(((x, x + side), (y, y + side)))

    @property
    def title(self) -> str:
        """Name and meaning: "LH1 · H, horizontal edges"."""
        return f"{self.name} · {f'{self.letter}, {self.edges} edges' if self.edges else 'average'}"


def subbands(true: Stages, private: Stages) -> list[Subband]:
    """All bands, the average first, then the details from the last level to the first."""
    last = true.level
    found = [Subband(name=f"LL{last}", level=last, true=true.average, private=private.average)]
    for level in range(last, 0, -1):
        side = 0.5**level
        for key, (name, letter, edges) in DETAILS.items():
            found.append(
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
    return found


def meaning(columns: Sequence[str]) -> str:
    """What the names of the bands mean, for columns of any name."""
    x, y = columns
    return (
        f"LL is the average. LH (H) averages along {x} and takes differences along {y}: horizontal "
        f"edges. HL (V) takes differences along {x}: vertical edges. HH (D) takes both: diagonal "
        "edges. The number is the level, 1 is the finest. Each band covers the whole domain and, "
        "where a side does not divide, the padding beyond it. Point at a cell to read its band and "
        "its place."
    )


def colour_axes(
    average: float, details: float, name: str, mode: Mode, *, shown: bool
) -> dict[str, dict[str, Any]]:
    """Colour axes of the average and, on one symmetric scale, of the details of all levels.

    Parameters
    ----------
    average, details
        Upper ends of the two scales.
    name
        Name of the average.
    shown
        Whether they have colour bars.
    """
    axes = {}
    for axis, low, high, title, y in (
        (_AVERAGE, -0.4 * average, average, f"{name}: average", 0.53),
        (_DETAILS, -details, details, "H, V, D: details", 0.0),
    ):
        axes[axis] = {
            "cmin": low,
            "cmax": high,
            "colorscale": zero_centred(low, high, mode),
            "colorbar": colour_bar(title, outlinewidth=0, len=0.47, y=y, yanchor="bottom"),
            "showscale": shown,
        }
    return axes


def shares(
    band: Subband, values: NDArray[Any], tops: tuple[float, float], mode: Mode
) -> tuple[list[list[Any]], NDArray[np.float64]]:
    """Colour scale of a band, and the shares of its length at which some values stand."""
    low, high = (-tops[1], tops[1]) if band.edges else (-0.4 * tops[0], tops[0])
    return zero_centred(low, high, mode), (values - low) / (high - low)


def colour_axis(band: Subband) -> str:
    """Name of the colour axis of a band."""
    return _DETAILS if band.edges else _AVERAGE


def hovered(
    columns: Sequence[str], domain: Domain, width: NDArray[np.float64], shape: tuple[int, ...]
) -> dict[str, list[str]]:
    """Intervals of both axes that the cells of a band cover, for its hover texts.

    Parameters
    ----------
    columns, domain
        Names, which may be any text, and bounds of both axes.
    width, shape
        Width and number of the cells, per axis.

    Returns
    -------
    meta
        Of the trace: one text for each column of cells and one for each row, from which
        the browser makes those of all cells (``PLACE``).
    """
    across, up = (
        _intervals(name, *bounds, float(step), cells)
        for name, bounds, step, cells in zip(columns, domain.bounds, width, shape, strict=True)
    )
    return {"across": across, "up": up}


# They don't change with the draw, and a slider that is dragged asks for them again and again.
@lru_cache(maxsize=64)
def _intervals(name: str, low: float, high: float, width: float, cells: int) -> list[str]:
    """Interval that each cell covers on one axis."""
    edges = cell_edges(np.arange(cells + 1), low, high, width).tolist()
    ends = [(edge, readable(edge, 7)) for edge in edges]
    return [
        f"{literal(name)} " + (f"{start} to {end}" if at < below else "beyond the domain (padding)")
        for (at, start), (below, end) in pairwise(ends)
    ]


def labels(bands: Sequence[Subband], mode: Mode, *, small: bool) -> Trace:
    """Name of each band in its upper left corner, in full where there is room."""
    named = [band for band in bands if band.level <= _LABELLED[small]]
    return scatter(
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
            **number_font(mode),
            "size": [13 - small - band.level for band in named],
        },
    )


def borders(level: int, mode: Mode) -> Trace:
    """Lines between the bands."""
    x: list[float | None] = []
    y: list[float | None] = []
    for one in range(1, level + 1):
        inner, outer = 0.5**one, 0.5 ** (one - 1)
        x += [inner, inner, None, 0, outer, None]
        y += [0, outer, None, inner, inner, None]
    return scatter("lines", x, y, line={"color": INK[mode], "width": 1}, opacity=0.45)


def heading(last: int, *, small: bool) -> str:
    """Heading of a mosaic; it names the levels in the corner that have no room for labels."""
    title = f"all subbands, {_levels(1, last)}"
    first = _LABELLED[small] + 1
    return title if last < first else f"{title}; in the corner LL{last}, {_levels(first, last)}"


def _levels(first: int, last: int) -> str:
    """Write "level 1" or "levels 1 to 3"."""
    return f"level {first}" if first == last else f"levels {first} to {last}"


def in_words(bands: Sequence[Subband], tops: tuple[float, float]) -> str:
    """What a mosaic shows."""
    return (
        f"All subbands of both runs: {', '.join(band.title for band in bands)}; the average "
        f"on one colour scale up to {readable(tops[0])}, all details on one from "
        f"{readable(-tops[1])} to {readable(tops[1])}"
    )


def axis_names(columns: Sequence[str], domain: Domain, *, small: bool) -> tuple[str, str]:
    """Names of the axes: each band covers the whole domain."""
    x, y = (
        f"{name} in each band" + ("" if small else f": {low:,.10g} to {high:,.10g}")
        for name, (low, high) in zip(columns, domain.bounds, strict=True)
    )
    return x, y


def add_axes(
    layout: dict[str, Any],
    titles: tuple[str, str],
    panel: int,
    row: tuple[int, int],
    slot: tuple[int, int],
    first: int,
) -> None:
    """Add the axes of one mosaic, linked to those of the panel ``first``; see ``panels``."""
    shown = (row[0] == row[1] - 1, slot[0] == 0)
    for axis, other, extent, title, titled in zip(
        "xy", "yx", place(row, slot), titles, shown, strict=True
    ):
        layout[f"{axis}axis{suffix(panel)}"] = {
            "domain": list(extent),
            "anchor": other + suffix(panel),
            "range": [0, 1],
            "showgrid": False,
            "zeroline": False,
            "showline": True,
            "mirror": True,
            "showticklabels": False,
            "ticks": "",
            # A zoom into data must not become a zoom into the mosaic.
            "uirevision": "subbands",
            **({"title": axis_title(title, 8)} if titled else {}),
            **({"matches": axis + suffix(first)} if panel > first else {}),
        }


def frame(
    bands: Iterable[Subband], columns: Sequence[str], domain: Domain, width: NDArray[np.float64]
) -> pd.DataFrame:
    """Table of all bands: one row per coefficient.

    Parameters
    ----------
    width
        Width of a cell of the grid, per axis.

    Returns
    -------
    table
        Band, level, middle of the cell on both axes (none where it lies in the padding beyond
        the domain), true and private coefficient.
    """
    parts = []
    for band in bands:
        wide = width * 2**band.level
        places = middles(np.indices(band.true.shape), domain, wide)
        table = pd.DataFrame(
            {"true coefficient": band.true.ravel(), "private coefficient": band.private.ravel()}
        )
        for column, at, high in list(zip(columns, places, domain.highs, strict=True))[::-1]:
            inside = np.where(at < high, at, np.nan)
            table.insert(0, column, inside.ravel(), allow_duplicates=True)
        table.insert(0, "level", band.level, allow_duplicates=True)
        table.insert(0, "band", band.name, allow_duplicates=True)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)

"""Numbers in the cells of a small heatmap, which Plotly draws as large as the cells allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.figures.marks import Trace, heatmap
from dpviz.grid.domain import Domain

#: Most cells per side of a map with numbers: as half of a figure, and as one of many stages.
MOST, MOST_OF_STAGES = 16, 8

#: With at most this many cells per side, there is space for two decimals.
_ROOMY = 4

#: Font size of the largest number, in pixels.
LARGEST = 20

_INKS = ("#000000", "#ffffff")

#: A blank as wide as a digit: Plotly measures the blank, but draws nothing.
_BLANK = "\u2007"


def written(band: NDArray[Any]) -> NDArray[np.str_]:
    """Write integers without decimals, and other numbers with as many decimals as fit."""
    # Multiples of a half or of a quarter, such as true coefficients, keep all their decimals.
    values = np.asarray(band, dtype=float)
    exact = [n for n in range(3) if np.allclose(np.round(values, n), values, atol=1e-9, rtol=0)]
    side, tight = max(values.shape), float(np.abs(values).max()) >= 100
    decimals = exact[0] if exact else 2 if side <= _ROOMY else 0 if side > 8 and tight else 1
    # Adding 0.0 changes -0 to 0.
    texts = [f"{value:.{decimals}f}" for value in (np.round(values, decimals) + 0.0).ravel()]
    return np.array([text.replace("-", "−") for text in texts]).reshape(values.shape)


def cell_numbers(
    band: NDArray[Any], colours: NDArray[np.str_], domain: Domain, width: NDArray[np.float64]
) -> list[Trace]:
    """Write numbers, shape (right, up), into a heatmap's cells, unless there are too many cells."""
    # ``colours`` are those of the cells, "#rrggbb", in the same shape. The result is one invisible
    # heatmap with labels for each text colour, black and white.
    if max(band.shape) > MOST:
        return []
    texts, inks = written(band), ink_on(colours)
    blank = _BLANK * max(map(len, texts.flat))
    traces = []
    for ink in _INKS:
        labels = np.where(inks == ink, texts, "")
        # Plotly computes the size of cells from labels in adjacent cells, and the font size from
        # the longest label. So the labels of both text colours have blanks, in a corner or in
        # another cell, and get the same size.
        empty = labels == ""
        labels[:2, :2][empty[:2, :2]] = blank
        labels[tuple(np.argwhere(empty)[:1].T)] = blank
        traces.append(
            heatmap(
                np.zeros(band.shape, dtype=np.uint8),
                domain,
                width,
                opacity=0,
                text=labels.T.tolist(),
                texttemplate="%{text}",
                textfont={"color": ink},
            )
        )
    return traces


def ink_on(colours: NDArray[np.str_]) -> NDArray[np.str_]:
    """Black or white for each colour: the one with more contrast, which is at least 4.58 to 1."""
    light = luminance(colours)
    # Contrast of WCAG 2: (lighter + 0.05) / (darker + 0.05).
    return np.where((light + 0.05) ** 2 >= 1.05 * 0.05, *_INKS)


def luminance(colours: NDArray[np.str_]) -> NDArray[np.float64]:
    """Relative luminance of colours "#rrggbb" (WCAG 2): from 0 for black to 1 for white."""
    channels = np.moveaxis(_channels(colours), -1, 0) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    light: NDArray[np.float64] = np.tensordot([0.2126, 0.7152, 0.0722], linear, 1)
    return light


def colours_at(scale: Sequence[Sequence[Any]], share: NDArray[np.float64]) -> NDArray[np.str_]:
    """Colours at shares of a colour scale's length; shares beyond an end have the end's colour."""
    places = [float(place) for place, _ in scale]
    stops = _channels(np.array([colour for _, colour in scale]))
    mixed = [np.rint(np.interp(share, places, channel)).astype(int) for channel in stops.T]
    codes = ((mixed[0] << 16) | (mixed[1] << 8) | mixed[2]).ravel()
    return np.array([f"#{code:06x}" for code in codes]).reshape(share.shape)


def _channels(colours: NDArray[np.str_]) -> NDArray[np.float64]:
    codes = np.array([int(colour[1:], 16) for colour in colours.flat]).reshape(colours.shape)
    return np.stack([codes >> 16, (codes >> 8) & 255, codes & 255], axis=-1).astype(float)

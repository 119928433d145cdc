"""View of the significant cells; the private panel marks invented and missed cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.numbers import readable
from dpviz.figures.cell_numbers import MOST, cell_numbers
from dpviz.figures.marks import Trace, coded, middles, outlined, scatter
from dpviz.figures.theme import BACKGROUND, BOTH, INK, INVENTED, MISSED, Mode
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, cells, errors, ghost

#: Maximum number of marks, because more marks could not be distinguished.
_MOST_MARKS = 400

Mask = NDArray[np.bool_]


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot the significant cells."""
    width, mode = picture.width(picture.true.level), picture.mode
    true, private = (stages.significant for stages in picture.stages)
    codes, colours = significant_cells(true, private, mode)
    both, invented, missed = agreement(true, private)
    few, colours_of = max(true.shape) <= MOST, np.array(palette(mode))
    limits = (
        f"threshold: true {readable(picture.true.threshold.value, 4)}, {picture.side} "
        f"{readable(picture.private.threshold.value, 4)}"
    )
    first, second = (
        [
            ghost(picture, stages.average, f"W {errors(picture, side, ', ')}<br>{limits}"),
            *cell_numbers(stages.average, colours_of[code], picture.domain, width),
        ]
        for side, (stages, code) in enumerate(zip(picture.stages, (3 * true, codes), strict=True))
    )
    return StagePair(
        title="Significant cells",
        traces=(
            [cells(picture, true, width, **coded([BACKGROUND[mode], BOTH[mode]])), *first],
            [
                cells(picture, codes, width, **colours),
                *second,
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


def significant_cells(
    true: Mask, private: Mask, mode: Mode
) -> tuple[NDArray[np.uint8], dict[str, Any]]:
    """Codes and colours of the cells that are significant in one of the two runs, or in both."""
    return true.astype(np.uint8) + 2 * private, coded(palette(mode))


def agreement(true: Mask, private: Mask) -> tuple[int, int, int]:
    """Numbers of cells: significant in both runs, invented by noise, missed because of noise."""
    return int((true & private).sum()), int((private & ~true).sum()), int((true & ~private).sum())


def palette(mode: Mode) -> list[str]:
    """Colours of no cell, a missed cell, an invented cell, and a cell of both runs."""
    return [BACKGROUND[mode], MISSED[mode], INVENTED[mode], BOTH[mode]]


def _marks(
    picture: WaveClusterPicture, mask: Mask, symbol: str, name: str, *, aside: bool
) -> Trace:
    """Marks on cells, in addition to colour; ``aside`` leaves the middles free for numbers."""
    index = np.nonzero(mask) if mask.sum() <= _MOST_MARKS else (np.empty(0), np.empty(0))
    ink, width = INK[picture.mode], picture.width(picture.true.level)
    x, y = middles(index, picture.domain, width)
    if aside:
        x, y = x - 0.4 * width[0], y + 0.36 * width[1]
    return scatter("markers", x, y, name=name, marker=outlined(6, ink, symbol, ink, 1))

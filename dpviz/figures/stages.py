"""Cards of a method's stages on the strip: one fact, and a thumbnail of each run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.figures.cell_numbers import colours_at
from dpviz.figures.theme import BACKGROUND, CLUSTERS, INK, INVENTED, Mode, blend, zero_centred

#: Maximum number of cells per axis of a thumbnail.
MOST = 32

#: Number of colours above zero, and below zero.
_STEPS = 31


@dataclass(frozen=True, kw_only=True, eq=False)
class Thumbnail:
    """A small picture: ``codes`` are palette positions (right, up), at most ``MOST`` a side."""

    codes: NDArray[np.uint8]
    palette: tuple[str, ...]


#: Thumbnails of the true and of the private run; None if a run has nothing to show.
Thumbnails = tuple[Thumbnail | None, Thumbnail | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class StageCard:
    """What the strip shows of one stage."""

    name: str
    fact: str  # in few letters; if the stage is missing, the reason
    said: str  # the fact in words, with the true value
    parameters: tuple[str, ...]  # names of parameters that act at this stage
    thumbnails: Thumbnails = (None, None)
    missing: bool = False  # whether the method has no such stage
    offer: bool = False  # whether another method has the missing stage


def shrunk(cells: NDArray[Any]) -> NDArray[Any]:
    """Combine cells into blocks, at most ``MOST`` a side; any array of two axes."""
    # A block gets its value farthest from zero, so a single cell stays visible.
    step = -(-max(cells.shape) // MOST)
    if step == 1:
        return cells
    padded = np.pad(cells, [(0, -side % step) for side in cells.shape])
    rows, columns = (side // step for side in padded.shape)
    parts = padded.reshape(rows, step, columns, step)
    # Along one axis after the other, which is four times as fast as along both.
    most: NDArray[Any] = parts.max(axis=1).max(axis=-1)
    if cells.dtype.kind not in "fi":
        return most
    least = parts.min(axis=1).min(axis=-1)
    return np.where(-least > most, least, most)


def of_values(cells: NDArray[Any], end: float, mode: Mode) -> Thumbnail:
    """Thumbnail of numbers on a colour scale from ``-end`` to ``end``; only 0 looks like 0."""
    share = np.clip(shrunk(cells) / end, -1, 1)
    codes = _STEPS + np.sign(share) * np.ceil(_STEPS * np.abs(share))
    return Thumbnail(codes=codes.astype(np.uint8), palette=_values(mode))


def of_labels(labels: NDArray[Any], true: int, mode: Mode, pale: float = 1.0) -> Thumbnail:
    """Thumbnail of cluster numbers, 0 for none; numbers above ``true`` are invented clusters."""
    small, colours = shrunk(labels), len(CLUSTERS[mode])
    codes = np.where(small > 0, 1 + (small - 1) % colours, 0)
    codes[small > true] = colours + 1
    return Thumbnail(codes=codes.astype(np.uint8), palette=_clusters(mode, pale))


def with_marks(drawn: Thumbnail, places: NDArray[np.intp], mode: Mode) -> Thumbnail:
    """Add marks in black (or white, on dark pages) at cells (n, 2) of a thumbnail."""
    codes = drawn.codes.copy()
    codes[tuple(places.T)] = len(drawn.palette)
    return Thumbnail(codes=codes, palette=(*drawn.palette, INK[mode]))


@lru_cache
def _values(mode: Mode) -> tuple[str, ...]:
    places = np.linspace(0, 1, 2 * _STEPS + 1)
    return tuple(colours_at(zero_centred(-1, 1, mode), places).tolist())


@lru_cache
def _clusters(mode: Mode, pale: float) -> tuple[str, ...]:
    ground = BACKGROUND[mode]
    return ground, *(blend(one, ground, pale) for one in (*CLUSTERS[mode], INVENTED[mode]))

"""View of a private synopsis: its boxes, and the synthetic points that are drawn from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import counted
from dpviz.figures.marks import PLACE, Trace, colour_axis, faded, marker, scatter
from dpviz.figures.raster import MOST_CELLS
from dpviz.figures.theme import INK
from dpviz.figures.wavecluster.picture import WaveClusterPicture
from dpviz.figures.wavecluster.stage import StagePair, cells, scale_end, with_numbers
from dpviz.grid.counts import cell_width
from dpviz.wavecluster.pipeline import Leaves

#: Maximum number of synthetic points that are drawn; they are a random sample of all points.
MOST_POINTS = 2000

#: Boxes have an outline if they are at least this wide, as a share of the domain.
THINNEST = 1 / 100

#: Differences of positions, from 0 to 1, that are only rounding errors.
_ROUNDING = 1e-9


def draw(picture: WaveClusterPicture) -> StagePair:
    """Plot true counts beside boxes and synthetic points; InputError if the run has no synopsis."""
    leaves, counts = _leaves(picture), picture.true.counts
    # Numbers of 32 bits are sent quickly while a slider moves.
    records = leaves.records.astype(np.float32)
    of_cell = records / (leaves.size.prod(axis=1) * counts.size).astype(np.float32)
    shown = _on_lattice(leaves)
    boxes = cells(
        picture,
        of_cell[shown],
        cell_width(picture.domain, shown.shape),
        f"{PLACE}<br>box with %{{customdata:,.1f}} noisy records<br>%{{z:,.4~r}} per cell",
        customdata=records[shown].T,
    )
    dots = marker(2.5, faded(INK[picture.mode], 0.7))
    points = scatter("markers", *_points(picture), name="synthetic points", marker=dots)
    high = scale_end(counts.astype(np.float32))
    axis = colour_axis(-0.4 * high, high, picture.mode, "records")
    return StagePair(
        title="Synthetic points",
        traces=(
            with_numbers(picture, counts, 0, "%{z:,.4~r} true records in this cell", axis),
            [boxes, _outlines(picture, leaves), points],
        ),
        notes=("records in each cell", _numbers(picture)),
        alt=f"True records in each cell, and {_numbers(picture)} of the {picture.side} run",
        coloraxis=axis,
        paired=False,
    )


def explain(picture: WaveClusterPicture) -> str:
    """Return sentences on what is drawn."""
    leaves, points = _leaves(picture), int(picture.private.counts.sum())
    thin = int((leaves.size.min(axis=1) < THINNEST).sum())
    said = [
        "The colour of a box of the synopsis shows its noisy number of records, divided by the "
        "number of cells that the box covers. Baseline counts its synthetic points in each cell "
        "of the grid; the picture draws each point at a random place in its cell."
    ]
    if points > MOST_POINTS:
        said.append(f"{MOST_POINTS:,} of {points:,} synthetic points are drawn.")
    if thin:
        said.append(
            f"{thin:,} of {len(leaves.size):,} boxes have no outline, because they are narrower "
            f"than 1/{1 / THINNEST:.0f} of the map."
        )
    return " ".join(said)


def frame(picture: WaveClusterPicture) -> pd.DataFrame:
    """Table of the boxes: their ends on both axes, and their noisy number of records."""
    leaves, domain = _leaves(picture), picture.domain
    ends = (leaves.low, leaves.low + leaves.size)
    low, high = (domain.lows + one * (domain.highs - domain.lows) for one in ends)
    table: dict[str, NDArray[np.float64]] = {}
    for axis, name in enumerate(picture.columns):
        table |= {f"{name} from": low[:, axis], f"{name} to": high[:, axis]}
    return pd.DataFrame(table | {"private records": leaves.records})


def _leaves(picture: WaveClusterPicture) -> Leaves:
    if picture.run is None or picture.run.leaves is None:
        raise InputError(
            "view = synthetic: this run has no synthetic points, only runs of Baseline have them; "
            "choose another view."
        )
    return picture.run.leaves


def _numbers(picture: WaveClusterPicture) -> str:
    points = counted(int(picture.private.counts.sum()), "synthetic point")
    return f"{len(_leaves(picture).records):,} boxes, {points}"


def _on_lattice(leaves: Leaves) -> NDArray[np.intp]:
    """Number of the box at the middle of each cell of the screen's lattice."""
    # Cells from first to last (excluded) on both axes have their middle in the box.
    first, last = (
        np.ceil(end * MOST_CELLS - 0.5 - _ROUNDING).astype(np.intp)
        for end in (leaves.low, leaves.low + leaves.size)
    )
    wide, high = (last - first).T
    box = np.repeat(np.arange(len(wide)), wide * high)
    within = np.arange(len(box)) - np.repeat(np.cumsum(wide * high) - wide * high, wide * high)
    found = np.zeros((MOST_CELLS, MOST_CELLS), dtype=np.intp)
    found[first[box, 0] + within // high[box], first[box, 1] + within % high[box]] = box
    return found


def _points(picture: WaveClusterPicture) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    counts, width = picture.private.counts, picture.width(0)
    ends = np.cumsum(counts.ravel().astype(np.int64))
    # These places are only for the picture, so they have their own randomness.
    generator = np.random.default_rng(0)
    some = generator.choice(ends[-1], min(MOST_POINTS, int(ends[-1])), replace=False)
    index = np.unravel_index(np.searchsorted(ends, some, side="right"), counts.shape)
    x, y = (
        low + (at + generator.random(len(at))) * step
        for (low, _), at, step in zip(picture.domain.bounds, index, width, strict=True)
    )
    return x, y


def _outlines(picture: WaveClusterPicture, leaves: Leaves) -> Trace:
    """Borders of the boxes as few long lines, since many short lines would be slow."""
    wide = leaves.size.min(axis=1) >= THINNEST
    low, high = leaves.low[wide], (leaves.low + leaves.size)[wide]
    lines = []
    for axis, other in ((0, 1), (1, 0)):
        at = np.concatenate([low[:, axis], high[:, axis]]).round(9)
        begin, end = (np.tile(one[:, other], 2) for one in (low, high))
        order = np.lexsort((begin, at))
        at, begin, end = at[order], begin[order], end[order]
        # A line goes on while the next border begins before the line ends. Ranks keep lines apart.
        rank = 2.0 * np.cumsum(np.diff(at, prepend=at[:1]) > 0)
        reached = np.maximum.accumulate(rank + end)
        new = np.ones(len(at), dtype=bool)
        new[1:] = (rank + begin)[1:] > reached[:-1] + _ROUNDING
        starts = np.flatnonzero(new)
        ends = (reached - rank)[np.append(starts[1:], len(at)) - 1] if len(at) else end
        line = np.full((2, len(starts), 3), np.nan)
        line[axis, :, :2] = at[starts, None]
        line[other, :, 0], line[other, :, 1] = begin[starts], ends
        lines.append(line.reshape(2, -1))
    x, y = np.concatenate(lines, axis=1)
    domain, look = picture.domain, {"color": faded(INK[picture.mode], 0.25), "width": 0.8}
    x, y = (
        low + one * (high - low) for one, (low, high) in zip((x, y), domain.bounds, strict=True)
    )
    return scatter("lines", x, y, name="boxes", line=look)

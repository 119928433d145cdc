"""Public bounds of the data, and the one rule for the grid cell of a point.

Cells are half-open, but the last cell is closed. They have equal widths, and the edges are those of
``numpy.histogramdd``. A formula may fail near an edge, so its cell is compared with the edges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dpviz.base.arrays import Floats, Indices, Ints, Mask
from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import counted, readable
from dpviz.base.threads import in_threads, spans

Outside = Literal["clip", "drop"]

#: Largest number of cells: their counts take 256 MiB.
MAX_CELLS = 2**25

#: Smallest width of an axis, relative to its larger bound, for which all cell edges differ.
MIN_WIDTH = 1e-9

#: Smallest number of points for each thread.
CHUNK = 2**18

#: Smallest number of points for which compiled loops save time in spite of their slow import.
MANY = 2**16


@dataclass(frozen=True)
class Domain:
    """Closed intervals, one per axis, that are expected to contain the points.

    Parameters
    ----------
    bounds
        ``((lo, hi), ...)``, one pair per axis, in the units of the data.
    declared
        True if the bounds are public knowledge; False if they are computed from the data, which
        reveals the smallest and largest value of every column.

    Raises
    ------
    InputError
        If a bound is not finite or ``lo >= hi``.
    """

    bounds: tuple[tuple[float, float], ...]
    declared: bool = True

    def __post_init__(self) -> None:
        """Convert bounds to floats and check every axis."""
        if not self.bounds:
            raise InputError("domain is empty: give one lo,hi pair per axis.")
        pairs = []
        for axis, pair in enumerate(self.bounds, start=1):
            try:
                lo, hi = (float(value) for value in pair)
            except (TypeError, ValueError):
                raise InputError(
                    f"domain of axis {axis} is {shown(repr(pair))}: give two numbers lo,hi."
                ) from None
            if not (np.isfinite(lo) and np.isfinite(hi) and lo < hi):
                raise InputError(
                    f"domain of axis {axis} is {lo:g},{hi:g}: lo must be less than hi, and both "
                    "must be finite."
                )
            if not MIN_WIDTH * max(abs(lo), abs(hi), 1e-280) <= hi - lo <= 1e300:
                raise InputError(
                    f"domain of axis {axis} is {lo!r},{hi!r}: its width {hi - lo:g} can't be split "
                    "into cells in double precision; give other bounds."
                )
            pairs.append((lo, hi))
        object.__setattr__(self, "bounds", tuple(pairs))

    @classmethod
    def from_data(cls, points: ArrayLike) -> Domain:
        """Smallest box around ``points`` (n, d), n at least 1: for exploring, not private.

        If all points have the same value on an axis, this axis gets a width of 1 around this value.
        """
        points = np.asarray(points, dtype=float)
        if points.ndim != 2 or not len(points):
            raise InputError("no domain can be computed from data without points: declare one.")
        lows, highs = points.min(axis=0), points.max(axis=0)
        pairs = [
            (float(lo), float(hi))
            if hi - lo > MIN_WIDTH * max(abs(lo), abs(hi), 1e-280)
            else _around(float(lo), float(hi))
            for lo, hi in zip(lows, highs, strict=True)
        ]
        return cls(tuple(pairs), declared=False)

    @classmethod
    def parse(cls, text: str) -> Domain:
        """Read ``"lo,hi;lo,hi"``, the spelling on the command line and in links."""
        try:
            pairs = tuple(
                tuple(float(value) for value in axis.split(",")) for axis in text.split(";")
            )
            if any(len(pair) != 2 for pair in pairs):
                raise ValueError
        except ValueError:
            raise InputError(
                f'domain is "{shown(text, 80)}": write one lo,hi pair per axis, separated by '
                'semicolons, for example "0,1;0,1".'
            ) from None
        return cls(pairs)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Write ``"lo,hi;lo,hi"``, which :meth:`parse` reads."""
        return ";".join(f"{lo!r},{hi!r}" for lo, hi in self.bounds)

    def of(self, columns: Sequence[str]) -> str:
        """Bounds with the names of their columns, in their order: "x 0 to 1, y 0 to 2"."""
        pairs = zip(columns, self.bounds, strict=True)
        return ", ".join(
            f"{shown(name)} {readable(lo, 6)} to {readable(hi, 6)}" for name, (lo, hi) in pairs
        )

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.bounds)

    @property
    def lows(self) -> Floats:
        """Lower bounds, shape (d,)."""
        return np.array([lo for lo, _ in self.bounds])

    @property
    def highs(self) -> Floats:
        """Upper bounds, shape (d,)."""
        return np.array([hi for _, hi in self.bounds])

    def select(self, axes: Sequence[int]) -> Domain:
        """Return the domain of these axes, in this order."""
        return Domain(tuple(self.bounds[axis] for axis in axes), declared=self.declared)

    def contains(self, points: Floats) -> Mask:
        """Mask (n,) of the points inside the domain or on its border."""
        # Use a loop over the axes, because a reduction over two columns takes longer than the loop.
        inside = np.ones(len(points), dtype=bool)
        for axis, (lo, hi) in enumerate(self.bounds):
            values = points[:, axis]
            inside &= (values >= lo) & (values <= hi)
        return inside

    def check_ndim(self, number: int, kind: str, holder: str) -> None:
        """Raise InputError if the domain has another number of axes.

        In the message, ``holder`` is the name of the data, and ``kind`` is a noun such as "column".
        """
        if self.ndim != number:
            raise InputError(
                f"the domain has {counted(self.ndim, 'lo,hi pair')} but {holder} has "
                f"{counted(number, kind)}: give one lo,hi pair per {kind}."
            )


def _around(lo: float, hi: float) -> tuple[float, float]:
    half = max(0.5, abs(lo) * 1e-6)
    return lo - half, hi + half


def grid_shape(grid: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """Cells per axis from ``grid`` (one number for all axes, or one number per axis).

    Raises InputError if a side is not a whole number of at least 2, there are not ``ndim`` sides,
    or the counts would need too much memory.
    """
    given: Sequence[object] = (
        tuple(grid) if isinstance(grid, Sequence | np.ndarray) and np.ndim(grid) else (grid,) * ndim
    )
    if len(given) != ndim:
        raise InputError(
            f"grid has {len(given)} sides but the data has {ndim} columns: "
            "give one number, or one per column."
        )
    sides = [_side(side) for side in given]
    cells = math.prod(sides)
    if cells > MAX_CELLS:
        if 2**ndim > MAX_CELLS:
            way_out = f"choose at most {MAX_CELLS.bit_length() - 1} columns"
        else:
            way_out = "choose fewer cells per axis"
        raise InputError(
            f"grid = {shown(' x '.join(map(_brief, sides)))} has {_brief(cells, ',')} cells, more "
            f"than the {MAX_CELLS:,} that fit into memory; {way_out}."
        )
    return tuple(sides)


def _brief(number: int, thousands: str = "") -> str:
    if abs(number) < 10**15:
        return f"{number:{thousands}}"
    return f"{'-' if number < 0 else ''}10^{math.log10(abs(number)):.0f}"


def _side(side: object) -> int:
    if isinstance(side, bool | np.bool_) or not isinstance(side, int | np.integer):
        raise InputError(
            f"grid = {shown(repr(side))}: the number of cells per axis is a whole number."
        )
    if side < 2:
        raise InputError(
            f"grid = {_brief(int(side))}: all points would share one cell; choose 2 or more cells "
            "per axis."
        )
    return int(side)


def axis_edges(lo: float, hi: float, side: int) -> Floats:
    """Cell edges of one axis, shape (side + 1,), exactly equal to NumPy's edges."""
    return np.linspace(lo, hi, side + 1)


def axis_cells(values: Floats, lo: float, hi: float, side: int) -> Indices:
    """Cell of every value on one axis, shape (n,); values outside get the border cell."""
    edges = axis_edges(lo, hi, side)
    scaled = (np.clip(values, lo, hi) - lo) * (side / (hi - lo))
    cells = np.minimum(scaled.astype(np.intp), side - 1)
    cells -= values < edges[cells]
    np.maximum(cells, 0, out=cells)
    cells += (values >= edges[cells + 1]) & (cells < side - 1)
    return cells


def check_outside(outside: str) -> None:
    """Raise InputError if the rule for points outside is unknown."""
    if outside not in ("clip", "drop"):
        raise InputError(f'outside = "{shown(outside)}" is unknown: choose clip or drop.')


def flat_cells(points: Floats, domain: Domain, shape: tuple[int, ...]) -> Indices:
    """Flat (row-major) cell number of every point, shape (n,); points outside are clipped."""
    if loops := compiled_loops(len(points)):
        found, (box, sides) = np.empty(len(points), dtype=np.intp), compiled_rule(domain, shape)

        def work(part: slice) -> None:
            loops.flat(points[part], box, sides, found[part])

        in_threads(work, spans(len(points), CHUNK))
        return found
    flat = np.zeros(len(points), dtype=np.intp)
    for axis, (side, (lo, hi)) in enumerate(zip(shape, domain.bounds, strict=True)):
        flat *= side
        flat += axis_cells(points[:, axis], lo, hi, side)
    return flat


def compiled_loops(n: int) -> Any:
    """Import the compiled loops; return None if NumPy is faster than their import."""
    if n < MANY:
        return None
    # "from dpviz import" would load all estimators, because it searches for public names first.
    return import_module("dpviz.grid.cell_kernels")


def compiled_rule(domain: Domain, shape: tuple[int, ...]) -> tuple[Floats, Ints]:
    """Arguments ``box`` and ``sides`` of the compiled loops, with the edges of ``axis_edges``."""
    width, sides = domain.highs - domain.lows, np.array(shape, dtype=np.int64)
    return np.stack([domain.lows, domain.highs, sides / width, width / sides]), sides

"""The data type of all parts of dpviz: finite points, or a grid of counts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.data.reading.unread import NamedRows
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin

#: Identifiers that are hashed together.
_ROWS = 2**18


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """Known classes of records. Scores compare clusters with them; no private run reads them.

    ``names`` are those of the classes, none twice; ``codes`` (n,) is the position there of each
    record's; ``column`` is where they come from.
    """

    column: str
    names: tuple[str, ...]
    codes: NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Points of n records in d columns, or counts per cell of a grid: exactly one of both."""

    name: str  # for the screen
    points: NDArray[np.float64] | None = None  # (n, d), all values finite
    counts: NDArray[np.int64] | None = None  # records per cell, one axis per column
    columns: tuple[str, ...] = ()  # names, one per axis
    domain: Domain | None = None  # declared, so public; the box that counts cover
    units: NDArray[np.generic] | None = None  # identifiers of the persons behind records (n,)
    classes: Classes | None = None  # of points alone
    dropped: int = 0  # records left out on reading, with a missing or infinite value
    notes: tuple[str, ...] = ()  # sentences on changes made on reading, for the screen
    #: Columns whose name may be a value of a first record that was read as names; such a name must
    #: not be published.
    doubtful: tuple[str, ...] = ()
    unit: str | None = None  # column of ``units``
    origins: tuple[Origin, ...] = ()  # files; none of an upload or of an object in memory
    #: Those of the dropped records that hold something else than a number, where a person left them
    #: out.
    unread: NamedRows | None = None
    #: Columns left aside where nobody named the columns; None where somebody did.
    aside: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check shapes; fill in column names."""
        if (self.points is None) == (self.counts is None):
            raise TypeError("a Dataset holds either points or counts")
        if self.points is not None and self.points.ndim != 2:
            raise InputError(
                f"points have shape {self.points.shape}: give one row per record "
                "and one column per axis."
            )
        if self.classes is not None and self.classes.codes.shape != (self.n,):
            raise TypeError("a Dataset has one class per record")
        if not self.columns:
            names = tuple(f"column {axis + 1}" for axis in range(self.ndim))
            object.__setattr__(self, "columns", names)

    @property
    def _content(self) -> NDArray[Any]:
        content = self.points if self.counts is None else self.counts
        assert content is not None  # noqa: S101 - __post_init__ made sure
        return content

    @property
    def ndim(self) -> int:
        """Number of columns."""
        return self._content.shape[1] if self.counts is None else self.counts.ndim

    @cached_property
    def n(self) -> int:
        """Number of records."""
        return len(self._content) if self.counts is None else int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        """Hash of all values, as a cache key: one more record changes it."""
        content = self._content
        hasher = hashlib.blake2b(repr((content.shape, content.dtype.str)).encode(), digest_size=16)
        hasher.update(np.ascontiguousarray(content).data)
        if self.units is not None:
            for start in range(0, len(self.units), _ROWS):  # as text they take ten times as much
                hasher.update(repr(self.units[start : start + _ROWS].tolist()).encode())
        if self.classes is not None:
            hasher.update(repr(self.classes.names).encode())
            hasher.update(np.ascontiguousarray(self.classes.codes).data)
        return hasher.hexdigest()

    def bounds(self, domain: Domain | None = None, *, from_data: bool = False) -> Domain:
        """Domain of a run on these data, not private where it is their range.

        Without ``domain`` it is the declared one, or else the range of the points or the numbers of
        the cells of a grid; with ``from_data`` points take their range in any case. Raises
        InputError if domain and data have different numbers of axes.
        """
        if self.counts is not None:
            sides = tuple((0.0, float(side)) for side in self.counts.shape)
            box = domain or self.domain or Domain(sides)
            box.check_ndim(self.ndim, "dimension", "the grid of counts")
            return box
        declared = domain or (None if from_data else self.domain)
        box = declared or Domain.from_data(self._content)
        box.check_ndim(self.ndim, "column", "the data")
        return box

    def check_some_inside(self, domain: Domain, n_outside: int) -> None:
        """Raise InputError if a domain contains none of the points."""
        if self.points is not None and len(self.points) and n_outside == len(self.points):
            raise InputError(
                f"domain {domain} holds none of the {len(self.points):,} points: declare bounds in "
                "the units of the data."
            )

    def take(self, part: NDArray[np.bool_] | NDArray[np.intp]) -> Dataset:
        """Return the data with only some of its points, by mask (n,) or by position from 0."""
        assert self.points is not None  # noqa: S101 - cells of a grid are not records
        classes = self.classes
        return replace(
            self,
            points=self.points[part],
            units=None if self.units is None else self.units[part],
            classes=None if classes is None else replace(classes, codes=classes.codes[part]),
        )

    def select(self, columns: Sequence[str | int]) -> Dataset:
        """Return the data with only some columns, by name or by position from 1.

        Raises InputError where a column is unknown or the data is a grid of counts.
        """
        if self.points is None:
            raise InputError(
                "columns can't be chosen from a grid of counts, whose axes are fixed: leave them "
                "out."
            )
        axes = positions_of(columns, self.columns, "the data")
        return replace(
            self,
            points=np.ascontiguousarray(self.points[:, axes]),
            columns=tuple(self.columns[axis] for axis in axes),
            domain=self.domain.select(axes) if self.domain else None,
        )


def positions_of(columns: Sequence[str | int], known: Sequence[str], place: str) -> list[int]:
    """Positions of columns by :func:`position_of`; InputError where one is named twice."""
    axes = [position_of(column, known, place) for column in columns]
    if len(set(axes)) < len(axes):
        named = listed(known[axis] for axis in axes)
        raise InputError(f"the chosen columns are {named}: name each column once.")
    return axes


def position_of(column: str | int, columns: Sequence[str], place: str) -> int:
    """Position, from 0, of a column given by its name or its number from 1.

    Raises InputError if this place has no such column.
    """
    text = str(column)
    if isinstance(column, str) and column in columns:
        return columns.index(column)
    # For nine digits or more, int() may be slow or fail.
    if text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= len(columns):
        return int(text) - 1
    raise InputError(
        f'column "{shown(column)}" is not in {shown(place)}: choose from {listed(columns)}.'
    )

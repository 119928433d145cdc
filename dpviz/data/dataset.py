"""The data type of all parts of dpviz: finite points, or a grid of counts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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

    Parameters
    ----------
    column
        Name of the column that they come from.
    names
        Class names, none twice.
    codes
        Class of each record as a position in ``names``, shape (n,).
    """

    column: str
    names: tuple[str, ...]
    codes: NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Points of n records in d columns, or counts per cell of a grid.

    Exactly one of ``points`` and ``counts`` is given.

    Parameters
    ----------
    name
        What to call the data on the screen.
    points
        Float array (n, d), all values finite.
    counts
        Non-negative whole numbers, one axis per column: records per cell.
    columns
        Column names, one per axis.
    domain
        Public bounds, if somebody declared them; for counts the box that the grid
        covers.
    units
        Identifier of the person behind each record, shape (n,), if there is one.
    classes
        Known classes of the records, if there are any; only for points.
    dropped
        Records left out on reading because a value was missing or infinite.
    notes
        Sentences about changes made on reading, for the screen.
    doubtful
        Columns whose name may be a value of a first record that was read as names; such a name
        must not be published.
    unit
        Name of the column that ``units`` come from, if it has one.
    origins
        Files that were read; none of an upload or of an object in memory.
    unread
        Those of the dropped records that hold something else than a number, where a person left
        them out.
    aside
        Columns that were left aside where nobody named the columns; None where somebody did.
    """

    name: str
    points: NDArray[np.float64] | None = None
    counts: NDArray[np.int64] | None = None
    columns: tuple[str, ...] = ()
    domain: Domain | None = None
    units: NDArray[np.generic] | None = None
    classes: Classes | None = None
    dropped: int = 0
    notes: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    unit: str | None = None
    origins: tuple[Origin, ...] = ()
    unread: NamedRows | None = None
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
    def ndim(self) -> int:
        """Number of columns."""
        return self.counts.ndim if self.points is None else self.points.shape[1]  # type: ignore[union-attr]

    @cached_property
    def n(self) -> int:
        """Number of records."""
        return int(self.counts.sum()) if self.points is None else len(self.points)  # type: ignore[union-attr]

    @cached_property
    def digest(self) -> str:
        """Hash of all values, as a cache key: one more record changes it."""
        content = self.points if self.counts is None else self.counts
        assert content is not None  # noqa: S101 - __post_init__ made sure
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
        """Domain of a run on these data.

        Parameters
        ----------
        domain
            Bounds (of counts: the box that they cover); None takes the declared ones, or else the
            range of the points (not private), and for counts the numbers of the cells.
        from_data
            Whether points without ``domain`` take their range even where bounds are declared.

        Raises
        ------
        InputError
            If domain and data have different numbers of axes.
        """
        box = domain or self.domain
        if self.points is not None and (box is None or (from_data and domain is None)):
            box = Domain.from_data(self.points)
        elif box is None:
            assert self.counts is not None  # noqa: S101 - __post_init__ made sure
            box = Domain(tuple((0.0, float(side)) for side in self.counts.shape))
        if self.counts is not None:
            box.check_ndim(self.ndim, "dimension", "the grid of counts")
        else:
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

        Raises
        ------
        InputError
            Where a column is unknown or the data is a grid of counts.
        """
        if self.points is None:
            raise InputError(
                "columns can't be chosen from a grid of counts, whose axes are fixed: leave them "
                "out."
            )
        axes = [position_of(column, self.columns, "the data") for column in columns]
        if len(set(axes)) != len(axes):
            raise InputError(f"columns = {listed(map(str, columns))}: name each column once.")
        return replace(
            self,
            points=np.ascontiguousarray(self.points[:, axes]),
            columns=tuple(self.columns[axis] for axis in axes),
            domain=self.domain.select(axes) if self.domain else None,
        )


def position_of(column: str | int, columns: Sequence[str], place: str) -> int:
    """Position, from 0, of a column given by its name or its number from 1.

    Raises
    ------
    InputError
        If this place has no such column.
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

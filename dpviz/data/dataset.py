"""The data type that all of dpviz uses: finite points, or a grid of counts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.arrays import Floats, Indices, Ints, Mask
from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, listed, shown
from dpviz.data.reading.unread import NamedRows
from dpviz.grid.areas import Areas
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin

_ROWS = 2**18


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """Known classes of records, with which scores compare clusters; no private run reads them."""

    column: str
    names: tuple[str, ...]  # without duplicates
    codes: Indices  # (n,) positions in ``names``


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Either points of n records in d columns, or counts per cell of a grid."""

    name: str  # as shown on the screen
    points: Floats | None = None  # (n, d), all values finite
    counts: Ints | None = None  # records per cell, one axis per column
    columns: tuple[str, ...] = ()  # names, one per axis
    domain: Domain | None = None  # declared, so public; or the box of the count grid
    units: NDArray[np.generic] | None = None  # identifier of the person behind each record (n,)
    classes: Classes | None = None  # only with points
    dropped: int = 0  # records left out by the reader: a value was missing or infinite
    notes: tuple[str, ...] = ()  # sentences about changes by the reader, shown on the screen
    #: Column names that may be values of the first record, so they must not be published.
    doubtful: tuple[str, ...] = ()
    areas: Areas | None = None  # public areas in which points are counted, instead of cells
    unit: str | None = None  # the column that contains ``units``
    origins: tuple[Origin, ...] = ()  # the files; empty for an object in memory
    #: Records that the user chose to leave out because a value is not a number.
    unread: NamedRows | None = None
    #: Columns that the automatic choice left out; None if the user named the columns.
    aside: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check shapes; fill in default column names."""
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
        """Hash of all values, used as a cache key. The hash changes if even one record is added."""
        content = self._content
        hasher = hashlib.blake2b(repr((content.shape, content.dtype.str)).encode(), digest_size=16)
        hasher.update(np.ascontiguousarray(content).data)
        if self.units is not None:
            for start in range(0, len(self.units), _ROWS):  # in parts, to save memory
                hasher.update(repr(self.units[start : start + _ROWS].tolist()).encode())
        if self.classes is not None:
            hasher.update(repr(self.classes.names).encode())
            hasher.update(np.ascontiguousarray(self.classes.codes).data)
        return hasher.hexdigest()

    def bounds(self, domain: Domain | None = None, *, from_data: bool = False) -> Domain:
        """Domain: ``domain``, else the declared domain, else the range of the points (not public).

        With ``from_data``, a declared domain of points is ignored. InputError if the numbers of
        axes differ.
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
        """Raise InputError if all points are outside a domain."""
        if self.points is not None and len(self.points) and n_outside == len(self.points):
            raise InputError(
                f"domain {domain} holds none of the {len(self.points):,} points: it gives "
                f"{domain.of(self.columns)}; declare bounds in the units of the data, in this "
                "order."
            )

    def take(self, part: Mask | Indices) -> Dataset:
        """Return only some of the points, chosen by a mask (n,) or by their positions from 0."""
        assert self.points is not None  # noqa: S101 - cells of a grid are not records
        classes = self.classes
        return replace(
            self,
            points=self.points[part],
            units=None if self.units is None else self.units[part],
            classes=None if classes is None else replace(classes, codes=classes.codes[part]),
        )

    def select(self, columns: Sequence[str | int]) -> Dataset:
        """Return columns by name or by number from 1; InputError if unknown, or for counts."""
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
    """Position of each column, see :func:`position_of`; InputError if a column is repeated."""
    axes = [position_of(column, known, place) for column in columns]
    if len(set(axes)) < len(axes):
        named = listed(known[axis] for axis in axes)
        raise InputError(f"the chosen columns are {named}: name each column once.")
    return axes


def position_of(column: str | int, columns: Sequence[str], place: str) -> int:
    """Position (from 0) of a column by its name or number; InputError names the table ``place``."""
    text = str(column)
    if isinstance(column, str) and column in columns:
        return columns.index(column)
    # int() may be slow or fail with nine digits or more.
    if text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= len(columns):
        return int(text) - 1
    raise InputError(
        f'column "{shown(column)}" is not in {shown(place)}: choose from {listed(columns)}.'
    )

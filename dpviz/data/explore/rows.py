"""Result of a reader for exploring: rows of fields, with or without names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpviz.base.arrays import Ints
from dpviz.base.errors import InputError
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.reading.unread import NO_ROWS, NamedRows


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of :func:`~dpviz.data.reading.read.read_table`; the reader guesses what is None."""

    skip: int | None = None
    header: bool | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    part: str | None = None

    def __post_init__(self) -> None:
        """Check the number of lines."""
        if self.skip is not None and self.skip < 0:
            raise InputError(f"skip = {self.skip}: give a number of lines of at least 0.")


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Fields in columns, which are Arrow arrays of text or of other types."""

    columns: list[pa.ChunkedArray]
    names: list[str] | None = None  # None if the first rows may contain them
    numbers: Callable[[], Ints] | None = None  # row numbers (n,) in the source, from 1
    notes: tuple[str, ...] = ()  # about guesses and rows left out
    ragged: NamedRows = NO_ROWS  # left out: a different number of fields
    commas: bool = False  # whether single cells may have decimal commas
    written: bool = False  # whether a program wrote the numbers, with decimal points

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0]) if self.columns else 0

"""What all engines have in common: a part, the work on it, and how tables are added.

Whole numbers add up to the same in any order. Floats don't, so they are added in the order of the
parts: any engine returns the same bits, however many workers it has and whichever of them die.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.data.reading.files import out_of_reach, refusing

#: What a pass finds in a part of the records: additive arrays of the same shapes for all parts.
Tables = tuple[NDArray[Any], ...]

#: Tables that wait to be added, for each place of the tuple.
Waiting = tuple[list[NDArray[Any]], ...]

#: Reads a part; a function of a module, or a partial of one, since it travels to the workers.
PartWork = Callable[[Any], Tables]


class Titled(Protocol):
    """A part of stored records: it can be sent to another process, and has a name for messages."""

    @property
    def title(self) -> str: ...  # noqa: D102


class Part(Titled, Protocol):
    """Stored records, or some of them."""

    def chunks(self) -> Iterator[tuple[NDArray[np.float64], int]]:
        """Finite records (m, d) chunk by chunk, with the number of those left out."""

    def rows(self) -> Iterator[NDArray[np.float64]]:
        """All records (m, d) chunk by chunk, also those that :meth:`chunks` leaves out."""

    def check(self) -> None:
        """Raise InputError where the part is not what it was when it was opened."""


class Engine(Protocol):
    """Runs the same work on all parts of the records.

    It raises InputError where a part can't be read, or has changed, with its name; and Cancelled
    where the run should stop.
    """

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of every part, in the order of the parts."""

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the tables of all parts, added up in the order of the parts."""


def read(work: PartWork, part: Titled) -> Tables:
    """Do the work on a part; InputError names a file that is missing or can't be read."""
    with refusing(partial(out_of_reach, part.title), OSError):
        return work(part)


def read_alone(work: PartWork, part: Titled) -> Waiting:
    """Tables of a part, ready to be joined."""
    return tuple([table] for table in read(work, part))


def joined(some: Iterable[Waiting]) -> Waiting:
    """Join tables in the order of their parts: whole numbers are added, floats wait."""
    columns = [list(chain(*column)) for column in zip(*some, strict=True)]
    return tuple(
        [_added(tables)] if all(table.dtype.kind in "iu" for table in tables) else tables
        for tables in columns
    )


def summed(all_tables: Waiting) -> Tables:
    """Tables of all parts, added in the order of the parts."""
    return tuple(_added(tables) for tables in all_tables)


def _added(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    total = tables[0].copy()
    for table in tables[1:]:
        total += table
    return total

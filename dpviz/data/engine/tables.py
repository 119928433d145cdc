"""What all engines have in common: a part, the work on it, and how tables are added.

Whole numbers add up to the same in any order. Floats don't, so they are added in the order of the
parts: any engine returns the same bits, however many workers it has and whichever of them die.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, reason, shown

#: What a pass finds in a part of the records: additive arrays of the same shapes for all parts.
Tables = tuple[NDArray[Any], ...]

#: Tables that wait to be added, for each place of the tuple.
Waiting = tuple[list[NDArray[Any]], ...]


class Titled(Protocol):
    """A part of stored records: it can be sent to another process, and has a name."""

    @property
    def title(self) -> str:
        """Name for messages."""
        ...


class Part(Titled, Protocol):
    """Stored records, or some of them."""

    def chunks(self) -> Iterator[tuple[NDArray[np.float64], int]]:
        """Finite records (m, d) chunk by chunk, with the number of those left out."""
        ...

    def rows(self) -> Iterator[NDArray[np.float64]]:
        """All records (m, d) chunk by chunk, also those that :meth:`chunks` leaves out."""
        ...

    def check(self) -> None:
        """Raise InputError where the part is not what it was when it was opened."""
        ...


#: Reads a part; a function of a module, or a partial of one, since it travels to the workers.
PartWork = Callable[[Any], Tables]


class Engine(Protocol):
    """Runs the same work on all parts of the records."""

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of every part, in the order of the parts.

        Raises
        ------
        InputError
            Where a part can't be read, or has changed: the message names it.
        Cancelled
            Where the run should stop.
        """
        ...

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the tables of all parts added up; raises the same."""
        ...


def read(work: PartWork, part: Titled) -> Tables:
    """Do the work on a part; a file that can't be read is named.

    Raises
    ------
    InputError
        Where the file is missing, or the disk or network fails.
    """
    try:
        return work(part)
    except OSError as error:
        raise InputError(
            f"{shown(part.title, 120)} can't be read: {reason(error)}; all machines that "
            "read need it at the same path."
        ) from error


def waiting(tables: Tables) -> Waiting:
    """Tables of a part, ready to be joined with others."""
    return tuple([table] for table in tables)


def joined(some: Iterable[Waiting]) -> Waiting:
    """Join tables in the order of their parts: whole numbers are added, floats wait."""
    columns = zip(*some, strict=True)
    return tuple(_lighter([table for few in column for table in few]) for column in columns)


def _lighter(tables: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """One sum of tables of whole numbers; floats as they are."""
    whole = all(np.issubdtype(table.dtype, np.integer) for table in tables)
    return [added(tables)] if whole else tables


def added(tables: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Sum of tables, one after the other; at least one."""
    rest = iter(tables)
    total = next(rest).copy()
    for table in rest:
        total += table
    return total


def summed(all_tables: Waiting) -> Tables:
    """Tables of all parts, added in the order of the parts."""
    return tuple(added(tables) for tables in all_tables)

"""Common types of all engines: a part, the work on a part, and sums of tables.

Sums of floats depend on the order, so floats are added in the order of the parts. So every engine
returns the same tables bit for bit, for any number of workers, and even if some workers die.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, Protocol

from numpy.typing import NDArray

from dpviz.base.arrays import Floats
from dpviz.data.reading.files import out_of_reach, refusing

#: Result of a pass for one part: arrays to add up, which have the same shapes for all parts.
Tables = tuple[NDArray[Any], ...]

#: Tables that are not added yet: a list for each position of the tuple.
Waiting = tuple[list[NDArray[Any]], ...]

#: Reads a part. It is sent to workers, so it is a function of a module, or a partial of it.
PartWork = Callable[[Any], Tables]


class Titled(Protocol):
    """A part of stored records that can be sent to other processes; messages name its ``title``."""

    @property
    def title(self) -> str: ...  # noqa: D102


class Part(Titled, Protocol):
    """Stored records, or some of them."""

    def chunks(self) -> Iterator[tuple[Floats, int]]:
        """Chunks of finite records (m, d), each with its number of records that were left out."""

    def rows(self) -> Iterator[Floats]:
        """Chunks of all records (m, d), including the records that :meth:`chunks` leaves out."""

    def check(self) -> None:
        """Raise InputError if the part has changed since it was opened."""


class Engine(Protocol):
    """Runs the same work on all parts; InputError names an unreadable or changed part."""

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of each part, in the order of the parts."""

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the sum of the tables of all parts, added in the order of the parts."""


def read(work: PartWork, part: Titled) -> Tables:
    """Do the work on a part; if its file can't be read, raise an InputError that names the file."""
    with refusing(partial(out_of_reach, part.title), OSError):
        return work(part)


def read_alone(work: PartWork, part: Titled) -> Waiting:
    """Tables of a part, ready to be joined."""
    return tuple([table] for table in read(work, part))


def joined(some: Iterable[Waiting]) -> Waiting:
    """Join tables in the order of their parts: add whole numbers, keep floats for later."""
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

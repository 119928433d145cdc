"""Figures that were measured once and stand in files beside this one."""

from __future__ import annotations

from typing import Protocol, TypeVar

from dpviz.families import CARDS
from dpviz.family.method import check_method


class Row(Protocol):
    """A figure about a method."""

    @property
    def method(self) -> str:
        """Name in :data:`dpviz.families.CARDS`."""


AnyRow = TypeVar("AnyRow", bound=Row)


def about(method: str | None, rows: tuple[AnyRow, ...]) -> tuple[AnyRow, ...]:
    """Return the rows about a method, perhaps none, or for None all, in the order of the file.

    Raises
    ------
    InputError
        If there is no method of this name.
    """
    if method is None:
        return rows
    check_method(method, CARDS)
    return tuple(row for row in rows if row.method == method)

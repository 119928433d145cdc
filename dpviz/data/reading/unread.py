"""Rows of a table that are named on the screen: how many there are, and the first of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import counted

#: Rows that are named; of more than these only the number is said.
NAMED = 10

#: Most rows that can't be read, for each one that can: more are no slips.
FEW = 0.25


@dataclass(frozen=True, kw_only=True)
class NamedRows:
    """Rows of a source, each with the cell for which it is named."""

    #: Number of rows.
    rows: int = 0

    #: Number in the source (from 1), column and cell of the first rows, in their order; the column
    #: is empty where the whole row is meant.
    first: tuple[tuple[int, str, str], ...] = ()

    def __or__(self, other: NamedRows) -> NamedRows:
        """Both, of which no row is in the other."""
        first = sorted({*self.first, *other.first})[:NAMED]
        return NamedRows(rows=self.rows + other.rows, first=tuple(first))

    @property
    def lines(self) -> list[str]:
        """Sentences on the first rows, and on how many more there are."""
        return self.named(NAMED)

    def named(self, most: int) -> list[str]:
        """The same on at most so many rows."""
        said = [
            f'row {row}, column "{shown(column)}": "{shown(cell)}"'
            if column
            else f"row {row}: {cell}"
            for row, column, cell in self.first[:most]
        ]
        more = self.rows - len(said)
        return [*said, *([f"and {counted(more, 'more row')}"] if more else [])]

    @property
    def these(self) -> str:
        """Words for the rows: "this row", or "these 3 rows"."""
        return "this row" if self.rows == 1 else f"these {self.rows:,} rows"

    @classmethod
    def of(cls, plain: Any) -> NamedRows:
        """Rows from JSON of another process, of which nothing is believed.

        Raises ValueError, TypeError or KeyError if it is something else.
        """
        first = tuple((int(row), shown(one), shown(it)) for row, one, it in plain["first"][:NAMED])
        return cls(rows=int(plain["rows"]), first=first)


NO_ROWS = NamedRows()


class UnreadableError(InputError):
    """Few rows of a table can't be read, and may be left out.

    The sentence says what is wrong with the first cell, and the way out.
    """

    def __init__(self, sentence: str, rows: NamedRows) -> None:
        super().__init__(
            f"{sentence.removesuffix('.')}, or leave {rows.these} out (--leave-out on the command "
            'line, unreadable="leave out" in Python).'
        )
        self.sentence, self.rows = sentence, rows

"""Unreadable rows of a table: their number, and the first rows, which the screen shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpviz.base.errors import InputError, shown
from dpviz.base.numbers import counted

#: Number of rows that are shown. Of further rows, only the number is shown.
NAMED = 10

#: Largest ratio of unreadable to readable rows; typing errors do not cause a larger ratio.
FEW = 0.25


@dataclass(frozen=True, kw_only=True)
class NamedRows:
    """Rows of a source, each with the cell that is the reason for showing it."""

    rows: int = 0

    #: Row number in the source (from 1), column ("" for a whole row) and cell of first rows.
    first: tuple[tuple[int, str, str], ...] = ()

    def __or__(self, other: NamedRows) -> NamedRows:
        """Union of two sets of rows that have no common rows."""
        first = sorted({*self.first, *other.first})[:NAMED]
        return NamedRows(rows=self.rows + other.rows, first=tuple(first))

    def lines(self, most: int = NAMED) -> list[str]:
        """Sentences about the first rows, and about the number of other rows."""
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
        """Words for the rows: "this row" or "these 3 rows"."""
        return "this row" if self.rows == 1 else f"these {self.rows:,} rows"

    @classmethod
    def of(cls, plain: Any) -> NamedRows:
        """Convert JSON from another process; ValueError, TypeError or KeyError for another form."""
        first = tuple((int(row), shown(one), shown(it)) for row, one, it in plain["first"][:NAMED])
        return cls(rows=int(plain["rows"]), first=first)


NO_ROWS = NamedRows()


class UnreadableError(InputError):
    """A few rows can't be read, but may be left out; the message has a cell and a remedy."""

    def __init__(self, sentence: str, rows: NamedRows) -> None:
        super().__init__(
            f"{sentence.removesuffix('.')}, or leave {rows.these} out (--leave-out on the command "
            'line, unreadable="leave out" in Python).'
        )
        self.sentence, self.rows = sentence, rows

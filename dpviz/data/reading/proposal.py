"""Which two columns of a table to show first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, listed, shown
from dpviz.data.geographic import PAIRS, without, words_of
from dpviz.data.reading.files import enough_memory
from dpviz.data.reading.table import Table

Floats = NDArray[np.float64]

#: Words in the names of columns that number or name the rows instead of measuring anything.
NUMBERING = frozenset((
    "id", "ids", "uuid", "guid", "index", "idx", "key", "row", "unnamed", "unit", "no", "nr",
    "number", "code", "zip", "plz", "postcode", "phone", "fid", "objectid", "gid", "vendor",
))  # fmt: skip

#: Words for parts of a date, which come last, too.
CALENDAR = frozenset((
    "year", "yyyy", "yy", "month", "mm", "day", "dd", "hour", "hh", "hr", "minute", "mn", "jahr",
    "monat", "tag", "stunde", "date", "time", "timestamp",
))  # fmt: skip

#: Different values for each row with which a column is as continuous as any.
_ENOUGH = 0.1

#: Those of them that may measure something, or be axes of a grid, too: then they repeat.
_OF_GRIDS = frozenset(("index", "idx", "row", "number", "no", "nr", "unit", "code"))

#: Rows that tell how continuous a column is.
LOOKED_AT = 20_000

#: Least rows that tell whether a column counts them.
_COUNTED = 10


def first_columns(
    table: Table, numeric: Sequence[str], but: Collection[str] = ()
) -> tuple[str, str]:
    """Return the columns for the axes across and upwards.

    They are chosen from two or more ``numeric`` columns, also nearly numeric ones; those of ``but``
    only where no two others are left that vary. A pair that is named as a place is (``lon`` and
    ``lat``, ``pickup_x`` and ``pickup_y``) comes first, then the two columns that look most
    continuous, in the order of the table: those with fractions before those without, then by the
    number of different values, up to a tenth of that of the rows. Columns that number the rows come
    last, and constant ones, or ones with cells that are no numbers, only where no others are left.
    """
    numeric = list(numeric)
    seen: dict[str, Floats] = {}
    if len(numeric) > 2:
        with enough_memory(table.name):
            seen = _first_rows(table, numeric)
        varied = [name for name, column in seen.items() if np.unique(column).size > 1]
        free = [name for name in varied if name not in but]
        numeric = next((some for some in (free, varied) if len(some) > 1), numeric)
    words = {name: words_of(name) for name in numeric}
    for pair in PAIRS:
        upwards = {without(words[one], pair[1]): one for one in reversed(numeric)}
        for across in numeric:
            rest = without(words[across], pair[0])
            if rest is not None and rest in upwards:
                return across, upwards[rest]
    odd = NUMBERING | CALENDAR
    clean = [one for one in numeric if one not in table.nearly_numeric and not odd & {*words[one]}]
    numeric = clean if len(clean) > 1 else numeric
    if len(numeric) > 2:
        # Of equal ones the first come first.
        best = sorted(numeric, key=lambda one: _continuity(seen[one], words[one]), reverse=True)[:2]
        numeric = [name for name in numeric if name in best]
    return numeric[0], numeric[1]


def _first_rows(table: Table, numeric: Sequence[str]) -> dict[str, Floats]:
    """Finite numbers in the first rows of each column."""
    values = table.first_numbers([table.columns.index(name) for name in numeric], LOOKED_AT)
    finite = np.isfinite(values)
    return {name: values[finite[:, at], at] for at, name in enumerate(numeric)}


def _continuity(column: Floats, words: Sequence[str]) -> tuple[bool, bool, bool, float]:
    """Rank of a column: the larger, the more continuous it looks."""
    different = np.unique(column)
    fractions = bool((column % 1 != 0).any())
    in_a_row = different.size == column.size and bool((np.diff(different) == 1).all())
    named = bool((NUMBERING | CALENDAR) & {*words})
    # Many different values are enough: rounding alone decides which column has more.
    levels = min(different.size, column.size * _ENOUGH)
    return not named, fractions or not in_a_row, fractions, levels


def proposed(
    table: Table, numeric: Sequence[str], nearly: Sequence[str] = (), but: Collection[str] = ()
) -> tuple[str, str]:
    """Return the two columns to show where a person has named none; see :func:`first_columns`.

    They are ``numeric`` or ``nearly`` so, ``but`` none of persons and classes. Raises InputError,
    with the names to choose from, if no two plausible columns are left.
    """
    choice = [one for one in table.columns if one in (*numeric, *nearly) and one not in but]
    if len(choice) < 2:
        raise InputError(
            f"{shown(table.name)} has {len(choice) or 'no'} column"
            f"{'' if len(choice) == 1 else 's'} of numbers, and two are needed: choose from "
            f"{listed(table.columns)}."
        )
    two = first_columns(table, choice)
    numbering = [name for name in two if numbers_rows(table, name)]
    if numbering:
        raise no_two(table, numbering)
    return two


def no_two(table: Table, numbering: Collection[str]) -> InputError:
    """Refusal to propose columns that number the rows."""
    verb = "numbers or names" if len(numbering) == 1 else "number or name"
    return InputError(
        f"{shown(table.name)} has no two columns to propose, since {listed(numbering)} {verb} the "
        f"rows: name the columns, and choose from {listed(table.columns)}."
    )


def numbers_rows(table: Table, name: str) -> bool:
    """Tell whether a column numbers or names the rows, instead of measuring anything.

    Its name says so, or it counts the first rows one by one from 0 or 1; an axis never does.
    """
    words = words_of(name)
    named = NUMBERING & {*words}
    if named - _OF_GRIDS:
        return True
    if any(without(words, axis) is not None for pair in PAIRS for axis in pair):
        return False
    (column,) = _first_rows(table, [name]).values()
    if named:
        return bool(np.unique(column).size == column.size)
    in_order = any(np.array_equal(column, np.arange(column.size) + one) for one in (0, 1))
    return column.size >= _COUNTED and in_order

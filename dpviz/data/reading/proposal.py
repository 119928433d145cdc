"""Propose the two columns of a table that are shown first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, listed, shown
from dpviz.data.geographic import PAIRS, without, words_of
from dpviz.data.reading.files import enough_memory
from dpviz.data.reading.table import Table
from dpviz.data.words import WORDS

#: Words of columns that count or identify the rows, those that may also name an axis of a grid, and
#: words for parts of a date.
NUMBERING, _OF_GRIDS, CALENDAR = (
    frozenset(WORDS[name]) for name in ("numbering", "of_grids", "calendar")
)

#: Columns with at least this number of different values per row are equally continuous.
_ENOUGH = 0.1

#: Number of first rows that decide how continuous a column is.
LOOKED_AT = 20_000

#: Smallest number of rows that show whether a column counts the rows.
_COUNTED = 10


def first_columns(
    table: Table, numeric: Sequence[str], but: Collection[str] = ()
) -> tuple[str, str]:
    """Choose two of the columns ``numeric`` (at least two): horizontal axis, then vertical axis."""
    # The first choice is a pair whose names mean a position. Otherwise the two most continuous
    # columns are chosen, in the order of the table: those with fractions first, then those with
    # more different values, up to a tenth of the number of rows. Columns of row numbers are the
    # last choice. Constant columns, columns with cells that are not numbers, and columns in ``but``
    # are used only if fewer than two others remain.
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
        # The sort is stable, so equal columns keep their order.
        best = sorted(numeric, key=lambda one: _continuity(seen[one], words[one]), reverse=True)[:2]
        numeric = [name for name in numeric if name in best]
    return numeric[0], numeric[1]


def _first_rows(table: Table, numeric: Sequence[str]) -> dict[str, Floats]:
    values = table.first_numbers([table.columns.index(name) for name in numeric], LOOKED_AT)
    finite = np.isfinite(values)
    return {name: values[finite[:, at], at] for at, name in enumerate(numeric)}


def _continuity(column: Floats, words: Sequence[str]) -> tuple[bool, bool, bool, float]:
    different = np.unique(column)
    fractions = bool((column % 1 != 0).any())
    in_a_row = different.size == column.size and bool((np.diff(different) == 1).all())
    named = bool((NUMBERING | CALENDAR) & {*words})
    # If columns have many different values, only rounding decides which column has more values.
    levels = min(different.size, column.size * _ENOUGH)
    return not named, fractions or not in_a_row, fractions, levels


def proposed(
    table: Table, numeric: Sequence[str], nearly: Sequence[str] = (), but: Collection[str] = ()
) -> tuple[str, str]:
    """The two columns to show if the user has named no column; see :func:`first_columns`.

    Columns in ``but`` (persons and classes) are not proposed. InputError lists all columns if fewer
    than two suitable columns remain.
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
    """Return the error for a table in which fewer than two columns measure something."""
    verb = "numbers or names" if len(numbering) == 1 else "number or name"
    return InputError(
        f"{shown(table.name)} has no two columns to propose, since {listed(numbering)} {verb} the "
        f"rows: name the columns, and choose from {listed(table.columns)}."
    )


def numbers_rows(table: Table, name: str) -> bool:
    """Whether a column only counts or identifies the rows, by its name or its first values."""
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

"""Points of a file or table for exploring. By default, two columns are proposed."""

from __future__ import annotations

from dataclasses import replace

from dpviz.base.errors import InputError, listed
from dpviz.data.dataset import Dataset, position_of
from dpviz.data.reading.proposal import no_two, numbers_rows, proposed
from dpviz.data.reading.read import Source, read_table
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.reading.unread import UnreadableError

Columns = list[str | int] | tuple[str | int, ...] | list[str] | tuple[str, ...]


def read(
    source: Source,
    columns: Columns | None = None,
    *,
    unit: str | int | None = None,
    classes: str | int | None = None,
    header: bool | None = None,
    skip: int | None = None,
    encoding: str | None = None,
    missing: str | tuple[str, ...] | list[str] = (),
    part: str | None = None,
    leave_out: bool = False,
) -> Dataset:
    """Read points for exploring, as the command line and the screen do.

    Parameters that are not given are guessed, and ``notes`` explain the guesses. A release does not
    accept these data: it reads the file itself.

    Parameters
    ----------
    source
        Path, bytes, binary file object, pandas DataFrame, pyarrow Table, or NumPy array (n, d), as
        in :func:`dpviz.read_table`.
    columns
        By name, or by number from 1. By default, two columns are proposed: two columns whose names
        mean a position, or else the two most continuous columns, but never a column of row numbers.
        If the source has only one column of numbers, this column is used.
    unit, classes
        ``unit`` is the column of persons; rows without a person are left out. ``classes`` is the
        column of known classes, which only scores use.
    header, skip, encoding, missing, part
        As in :func:`dpviz.read_table`; ``missing`` may also be a single string.
    leave_out
        Whether to leave out rows in which one of these columns contains a value that is not a
        number, if only a few rows do. By default, such rows raise an error.

    Returns
    -------
    Dataset
        ``points`` (n, d) in the units of the source, for the d ``columns``; ``units`` (n,) and
        ``classes`` if they are requested. ``aside`` names the columns that were not proposed.

    Raises
    ------
    InputError
        If the source can't be read, no two columns are suitable (the message lists the columns to
        choose from), a column is unknown, a cell is not a number, or no row remains.
    """
    table = read_table(
        source,
        header=header,
        unreadable="leave out",
        skip=skip,
        encoding=encoding,
        missing=(missing,) if isinstance(missing, str) else tuple(missing),
        part=part,
    )
    try:
        data = select_points(table, columns, unit=unit, classes=classes, leave_out=leave_out)
    except UnreadableError as error:
        raise InputError(
            f"{error.sentence.removesuffix('.')}, or leave {error.rows.these} out with "
            "leave_out=True."
        ) from None
    if not data.aside:
        return data
    note = f"Columns {listed(data.columns)} are proposed; left aside: {listed(data.aside)}."
    return replace(data, notes=(note, *data.notes))


def select_points(
    table: Table,
    columns: Columns | None = None,
    *,
    unit: str | int | None = None,
    classes: str | int | None = None,
    leave_out: bool = False,
) -> Dataset:
    """Points of a table that was read for exploring; errors as in :func:`read`."""
    unreadable: Unreadable = "leave out" if leave_out else "refuse"
    if columns is not None:
        return table.select(columns, unit=unit, classes=classes, unreadable=unreadable)
    named = [one for one in (unit, classes) if one is not None]
    others = {table.columns[position_of(one, table.columns, table.name)] for one in named}
    found = {*table.numeric_columns, *table.nearly_numeric} - others
    taken: tuple[str, ...] | None = tuple(found) or None  # if empty, ``table`` raises an error
    if len(found) > 1:
        taken = proposed(table, table.numeric_columns, table.nearly_numeric, others)
    elif len(table.columns) > 1 and any(numbers_rows(table, name) for name in found):
        raise no_two(table, found)
    data = table.select(taken, unit=unit, classes=classes, unreadable=unreadable)
    aside = (name for name in table.columns if name not in {*data.columns, *others})
    return replace(data, aside=tuple(aside))

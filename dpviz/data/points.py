"""Points of a file or table for exploring, with a proposal where nobody names the columns."""

from __future__ import annotations

from dataclasses import replace

from dpviz.base.errors import InputError, listed
from dpviz.data.dataset import Dataset, position_of
from dpviz.data.reading.proposal import no_two, numbers_rows, proposed
from dpviz.data.reading.read import Source, read_table
from dpviz.data.reading.table import Table, Unreadable
from dpviz.data.reading.unread import UnreadableError

#: Columns by name, or by number from 1.
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

    What is not said is found out, and ``notes`` say what was taken for what. A release takes no
    data that were read so: it reads the file by itself.

    Parameters
    ----------
    source
        Path, bytes, binary file object, pandas DataFrame, pyarrow Table, or NumPy array (n, d), as
        in :func:`dpviz.read_table`.
    columns
        By name, or by number from 1. By default two are proposed: a pair that is named as a place
        is, or else the two that look most continuous; never one that numbers the rows. A source
        with a single column of numbers gives that one.
    unit, classes
        Columns of the persons, without one of whom a row is left out, and of known classes, for
        scores alone.
    header, skip, encoding, missing, part
        As in :func:`dpviz.read_table`; ``missing`` may be a single text.
    leave_out
        Whether few rows that hold something else than a number in these columns are left out;
        by default they stop the reading.

    Returns
    -------
    Dataset
        ``points`` (n, d) in the units of the source, for the d ``columns``; identifiers ``units``
        (n,) and ``classes`` where they are asked for. ``aside`` names the columns that were left
        aside where two were proposed.

    Raises
    ------
    InputError
        Where the source can't be read, no two columns are plausible (the sentence names those to
        choose from), a column is unknown, a cell holds no number, or no row is left.
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
    """Points of a table that was read for exploring, or InputError; see :func:`read`.

    It is an :class:`UnreadableError` where few rows hold something else than a number.
    """
    unreadable: Unreadable = "leave out" if leave_out else "refuse"
    if columns is not None:
        return table.select(columns, unit=unit, classes=classes, unreadable=unreadable)
    named = [one for one in (unit, classes) if one is not None]
    others = {table.columns[position_of(one, table.columns, table.name)] for one in named}
    found = {*table.numeric_columns, *table.nearly_numeric} - others
    taken: tuple[str, ...] | None = tuple(found) or None  # without one the table says why
    if len(found) > 1:
        taken = proposed(table, table.numeric_columns, table.nearly_numeric, others)
    elif len(table.columns) > 1 and any(numbers_rows(table, name) for name in found):
        raise no_two(table, found)
    data = table.select(taken, unit=unit, classes=classes, unreadable=unreadable)
    aside = (name for name in table.columns if name not in {*data.columns, *others})
    return replace(data, aside=tuple(aside))

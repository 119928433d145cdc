"""The ``convert`` command: read a table by the rules for exploring, write CSV or Parquet."""

from __future__ import annotations

import argparse
import os

from dpviz.base.errors import InputError, shown, some
from dpviz.base.numbers import counted
from dpviz.commands.output import writing
from dpviz.commands.source import list_rows, read_for_exploring, refusal_of_rows
from dpviz.data.conversion import Converted
from dpviz.data.reading.unread import NAMED, UnreadableError
from dpviz.family.comparison import Report

PROMISE = (
    "A conversion looks at all records, so the promise of a release covers only the converted "
    "file, not the conversion. The converted file shares the budget of the original data, so use "
    "the same --source."
)


def convert_command(given: argparse.Namespace) -> tuple[Report, str]:
    """Convert a table; return the report and its readable text."""
    is_parquet = given.out.lower().endswith((".parquet", ".pq"))
    if not is_parquet and not given.out.lower().endswith(".csv"):
        raise InputError(
            f'OUT = "{shown(given.out, 120)}": name a file that ends in .csv or .parquet.'
        )
    if _same(given.data, given.out):
        raise InputError(f"OUT {shown(given.out, 120)} is the input file: name another file.")
    table = read_for_exploring(given)
    try:
        made = Converted.of(table, given.columns, leave_out=given.leave_out)
    except UnreadableError as error:
        raise refusal_of_rows(error) from None
    with writing(given.out, f"OUT {shown(given.out, 120)}") as file:
        (made.write_parquet if is_parquet else made.write_csv)(file)
    list_rows("left out", made.unread)
    names, rows = made.columns.column_names, made.columns.num_rows
    notes = [*table.notes, *made.notes]
    report = {
        "name": table.name,
        "rows": rows,
        "columns": names,
        "dropped": made.unread.rows,
        "out": given.out,
        "notes": notes,
        "note": PROMISE,
    }
    said = (
        f"{table.name}: column{'s' * (len(names) > 1)} {some(names, NAMED)}; "
        f"{counted(rows, 'row')} of {counted(len(names), 'column')} written to {given.out}"
    )
    return report, "\n".join([said, *(f"note     {note}" for note in notes), PROMISE])


def _same(source: str, out: str) -> bool:
    try:
        return os.path.samefile(source, out)
    except (OSError, ValueError):
        return False

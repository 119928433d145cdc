"""Read the data of the argument DATA: columns, privacy unit, classes and domain."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from dpviz.base.ending import say
from dpviz.base.errors import InputError, shown, some
from dpviz.base.formats import format_of
from dpviz.commands.output import progress_line
from dpviz.data.dataset import Dataset, position_of
from dpviz.data.engine.choice import check_engine, engine_of
from dpviz.data.engine.tables import Engine
from dpviz.data.explore.rows import Options
from dpviz.data.geographic import check_bounds
from dpviz.data.points import select_points
from dpviz.data.reading.far import box_without_far, far_sentence
from dpviz.data.reading.proposal import proposed
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.reading.table import Table
from dpviz.data.reading.unread import NAMED, NamedRows, UnreadableError
from dpviz.data.samples import Sample, load_sample, sample, sample_names
from dpviz.data.stored import FilePart, Stored, is_stored, stored
from dpviz.data.stored_units import capped as capped_parts
from dpviz.data.units import cap_records
from dpviz.family.claim import EXPLORATION, MADE_UP
from dpviz.family.comparison import Report
from dpviz.family.run_domain import range_of
from dpviz.grid.domain import Domain

#: Possible names of sample sets; excludes paths, patterns, addresses and names with an ending.
_WORD = re.compile(r"\w[\w-]*")


def known_sample(given: argparse.Namespace) -> Sample | None:
    """Return the sample set with the name DATA, or None for a file; InputError for another word."""
    if not _WORD.fullmatch(given.data) or os.path.exists(given.data):
        return None
    if given.data in sample_names():
        return sample(given.data)
    raise InputError(
        f"{shown(given.data)} is neither a file nor a sample set: check the path, or choose from "
        f"{', '.join(sample_names())}."
    )


def note_of(given: argparse.Namespace) -> str:
    """Sentence that says who may see the results of DATA."""
    return EXPLORATION if known_sample(given) is None else MADE_UP


#: Options that need data in memory, with the reason.
_IN_MEMORY = {
    "part": "it has no sheets", "classes": "its known classes are not read",
    "labels": "no record gets a label", "header": "its columns have names",
}  # fmt: skip


@contextmanager
def stored_data(
    given: argparse.Namespace, seed: int = 0, check: Callable[[Stored], None] | None = None
) -> Iterator[Stored | None]:
    """Open DATA without loading it if it has many files or the engine is not local, else None.

    ``seed`` selects records of persons with more than the cap. ``check`` is called before any
    record is read. Raises InputError if DATA can't be opened, or an option needs records in memory.
    """
    if given.engine is None:  # a command that needs all data in memory
        yield None
        return
    check_engine(given.engine, given.scheduler)
    is_file = not (known_sample(given) is not None or given.counts or given.data == "-")
    if not is_file and given.engine != "local":
        raise InputError(
            f"--engine {given.engine} reads files, but DATA is {shown(given.data)}: name a "
            "file or a folder, or leave the engine out."
        )
    if not is_file or (given.engine == "local" and not is_stored(given.data)):
        yield None
        return
    for option, why in _IN_MEMORY.items():
        if getattr(given, option, None):
            name = option.replace("_", "-")
            raise InputError(
                f"--{name} needs data in memory; for data that is read part by part, {why}: "
                "leave it out, or name a single file without --engine."
            )
    source = _opened(given, released=check is not None)
    if check is not None:
        check(source)
    if given.unit is not None and given.engine != "local":
        raise InputError(
            f"--unit {shown(given.unit)} needs --engine local: the chosen records of persons "
            "are kept in temporary files of this machine, which other machines can't read."
        )
    is_all = given.unit is None
    kept = nullcontext(source) if is_all else capped_parts(source, given.unit, given.cap, seed)
    with kept as found:
        yield found


def _opened(given: argparse.Namespace, *, released: bool) -> Stored:
    """Open files; if this is not for a release, propose two columns, as for a single file."""
    options = Options(
        skip=given.skip,
        header=_header(given),
        encoding=given.encoding,
        missing=tuple(given.missing or ()),
    )
    open_ = partial(stored, given.data, unit=given.unit, leave_out=given.leave_out, options=options)
    source = open_(given.columns)
    part, is_chosen = source.parts[0], given.columns is not None or len(source.columns) < 2
    if released or is_chosen or not isinstance(part, FilePart):
        return source
    taken = proposed(part.head(), source.columns)
    aside = tuple(name for name in part.names if name not in (*taken, given.unit))
    return replace(open_(taken), aside=aside)


def engine_for(given: argparse.Namespace) -> AbstractContextManager[Engine]:
    """Engine that the options name, with a progress line on a terminal."""
    return engine_of(given.engine or "local", given.scheduler, progress=progress_line("parts"))


def load(given: argparse.Namespace) -> Dataset:
    """Read the data set, with persons and known classes if their columns are given."""
    data = _sample_or_counts(given)
    if data is not None:
        return data
    table = read_for_exploring(given)
    try:
        data = select_points(
            table, given.columns, unit=given.unit, classes=given.classes, leave_out=given.leave_out
        )
    except UnreadableError as error:
        raise refusal_of_rows(error) from None
    if data.unread:
        list_rows("left out", data.unread)
    return data if given.domain not in (None, "data") else _with_far(table, data)


def _header(given: argparse.Namespace) -> Any:
    """Given line of the names, or whether the first line has the names (None: detect this)."""
    line = getattr(given, "header", None)
    if given.has_header and (given.no_header or line is not None):
        raise InputError("--has-header excludes --no-header and --header: leave one of them out.")
    return line if line is not None else False if given.no_header else given.has_header or None


def read_for_exploring(given: argparse.Namespace) -> Table:
    """Read the table DATA; messages about unreadable rows are printed when columns are chosen."""
    return read_table(
        _file(given), header=_header(given), unreadable="leave out", **_reading(given)
    )


def _reading(given: argparse.Namespace) -> dict[str, Any]:
    if given.skip is not None and given.skip < 0:
        raise InputError(f"--skip {shown(given.skip)}: give a number of lines of at least 0.")
    said = {name: getattr(given, name) for name in ("skip", "encoding", "part")}
    return {**said, "missing": given.missing or ()}


def refusal_of_rows(error: UnreadableError) -> InputError:
    """List the unreadable rows on standard error, and return the error to raise."""
    list_rows("not read", error.rows)
    return InputError(
        f"{error.sentence.removesuffix('.')}, or leave {error.rows.these} out with --leave-out."
    )


def list_rows(what: str, rows: NamedRows) -> None:
    """List rows on standard error."""
    for line in rows.lines():
        say(f"{what}: {line}")


def _with_far(table: Table, data: Dataset) -> Dataset:
    assert data.points is not None  # noqa: S101 - a table has points
    box = box_without_far(data.points, data.columns)
    if box is None:
        return data
    rows = table.outside(data.columns, box.bounds)
    said = far_sentence(rows, box, data.columns)
    note = f'{said} --domain "{box}" --outside drop leaves {rows.these} out.'
    return replace(data, notes=(*data.notes, note))


def columns_words(data: Dataset | Stored) -> str:
    """List the columns for the first line of a report; the text says whether they were proposed."""
    word = "column" if len(data.columns) == 1 else "columns"
    if isinstance(data, Dataset) and data.counts is not None:
        word = "counts along"
    words, aside = f"{word} {some(data.columns, NAMED)}", data.aside
    if not aside:
        return words if aside is None else f"{words} (proposed)"
    return f"{words} (proposed; left aside: {some(aside, NAMED)})"


def columns_report(data: Dataset | Stored) -> Report:
    """Return the same facts as :func:`columns_words` for JSON."""
    aside = data.aside
    return {"columns": data.columns, "proposed": aside is not None, "left_aside": aside or ()}


def load_for_release(given: argparse.Namespace) -> Dataset:
    """Read the data set so that no record affects how other records are read."""
    data = _sample_or_counts(given, any_total=True)
    if data is not None:
        if data.counts is not None and (format_of(given.data) or "text") == "text":
            say("note: a release reads 5.000 as five thousand: write counts as whole numbers")
        return data
    table = read_table(_file(given), header=_header(given), unreadable="missing", **_reading(given))
    unit = given.unit and position_of(given.unit, table.columns, table.name)
    others = [name for axis, name in enumerate(table.columns) if axis != unit]
    if given.columns is None and len(others) > 2:
        raise columns_missing(others)
    data = table.select(given.columns, unit=given.unit, unreadable="missing")
    for note in table.notes:  # Notes of the table do not depend on records.
        say(f"note: {note.removesuffix('.')}")
    return data


def columns_missing(columns: Sequence[str]) -> InputError:
    """Return the error for a release without ``--columns``."""
    return InputError(
        f"--columns is missing: name the columns to release, for example --columns "
        f"{','.join(columns[:2])}; the data must not decide which columns are released."
    )


def _file(given: argparse.Namespace) -> Any:
    return sys.stdin.buffer if given.data == "-" else given.data


def _sample_or_counts(given: argparse.Namespace, *, any_total: bool = False) -> Dataset | None:
    known = known_sample(given)
    if known is not None:
        return _sample(known.name, given)
    if not given.counts:
        return None
    _check_counts(given)
    # The number of axes of a release must not depend on any record.
    is_declared = any_total and given.domain not in (None, "data")
    domain = Domain.parse(given.domain) if is_declared else None
    return read_counts(_file(given), domain=domain, any_total=any_total, part=given.part)


def capped(data: Dataset, given: argparse.Namespace) -> Dataset:
    """Limit the records of each person to ``--cap``; the selection does not depend on the seed."""
    return data if given.unit is None else cap_records(data, given.cap)


def _sample(name: str, given: argparse.Namespace) -> Dataset:
    if given.unit is not None:
        raise InputError(
            f"--unit {shown(given.unit)}: sample sets have no column of persons: leave it out."
        )
    for option in ("skip", "encoding", "missing", "part"):
        if getattr(given, option) not in (None, ()):
            raise InputError(
                f"--{option} applies only to files, but {name} is a sample set: leave it out."
            )
    data = load_sample(name)
    own = None if data.classes is None else data.classes.column
    if given.classes not in (None, own):
        but = "" if own is None else f' except "{own}"'
        raise InputError(
            f"--classes {shown(given.classes)}: sample set {name} has no column of classes{but}: "
            "leave it out."
        )
    return data.select(given.columns) if given.columns else data


#: Options of records, which a grid of counts does not have.
_OF_RECORDS = (
    "unit", "columns", "no_header", "has_header", "header", "grid", "classes", "leave_out",
)  # fmt: skip


def _check_counts(given: argparse.Namespace) -> None:
    for option in ("skip", "encoding", "missing"):
        if getattr(given, option) not in (None, ()):
            raise InputError(
                f"--{option} can't be used with --counts: every line of a grid of counts is read "
                "as numbers; leave it out."
            )
    for option in _OF_RECORDS:
        if getattr(given, option, None):
            name = option.replace("_", "-")
            raise InputError(
                f"--{name} can't be used with --counts, since a grid of counts has cells and no "
                "records: leave one of the two out."
            )
    if given.labels:
        raise InputError(
            f"--labels {shown(given.labels, 120)} needs points, but a grid of counts has no points "
            "to label: leave it out."
        )


def domain_of(
    text: str | None, data: Dataset | Stored, engine: Engine | None = None
) -> Domain | None:
    """Domain from the option; "data": range of the points, found by a pass over stored records."""
    if text is None:
        return None
    if text != "data":
        declared = Domain.parse(text)
        check_bounds(data.columns, declared)
        return declared
    if isinstance(data, Stored):
        assert engine is not None  # noqa: S101 - stored data have an engine
        return range_of(data, engine)
    if data.points is None:
        raise InputError(
            "--domain data needs points, but a grid of counts has no points: give the bounds of "
            'the grid, for example "0,1;0,1".'
        )
    return Domain.from_data(data.points)

"""Read the data of the argument DATA: columns, privacy unit, classes and domain."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dpviz.data.dataset import Dataset
from dpviz.data.reading.read import read_counts, read_table
from dpviz.data.samples import Sample, load_sample, sample, sample_names
from dpviz.data.units import cap_records
from dpviz.domain import Domain
from dpviz.ending import say
from dpviz.errors import InputError


def known_sample(given: argparse.Namespace) -> Sample | None:
    """Return the sample set that DATA names; a file with that name has priority."""
    if given.data in sample_names() and not Path(given.data).exists():
        return sample(given.data)
    return None


def load(given: argparse.Namespace) -> Dataset:
    """Read the data set, with persons and known classes where columns of them are named."""
    data = _sample_or_counts(given)
    if data is not None:
        return data
    table = read_table(_file(given), header=False if given.no_header else None, sheet=given.sheet)
    return table.select(given.columns, unit=given.unit, classes=given.classes)


def load_for_release(given: argparse.Namespace) -> Dataset:
    """Read the data set so that no record affects whether or how other records are read."""
    data = _sample_or_counts(given, any_total=True)
    if data is not None:
        return data
    header = given.header if given.header is not None else False if given.no_header else None
    table = read_table(_file(given), header=header, unreadable="missing", sheet=given.sheet)
    others = [column for column in table.columns if column != given.unit]
    if given.columns is None and len(others) > 2:
        raise InputError(
            f"--columns is missing: name the columns to release, for example --columns "
            f"{','.join(others[:2])}; which ones hold numbers must not be read off the data."
        )
    data = table.select(given.columns, unit=given.unit, unreadable="missing")
    for note in table.notes:  # unlike those of the data, they hang on no record
        say(f"note: {note.removesuffix('.')}")
    return data


def _file(given: argparse.Namespace) -> Any:
    """Name of the file that DATA names, or standard input."""
    return sys.stdin.buffer if given.data == "-" else given.data


def _sample_or_counts(given: argparse.Namespace, *, any_total: bool = False) -> Dataset | None:
    """Read a sample set or a grid of counts; return None if DATA is a table."""
    known = known_sample(given)
    if known is not None:
        return _sample(known.name, given)
    if not given.counts:
        return None
    _check_counts(given)
    return read_counts(_file(given), any_total=any_total, sheet=given.sheet)


def capped(data: Dataset, given: argparse.Namespace) -> Dataset:
    """Limit each person's records to the option's number; the choice ignores the seed."""
    return data if given.unit is None else cap_records(data, given.cap)


def _sample(name: str, given: argparse.Namespace) -> Dataset:
    """Load a sample set, which has no persons, and its own classes where it has any."""
    if given.unit is not None:
        raise InputError(f"--unit {given.unit}: sample sets have no column of persons.")
    if given.sheet is not None:
        raise InputError(f"--sheet {given.sheet}: sample set {name} has no sheets: leave it out.")
    data = load_sample(name)
    own = None if data.classes is None else data.classes.column
    if given.classes not in (None, own):
        has = "has no column of classes" if own is None else f'has no column of classes but "{own}"'
        raise InputError(f"--classes {given.classes}: sample set {name} {has}: leave it out.")
    return data.select(given.columns) if given.columns else data


def _check_counts(given: argparse.Namespace) -> None:
    """Refuse options that apply only to records."""
    for option in ("unit", "columns", "no_header", "header", "grid", "classes"):
        if getattr(given, option, None):
            name = option.replace("_", "-")
            raise InputError(
                f"--{name} does not go with --counts: a grid of counts has cells, no records."
            )
    if given.labels:
        raise InputError(
            f"--labels {given.labels} needs points: a grid of counts has no points to label."
        )


def domain_of(text: str | None, data: Dataset) -> Domain | None:
    """Domain from the option; "data" takes the range of the points."""
    if text is None:
        return None
    if text != "data":
        return Domain.parse(text)
    if data.points is None:
        raise InputError('--domain data needs points; a grid of counts has its own: "lo,hi;lo,hi".')
    return Domain.from_data(data.points)

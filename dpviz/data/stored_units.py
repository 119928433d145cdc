"""Keep at most m records of each person in stored records, without loading all rows.

The choice depends only on the rows of the person, so it can be made for a few persons at a time.
The first pass writes rows to files by a hash of the person, at most m rows of a person per batch,
because other rows can't be chosen any more. So each file is small enough to be capped in memory.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import parquet as pq
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.numbers import counted
from dpviz.base.work import IsCancelled, Work
from dpviz.data.dataset import Dataset, position_of
from dpviz.data.reading.kinds import exact
from dpviz.data.reading.table import identifiers
from dpviz.data.stored import CHUNK, FilePart, Stored, as_points, stored, whole_rows
from dpviz.data.units import (
    ROUNDED,
    cap_records,
    check_cap,
    hash_places,
    identified,
    smallest_hashes,
)

#: Approximate number of rows in a file of some persons, which is capped in memory.
ROWS = 2**20

#: Largest number of these files, because each file has its own buffer.
MOST = 256


@contextmanager
def capped(
    source: Stored,
    unit: str | int,
    cap: int,
    seed: int = 0,
    *,
    cancelled: IsCancelled | None = None,
) -> Iterator[Stored]:
    """Stored records, at most ``cap`` of each person; the end of the ``with`` block deletes them.

    They are the records that :func:`dpviz.data.units.cap_records` keeps, in another order. Chosen
    columns and identifiers are in temporary files, which only this user can read. Rows without a
    person in the column ``unit`` (a name, or a number from 1) are left out. InputError if the
    records are not in files, the column is missing, or ``cap`` is below 1.
    """
    check_cap(cap)
    parts = [part for part in source.parts if isinstance(part, FilePart)]
    if len(parts) < len(source.parts):
        raise InputError(
            f"{shown(source.name)} has no column of persons: give files, and name this column."
        )
    owner = parts[0].names[position_of(unit, parts[0].names, parts[0].title)]
    if owner in source.columns:
        raise InputError(
            f'column "{shown(owner)}" identifies persons, so it can\'t be one of the columns to '
            "cluster: choose other columns."
        )
    # If an interrupt ends the deletion of the inner folder, the outer folder deletes the rest.
    with (
        tempfile.TemporaryDirectory(prefix="dpviz-persons-") as outer,
        tempfile.TemporaryDirectory(dir=outer) as name,
    ):
        rows = sum(part.rows_at_most for part in parts)
        many = min(max(math.ceil(rows / ROWS), 1), MOST)
        files = [Path(name) / f"{number:03}.parquet" for number in range(many)]
        steps = Work(len(parts) + many, "parts", cancelled=cancelled)
        dropped, rounded, left = _deal(parts, owner, source.columns, files, cap, seed, steps)
        for file in files:
            steps.check()
            left += _cap(file, source.columns, cap, seed)
            steps.advance()
        notes = (
            ("without a person or a finite number", dropped - rounded),
            (ROUNDED, rounded),
            (f"beyond {cap} of a person", left),
        )
        said = [f"{counted(many, 'record')} left out: {why}." for why, many in notes if many]
        yield replace(
            stored(name, source.columns, name=source.name, domain=source.domain),
            dropped=source.dropped + dropped,
            notes=(*source.notes, *said),
            unit=owner,
            origins=source.origins,
        )


def _deal(
    parts: Sequence[FilePart],
    owner: str,
    columns: Sequence[str],
    files: Sequence[Path],
    cap: int,
    seed: int,
    steps: Work,
) -> tuple[int, int, int]:
    """Write at most ``cap`` rows per person and batch; count dropped, rounded and further rows."""
    fields = [(str(axis), pa.float64()) for axis in range(len(columns))]
    schema = pa.schema([*fields, ("person", pa.large_string())])
    dropped = rounded = left = 0
    with ExitStack() as stack:
        opened = (pq.ParquetWriter(file, schema, compression="none") for file in files)
        writers = [stack.enter_context(one) for one in opened]
        for part in parts:
            steps.check()
            for cells in part.batches([*columns, owner]):
                points = as_points(cells[:-1])
                persons, known, doubtful = identifiers(exact(cells[-1]))
                if (finite := whole_rows(points)) is not None:
                    known &= finite
                rounded += int(np.count_nonzero(known & doubtful))
                known &= ~doubtful
                points, named = points[known], identified(persons[known])
                picked = smallest_hashes(points, named, cap, seed)
                dropped += len(known) - len(points)
                left += len(points) - len(picked)
                points, named = points[picked], named[picked]
                texts = pa.array(named.categories, pa.large_string())
                rows = pa.record_batch(
                    [*map(pa.array, points.T), texts.take(pa.array(named.codes))], schema=schema
                )
                place = hash_places(named, len(files))
                order = np.argsort(place, kind="stable")
                rows, place = rows.take(pa.array(order)), place[order]
                for number in np.unique(place).tolist():
                    begin, end = np.searchsorted(place, [number, number + 1]).tolist()
                    writers[number].write_batch(rows.slice(begin, end - begin))
            part.check()
            steps.advance()
    return dropped, rounded, left


def _cap(path: Path, columns: Sequence[str], cap: int, seed: int) -> int:
    table = pq.read_table(path)
    points = as_points([one.combine_chunks() for one in table.columns[:-1]])
    dataset = Dataset(name="", points=points, units=table["person"].to_numpy())
    kept = cap_records(dataset, cap, seed).points
    assert kept is not None  # noqa: S101 - a data set of points
    chosen = {name: kept[:, axis] for axis, name in enumerate(columns)}
    pq.write_table(pa.table(chosen), path, compression="none", row_group_size=CHUNK)
    return len(points) - len(kept)

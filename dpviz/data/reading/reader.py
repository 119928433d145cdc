"""The process that reads one upload, and whose end takes nothing with it.

Started by :mod:`dpviz.data.reading.apart`, it gets the file once and then answers questions until
its input ends. It can write no file, has a limit of memory by the size of the file, and a limit of
processor time for each answer. Nobody unpickles what it says: an answer is one line of JSON and
the bytes of arrays.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.data.dataset import Classes, Dataset
from dpviz.data.reading.files import enough_memory
from dpviz.data.reading.limits import limit_memory, limit_time
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import parts, read_counts, read_table
from dpviz.data.reading.table import Table
from dpviz.data.reading.unread import NamedRows, UnreadableError
from dpviz.data.reading.watch import watching
from dpviz.grid.domain import Domain

#: Bytes of an array that are written together.
_PIECE = 2**24

#: Seconds between two reports of progress.
_REPORT = 0.1

#: Types of arrays in an answer.
TYPES = ("<f8", "<i8", "<u8", "|b1", "|u1")


class Reading:
    """An upload and the table that was last read from it.

    Parameters
    ----------
    name, data
        Name and bytes of the file.
    """

    def __init__(self, name: str, data: bytes) -> None:
        self._name, self._data = name, data
        self._how: dict[str, Any] | None = None
        self._table: Table | None = None

    def parts(self, **how: Any) -> tuple[str, ...]:
        """Names of the sheets, layers, arrays or files to choose from."""
        return parts(self._data, name=self._name, **how)

    def table(self, **how: Any) -> dict[str, Any]:
        """Facts of a table, which stays here."""
        table = self._read(how)
        return {
            "name": table.name,
            "columns": table.columns,
            "rows": table.rows,
            "notes": table.notes,
            "guessed": table.guessed,
        }

    def counts(self, **how: Any) -> Dataset:
        """A grid of counts."""
        return read_counts(self._data, name=self._name, **how)

    def numeric(self, how: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of a table's numeric columns, and of those that nearly are."""
        table = self._read(how)
        return table.numeric_columns, table.nearly_numeric

    def first(self, how: dict[str, Any], numeric: list[str], but: list[str]) -> tuple[str, str]:
        """Names of the columns to show first."""
        return first_columns(self._read(how), numeric, but=but)

    def select(self, how: dict[str, Any], chosen: dict[str, Any]) -> Dataset:
        """Points of some columns."""
        return self._read(how).select(**chosen)

    def outside(
        self, how: dict[str, Any], columns: list[str], bounds: list[tuple[float, float]]
    ) -> dict[str, Any]:
        """Rows outside of some bounds."""
        return asdict(self._read(how).outside(columns, bounds))

    def csv(self, how: dict[str, Any], most: int) -> bytes:
        """A table as a CSV file of so many bytes at most."""
        from dpviz.data.conversion import as_csv  # few ask for it

        return as_csv(self._read(how), most)

    def _read(self, how: dict[str, Any]) -> Table:
        """Table as read in one way; only the last one is kept."""
        if self._table is None or self._how != how:
            self._table = None
            self._how, self._table = how, read_table(self._data, name=self._name, **how)
        return self._table


#: What may be asked for.
QUESTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(Reading, name)
    for name in ("parts", "table", "counts", "numeric", "first", "select", "outside", "csv")
}


# -- answers -----------------------------------------------------------------------------


def packed(value: Any) -> tuple[Any, list[NDArray[Any]]]:
    """Plain values of an answer, and its arrays."""
    if isinstance(value, bytes):
        return None, [np.frombuffer(value, np.uint8)]
    if not isinstance(value, Dataset):
        return value, []
    arrays: list[NDArray[Any]] = []

    def put(array: NDArray[Any] | None) -> Any:
        if array is None:
            return None
        if array.dtype.kind == "O":
            # Each text once: of a dictionary's few, millions of copies would fill the memory.
            codes, known = pd.factorize(array)
            texts = pa.array(known.tolist(), type=pa.large_string())
            _, ends, letters = texts.buffers()
            arrays.append(np.asarray(codes, dtype=np.int64))
            arrays.append(np.frombuffer(ends, np.int64, len(texts) + 1))
            arrays.append(np.frombuffer(letters or b"", np.uint8))
            return "text"
        arrays.append(np.ascontiguousarray(array))
        return "array"

    classes = value.classes
    return {
        "name": value.name,
        "columns": value.columns,
        "domain": value.domain and value.domain.bounds,
        "dropped": value.dropped,
        "notes": value.notes,
        "doubtful": value.doubtful,
        "unread": value.unread and asdict(value.unread),
        "points": put(value.points),
        "counts": put(value.counts),
        "units": put(value.units),
        "codes": put(classes.codes if classes else None),
        "classes": [classes.column, classes.names] if classes else None,
    }, arrays


def unpacked(value: dict[str, Any], arrays: list[NDArray[Any]]) -> Dataset:
    """Data set of an answer."""
    left = iter(arrays)

    def get(name: str) -> Any:
        if value[name] is None:
            return None
        if value[name] != "text":
            return next(left)
        codes, ends, letters = next(left), next(left), next(left)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(letters)]
        texts = pa.LargeStringArray.from_buffers(len(ends) - 1, *buffers[1:])
        texts.validate(full=True)
        known = texts.to_numpy(zero_copy_only=False)
        if len(codes) and (codes.min() < 0 or codes.max() >= len(known)):
            raise ValueError
        return known[codes]

    points, counts, units, codes = map(get, ("points", "counts", "units", "codes"))
    classes = value["classes"]
    return Dataset(
        name=value["name"],
        points=points,
        counts=counts,
        columns=tuple(value["columns"]),
        domain=value["domain"] and Domain(tuple((lo, hi) for lo, hi in value["domain"])),
        units=units,
        classes=classes and Classes(column=classes[0], names=tuple(classes[1]), codes=codes),
        dropped=value["dropped"],
        notes=tuple(value["notes"]),
        doubtful=tuple(value["doubtful"]),
        unread=value["unread"] and NamedRows.of(value["unread"]),
    )


def write(stream: BinaryIO, head: Any, arrays: list[NDArray[Any]] | None = None) -> None:
    """Write one message: a line of JSON, then the bytes of its arrays, each from its end on.

    What is written is given back, so no array is twice in memory, here and where it goes.
    """
    left = arrays or []
    shapes = [[one.dtype.str, one.shape] for one in left]
    stream.write(json.dumps([head, shapes]).encode() + b"\n")
    while left:
        one = left.pop(0)
        size = one.nbytes
        whole = one if one.flags.owndata and one.flags.writeable else None
        if whole is not None:
            whole.resize(one.size, refcheck=False)
        for start, end in pieces(size):
            stream.write(one.reshape(-1).view(np.uint8).data[start:end])
            if whole is not None and start:
                whole.resize(start // one.itemsize, refcheck=False)
    stream.flush()


def pieces(size: int) -> Iterator[tuple[int, int]]:
    """Where the pieces of an array of ``size`` bytes start and end, in the order of a message."""
    for start in reversed(range(0, size, _PIECE)):
        yield start, min(start + _PIECE, size)


# -- the process -------------------------------------------------------------------------


def _answer(reading: Reading, question: list[Any], output: BinaryIO) -> None:
    """Answer one question."""
    name, given, named = question
    reported = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _REPORT:
            reported = time.monotonic()
            write(output, {"done": done, "total": total})

    try:
        with enough_memory(reading._name), watching(report, lambda: False):
            head, arrays = packed(QUESTIONS[name](reading, *given, **named))
        write(output, {"answer": head}, arrays)
    except UnreadableError as error:
        write(output, {"error": error.sentence, "rows": asdict(error.rows)})
    except InputError as error:
        write(output, {"error": str(error)})
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pa.ArrowException,
            NotImplementedError) as error:  # fmt: skip
        kind = type(error).__name__
        said = f"{shown(reading._name)} is not read by a fault of the program ({kind}): "
        write(output, {"error": f"{said}save the table as CSV or Parquet."})
        raise


def main() -> None:
    """Read a file from standard input, then questions; answer on what was standard output."""
    source = sys.stdin.buffer
    # What a library prints must not be taken for an answer.
    output = io.BufferedWriter(io.FileIO(os.dup(1), "wb"))
    os.dup2(2, 1)
    opened = json.loads(source.readline() or "null")
    if opened is None:
        return
    data = source.read(opened["size"])
    limit_memory(len(data))
    reading = Reading(opened["name"], data)
    while line := source.readline():
        limit_time(opened["seconds"])
        _answer(reading, json.loads(line), output)

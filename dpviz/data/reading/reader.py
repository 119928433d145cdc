"""The process that reads one upload, and that may crash without damage.

:mod:`dpviz.data.reading.apart` starts it. It receives the file once and then answers questions
until its input ends. It can't write files, its memory limit depends on the size of the file, and
each answer has a limit of CPU time. An answer is one line of JSON and the bytes of arrays; it is
never unpickled.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import pandas as pd
from dpviz.base.lazy import pyarrow as pa
from dpviz.data.conversion import as_csv
from dpviz.data.explore.sheets import sheet_answer
from dpviz.data.reading import apart
from dpviz.data.reading.apart import Arrays, pieces
from dpviz.data.reading.files import enough_memory
from dpviz.data.reading.proposal import first_columns
from dpviz.data.reading.read import parts, read_counts, read_table
from dpviz.data.reading.table import Table
from dpviz.data.reading.unread import UnreadableError
from dpviz.data.reading.watch import watching

_REPORT = 0.1

#: Memory limit. The readers have a lower limit: four times the file size plus 1 GB.
_TIMES, _MORE = 5, 3 * 2**29


class Reading:
    """An upload, and the last table that was read from it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name, self.data = name, data
        self._how: dict[str, Any] | None = None
        self._table: Table | None = None

    def table(self, how: dict[str, Any]) -> Table:
        """Return the table read with these options; only the last table is kept in memory."""
        if self._table is None or self._how != how:
            self._table = None
            self._how, self._table = how, read_table(self.data, name=self.name, **how)
        return self._table


_FACTS = ("name", "columns", "rows", "notes", "guessed")
_NUMERIC = ("numeric_columns", "nearly_numeric")

QUESTIONS: dict[str, Callable[..., Any]] = {
    "parts": lambda file, **how: parts(file.data, name=file.name, **how),
    "counts": lambda file, **how: read_counts(file.data, name=file.name, **how),
    "sheet": lambda file, **how: _stored(*sheet_answer(file.data, file.name, **how)),
    "table": lambda file, **how: {one: getattr(file.table(how), one) for one in _FACTS},
    "numeric": lambda file, how: [getattr(file.table(how), one) for one in _NUMERIC],
    "first": lambda file, how, numeric, but: first_columns(file.table(how), numeric, but=but),
    "select": lambda file, how, chosen: file.table(how).select(**chosen),
    "outside": lambda file, how, columns, bounds: file.table(how).outside(columns, bounds),
    "csv": lambda file, how, most: np.frombuffer(as_csv(file.table(how), most), np.uint8),
}


def _stored(columns: Sequence[pa.Array], said: Sequence[str] = ()) -> NDArray[np.uint8]:
    names = [*map(str, range(len(columns)))]
    table = pa.table([*columns], names=names, metadata={"said": json.dumps(said)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def packed(value: Any) -> tuple[Any, Arrays]:
    """An answer as plain values and arrays; in the values, an array is replaced by its position."""
    arrays: Arrays = []

    def plain(one: Any) -> Any:
        if is_dataclass(one):
            return {part.name: plain(getattr(one, part.name)) for part in fields(one)}
        if not isinstance(one, np.ndarray):
            return one
        if one.dtype.kind == "O":
            # Send each different text once, because millions of copies would fill memory.
            codes, known = pd.factorize(one)
            texts = _stored([pa.array(known.tolist(), pa.large_string())])
            return plain(np.asarray(codes, np.int64)), plain(texts)
        arrays.append(np.ascontiguousarray(one))
        return len(arrays) - 1

    return plain(value), arrays


def write(stream: BinaryIO, head: Any, arrays: Arrays | None = None) -> None:
    """Write a message: a line of JSON, then its arrays; the last piece of an array comes first."""
    # Free the memory of each written piece, so that no array is completely in both processes.
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


def _answer(file: Reading, question: list[Any], output: BinaryIO) -> None:
    name, given, named = question
    reported = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _REPORT:
            reported = time.monotonic()
            write(output, {"done": done, "total": total})

    try:
        with enough_memory(file.name), watching(report, lambda: False):
            head, arrays = packed(QUESTIONS[name](file, *given, **named))
        write(output, {"answer": head}, arrays)
    except UnreadableError as error:
        write(output, {"error": error.sentence, "rows": asdict(error.rows)})
    except InputError as error:
        write(output, {"error": str(error)})
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pa.ArrowException,
            NotImplementedError) as error:  # fmt: skip
        kind = type(error).__name__
        said = f"{shown(file.name)} can't be read because of a fault of the program ({kind}): "
        write(output, {"error": f"{said}save the table as CSV or Parquet."})
        raise


def _limit_memory(size: int) -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # Only Linux shows how much memory the process uses now.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        found = re.search(r"^VmSize:\s+(\d+) kB", status, re.MULTILINE)
        assert found  # noqa: S101 - every Linux has it
        most = 1024 * int(found[1]) + _TIMES * size + _MORE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _limit_time(seconds: float) -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        soft = int(time.process_time() + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def main() -> None:
    """Read a file and questions from standard input; write answers to standard output."""
    source = sys.stdin.buffer
    # Output of a library must not be interpreted as an answer.
    output = io.BufferedWriter(io.FileIO(os.dup(1), "wb"))
    os.dup2(2, 1)
    opened = json.loads(source.readline() or "null")
    if opened is None:
        return
    data = source.read(opened["size"])
    apart.limited = True
    _limit_memory(len(data))
    file = Reading(opened["name"], data)
    while line := source.readline():
        _limit_time(opened["seconds"])
        _answer(file, json.loads(line), output)

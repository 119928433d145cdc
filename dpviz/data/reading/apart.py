"""Read uploads in separate processes, with limits on time and memory.

If a file crashes or blocks its reader, the server shows an error message. A reader handles one
file, ends a few seconds after the last question, and is restarted for a later question. One more
reader has loaded its libraries and waits, so small files are read immediately.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock, Semaphore, Timer
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.errors import InputError, reason, shown
from dpviz.base.lazy import pyarrow as pa
from dpviz.base.threads import processors
from dpviz.base.work import Cancelled
from dpviz.data.dataset import Classes, Dataset
from dpviz.data.reading.files import megabytes
from dpviz.data.reading.unread import NamedRows, UnreadableError
from dpviz.data.reading.watch import passed
from dpviz.grid.domain import Domain
from dpviz.privacy.origin import Origin, content

T = TypeVar("T")

Arrays = list[NDArray[Any]]

_LOG = logging.getLogger(__name__)

#: Largest CPU time, and largest wall-clock time, of an answer in seconds.
SECONDS, PATIENCE = 30.0, 180.0

#: Seconds until an idle reader ends, the next reader starts, and an invalid reader is killed.
IDLE, _LATER, _LAST = 5.0, 1.5, 1.0

#: The arrays of an answer have at most ``_TIMES`` times the file's size plus ``_MORE`` bytes.
_TIMES, _MORE = 4, 2**30

#: Largest length of a line of an answer (it may name many columns), and of an error message.
_LINE, _LONGEST = 2**24, 2_000

#: Types of arrays in an answer, and number of bytes that are sent together.
TYPES, _PIECE = ("<f8", "<i8", "<u8", "|b1", "|u1"), 2**24

#: On Unix, the reader first lowers its priority, because moving a plot is more urgent. It ignores
#: Ctrl-C from the terminal, because the program ends the reader.
_START = (
    f"import os, signal, sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r}); "
    "signal.signal(signal.SIGINT, signal.SIG_IGN); hasattr(os, 'nice') and os.nice(5); "
    "from dpviz.data.reading.reader import main; main()"
)

#: Limits the number of readers that work at the same time.
_WORKING = Semaphore(max(2, processors()))

#: All started processes that are still referenced, and the process that waits for a file.
_READERS: WeakSet[_Reader] = WeakSet()
_WAITING: deque[_Reader] = deque()
_LOCK = Lock()

#: Whether this process is a reader, which may crash without damage to the server.
limited = False


class _Reader:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        self._to: Any = self._process.stdin
        self._from: Any = self._process.stdout
        self.most = 0
        self.pid, self.kill = self._process.pid, self._process.kill
        _READERS.add(self)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def say(self, line: Any, data: bytes | memoryview = b"") -> None:
        with suppress(BrokenPipeError):  # there will be no answer
            self._to.write(json.dumps(line).encode() + b"\n")
            self._to.write(data)
            self._to.flush()

    def ask(self, question: Sequence[Any]) -> tuple[Any, Arrays]:
        """Send a question, report progress, and return the answer (plain values and arrays)."""
        # Another exception than InputError and Cancelled means that the process has ended, or that
        # its answer is invalid.
        clock = _later(PATIENCE, self.kill)
        try:
            self.say(question)
            while True:
                line = self._from.readline(_LINE)
                if not line.endswith(b"\n"):
                    raise EOFError
                head, shapes = _with_tuples(json.loads(line))
                arrays = [self._array(*shape) for shape in shapes]
                if "answer" in head:
                    return head["answer"], arrays
                if "error" in head:
                    said = str(head["error"])[:_LONGEST]
                    if "rows" in head:
                        raise UnreadableError(said, NamedRows.of(head["rows"]))
                    raise InputError(said)
                passed(head["done"], head["total"])
        finally:
            clock.cancel()

    def _array(self, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
        if kind not in TYPES or min(shape, default=0) < 0 or 8 * math.prod(shape) > self.most:
            raise ValueError
        array = np.empty(shape, kind)
        whole = array.reshape(-1).view(np.uint8).data
        for start, end in pieces(array.nbytes):
            if self._from.readinto(whole[start:end]) < end - start:
                raise EOFError
        return array

    def end(self, seconds: float = 0) -> int:
        """End the process; return its exit status, or 0 if it does not end within ``seconds``."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = 0  # killed here, not because of a limit
            self.kill()
            self._process.wait()
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()
        return status


def pieces(size: int) -> Iterator[tuple[int, int]]:
    """Start and end of the pieces of an array of ``size`` bytes, in the order of sending."""
    for start in reversed(range(0, size, _PIECE)):
        yield start, min(start + _PIECE, size)


def _with_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_tuples(one) for name, one in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def _later(seconds: float, what: Callable[[], None]) -> Timer:
    timer = Timer(seconds, what)
    timer.daemon = True
    timer.start()
    return timer


def prepare() -> None:
    """Start a waiting reader if no reader waits yet, and if the system has enough resources."""
    with _LOCK, suppress(OSError, IndexError):  # another thread may take the reader meanwhile
        if not _WAITING or not _WAITING[0].alive:
            dismiss()
            _WAITING.append(_Reader())


def dismiss() -> None:
    """End the waiting reader, for example when there is no session that could use it."""
    with suppress(IndexError):
        while True:
            _WAITING.pop().end()


@atexit.register
def _end_all() -> None:
    for reader in tuple(_READERS):
        reader.end()


def _take() -> _Reader:
    with suppress(IndexError):
        taken = _WAITING.pop()
        _later(_LATER, prepare)
        if taken.alive:
            return taken
        taken.end()
    return _Reader()


def data_set(value: Any, arrays: Arrays) -> Dataset:
    """Convert an answer to a data set."""

    def get(place: Any) -> Any:
        if isinstance(place, tuple):  # text: each row has the position of its text
            codes, texts = map(get, place)
            return stored(texts)[0][0].to_numpy()[codes]
        return None if place is None else arrays[place]

    classes, domain, unread = (value[name] for name in ("classes", "domain", "unread"))
    made = {
        **{name: get(value[name]) for name in ("points", "counts", "units")},
        "classes": classes and Classes(**{**classes, "codes": get(classes["codes"])}),
        "domain": domain and Domain(**domain),
        "unread": unread and NamedRows.of(unread),
    }
    return Dataset(**{**value, **made})


def stored(data: NDArray[Any]) -> tuple[list[pa.ChunkedArray], list[str]]:
    """Columns and sentences from bytes of another process; all values are checked."""
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    table.validate(full=True)
    return table.columns, json.loads(table.schema.metadata[b"said"])


class Upload:
    """A file of ``size`` bytes that is read only in a separate process; ``most`` is the limit."""

    def __init__(
        self, name: str, size: int, data: Callable[[], bytes | memoryview], most: int
    ) -> None:
        self.name, self.size, self.most = name, size, most
        self._data = data
        self._lock = Lock()
        self._content: Origin | None = None
        self._reader: _Reader | None = None
        self._idle: Timer | None = None

    def parts(self) -> tuple[str, ...]:
        """Like :func:`dpviz.data.reading.read.parts`."""
        return self.ask(lambda names, _: tuple(map(str, names)), "parts", max_bytes=self.most)

    def counts(self, **how: Any) -> Dataset:
        """Like :func:`dpviz.data.reading.read.read_counts`."""
        found = self.ask(data_set, "counts", max_bytes=self.most, **how)
        return self.known(found, released=bool(how.get("any_total")))

    def known(self, found: Dataset, *, released: bool) -> Dataset:
        """The same data; for a release, the file's name and content become its origins."""
        if not released:
            return found
        if self._content is None:
            self._content = content(self._data())
        return replace(found, origins=(Origin(os.path.basename(self.name)), self._content))

    def table(self, **how: Any) -> UploadedTable:
        """Like :func:`dpviz.data.reading.read.read_table`."""
        how = {"max_bytes": self.most, **how}
        return self.ask(
            lambda facts, _: UploadedTable(**facts, upload=self, how=how), "table", **how
        )

    def ask(self, make: Callable[[Any, Arrays], T], question: str, *given: Any, **named: Any) -> T:
        """Ask a reader, which is started if necessary, and convert its answer with ``make``."""
        with self._lock, _WORKING:
            if self._idle:
                self._idle.cancel()
            if self._reader is None or not self._reader.alive:
                if self._reader:
                    self._reader.end()
                self._reader = self._started()
            try:
                return make(*self._reader.ask((question, given, named)))
            except InputError:
                raise
            except Cancelled:
                self._reader.end()
                self._reader = None
                raise
            except Exception:  # the answer may have any fault
                status, self._reader = self._reader.end(_LAST), None
                raise self._failed(status) from None
            finally:
                self._idle = _later(IDLE, self.close)

    def _started(self) -> _Reader:
        try:
            reader = _take()
        except OSError as error:
            raise InputError(
                f"{shown(self.name)} can't be read, because no further program can be started now "
                f"({reason(error)}): try again in a minute."
            ) from None
        data = self._data()
        reader.most = _TIMES * len(data) + _MORE
        reader.say({"name": self.name, "size": len(data), "seconds": SECONDS}, data)
        return reader

    def stop(self) -> None:
        """End the reader immediately; if it is answering, this answer fails."""
        if reader := self._reader:
            reader.kill()

    def close(self) -> None:
        """End the reader after its current answer; the next question starts a new reader."""
        with self._lock:
            reader, self._reader = self._reader, None
        if reader:
            reader.end()

    def _failed(self, status: int) -> InputError:
        _LOG.warning("the reader of an upload of %d bytes ended with status %d", self.size, status)
        if status in (-getattr(signal, "SIGXCPU", 0), -getattr(signal, "SIGKILL", 0)):
            return InputError(
                f"{shown(self.name)} needs more than {SECONDS:g} s of CPU time, or more memory "
                "than is free: give fewer rows or columns, or save it as Parquet."
            )
        return InputError(
            f"{shown(self.name)} ({megabytes(self.size)}) stopped the program that reads it, "
            "because it is damaged or needs much memory: give fewer rows, or save the file again."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class UploadedTable:
    """A :class:`~dpviz.data.reading.table.Table` that remains in the process that read it."""

    name: str
    columns: tuple[str, ...]
    rows: int
    notes: tuple[str, ...]
    guessed: bool
    upload: Upload
    how: dict[str, Any] = field(repr=False)

    @property
    def numeric_columns(self) -> tuple[str, ...]:
        """Names of the columns that contain only numbers."""
        return self._numeric[0]

    @property
    def nearly_numeric(self) -> tuple[str, ...]:
        """Names of other columns in which only a few cells are not numbers."""
        return self._numeric[1]

    @cached_property
    def _numeric(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.upload.ask(_pair, "numeric", self.how)

    def select(
        self, columns: Sequence[str] | None = None, unit: str | None = None, **chosen: Any
    ) -> Dataset:
        """Like :meth:`dpviz.data.reading.table.Table.select`."""
        chosen |= {"columns": columns, "unit": unit}
        found = self.upload.ask(data_set, "select", self.how, chosen)
        return self.upload.known(found, released=chosen.get("unreadable") == "missing")

    def first_columns(self, numeric: Sequence[str], but: Sequence[str] = ()) -> tuple[str, str]:
        """Like :func:`dpviz.data.reading.proposal.first_columns`."""
        return self.upload.ask(_pair, "first", self.how, numeric, but)

    def csv(self, most: int) -> bytes:
        """Like :func:`dpviz.data.conversion.as_csv`."""
        return self.upload.ask(lambda _, arrays: arrays[0].tobytes(), "csv", self.how, most)

    def outside(self, columns: Sequence[str], bounds: Sequence[tuple[float, float]]) -> NamedRows:
        """Like :meth:`dpviz.data.reading.table.Table.outside`."""
        return self.upload.ask(
            lambda rows, _: NamedRows.of(rows), "outside", self.how, columns, bounds
        )


def _pair(answer: Any, _: Arrays) -> tuple[Any, Any]:
    one, other = answer
    return one, other

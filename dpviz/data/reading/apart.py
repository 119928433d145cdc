"""Uploads are read in a process of their own, with limits of time and memory.

Whatever a file does to its reader, the server lives on and says one sentence. A reader serves one
file, ends a few seconds after the last question and is started anew for the next one. One more
waits, its libraries loaded, so that a small file is read at once.
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock, Semaphore, Timer
from typing import IO, Any, TypeVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import InputError, reason, shown
from dpviz.base.threads import processors
from dpviz.base.work import Cancelled
from dpviz.data.dataset import Dataset
from dpviz.data.reading.files import megabytes
from dpviz.data.reading.limits import PATIENCE, SECONDS
from dpviz.data.reading.reader import TYPES, pieces, unpacked
from dpviz.data.reading.table import Unreadable
from dpviz.data.reading.unread import NamedRows, UnreadableError
from dpviz.data.reading.watch import passed

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

#: Seconds after which a reader ends that nobody asks.
IDLE = 5.0

#: Seconds after which the next reader is started: not while the first one is at work.
_LATER = 1.5

#: An answer is at most so many times as large as the file, and so many bytes more.
_TIMES, _MORE = 4, 2**30

#: Seconds for a reader that has said nonsense to end by itself.
_LAST = 1.0

#: Longest line of an answer: names of many columns.
_LINE = 2**24

_ROOT = str(Path(__file__).parents[3])

#: A picture that somebody moves comes first: on Unix the reader is nice from its first line on.
#: Ctrl-C reaches it, too, and is for the program alone, which ends it.
_START = (
    f"import os, signal, sys; sys.path.insert(0, {_ROOT!r}); "
    "signal.signal(signal.SIGINT, signal.SIG_IGN); hasattr(os, 'nice') and os.nice(5); "
    "from dpviz.data.reading.reader import main; main()"
)

#: Longest sentence of a reader.
_LONGEST = 2_000

#: Readers that work at the same time.
_WORKING = Semaphore(max(2, processors()))


#: All processes that were started and are still referenced.
_READERS: WeakSet[_Reader] = WeakSet()


class _EndedError(Exception):
    """The reader has ended without an answer."""


class _Reader:
    """One process; its methods are called by one thread at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout
        self._most = 0
        _READERS.add(self)

    @property
    def alive(self) -> bool:
        """Whether the process has not ended yet."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def open(self, name: str, data: bytes | memoryview) -> None:
        """Hand the file over."""
        self._most = _TIMES * len(data) + _MORE
        head = json.dumps({"name": name, "size": len(data), "seconds": SECONDS})
        with suppress(BrokenPipeError):  # the answer will not come
            self._to.write(head.encode() + b"\n")
            self._to.write(data)
            self._to.flush()

    def ask(self, question: Sequence[Any]) -> tuple[Any, list[NDArray[Any]]]:
        """Return an answer: plain values and arrays; report progress meanwhile.

        Raises
        ------
        InputError
            With the reader's sentence.
        _EndedError
            If it has ended, by itself or at a limit.
        Cancelled
            If whoever watches the reading stops it.
        """
        clock = Timer(PATIENCE, self._process.kill)
        clock.daemon = True
        clock.start()
        try:
            with suppress(BrokenPipeError):
                self._to.write(json.dumps(question).encode() + b"\n")
                self._to.flush()
            while True:
                head, arrays = self._message()
                if "done" in head:
                    passed(head["done"], head["total"])
                elif "error" in head:
                    said = str(head["error"])[:_LONGEST]
                    if "rows" in head:
                        raise UnreadableError(said, NamedRows.of(head["rows"]))
                    raise InputError(said)
                else:
                    return head["answer"], arrays
        finally:
            clock.cancel()

    def _message(self) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        """Read one message; what does not look like one counts as the reader's end."""
        line = self._from.readline(_LINE)
        if not line.endswith(b"\n"):
            raise _EndedError
        head, shapes = json.loads(line)
        arrays = []
        for kind, shape in shapes:
            size = 8 * math.prod(shape)
            if kind not in TYPES or min(shape, default=0) < 0 or size > self._most:
                raise _EndedError
            array = np.empty(shape, np.dtype(kind))
            whole = array.reshape(-1).view(np.uint8).data
            for start, end in pieces(array.nbytes):
                view = whole[start:end]
                while len(view):
                    got = self._from.readinto(view)  # type: ignore[attr-defined]
                    if not got:
                        raise _EndedError
                    view = view[got:]
            arrays.append(array)
        return head, arrays

    def kill(self) -> None:
        """End the process; any thread may call this, also while another one asks."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """End the process, which has no more to do."""
        self.kill()
        self._close()

    def status(self) -> int:
        """End the process after an answer that was none; return how it ended by itself, else 0."""
        try:
            status = self._process.wait(_LAST)
        except subprocess.TimeoutExpired:
            status = 0  # killed here, which says nothing of a limit
            self.kill()
        self._close()
        return status

    def _close(self) -> None:
        """Close both pipes, and let the system forget the process."""
        for pipe in (self._to, self._from):
            with suppress(OSError):
                pipe.close()
        self._process.wait()


# -- the reader that waits ---------------------------------------------------------------

_LOCK = Lock()
_waiting: _Reader | None = None


def prepare() -> None:
    """Start the reader that waits, if there is none and the system has room for it."""
    global _waiting
    with _LOCK, suppress(OSError):
        if _waiting is not None and not _waiting.alive:
            _waiting.end()
            _waiting = None
        if _waiting is None:
            _waiting = _Reader()


def dismiss() -> None:
    """End the reader that waits: nobody is there who could give it a file."""
    global _waiting
    with _LOCK:
        waiting, _waiting = _waiting, None
    if waiting:
        waiting.end()


@atexit.register
def _end_all() -> None:
    """End all readers with the program."""
    for reader in tuple(_READERS):
        reader.end()


def _take() -> _Reader:
    """Return the reader that waits, or a new one."""
    global _waiting
    with _LOCK:
        taken, _waiting = _waiting, None
    later = Timer(_LATER, prepare)
    later.daemon = True
    later.start()
    if taken is not None and taken.alive:
        return taken
    if taken is not None:
        taken.end()
    return _Reader()


class Upload:
    """A file whose content only a process of its own looks at.

    Parameters
    ----------
    name, size
        Name, and number of bytes.
    data
        Returns the bytes.
    most
        Most bytes.
    """

    def __init__(
        self, name: str, size: int, data: Callable[[], bytes | memoryview], most: int
    ) -> None:
        self.name, self.size, self.most = name, size, most
        self._data = data
        self._lock = Lock()
        self._reader: _Reader | None = None
        self._idle: Timer | None = None

    def parts(self) -> tuple[str, ...]:
        """As :func:`dpviz.data.reading.read.parts`."""
        return tuple(self._ask("parts", max_bytes=self.most))

    def counts(self, **how: Any) -> Dataset:
        """As :func:`dpviz.data.reading.read.read_counts`."""
        return self._dataset("counts", max_bytes=self.most, **how)

    def table(self, **how: Any) -> UploadedTable:
        """As :func:`dpviz.data.reading.read.read_table`."""
        how = {"max_bytes": self.most, **how}
        facts = self._ask("table", **how)
        return UploadedTable(
            name=facts["name"],
            columns=tuple(facts["columns"]),
            rows=facts["rows"],
            notes=tuple(facts["notes"]),
            guessed=bool(facts["guessed"]),
            upload=self,
            how=how,
        )

    def _dataset(self, *question: Any, **named: Any) -> Dataset:
        answer, arrays = self._answer(question, named)
        try:
            return unpacked(answer, arrays)
        except (KeyError, TypeError, ValueError, StopIteration):
            raise self._failed(0) from None

    def _checked(self, make: Callable[[Any], T], *question: Any) -> T:
        """Make something of an answer; one of another form counts as the reader's end."""
        answer = self._ask(*question)
        try:
            return make(answer)
        except (KeyError, TypeError, ValueError):
            raise self._failed(0) from None

    def _ask(self, *question: Any, **named: Any) -> Any:
        return self._answer(question, named)[0]

    def _answer(
        self, question: Sequence[Any], named: dict[str, Any]
    ) -> tuple[Any, list[NDArray[Any]]]:
        """Ask the reader; start one if there is none."""
        with self._lock, _WORKING:
            if self._idle:
                self._idle.cancel()
            if self._reader is not None and not self._reader.alive:
                self._reader.end()
                self._reader = None
            if self._reader is None:
                try:
                    self._reader = _take()
                except OSError as error:
                    raise InputError(
                        f"{shown(self.name)} is not read, since no further program can be started "
                        f"here now ({reason(error)}): try again in a minute."
                    ) from None
                self._reader.open(self.name, self._data())
            try:
                name, *given = question
                return self._reader.ask((name, given, named))
            except InputError:
                raise
            except Cancelled:
                self._reader.end()
                self._reader = None
                raise
            except Exception:  # no end, no form and no size of an answer is ruled out
                status, self._reader = self._reader.status(), None
                raise self._failed(status) from None
            finally:
                self._idle = Timer(IDLE, self.close)
                self._idle.daemon = True
                self._idle.start()

    def stop(self) -> None:
        """End the reader at once, also in the middle of an answer, which then fails."""
        reader = self._reader
        if reader:
            reader.kill()

    def close(self) -> None:
        """End the reader once it has answered; the next question starts another one."""
        with self._lock:
            reader, self._reader = self._reader, None
        if reader:
            reader.end()

    def _failed(self, status: int) -> InputError:
        """Say why a reader has ended without an answer."""
        _LOG.warning("the reader of an upload of %d bytes ended with status %d", self.size, status)
        if status in (-getattr(signal, "SIGXCPU", 0), -getattr(signal, "SIGKILL", 0)):
            return InputError(
                f"{shown(self.name)} takes more than {SECONDS:g} s of a processor, or more memory "
                "than is free, to read: give fewer rows or columns, or save it as Parquet."
            )
        return InputError(
            f"{shown(self.name)} ({megabytes(self.size)}) stopped the program that reads it, at "
            "its limit of memory or at a damaged place: give fewer rows, or save the file again."
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class UploadedTable:
    """A table that was read in a process of its own; what is chosen of it comes from there, too.

    Parameters
    ----------
    name, columns, rows, notes, guessed
        As of :class:`dpviz.data.reading.table.Table`.
    upload, how
        The file, and how it is read.
    """

    name: str
    columns: tuple[str, ...]
    rows: int
    notes: tuple[str, ...]
    guessed: bool
    upload: Upload
    how: dict[str, Any] = field(repr=False)

    @cached_property
    def numeric_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold numbers throughout."""
        return self._numeric[0]

    @property
    def nearly_numeric(self) -> tuple[str, ...]:
        """Names of further columns that hold few cells that are no numbers."""
        return self._numeric[1]

    @cached_property
    def _numeric(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        def both(answer: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
            throughout, nearly = answer
            return tuple(throughout), tuple(nearly)

        return self.upload._checked(both, "numeric", self.how)

    def select(
        self,
        columns: Sequence[str] | None = None,
        unit: str | None = None,
        *,
        classes: str | None = None,
        least: int = 1,
        unreadable: Unreadable = "refuse",
        turn: bool = True,
    ) -> Dataset:
        """As :meth:`dpviz.data.reading.table.Table.select`."""
        chosen = {
            "columns": None if columns is None else list(columns),
            "unit": unit,
            "classes": classes,
            "least": least,
            "unreadable": unreadable,
            "turn": turn,
        }
        return self.upload._dataset("select", self.how, chosen)

    def first_columns(self, numeric: Sequence[str], but: Sequence[str] = ()) -> tuple[str, str]:
        """As :func:`dpviz.data.reading.proposal.first_columns`."""
        across, up = self.upload._ask("first", self.how, list(numeric), list(but))
        return across, up

    def csv(self, most: int) -> bytes:
        """As :func:`dpviz.data.conversion.as_csv`."""
        _, arrays = self.upload._answer(("csv", self.how, most), {})
        if len(arrays) != 1 or arrays[0].dtype != np.uint8:
            raise self.upload._failed(0)
        return arrays[0].tobytes()

    def outside(self, columns: Sequence[str], bounds: Sequence[tuple[float, float]]) -> NamedRows:
        """As :meth:`dpviz.data.reading.table.Table.outside`."""
        question = ("outside", self.how, list(columns), list(bounds))
        return self.upload._checked(NamedRows.of, *question)

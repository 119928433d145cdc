"""Report the progress of reading a large file, and stop the reading on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpviz.base.work import Cancelled, IsCancelled, Progress

#: Function that receives the number of bytes or rows read by this thread, and their total.
_WATCH: ContextVar[Progress | None] = ContextVar("reading", default=None)


@contextmanager
def watching(progress: Progress, cancelled: IsCancelled) -> Iterator[None]:
    """Report the progress of all reading in this thread; stop with Cancelled between two blocks."""

    def report(done: int, total: int) -> None:
        if cancelled():
            raise Cancelled("reading was stopped")
        progress(done, total)

    before = _WATCH.set(report)
    try:
        yield
    finally:
        _WATCH.reset(before)


def passed(done: int, total: int) -> None:
    """Report the progress of a pass if :func:`watching` is active in this thread."""
    if report := _WATCH.get():
        report(done, total)

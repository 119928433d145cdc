"""How far the reading of a large file has come, and how to stop it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpviz.base.work import Cancelled, IsCancelled, Progress

#: Gets bytes or rows so far and in all of what this thread reads.
_WATCH: ContextVar[Progress | None] = ContextVar("reading", default=None)


@contextmanager
def watching(progress: Progress, cancelled: IsCancelled) -> Iterator[None]:
    """Report all reading inside, by this thread: each pass begins at 0 again.

    It ends with Cancelled between two blocks, once ``cancelled()`` is true.
    """

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
    """Say how far a pass has come; nobody may be watching."""
    if report := _WATCH.get():
        report(done, total)

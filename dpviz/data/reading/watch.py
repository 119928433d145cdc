"""How far the reading of a large file has come, and how to stop it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpviz.base.work import Cancelled, IsCancelled, Progress

#: Who watches the reading in this thread: gets bytes or rows so far and in all; may stop it.
_WATCH: ContextVar[tuple[Progress, IsCancelled] | None] = ContextVar("reading", default=None)


@contextmanager
def watching(progress: Progress, cancelled: IsCancelled) -> Iterator[None]:
    """Report all reading inside, by this thread, to callbacks.

    A file is read more than once: each pass begins at 0 again.

    Raises
    ------
    Cancelled
        Between two blocks, once ``cancelled()`` is true.
    """
    before = _WATCH.set((progress, cancelled))
    try:
        yield
    finally:
        _WATCH.reset(before)


def passed(done: int, total: int) -> None:
    """Say how far a pass has come; nobody may be watching."""
    watch = _WATCH.get()
    if watch is None:
        return
    progress, cancelled = watch
    if cancelled():
        raise Cancelled("reading was stopped")
    progress(done, total)

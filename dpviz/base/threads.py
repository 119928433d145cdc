"""Threads for passes over large data: compiled loops release the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import TypeVar

from dpviz.base.lazy import load

P = TypeVar("P")
T = TypeVar("T")

#: Function to call before each part of a pass that this thread starts: see :func:`checked`.
_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)

#: Whether libraries have to compute in one thread, because sums depend on the number of threads.
ALONE: ContextVar[bool] = ContextVar("alone", default=False)


@cache
def pool() -> ThreadPoolExecutor:
    """Threads that all passes share; no thread may wait for another thread of the pool."""
    return ThreadPoolExecutor(processors(), thread_name_prefix="dpviz-pass")


def processors() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spans(n: int, least: int) -> list[slice]:
    """Cut n records into equal spans, at most one per processor, with ``least`` records or more."""
    number = max(1, min(processors(), n // least))
    cuts = [n * part // number for part in range(number + 1)]
    return [slice(*ends) for ends in pairwise(cuts)]


def in_threads(work: Callable[[P], T], parts: Sequence[P]) -> list[T]:
    """Call ``work`` for each part in the shared threads; return the results in order."""
    check = _CHECK.get()
    if check:
        check()
    if len(parts) == 1:
        return [work(parts[0])]

    def one(part: P) -> T:
        if check:
            check()
        return work(part)

    # Few parts are queued at a time, so that a small pass of another session need not wait long.
    waiting, results = deque[Future[T]](), []
    for part in parts:
        if len(waiting) == 2 * processors():
            results.append(waiting.popleft().result())
        waiting.append(pool().submit(one, part))
    return results + [part.result() for part in waiting]


@contextmanager
def checked(check: Callable[[], None]) -> Iterator[None]:
    """Call ``check``, which may raise an error, before each pass of this thread and each part."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


@contextmanager
def one_thread() -> Iterator[None]:
    """Set ``ALONE`` and limit the loaded libraries; others have to be limited when they load."""
    from threadpoolctl import threadpool_limits

    load("scipy.linalg")
    token = ALONE.set(True)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        ALONE.reset(token)

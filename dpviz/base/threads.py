"""Threads for passes over large data: compiled loops let go of the interpreter."""

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

P = TypeVar("P")
T = TypeVar("T")

#: Called before each part of a pass over the data that this thread makes, see :func:`checked`.
_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


@cache
def pool() -> ThreadPoolExecutor:
    """Threads that all passes share; none of them may wait for another."""
    return ThreadPoolExecutor(processors(), thread_name_prefix="dpviz-pass")


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spans(n: int, least: int) -> list[slice]:
    """Cut n records into equal spans, one for each processor, none shorter than ``least``."""
    number = max(1, min(processors(), n // least))
    cuts = [n * part // number for part in range(number + 1)]
    return [slice(*ends) for ends in pairwise(cuts)]


def in_threads(work: Callable[[P], T], parts: Sequence[P]) -> list[T]:
    """Do a piece of work for each part, the results in their order."""
    check = _CHECK.get()
    if check:
        check()
    if len(parts) == 1:
        return [work(parts[0])]

    def one(part: P) -> T:
        if check:
            check()
        return work(part)

    # Few parts wait at a time: so a small pass of somebody else need not wait for the end of a long
    # one, which has hundreds.
    waiting, results = deque[Future[T]](), []
    for part in parts:
        if len(waiting) == 2 * processors():
            results.append(waiting.popleft().result())
        waiting.append(pool().submit(one, part))
    return results + [part.result() for part in waiting]


@contextmanager
def checked(check: Callable[[], None]) -> Iterator[None]:
    """Call a function before each pass that this thread makes, and each part of it.

    It ends the pass by an exception, and may be called in other threads, too.
    """
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)

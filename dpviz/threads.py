"""Threads for passes over large data: compiled loops let go of the interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


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


def in_threads(work: Callable[[slice], T], parts: list[slice]) -> list[T]:
    """Do a piece of work for each part, the results in their order."""
    return list(pool().map(work, parts) if len(parts) > 1 else map(work, parts))

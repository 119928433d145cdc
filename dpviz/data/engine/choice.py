"""Engines by name, and the engine for one machine: threads of this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from dpviz.base.errors import InputError, shown
from dpviz.base.threads import processors
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.engine.tables import Engine, PartWork, Tables, Titled, read

#: Number of parts per processor that are being read or wait; more would only fill memory.
AHEAD = 2


@dataclass(frozen=True, kw_only=True)
class Local:
    """Threads of this process; between two parts, a pass reports progress and may be cancelled."""

    progress: Progress | None = None
    cancelled: IsCancelled | None = None

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of each part, in the order of the parts."""
        return list(self._read(parts, work))

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the sum of the tables of all parts, added in the order of the parts."""
        found = self._read(parts, work)
        total = tuple(table.copy() for table in next(found))
        for tables in found:
            for table, more in zip(total, tables, strict=True):
                table += more
        return total

    def _read(self, parts: Sequence[Titled], work: PartWork) -> Iterator[Tables]:
        steps = Work(len(parts), "parts", self.progress, self.cancelled)
        # Reading may use the pool of dpviz.base.threads, so these tasks run in other threads.
        threads = ThreadPoolExecutor(processors(), thread_name_prefix="dpviz-read")
        ahead: deque[Future[Tables]] = deque()
        left = iter(parts)
        try:
            for _ in steps.over(parts):
                while len(ahead) < AHEAD * processors() and (part := next(left, None)) is not None:
                    ahead.append(threads.submit(read, work, part))
                yield ahead.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


ENGINES = ("local", "dask")


def check_engine(name: str, scheduler: str | None) -> None:
    """Raise InputError if the engine is unknown, or its scheduler is missing or not allowed."""
    if name not in ENGINES:
        raise InputError(f'engine = "{shown(name)}" is unknown: choose {" or ".join(ENGINES)}.')
    if name == "dask" and scheduler is None:
        raise InputError(
            'engine = "dask" needs the address of a scheduler, for example --scheduler '
            'tcp://127.0.0.1:8786; "dask scheduler" starts one.'
        )
    if name != "dask" and scheduler is not None:
        raise InputError(
            f"scheduler = {shown(scheduler)} needs the engine dask, but the engine is {name}: "
            "leave the scheduler out, or choose dask."
        )


def engine_of(
    name: str = "local", scheduler: str | None = None, *, progress: Progress | None = None
) -> AbstractContextManager[Engine]:
    """Return the engine with a name in ``ENGINES``; InputError if it can't be used or reached."""
    check_engine(name, scheduler)
    if scheduler is None:
        return nullcontext(Local(progress=progress))
    # Import Dask only if it is used.
    from dpviz.data.engine.dask import Cluster

    return Cluster(scheduler=scheduler, progress=progress)

"""The engine for many machines: Dask tasks read one part each, and further tasks add the tables.

No record is sent, and workers do not sample noise. If a worker dies, other workers read its parts
again, so the total is the same.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import Event
from time import monotonic
from typing import Any

from dpviz.base.errors import InputError, shown
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.data.engine.tables import PartWork, Tables, Titled, joined, read, read_alone, summed

#: Number of tables that one task adds. Tasks form a tree, so that each worker needs little memory.
JOINED = 16

#: Number of seconds to wait for an answer of the scheduler, and for the first worker.
ANSWER, FIRST_WORKER = 10, 60

#: Code that scheduler and workers must be able to run.
_NEEDED = "import dpviz.data.engine.tables"

#: Seconds between two checks of progress and cancelling, and between two checks of the workers.
LOOK, PULSE = 0.2, 5.0

#: Seconds without a worker or an answer after which a run stops; a restart takes less time.
LOST = 40.0


@dataclass(kw_only=True)
class Cluster(AbstractContextManager["Cluster"]):
    """Connection to the workers of a Dask scheduler ("tcp://10.0.0.1:8786"), closed at the end."""

    # InputError if Dask is not installed, or no worker answers; for the callbacks see Local.

    scheduler: str
    progress: Progress | None = None
    cancelled: IsCancelled | None = None

    def __post_init__(self) -> None:
        """Connect."""
        self._client = _connected(self.scheduler)

    def __exit__(self, *error: object) -> None:
        """Close the connection; the scheduler and the workers continue to run."""
        # A timeout is needed, because a stopped scheduler does not answer.
        self._client.close(timeout=PULSE)

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of each part, in the order of the parts."""
        found: list[Tables] = self._run(parts, partial(read, work), list)
        return found

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the sum of the tables of all parts, added in the order of the parts."""
        return summed(self._run(parts, partial(read_alone, work), joined))

    def _run(
        self, parts: Sequence[Titled], task: Callable[[Any], Any], join: Callable[[Any], Any]
    ) -> Any:
        steps = Work(len(parts), "parts", self.progress, self.cancelled)
        # Tasks are not pure, because the same task of an earlier run may have read an older file.
        leaves = level = self._client.map(task, parts, pure=False)
        every = list(leaves)
        while len(level) > 1 or level is leaves:
            width = len(level) if join is list else JOINED
            level = [
                self._client.submit(join, level[begin : begin + width], pure=False)
                for begin in range(0, len(level), width)
            ]
            every += level
        try:
            return self._waited(level[0], leaves, parts, steps)
        finally:
            # Tasks that are no longer needed are not started.
            for future in every:
                future.release()

    def _waited(self, last: Any, leaves: list[Any], parts: Sequence[Titled], steps: Work) -> Any:
        from distributed import KilledWorker

        finished, left = Event(), leaves
        last.add_done_callback(lambda _: finished.set())
        seen = looked = monotonic()
        steps.check()
        while not finished.wait(LOOK):
            if monotonic() > looked + PULSE:
                seen = self._seen(seen)
                looked = monotonic()
            waiting = []
            for leaf in left:
                if leaf.done():
                    leaf.release()  # frees the worker's memory of a table that was added
                    steps.advance()
                else:
                    waiting.append(leaf)
            left = waiting
            steps.check()
        try:
            found = last.result()
        except InputError as error:
            raise InputError(str(error)) from None  # without the worker's traceback
        except KilledWorker as error:
            names = {leaf.key: part.title for leaf, part in zip(leaves, parts, strict=True)}
            raise InputError(
                f"{error.allowed_failures + 1} workers died one after the other, the last at "
                f"{shown(names.get(error.task, 'tables to add'), 120)}: give them more memory, or "
                "see their logs for the reason."
            ) from None
        except CancelledError:
            raise InputError(
                f"the Dask scheduler at {shown(self.scheduler)} was lost in mid-run: start it "
                "and its workers again, and run again."
            ) from None
        steps.advance(len(left))
        return found

    def _seen(self, before: float) -> float:
        """Time at which the scheduler last had a worker; InputError if that was too long ago."""
        scheduler = shown(self.scheduler)
        try:
            facts = self._client.sync(self._client.scheduler.identity, callback_timeout=ANSWER)
        except (OSError, TimeoutError):
            lost = (
                f"has not answered for {LOST:.0f} s: see whether it still runs, start it and its "
                "workers again, and run again."
            )
        else:
            if facts["workers"]:
                return monotonic()
            lost = (
                f'has had no worker for {LOST:.0f} s: start some with "dask worker {scheduler}", '
                "see the logs of the old workers, and run again."
            )
        if monotonic() > before + LOST:
            raise InputError(f"the Dask scheduler at {scheduler} {lost}")
        return before


def _connected(scheduler: str) -> Any:
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port, parse_address
    except ImportError:
        raise InputError(
            'engine = "dask" needs a package that is not installed: pip install "dpviz[dask]", '
            "or choose the engine local."
        ) from None
    # One error message replaces the log messages of Dask and its libraries.
    for layer in ("client", "core", "comm"):
        logging.getLogger(f"distributed.{layer}").setLevel(logging.CRITICAL)
    place = shown(scheduler)
    try:
        if parse_address(scheduler)[0] in ("tcp", "tls"):
            # Check the address first, because a client without a scheduler may retry forever.
            socket.create_connection(get_address_host_port(scheduler), ANSWER).close()
        client = Client(scheduler, timeout=ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {place} ({type(error).__name__}): start one with "
            '"dask scheduler", and give the address that it prints.'
        ) from None
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER)
        # Check the import first: workers that can't unpickle a task drop it without any message.
        client.run_on_scheduler(exec, _NEEDED)
        client.run(exec, _NEEDED)
    except (TimeoutError, ImportError) as error:
        client.close()
        raise InputError(
            f'the Dask scheduler at {place} has no workers: start some with "dask worker {place}".'
            if isinstance(error, TimeoutError)
            else f"the scheduler at {place} or one of its workers lacks a package "
            f"({shown(error, 80)}): install dpviz there, in the same versions as here."
        ) from None
    return client

"""Turns of heavy jobs: few run at a time, and each gives its place on after a while.

A class starts thirty audits at once, and somebody else only a search that takes a second: nobody
waits until all others are done, and whoever drags a slider has a processor left.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Condition, Lock, local

from dpviz.base.work import IsCancelled

#: Seconds between two looks of a waiting job whether it should stop.
_LOOK = 0.2

#: Seconds after which what was counts for a third.
_FADES = 1.0


class Load:
    """How many of something are going on, on average over the last moments.

    Each enters and leaves by ``with``.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._now, self._mean, self._at = 0, 0.0, clock()

    def __enter__(self) -> None:
        """One more goes on."""
        self._change(1)

    def __exit__(self, *_: object) -> None:
        """One has ended."""
        self._change(-1)

    def mean(self) -> float:
        """The average, in which the last second counts most."""
        return self._change(0)

    def _change(self, by: int) -> float:
        """Take in the time since the last change, and one more or less from now on."""
        with self._lock:
            at = self._clock()
            kept = math.exp((self._at - at) / _FADES)
            self._mean = self._mean * kept + self._now * (1 - kept)
            self._at, self._now = at, self._now + by
            return self._mean


class Places:
    """Places for what is done at once, each by its thread; more would get in each other's way."""

    def __init__(self, number: int) -> None:
        self._free, self._own = BoundedSemaphore(number), local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a place and have it meanwhile."""
        with self._free:
            self._own.held = True
            try:
                yield
            finally:
                self._own.held = False

    @contextmanager
    def given_on(self) -> Iterator[None]:
        """Leave the place of this thread, where it has one, to others meanwhile: it only waits."""
        if not getattr(self._own, "held", False):
            yield
            return
        self._free.release()
        try:
            yield
        finally:
            self._free.acquire()


class Turns:
    """Places for jobs; those who wait get them in their order.

    A job goes to the end of the line after its share of seconds, if others wait.
    """

    def __init__(
        self, places: int, share: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.places, self.share = places, share
        self._clock, self._changed = clock, Condition()
        self._line: list[object] = []
        self._since: dict[object, float] = {}

    def enter(self, job: object, stop: IsCancelled) -> bool:
        """Wait for a place; return whether there is one, False if the job should stop."""
        with self._changed:
            self._line.append(job)
            while not stop():
                if self._line[0] is job and len(self._since) < self.places:
                    self._line.remove(job)
                    self._since[job] = self._clock()
                    self._changed.notify_all()
                    return True
                self._changed.wait(_LOOK)
            self._line.remove(job)
            self._changed.notify_all()
            return False

    def leave(self, job: object) -> None:
        """Give a place back, if the job has one."""
        with self._changed:
            self._since.pop(job, None)
            self._changed.notify_all()

    def give_way(self, job: object, stop: IsCancelled) -> None:
        """Let others run first where some wait and the job has had its share; then go on."""
        with self._changed:
            since = self._since.get(job)
            if since is None or not self._line or self._clock() - since < self.share:
                return
            del self._since[job]
            self._changed.notify_all()
        self.enter(job, stop)

    def before(self, job: object) -> int:
        """Number of jobs before one that waits, the running ones among them; else 0."""
        with self._changed:
            if job not in self._line:
                return 0
            return self._line.index(job) + len(self._since)

"""Turns of heavy jobs: few jobs run at a time, and each job soon lets other jobs run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Condition, Lock, local

from dpviz.base.work import IsCancelled

_LOOK = 0.2

#: Number of seconds after which the weight of a value has fallen to 1/e, about a third.
_FADES = 1.0


class Load:
    """Average number of blocks ``with load`` that ran at the same time in the last seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._now, self._mean, self._at = 0, 0.0, clock()

    def __enter__(self) -> None:
        """Count a block that begins."""
        self._change(1)

    def __exit__(self, *_: object) -> None:
        """Count a block that ends."""
        self._change(-1)

    def mean(self) -> float:
        """Average number of blocks; the last second has the largest weight."""
        return self._change(0)

    def _change(self, by: int) -> float:
        with self._lock:
            at = self._clock()
            kept = math.exp((self._at - at) / _FADES)
            self._mean = self._mean * kept + self._now * (1 - kept)
            self._at, self._now = at, self._now + by
            return self._mean


class Places:
    """A limited number of places for threads that work at the same time."""

    def __init__(self, number: int) -> None:
        self._free, self._own = BoundedSemaphore(number), local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Wait for a place, and keep it during the block."""
        with self._free:
            self._own.held = True
            try:
                yield
            finally:
                self._own.held = False

    @contextmanager
    def given_on(self) -> Iterator[None]:
        """During a block that only waits, give up this thread's place, if it has a place."""
        if not getattr(self._own, "held", False):
            yield
            return
        self._free.release()
        try:
            yield
        finally:
            self._free.acquire()


class Turns:
    """Places for jobs in the order of arrival; a job that used its share goes to the end."""

    def __init__(
        self, places: int, share: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.places, self.share = places, share
        self._clock, self._changed = clock, Condition()
        self._line: list[object] = []
        self._since: dict[object, float] = {}

    def enter(self, job: object, stop: IsCancelled) -> bool:
        """Wait for a place. Return True if the job got a place, or False if the job should stop."""
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
        """Give up the job's place, if it has a place."""
        with self._changed:
            self._since.pop(job, None)
            self._changed.notify_all()

    def give_way(self, job: object, stop: IsCancelled) -> None:
        """If other jobs wait and the job has used its share, let them run first; then continue."""
        with self._changed:
            since = self._since.get(job)
            if since is None or not self._line or self._clock() - since < self.share:
                return
            del self._since[job]
            self._changed.notify_all()
        self.enter(job, stop)

    def before(self, job: object) -> int:
        """Number of jobs before a waiting job, including running jobs; 0 if it does not wait."""
        with self._changed:
            if job not in self._line:
                return 0
            return self._line.index(job) + len(self._since)

"""A bounded store of recent results, safe between threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class LRUCache:
    """The most recently used results; safe between sessions.

    Parameters
    ----------
    most
        Sum of the weights of all results, at most; the last one stays in any case.
    """

    def __init__(self, most: int) -> None:
        self._most, self._sum = most, 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._building: dict[Hashable, tuple[Lock, int]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, build: Callable[[], T], *, weight: int = 1) -> T:
        """Return the entry of a key, built where there is none.

        Where several ask for a missing one at once, each builds it: nobody waits for a thread that
        has other things to do, or rests.
        """
        with self._lock:
            if (kept := self._kept(key)) is not None:
                found: T = kept[0]
                return found
        built = build()
        with self._lock:
            self._sum += weight - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = built, weight
            while self._sum > self._most and len(self._entries) > 1:
                self._sum -= self._entries.popitem(last=False)[1][1]
        return built

    def get_once(
        self,
        key: Hashable,
        build: Callable[[], T],
        *,
        weight: int = 1,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> T:
        """Return the entry of a key; where several ask for a missing one, the first builds it.

        The others wait, inside of ``waiting()``. Where the first one fails, or is stopped, the next
        one builds it. What builds must not ask for the same key, nor for another one with
        ``waiting``.
        """
        with self._lock:
            if (kept := self._kept(key)) is not None:
                found: T = kept[0]
                return found
            turn, asking = self._building.get(key, (Lock(), 0))
            self._building[key] = turn, asking + 1
        try:
            if turn.locked():
                with waiting(), turn:
                    pass
            with turn:
                return self.get(key, build, weight=weight)
        finally:
            with self._lock:
                asking = self._building[key][1] - 1
                if asking:
                    self._building[key] = turn, asking
                else:
                    del self._building[key]

    def _kept(self, key: Hashable) -> tuple[Any, int] | None:
        """Entry of a key with its weight, from now on the most recently used; under the lock."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

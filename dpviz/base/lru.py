"""A store of recent results with a bounded size, safe for several threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class LRUCache:
    """Store of the most recently used results, with a limited sum of weights; the newest stays."""

    def __init__(self, most: int) -> None:
        self._most, self._sum = most, 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._building: dict[Hashable, tuple[Lock, int]] = {}
        self._lock = Lock()

    def get(
        self, key: Hashable, build: Callable[[], T], *, weight: int | Callable[[T], int] = 1
    ) -> T:
        """Return the entry of a key; build it if it is missing, maybe in several threads at once.

        So no thread waits for another thread. ``weight`` may be a function of the entry.
        """
        with self._lock:
            if (kept := self._kept(key)) is not None:
                found: T = kept[0]
                return found
        built = build()
        added = weight(built) if callable(weight) else weight
        with self._lock:
            self._sum += added - self._entries.pop(key, (None, 0))[1]
            self._entries[key] = built, added
            while self._sum > self._most and len(self._entries) > 1:
                self._sum -= self._entries.popitem(last=False)[1][1]
        return built

    def get_once(
        self,
        key: Hashable,
        build: Callable[[], T],
        *,
        weight: int | Callable[[T], int] = 1,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> T:
        """Return the entry of a key; only the first thread that asks for the entry builds it.

        Other threads wait inside ``waiting()``; if the first thread fails, the next thread builds
        it. ``build`` must not ask for the same key, or for another key with a ``waiting`` argument.
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
        """Mark an entry as the most recently used; return it with its weight. Needs the lock."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key]

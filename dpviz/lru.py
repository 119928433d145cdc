"""A bounded store of recent results, safe between threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class LRUCache:
    """The most recently used results, a bounded number of them; safe between sessions."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return the entry of a key, built where there is none."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                found: T = self._entries[key]
                return found
        built = build()
        with self._lock:
            self._entries[key] = built
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        return built

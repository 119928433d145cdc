"""Attributes that are computed once, without a lock: no thread waits for another thread."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    # Python 3.11's has one lock for an attribute of all objects of a class. So a page would wait
    # for a job with other data, which rests while the page is rendered.
    class cached_property(functools.cached_property):  # noqa: N801, D101
        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute the attribute and keep it; if two threads compute it, both get the first."""
            if instance is None:
                return self
            return vars(instance).setdefault(self.attrname, self.func(instance))

"""Compiles functions with numba and caches the machine code on disk if possible.

The cache only saves seconds at a start: without a writable folder, or with damaged files,
functions are compiled again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from numba import njit
from numba.core.caching import FunctionCache


def compiled(
    *, inline: Literal["never", "always"] = "never"
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function: it is compiled at its first call and releases the interpreter lock.

    Inline "always" inserts its body into the functions that call it.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(nogil=True, inline=inline)(function)
        # As njit(cache=True); numba raises RuntimeError if no folder is writable.
        with suppress(RuntimeError, OSError):
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    """Numba's cache of one function; without it, everything works but starts more slowly."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Unpickling damaged bytes may raise any error. A new index replaces them.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)

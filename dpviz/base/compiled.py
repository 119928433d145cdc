"""Compiles functions with numba, and caches the machine code where a folder allows it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from numba import njit
from numba.core.caching import FunctionCache


def compiled(
    *, inline: Literal["never", "always"] = "never"
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call, without the interpreter lock, or inline in others."""

    def decorate(function: Callable[..., Any]) -> Any:
        # Nobody calls the loops from C. Numba's types do not know this option.
        options: Any = {"nogil": True, "inline": inline, "no_cfunc_wrapper": True}
        dispatcher: Any = njit(**options)(function)
        # Like njit(cache=True), but ignores numba's RuntimeError if no folder is writable.
        with suppress(RuntimeError, OSError):
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Damaged bytes may raise any error when they are unpickled. A new index replaces them.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)

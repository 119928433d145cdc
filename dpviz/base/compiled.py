"""Compiles functions with numba; caches the machine code if a folder for it is writable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pkgutil import resolve_name
from threading import local
from typing import Any, Literal

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

from dpviz.base.lazy import load

_THREAD = local()


@contextmanager
def interpreted() -> Iterator[None]:
    """In this thread, run a function as plain Python if it would have to be compiled first."""
    _THREAD.plain = True
    try:
        yield
    finally:
        _THREAD.plain = False


def uncompiled(names: Iterable[str]) -> list[str]:
    """Return the functions ("module:name") that would be compiled at their first call."""
    return [name for name in names if _is_new(resolve_name(name))]


def _is_new(dispatcher: Any) -> bool:
    if dispatcher.signatures:
        return False
    with suppress(Exception):  # no folder for the cache, or a damaged index
        return not dispatcher._cache._cache_file._load_index()
    return True


def compiled(
    *, inline: Literal["never", "always"] = "never", plain: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function at its first call; it releases the interpreter lock, or is inlined.

    ``plain`` replaces the function while a thread is :func:`interpreted`, because it is faster.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        # The loops need no wrapper for calls from C. Numba's types do not know this option.
        options: Any = {"nogil": True, "inline": inline, "no_cfunc_wrapper": True}
        dispatcher: Any = njit(**options)(function)
        # Like njit(cache=True), but ignores numba's RuntimeError if no folder is writable.
        with suppress(RuntimeError, OSError):
            dispatcher._cache = _Cache(function)
        compile_now = dispatcher._compile_for_args
        # numba calls what this returns.
        dispatcher._compile_for_args = lambda *given, **named: (
            plain or function if getattr(_THREAD, "plain", False) else compile_now(*given, **named)
        )
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # Numba's own method first loads all that compiling needs (0.5 s, with parts of SciPy).
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(sig, target_context)
        except Exception:
            # Damaged bytes may raise any error when they are unpickled. A new index replaces them.
            with suppress(Exception):
                self.flush()
            found = None
        if found is None:
            with suppress(ImportError):  # also numba works without it
                load("scipy.linalg.cython_blas")  # numba's own import takes 0.1 s longer
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(Exception):
            super().save_overload(sig, data)

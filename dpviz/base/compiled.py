"""Compiles functions with numba and caches the machine code on disk if possible.

The cache only saves seconds at a start: without a writable folder, or with damaged files,
functions are compiled again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

#: Bytes of a checksum.
_SIZE = 16


def compiled(
    *, inline: Literal["never", "always"] = "never"
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function: it is compiled at its first call and releases the interpreter lock.

    Parameters
    ----------
    inline
        "always" inserts its body into the functions that call it.
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

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached code of a signature, or None if there is no usable code."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Unpickling damaged bytes may raise any error. A new index replaces them.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, if there is space on the disk."""
        with suppress(Exception):
            super().save_overload(sig, data)


class _CheckedFile(IndexDataCacheFile):
    """Files of a cache with a checksum: one wrong bit of machine code changes the results."""

    def _load_data(self, name: str) -> Any:
        """Return the content of a data file; ValueError if it differs from what was written."""
        content = Path(self._data_path(name)).read_bytes()
        if content[:_SIZE] != _checksum(content[_SIZE:]):
            raise ValueError(f"{name} is damaged")
        return pickle.loads(content[_SIZE:])

    def _save_data(self, name: str, data: Any) -> None:
        """Write a data file."""
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(_checksum(content) + content)


def _checksum(content: bytes) -> bytes:
    """Checksum of a data file."""
    return hashlib.blake2b(content, digest_size=_SIZE).digest()

"""Compiling a function by numba, whose machine code is kept on disk where that can be done.

Kept code saves seconds at a start, and no more: without a folder to write, or with damaged files
in it, functions are compiled anew.
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
    """Decorate a function to be compiled at its first call; it lets go of the interpreter.

    Parameters
    ----------
    inline
        "always" where its body belongs into the functions that call it.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(nogil=True, inline=inline)(function)
        # What njit(cache=True) does; numba raises RuntimeError where no folder can be written.
        with suppress(RuntimeError, OSError):
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Cache(FunctionCache):
    """Numba's cache of one function, without which everything goes on, if more slowly."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what is kept for a signature, or None where nothing usable is."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            # Unpickling spoilt bytes may raise anything. With a new index they are replaced.
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, where there is room."""
        with suppress(Exception):
            super().save_overload(sig, data)


class _CheckedFile(IndexDataCacheFile):
    """Files of a cache with a checksum: a flipped bit of machine code computes something else."""

    def _load_data(self, name: str) -> Any:
        """Return what a data file holds; ValueError where it is not what was written."""
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

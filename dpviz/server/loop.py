"""The event loop of the server: asyncio's loop, but several calls wake it up only once.

For a picture, a page passes about forty messages to the loop, and Streamlit adds a callback to
each. Each call of ``call_soon_threadsafe`` writes a byte to a socket, and releases the interpreter
lock, which another thread may take. A sleeping loop needs one byte, a loop that is awake needs no
byte. uvloop does not help: it keeps the last 250 KB received, even after a connection's end.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.selector_events import _SelectorSocketTransport  # type: ignore[attr-defined]
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: Seconds for which messages are held, so that they are sent together.
_SOON = 0.002


class Loop(asyncio.SelectorEventLoop):
    """A loop to which bytes are written only while it sleeps, and then only one byte."""

    def __init__(self, *given: Any) -> None:
        self._awake = False
        super().__init__(*given)

    def _make_socket_transport(self, *given: Any, **more: Any) -> Any:
        return _Together(self, *given, **more)

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


class _Together(_SelectorSocketTransport):  # type: ignore[misc]
    """A connection that sends the messages of two milliseconds of a websocket in one call."""

    # A call takes a tenth of a millisecond, and releases the interpreter lock. A picture has forty
    # messages, which the page makes one after the other.
    def __init__(self, *given: Any, **more: Any) -> None:
        self._held: list[bytes] = []
        super().__init__(*given, **more)

    def write(self, data: Any) -> None:
        """Send data, or hold it until the next messages are there."""
        if "WebSocket" not in type(self.get_protocol()).__name__ or self.is_closing():
            super().write(data)
            return
        if not self._held:
            self._loop.call_later(_SOON, self._release)
        self._held.append(bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        """Send several pieces of data."""
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        """Close the connection after all held data is sent."""
        self._release()
        super().close()

    def write_eof(self) -> None:
        """Say that nothing follows, after all held data is sent."""
        self._release()
        super().write_eof()

    def _release(self) -> None:
        held, self._held = self._held, []
        if held and not self._conn_lost:
            super().write(b"".join(held))


def use_for_sessions() -> None:
    """Make Streamlit read its theme once, and lose no message of a run that has just ended."""
    from streamlit.runtime import app_session  # imported here, because it loads slowly

    with suppress(AttributeError):  # another version of Streamlit
        app_session._populate_theme_msg = _once(app_session._populate_theme_msg)
    with suppress(AttributeError):
        session = app_session.AppSession
        closed = app_session.AppSessionState.SHUTDOWN_REQUESTED
        create = _in_turn(session._create_scriptrunner, closed)
        session._create_scriptrunner = create  # type: ignore[assignment, method-assign]


def _once(fill: Callable[[Any, str], None]) -> Callable[..., None]:
    """Read each section of the theme once; Streamlit reads them for each run, in 1.5 ms."""
    known: dict[str, Any] = {}

    def merge(message: Any, section: str = "theme") -> None:
        if section not in known:
            known[section] = type(message)()
            fill(known[section], section)
        if known[section].ListFields():
            message.MergeFrom(known[section])

    return merge


def _in_turn(create: Callable[[Any, Any], None], closed: object) -> Callable[[Any, Any], None]:
    """Begin a run after all messages of the session's ended run; Streamlit drops later messages.

    These messages wait in the queue of the loop. If one of them has the picture, the picture would
    be lost. A session whose state is ``closed`` begins no run.
    """

    def renew(session: Any, request: Any) -> None:
        ended = session._scriptrunner
        if ended is None:
            create(session, request)
            return

        def begin() -> None:
            now = session._scriptrunner
            if session._state == closed:
                return
            waits = now is not ended and getattr(now, "follows", None) is ended
            if now is None or now is ended or (waits and not now.request_rerun(request)):
                create(session, request)
                session._scriptrunner.follows = ended
            # Otherwise a run of the whole page has begun, with newer values.

        session._event_loop.call_soon(begin)

    return renew


def _factory(use_subprocess: bool = False) -> type[asyncio.AbstractEventLoop]:
    return Loop


def use() -> None:
    """Make this loop the default of servers that start later; servers may choose another loop."""
    if sys.platform != "win32":  # on Windows uvicorn uses a loop of another kind
        with suppress(ImportError):  # uvicorn before 0.36 keeps its own loop
            from uvicorn.config import LOOP_FACTORIES

            LOOP_FACTORIES["auto"] = f"{__name__}:{_factory.__name__}"

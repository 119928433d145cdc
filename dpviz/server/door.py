"""The door for a class: a second socket of the running server, for guests in the local network.

The server itself still listens only on this computer. The door passes a guest's requests on to the
same app, and marks each request; :func:`dpviz.ui.session.classroom.is_guest` reads these marks. The
door passes on only requests to read and the socket of the page, so guests can't upload files.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import streamlit as st
import uvicorn
from starlette.responses import PlainTextResponse

from dpviz.base.ending import say
from dpviz.base.errors import InputError, shown
from dpviz.ui.session.classroom import GUEST

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

#: Entry of a request's scope which says that the door has checked the host; no client can set it.
CHECKED = "dpviz.checked"

#: Number of ports to try, beginning with the server's own port; seconds to wait for the server.
_TRIED, _PATIENCE = 20, 10.0

#: Largest message of a guest's browser in bytes: values of controls are much smaller.
_MOST_BYTES = 2**22


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the main server."""
        yield


class ClassDoor:
    """The door of an app. Make it in the server's event loop; other threads open and close it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._loop = asyncio.get_running_loop()
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None
        self.place = ""

    def open(self, host: str) -> None:
        """Listen at an address of this computer; InputError if this is not possible."""
        self.close()
        listener = _listener(host, int(st.get_option("server.port")))
        place = f"{host}:{listener.getsockname()[1]}"
        asyncio.run_coroutine_threadsafe(self._start(listener, place), self._loop).result(_PATIENCE)
        say(f"dpviz: open for a class at http://{place}")

    def close(self) -> None:
        """Stop listening, and end the guests' connections."""
        asyncio.run_coroutine_threadsafe(self.end(), self._loop).result(_PATIENCE)

    async def _start(self, listener: socket.socket, place: str) -> None:
        settings = uvicorn.Config(
            self, lifespan="off", log_config=None, access_log=False, proxy_headers=False,
            ws_max_size=_MOST_BYTES, ws_per_message_deflate=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server, self.place = _Server(settings), place
        self._task = asyncio.create_task(self._server.serve([listener]))
        while not (self._server.started or self._task.done()):
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        """Close the door from within the event loop."""
        self.place = ""
        if self._server and self._task:
            self._server.should_exit = True
            await self._task
        self._server = self._task = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a guest."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        given = {name: value.decode("latin-1") for name, value in headers}
        # With another host name, a foreign page could lead a guest's browser here.
        known = given.get(b"host") == self.place
        known = known and given.get(b"origin") in (None, f"http://{self.place}")
        # Remove headers of a proxy, which the server trusts: guests do not come through a proxy.
        trusted: dict[str, Any] = st.get_option("server.trustedUserHeaders") or {}
        dropped = {GUEST.encode(), *(name.lower().encode() for name in trusted)}
        more = [(GUEST.encode(), b"yes")]
        if scope["type"] == "websocket":
            if not (known and scope["path"].endswith("/_stcore/stream")):
                await send({"type": "websocket.close", "code": 1008})
                return
            # Streamlit accepts a socket only for the names of the main server.
            dropped |= {b"host", b"origin"}
            more.append((b"host", b"localhost"))
        elif not known or scope["method"] not in ("GET", "HEAD"):
            words = "A class can't send files here." if known else "Use the address of the class."
            await PlainTextResponse(f"{words}\n", 403 if known else 421)(scope, receive, send)
            return
        headers = [*(one for one in headers if one[0] not in dropped), *more]
        await self._app({**scope, "headers": headers, CHECKED: True}, receive, send)


def _listener(host: str, first: int) -> socket.socket:
    for port in range(first, first + _TRIED):
        listener = socket.socket()
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            listener.close()
            if error.errno == errno.EADDRINUSE:
                continue
            raise InputError(
                f"address {shown(host)} is not an address of this computer now: connect it to the "
                "network of the class, and load this page again."
            ) from None
        listener.setblocking(False)
        return listener
    raise InputError(f"the ports {first} to {first + _TRIED - 1} of {host} are taken.")

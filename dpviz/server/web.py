"""The app as a server: Streamlit's server, with added headers and a check of the host.

Every way to start the app adds these headers and this check:

* ``streamlit run app.py``, for this computer,
* ``python -m dpviz.server`` (or :func:`serve`, which ``dpviz app`` calls), for other computers,
* ``uvicorn dpviz.server:app``, for a process manager that needs an ASGI application.
"""

from __future__ import annotations

import dpviz.server.arena  # isort: skip  # before any import that starts a thread
import dpviz.server.plain  # noqa: F401  # isort: skip

import argparse
import asyncio
import base64
import hashlib
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from streamlit import cli_util, config, file_util
from streamlit.web.server import server_util

from dpviz.base.ending import ended_by
from dpviz.base.errors import InputError, shown
from dpviz.base.lazy import load
from dpviz.server.door import CHECKED, ClassDoor
from dpviz.server.loop import use as use_loop
from dpviz.server.loop import use_for_sessions
from dpviz.ui.explorer import PREPARED
from dpviz.ui.session.address import (
    SHARED,
    allowed_host,
    allowed_origin,
    ask_no_host,
    check_settings,
    is_local,
    place_of,
)
from dpviz.ui.session.classroom import install
from dpviz.ui.session.first_picture import with_picture
from dpviz.ui.session.uploads import UPLOAD_LIMIT, coming

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The script that Streamlit runs. The script is inside an installed package, or beside the package
#: in a checkout. Streamlit reads its options from ``.streamlit/config.toml`` in the script's
#: folder.
SCRIPT = Path(__file__).resolve().parents[1] / "app" / "app.py"
if not SCRIPT.is_file():
    SCRIPT = SCRIPT.parents[2] / "app.py"

#: Sources that a page of the app may use; they do not include any other computer. Plotly and
#: Streamlit write inline styles. Streamlit makes JavaScript modules ("blob:") from the text of the
#: app's components.
_CONTENT = {
    "default-src": "'self'",
    "script-src": "'self' blob: 'wasm-unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "media-src": "'self' data: blob:",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
}

#: Devices of the visitor's computer that no page may use. Pages may use the clipboard to copy
#: links.
_DEVICES = "accelerometer camera display-capture geolocation gyroscope microphone midi payment usb"

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # A link contains columns and settings, so it is never sent to another host.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{name}=()" for name in _DEVICES.split()),
    "Cross-Origin-Opener-Policy": "same-origin",
}


#: URL of a script or style of the pages. Its query is the version of the file, so a browser may
#: cache a script and its compiled form. Otherwise each page would fetch and compile it again.
_SCRIPT = re.compile(r"/component/[\w.]+/[\w.]+\.(js|css)")
_KEPT = (b"cache-control", b"public, immutable, max-age=31536000")

#: Headers of a request that allow a compressed page, or no page if the browser has an older one.
_WHOLE = (b"accept-encoding", b"if-none-match", b"if-modified-since")

#: The page has no side bar before frame.js is loaded, and no style before page.css, so its parts
#: would move. Browsers count shifts of invisible parts, except parts with opacity 0.
_HIDDEN = (
    b"<style>.stApp{opacity:0;pointer-events:none;animation:dpv-late 0s 8s forwards}"
    b"@keyframes dpv-late{to{opacity:1;pointer-events:auto}}</style></head>"
)

_LOG = logging.getLogger(__name__)

#: Largest number of different refused sockets in the log; without it, strangers could fill the log.
_MOST_NOTED = 20

#: Seconds to wait before a browser is opened; by then the server accepts connections.
_SOON = 0.2

#: Modules that import the large libraries of the pages. This takes longer than all other work for
#: the first picture, so it begins when the server starts, or when a browser asks for the page.
_LIBRARIES = (
    *("dpviz.experiments.draws", "dpviz.figures.draws", "dpviz.wavecluster.significant"),
    *("scipy.ndimage", "scipy.sparse", "scipy.special"),
)

#: Path to which a session uploads a file.
_UPLOAD = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+/?$")

#: Paths that are closed, whatever the settings are. On these paths, Streamlit shows everybody the
#: memory of each session, runs the script for every health check, and lets programs without a
#: browser use the app's controls, for example to open files or to release.
_CLOSED = re.compile("/_stcore/(metrics|script-health-check|agent(/.*)?)")


@cache
def _inline_scripts() -> str:
    """Hashes of the inline scripts of Streamlit's page; no other inline script may run."""
    page = (Path(file_util.get_static_dir()) / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", page, re.DOTALL)
    hashes = (hashlib.sha256(one.encode()).digest() for one in scripts)
    return " ".join(f"'sha256-{base64.b64encode(one).decode()}'" for one in hashes)


@cache
def headers(*, embed: bool) -> tuple[tuple[bytes, bytes], ...]:
    """Headers of every answer.

    Other sites may show only the view for slides and course pages (``embed``) in a frame.
    """
    content = {**_CONTENT, "frame-ancestors": "*" if embed else "'none'"}
    content["script-src"] += f" {_inline_scripts()}"
    all_headers = {
        **_HEADERS,
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in content.items()),
    }
    if not embed:
        all_headers["X-Frame-Options"] = "DENY"
    return tuple((name.lower().encode(), value.encode()) for name, value in all_headers.items())


@cache
def _loading() -> threading.Thread:
    thread = threading.Thread(target=_load, name="dpviz import", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    for name in _LIBRARIES:
        load(name)
    from dpviz.base.compiled import uncompiled  # imported here, because they take a while
    from dpviz.families import FAMILIES

    PREPARED.update(name for name, one in FAMILIES.items() if not uncompiled(one.code))


class Shield:
    """Adds the headers to every answer, and refuses unknown host names and foreign pages."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._noted: set[tuple[str, str | None]] = set()

    def _note(self, host: str, origin: str | None) -> None:
        """Log a refused socket once, because a page without its socket stays grey."""
        if len(self._noted) < _MOST_NOTED and (host, origin) not in self._noted:
            self._noted.add((host, origin))
            _LOG.warning(
                "a socket is refused: Host is %.100r, Origin is %.100r. --hosts has to name the "
                "host; a proxy has to pass on the visitor's Host with its port.",
                host,
                origin,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        given = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
        host = given.get(b"host", "")
        if scope["type"] == "websocket":
            origin = given.get(b"origin")
            if allowed_host(host) and (origin is None or allowed_origin(origin, host)):
                # A session begins now. Two threads must not import the same module.
                if _loading.cache_info().currsize:
                    await asyncio.to_thread(_loading().join)
                await self._app(scope, receive, send)
            else:
                self._note(host, origin)
                await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        ours = headers(embed=query.get("embed", [""])[-1].lower() == "true")

        page = "text/html" in given.get(b"accept", "")
        if page:
            _loading()
            # The page must be whole and not compressed, so that a style and a picture can be added.
            kept = [one for one in scope["headers"] if one[0] not in _WHOLE]
            scope = {**scope, "headers": kept}

        async def answer(message: Message) -> None:
            if page and b"</head>" in message.get("body", b""):
                body = message["body"].replace(b"</head>", _HIDDEN)
                asked = scope["query_string"].decode("latin-1")
                message = {**message, "body": with_picture(body, scope["path"], asked, PREPARED)}
            if message["type"] == "http.response.start":
                found = message["status"] == 200 and _SCRIPT.search(scope["path"])
                more = (*ours, _KEPT) if found and scope.get("query_string") else ours
                names = {name for name, _ in more}
                if page:
                    names.add(b"content-length")
                theirs = [one for one in message.get("headers", []) if one[0].lower() not in names]
                message = {**message, "headers": [*theirs, *more]}
            await send(message)

        if not (allowed_host(host) or CHECKED in scope):
            refused = PlainTextResponse(
                "This server does not accept this host name. The server's owner can allow it with "
                "--hosts NAME, or with server.allowedHosts in .streamlit/config.toml.\n",
                status_code=421,
            )
            await refused(scope, receive, answer)
        elif _CLOSED.search(re.sub("/+", "/", scope["path"])):
            await PlainTextResponse("Not found\n", status_code=404)(scope, receive, answer)
        elif scope["method"] == "PUT" and (upload := _UPLOAD.search(scope["path"])):
            size = given.get(b"content-length", "")
            # If the sender gives no file size, reserve space for the largest allowed file.
            bytes_coming = int(size) if size.isdecimal() else UPLOAD_LIMIT
            with ExitStack() as room:
                try:
                    room.enter_context(coming(upload[1], bytes_coming))
                except InputError as error:
                    refused = PlainTextResponse(f"{error}\n", status_code=413)
                    await refused(scope, receive, answer)
                    return
                await self._app(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)


def _end_on_hangup() -> None:
    """When the terminal is closed, end as after SIGTERM, so that no uploaded file remains."""
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup is None or threading.current_thread() is not threading.main_thread():
        return
    # With nohup the program continues without a terminal.
    if signal.getsignal(hangup) in (signal.SIG_DFL, signal.default_int_handler):
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))


def shield() -> list[Middleware]:
    """Return the middleware of the app, for every way to start it."""
    ask_no_host()
    _end_on_hangup()
    use_for_sessions()
    return [Middleware(Shield)]


@asynccontextmanager
async def in_browser(app: st.App) -> AsyncIterator[None]:
    """Open a browser unless ``headless``, since Streamlit does not open it here; make a class door.

    The door is closed until a teacher opens it.
    """
    _loading()
    if not config.get_option("server.headless"):
        if config.is_manually_set("browser.serverAddress"):
            name = config.get_option("browser.serverAddress")
        else:
            name = server_util.get_display_address(
                config.get_option("server.address") or "localhost"
            )
        url = server_util.get_url(name)
        asyncio.get_running_loop().call_later(_SOON, cli_util.open_browser, url)
    door = ClassDoor(app)
    install(door)
    yield
    await door.end()


def ready(script: str) -> str:
    """Return the script that ``streamlit run`` starts; exit with a message on invalid settings."""
    try:
        check_settings(Path(script))
    except InputError as error:
        sys.exit(ended_by(error))
    return script


def serve(
    script: Path = SCRIPT,
    *,
    address: str = "localhost",
    port: int = 8501,
    hosts: Sequence[str] = (),
    headless: bool = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Run the app of a script until the user stops it.

    The settings of ``.streamlit/config.toml`` beside the ``script`` apply first; ``settings`` (by
    Streamlit's names) replace them. If other computers can reach ``address``, the server is shared:
    visitors can't type paths of its files, and each visitor has their own budgets. ``hosts`` are
    names that visitors may use, in addition to those of this computer. ``headless`` opens no
    browser. Raises InputError if a host is not a valid name, or a setting can't be read.
    """
    for one in hosts:
        if "/" in one or re.search(r"^[^:]*:\d*$|\s", one):
            raise InputError(
                f"hosts = {shown(one)} is not a host name: write lab.example.org, without "
                "https:// and without a port."
            )
    if not all(is_local(place_of(one)) for one in (address, *hosts)):
        os.environ[SHARED] = "1"
    script = script.resolve()
    check_settings(script)
    use_loop()
    own = ["localhost", "127.0.0.1", "::1"]
    # Streamlit searches its configuration and the script's modules in the folder of this "program".
    sys.argv = [str(script)]
    st.App(script, lifespan=in_browser, middleware=shield()).run(
        config={
            "server.address": address,
            "server.port": port,
            # Otherwise Streamlit decides: without a screen, it does not open a browser.
            **({"server.headless": True} if headless else {}),
            "server.enableAgentApi": False,
            "server.allowedHosts": [*own, *(one for one in hosts if one not in own)],
            **(settings or {}),
        }
    )


def application() -> st.App:
    """Make the application for ``uvicorn dpviz.server:app``; InputError if a setting is invalid."""
    # The address is unknown, so the server is shared unless the variable says that it is not.
    os.environ.setdefault(SHARED, "1")
    check_settings(SCRIPT)
    return st.App(SCRIPT, middleware=shield())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``python -m dpviz.server``."""
    parser = argparse.ArgumentParser(
        prog="python -m dpviz.server", description="Run the app for others."
    )
    parser.add_argument("--address", default="localhost", help="where to listen (localhost)")
    parser.add_argument("--port", type=int, default=8501, help="port (8501)")
    parser.add_argument(
        "--hosts", default="", help="host names that visitors use, separated by commas"
    )
    parser.add_argument("--headless", action="store_true", help="open no browser")
    given = parser.parse_args(arguments)
    hosts = [one.strip() for one in given.hosts.split(",") if one.strip()]
    try:
        serve(address=given.address, port=given.port, hosts=hosts, headless=given.headless)
    except InputError as error:
        return ended_by(error)
    return 0

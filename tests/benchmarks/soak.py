"""Measure a school class on one server: thirty sessions, uploads, heavy jobs, killed sessions.

Sessions use the app's own protocol, as browsers do. Only this computer can connect to the server,
and only processes that are started here are ended.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.browser.conftest import await_health, faults
from tests.support import ROOT
from tests.support.memory import marks

#: Number of sessions; seconds between a session's changes; seconds without and with heavy jobs.
SESSIONS, EVERY, SECONDS = 30, 1.0, 60.0

#: Number of sessions that upload a file; number of heavy jobs; seconds between two kills.
UPLOADS, JOBS, KILLS = 6, 4, 10.0

#: Number of rows of an upload; seconds from the last session's end until memory is measured.
ROWS, AFTER = 20_000, 60.0

#: Largest number of seconds that a session waits for an answer.
PATIENCE = 120.0

EXPLORERS = ("", "kmeans", "")


class LeftError(Exception):
    """The session was killed while it waited."""


@dataclass
class Session:
    """A visitor who moves epsilon once a second."""

    url: str
    page: str = ""
    query: str = ""
    socket: ClientConnection | None = None
    script: str = ""
    session: str = ""
    finished: int = 0
    #: Identifiers of widgets, by the ends of their names; epoch and fragment of the slider.
    widgets: dict[str, str] = field(default_factory=dict)
    epoch: int = 0
    fragment: str = ""
    #: State of all widgets, which a browser sends in every message.
    states: dict[str, WidgetState] = field(default_factory=dict)
    moves: int = 0
    #: Number of moves before this phase, and number of the fifty values of epsilon of this phase.
    #: Phases have different values, so that no phase reuses cached runs of another phase.
    before: int = 0
    values: float = 0
    urls: dict[str, str] | None = None
    #: Texts from the server, and the last figure from it.
    said: list[str] = field(default_factory=list)
    figure: bytes = b""
    polls: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    reader: asyncio.Task[None] | None = None
    gone: bool = False

    async def open(self) -> Session:
        """Open the page and wait until it is drawn."""
        host = urlsplit(self.url).netloc
        self.socket = await connect(
            f"ws://{host}/_stcore/stream",
            subprotocols=["streamlit"],  # type: ignore[list-item]
            origin=self.url,  # type: ignore[arg-type]
            max_size=None,
        )
        self.reader = asyncio.create_task(self._read())
        first = self._message()
        first.rerun_script.page_name = self.page
        await self.run(first)
        # A new server runs a page twice if it is requested by its name.
        await self.until(lambda: self.widgets)
        return self

    async def run(self, message: BackMsg) -> None:
        """Send a message and wait until a run has ended."""
        before = self.finished
        await self.send(message)
        await self.until(lambda: self.finished > before)

    async def send(self, message: BackMsg) -> None:
        assert self.socket
        await self.socket.send(message.SerializeToString())

    async def until(self, condition: object) -> None:
        """Wait until a condition is true after some message."""
        assert callable(condition)
        end = time.monotonic() + PATIENCE
        while not condition():
            if self.gone:
                raise LeftError
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), max(0.01, end - time.monotonic()))

    def _message(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.context_info.url = f"{self.url}/{self.page}"
        if self.script:
            message.rerun_script.page_script_hash = self.script
        message.rerun_script.widget_states.widgets.extend(self.states.values())
        return message

    def _state(self, widget: str) -> WidgetState:
        """State of a widget, which the caller may change."""
        identifier = self.widgets[widget]
        return self.states.setdefault(identifier, WidgetState(id=identifier))

    async def move(self) -> float:
        """Move epsilon; return the seconds until the picture of the new value arrives."""
        self.moves += 1
        power = 0.02 * (1 + (self.moves - self.before) % 50) + 0.005 * self.values
        value = float(f"{0.05 * 10**power:.3g}")
        state = {"value": value, "seq": self.moves, "epoch": self.epoch, "dragging": False}
        self._state("epsilon::input").json_value = json.dumps({"state": state})
        message = self._message()
        message.rerun_script.fragment_id = self.fragment
        self.figure, wanted = b"", f"{value:g}".encode()
        start = time.perf_counter()
        await self.send(message)
        await self.until(lambda: wanted in self.figure)
        return time.perf_counter() - start

    async def press(self, button: str) -> None:
        """Press a button by its label, in a run of the whole page."""
        message = self._message()
        widget = message.rerun_script.widget_states.widgets.add()
        widget.id, widget.trigger_value = self.widgets[button], True
        await self.run(message)

    async def upload(self, name: str, data: bytes) -> float:
        """Upload a file as own data; return the seconds from the sent file to the first picture."""
        request = BackMsg()
        request.file_urls_request.request_id = "1"
        request.file_urls_request.file_names.append(name)
        request.file_urls_request.session_id = self.session
        await self.send(request)
        await self.until(lambda: self.urls is not None)
        assert self.urls
        start = time.perf_counter()
        await asyncio.to_thread(_put, self.url, self.urls["upload_url"], name, data)
        widget = self._state("own:file")
        known = widget.file_uploader_state_value.uploaded_file_info.add()
        known.file_id, known.name, known.size = self.urls["file_id"], name, len(data)
        known.file_urls.file_id = self.urls["file_id"]
        known.file_urls.upload_url = self.urls["upload_url"]
        known.file_urls.delete_url = self.urls["delete_url"]
        self.figure = b""
        await self.send(self._message())
        await self.until(lambda: bool(self.figure))
        return time.perf_counter() - start

    async def _read(self) -> None:
        """Process the server's messages until the connection ends."""
        assert self.socket
        with suppress(ConnectionClosed):
            async for raw in self.socket:
                message = ForwardMsg()
                message.ParseFromString(raw)  # type: ignore[arg-type]
                self._take(message)
                self.news.set()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            if not message.metadata.run.fragment_ids:  # the whole page is redrawn
                for poll in self.polls.values():
                    poll.cancel()
                self.polls.clear()
        elif kind == "navigation":
            self.script = message.navigation.page_script_hash
        elif kind == "script_finished":
            self.finished += 1
        elif kind == "file_urls_response":
            (one,) = message.file_urls_response.file_urls
            self.urls = {
                "file_id": one.file_id,
                "upload_url": one.upload_url,
                "delete_url": one.delete_url,
            }
        elif kind == "auto_rerun":
            fragment, every = message.auto_rerun.fragment_id, message.auto_rerun.interval
            if fragment not in self.polls:
                self.polls[fragment] = asyncio.create_task(self._poll(fragment, every))
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                if poll := self.polls.pop(fragment, None):
                    poll.cancel()
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._see(message)

    def _see(self, message: ForwardMsg) -> None:
        """Store the elements of the page that a session needs."""
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind == "bidi_component":
            component = element.bidi_component
            if component.component_name == "dpviz_live_figure":
                self.figure = component.bytes or component.mixed.SerializeToString()
            elif component.id.endswith("epsilon::input"):
                self.widgets["epsilon::input"] = component.id
                self.epoch = json.loads(component.json)[0]["epoch"]
                self.fragment = message.delta.fragment_id
        elif kind == "file_uploader":
            self.widgets[element.file_uploader.id.split("-", 2)[-1]] = element.file_uploader.id
        elif kind == "button":
            self.widgets[element.button.label] = element.button.id
        elif kind in ("exception", "alert", "progress"):
            text = str(getattr(element, kind))
            self.said.append(f"{kind}: {text}")

    async def _poll(self, fragment: str, every: float) -> None:
        """Rerun a fragment of the page regularly, as a browser does when the server requests it."""
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(every)
                message = self._message()
                message.rerun_script.fragment_id = fragment
                message.rerun_script.is_auto_rerun = True
                await self.send(message)

    async def leave(self, *, abruptly: bool = False) -> None:
        """Close the page, or lose the connection in the middle of a run."""
        self.gone = True
        self.news.set()
        for poll in self.polls.values():
            poll.cancel()
        assert self.socket
        if abruptly:
            self.socket.transport.abort()
        else:
            await self.socket.close()
        if self.reader:
            await self.reader


def _put(url: str, path: str, name: str, data: bytes) -> None:
    with urllib.request.urlopen(f"{url}/_stcore/health") as answer:
        cookie = answer.headers.get("Set-Cookie", "").split(";")[0]
    edge = secrets.token_hex(8)
    body = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    ).encode()
    body += data + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Cookie": cookie}
    headers["X-Xsrftoken"] = cookie.partition("=")[2]
    request = urllib.request.Request(f"{url}{path}", body, headers, method="PUT")
    urllib.request.urlopen(request).close()


# -- the class ---------------------------------------------------------------------------


@dataclass
class Seen:
    """Measurements of a soak."""

    latencies: list[float] = field(default_factory=list)
    uploads: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kills: int = 0


async def explore(session: Session, end: float, seen: Seen, place: float) -> None:
    """Move epsilon once a second, each session at its own moment of the second."""
    due = time.monotonic() + place * EVERY
    while due < end:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        try:
            seen.latencies.append(await session.move())
        except (ConnectionClosed, LeftError):
            return  # killed: another session replaces this one
        except TimeoutError:
            seen.errors.append(f"no picture within {PATIENCE:g} s: {session.said[-2:]}")
            return
        due = max(due + EVERY, time.monotonic())
    seen.errors += [one for one in session.said if one.startswith("exception")]


async def phase(sessions: list[Session], seen: Seen, seconds: float, values: int) -> None:
    """Let all sessions explore; every few seconds kill one session and open another."""
    end = time.monotonic() + seconds
    for one in sessions:
        one.before, one.values = one.moves, values
    rng = random.Random(1)
    tasks = [
        asyncio.create_task(explore(one, end, seen, number / len(sessions)))
        for number, one in enumerate(sessions)
    ]
    while (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(KILLS, left))
        if end - time.monotonic() > KILLS:
            number = rng.randrange(len(sessions) - UPLOADS)
            lost = sessions[number]
            await lost.leave(abruptly=True)
            seen.kills += 1
            sessions[number] = await Session(lost.url, lost.page, lost.query, values=values).open()
            tasks.append(asyncio.create_task(explore(sessions[number], end, seen, 0.0)))
    await asyncio.gather(*tasks)


async def visit(url: str, sessions: int, uploads: int, data: bytes, seen: Seen) -> list[Session]:
    """Open sessions one after the other; the last sessions upload a file."""
    opened = []
    for number in range(sessions):
        own = number >= sessions - uploads
        query = "data=own&domain=-9,9;-9,9" if own else ""
        session = await Session(url, EXPLORERS[number % len(EXPLORERS)], query).open()
        if own:
            seen.uploads.append(await session.upload("survey.csv", data))
        opened.append(session)
    return opened


async def heavy(url: str, jobs: int) -> list[Session]:
    """Start audits, each in its own session."""
    found = []
    for number in range(jobs):
        query = f"runs=100000&auditseed={number}"
        session = await Session(url, "audit", query).open()
        button = next(one for one in session.widgets if one.startswith("Run all"))
        await session.press(button)
        found.append(session)
    return found


async def soak(url: str, server: psutil.Process, mark: str) -> None:
    """Run all phases and print the measurements."""
    rows = np.random.default_rng(1).normal(size=(ROWS, 2))
    lines = "\n".join(f"{x:.6f},{y:.6f},{mark}" for x, y in rows)
    data = f"x,y,note\n{lines}\n".encode()
    first = Seen()
    started = memory(server)
    warm = [*await visit(url, 4, 1, data, first), *await heavy(url, 1)]
    await phase(warm[:4], first, 5.0, 0)
    for one in warm:
        await one.leave()
    await asyncio.sleep(AFTER)
    base = memory(server)
    print(f"  memory {started:.0f} MB at the start, {base:.0f} MB a minute after a first visit")

    quiet, loaded, seen = Seen(), Seen(), Seen()
    sessions = await visit(url, SESSIONS, UPLOADS, data, seen)
    await phase(sessions, quiet, SECONDS, 1)
    _say("without jobs", quiet)
    working = await heavy(url, JOBS)
    readers = [one for one in server.children() if "reading.reader" in " ".join(one.cmdline())]
    for one in readers:  # only readers of this server
        os.kill(one.pid, signal.SIGKILL)
    await phase(sessions, loaded, SECONDS, 2)
    _say(f"with {JOBS} heavy jobs", loaded)
    waiting = [
        re.findall(r"(\d+) computations? of this server", " ".join(one.said)) for one in working
    ]
    print(f"  places shown in the queue: {[found[-1] if found else '-' for found in waiting]}")
    most = memory(server)
    for one in [*sessions, *working]:
        await one.leave()
    await asyncio.sleep(AFTER)
    after = memory(server)
    used = sum(server.cpu_times()[:2])
    await asyncio.sleep(5.0)
    idle = (sum(server.cpu_times()[:2]) - used) / 5.0
    held = [marks(one, mark) for one in (server, *server.children(recursive=True))]
    print(f"  uploads, {len(data) / 2**20:.1f} MB, to the first picture: p50 "
          f"{np.median(seen.uploads):.2f} s, most {max(seen.uploads):.2f} s")  # fmt: skip
    print(f"  memory {most:.0f} MB at the end, {after:.0f} MB a minute after the last has left "
          f"({100 * (after / base - 1):+.1f}% of {base:.0f}); processor {idle:.0%}")  # fmt: skip
    print(f"  rows of uploads in the server's memory: {sum(held)}")
    errors = first.errors + quiet.errors + loaded.errors
    print(f"  sessions killed {quiet.kills + loaded.kills}, readers killed {len(readers)}, "
          f"errors {len(errors)} {errors[:3]}")  # fmt: skip


def _say(title: str, seen: Seen) -> None:
    low, high = np.percentile(seen.latencies, [50, 95])
    print(f"  {title}: {len(seen.latencies)} changes, p50 {low:.3f} s, p95 {high:.3f} s; "
          f"load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip


def memory(server: psutil.Process) -> float:
    """Memory of the server and of the processes that it has started, in MB."""
    sizes = []
    for one in (server, *server.children(recursive=True)):
        with suppress(psutil.Error):
            sizes.append(one.memory_info().rss)
    return sum(sizes) / 2**20


@contextmanager
def server(folder: Path, port: int = 8719) -> Iterator[tuple[str, psutil.Process]]:
    """Run the server for others, but only this computer can connect to it."""
    command = [sys.executable, "-m", "dpviz.server", "--address", "127.0.0.1"]
    command += ["--port", str(port), "--headless"]
    environment = {**os.environ, "DPVIZ_HOME": str(folder / "home")}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        await_health(url, process)
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Print all measurements."""
    print(f"soak: {SESSIONS} sessions, a change a second each, 2 x {SECONDS:g} s")
    with tempfile.TemporaryDirectory() as folder:
        with server(Path(folder)) as (url, process):
            asyncio.run(soak(url, process, secrets.token_hex(12)))
        found = faults(Path(folder) / "server.log")
        print(f"  faults in the server's log: {len(found)}", *(one[-800:] for one in found[:2]))

"""The door for a class: what a guest's browser may ask for, and what stays closed to guests."""

from __future__ import annotations

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from dpviz.base.errors import InputError
from dpviz.server.door import CHECKED, ClassDoor
from dpviz.ui.data import map_panel, own_data
from dpviz.ui.data import state as data_state
from dpviz.ui.session import address, classroom, owner
from dpviz.ui.session.classroom import GUEST, OPEN_TO_GUESTS
from tests.support import coroutines
from tests.support.links import PAGES, opened

PLACE = "192.168.1.5:8501"


@pytest.fixture
def as_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (classroom, address, data_state, map_panel):
        monkeypatch.setattr(module, "is_guest", lambda: True)


class Inside:
    """An app behind the door, which keeps the requests that reach it."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope)
        if scope["type"] == "http":
            await PlainTextResponse("inside")(scope, receive, send)
        else:
            await send({"type": "websocket.accept"})


def passed(
    headers: list[tuple[bytes, bytes]], kind: str = "http", method: str = "GET", path: str = "/"
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Send a request through an open door; return what reaches the app, and the answer."""

    async def run() -> tuple[Inside, list[dict[str, Any]]]:
        inside, answers = Inside(), []
        door = ClassDoor(inside)
        door.place = PLACE

        async def send(message: Any) -> None:
            answers.append(message)

        scope = {"type": kind, "method": method, "path": path, "headers": headers}
        await door(scope, None, send)  # type: ignore[arg-type]
        return inside, answers

    inside, answers = coroutines.run(run())
    return inside.seen, answers


HOST, ORIGIN = (b"host", PLACE.encode()), (b"origin", f"http://{PLACE}".encode())


@pytest.mark.some(14)
@pytest.mark.parametrize(
    ("headers", "kind", "method", "path", "answer"),
    [
        ([HOST], "http", "GET", "/learn", 200),
        ([HOST], "http", "HEAD", "/", 200),
        ([HOST], "http", "PUT", "/_stcore/upload_file/a/b", 403),
        ([HOST], "http", "POST", "/_stcore/upload_file/a/b", 403),
        ([HOST], "http", "DELETE", "/_stcore/upload_file/a/b", 403),
        ([(b"host", b"localhost")], "http", "GET", "/", 421),
        ([(b"host", b"evil.example:8501")], "http", "GET", "/", 421),
        ([], "http", "GET", "/", 421),
        ([HOST, (b"origin", b"http://evil.example")], "http", "GET", "/", 421),
        ([HOST, ORIGIN], "websocket", "", "/_stcore/stream", "websocket.accept"),
        ([HOST, (b"origin", b"http://evil.example")], "websocket", "", "/_stcore/stream",
         "websocket.close"),
        ([HOST, (b"origin", b"null")], "websocket", "", "/_stcore/stream", "websocket.close"),
        ([(b"host", b"localhost")], "websocket", "", "/_stcore/stream", "websocket.close"),
        ([HOST, ORIGIN], "websocket", "", "/_stcore/agent/mcp", "websocket.close"),
    ],
)  # fmt: skip
def test_the_door_lets_in_readers_of_its_own_address(headers, kind, method, path, answer) -> None:
    seen, (first, *_) = passed(headers, kind, method, path)
    assert first.get("status", first["type"]) == answer
    assert len(seen) == (answer in (200, "websocket.accept"))
    for one in seen:
        assert one[CHECKED] is True


NAMES = st.sampled_from([GUEST, GUEST.upper(), "host", "origin", "cookie", "x-forwarded-for"])


@given(st.lists(st.tuples(NAMES, st.text("abc,. ", max_size=5))), st.booleans())
def test_nobody_takes_off_the_mark_of_a_guest(more, page) -> None:
    # A server passes on names of headers in lower case.
    extra = [(name.lower().encode(), value.encode()) for name, value in more]
    kind, path = ("http", "/") if page else ("websocket", "/_stcore/stream")
    seen, _ = passed([HOST, *extra], kind, path=path)
    for one in seen:
        assert [value for name, value in one["headers"] if name == GUEST.encode()] == [b"yes"]
        if not page:  # the names of the main server alone, so no setting of it changes
            assert [value for name, value in one["headers"] if name == b"host"] == [b"localhost"]


@contextmanager
def running(inside: Inside) -> Iterator[ClassDoor]:
    """A door whose event loop runs in another thread, as in the server."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    doors: list[ClassDoor] = []

    async def make() -> None:
        doors.append(ClassDoor(inside))
        ready.set()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(make())
        loop.run_forever()
        loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(10)
    try:
        yield doors[0]
    finally:
        doors[0].close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def asked(place: str, method: str = "GET") -> int:
    connection = http.client.HTTPConnection(place, timeout=10)
    try:
        connection.request(method, "/")
        return connection.getresponse().status
    finally:
        connection.close()


def test_it_listens_only_from_opening_to_closing(capsys: pytest.CaptureFixture[str]) -> None:
    inside = Inside()
    with running(inside) as door:
        assert door.place == ""
        door.open("127.0.0.2")
        first = door.place
        assert first.startswith("127.0.0.2:")
        assert first in capsys.readouterr().err
        assert asked(first) == 200
        assert asked(first, "PUT") == 403
        # It listens at the address that was chosen, and at no other address.
        with pytest.raises(OSError, match="refused"):
            asked(first.replace("127.0.0.2", "127.0.0.3"))
        door.open("127.0.0.3")  # a second opening replaces the first
        with pytest.raises(OSError, match="refused"):
            asked(first)
        assert asked(door.place) == 200
        open_place = door.place
        door.close()
        assert door.place == ""
        with pytest.raises(OSError, match="refused"):
            asked(open_place)
        with pytest.raises(InputError, match="not an address of this computer"):
            door.open("203.0.113.7")


@pytest.mark.parametrize("page", sorted(PAGES))
def test_guests_open_lessons_game_and_samples_alone(page: str, as_guest: None) -> None:
    said = " ".join(one.value for one in opened(page, {"lesson": "noise"}).error)
    assert ("closed here" in said) is (page not in OPEN_TO_GUESTS)


def test_guests_have_no_own_data_and_no_budgets(as_guest: None) -> None:
    for page in ("wavecluster", "kmeans"):
        test = opened(page, {"data": "own"})
        assert any('data = "own" is unknown' in one.value for one in test.warning)
        assert not any("own" in one.options for one in test.selectbox)
        assert not test.get("file_uploader")
    for closed in (owner.budget_file, lambda: own_data.own_data(None, many=False)):  # type: ignore
        with pytest.raises(InputError, match="closed here"):
            closed()
    assert not address.on_this_machine()


class Session:
    """A session of Streamlit as :func:`is_guest` sees it."""

    def __init__(self, **headers: str) -> None:
        self.session_state: dict[str, Any] = {}
        self.context = type("Context", (), {"headers": headers})()


def test_a_session_stays_a_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    door = type("Open", (), {"place": ""})()
    monkeypatch.setattr(classroom, "_DOORS", [door])
    session = Session(host="localhost")
    monkeypatch.setattr(classroom, "st", session)
    assert not classroom.is_guest()
    # A run goes on after its browser has left; then no header says whose session it is.
    session.context.headers = {}
    assert not classroom.is_guest()
    door.place = PLACE
    assert classroom.is_guest()
    session.context.headers = {"host": "localhost"}
    assert not classroom.is_guest()
    session.context.headers = {"host": "localhost", GUEST: "yes"}
    assert classroom.is_guest()
    session.context.headers, door.place = {}, ""
    assert classroom.is_guest()

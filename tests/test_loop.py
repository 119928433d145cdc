"""The server's event loop runs every call from other threads, and few calls write a byte."""

import asyncio
import os
import selectors
import signal
import socket
import sys
import time
from asyncio import selector_events
from threading import Thread
from types import SimpleNamespace

import pytest
import streamlit as st
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSessionState
from uvicorn.config import LOOP_FACTORIES

from dpviz.server.loop import Loop, _once, use_for_sessions
from dpviz.server.web import serve, shield

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uvicorn takes another loop there")


@pytest.fixture
def written(monkeypatch):
    """The bytes that wake up loops."""
    found, write = [], asyncio.SelectorEventLoop._write_to_self

    def counted(loop):
        found.append(loop)
        write(loop)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "_write_to_self", counted)
    return found


def run_until_stopped(loop):
    """Run a loop; the test stops it within seconds."""
    late = []
    limit = loop.call_later(10, lambda: (late.append(True), loop.stop()))
    loop.run_forever()
    limit.cancel()
    assert not late


@pytest.mark.parametrize(("threads", "calls", "pause"), [(1, 3000, 0), (8, 500, 0), (4, 60, 1e-3)])
def test_every_call_is_done_at_once_in_its_order(threads, calls, pause):
    loop, done = Loop(), []

    def work(number):
        for call in range(calls):
            loop.call_soon_threadsafe(did, (number, call))
            if pause:
                time.sleep(pause)

    def did(what):
        done.append(what)
        if len(done) == threads * calls:
            loop.stop()

    for number in range(threads):
        Thread(target=work, args=(number,), daemon=True).start()
    run_until_stopped(loop)
    loop.close()
    for number in range(threads):
        assert [call for one, call in done if one == number] == list(range(calls))


class Selector(selectors.DefaultSelector):
    """At the first sleep, another thread adds a callback: before, or after the sleep has ended."""

    def __init__(self, add, when):
        super().__init__()
        self.add, self.when = [add], when

    def select(self, timeout=None):
        if self.when == "before":
            self.call()
        found = super().select(timeout)
        if self.when == "after":
            self.call()
        return found

    def call(self):
        if self.add:
            thread = Thread(target=self.add.pop())
            thread.start()
            thread.join()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("first", [True, False])
def test_a_call_beside_a_sleep_does_not_leave_the_loop_asleep(when, first):
    done = []
    loop = Loop(Selector(lambda: loop.call_soon_threadsafe(done.append, "beside"), when))
    if first:
        loop.call_soon_threadsafe(done.append, "first")
    Thread(target=lambda: (time.sleep(0.2), loop.call_soon_threadsafe(loop.stop))).start()
    run_until_stopped(loop)
    loop.close()
    assert done == ["first"] * first + ["beside"]


def test_bytes_are_written_only_to_a_loop_that_sleeps(written):
    loop, done = Loop(), []

    def many():
        for one in range(40):
            loop.call_soon_threadsafe(done.append, one)

    def busy():
        thread = Thread(target=many)
        thread.start()
        thread.join()
        many()
        loop.call_later(0.05, loop.stop)

    loop.call_soon(busy)
    loop.run_forever()
    assert done == 2 * list(range(40))
    assert not written
    Thread(target=lambda: (time.sleep(0.1), loop.call_soon_threadsafe(loop.stop))).start()
    run_until_stopped(loop)
    assert len(written) == 1
    loop.close()


def test_a_signal_wakes_a_loop_that_sleeps():
    loop, done = Loop(), []

    def asked(*_):
        """Run in the thread of the loop, as Streamlit's handlers do."""
        loop.call_soon_threadsafe(lambda: (done.append(True), loop.stop()))

    before = signal.signal(signal.SIGUSR1, asked)
    try:
        Thread(target=lambda: (time.sleep(0.1), os.kill(os.getpid(), signal.SIGUSR1))).start()
        run_until_stopped(loop)
    finally:
        signal.signal(signal.SIGUSR1, before)
    loop.close()
    assert done


def test_an_idle_loop_wakes_up_at_once():
    loop, late = Loop(), []

    def later():
        time.sleep(0.1)
        sent = time.monotonic()
        loop.call_soon_threadsafe(lambda: (late.append(time.monotonic() - sent), loop.stop()))

    for _ in range(3):
        Thread(target=later, daemon=True).start()
        run_until_stopped(loop)
    loop.close()
    assert len(late) == 3
    assert max(late) < 5  # without a byte the loop sleeps until the limit


def test_the_server_for_others_has_it_unless_it_asks_for_another(monkeypatch):
    monkeypatch.setitem(LOOP_FACTORIES, "auto", LOOP_FACTORIES["asyncio"])
    had = []
    monkeypatch.setattr(
        st.App, "run", lambda *_, **__: had.append(uvicorn.Config("x:y").get_loop_factory())
    )
    monkeypatch.setattr(sys, "argv", sys.argv)  # Streamlit looks there for its settings
    serve(headless=True)
    assert had == [Loop]
    assert uvicorn.Config("x:y", loop="asyncio").get_loop_factory() is asyncio.SelectorEventLoop
    assert uvicorn.Config("x:y", loop="dpviz.server.loop:Loop").get_loop_factory() is Loop


class AWebSocket(asyncio.Protocol):
    """A protocol with the name of a websocket's."""

    def __init__(self):
        self.paused = []

    def connection_made(self, transport):
        self.lost = asyncio.Event()

    def connection_lost(self, error):
        self.lost.set()

    def pause_writing(self):
        self.paused.append(True)

    def resume_writing(self):
        self.paused.append(False)


class AnHttp(AWebSocket):
    """A protocol of another kind."""


def connected(protocol, talk):
    """Connect a socket to the protocol, let ``talk`` write, close; return what has arrived."""
    loop = Loop()
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    found = []

    def read():
        while part := theirs.recv(2**16):
            found.append(part)

    async def main():
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, ours)
        await talk(transport)
        await asyncio.wait_for(protocol.lost.wait(), 10)

    reader = Thread(target=read)
    reader.start()
    loop.run_until_complete(main())
    reader.join()
    loop.close()
    theirs.close()
    return b"".join(found)


@pytest.mark.parametrize(("kind", "most"), [(AWebSocket, 12), (AnHttp, 40)])
def test_messages_of_a_websocket_are_sent_together(kind, most, monkeypatch):
    calls, write = [], selector_events._SelectorSocketTransport.write

    def counted(transport, data):
        calls.append(len(data))
        write(transport, data)

    monkeypatch.setattr(selector_events._SelectorSocketTransport, "write", counted)

    async def talk(transport):
        for one in range(40):
            transport.write(bytes([one]))
            await asyncio.sleep(0)
        await asyncio.sleep(0.1)  # nothing more is written, and all is sent
        assert sum(calls) == 40
        transport.close()

    assert connected(kind(), talk) == bytes(range(40))
    assert len(calls) <= most
    assert kind is AWebSocket or len(calls) == 40


@settings(max_examples=25, deadline=None)
@given(some.lists(some.tuples(some.integers(0, 300_000), some.booleans()), max_size=8))
def test_all_that_is_written_before_a_close_arrives_in_its_order(pieces):
    protocol = AWebSocket()
    sent = [bytes([number + 1]) * size for number, (size, _) in enumerate(pieces)]

    async def talk(transport):
        for data, (_, waits) in zip(sent, pieces, strict=True):
            transport.writelines([data[:1], memoryview(data)[1:]])
            if waits:
                await asyncio.sleep(0.004)
        transport.close()

    assert connected(protocol, talk) == b"".join(sent)
    assert protocol.paused == [at % 2 == 0 for at in range(len(protocol.paused))]


def test_an_end_comes_after_what_is_held():
    async def talk(transport):
        transport.write(b"held")
        transport.write_eof()
        await asyncio.sleep(0.01)
        transport.close()

    assert connected(AWebSocket(), talk) == b"held"


def test_what_a_lost_connection_holds_is_forgotten():
    async def talk(transport):
        transport.write(b"held")
        transport.abort()
        await asyncio.sleep(0.01)

    assert connected(AWebSocket(), talk) == b""


@pytest.fixture
def sessions(monkeypatch):
    """Streamlit's sessions as the server uses them; the runs that begin."""
    begun = []

    def create(session, request):
        begun.append(request)
        session._scriptrunner = Runner()

    monkeypatch.setattr(app_session.AppSession, "_create_scriptrunner", create)
    fill = app_session._populate_theme_msg
    monkeypatch.setattr(app_session, "_populate_theme_msg", fill)  # restored at the end
    use_for_sessions()
    return begun


class Runner:
    """A script's runner, which takes no further request if it has ``ended``."""

    def __init__(self, *, ended=False):
        self.ended, self.asked = ended, []

    def request_rerun(self, request):
        self.asked += [request] * (not self.ended)
        return not self.ended


def asked(session, *requests):
    for one in requests:
        app_session.AppSession._create_scriptrunner(session, one)


def test_a_run_begins_after_all_messages_of_an_ended_run(sessions):
    loop, seen = asyncio.new_event_loop(), []
    session = SimpleNamespace(_scriptrunner=None, _event_loop=loop, _state=None)
    asked(session, "first")  # nothing has run before, so it begins at once
    assert sessions == ["first"]

    def handle():
        seen.append(len(sessions))
        loop.stop()

    session._scriptrunner.ended = True
    loop.call_soon(handle)
    asked(session, "second", "third")
    loop.run_forever()
    assert seen == [1]  # the message came before the new run
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert sessions == ["first", "second"]
    assert session._scriptrunner.asked == ["third"]
    loop.close()


def test_a_run_of_the_whole_page_replaces_a_run_that_waits(sessions):
    loop, whole = asyncio.new_event_loop(), Runner()
    session = SimpleNamespace(_scriptrunner=Runner(ended=True), _event_loop=loop, _state=None)
    asked(session, "part")
    session._scriptrunner = whole  # it has newer values of all controls
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert sessions == []
    assert session._scriptrunner is whole
    assert whole.asked == []
    loop.close()


def test_a_closed_session_begins_no_run(sessions):
    loop = asyncio.new_event_loop()
    session = SimpleNamespace(_scriptrunner=Runner(ended=True), _event_loop=loop, _state=None)
    asked(session, "late")
    session._state, session._scriptrunner = AppSessionState.SHUTDOWN_REQUESTED, None
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert sessions == []
    loop.close()


def test_each_section_of_the_theme_is_read_once():
    reads = []

    def fill(message, section="theme"):
        reads.append(section)
        if section == "theme":
            message.primary_color = "#123456"

    theme = _once(fill)
    for _ in range(3):
        whole = CustomThemeConfig()
        theme(whole)
        theme(whole.dark, "theme.dark")
        assert whole == CustomThemeConfig(primary_color="#123456")  # so an empty part stays absent
    assert reads == ["theme", "theme.dark"]


def test_the_server_uses_them(monkeypatch):
    for owner, name in (
        (app_session, "_populate_theme_msg"),
        (app_session.AppSession, "_create_scriptrunner"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    before = app_session._populate_theme_msg, app_session.AppSession._create_scriptrunner
    shield()
    after = app_session._populate_theme_msg, app_session.AppSession._create_scriptrunner
    assert all(one is not other for one, other in zip(before, after, strict=True))

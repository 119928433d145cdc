"""The server's event loop runs every call from other threads, and few calls write a byte."""

import asyncio
import sys
import time
from threading import Thread

import pytest
import streamlit as st
import uvicorn
from uvicorn.config import LOOP_FACTORIES

from dpviz.server.loop import Loop
from dpviz.server.web import serve

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


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_call_while_bytes_are_read_does_not_leave_the_loop_asleep(monkeypatch, when):
    loop, done, read = Loop(), [], asyncio.SelectorEventLoop._read_from_self

    def in_between(loop):
        if when == "after":
            read(loop)
        thread = Thread(target=loop.call_soon_threadsafe, args=(done.append, "between"))
        thread.start()
        thread.join()
        if when == "before":
            read(loop)
        Thread(target=lambda: (time.sleep(0.1), loop.call_soon_threadsafe(loop.stop))).start()
        monkeypatch.setattr(asyncio.SelectorEventLoop, "_read_from_self", read)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "_read_from_self", in_between)
    loop.call_soon_threadsafe(done.append, "first")
    run_until_stopped(loop)
    loop.close()
    assert done == ["first", "between"]


def test_calls_while_the_loop_is_busy_write_one_byte(written):
    loop, done = Loop(), []

    def busy():
        thread = Thread(
            target=lambda: [loop.call_soon_threadsafe(done.append, one) for one in range(40)]
        )
        thread.start()
        thread.join()
        loop.call_later(0.05, loop.stop)

    loop.call_soon(busy)
    loop.run_forever()
    assert done == list(range(40))
    assert len(written) == 1
    # After the byte was read, the next call writes a byte again.
    loop.call_soon_threadsafe(loop.stop)
    run_until_stopped(loop)
    assert len(written) == 2
    loop.close()


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

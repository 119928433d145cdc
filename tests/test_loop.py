"""The server's event loop runs every call from other threads, and few calls write a byte."""

import asyncio
import os
import selectors
import signal
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

"""After a restart of the server, a lost network or a long sleep, each page works as before."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Error, Page, Playwright

from tests.browser.conftest import (
    FLAGS,
    PATIENCE,
    Watched,
    await_health,
    end,
    free_port,
    serve,
    system_browser,
)

#: Seconds until a page must work again, from the time at which server, network and browser are
#: available. This is three times the time that a user may wait, because the machine may be busy
#: with other tests.
SOON = 30

#: Seconds without a server, or without a network. The browser then retries every four seconds.
AWAY = 3

#: Seconds that a laptop sleeps: long enough that the server has given up the page.
SLEEP = 150


class Hand(NamedTuple):
    """An action on a control of a page."""

    #: Moves the control, even if the control was moved before.
    move: Callable[[Page], None]
    #: Element that shows the new value; by default the title of the picture.
    seen_at: str = ".gtitle"
    #: Whether the new value is also in the link.
    in_link: bool = True

    def seen(self, page: Page) -> list[str]:
        """Texts on the page that show the control's value."""
        text = str(page.locator(self.seen_at).first.text_content())
        return [text, page.url] if self.in_link else [text]

    def works(self, page: Page) -> None:
        """Move the control; check that the page follows and keeps the new value."""
        before = self.seen(page)

        def follows() -> bool:
            return not set(before) & set(self.seen(page))

        self.move(page)
        _await(page, follows, "the page follows a hand")
        page.wait_for_timeout(1000)
        assert follows(), "the control springs back"


def _await(page: Page, happens: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + SOON
    while not happens():
        assert time.monotonic() < until, f"not within {SOON} s: {what}"
        page.wait_for_timeout(100)


def _slide(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("slider", name=name).press("ArrowRight")


def _type(name: str, *values: str) -> Callable[[Page], None]:
    """Type the first value that is not the current one."""

    def move(page: Page) -> None:
        box = page.get_by_role("spinbutton", name=name)
        box.fill(next(one for one in values if one != box.input_value()))
        box.press("Enter")

    return move


def _choose(*options: str) -> Callable[[Page], None]:
    """Choose the first option that is not chosen."""

    def move(page: Page) -> None:
        found = [page.get_by_role("radio", name=re.compile(f"^{one}")) for one in options]
        next(one for one in found if not one.is_checked()).click()

    return move


def _budget_of_release(page: Page) -> None:
    if not page.get_by_role("spinbutton", name="Privacy budget ε").is_visible():
        page.get_by_role("radio", name="4 Rehearse").click()
    _type("Privacy budget ε", "0.7", "0.8")(page)


BUDGET = Hand(_slide("Privacy budget ε"))
HANDS = {
    "wavecluster": BUDGET,
    "kmeans": BUDGET,
    "compare": Hand(_type("Draws per point", "12", "11")),
    "learn": Hand(_slide("Density threshold p"), in_link=False),
    "game": Hand(_choose("Hard: ε", "Easy: ε")),
    "release": Hand(_budget_of_release, "p:has-text('any result is at most')"),
}

#: Links of pages whose default takes long on a busy machine, and so would hide other faults.
LINKS = {"compare": "compare?methods=privqt,privthr&points=2&data=incomes"}


class Network(ThreadingTCPServer):
    """Connection between a browser and the port of a server; the connection can be cut."""

    request_queue_size = 100

    def __init__(self, port: int) -> None:
        self.port, self.is_cut = port, False
        self.ends: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), Line)
        Thread(target=self.serve_forever, args=(0.05,)).start()

    def verify_request(self, request: object, client_address: object) -> bool:
        """Whether a new connection is accepted."""
        return not self.is_cut

    def cut(self) -> None:
        self.is_cut = True
        for one in tuple(self.ends):
            _end(one)

    def close(self) -> None:
        self.cut()
        self.shutdown()
        self.server_close()


class Line(BaseRequestHandler):
    """A connection through the network."""

    server: Network

    def handle(self) -> None:
        there = ("127.0.0.1", self.server.port)
        with suppress(OSError), socket.create_connection(there) as far:
            self.server.ends |= {self.request, far}
            if self.server.is_cut:
                return
            back = Thread(target=_pass_on, args=(far, self.request))
            back.start()
            _pass_on(self.request, far)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(2**16):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


class World:
    """A server, a browser that can sleep, and the network between them."""

    def __init__(self, driver: Playwright, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.server = self.start()
        self.network = Network(self.port)
        self.url = f"http://127.0.0.1:{self.network.server_address[1]}"
        debugging = free_port()
        self.process = subprocess.Popen(
            [str(system_browser()), *FLAGS, f"--remote-debugging-port={debugging}",
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.browser = self._connect(driver, debugging)

    def start(self) -> subprocess.Popen[bytes]:
        # Streamlit keeps a session for some time, which is as short as possible here.
        short = {"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "1"}
        url, server = serve("app.py", self.folder, port=self.port, env=short)
        await_health(url, server)
        return server

    def _connect(self, driver: Playwright, port: int) -> Browser:
        for _ in range(100):
            with suppress(Exception):
                return driver.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
            time.sleep(0.1)
        raise RuntimeError("the browser did not start")

    def open(self, name: str) -> Watched:
        """Open a page in a new tab, and wait until nothing moves."""
        watched = Watched(self.browser.contexts[0].new_page())
        watched.page.set_viewport_size({"width": 1280, "height": 900})
        watched.page.set_default_timeout(PATIENCE)
        watched.page.goto(f"{self.url}/{LINKS.get(name, name)}")
        watched.wait_idle()
        watched.wait_calm()
        return watched

    def restart(self) -> None:
        self.server.kill()
        self.server.wait()
        time.sleep(AWAY)
        self.server = self.start()

    def offline(self) -> None:
        self.network.cut()
        time.sleep(AWAY)
        self.network.is_cut = False

    def sleep(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)
        time.sleep(SLEEP)
        os.killpg(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        with suppress(Exception):
            self.browser.close()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.network.close()
        end(self.server)


@pytest.fixture
def world(playwright_driver: Playwright, tmp_path: Path) -> Iterator[World]:
    if system_browser() is None:
        pytest.skip("no Chromium that can be sent to sleep: install it")
    found = World(playwright_driver, tmp_path)
    yield found
    found.close()


#: Each part has a fault, "moved" if a control of the pages was moved before, and the pages.
CASES = {
    "daily": (("restart", "moved", ("learn",)),),
    **{
        f"{fault}, {state}": ((fault, state, tuple(HANDS)),)
        for fault in ("restart", "offline", "sleep")
        for state in ("untouched", "moved")
    },
}


@pytest.mark.some(1)
@pytest.mark.daily("daily")
@pytest.mark.parametrize("parts", CASES.values(), ids=CASES)
def test_a_page_works_after(
    world: World, parts: tuple[tuple[str, str, tuple[str, ...]], ...]
) -> None:
    failed = {}
    for fault, state, names in parts:
        pages = {name: world.open(name) for name in names}
        if state == "moved":
            for name, watched in pages.items():
                HANDS[name].works(watched.page)
                watched.wait_calm()
                if name == "compare":  # otherwise the title says how many draws are ready so far
                    watched.page.wait_for_selector("[data-testid=stProgress]", state="detached")
        before = {name: HANDS[name].seen(watched.page) for name, watched in pages.items()}
        getattr(world, fault)()
        until = time.monotonic() + SOON
        for name, watched in pages.items():
            try:
                _works_as_before(watched.page, HANDS[name], before[name], until)
            except (AssertionError, Error) as error:
                failed[fault, state, name] = f"{error}\n{watched.told()}"
    assert not failed, "\n\n".join(f"{' '.join(cell)}: {told}" for cell, told in failed.items())


def _works_as_before(page: Page, hand: Hand, before: list[str], until: float) -> None:
    """Check that the page is soon usable, shows the same as before, and follows an action."""
    page.bring_to_front()
    usable = "[data-test-connection-state=CONNECTED]:not([inert])"
    page.wait_for_selector(usable, timeout=max(1, until - time.monotonic()) * 1000)
    _await(page, lambda: hand.seen(page) == before, f"the page shows {before}")
    hand.works(page)
    assert page.locator("[data-testid=stException]").count() == 0


# The states are set one after the other inside the page, because calls take long on a busy machine.
PRETEND = """async (states) => {
  const app = document.querySelector("[data-testid=stApp]");
  for (const [name, state] of states) {
    app.setAttribute(`data-test-${name}-state`, state);
    await new Promise((go) => setTimeout(go, 50));
  }
}"""


def test_nobody_uses_a_page_between_two_sessions(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    # On this page, no job starts a run.
    watched = open_page(f"{app_url('app.py')}/learn")
    watched.wait_calm()
    page, hand = watched.page, HANDS["learn"]
    page.get_by_role("slider", name="Density threshold p").focus()
    before = (page.url, *hand.seen(page))
    lost, found = ("connection", "PINGING_SERVER"), ("connection", "CONNECTED")
    begun, ended = ("script", "running"), ("script", "notRunning")
    # The script of a new server runs twice.
    for states in ([lost], [found], [begun], [ended, begun]):
        page.evaluate(PRETEND, states)
        for key in ("j", "ArrowRight"):
            page.keyboard.press(key)
        assert page.locator("[data-testid=stApp][inert]").count(), states
    page.wait_for_timeout(1000)
    page.evaluate(PRETEND, [ended])
    page.wait_for_selector("[data-testid=stApp]:not([inert])")
    assert (page.url, *hand.seen(page)) == before
    page.keyboard.press("ArrowRight")  # the focus did not move
    _await(page, lambda: hand.seen(page) != [before[1]], "the page follows a hand")

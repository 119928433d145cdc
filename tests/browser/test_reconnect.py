"""After a restart of the server or a long sleep each page works as before."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

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

#: Milliseconds in which a page works again, once server and browser are there. Three times
#: as long as people may wait: the machine may be busy with other tests.
SOON = 30_000

#: Seconds that a laptop sleeps: the server has given up the page by then.
SLEEP = 150


def _slide(page: Page, name: str) -> None:
    """Move a slider by a key, and see that its value stays."""
    value = page.get_by_role("textbox", name=f"{name}: exact value")
    before = value.input_value()
    page.get_by_role("slider", name=name).focus()
    page.keyboard.press("ArrowRight")
    expect(value).not_to_have_value(before, timeout=SOON)
    page.wait_for_timeout(1000)
    expect(value).not_to_have_value(before)


def _type(page: Page, name: str, value: str) -> None:
    box = page.get_by_role("spinbutton", name=name)
    # What was typed before has to differ.
    box.fill(value if box.input_value() != value else f"{value}1")
    box.press("Enter")


def _budget(page: Page) -> None:
    before, title = page.url, page.locator(".gtitle").first.text_content()
    _slide(page, "Privacy budget ε")
    page.wait_for_url(lambda url: url != before, timeout=SOON)
    expect(page.locator(".gtitle").first).not_to_have_text(str(title), timeout=SOON)


def _changed(act: Callable[[Page], None]) -> Callable[[Page], None]:
    """Do something that changes the link."""

    def follow(page: Page) -> None:
        before = page.url
        act(page)
        page.wait_for_url(lambda url: url != before, timeout=SOON)

    return follow


def _level(page: Page) -> None:
    other = "Hard" if "level=2" in page.url else "Easy"
    page.get_by_role("radio", name=re.compile(f"^{other}: ε")).click()


#: A page, and a hand on it of which the page shows the effect.
HANDS: dict[str, Callable[[Page], None]] = {
    "wavecluster": _budget,
    "kmeans": _budget,
    "compare": _changed(lambda page: _type(page, "Draws per point", "12")),
    "learn": lambda page: _slide(page, "Density threshold p"),
    "game": _changed(_level),
    "release": _changed(lambda page: _type(page, "Privacy budget ε", "0.7")),
}


class World:
    """A server, and a browser that can sleep."""

    def __init__(self, driver: Playwright, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.server = self.start()
        debugging = free_port()
        self.process = subprocess.Popen(
            [str(system_browser()), *FLAGS, f"--remote-debugging-port={debugging}",
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.browser = self._connect(driver, debugging)

    def start(self) -> subprocess.Popen[bytes]:
        # Streamlit keeps a session for a while; here as short as possible.
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

    def restart(self) -> None:
        self.server.kill()
        self.server.wait()
        time.sleep(3)
        self.server = self.start()

    def sleep(self) -> None:
        os.killpg(self.process.pid, signal.SIGSTOP)
        time.sleep(SLEEP)
        os.killpg(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        with suppress(Exception):
            self.browser.close()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        end(self.server)


@pytest.fixture
def world(playwright_driver: Playwright, tmp_path: Path) -> Iterator[World]:
    if system_browser() is None:
        pytest.skip("no Chromium that can be sent to sleep: install it")
    found = World(playwright_driver, tmp_path)
    yield found
    found.close()


CASES = {
    "restart, every day": ("restart", ("wavecluster", "release")),
    "restart": ("restart", tuple(HANDS)),
    "sleep": ("sleep", tuple(HANDS)),
}


@pytest.mark.daily("restart, every day")
@pytest.mark.parametrize(("fault", "names"), CASES.values(), ids=CASES)
def test_an_untouched_page_works_after(world: World, fault: str, names: tuple[str, ...]) -> None:
    pages = {}
    context = world.browser.contexts[0]
    for name in names:
        watched = Watched(context.new_page())
        page = pages[name] = watched.page
        page.set_viewport_size({"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{world.port}/{name}")
        watched.wait_idle()
        watched.wait_calm()
    getattr(world, fault)()
    for name, page in pages.items():
        page.bring_to_front()
        # The browser asks again every few seconds; people wait that long before they look.
        page.wait_for_selector("[data-test-connection-state=CONNECTED]", timeout=PATIENCE)
        page.wait_for_selector("[data-test-script-state=notRunning]", timeout=PATIENCE)
        HANDS[name](page)
        assert page.locator("[data-testid=stException]").count() == 0, name

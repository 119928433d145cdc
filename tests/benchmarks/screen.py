"""Measure the screen in a real Chromium: first plot, time from key to paint, repaints in a drag."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, TimeoutError, sync_playwright

from tests.browser.conftest import FLAGS, system_browser
from tests.support import ROOT

#: Most other methods of the family take about as long as DPLloyd.
KMEANS_SHOWN = ("dplloyd", "mcmc", "eugkm", "gupt")

WATCH = """() => { window.pressed = 0; window.latencies = []; window.paints = [];
  document.addEventListener('keydown', () => { window.pressed = performance.now(); }, true);
  document.querySelector('.js-plotly-plot').on('plotly_afterplot', () =>
    requestAnimationFrame(() => setTimeout(() => {
      const now = performance.now();
      window.paints.push([now, document.querySelector('.gtitle').textContent]);
      if (window.pressed) { window.latencies.push(now - window.pressed); window.pressed = 0; }
    }))); }"""


@contextmanager
def server(**environment: str) -> Iterator[str]:
    """Run the app on a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    command += ["--server.port", str(port), "--server.address", "127.0.0.1"]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=system_browser(), args=FLAGS)
        with TemporaryDirectory() as folder:
            first_pictures(browser, folder)
        with server() as url:
            for link in (
                "?data=gaussians&g=64",
                "?data=gaussians&g=256",
                "?data=gaussians&g=256&view=counts",
                "?data=checkins&g=128",
                *(f"kmeans?data=gaussians&method={method}" for method in KMEANS_SHOWN),
                "kmeans?data=checkins",
            ):
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                page.goto(f"{url}/{link}&epsilon=0.1")
                page.wait_for_selector(".gtitle")
                page.wait_for_timeout(1500)
                page.evaluate(WATCH)
                print(f"{link}: {keys(page)}; {drag(page)}")
                page.close()
        browser.close()


#: Time at which the browser first painted something; the page is sent with a picture, or empty.
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"


def first_pictures(browser: Browser, folder: str) -> None:
    """Open the start page of new servers: first as after an installation, then with its code."""
    own = {"DPVIZ_HOME": folder, "NUMBA_CACHE_DIR": f"{folder}/numba"}
    for turn in ("nothing compiled", "the next server"):
        begun = time.perf_counter()
        with server(**own) as url:
            for tab in ("first tab", "next tab"):
                page = browser.new_page(viewport={"width": 1280, "height": 720})
                start = time.perf_counter()
                page.goto(url)
                sent = page.locator(".dpv-first").count()
                page.wait_for_selector(".gtitle")
                drawn = time.perf_counter() - start
                painted = page.evaluate(PAINTED) if sent else drawn
                after = f" ({start - begun + painted:.2f} s after the server)" * (
                    tab == "first tab"
                )
                print(f"{turn}, {tab}: first picture {painted:.2f} s{after}, own {drawn:.2f} s")
                page.wait_for_timeout(1500)
                page.close()


def keys(page: Page, presses: int = 30) -> str:
    """Press arrow keys on epsilon; wait for each repaint before the next key."""
    return said(pressed(page, presses))


def pressed(page: Page, presses: int) -> list[float]:
    """Milliseconds from each arrow key on epsilon to its paint."""
    page.get_by_role("slider", name="Privacy budget").focus()
    page.evaluate("window.latencies = []")
    for _ in range(presses):
        page.keyboard.press("ArrowRight")
        try:
            page.wait_for_function("() => window.pressed === 0", timeout=5_000)
        except TimeoutError:  # without a change of the picture there is no repaint
            page.evaluate("window.pressed = 0")
        page.wait_for_timeout(450)
    latencies: list[float] = page.evaluate("window.latencies")
    return latencies


def said(latencies: list[float]) -> str:
    high = quantiles(latencies, n=20)[-1]
    return f"key to paint median {median(latencies):.0f} ms, 95% {high:.0f} ms (n {len(latencies)})"


def drag(page: Page, held: float = 4.0) -> str:
    """Drag the slider of epsilon back and forth; count the changed pictures."""
    box = page.get_by_role("slider", name="Privacy budget").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.5 * box["width"], middle)
    page.mouse.down()
    page.evaluate("window.paints = []")
    start, step = time.perf_counter(), 0
    while time.perf_counter() - start < held:
        step += 1
        place = 0.2 + 0.6 * abs((step * 0.011) % 2 - 1)
        page.mouse.move(box["x"] + place * box["width"], middle)
        page.wait_for_timeout(16)
    paints = page.evaluate("window.paints")
    page.mouse.up()
    page.wait_for_timeout(800)
    changed = sum(1 for one, other in pairwise(paints) if one[1] != other[1])
    return f"held drag {changed / held:.1f} changed pictures a second"

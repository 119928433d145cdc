"""Measure the screen with 6.4 million and with 30,000 records: loading, keys, eight sessions.

``python -m tests.benchmarks.scale eugkm sessions`` measures only the k-means method eugkm and the
eight sessions.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet
from playwright.sync_api import Browser, Page, sync_playwright

from dpviz.kmeans.methods import METHODS as KMEANS
from tests.benchmarks.screen import WATCH, drag, pressed, said, server
from tests.browser.conftest import FLAGS, system_browser

SIZES = (30_000, 6_400_000)
FIRST = "?method=privthr&g=64"
LINKS = (FIRST, *(f"kmeans?method={name}&k=15" for name in KMEANS if KMEANS[name].card.spends))
SESSIONS, SECONDS, SESSION_ROUNDS = 8, 20, 2

#: Number of rounds, and number of key presses on each page in a round.
ROUNDS, PRESSES = 3, 10

#: Milliseconds between two key presses on a page.
PAUSE = 2_000


def main(*only: str) -> None:
    """Print all times, or only the times of the named k-means methods and of the sessions."""
    links = [link for link in LINKS if not only or any(f"={name}&" in link for name in only)]
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as driver,
        server() as url,
    ):
        browser = driver.chromium.launch(executable_path=system_browser(), args=FLAGS)
        files = {n: _file(Path(folder), n) for n in SIZES}
        warm = _opened(browser, url, FIRST, files[SIZES[0]])[0]
        warm.close()
        for link in links:
            pages = {}
            for n, file in files.items():
                pages[n], seconds = _opened(browser, url, link, file)
                print(f"{n:,} records, {link}: first picture {seconds:.1f} s", flush=True)
                # Wait, because an exact run of one page would slow down the keys of the other page.
                _await_exact(pages[n])
                pages[n].evaluate(WATCH)
            found: dict[int, list[float]] = {n: [] for n in files}
            # Measure in turn, because the speed of a machine changes from minute to minute.
            for _ in range(ROUNDS):
                for n, page in pages.items():
                    page.bring_to_front()
                    page.wait_for_timeout(PAUSE)
                    found[n] += pressed(page, PRESSES)
                    _await_exact(page)
            for n, page in pages.items():
                page.bring_to_front()
                print(f"{n:,} records, {link}: {said(found[n])}; {drag(page)}", flush=True)
                page.close()
        if not only or "sessions" in only:
            _both_in_sessions(browser, url, files)
        browser.close()


def _await_exact(page: Page) -> None:
    """Wait for the exact run of k-means, which replaces the sketch as soon as no slider moves."""
    page.wait_for_timeout(PAUSE)
    page.wait_for_function(
        "() => !document.querySelector('.gtitle').textContent.includes('sketch')", timeout=120_000
    )


def _file(folder: Path, n: int) -> Path:
    """Write fifteen clusters as Parquet."""
    rng = np.random.default_rng(1)
    middles = rng.uniform(100, 900, (15, 2))
    points = np.clip(middles[rng.integers(15, size=n)] + rng.normal(0, 25, (n, 2)), 0, 1000)
    path = folder / f"points-{n}.parquet"
    pyarrow.parquet.write_table(pa.table({"x": points[:, 0], "y": points[:, 1]}), path)
    return path


def _opened(browser: Browser, url: str, link: str, file: Path) -> tuple[Page, float]:
    """Open a file of the user; return the page and the seconds until the picture is shown."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{url}/{link}&data=own&domain=0,1000;0,1000&epsilon=0.1")
    box = page.get_by_role("textbox", name="Or the path of a file on this computer")
    box.fill(str(file))
    start = time.perf_counter()
    box.press("Enter")
    page.wait_for_selector(".gtitle", timeout=120_000)
    return page, time.perf_counter() - start


@contextmanager
def _sessions(browser: Browser, url: str, file: Path) -> Iterator[list[Page]]:
    pages = [_opened(browser, url, FIRST, file)[0] for _ in range(SESSIONS)]
    pages[0].wait_for_timeout(2 * PAUSE)
    for page in pages:
        page.evaluate(WATCH)
        page.get_by_role("slider", name="Privacy budget").focus()
    yield pages
    for page in pages:
        page.close()


def _both_in_sessions(browser: Browser, url: str, files: dict[int, Path]) -> None:
    """Measure eight sessions with few records and eight sessions with all records, in turn."""
    found: dict[int, list[float]] = {n: [] for n in files}
    sizes: dict[int, list[float]] = {n: [] for n in files}
    for _ in range(SESSION_ROUNDS):
        for n, file in files.items():
            # Before measuring, one session loads the data, which all sessions share.
            first, before = _opened(browser, url, FIRST, file)[0], _memory()
            with _sessions(browser, url, file) as many:
                found[n] += _together(many)
                sizes[n].append((_memory() - before) / SESSIONS)
            first.close()
    for n in files:
        line = f"{SESSIONS} sessions, key to paint median {median(found[n]):.0f} ms"
        print(f"{n:,} records: {line} (n {len(found[n])}); {max(sizes[n]):.1f} MB a session")


def _together(pages: list[Page]) -> list[float]:
    """Each session in turn presses a key, once a second; return milliseconds until the picture."""
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for page in pages:
            begin = time.perf_counter()
            page.keyboard.press("ArrowRight")
            page.wait_for_timeout(max(0, 1000 / SESSIONS - 1000 * (time.perf_counter() - begin)))
    pages[0].wait_for_timeout(3_000)
    return [one for page in pages for one in page.evaluate("window.latencies")]


def _memory() -> float:
    """Memory of the server, a child of this process, in MB."""
    children = psutil.Process().children(recursive=True)
    sizes = [one.memory_info().rss for one in children if "streamlit" in " ".join(one.cmdline())]
    return max(sizes, default=0) / 2**20


if __name__ == "__main__":
    main(*sys.argv[1:])

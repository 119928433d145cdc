"""A real browser and a real server for the tests in this folder."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from dpviz.families import FAMILIES
from dpviz.ui.data.state import FIRST
from tests.support import ROOT

FLAGS = [
    "--headless",
    # Letters have the same widths as in a browser with a window.
    "--font-render-hinting=none",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# If a page is opened by its link, Streamlit's client first sends requests below the page's path.
PROBES = re.compile(r"/[a-z]+/_stcore/(health|host-config)")

# Wait until nothing moves and no run is active for half a second, because a run starts some time
# after a click.
CALM = """async () => {
  const moving = () => document.querySelector(
      '[data-stale="true"], [data-testid=stApp]:not([data-test-script-state=notRunning])')
    || document.getAnimations().some((one) =>
      one.playState === "running" && one.effect.getComputedTiming().endTime !== Infinity);
  for (let calm = 0; calm < 10;) {
    calm = moving() ? 0 : calm + 1;
    await new Promise((go) => setTimeout(go, 50));
  }
}"""

TOLD = """() => [document.body.innerText.replace(/\\s*\\n\\s*/g, " | ").slice(0, 4000),
  document.querySelector("[data-testid=stApp]")?.dataset.testScriptState]"""

#: In milliseconds. The time is long, because a busy machine is slow, and these tests don't measure
#: speed.
PATIENCE = 90_000

#: The pages that a test has opened.
OPENED = pytest.StashKey[list["Watched"]]()


def faults(log: Path) -> list[str]:
    """Entries of a server's log with a traceback.

    Ignore entries that Streamlit writes if a page is left while its socket opens or closes. Whether
    such entries occur depends on the machine.
    """
    entries = re.split(
        r"^(?=\d{4}-\d\d-\d\d )", log.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    left = "starlette.websockets.WebSocketDisconnected: "
    return [
        one
        for one in entries
        if "Traceback" in one and not one.rstrip().splitlines()[-1].startswith(left)
    ]


#: Doors of the pages that share a door, and pages behind "?".
DOORS = {
    "WaveCluster": "Explore", "k-means": "Explore", "Lessons": "Learn", "Game": "Learn",
    "Benchmark": "Evidence", "Audit": "Evidence", "Papers": "Evidence",
}  # fmt: skip
REFERENCE = ("Glossary", "Docs", "About")


class Watched:
    """A page, all of its complaints, and all hosts from which it requested something.

    Parameters
    ----------
    page : Page
        The page to observe.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._note(request.url))
        page.on("websocket", lambda websocket: self._note(websocket.url))

    def wait_idle(self) -> None:
        """Wait until no script runs; the first run of a new checkout compiles its loops."""
        idle = "[data-testid=stApp][data-test-script-state=notRunning]"
        self.page.wait_for_selector(idle)

    def wait_calm(self) -> None:
        """Wait until nothing moves: panels open slowly, and outdated elements are pale."""
        self.page.evaluate(CALM)

    def go(self, title: str) -> None:
        """Open a page by the navigation: its door, and then its own link."""
        if title in REFERENCE:
            self.page.get_by_test_id("stPopoverButton").filter(has_text="Reference").click()
            self.page.get_by_test_id("stPopoverBody").get_by_role("link", name=title).click()
            return
        behind = self.page.locator(".st-key-behind").get_by_role("link", name=title, exact=True)
        if not behind.count():
            door = DOORS.get(title, title)
            self.page.get_by_test_id("stHeader").get_by_role("link", name=door, exact=True).click()
        if title in DOORS:
            behind.click()

    def choose(self, box: str, option: str, *, exact: bool = False) -> None:
        found = self.page.get_by_role("combobox", name=box, exact=True)
        found.scroll_into_view_if_needed()
        # An open list closes when the page scrolls, so wait until scrolling has ended.
        self.page.wait_for_timeout(150)
        found.click()
        # A long list scrolls under the pointer; typing the option makes the list short.
        self.page.keyboard.type(option)
        self.page.get_by_role("option", name=option, exact=exact).click()

    def told(self) -> str:
        """Text on the page, whether a script runs, and the complaints."""
        try:
            text, script = self.page.evaluate(TOLD)
        except Error as error:
            text, script = str(error), "?"
        return f"{self.page.url}\nscript: {script}\nerrors: {self.errors}\n{text}"

    def _hear(self, message: ConsoleMessage) -> None:
        about = urlsplit(str(message.location.get("url", ""))).path
        if message.type == "error" and not ("404" in message.text and PROBES.fullmatch(about)):
            self.errors.append(message.text)

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("blob", "data", "about"):
            self.hosts.add(parts.hostname or "")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_health(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if server.poll() is not None:
            raise RuntimeError(f"streamlit ended with code {server.returncode}")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("streamlit did not start within 30 s")


def serve(
    script: str, folder: Path, root: Path = ROOT, hosts: Sequence[str] = (), **options: Any
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start an app of a checkout, with its log in a folder; return its address and its process.

    The app accepts the given hosts, or the hosts in the checkout's settings. The app uses the given
    port, or a free port.
    """
    options["cwd"] = root
    command = ["streamlit", "run", str(root / script), "--server.headless", "true"]
    command += [part for host in hosts for part in ("--server.allowedHosts", host)]
    return _started(command, "--server.", folder, **options)


def serve_others(
    folder: Path, hosts: Sequence[str] = (), **options: Any
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start the server for other computers; it accepts the given hosts, too; see :func:`serve`."""
    command = ["dpviz.server", "--headless", "--hosts", ",".join(hosts)]
    return _started(command, "--", folder, **options)


def _started(
    command: list[str], prefix: str, folder: Path, **options: Any
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start a module with arguments; its options for port and address start with the prefix."""
    port, root = options.pop("port", None) or free_port(), options.setdefault("cwd", ROOT)
    command = [*command, f"{prefix}port", str(port), f"{prefix}address", "127.0.0.1"]
    # The budgets and bundles of the tests are in a separate folder.
    environment = {**os.environ, "PYTHONPATH": str(root), "DPVIZ_HOME": str(folder / "home")}
    environment |= options.pop("env", {})
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *command],
            env=environment, stdout=log, stderr=subprocess.STDOUT, **options,
        )  # fmt: skip
    return f"http://127.0.0.1:{port}", server


def end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextmanager
def started_server(
    folder: Path, hosts: Sequence[str] = (), *, streamlit: bool = False
) -> Iterator[str]:
    """Start a separate server with its log in a folder; the log must not contain a fault.

    ``streamlit`` starts it as ``streamlit run app.py`` does.
    """
    if streamlit:
        url, process = serve("app.py", folder, hosts=("localhost", "127.0.0.1", "::1", *hosts))
    else:
        url, process = serve_others(folder, hosts)
    try:
        await_health(url, process)
        yield url
    finally:
        end(process)
    assert not faults(folder / "server.log")


@pytest.fixture(scope="session", autouse=True)
def _first_methods_are_compiled() -> None:
    """Servers of the tests draw the first methods at once."""
    for family in FAMILIES.values():
        command = [sys.executable, "-m", "dpviz", "run", FIRST, "--method", family.first]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def app_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda script: tmp_path_factory.mktemp("app"))


@pytest.fixture(scope="session")
def app_url(app_folder: Callable[[str], Path]) -> Iterator[Callable[[str], str]]:
    """Start an app once and return its address; all apps end with the session."""
    running: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}

    def start(script: str) -> str:
        if script not in running:
            running[script] = serve(script, app_folder(script))
            await_health(*running[script])
        return running[script][0]

    yield start
    for _, server in running.values():
        end(server)


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[str]:
    """Start the product for a single test, so that no page was requested before."""
    url, server = serve("app.py", tmp_path)
    try:
        await_health(url, server)
        yield url
    finally:
        end(server)


@pytest.fixture(scope="session")
def playwright_driver() -> Iterator[Playwright]:
    with sync_playwright() as driver:
        yield driver


def system_browser() -> str | None:
    """Path of the system's Chromium, preferably headless; None means playwright's Chromium."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def chromium(playwright_driver: Playwright) -> Iterator[Browser]:
    """Start the system's Chromium, or else playwright's; skip the test if there is no Chromium."""
    with _or_skip():
        browser = playwright_driver.chromium.launch(executable_path=system_browser(), args=FLAGS)
    yield browser
    browser.close()


@contextmanager
def _or_skip() -> Iterator[None]:
    try:
        yield
    except Error as error:
        first = str(error).splitlines()[0]
        pytest.skip(f"no Chromium: install it, or run 'playwright install chromium' ({first})")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run a failed test in a real browser a second time; the summary mentions this.

    On a busy machine, an action between two runs of a page is sometimes too early. A test that
    fails twice in a row fails.
    """
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """Report the text on the pages of a failed test, because the failure may not occur again."""
    report: pytest.TestReport = yield
    if report.when == "call" and report.failed:
        for watched in item.stash.get(OPENED, []):
            report.sections.append(("Page", watched.told()))
    return report


@pytest.fixture(scope="session")
def profile(
    playwright_driver: Playwright, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserContext]:
    """One profile on disk for all pages, because loading the scripts takes half of the time."""
    with _or_skip():
        context = playwright_driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=system_browser(), args=FLAGS
        )
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield context
    context.close()


@pytest.fixture
def open_page(
    profile: BrowserContext, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Watched]]:
    """Open an address as a new visitor, and wait until the page is drawn."""
    opened = request.node.stash[OPENED] = []

    def open_(
        url: str,
        scheme: str = "light",
        before: Callable[[Page], object] | None = None,
        height: int = 900,
    ) -> Watched:
        watched = Watched(profile.new_page())
        opened.append(watched)
        page, at = watched.page, urlsplit(url)
        page.set_viewport_size({"width": 1280, "height": height})
        page.emulate_media(color_scheme=scheme)
        # Everything that a page stores about its visitors.
        known = {"origin": f"{at.scheme}://{at.netloc}", "storageTypes": "cookies,local_storage"}
        profile.new_cdp_session(page).send("Storage.clearDataForOrigin", known)
        if before is not None:
            before(watched.page)
        watched.page.goto(url)
        watched.wait_idle()
        return watched

    # The first page stays open, because this kind of browser ends when its last page is closed.
    yield open_
    for page in profile.pages[1:]:
        page.close()


@pytest.fixture
def faultless(open_page: object) -> Iterator[Callable[[Watched], Watched]]:
    """Check at the end of the test that nothing went wrong on a page; return the page."""
    opened: list[Watched] = []

    def take(watched: Watched) -> Watched:
        opened.append(watched)
        return watched

    yield take
    for watched in opened:
        assert watched.errors == []
        assert watched.hosts == {"127.0.0.1"}
        assert watched.page.locator("[data-testid=stException]").count() == 0

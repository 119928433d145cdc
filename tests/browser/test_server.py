"""The pages in a browser that obeys the headers which the server sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE, Watched
from tests.browser.test_picture import NO_PRINTER, behind, saved
from tests.support.links import PAGES as OF_APP

Open = Callable[..., Watched]
Faultless = Callable[[Watched], Watched]
AppUrl = Callable[[str], str]

#: Every page (the first page without a path), and two views with further elements.
PAGES = [
    "",
    "?view=subbands",
    "kmeans?method=mcmc&view=path",
    *("" if one == "wavecluster" else one for one in OF_APP),
]


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()


# Other tests of this folder open the other pages.
@pytest.mark.daily("papers")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_needs_nothing_that_the_headers_forbid(
    app_url: AppUrl, page: str, open_page: Open, faultless: Faultless
) -> None:
    watched = faultless(open_page(f"{app_url('app.py')}/{page}"))
    watched.wait_calm()
    expect(watched.page.locator("h1").first).to_be_visible()
    if page.split("?")[0] in ("", "kmeans"):
        expect(watched.page.locator(".gtitle").first).to_be_visible()


@pytest.mark.exhaustive(reason="test_server sees the headers of every answer, daily")
def test_a_hand_moves_all_that_moves_behind_the_headers(
    app_url: AppUrl, open_page: Open, faultless: Faultless
) -> None:
    """Components of the app that have their own scripts: sliders, figures, files, print."""
    printing = partial(Page.add_init_script, script=NO_PRINTER)
    watched = faultless(open_page(app_url("app.py"), before=printing))
    page = watched.page
    title = page.locator(".gtitle").first
    before = title.text_content()
    page.get_by_role("slider", name="Privacy budget").focus()
    page.keyboard.press("ArrowRight")
    expect(title).not_to_have_text(str(before))
    behind(watched)
    page.get_by_role("button", name="Picture (PDF)").click()
    page.wait_for_function("() => window.printed")
    for kind in ("PNG", "SVG"):
        _, content = saved(watched, page.get_by_role("button", name=f"Picture ({kind})").click)
        assert len(content) > 10_000
    watched.go("k-means")
    expect(page.get_by_role("heading", name="k-means").first).to_be_visible()
    watched.wait_calm()


@pytest.mark.exhaustive(reason="without this cache, pages only open more slowly")
def test_a_browser_keeps_what_draws_the_figures(app_url: AppUrl, open_page: Open) -> None:
    """If a page is opened again, neither plotly.js nor files of Streamlit are downloaded again."""
    answers: list[dict[str, Any]] = []

    def listen(page: Page) -> None:
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.responseReceived", lambda one: answers.append(one["response"]))

    for _ in range(2):
        answers.clear()
        page = open_page(app_url("app.py"), before=listen).page
        expect(page.locator(".gtitle").first).to_be_visible()
    scripts = [one for one in answers if one["url"].split("?")[0].endswith(".js")]
    for name in ("plotly.min.js", "frame.js", "live_slider.js", "live_figure.js"):
        assert sum(f"/{name}?" in one["url"] for one in scripts) == 1
    assert [one["url"] for one in scripts if not one["fromDiskCache"]] == []


@pytest.mark.exhaustive(reason="tests/test_server.py checks which pages may be framed")
def test_slides_of_another_site_show_their_view_and_no_other_one(
    app_url: AppUrl, chromium: Browser, tmp_path: Path
) -> None:
    for name, link in (("slides", "?embed=true"), ("whole", "")):
        frame_of = f'<iframe src="{app_url("app.py")}/{link}" width=1200 height=700></iframe>'
        slide = f'<!doctype html><link rel="icon" href="data:,">{frame_of}'
        (tmp_path / f"{name}.html").write_text(slide, encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(PATIENCE)
    with other_site(tmp_path) as site:
        watched = Watched(context.new_page())
        page, frame = watched.page, watched.page.frame_locator("iframe")
        page.goto(f"{site}/slides.html")
        title = frame.locator(".gtitle").first
        expect(title).to_be_visible()
        before = title.text_content()
        frame.get_by_role("slider", name="Privacy budget").focus()
        page.keyboard.press("ArrowRight")
        expect(title).not_to_have_text(str(before))
        assert watched.errors == []
        page.goto(f"{site}/whole.html")
        for _ in range(100):
            if watched.errors:
                break
            page.wait_for_timeout(100)
        assert "frame" in watched.errors[0].lower()
        assert frame.locator(".gtitle").count() == 0
    context.close()

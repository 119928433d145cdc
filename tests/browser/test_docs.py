"""The documentation in a browser: the app serves it, it has a search, and it asks no other host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from dpviz.docs.site import build
from tests.browser.conftest import Watched


@pytest.mark.exhaustive(reason="tests/test_site.py checks the links of the site")
def test_a_link_of_the_app_leads_to_the_site(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    listed = open_page(f"{app_url('app.py')}/docs").page
    with listed.expect_popup() as waiting:
        listed.get_by_role("link", name="PrivTHREM", exact=True).click()
    page, hosts = waiting.value, set[str]()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname or ""))
    try:
        page.wait_for_url("**/methods/privthrem.html")
        expect(page).to_have_title("PrivTHREM · dpviz")
        assert page.evaluate("document.querySelector('main img').naturalWidth") > 500
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = Axe().run(page).response["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
        page.get_by_role("searchbox", name="Search").fill("split release")
        page.get_by_role("link", name="Privacy model: Split release").click()
        page.wait_for_url("**/privacy.html#split-release")
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert hosts - {""} == {"127.0.0.1"}
    finally:
        page.close()


@pytest.mark.exhaustive(reason="one page of the site is looked at in two widths daily")
def test_no_page_is_wider_than_its_window(chromium: Browser, tmp_path: Path) -> None:
    build(tmp_path)
    page = chromium.new_page()
    try:
        for file in sorted(tmp_path.rglob("*.html")):
            page.goto(file.as_uri())
            for width in (390, 1280, 2560):
                page.set_viewport_size({"width": width, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
                    file,
                    width,
                )
    finally:
        page.close()

"""A teacher opens the app for a class by hand; a phone comes by the network's address."""

from __future__ import annotations

import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from dpviz.ui.session.classroom import network_addresses
from tests.browser.conftest import Watched
from tests.browser.test_game import guess, score
from tests.browser.test_share import KEEP


def reachable(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((host, port)) == 0


@pytest.mark.exhaustive(reason="tests/ui/test_game.py plays with a class daily, without a browser")
def test_a_phone_joins_after_the_question_and_sees_no_own_data(
    app_url: Callable[[str], str],
    open_page: Callable[..., Watched],
    faultless: Callable[[Watched], Watched],
) -> None:
    if not (found := network_addresses()):
        pytest.skip("this computer is in no network")
    url = app_url("app.py")
    port = urlsplit(url).port
    assert port is not None
    page = faultless(open_page(f"{url}/game", before=lambda one: one.add_init_script(KEEP))).page
    page.get_by_role("button", name="Open a room").click()
    link = page.locator(".dpv-qr figcaption")
    page.get_by_text("Phones can't open this address").wait_for()
    assert urlsplit(link.inner_text()).hostname == "127.0.0.1"
    assert page.locator(".dpv-qr img").count() == 0
    assert not reachable(found[0], port)
    page.get_by_role("button", name="Open for a class …").click()
    page.get_by_text(f"to everybody who can reach {found[0]}").wait_for()
    page.get_by_role("button", name="Cancel").click()
    assert not reachable(found[0], port)
    page.get_by_role("button", name="Open for a class …").click()
    page.get_by_role("button", name="Open it now").click()
    page.get_by_text("Open for a class at").wait_for()
    place = f"http://{found[0]}:{port}"
    page.locator(".dpv-qr figcaption", has_text=place).wait_for()
    page.get_by_alt_text("QR code of the link").wait_for()
    try:
        # Each link that the teacher passes on has the address for the class.
        page.locator(".st-key-share button").click()
        page.get_by_role("button", name="Copy link").click()
        page.get_by_text("Copied: the link with all settings.").wait_for()
        assert page.evaluate("window.copied") == page.url.replace(url, place)
        page.keyboard.press("Escape")
        phone = open_page(link.inner_text()).page
        links = phone.locator("[data-testid=stTopNavLink]")
        links.first.wait_for()
        assert links.all_inner_texts() == ["Explore", "Learn"]
        phone.set_viewport_size({"width": 390, "height": 844})
        guess(phone, "in")
        score(phone, "You", 1)
        score(page, "Class", 1)
        # Own data, budgets and releases are closed, in whatever way the phone asks.
        for path in ("release", "compare"):
            phone.goto(f"{place}/{path}")
            phone.get_by_text("closed here, because this app is open for a class").wait_for()
        phone.goto(f"{place}/kmeans?data=own")
        phone.get_by_text('data = "own" is unknown').wait_for()
        phone.locator(".gtitle").first.wait_for(state="attached")
        assert phone.get_by_test_id("stFileUploader").count() == 0
        sent = phone.request.put(f"{place}/_stcore/upload_file/a/b", data="x")
        assert sent.status == 403
        # The teacher's own pages are as before.
        teacher = open_page(f"{url}/release?data=own").page
        teacher.get_by_test_id("stFileUploader").first.wait_for()
    finally:
        page.get_by_role("button", name="Close for the class").click()
        page.get_by_role("button", name="Open for a class …").wait_for()
    assert not reachable(found[0], port)

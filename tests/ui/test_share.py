"""Sharing a view: its link, the QR code of the link, and the frame for slides."""

from __future__ import annotations

import base64
import html
import re
from types import SimpleNamespace
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.ui.session import address
from dpviz.ui.widgets import class_panel, embed, share
from tests.support import APP
from tests.support.links import PAGES, opened

HERE, THERE = "http://127.0.0.1:8501/kmeans", "http://192.168.1.5:8501/kmeans"


@pytest.fixture
def reached(monkeypatch):
    """Set the address of the app, and the address at which the server accepts connections."""

    def say(url: str | None, listening: str = "localhost", base: str = "", **headers: str) -> None:
        context = SimpleNamespace(url=url, headers=headers)
        monkeypatch.setattr(address.st, "context", context)
        options = {"server.address": listening, "server.baseUrlPath": base}
        monkeypatch.setattr(address.st, "get_option", options.get)

    return say


@pytest.mark.parametrize(
    ("url", "local"),
    [
        (HERE, True),
        ("http://localhost:8501", True),
        ("http://[::1]:8501/", True),
        ("http://127.9.9.9/", True),
        ("http://192.168.1.5:8501/", False),
        ("https://dpviz.example.org/", False),
        ("http://localhost.example.org/", False),
        ("", False),
    ],
)
def test_an_address_of_this_computer_is_known(url, local):
    assert address.is_local(url) is local


@pytest.mark.parametrize(
    ("url", "listening", "headers", "alone"),
    [
        (HERE, "localhost", {}, True),
        (None, "127.0.0.1", {}, True),
        (HERE, "0.0.0.0", {}, False),
        (HERE, None, {}, False),
        ("http://lab.example.org/", "localhost", {}, False),
        (HERE, "localhost", {"X-Forwarded-For": "10.0.0.1"}, False),
    ],
)
def test_paths_are_read_only_where_no_visitor_can_be(reached, url, listening, headers, alone):
    reached(url, listening, **headers)
    assert address.on_this_machine() is alone


def test_the_link_has_the_page_and_all_settings(reached):
    reached(HERE)
    link = address.full_link({"domain": "0,1;0,1", "data": "a&b"}, embed="true")
    parts = urlsplit(link)
    assert link.startswith(f"{HERE}?")
    assert dict(parse_qsl(parts.query)) == {"domain": "0,1;0,1", "data": "a&b", "embed": "true"}
    reached("http://127.0.0.1:8501")
    assert address.full_link({"a": "b"}) == "http://127.0.0.1:8501/?a=b"
    # If the app is under a path, only the first page's address ends with a slash.
    for page, path in (("/dpviz", "/dpviz/"), ("/dpviz/", "/dpviz/"), ("/dpviz/kmeans", None)):
        reached(f"https://example.org{page}", base="dpviz")
        assert address.full_link({"a": "b"}) == f"https://example.org{path or page}?a=b"


def test_the_code_is_black_on_white_with_its_link_below():
    link = f"{THERE}?data=gaussians&columns=<b>"
    found = share.qr_code(link)
    (picture,) = re.findall(r'src="([^"]*)"', found)
    kind, _, drawn = html.unescape(picture).partition(",")
    drawn = base64.b64decode(drawn).decode() if "base64" in kind else unquote(drawn)
    assert "image/svg+xml" in kind
    assert drawn.count("<path") == 2
    assert re.search(r"fill=.#fff", drawn)
    assert re.search(r"stroke=.#000", drawn)
    assert f'<figcaption tabindex="0">{html.escape(link)}</figcaption>' in found
    assert "too long" in share.qr_code(THERE + "?" + "x" * 2400)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "a.localhost", "127.1.2.3"])
def test_an_address_that_no_phone_can_open_has_no_code(host):
    link = f"http://{host}:8501/kmeans"
    found = share.qr_code(link)
    assert f'<figcaption tabindex="0">{link}</figcaption>' in found
    assert "<img" not in found
    assert "<img" in share.qr_code(link.replace(host, "192.168.1.5"))


def test_the_frame_is_html_that_a_browser_reads_back():
    found = share.frame_of(f"{HERE}?a=1&b=%22&embed=true")
    assert found.startswith(
        '<iframe src="http://127.0.0.1:8501/kmeans?a=1&amp;b=%22&amp;embed=true"'
    )
    assert 'width="960" height="540"' in found


@pytest.mark.parametrize("shared", ["", "1"])
@pytest.mark.parametrize("page", ["wavecluster", "release"])
def test_a_link_that_no_phone_can_open_says_so_once(reached, monkeypatch, shared, page):
    reached(HERE)
    monkeypatch.setenv(address.SHARED, shared)
    said = []
    for module in (share, class_panel):
        monkeypatch.setattr(module, "say_only_here", lambda: said.append("local"))
    monkeypatch.setattr(share, "_mount", lambda **_: None)

    class State(dict):
        def link(self):
            return dict(self)

    state = State(method="privthr")
    state.page = page
    share._draw(state, frame=False)
    assert said == ["local"]


@pytest.mark.some(2)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_shares_its_link(page):
    test = opened(page, {})
    assert not test.exception
    labels = [one.proto.popover.label for one in test.get("popover")]
    assert labels.count("Share") == 1


@pytest.fixture
def framed(monkeypatch):
    for module in (
        "explorer.explorer", "explorer.settings", "widgets.share", "widgets.show",
        "widgets.readouts", "compare.view", "release.view",
    ):  # fmt: skip
        monkeypatch.setattr(f"dpviz.ui.{module}.embedded", lambda: True)
    return lambda page, **link: opened(page, link)


@pytest.mark.parametrize("page", ["wavecluster", "kmeans"])
def test_a_frame_shows_picture_readouts_and_epsilon_alone(framed, page):
    test = framed(page, epsilon="0.5")
    assert not test.exception
    assert not test.error
    mounted = [one.proto.component_name for one in test.get("bidi_component")]
    assert mounted.count("dpviz_live_slider") == 1
    assert mounted.count("dpviz_live_figure") == 1
    assert not test.expander
    assert test.query_params["epsilon"] == "0.5"
    # The text does not mention elements that are missing in the frame.
    (cards,) = (one.proto.body for one in test.get("html") if 'class="dpv-cards' in one.proto.body)
    assert "The proof is in the app" in cards
    assert "below" not in cards


def test_a_frame_of_compare_shows_the_curves_alone(framed):
    test = framed("compare", draws="1", points="2", methods="privthr")
    assert not test.exception
    assert not test.main.selectbox
    assert not test.dataframe


def test_no_release_is_made_in_a_frame(framed):
    test = framed("release")
    (error,) = test.error
    assert "own window" in error.value
    assert not test.button


def test_without_a_browser_nothing_is_a_frame():
    assert embed.embedded() is False
    assert AppTest.from_file(APP, default_timeout=120).run().exception == []

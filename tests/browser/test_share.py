"""Sharing a view by hand in a real Chromium: copy, QR code, and frames of slides."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest

from dpviz.ui.widgets.share import qr_code
from tests.browser.conftest import PATIENCE, Watched
from tests.browser.test_compare import TITLES
from tests.browser.test_server import other_site
from tests.support.tiers import daily
from tests.ui.test_share import PAGES

# A browser that refuses access to the clipboard, as in a frame or under http.
FORBID = """Object.defineProperty(navigator, 'clipboard', {value: {
  writeText: () => Promise.reject(new Error('not allowed'))}})"""
KEEP = """Object.defineProperty(navigator, 'clipboard', {value: {
  writeText: (text) => { window.copied = text; return Promise.resolve() }}})"""


def address(app_url: Callable, page: str) -> str:
    return f"{app_url('app.py')}/{'' if page == 'wavecluster' else page}"


@pytest.fixture
def slide(chromium, tmp_path):
    """Show HTML of another program at a separate address."""
    contexts = []

    def show(content: str):
        contexts.append(chromium.new_context(viewport={"width": 1280, "height": 720}))
        contexts[-1].set_default_timeout(PATIENCE)
        watched = Watched(contexts[-1].new_page())
        body = f"<body style='margin:0'>{content}</body>"
        (tmp_path / "slide.html").write_text(body, encoding="utf-8")
        watched.page.goto(f"{course}/slide.html")
        return watched

    with other_site(tmp_path) as course:
        yield show
        for context in contexts:
            context.close()


def open_share(watched) -> None:
    watched.page.locator(".st-key-share button").click()
    watched.page.get_by_role("button", name="Copy link").wait_for()


@pytest.mark.daily("learn")
# All pages share by one function; tests/ui/test_share.py presses the button of each page.
@pytest.mark.parametrize("page", daily(PAGES, ("wavecluster", "learn").__contains__))
def test_every_page_copies_its_whole_link(page, app_url, open_page, faultless):
    watched = faultless(
        open_page(address(app_url, page), before=lambda one: one.add_init_script(KEEP))
    )
    watched.page.locator(".st-key-share button").wait_for()
    watched.wait_idle()
    open_share(watched)
    watched.page.get_by_role("button", name="Copy link").click()
    watched.page.get_by_text("Copied: the link with all settings.").wait_for()
    copied = watched.page.evaluate("window.copied")
    assert copied == watched.page.url
    # The QR code below leads to the same page with the same settings.
    shown = watched.page.locator(".dpv-qr figcaption").text_content()
    assert urlsplit(shown).path == urlsplit(copied).path
    assert dict(parse_qsl(urlsplit(shown).query)) == dict(parse_qsl(urlsplit(copied).query))


@pytest.mark.exhaustive(reason="the usual way is gone daily")
def test_without_permission_the_link_stands_selected(app_url, open_page, faultless):
    watched = faultless(
        open_page(
            f"{address(app_url, 'kmeans')}?k=7", before=lambda one: one.add_init_script(FORBID)
        )
    )
    open_share(watched)
    watched.page.get_by_role("button", name="Copy link").click()
    box = watched.page.get_by_label("The whole link")
    box.wait_for()
    watched.page.get_by_text("press Ctrl+C").wait_for()
    assert box.input_value() == watched.page.url
    assert "k=7" in box.input_value()
    chosen = "node => node.selectionEnd - node.selectionStart === node.value.length"
    assert box.evaluate(chosen)


@pytest.mark.exhaustive(reason="tests/ui/test_share.py checks the colours of the code")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_code_is_drawn_black_on_white(scheme, app_url, open_page, faultless):
    watched = faultless(open_page(address(app_url, "papers"), scheme))
    open_share(watched)
    # Phones can't open the address of this test, so there is no code on this page.
    watched.page.get_by_text("Phones can't open this address").wait_for()
    watched.page.get_by_text("dpviz app --address 0.0.0.0").wait_for()
    shown = watched.page.locator(".dpv-qr")
    shown.wait_for()
    picture = watched.page.get_by_alt_text("QR code of the link")
    assert picture.count() == 0
    code = qr_code("http://192.168.1.5:8501/papers")
    shown.evaluate("(node, code) => { node.outerHTML = code }", code)
    picture.wait_for()
    # The browser draws only black, white, and edges between black and white.
    levels = picture.evaluate(
        """node => {
          const canvas = document.createElement('canvas')
          canvas.width = canvas.height = 400
          const pen = canvas.getContext('2d')
          pen.drawImage(node, 0, 0, 400, 400)
          const found = pen.getImageData(0, 0, 400, 400).data
          const at = (x, y) => [...found.slice(4 * (400 * y + x), 4 * (400 * y + x) + 4)]
          const grey = [...found.keys()].every(i => i % 4 || found[i] === found[i + 1])
          return {corner: at(2, 2), grey, dark: [...found].some((v, i) => i % 4 === 0 && v === 0)}
        }"""
    )
    assert levels == {"corner": [255, 255, 255, 255], "grey": True, "dark": True}


@pytest.mark.exhaustive
@pytest.mark.daily("kmeans-960-540")
@pytest.mark.parametrize(("width", "height"), daily(((960, 540), (800, 600)), (960, 540).__eq__))
@pytest.mark.parametrize("page", ["wavecluster", "kmeans"])
def test_the_frame_to_copy_fits_a_slide(page, width, height, app_url, open_page, slide, faultless):
    base = address(app_url, page)
    watched = faultless(open_page(f"{base}?epsilon=0.3"))
    open_share(watched)
    code = watched.page.locator("[data-testid=stCode]", has_text="<iframe").text_content()
    snippet = re.search(r"<iframe .*</iframe>", code).group()
    snippet = snippet.replace('width="960" height="540"', f'width="{width}" height="{height}"')
    assert "epsilon=0.3" in html.unescape(snippet)
    shown = faultless(slide(snippet))
    frame = shown.page.frame_locator("iframe")
    frame.locator(".js-plotly-plot .gtitle").first.wait_for(state="attached")
    frame.locator(".dpv-headline").first.wait_for()
    inside = shown.page.frames[1]
    seen = inside.evaluate(
        """() => ({
          wide: document.documentElement.scrollWidth,
          low: document.querySelector('.js-plotly-plot').getBoundingClientRect().bottom,
          shown: ['stSidebar', 'stHeader', 'stExpander', 'stButtonGroup']
            .filter(id => document.querySelector(`[data-testid=${id}]`)?.checkVisibility()),
          share: document.querySelectorAll('.st-key-share button').length,
        })"""
    )
    assert seen["wide"] <= width
    assert 0.6 * height < seen["low"] <= height
    assert seen["shown"] == []
    assert not frame.locator(".dpv-hint").first.is_visible()
    assert seen["share"] == 0
    # In the frame, the user can change epsilon, and nothing else.
    sliders = frame.get_by_role("slider")
    assert sliders.count() == 1
    sliders.press("ArrowLeft")
    inside.wait_for_function(
        f"() => {{ const found = ({TITLES})(); return !found.some(t => t.includes('ε 0.3 ')) }}",
    )

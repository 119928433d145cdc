"""axe-core finds no serious fault on any page; a keyboard needs few keys to reach epsilon."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Locator

from dpviz.ui.release.steps import TITLES
from tests.browser.conftest import Watched
from tests.support import APP, ROOT
from tests.support.tiers import daily

#: axe-core is read from a file, so that no host is asked for it.
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PAGES = re.findall(r'"(\w+)": "', APP.read_text(encoding="utf-8"))
#: Addresses that differ from the page's name. With few runs, the page looks the same.
PATHS = {"wavecluster": "", "compare": "compare?draws=1&points=2"}
#: Pages with a picture.
FIGURES = ("wavecluster", "kmeans", "compare", "benchmark", "audit", "learn", "game")
FOCUSED = """() => { let at = document.activeElement;
while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
return at.className + at.getAttribute("aria-label") }"""
FAULTS = """async ([part, rules]) => (await axe.run(
  part ?? document, { resultTypes: ["violations"], ...rules && { runOnly: rules } })).violations
.filter((one) => ["serious", "critical"].includes(one.impact) || one.id === "heading-order")
.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 150)}: `
  + node.any.map((why) => why.message).join(" ")))"""


#: Rules that depend on the colours of a page.
COLOURS = ["color-contrast", "link-in-text-block"]


def serious(watched: Watched, rules: list[str] | None, part: Locator | None = None) -> list[str]:
    """Serious faults that axe-core finds on the page, or on a part that was opened.

    Text that is still fading in would have too little contrast.
    """
    watched.wait_calm()
    at = None if part is None else part.element_handle()
    found: list[str] = watched.page.evaluate(FAULTS, [at, rules])
    return found


def test_every_page_is_looked_at() -> None:
    assert sorted(PAGES) == sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


#: Pages that are checked in the dark theme every day: an explorer, text beside a figure, a table.
DARK = ("wavecluster", "learn", "papers")


@pytest.mark.daily("wavecluster-light-closed")
@pytest.mark.parametrize("panels_are", ["closed", "open"])
@pytest.mark.parametrize(
    ("name", "scheme"),
    daily(product(PAGES, ("light", "dark")), lambda one: one[1] == "light" or one[0] in DARK),
)
def test_axe_finds_nothing_serious(
    name: str,
    scheme: str,
    panels_are: str,
    app_url: Callable[[str], str],
    open_page: Callable[..., Watched],
) -> None:
    watched = open_page(f"{app_url('app.py')}/{PATHS.get(name, name)}", scheme)
    page = watched.page
    page.get_by_role("button", name="Share", exact=True).wait_for()
    watched.wait_idle()
    assert page.get_by_test_id("stException").count() == 0
    page.evaluate(AXE)
    # Words, roles and order are the same in both themes.
    rules = None if scheme == "light" else COLOURS
    for number, title in enumerate(TITLES if name == "release" else ("",), 1):
        if title:
            page.get_by_role("radio", name=f"{number} {title}").click()
            page.mouse.move(0, 0)  # below the pointer, a button has another colour
            page.get_by_text(f"Step {number} of 5: {title}").wait_for()
        assert serious(watched, rules) == [], title
        panels = page.locator("[data-testid=stMain] [data-testid=stExpander]").filter(visible=True)
        for at in range(panels.count() if panels_are == "open" else 0):
            panel = panels.nth(at)
            opener = panel.locator("summary").first
            opener.click()
            watched.wait_idle()
            assert serious(watched, rules, panel) == [], opener.inner_text()
            opener.click()
            watched.wait_idle()
    # Buttons in a closed panel are checked on the page to which they belong.
    for button in page.get_by_test_id("stPopoverButton").filter(visible=True).all():
        button.scroll_into_view_if_needed()
        button.click()
        body = page.get_by_test_id("stPopoverBody")
        body.wait_for()
        watched.wait_idle()
        assert serious(watched, rules, body) == [], button.inner_text()
        page.keyboard.press("Escape")
        body.wait_for(state="detached")


def test_skip_link_leads_to_epsilon(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(app_url("app.py")).page
    page.wait_for_selector(".live-figure .main-svg")
    page.wait_for_selector("[data-testid=stMain] .range")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to epsilon"
    assert page.locator(":focus").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate(FOCUSED) == "rangePrivacy budget ε"


def test_skip_link_is_there_before_the_slider_is_filled(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(app_url("app.py")).page
    page.wait_for_selector(".live-figure .main-svg")
    # The slider's script may fill its shadow root after the last change that the page observes.
    page.locator("[data-testid=stMain] .range").first.evaluate(
        "(range) => { range.remove(); document.body.append(document.createElement('i')); }"
    )
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to epsilon"


def test_keys_step_epsilon_and_redraw(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(f"{app_url('app.py')}/?epsilon=1")
    page = watched.page
    page.wait_for_selector(".live-figure .main-svg")
    page.keyboard.press(".")
    page.wait_for_url(re.compile(r"epsilon=1\.26"))
    watched.wait_idle()
    page.keyboard.press("n")
    page.wait_for_url(re.compile("seed=1"))


@pytest.mark.exhaustive(reason="a rule of the style sheet, which rarely changes")
@pytest.mark.parametrize("name", PAGES)
def test_reduced_motion_is_honoured(
    name: str, app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    watched = open_page(
        f"{app_url('app.py')}/{PATHS.get(name, name)}",
        before=lambda page: page.emulate_media(reduced_motion="reduce"),
    )
    slow = "[...document.querySelectorAll('*')].filter((one) => getComputedStyle(one)"
    slow += ".transitionDuration.split(',').some((time) => parseFloat(time) > 0.001)).length"
    if name in FIGURES:
        watched.page.wait_for_selector(".live-figure .main-svg")
    watched.wait_calm()
    assert watched.page.evaluate(slow) == 0


@pytest.mark.exhaustive(reason="test_sizes.py looks at a phone daily")
def test_epsilon_stays_in_sight_on_a_phone(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(app_url("app.py"), height=844).page
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(".live-figure .main-svg")
    page.get_by_test_id("stMain").evaluate("(main) => main.scrollTo(0, 600)")
    slider = page.locator("[data-testid=stMain] [class*='-epsilon--input']").bounding_box()
    assert 0 < slider["y"] < 60
    assert slider["width"] > 300


# Elements outside figures that would be dark on paper.
INKED = """() => [...document.querySelectorAll('.stApp *:not(svg, svg *, .live-figure *, i)')]
.filter((one) => one.checkVisibility() && one.clientWidth).map((one) => [one,
  getComputedStyle(one).backgroundColor.match(/[\\d.]+/g).map(Number)])
.filter(([, [r, g, b, a = 1]]) => a > 0.1 && r + g + b < 600)
.map(([one]) => one.outerHTML.slice(0, 120))"""


# Elements with words of their own, except in figures and in tables of numbers, which are zoomed.
WORDS = """const words = [...document.querySelectorAll('[data-testid=stMain] *')].filter((one) =>
  one.checkVisibility({visibilityProperty: true}) && one.getBoundingClientRect().width > 1
  && !one.closest('svg, [data-testid=stDataFrame]')
  && [...one.childNodes].some((part) => part.nodeType === 3 && part.textContent.trim()));"""
CUT = f"""() => {{ {WORDS} return words.filter((one) => {{
  const {{ left, right }} = one.getBoundingClientRect(); return left < -1 || right > 721 }})
  .map((one) => one.textContent.trim().slice(0, 80)) }}"""
TOP = f"() => {{ {WORDS} return Math.min(...words.map((one) => one.getBoundingClientRect().top)) }}"


@pytest.mark.daily("dark-wavecluster")
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print_has_all_of_the_page_on_white_paper(
    scheme: str, name: str, app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    path = {**PATHS, "learn": "learn?lesson=one-person&step=3"}.get(name, name)
    watched = open_page(f"{app_url('app.py')}/{path}", scheme)
    page = watched.page
    page.get_by_role("button", name="Share", exact=True).wait_for()
    if name in FIGURES:
        page.wait_for_selector(".live-figure .main-svg")
    # The papers page writes its choice into the address, and this starts a second run.
    watched.wait_calm()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme=scheme)
    page.set_viewport_size({"width": 720, "height": 1000})
    for figure in page.locator(".live-figure .main-svg").all():
        shown = figure.bounding_box()
        assert shown["x"] >= 0
        assert shown["x"] + shown["width"] <= 720
    for hidden in (
        "stSidebar",
        "stHeader",
        "stButtonGroup",
        "stPopover",
        "stSkipToContent",
        "stTooltipIcon",
    ):
        assert page.get_by_test_id(hidden).filter(visible=True).count() == 0, hidden
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.evaluate(INKED) == []
    assert page.evaluate(CUT) == []
    # Nothing but the page begins the first sheet.
    assert -2 < page.evaluate(TOP) < 100
    words = page.locator(".dpv-headline, .stMarkdown p").filter(visible=True).first
    assert words.evaluate("(one) => getComputedStyle(one).color") == "rgb(0, 0, 0)"
    if name == "wavecluster":
        assert page.locator(".live-figure").bounding_box()["y"] < 600


@pytest.mark.exhaustive(reason="a rule of the style sheet, which rarely changes")
def test_all_type_grows_on_a_projector(
    app_url: Callable[[str], str], open_page: Callable[..., Watched]
) -> None:
    page = open_page(app_url("app.py")).page
    page.set_viewport_size({"width": 2560, "height": 1440})
    page.reload()
    tick = page.locator(".live-figure .xtick text").first
    tick.wait_for()
    assert float(tick.evaluate("(one) => parseFloat(getComputedStyle(one).fontSize)")) > 14
    for name in ("Domain", "Protects", "Redraw", "Reset"):
        button = page.get_by_test_id("stSidebar").get_by_role("button", name=name).first
        cut = "(one) => [...one.querySelectorAll('p')].some((p) => p.scrollWidth > p.clientWidth)"
        assert not button.evaluate(cut), name

"""Text from outside in a real browser: it is shown without a change, and no other host is asked."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dpviz.base.errors import shown
from dpviz.data.dataset import Dataset
from dpviz.grid.domain import Domain
from dpviz.privacy.lifetime_budget import Budget
from dpviz.release import release
from dpviz.release.request import Request
from dpviz.wavecluster.parameters import Config
from tests.browser.conftest import Watched, faults
from tests.browser.test_release import step
from tests.support.hostile import HOST, TEXTS, random_texts
from tests.support.links import PAGES, parameters
from tests.support.tiers import daily
from tests.ui.test_outside_text import EAST, NAME, NORTH, PERSON, table

#: Elements that would appear if a text were read as Markdown, HTML or a formula.
MADE = "a,img,strong,em,del,code,pre,h1,h2,h3,ul,ol,li,hr,br,blockquote,table,script,.katex,svg"

#: Elements whose address or style points to a host, also in components.
POINTING = """
(host) => {
  const names = ["src", "href", "xlink:href", "srcset", "poster", "data", "style", "action"];
  const found = [];
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) look(element.shadowRoot);
      if (element.tagName === "A" && element.host === location.host) continue;
      const text = element.tagName === "SCRIPT" ? element.textContent : "";
      const values = names.map((name) => element.getAttribute(name) ?? "");
      if ([text, ...values].some((value) => value.includes(host))) found.push(element.outerHTML);
    }
  };
  look(document);
  return found;
}
"""


def seen(text: str | None) -> str:
    """Text without invisible joiners."""
    return (text or "").replace("\u2060", "")


def check(watched: Watched) -> None:
    """Check that the text had no effect, no host was asked, and the page has no complaints."""
    assert watched.page.evaluate(POINTING, HOST) == []
    assert watched.hosts == {"127.0.0.1"}
    assert watched.errors == []


def settled(watched: Watched) -> None:
    watched.page.wait_for_timeout(300)
    watched.wait_idle()


def test_messages_show_any_text_as_it_is(app_url, open_page) -> None:
    watched = open_page(app_url("tests/browser/demo_messages.py"))
    texts = (*TEXTS, *random_texts(100))
    places = "[data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]"
    boxes = f"[class*=st-key-text] :is({places})"
    expect(watched.page.locator(boxes)).to_have_count(4 * len(texts))
    found = watched.page.evaluate(
        """([made, places]) => [...document.querySelectorAll("[class*=st-key-text]")].map((box) =>
            [...box.querySelectorAll(places)].map((place) =>
                [place.textContent, place.querySelectorAll(made).length]))""",
        [MADE, places],
    )
    assert len(found) == len(texts)
    for text, places_of in zip(texts, found, strict=True):
        assert [(seen(one), made) for one, made in places_of] == 4 * [(text, 0)]
    check(watched)


@pytest.fixture(scope="module")
def names() -> dict[str, list[str]]:
    """Names of all parameters of a page's link."""
    return parameters()


#: Largest number of links per page.
MOST_LINKS = 6


#: Pages of every day: one has many controls, the other writes files. All quote by one function.
OFTEN = ("wavecluster", "release")


@pytest.mark.some(1)
@pytest.mark.daily("wavecluster")
@pytest.mark.parametrize("page", daily(PAGES, OFTEN.__contains__))
def test_a_hostile_link_asks_nobody(app_url, open_page, names, page: str) -> None:
    path = "" if page == "wavecluster" else page
    # A page without controls does not read the link.
    own = names[page] or ["data"]
    # All pages quote by one function, so only the explorers (many controls) get every text.
    every = random.Random(page).sample(TEXTS, len(TEXTS))
    for turn in range(min(-(-len(TEXTS) // len(own)), MOST_LINKS)):
        texts = [every[(turn * len(own) + number) % len(every)] for number in range(len(own))]
        link = urlencode(dict(zip(own, texts, strict=True)))
        watched = open_page(f"{app_url('app.py')}/{path}?{link}")
        if not names[page]:
            check(watched)
            continue
        alert = watched.page.get_by_role("alert").filter(has_text="This link was corrected.")
        said = seen(alert.text_content())
        # Any text may be the name of a column or sheet, or mean a missing value.
        free = ("columns", "classes", "unit", "sheet", "missing", "encoding")
        quoted = [text for name, text in zip(own, texts, strict=True) if name not in free]
        assert [text for text in quoted if shown(text) not in said] == []
        check(watched)


#: Bytes of a link that no program would write: broken escapes, UTF-8 and names.
BYTES = (
    "%", "%z", "%zz", "%00", "%C3%28", "%ED%A0%80", "%F0%9F", "%E2%80%AE", "%0A%0D", "%26%3D", "+",
    "%2B", "=", "==", "&&", ";", "%25zz", "%u0041", "x" * 30_000, "%3C" * 5_000, "%5B" * 5_000,
    *(quote(text, safe="") for text in TEXTS),
)  # fmt: skip


def raw_link(rng: random.Random, names: list[str]) -> str:
    """Return the bytes of a random link: pairs may be broken, and a name may have many values."""
    pairs = [
        rng.choice((name, name, name, "", "%", "%5B%5D")) + "=" + rng.choice(BYTES)
        for name in rng.choices(names, k=rng.randint(1, 6))
    ]
    return rng.choice(("&", "&", "&&", ";")).join(pairs)


@pytest.mark.exhaustive
@pytest.mark.daily("release")
@pytest.mark.parametrize("page", daily(PAGES, OFTEN.__contains__))
def test_any_bytes_in_a_link_are_corrected_in_sentences(
    app_url, app_folder, open_page, names, page: str
) -> None:
    rng = random.Random(page)
    path = "" if page == "wavecluster" else page
    watched = open_page(app_url("app.py"))
    for _ in range(8):
        link = f"{app_url('app.py')}/{path}?{raw_link(rng, names[page] or ['data'])}"
        watched.page.goto(link)
        # Each link opens a new session.
        expect(watched.page.get_by_test_id("stMain")).not_to_be_empty()
        watched.wait_idle()
        assert watched.page.get_by_test_id("stException").count() == 0, link
        for said in watched.page.get_by_role("alert").all():
            assert seen(said.text_content()).endswith("."), link
        check(watched)
    assert faults(app_folder("app.py") / "server.log") == []


@pytest.fixture
def loaded(app_url, open_page) -> Iterator[Watched]:
    """Show the hostile table on WaveCluster's page."""
    watched = open_page(f"{app_url('app.py')}/?data=own&method=privqt&g=16&p=0.3")
    content = {"name": NAME, "mimeType": "text/csv", "buffer": table()}
    watched.page.set_input_files("input[type=file]", [content])
    expect(watched.page.locator(".gtitle")).to_contain_text(f"{NAME} · PrivQT")
    settled(watched)
    yield watched
    check(watched)


def open_panel(watched: Watched, name: str) -> None:
    watched.page.get_by_text(name, exact=True).click()
    settled(watched)


def declare(page: Page, text: str) -> None:
    """Type bounds for both columns."""
    for number in range(2):
        box = page.get_by_placeholder("0, 100").nth(number)
        box.fill(text)
        box.press("Enter")
        page.wait_for_timeout(400)


def hover_over_table(page: Page, number: int) -> None:
    """Move the pointer over the first heads and cells of a table, because some open a tooltip."""
    frame = page.get_by_test_id("stDataFrame").nth(number)
    frame.scroll_into_view_if_needed()
    for x in (60, 200, 340):
        for y in (18, 54):
            frame.hover(position={"x": x, "y": y}, force=True)
            page.wait_for_timeout(700)


@pytest.mark.exhaustive
def test_a_hostile_table_in_the_explorers(loaded: Watched) -> None:
    page = loaded.page
    assert page.locator(".xtitle").first.text_content() == EAST
    assert page.locator(".ytitle").first.text_content() == NORTH
    assert f"Active: {NAME} ·" in seen(page.locator("[data-testid=stSidebar]").text_content())
    open_panel(loaded, "Numbers behind the picture, downloads, code")
    for panel in ("Many draws, not one lucky draw", "What broke this cluster?"):
        open_panel(loaded, panel)
        check(loaded)
    hover_over_table(page, 0)
    check(loaded)
    page.get_by_role("button", name="Protects").click()
    loaded.choose("Privacy unit", PERSON)
    settled(loaded)
    page.keyboard.press("Escape")
    loaded.go("k-means")
    settled(loaded)
    loaded.choose("Data", "Own data")
    expect(page.locator(".gtitle")).to_contain_text(f"{NAME} · DP-Refine")
    open_panel(loaded, "Numbers behind the picture, downloads, code")
    # The heads of the table are names of columns.
    hover_over_table(page, 0)
    check(loaded)
    # The sentence of the reader quotes a cell.
    loaded.choose("Across", PERSON)
    settled(loaded)
    said = page.get_by_role("alert").filter(has_text=re.compile("Still on the screen"))
    assert f"![p](//{HOST}/" in seen(said.text_content())
    assert f"{NAME}, {EAST} and {NORTH}." in seen(said.text_content())
    page.get_by_text("The file is a grid of counts").click()
    settled(loaded)
    check(loaded)


@pytest.mark.exhaustive
def test_a_hostile_table_on_the_compare_and_release_pages(loaded: Watched) -> None:
    page = loaded.page
    loaded.go("Compare")
    settled(loaded)
    heading = page.locator(".annotation-text").filter(has_text=NAME)
    expect(heading).to_contain_text(NAME)
    settled(loaded)
    hover_over_table(page, 0)
    check(loaded)
    loaded.go("Release")
    settled(loaded)
    step(loaded, "Where")
    labels = page.locator("[data-testid=stWidgetLabel]", has_text="from, to").all()
    names = [seen(one.text_content()) for one in labels]
    assert names == [f"{name}: from, to" for name in (EAST, NORTH)]
    declare(page, f"![f](http://{HOST}/6)")
    said = page.get_by_role("alert").filter(has_text="is no pair of bounds")
    assert f'"![f](http://{HOST}/6)"' in seen(said.text_content())
    declare(page, "0, 100")
    step(loaded, "Who is protected")
    page.get_by_text("No: at most one").click()
    settled(loaded)
    step(loaded, "Sign")
    page.get_by_text("Title, and your words for a registry").click()
    typed = {"Title of the report": "t", "Name of the data source": "s"}
    for label, text in typed.items():
        box = page.get_by_role("textbox", name=label)
        box.fill(f"![{text}](http://{HOST}/7) <img src=//{HOST}/8>")
        box.press("Enter")
        settled(loaded)
    page.get_by_role("button", name="Review the release").click()
    expect(page.get_by_text("This can't be taken back.")).to_be_visible()
    assert f"“![s](http://{HOST}/7) <img src=//{HOST}/8>”" in seen(page.text_content("body"))
    check(loaded)
    page.get_by_role("button", name="Debit").click()
    expect(page.get_by_text("Released as number")).to_be_visible()
    check(loaded)
    page.get_by_role("button", name="Prepare another release").click()
    step(loaded, "Sign")
    expect(page.get_by_text("1 earlier entry of")).to_be_visible()


def test_a_bundle_of_hostile_text_asks_nobody(chromium, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points = np.clip(rng.normal(50, 10, (400, 2)), 0, 100)
    columns = ("x<script>alert(1)</script>", f"y<image href='http://{HOST}/1'/>]]>")
    title = f'"><img src=http://{HOST}/2> ![t](http://{HOST}/3) <style>@import "//{HOST}/4"</style>'
    made = release(
        Dataset(name=NAME, points=points, columns=columns),
        Request(
            config=Config(method="privqt", grid=16, density=0.3),
            domain=Domain(((0, 100), (0, 100))),
            title=title,
        ),
        budget=Budget(tmp_path / "budget.db"),
        source=f"![s](http://{HOST}/5)",
        total=2.0,
        folder=tmp_path / "bundle",
    )
    # A browser can only save the other files.
    for name in [one for one in made.files if one.endswith((".html", ".svg", ".json", ".txt"))]:
        watched = Watched(chromium.new_page())
        watched.page.goto((made.folder / name).as_uri())
        assert watched.hosts <= {""}  # files have no host
        assert watched.page.evaluate(POINTING, HOST) == []
        assert watched.errors == []
        if name == "report.html":
            assert watched.page.locator("h1").text_content() == title
            wall = watched.page.locator("meta[http-equiv=Content-Security-Policy]")
            assert "default-src 'none'" in (wall.get_attribute("content") or "")
            assert all(column in watched.page.text_content("main") for column in columns)
        watched.page.close()

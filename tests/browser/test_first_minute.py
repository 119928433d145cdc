"""The first minute of a person to whom the app is new: one sentence, a hint, plain names."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import await_health, end, serve
from tests.support.links import PAGES
from tests.support.tiers import daily

HEADLINE = ".dpv-headline"
#: Records the sentence, and the position of everything below it.
WATCH = """() => { window.seen = [];
  const plot = document.querySelector('.js-plotly-plot');
  plot.on('plotly_afterplot', () => window.seen.push([
    document.querySelector('.dpv-headline').textContent,
    document.querySelector('.gtitle').textContent,
    plot.getBoundingClientRect().top])); }"""


@pytest.fixture
def first(app_url: Callable, open_page: Callable, faultless: Callable):
    """Open a page as a new visitor."""

    def open_(path: str = "", **looks):
        watched = open_page(f"{app_url('app.py')}/{path}", **looks)
        watched.page.wait_for_selector("h1", state="attached")
        return faultless(watched)

    return open_


def drawn(watched):
    watched.page.wait_for_selector(".gtitle")
    watched.wait_idle()
    return watched


def drag(watched, start: float, end: float, steps: int = 30) -> None:
    """Press the thumb of epsilon and move it; start and end are shares of the track's length."""
    box = watched.page.get_by_role("slider", name="Privacy budget").bounding_box()
    y = box["y"] + box["height"] / 2
    watched.page.mouse.move(box["x"] + start * box["width"], y)
    watched.page.mouse.down()
    for step in range(steps + 1):
        share = start + (end - start) * step / steps
        watched.page.mouse.move(box["x"] + share * box["width"], y)
        watched.page.wait_for_timeout(70)


@pytest.mark.exhaustive(reason="test_stage.py checks that little moves during a drag")
def test_one_sentence_follows_the_drag_and_nothing_below_it_moves(first):
    watched = drawn(first())
    said = watched.page.locator(HEADLINE)
    assert "2 clusters invented, 1 grown: epsilon 0.02" in said.text_content()
    watched.page.evaluate(WATCH)
    drag(watched, 0.1, 0.62)
    seen = watched.page.evaluate("window.seen")
    watched.page.mouse.up()
    texts, titles, tops = zip(*seen, strict=True)
    assert len(set(texts)) >= 4
    assert len(set(tops)) == 1
    # The sentence describes the run that the picture shows.
    pairs = [
        (re.search(r"epsilon ([\d.]+)", text)[1], re.search(r"ε ([\d.]+)", title)[1])
        for text, title in zip(texts, titles, strict=True)
    ]
    # Picture and sentence arrive in one answer of the server, which begins with the sentence.
    assert sum(one == other for one, other in pairs) >= len(pairs) - 1
    watched.page.wait_for_function(
        "() => document.querySelector('.dpv-headline').textContent"
        ".includes('All 15 clusters are found')"
    )


@pytest.mark.exhaustive
def test_scores_of_earlier_settings_are_grey_while_a_thumb_is_held(first):
    """OCM and 2CE of Two-stage take too long to be computed during a drag."""
    watched = drawn(first())
    watched.page.wait_for_function(
        "() => ![...document.querySelectorAll('.dpv-value')].some(one => one.textContent === '…')"
    )
    assert watched.page.locator(".dpv-stale").count() == 0
    drag(watched, 0.1, 0.3, steps=6)
    stale = watched.page.locator(".dpv-stale .dpv-label")
    stale.first.wait_for(state="attached")
    assert set(stale.all_text_contents()) == {"Points wrong", "Pairs wrong"}
    told = watched.page.locator(".dpv-stale .dpv-beside")
    assert all("earlier" in one for one in told.all_text_contents())
    watched.page.mouse.up()
    stale.first.wait_for(state="detached")


@pytest.mark.exhaustive(reason="the storage of the browser keeps a closed hint; it rarely changes")
def test_the_hint_of_a_first_visit_is_closed_for_good(first):
    watched = drawn(first())
    hint = watched.page.locator(".dpv-hint")
    assert "Drag ε" in hint.text_content()
    assert hint.is_visible()
    top = watched.page.locator(".js-plotly-plot").bounding_box()["y"]
    watched.page.get_by_role("button", name="Close this hint").click()
    assert not hint.is_visible()
    assert watched.page.locator(".js-plotly-plot").bounding_box()["y"] == top
    watched.page.reload()
    drawn(watched)
    assert not hint.is_visible()
    watched.go("k-means")
    watched.page.wait_for_function("() => document.title === 'k-means · dpviz'")
    drawn(watched)
    assert hint.count() == 1
    assert not hint.is_visible()


@pytest.mark.exhaustive(reason="the hint is a link to settings; others are opened daily")
@pytest.mark.parametrize(
    ("page", "done"),
    [("", "epsilon=0.01"), ("kmeans", "method=dplloyd")],
)
def test_a_click_on_the_hint_does_what_it_asks_for(first, page, done):
    watched = drawn(first(page))
    watched.page.locator(".dpv-hint .dpv-act").click()
    watched.page.wait_for_url(f"**{done}**")
    assert not watched.page.locator(".dpv-hint").is_visible()
    watched.wait_calm()
    if page:
        chosen = watched.page.get_by_role("combobox", name="Method").input_value()
        assert chosen == "DPLloyd · Blum 2005"


#: Whether a person can read epsilon and the certainty of a guess, at the end of the headline.
SEEN = """() => ['.dpv-headline b:last-of-type', '.dpv-detail span'].map((part) => {
  const one = document.querySelector(part), box = one.getBoundingClientRect();
  const inside = (outer) => { const { left, right, top, bottom } = outer.getBoundingClientRect();
    return box.left >= left && box.right <= right + 1 && box.top >= top - 1
      && box.bottom <= bottom + 1; };
  return box.width > 20 && inside(one.parentElement) && inside(document.querySelector('.dpv-top'))
    && one.textContent; })"""


def test_the_privacy_of_the_headline_is_seen_at_every_width(first):
    """With the hint and without it; tests/browser/test_sizes.py looks at all other texts."""
    watched = drawn(first("?epsilon=0.5&method=privthr&seed=1"))
    for hint in (True, False):
        assert watched.page.locator(".dpv-hint").is_visible() is hint
        for width in (390, 640, 800, 1024, 1280, 1920, 2560):
            watched.page.set_viewport_size({"width": width, "height": 720})
            watched.page.wait_for_function(f"() => ({SEEN})().every(Boolean)")
            at, guess = watched.page.evaluate(SEEN)
            assert at == "epsilon 0.5", width
            assert guess == "a guess on one record of yours: 62.3% sure at most", width
        watched.page.evaluate("document.documentElement.dataset.dpvHint = 'closed'")


@pytest.mark.exhaustive(reason="the hint that is closed by hand goes the same way daily")
def test_the_hint_gives_its_room_to_the_headline_once_epsilon_moves(first):
    watched = drawn(first())
    hint = watched.page.locator(".dpv-hint")
    watched.page.keyboard.press("Tab")
    assert hint.is_visible()
    watched.page.keyboard.press(".")
    hint.wait_for(state="hidden")
    watched.page.reload()
    drawn(watched)
    assert not hint.is_visible()


@pytest.mark.exhaustive(reason="axe-core checks the order of headings on a page")
@pytest.mark.parametrize("page", PAGES)
def test_every_page_has_one_title_and_the_glossary_behind_the_question_mark(first, page):
    watched = first(page.replace("wavecluster", ""))
    heading = watched.page.locator("h1")
    assert heading.count() == 1
    name = heading.text_content()
    expect(watched.page).to_have_title(f"{name} · dpviz")
    assert name.lower().replace("-", "") == page.replace("learn", "lessons")
    watched.go("Glossary")
    watched.page.locator("dt", has_text="DSG_C").wait_for()
    expect(watched.page).to_have_title("Glossary · dpviz")


@pytest.mark.exhaustive(reason="tests/ui/test_readouts.py reads names, marks and grades")
@pytest.mark.parametrize("page", ["", "kmeans"])
def test_readouts_have_plain_names_marks_and_help_by_hand(first, page):
    watched = drawn(first(f"{page}?epsilon=0.05"))
    cards = watched.page.locator(".dpv-card")
    for at in range(cards.count()):
        sign = (
            cards.nth(at)
            .locator(".dpv-label")
            .evaluate("one => getComputedStyle(one, '::after').content")
        )
        assert sign == '"?"'
    watched.page.get_by_role("button", name="more scores").click()
    card = watched.page.locator(".dpv-card", has=watched.page.get_by_text("Overlap", exact=True))
    assert card.locator(".dpv-beside").text_content() == "F · best 1"
    mark = card.locator(".dpv-value").evaluate("one => getComputedStyle(one, '::after').content")
    assert mark == '" ✓"'
    tip = card.locator(".dpv-help")
    assert not tip.is_visible()
    card.hover()
    assert tip.is_visible()
    assert "Formula: Hu, Yang, Bai 2019" in tip.text_content()
    # The link to the term opens a new window, so that own data stay on this page.
    with watched.page.context.expect_page() as waiting:
        tip.get_by_role("link", name="All terms").click()
    glossary = waiting.value
    glossary.locator("dt", has_text="Overlap (F-measure)").first.wait_for()
    assert glossary.locator("h2").first.inner_text() == "Scores of WaveCluster"


@pytest.mark.exhaustive(reason="test_stage.py checks the first screen of a phone")
@pytest.mark.parametrize("page", ["", "kmeans?method=mcmc"])
def test_the_whole_picture_is_above_the_fold_of_a_small_screen(first, page):
    watched = drawn(first(page, height=720))
    # The widths of letters differ between computers, so letters are 2% wider here.
    watched.page.add_style_tag(content=".dpv-cards *{letter-spacing:.1px}")
    watched.wait_calm()
    ticks = [one.bounding_box() for one in watched.page.locator(".xtick text").all()]
    assert ticks
    assert all(one["y"] + one["height"] <= 720 for one in ticks)
    # One row of readouts.
    cards = watched.page.locator(".dpv-card").filter(visible=True).all()
    assert len({round(one.bounding_box()["y"]) for one in cards}) == 1


@pytest.mark.exhaustive(reason="a fixed text; test_wavecluster.py in tests/ui reads panels")
def test_a_surprise_is_explained_where_it_is(first):
    watched = drawn(first("?method=privqt&epsilon=1"))
    assert watched.page.get_by_text("True k is 212, but 220 cells are significant").count() == 1
    assert watched.page.get_by_text("Why PrivQT keeps too many cells").count() == 1
    watched.choose("Method", "PrivTHR ·")
    watched.page.get_by_text("Why PrivQT keeps too many cells").wait_for(state="detached")


@pytest.mark.exhaustive(reason="test_sizes.py looks at a phone daily")
def test_the_sentence_keeps_its_place_on_a_phone(first):
    watched = drawn(first("?epsilon=0.01&seed=1"))
    watched.page.set_viewport_size({"width": 390, "height": 844})
    watched.page.wait_for_timeout(500)
    said = watched.page.locator(".dpv-top")
    box = said.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert watched.page.locator("h1").is_visible()
    height = box["height"]
    slider = watched.page.get_by_role("slider", name="Privacy budget")
    slider.focus()
    watched.page.keyboard.press("End")
    watched.page.wait_for_function(
        "() => document.querySelector('.dpv-headline').textContent.includes('epsilon 10')"
    )
    assert said.bounding_box()["height"] == height


#: Collects the text below the controls while there is no picture yet.
WAITING = """() => { window.waited = new Set();
  setInterval(() => {
    const place = document.querySelector('[data-testid=stMainBlockContainer]');
    const said = place && getComputedStyle(place, '::after');
    if (said?.visibility === 'visible') window.waited.add(said.content);
  }, 50);
}"""
#: A run of some seconds. The page corrects its link, and still has to say that it waits.
LONG = "kmeans?method=privgene&k=50&t=99"


@pytest.mark.daily("glossary-False")
@pytest.mark.parametrize(("path", "waits"), [(LONG, True), ("glossary", False)])
def test_a_first_picture_is_announced(first, path, waits):
    watched = first(path, before=lambda page: page.add_init_script(f"({WAITING})()"))
    if waits:
        drawn(watched)
    said = watched.page.evaluate("[...window.waited]")
    assert any("Drawing the first picture" in text for text in said) is waits
    assert watched.page.locator("html[data-dpv-waits]").count() == 0


@pytest.mark.exhaustive(reason="tests/ui/test_first_picture.py draws before code is compiled")
def test_a_picture_without_its_program_says_that_it_comes(first):
    held: list[Route] | None = []

    def hold(route: Route) -> None:
        route.continue_() if held is None else held.append(route)

    watched = first(
        "kmeans?data=tiny8", before=lambda page: page.route(re.compile(r"plotly.*\.js"), hold)
    )
    figure = watched.page.locator(".live-figure")
    figure.wait_for()
    shown = "figure => getComputedStyle(figure, '::before').content"
    watched.page.wait_for_function("() => document.querySelector('.live-figure').style.minHeight")
    assert "Drawing the picture" in figure.evaluate(shown)
    assert figure.bounding_box()["height"] > 200
    # From now on, all requests pass immediately.
    waiting, held = held, None
    for one in waiting:
        one.continue_()
    drawn(watched)
    assert figure.evaluate(shown) == "none"


@pytest.mark.exhaustive(reason="test_sizes.py looks for cut text")
@pytest.mark.parametrize("width", [390, 1024])
def test_a_long_sentence_and_its_detail_are_not_cut_off(first, width):
    watched = drawn(first("kmeans?method=dplloyd&epsilon=0.02"))
    watched.page.set_viewport_size({"width": width, "height": 844})
    said = watched.page.locator(".dpv-top")
    assert "7 centres are far off" in said.text_content()
    assert "sure at most" in said.text_content()
    assert said.evaluate("one => one.scrollHeight <= one.clientHeight")


#: Records the headline's second line, and the place and size of the picture, at each change.
COMING = """() => { window.seen = [];
  const look = () => {
    const plot = document.querySelector('.js-plotly-plot');
    const said = document.querySelector('.dpv-detail');
    if (plot && said) {
      const box = plot.getBoundingClientRect();
      window.seen.push([said.textContent, Math.round(box.top), Math.round(box.height)]);
    }
    requestAnimationFrame(look);
  };
  look(); }"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("page", ["", "kmeans"])
def test_a_new_installation_draws_before_it_has_compiled(page, tmp_path, open_page, faultless):
    url, server = serve("app.py", tmp_path, env={"NUMBA_CACHE_DIR": str(tmp_path / "numba")})
    try:
        await_health(url, server)
        watched = faultless(open_page(f"{url}/{page}", before=lambda one: one.add_init_script(
            f"({COMING})()"
        )))  # fmt: skip
        seen = watched.page.locator(".dpv-detail")
        expect(seen).to_contain_text("sure at most")
        drawn(watched)
        shown = watched.page.evaluate("window.seen")
    finally:
        end(server)
    texts = list(dict.fromkeys(text for text, _, _ in shown))
    assert [text for text in texts if "follows: code is being prepared, " in text]
    assert "follows" not in texts[-1]
    # The picture of the default method is in the place of the first picture.
    assert len({(top, height) for _, top, height in shown[len(shown) // 4 :]}) == 1


#: Notes when and where the picture that the server sent is shown, and when the page has its own.
SENT = """window.boxes = (parts) => [...document.querySelectorAll(parts)]
  .map((one) => one.getBoundingClientRect()).filter((one) => one.width)
  .map((one) => [one.x, one.y, one.right, one.bottom]);
(function look() {
  const sent = document.documentElement && boxes(".dpv-first > svg > svg > svg > rect:last-child");
  if (sent?.length) window.sent ??= [performance.now(), sent];
  if (document.querySelector(".gtitle")) window.own ??= performance.now();
  window.both ||= window.own && sent.length && performance.now() > window.own + 500;
  requestAnimationFrame(look);
})();"""


@pytest.mark.parametrize(
    ("page", "size"),
    daily(
        [(page, size) for page in ("", "kmeans")
         for size in [(1280, 720), (390, 844), (1024, 768), (1366, 768), (600, 900), (1920, 1080),
                      (2560, 1440)]],
        lambda one: one in [("", (1280, 720)), ("kmeans", (390, 844))],
    ),
)  # fmt: skip
def test_the_server_sends_the_picture_and_the_page_draws_it_in_the_same_place(first, page, size):
    def watch(shown):
        shown.set_viewport_size({"width": size[0], "height": size[1]})
        shown.add_init_script(SENT)

    drawn(first(page))
    shown = drawn(first(page, before=watch)).page
    at, sent = shown.evaluate("window.sent")
    assert at < shown.evaluate("window.own")
    assert not shown.evaluate("window.both")  # one picture at a time
    maps = shown.evaluate("boxes('.plot .draglayer .nsewdrag')")
    assert maps
    assert len(maps) == (1 if size[0] < 470 else 2)  # a phone shows a part of the sent picture
    for one, other in zip(sent, maps, strict=False):
        assert one == pytest.approx(other, abs=9)
    assert not shown.locator(".dpv-first:visible").count()


def test_a_page_that_can_not_draw_does_not_keep_the_picture(first, open_page, app_url):
    link = "?data=gaussians&method=privthr&epsilon=0.3"
    drawn(first(link))

    def broken(shown):
        shown.add_init_script(SENT)
        shown.route("**/plotly.min.js*", lambda route: route.abort())

    shown = open_page(f"{app_url('app.py')}/{link}", before=broken).page
    shown.get_by_text("This chart could not be drawn").wait_for()
    assert shown.evaluate("window.sent")
    assert not shown.locator(".dpv-first:visible").count()

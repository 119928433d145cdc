"""The maps are most of the window, on a page, on the stage, in a frame and on a phone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from dpviz.figures import kmeans, wavecluster
from tests.browser.conftest import Watched
from tests.browser.test_first_minute import drag
from tests.support import ROOT
from tests.support.tiers import daily

#: Part of the window that the frames of both maps cover, without scrolling.
SHARE = """() => {
  const plot = document.querySelector('.live-figure .js-plotly-plot');
  const place = plot.getBoundingClientRect(), { _fullLayout: all } = plot;
  const within = (from, length, most) =>
    Math.max(0, Math.min(most, from + length) - Math.max(0, from));
  return [['xaxis', 'yaxis'], ['xaxis2', 'yaxis2']].filter(([x]) => all[x]).reduce(
    (sum, [x, y]) => sum + within(place.left + all[x]._offset, all[x]._length, innerWidth) *
    within(place.top + all[y]._offset, all[y]._length, innerHeight), 0
  ) / innerWidth / innerHeight; }"""

#: Sizes of windows in pixels, and the least share.
SIZES = {
    (1280, 720): 0.45, (1366, 768): 0.45, (1920, 1080): 0.45, (2560, 1440): 0.45, (1024, 768): 0.4,
}  # fmt: skip

PAGES = ("", "kmeans")

#: Numbers on the horizontal axes that are in the window.
NUMBERS = """() => [...document.querySelectorAll('.xtick text, .x2tick text')]
  .filter((one) => one.getBoundingClientRect().bottom <= innerHeight)
  .map((one) => one.textContent)"""

#: Part of the window that all panels of a figure cover.
COVER = """() => {
  const { _plots } = document.querySelector('.live-figure .js-plotly-plot')._fullLayout;
  return Object.values(_plots).reduce((sum, { xaxis, yaxis }) =>
    sum + xaxis._length * yaxis._length, 0) / innerWidth / innerHeight; }"""


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(page: str, size: tuple[int, int], script: str = "") -> Watched:
        def sized(shown: Page) -> None:
            shown.set_viewport_size({"width": size[0], "height": size[1]})
            if script:
                shown.add_init_script(script)

        watched = open_page(f"{app_url('app.py')}/{page}", before=sized)
        watched.page.wait_for_selector(".gtitle", state="attached")
        watched.wait_idle()
        return faultless(watched)

    return open_


@pytest.mark.parametrize(
    ("size", "page"),
    daily(
        [(size, page) for size in SIZES for page in PAGES],
        lambda one: one[0] == (1280, 720) or one == ((1024, 768), ""),
    ),
)
def test_both_maps_cover_the_window(explorer: Callable, size: tuple[int, int], page: str) -> None:
    shown = explorer(page, size).page
    shown.wait_for_function(f"() => ({SHARE})() >= {SIZES[size]}")
    # The name of the horizontal axis is in the window; all numbers have their unit.
    texts = shown.evaluate(NUMBERS)
    assert texts[0].startswith("x 0")
    assert all(one == "0" or one.endswith("M") for one in texts[1:])


@pytest.mark.exhaustive(reason="tests/ui/test_readouts.py checks what is behind the button")
def test_further_scores_are_one_click_away_and_stay(explorer: Callable) -> None:
    page = explorer("", (1280, 720)).page
    overlap = page.locator('.dpv-card[data-name="Overlap"]')
    more = page.get_by_role("button", name="more scores")
    assert more.get_attribute("aria-expanded") == "false"
    assert not overlap.is_visible()
    more.click()
    overlap.wait_for()
    assert more.get_attribute("aria-expanded") == "true"
    page.reload()
    overlap.wait_for()
    page.get_by_role("button", name="more scores").click()
    overlap.wait_for(state="hidden")


@pytest.mark.exhaustive(reason="the layout of charts, which rarely changes")
def test_the_title_of_charts_is_not_in_their_legend(explorer: Callable) -> None:
    page = explorer("kmeans?method=dplloyd&view=noise", (1280, 720)).page
    title, legend = (page.locator(one).first.bounding_box() for one in (".gtitle", ".legend"))
    assert title["y"] + title["height"] <= legend["y"]


#: Sum of all shifts of elements that no action of the user explains, and that a person would see.
SHIFTS = """window.shifts = [];
new PerformanceObserver((list) => window.shifts.push(...list.getEntries()
  .filter((one) => !one.hadRecentInput).map((one) => one.value)))
  .observe({ type: "layout-shift", buffered: true });"""

#: Windows in which pages open: of a laptop, of phones and of a tablet, also on their sides.
WINDOWS = [(1280, 720), (390, 844), (1024, 768), (844, 390), (768, 1024), (320, 640)]

#: Puts a part of one kind, in place of the last part, into the page or into an explorer in it.
PUT = """([place, kind]) => {
  document.querySelector(".put")?.remove();
  const main = document.querySelector("[data-testid=stMain]");
  const explorer = document.querySelector(".st-key-explorer") ?? document.createElement("p");
  explorer.className = "st-key-explorer";
  main.append(explorer);
  const part = document.createElement("i");
  part.className = "put";
  part.dataset.testid = kind;
  (place === "stMain" ? main : explorer).append(part); }"""

ADDED = """() => {
  const part = document.createElementNS("http://www.w3.org/2000/svg", "g");
  document.querySelector(".infolayer").append(part);
  getComputedStyle(part).fill;
  part.remove(); }"""


@pytest.mark.daily("-size0", "-size1")
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("page", PAGES)
def test_little_moves_while_the_page_opens_and_during_a_drag(
    explorer: Callable, page: str, size: tuple[int, int]
) -> None:
    watched = explorer(page, size, SHIFTS)
    watched.wait_calm()
    drag(watched, 0.1, 0.4, steps=12)
    watched.page.mouse.up()
    watched.wait_calm()
    assert watched.page.evaluate("performance.now()") > 2000
    assert sum(watched.page.evaluate("window.shifts")) <= 0.1
    assert restyled(watched.page) < 30


@pytest.mark.exhaustive(reason="the same style sheet keeps the place of an explorer's parts")
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("path", sorted((ROOT / "pages").glob("*.py")), ids=lambda path: path.stem)
def test_little_moves_while_any_page_opens(
    app_url: Callable, open_page: Callable, path: Path, size: tuple[int, int]
) -> None:
    def watch(shown: Page) -> None:
        shown.set_viewport_size({"width": size[0], "height": size[1]})
        shown.add_init_script(SHIFTS)

    page = "" if path.stem == "wavecluster" else path.stem
    watched = open_page(f"{app_url('app.py')}/{page}", before=watch)
    watched.page.wait_for_selector("h1", state="attached")
    watched.page.wait_for_timeout(1000)  # an empty page is calm, too
    watched.page.wait_for_function("() => !document.querySelector('.live-figure:not(.drawn)')")
    watched.wait_calm()
    assert sum(watched.page.evaluate("window.shifts")) <= 0.1


@pytest.mark.exhaustive(reason="a rule of the style sheet that is for frames alone")
@pytest.mark.parametrize("page", PAGES)
def test_little_moves_while_a_narrow_frame_opens(explorer: Callable, page: str) -> None:
    watched = explorer(f"{page}?embed=true", (600, 400), SHIFTS)
    watched.wait_calm()
    assert sum(watched.page.evaluate("window.shifts")) <= 0.1


@pytest.mark.exhaustive(reason="a page with a picture leaves this state daily")
def test_a_page_without_a_picture_does_not_wait_for_it(
    app_url: Callable, open_page: Callable
) -> None:
    def narrow(shown: Page) -> None:
        shown.set_viewport_size({"width": 390, "height": 844})

    page = open_page(f"{app_url('app.py')}/?data=own", before=narrow).page
    page.get_by_test_id("stAlert").first.wait_for()
    page.wait_for_function("() => !document.documentElement.hasAttribute('data-dpv-waits')")
    # Beside an explorer a message says something else. An unforeseen error may be anywhere.
    cases = [("stMain", "", True), ("part", "stAlert", False), ("part", "", True)]
    for place, kind, waits in [*cases, ("stMain", "stException", False)]:
        page.evaluate(PUT, [place, kind])
        page.wait_for_function(
            f"() => document.documentElement.hasAttribute('data-dpv-waits') === {json.dumps(waits)}"
        )


@pytest.mark.exhaustive(reason="the side bar folds daily on a tablet; this is the second visit")
def test_a_side_bar_opened_by_hand_stays_open_on_the_next_visit(explorer: Callable) -> None:
    page = explorer("", (1024, 768)).page
    bar, opens = page.get_by_test_id("stSidebar"), page.get_by_test_id("stExpandSidebarButton")
    opens.wait_for()
    page.reload()
    page.wait_for_selector(".gtitle", state="attached")
    opens.click()
    page.wait_for_timeout(600)  # folding takes 300 ms
    assert bar.get_attribute("data-collapsed") == "false"


def restyled(page: Page) -> int:
    """Count the elements whose style Chromium computes when the picture gets a new part."""
    # A rule such as ".page:has(.x) .side" makes it compute the styles of all elements of the page,
    # for each of the hundreds of parts that Plotly replaces in a picture.
    browser = page.context.browser
    browser.start_tracing(page=page, categories=["-*", "devtools.timeline"])
    page.evaluate(ADDED)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    return max(one["args"]["elementCount"] for one in events if one["name"] == "UpdateLayoutTree")


#: Sizes of frames. Two squares side by side cover at most W / 2H of a frame that is W wide and H
#: high, which is 67% of a frame of 800 x 600.
FRAMES = {(1280, 720): 0.8, (960, 540): 0.8, (800, 600): 0.9 * 800 / 600 / 2}


@pytest.mark.exhaustive(reason="the same is checked for a window, by the same rules")
@pytest.mark.parametrize(
    ("size", "page"),
    [(size, page) for size in FRAMES for page in PAGES],
)
def test_both_maps_cover_a_frame(explorer: Callable, size: tuple[int, int], page: str) -> None:
    shown = explorer(f"{page}?embed=true&epsilon=0.5&seed=0", size).page
    shown.wait_for_function(f"() => ({SHARE})() >= {FRAMES[size]}")
    # Nothing is beyond the end of the frame: the stamp is the last line.
    assert shown.evaluate(
        "document.querySelector('.gtitle').getBoundingClientRect().bottom <= innerHeight"
    )
    assert shown.locator(".dpv-headline").is_visible()
    assert "sure at most" in shown.locator(".dpv-detail").inner_text()
    assert shown.get_by_role("slider", name="Privacy budget").is_visible()


# ---- a phone, and a page at 200%

#: Whether a map and epsilon are inside the window.
FIRST = """() => {
  const plot = document.querySelector('.live-figure .js-plotly-plot');
  const place = plot.getBoundingClientRect(), { xaxis, yaxis } = plot._fullLayout;
  const top = place.top + yaxis._offset, left = place.left + xaxis._offset;
  const epsilon = document.querySelector('[class*="-epsilon--input"]').getBoundingClientRect();
  return top >= epsilon.bottom && top + yaxis._length <= innerHeight && yaxis._length > 180
    && left >= 0 && left + xaxis._length <= innerWidth; }"""


@pytest.mark.daily("size0-")
@pytest.mark.parametrize("page", daily(PAGES, "".__eq__))
@pytest.mark.parametrize("size", [(390, 844), (640, 360)])
def test_a_map_and_epsilon_are_on_the_first_screen(
    explorer: Callable, size: tuple[int, int], page: str
) -> None:
    explorer(page, size).page.wait_for_function(FIRST)


@pytest.mark.exhaustive(reason="a tap on this button is checked below")
def test_the_button_has_the_name_of_the_other_map_and_covers_no_title(explorer: Callable) -> None:
    page = explorer("audit", (390, 844)).page
    flip = page.get_by_role("button", name="Show the map “with the person” instead of “without”")
    title, heading = page.locator(".gtitle").first, page.locator(".annotation-text").first
    above, below = title.bounding_box(), flip.bounding_box()
    assert above["y"] + above["height"] <= below["y"]
    flip.click()
    page.wait_for_function(
        "() => document.querySelector('.annotation-text').textContent.startsWith('with the person')"
    )
    assert heading.text_content().startswith("with the person")


def test_a_tap_shows_the_other_map_in_the_same_place(explorer: Callable) -> None:
    page = explorer("", (390, 844)).page
    heading = page.locator(".annotation-text").first
    place = (
        "() => { const { xaxis, yaxis } = document.querySelector('.js-plotly-plot')._fullLayout;"
    )
    place += " return [xaxis._offset, xaxis._length, yaxis._offset, yaxis._length] }"
    page.wait_for_function("() => !document.querySelector('.flip').hidden")
    assert heading.text_content().startswith("true")
    before = page.evaluate(place)
    # The button has a name, and the description of the picture is about both maps.
    flip = page.get_by_role("button", name="Show the map “Two-stage” instead")
    flip.click()
    page.wait_for_function(
        "() => document.querySelector('.annotation-text').textContent.startsWith('Two-stage')"
    )
    assert page.evaluate(place) == before
    alt = page.locator(".live-figure .image").get_attribute("aria-label")
    assert "15 true" in alt
    assert "17 private" in alt
    assert page.locator(".gtitle").text_content()
    back = page.get_by_role("button", name="Show the map “true” instead")
    back.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelector('.annotation-text').textContent.startsWith('true')"
    )


@pytest.mark.exhaustive(reason="tests/ui/test_working_state.py checks the sentence")
def test_on_a_phone_the_named_button_leads_to_the_upload(
    app_url: Callable, open_page: Callable
) -> None:
    def narrow(shown: Page) -> None:
        shown.set_viewport_size({"width": 390, "height": 844})

    page = open_page(f"{app_url('app.py')}/?data=own", before=narrow).page
    page.get_by_text("Load a file in the side bar (if it is closed, » at the top left").wait_for()
    at_left = "document.querySelector('[data-testid=stFileUploader]')?.getBoundingClientRect().x"
    assert not page.evaluate(f"{at_left} >= 0")
    button = page.get_by_test_id("stExpandSidebarButton")
    place = button.bounding_box()
    assert place["x"] + place["width"] < 390 / 2
    assert place["y"] + place["height"] < 60
    button.click()
    page.wait_for_function(f"() => {at_left} >= 0")


# ---- the stage

EPSILON = "() => Number(document.querySelector('.gtitle').textContent.match(/ε ([\\d.]+)/)[1])"


def moves(watched: Watched, key: str, way: int) -> None:
    before = watched.page.evaluate(EPSILON)
    watched.page.keyboard.press(key)
    sign = "<>"[way > 0]
    watched.page.wait_for_function(f"() => ({EPSILON})() {sign} {before}")
    watched.wait_idle()


def test_on_the_stage_a_clicker_moves_epsilon_whatever_was_touched(explorer: Callable) -> None:
    watched = explorer("?epsilon=0.1&seed=0", (1280, 720))
    page = watched.page
    boxes = """() => [...document.querySelectorAll(
      '.live-figure, .dpv-board, [class*="--input"], [data-testid=stHeader], .main-svg')].map(
      (one) => Object.values(one.getBoundingClientRect().toJSON()))"""
    watched.wait_calm()
    before = page.evaluate(boxes)
    touched = (
        lambda: page.get_by_role("slider", name="Grid g").press("ArrowRight"),
        lambda: page.get_by_role("combobox", name="Method").click(),
        lambda: page.get_by_role("button", name="Redraw").click(),
        lambda: page.locator(".live-figure").click(position={"x": 200, "y": 200}),
    )
    # Whatever has the focus when the stage opens: the button opens it, too.
    touched[1]()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Present", exact=True).click()
    page.wait_for_function(f"() => ({SHARE})() >= 0.7")
    assert not page.get_by_role("combobox", name="Method").is_visible()
    assert page.locator(".dpv-detail").filter(has_text="sure at most").is_visible()
    for key, way in (
        ("ArrowRight", 1),
        ("PageDown", 1),
        (" ", 1),
        ("PageUp", -1),
        ("ArrowLeft", -1),
    ):
        moves(watched, key, way)
    # Also after each control that is on the stage.
    page.get_by_role("slider", name="Privacy budget").focus()
    moves(watched, "PageDown", 1)
    box = page.get_by_role("textbox", name="Privacy budget")
    box.fill("0.2")
    box.press("Enter")
    page.wait_for_function(f"() => ({EPSILON})() === 0.2")
    watched.wait_idle()
    moves(watched, "PageUp", -1)
    touched[3]()
    moves(watched, " ", 1)
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Method").wait_for()
    watched.wait_calm()
    assert page.evaluate(boxes) == before
    # The key opens and closes it after other controls, too.
    for touch in (touched[0], touched[2], touched[3]):
        touch()
        watched.wait_idle()
        page.keyboard.press("f")
        page.wait_for_function("() => document.documentElement.dataset.dpvStage === 'on'")
        moves(watched, "PageDown", 1)
        page.keyboard.press("f")
        page.get_by_role("combobox", name="Method").wait_for()


@pytest.mark.exhaustive(reason="tests/ui/test_learn.py goes through each lesson")
def test_on_the_stage_a_clicker_goes_through_a_lesson(explorer: Callable) -> None:
    watched = explorer("learn?lesson=noise&step=2", (1280, 720))
    page = watched.page
    page.keyboard.press("f")
    title = page.locator(".dpv-lesson h2")
    first = title.text_content()
    assert title.is_visible()
    assert not page.locator(".dpv-lesson p").first.is_visible()
    page.keyboard.press("PageDown")
    page.wait_for_url("**step=3**")
    page.wait_for_function(
        "(first) => document.querySelector('.dpv-lesson h2').innerText !== first", arg=first
    )
    watched.wait_idle()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**step=2**")


#: Views of both families, with a method that has each.
VIEWS = [f"?method=baseline&view={view}" for view in wavecluster.VIEWS]
VIEWS += [
    f"kmeans?method={method}&view={view}"
    for view in kmeans.VIEWS
    for method in [{"grid": "eugkm", "chain": "mcmc"}.get(view, "dplloyd")]
]

#: Least part of the window that the panels of a view cover on the stage. Charts have the names of
#: their axes; two squares side by side can't fill a window of 4 : 3; three in a row no window.
LEAST = {(1280, 720): 0.5, (1920, 1080): 0.55, (1024, 768): 0.44}
THREE = 0.35


@pytest.mark.parametrize(
    ("size", "link"),
    daily(
        [(size, link) for size in LEAST for link in VIEWS],
        lambda one: (
            one[0] == (1280, 720) and one[1] in ("?method=baseline&view=details", VIEWS[-1])
        ),
    ),
)
def test_every_view_fills_the_stage(explorer: Callable, size: tuple[int, int], link: str) -> None:
    page = explorer(f"{link}&epsilon=1", size).page
    page.keyboard.press("f")
    least = THREE if link.endswith("=chain") else LEAST[size]
    page.wait_for_function(f"() => ({COVER})() >= {least}")
    assert page.evaluate(
        "document.querySelector('.live-figure').getBoundingClientRect().bottom <= innerHeight + 1"
    )


#: What the keys of the stage cover: texts, and controls of the head.
COVERED = """() => {
  const keys = document.querySelector('.dpv-keys').getBoundingClientRect();
  const texts = '.main-svg text, .dpv-headline *, .dpv-detail *, .dpv-stage, .dpv-lesson h2';
  const covers = (part, { left, right, top, bottom }) => part.checkVisibility() && right > left
    && left < keys.right && right > keys.left && top < keys.bottom && bottom > keys.top;
  const inside = document.createRange(), found = [];
  for (const text of document.querySelectorAll(texts)) {
    inside.selectNodeContents(text);
    if (covers(text, inside.getBoundingClientRect())) found.push(text.textContent);
  }
  for (const slider of document.querySelectorAll('[class*="--input"]'))
    if (covers(slider, slider.getBoundingClientRect())) found.push(slider.className);
  return found; }"""

KEYS_OVER = [
    ((1280, 720), "?method=privthr"),
    ((1280, 720), "kmeans?method=dplloyd&view=iterations"),
    ((1280, 720), "?view=epsilons"),
    ((1280, 720), "compare?methods=privthr,privqt&draws=1&points=2&data=incomes"),
    ((1920, 1080), "learn"),
]


@pytest.mark.exhaustive(reason="places that only the style sheet sets")
@pytest.mark.parametrize(("size", "link"), KEYS_OVER)
def test_the_keys_of_the_stage_cover_nothing(
    explorer: Callable, size: tuple[int, int], link: str
) -> None:
    watched = explorer(link, size)
    watched.page.keyboard.press("f")
    # Afterwards they are hidden, but have the same place.
    watched.wait_calm()
    box = watched.page.locator(".dpv-keys").evaluate(
        "(one) => one.getBoundingClientRect().toJSON()"
    )
    assert box["width"] > 100
    assert box["right"] <= size[0]
    assert watched.page.evaluate(COVERED) == []


@pytest.mark.parametrize(
    ("link", "names"),
    daily(
        [("?method=privthr", ["Counts' share α"]),
         ("kmeans?method=dplloyd&epsilon=0.1", ["Iterations T", "Iteration"])],
        lambda one: one[0].startswith("kmeans"),
    ),
)  # fmt: skip
def test_alpha_and_the_iterations_are_on_the_stage(
    explorer: Callable, link: str, names: list[str]
) -> None:
    watched = explorer(link, (1280, 720))
    page = watched.page
    page.keyboard.press("f")
    # The maps stay large, and no label is broken within a word.
    page.wait_for_function(f"() => ({SHARE})() >= 0.6")
    for name in names:
        slider = page.get_by_role("slider", name=name, exact=True)
        head = page.locator(".label").get_by_text(name, exact=True)
        assert head.evaluate("(one) => one.getClientRects().length") == 1
        before = [page.locator(one).text_content() for one in (".dpv-headline", ".gtitle")]
        # The other arrows are those of a clicker.
        slider.press("ArrowDown")
        page.wait_for_function(
            "(before) => !before.includes(document.querySelector('.dpv-headline').textContent)"
            " || !before.includes(document.querySelector('.gtitle').textContent)",
            arg=before,
        )
        watched.wait_idle()


@pytest.mark.exhaustive(reason="the clicker is tested on the explorer's stage, daily")
def test_the_curves_have_a_stage_and_a_clicker_goes_through_the_scores(explorer: Callable) -> None:
    watched = explorer("compare?methods=privthr,privqt&draws=1&points=2&data=incomes", (1280, 720))
    page = watched.page
    page.wait_for_function("() => document.querySelectorAll('.scatterlayer .trace').length >= 2")
    title = "() => document.querySelector('.gtitle').textContent"
    score = page.get_by_role("combobox", name="Score")
    present = page.get_by_role("button", name="Present", exact=True)
    # Whatever has the focus when the stage opens: a box takes the key F for itself.
    touched = (
        lambda: page.keyboard.press("f"),
        lambda: (score.click(), page.keyboard.press("Escape"), present.click()),
    )
    for touch in touched:
        before = page.evaluate(title)
        touch()
        page.wait_for_function(f"() => ({COVER})() >= 0.55")
        assert not score.is_visible()
        assert not page.get_by_text("A click on a point opens").is_visible()
        for key in ("PageDown", " ", "ArrowRight", "ArrowLeft", "PageUp", "PageUp"):
            last = page.evaluate(title)
            page.keyboard.press(key)
            page.wait_for_function(f"(last) => ({title})() !== last", arg=last)
            watched.wait_idle()
        assert page.evaluate(title) == before
        page.keyboard.press("Escape")
        score.wait_for()

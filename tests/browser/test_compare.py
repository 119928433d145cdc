"""The compare page in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.test_explorer import expect_title as expect_explorer
from tests.conftest import reference_file

TITLES = "() => [...document.querySelectorAll('.gtitle')].map(one => one.textContent)"
# The names in the legend, and the number of curves.
NAMES = "() => [...document.querySelectorAll('.legendtext')].map(one => one.textContent)"
CURVES = """() => [...document.querySelectorAll('.js-plotly-plot .scatterlayer .trace')]
  .filter(one => one.querySelectorAll('.point').length).length"""
CUT = """() => [...document.querySelectorAll(
    '[data-testid=stMain] [data-testid=stSelectbox] input, [data-testid=stMain] button')]
  .filter(node => node.clientWidth && node.scrollWidth > node.clientWidth + 1)
  .map(node => node.value || node.textContent)"""
VALUES = "boxes => boxes.map(one => one.value)"
PAPERS = """() => [...document.querySelectorAll('.js-plotly-plot')]
  .map(plot => plot._fullLayout.paper_bgcolor)"""


@pytest.fixture
def comparer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(link: str = "", scheme: str = "light", height: int = 720):
        url = f"{app_url('app.py')}/compare{'?' if link else ''}{link}"
        watched = faultless(open_page(url, scheme, height=height))
        watched.page.wait_for_selector(".gtitle", state="attached")
        return watched

    return open_


def expect_title(watched, fragment: str) -> None:
    watched.page.wait_for_function(
        f"text => ({TITLES})().some(one => one.includes(text))", arg=fragment
    )


def expect_curves(watched, *names: str, n: int) -> None:
    """Wait until the page shows all curves, with these names."""
    watched.page.wait_for_function(f"n => ({CURVES})() === n", arg=n)
    assert watched.page.evaluate(NAMES) == list(names)


def button(watched, name: str):
    return watched.page.get_by_role("button", name=name)


@pytest.mark.exhaustive(reason="tests/ui/test_compare.py opens with these curves daily")
def test_opens_with_curves_that_fit_the_window(comparer):
    watched = comparer()
    expect_title(watched, "DSG_C over ε · median and band of 5% to 95% of draws, 20 draws · sound")
    expect_curves(watched, "PrivQT", "PrivTHR", "PrivTHREM", "Two-stage", n=4)
    image = watched.page.get_by_role("img", name=re.compile("Median of DSG_C over the privacy"))
    assert image.count() == 1
    box = image.bounding_box()
    assert box["y"] + box["height"] < 720
    watched.page.get_by_role("progressbar").wait_for(state="detached")
    watched.page.get_by_text("These curves may be published").wait_for()
    assert watched.page.evaluate(CUT) == []


@pytest.mark.exhaustive
def test_another_method_joins(comparer):
    watched = comparer("draws=3&points=3&methods=privthr")
    expect_curves(watched, "PrivTHR", n=1)
    watched.choose("Methods", "EUGkM · Su 2016", exact=True)
    expect_title(watched, "F-measure over ε")
    expect_curves(watched, "PrivTHR", "EUGkM", n=2)
    watched.page.wait_for_url(re.compile(r"methods=privthr%2Ceugkm"))


@pytest.mark.exhaustive
def test_long_work_leaves_the_page_usable_and_is_cancelled(comparer):
    watched = comparer("methods=privgene&draws=100&points=8")
    watched.page.get_by_text("Some runs are missing").wait_for()
    # The draws that are fast have been made without a click.
    watched.page.get_by_role("button", name=re.compile(r"^Run \d+")).click()
    stop = button(watched, "Cancel")
    stop.wait_for()
    watched.page.get_by_text(re.compile(r"^[\d,]+ of \d+ runs$")).wait_for()
    # Another score needs no new runs, so it is shown immediately, and the work continues.
    watched.choose("Score", "Overlap (F-measure)", exact=True)
    expect_title(watched, "F-measure over ε")
    stop.click()
    watched.page.get_by_text(re.compile(r"^Stopped after \d+ of \d+ runs$")).wait_for()
    watched.page.get_by_role("button", name=re.compile("^Run ")).wait_for()
    assert stop.count() == 0


def tab_to(page, target) -> None:
    for _ in range(60):
        if target.evaluate("node => node === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {target}")


@pytest.mark.exhaustive
def test_keyboard_alone_leads_from_a_link_to_a_chart_and_a_run(comparer):
    watched = comparer("draws=2&points=2&methods=privthr")
    page = watched.page
    expect_curves(watched, "PrivTHR", n=1)
    tab_to(page, page.get_by_role("combobox", name="Methods"))
    page.keyboard.type("PrivQT")
    page.keyboard.press("Enter")
    expect_curves(watched, "PrivQT", "PrivTHR", n=2)
    page.keyboard.press("Escape")
    link = page.get_by_role("link", name="Open in its explorer")
    tab_to(page, link)
    page.keyboard.press("Enter")
    expect_explorer(watched, "PrivTHR · ε 0.1")
    expect_explorer(watched, "seed 0")


@pytest.mark.exhaustive(reason="test_live.py saves a picture")
def test_tables_and_pictures_are_saved_under_honest_names(comparer):
    watched = comparer("draws=2&points=2&methods=privthr,privqt")
    expect_curves(watched, "PrivQT", "PrivTHR", n=2)
    for label, rows in (("This table (CSV)", 4), ("All runs (CSV)", 8)):
        with watched.page.expect_download() as waiting:
            button(watched, label).click()
        assert waiting.value.suggested_filename.startswith("dpviz-exploration-compare-")
        lines = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
        assert len(lines) == 1 + rows
    watched.page.locator(".js-plotly-plot").hover()
    for label, ending in (("Download as PNG", ".png"), ("Download as SVG", ".svg")):
        with watched.page.expect_download() as waiting:
            watched.page.locator(f"[data-title='{label}']").click()
        name = waiting.value.suggested_filename
        assert name.startswith("dpviz exploration compare ")
        assert name.endswith(ending)


@pytest.mark.exhaustive
def test_numbers_of_fifteen_digits_are_written_for_people(comparer):
    """No tick, hover text, label or file of sums of squares contains a number with an e."""
    watched = comparer("methods=dplloyd,eugkm&score=wcss&draws=1&points=2")
    page = watched.page
    expect_curves(watched, "DPLloyd", "EUGkM", n=2)
    watched.wait_calm()
    point = page.locator(".js-plotly-plot .scatterlayer .trace .point").first.bounding_box()
    page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    hover = page.locator(".hovertext").first.text_content()
    assert "× 10¹⁴" in hover
    told = [
        page.evaluate("document.body.innerText"),
        hover,
        *page.locator("input").evaluate_all(VALUES),
    ]
    for name in ("This table (CSV)", "All runs (CSV)"):
        with page.expect_download() as waiting:
            button(watched, name).click()
        told.append(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert re.findall(r"(?<![\w.])\d[\d.]*[eE][+-]?\d+\b", "\n".join(told)) == []
    assert "× 10" in told[0]


@pytest.mark.exhaustive
def test_two_windows_with_one_link_show_the_same_numbers(comparer):
    link, told = "draws=3&points=3&methods=privthr&data=spirals,shapes&score=significant", []
    for _ in range(2):
        watched = comparer(link)
        expect_curves(watched, "PrivTHR", "true, without noise", n=2)
        image = watched.page.get_by_role("img", name="Median of Significant cells")
        told.append(image.get_attribute("aria-label"))
        link = watched.page.url.partition("?")[2]
    assert told[0] == told[1]
    assert "Three spirals: PrivTHR from" in told[0]


@pytest.mark.exhaustive(reason="test_explorer.py checks a figure in the dark theme")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_colour_the_figure(comparer, scheme):
    (paper,) = comparer("draws=1&points=2", scheme).page.evaluate(PAPERS)
    levels = [int(paper[i : i + 2], 16) for i in (1, 3, 5)]
    assert (min(levels) > 200) if scheme == "light" else (max(levels) < 60)


@pytest.mark.exhaustive(reason="tests/ui/test_compare.py opens a run by its link daily")
def test_a_click_on_a_point_opens_its_run(comparer) -> None:
    watched = comparer("data=incomes&methods=privqt,privthr&epsilons=0.5,1&draws=5")
    expect_curves(watched, "PrivQT", "PrivTHR", n=2)
    watched.wait_idle()
    # The first point of the second method's curve.
    point = watched.page.locator(".js-plotly-plot .scatterlayer .trace .point").nth(2)
    box = point.bounding_box()
    watched.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect_explorer(watched, "PrivTHR · ε 0.5")
    watched.page.wait_for_url("**method=privthr**epsilon=0.5**")


@pytest.mark.exhaustive(reason="tests/ui/test_compare.py has the columns daily")
def test_what_a_paper_prints_stands_in_columns_of_their_own(comparer):
    watched = comparer("preset=000-5&data=spirals&draws=1&epsilons=1&methods=privthr")
    page = watched.page
    page.get_by_test_id("stExpander").get_by_text("The paper's own data").click()
    box = page.get_by_label("Path of DS2")
    box.fill(str(reference_file("ds2.csv")))
    box.press("Enter")
    page.get_by_text("k′ beside the true k, and beside the k′ that Chen, Yu").wait_for()
    # The cells of a table are on a canvas, but a table for screen readers has their text.
    for head, value in (("printed mean k′", "141"), ("printed mean", "141")):
        shown = page.locator("[data-testid=stDataFrame] table").filter(
            has=page.get_by_role("columnheader", name=head, exact=True, include_hidden=True)
        )
        shown.get_by_role("gridcell", name=value, include_hidden=True).first.wait_for(
            state="attached"
        )


@pytest.mark.exhaustive
def test_a_figure_of_a_paper_is_looked_at_and_left(comparer):
    """Leave by Back, by a reload and by the button; the explorer has the same data."""
    watched = comparer("data=incomes&methods=privthr&draws=1&points=2")
    page = watched.page
    expect_curves(watched, "PrivTHR", n=1)
    watched.wait_calm()
    own = page.url
    watched.choose("Figure of a paper", "Chen, fig. 6: DSG_C")
    page.get_by_text("This figure has its own data (Fifteen Gaussians, Three spirals").wait_for()
    page.wait_for_url("**preset=000-6**")
    watched.wait_calm()
    page.go_back()
    expect_title(watched, "DSG_C over ε · median and band of the one draw")
    assert page.url == own
    page.go_forward()
    page.get_by_text("This figure has its own data").wait_for()
    watched.wait_calm()
    watched.go("WaveCluster")
    expect_explorer(watched, "Incomes and one person")
    watched.go("Compare")
    page.get_by_text("This figure has its own data").wait_for()
    watched.wait_calm()
    button(watched, "Back to your own choices").click()
    page.wait_for_url(own)
    page.get_by_text("This figure has its own data").wait_for(state="detached")


@pytest.mark.exhaustive(reason="test_sizes.py looks for cut text")
def test_no_name_in_the_side_bar_or_in_a_list_is_cut(comparer):
    page = comparer("data=gaussians,incomes&draws=1&points=1&variant=published").page
    cut = """selector => [...document.querySelectorAll(selector)].filter((one) =>
      one.clientWidth && one.scrollWidth > one.clientWidth + 1).map((one) => one.title || one.value
      || one.textContent)"""
    side = "[data-testid=stSidebar] :is([data-tag] span, [data-testid=stSelectbox] input)"
    assert page.locator("[data-tag]").count() > 2
    assert page.evaluate(cut, side) == []
    # A researcher finds a method by the author of its paper.
    page.get_by_role("combobox", name="Methods").click()
    page.keyboard.type("Mohan")
    page.get_by_role("option", name="GUPT · Mohan 2012").click()
    page.locator("[data-tag]", has_text="GUPT").wait_for()
    boxes = "[...document.querySelectorAll('.stMultiSelect [data-rac]')]"
    assert page.evaluate(f"() => {boxes}.some((one) => one.clientHeight > 160)")
    assert page.evaluate(f"() => {boxes}.every((one) => one.scrollHeight <= one.clientHeight + 1)")
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Figure of a paper").first.click()
    page.wait_for_selector("[role=option]")
    assert page.evaluate(cut, "[role=option], [role=option] *") == []


@pytest.mark.exhaustive
def test_a_closed_box_shows_its_whole_name(comparer):
    link = "methods=dplloyd&score=space_ratio&draws=1&points=1&data=gaussians"
    watched = comparer(link)
    watched.wait_calm()
    boxes = watched.page.get_by_role("combobox")
    assert any("in the method's space) (slower)" in one for one in boxes.evaluate_all(VALUES))
    assert watched.page.evaluate(CUT) == []
    # A stand-in has the longest name of a data set.
    watched = comparer("preset=003-3&draws=1&points=1&epsilons=1")
    watched.page.get_by_role("combobox", name="Of the data set").wait_for()
    watched.wait_calm()
    assert watched.page.evaluate(CUT) == []

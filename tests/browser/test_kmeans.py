"""The k-means explorer in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.browser.test_explorer import CARDS, RANGES, WATCH, expect_title, slider, title, zoom

HEADING = """() => document.querySelectorAll('.annotation-text')[1]?.textContent ?? ''"""
# Records every heading of the private panel from now on.
RECORD = """() => {
  window.headings = [document.querySelectorAll('.annotation-text')[1].textContent];
  document.querySelector('.js-plotly-plot').on('plotly_afterplot', () => {
    const heading = document.querySelectorAll('.annotation-text')[1].textContent;
    if (heading !== window.headings.at(-1)) window.headings.push(heading); }); }"""
# The text of each box whose text is too long for the box.
CUT = """() => [...document.querySelectorAll(
    '[data-testid=stSidebar] [data-testid=stSelectbox] input, [data-testid=stSidebar] button, '
    + '.dpv-card > span:not(.dpv-help), [data-testid=stMain] [role=radio]')]
  .filter(node => node.clientWidth && node.scrollWidth > node.clientWidth + 1)
  .map(node => node.value || node.textContent)"""
BOXES = """nodes => nodes.map(node => {
  const { left, right, top, bottom } = node.getBoundingClientRect();
  return [left, right, top, bottom]; })"""


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(link: str = "data=incomes", scheme: str = "light", *, height=900, address=None):
        address = address or f"{app_url('app.py')}/kmeans?{link}"
        watched = open_page(address, scheme, height=height)
        watched.page.wait_for_selector(".gtitle", state="attached")
        watched.wait_idle()
        return faultless(watched)

    return open_


def player(watched, playing: bool = False):
    name = "Pause Iteration" if playing else "Play Iteration"
    return watched.page.get_by_role("button", name=name)


def expect_heading(watched, fragment: str) -> None:
    watched.page.wait_for_function(f"text => ({HEADING})().includes(text)", arg=fragment)


def heading(watched) -> str:
    return watched.page.evaluate(HEADING)


def view_button(watched, name: str):
    return watched.page.get_by_role("button", name=name, exact=True)


def boxes(locator) -> list[list[float]]:
    return locator.evaluate_all(BOXES)


def overlap(one: list[float], other: list[float]) -> bool:
    across = min(one[1], other[1]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[2], other[2])
    return across > 0.5 and up > 0.5


# ---- navigation to the page


@pytest.mark.exhaustive
def test_a_link_is_the_first_request_of_a_new_server(explorer, new_server):
    address = f"{new_server}/kmeans?data=incomes&method=mcmc&epsilon=0.5&k=3"
    watched = explorer(address=address)
    assert "Incomes and one person · MCMC post-processing · ε 0.5 · K 3" in title(watched)
    # In the app's frame there are both pages, the logo and one sidebar, but no dialog.
    for name in ("WaveCluster", "k-means"):
        watched.page.get_by_role("link", name=name, exact=True).wait_for()
    assert watched.page.get_by_role("img", name="Logo").count() == 1
    assert watched.page.get_by_role("dialog").count() == 0
    assert "epsilon=0.5&k=3" in watched.page.url
    watched.go("WaveCluster")
    expect_title(watched, "Two-stage")


@pytest.mark.exhaustive
def test_the_navigation_leads_to_the_page_and_back(explorer, app_url):
    watched = explorer(address=app_url("app.py"))
    watched.go("k-means")
    expect_title(watched, "DP-Refine")
    watched.page.wait_for_url("**/kmeans?data=gaussians*")
    assert watched.page.get_by_role("combobox", name="Method").input_value() == ("DP-Refine · ours")
    watched.go("WaveCluster")
    expect_title(watched, "Two-stage")
    watched.page.wait_for_url(re.compile(r"/\?data=gaussians"))


# ---- dragging and zoom


@pytest.mark.exhaustive
def test_a_held_drag_repaints_with_changing_figures_and_keeps_the_zoom(explorer):
    watched = explorer("data=spirals&epsilon=0.05")
    before = zoom(watched)
    assert before[0] == before[2] != [0, 1e6]
    assert before[1] == before[3] != [0, 1e6]
    watched.page.evaluate(WATCH)
    box = slider(watched, "Privacy budget").bounding_box()
    middle = box["y"] + box["height"] / 2
    # The track has the range 0.01 to 10 in decades; begin at the position of the thumb (0.05).
    watched.page.mouse.move(box["x"] + 0.23 * box["width"], middle)
    watched.page.mouse.down()
    for step in range(40):
        watched.page.mouse.move(box["x"] + (0.23 + 0.015 * step) * box["width"], middle)
        watched.page.wait_for_timeout(60)
    painted = watched.page.evaluate("window.painted")
    watched.page.mouse.up()
    # The benchmark measures the speed; this test only checks that the figure is live.
    assert len({one[0] for one in painted}) >= 5
    assert len({one[1] for one in painted}) >= 5
    value = slider(watched, "Privacy budget").get_attribute("aria-valuetext")
    expect_title(watched, f"ε {float(value):.4g} ")
    watched.page.wait_for_url(f"**epsilon={value}&**")
    assert watched.page.evaluate(RANGES) == before


@pytest.mark.exhaustive
def test_zoom_survives_method_redraw_and_player_but_not_other_data(explorer):
    watched = explorer("data=spirals")
    before = zoom(watched)
    watched.page.get_by_role("button", name="Redraw").click()
    expect_title(watched, "seed 1")
    watched.choose("Method", "EUGkM")
    expect_title(watched, "EUGkM")
    watched.choose("Method", "DPLloyd")
    expect_title(watched, "DPLloyd")
    watched.wait_idle()
    slider(watched, "Iteration").last.focus()
    watched.page.keyboard.press("Home")
    expect_heading(watched, "start")
    assert watched.page.evaluate(RANGES) == before
    watched.choose("Data", "Incomes")
    expect_title(watched, "Incomes")
    assert watched.page.evaluate(RANGES) != before


@pytest.mark.exhaustive
def test_every_slider_and_the_player_by_keyboard(explorer):
    watched = explorer("data=incomes&method=dplloyd&k=4&t=8")
    for name, key, fragment, link in (
        ("Privacy budget ε", "ArrowRight", "ε 1.05", "epsilon=1.05"),
        ("Clusters K", "ArrowRight", "K 5", "k=5"),
        ("Iterations T", "ArrowLeft", "T 7", "t=7"),
        ("Iteration", "ArrowLeft", "T 7", "i=6"),
    ):
        watched.page.get_by_role("slider", name=name, exact=True).focus()
        watched.page.keyboard.press(key)
        expect_title(watched, fragment)
        watched.page.wait_for_url(re.compile(re.escape(link)))
    expect_heading(watched, "after iteration 6 of 7")
    watched.page.keyboard.press("Home")
    expect_heading(watched, "start")
    player(watched).focus()
    watched.page.keyboard.press("Enter")
    expect_heading(watched, "iteration 1 of 7")
    watched.page.keyboard.press("Space")
    player(watched).wait_for()
    watched.page.keyboard.press("Space")
    player(watched, playing=True).wait_for()
    watched.page.get_by_role("slider", name="Iteration", exact=True).focus()
    watched.page.keyboard.press("End")
    player(watched).wait_for()
    expect_heading(watched, "result")
    watched.page.wait_for_url("**&i=7")


# ---- the player


@pytest.mark.exhaustive
def test_play_goes_through_all_steps_and_stops_at_the_end(explorer):
    watched = explorer("data=incomes&method=dplloyd&t=3")
    assert "result" in heading(watched)
    watched.page.evaluate(RECORD)
    player(watched).click()
    player(watched, playing=True).wait_for()
    expect_heading(watched, "start")
    expect_heading(watched, "result")
    player(watched).wait_for()
    said = ["result", "start", "after iteration 1 of 3", "after iteration 2 of 3", "result"]
    drawn = watched.page.evaluate("window.headings")
    assert [one.removesuffix(" (+ true centres)") for one in drawn] == [
        f"DPLloyd · {words}" for words in said
    ]
    watched.page.wait_for_url("**&i=3")


@pytest.mark.exhaustive
def test_a_click_or_a_drag_while_playing_pauses(explorer):
    watched = explorer("data=incomes&method=dplloyd&t=10")

    def expect_stopped() -> None:
        player(watched).wait_for()
        watched.wait_idle()
        stopped = heading(watched)
        assert "of 10" in stopped
        watched.page.wait_for_timeout(1600)  # two steps' time
        assert heading(watched) == stopped
        assert player(watched).count() == 1

    player(watched).click()
    expect_heading(watched, "iteration 1 of 10")
    player(watched, playing=True).click()
    expect_stopped()
    watched.page.wait_for_url(re.compile("&i=[1-5]$"))
    # The player continues from its current position.
    watched.page.evaluate(RECORD)
    player(watched).click()
    watched.page.wait_for_function("() => window.headings.length > 1")
    assert "start" not in "".join(watched.page.evaluate("window.headings"))

    box = watched.page.get_by_role("slider", name="Iteration", exact=True).bounding_box()
    middle = box["y"] + box["height"] / 2
    watched.page.mouse.move(box["x"] + 0.1 * box["width"], middle)
    watched.page.mouse.down()
    player(watched).wait_for()
    watched.page.mouse.move(box["x"] + 0.8 * box["width"], middle, steps=5)
    expect_heading(watched, "iteration 8 of 10")
    watched.page.mouse.up()
    expect_stopped()
    assert "iteration 8 of 10" in heading(watched)
    watched.page.wait_for_url("**&i=8")


# ---- views


LOOK = """() => { const plot = document.querySelector('.js-plotly-plot');
  const marks = plot.data.find(one => one.mode === 'markers+text');
  const { xaxis, yaxis, paper_bgcolor } = plot._fullLayout, box = plot.getBoundingClientRect();
  return { paper: paper_bgcolor, ink: marks.marker.color, ground: marks.marker.line.color,
    first: [box.x + xaxis._offset + xaxis.d2p(marks.x[0]),
            box.y + yaxis._offset + yaxis.d2p(marks.y[0])] }; }"""
PAPER = "() => document.querySelector('.js-plotly-plot')._fullLayout.paper_bgcolor"


@pytest.mark.exhaustive(reason="tests/figures/test_kmeans.py draws every view in both themes")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_drawn_in_both_themes(explorer, scheme):
    watched = explorer("data=incomes&method=mcmc&t=3", scheme)
    look = watched.page.evaluate(LOOK)
    dark = {name: int(look[name][1:3], 16) < 60 for name in ("paper", "ink", "ground")}
    assert dark == {"paper": scheme == "dark", "ink": scheme == "light", "ground": scheme == "dark"}
    watched.page.mouse.move(*look["first"])
    label = watched.page.locator(".hoverlayer .hovertext")
    label.wait_for()
    assert label.text_content().startswith("centre 1")

    view_button(watched, "Noise").click()
    watched.page.wait_for_selector(".bars .point", state="attached")
    # There are two charts, with three iterations and two clusters.
    assert watched.page.locator(".bars .point").count() == 12
    watched.page.get_by_role("img", name="Bars per cluster and iteration").wait_for()
    watched.page.wait_for_url("**view=noise**")
    assert watched.page.evaluate(PAPER) == look["paper"]

    view_button(watched, "Before and after").click()
    expect_heading(watched, "after · NICV")
    watched.page.get_by_role("img", name="log likelihood along the chain").wait_for()
    traces = "() => document.querySelector('.js-plotly-plot').data.map(one => one.yaxis)"
    assert "y3" in watched.page.evaluate(traces)
    assert watched.page.evaluate(PAPER) == look["paper"]

    # Without the method, the view does not exist.
    watched.choose("Method", "Hybrid")
    expect_title(watched, "Hybrid")
    expect_heading(watched, "Hybrid · result")
    assert view_button(watched, "Before and after").count() == 0


# ---- sizes and overlaps


@pytest.mark.exhaustive(reason="test_sizes.py looks for cut text")
@pytest.mark.parametrize(
    "link",
    ["data=incomes", "data=incomes&method=mcmc", "data=checkins&method=dplloyd"],
)
def test_nothing_is_cut_off_or_overlaps_on_a_small_screen(explorer, link):
    watched = explorer(link, height=720)
    assert watched.page.evaluate(CUT) == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 1280
    controls = watched.page.locator(
        "[data-testid=stSidebar] [data-testid=stSelectbox], "
        "[data-testid=stSidebarUserContent] button:visible, .live-slider, .dpv-card, "
        "[data-testid=stMain] [role=radiogroup], .js-plotly-plot .xtick text"
    )
    found = [box for box in boxes(controls) if box[0] < box[1]]
    assert len(found) > 10
    for left, right, top, bottom in found:
        assert 0 <= left < right <= 1280
        assert 0 <= top < bottom <= 720
    apart = "[data-testid=stMain] [role=radiogroup], .live-slider, .dpv-cards, .js-plotly-plot"
    main = boxes(watched.page.locator(apart))
    for number, one in enumerate(main):
        assert not any(overlap(one, other) for other in main[number + 1 :])
    # In a slider, name, help, player and number are side by side.
    for head in watched.page.locator(".live-slider .head").all():
        parts = [box for box in boxes(head.locator("> *")) if box[1] > box[0]]
        for number, one in enumerate(parts):
            assert not any(overlap(one, other) for other in parts[number + 1 :])


@pytest.mark.exhaustive(reason="tests/figures/test_kmeans.py has the numbers daily")
def test_numbers_of_centres_at_the_border_can_be_read_and_leave_the_headings_readable(explorer):
    # GUPT's noise is so large that most centres end at the border.
    watched = explorer("data=incomes&method=gupt&epsilon=0.02&k=100")
    (frame,) = boxes(watched.page.locator(".js-plotly-plot .main-svg").first)
    numbers = boxes(watched.page.locator(".textpoint text"))
    assert len(numbers) >= 200  # and some of damage
    cut_off = [box for box in numbers if box[1] > frame[1] or box[2] < frame[2]]
    covered = [
        number
        for words in boxes(watched.page.locator(".annotation-text"))
        for number in numbers
        if overlap(words, number)
    ]
    assert (len(cut_off), len(covered)) == (0, 0)


# ---- own data, and buttons that open panels


@pytest.mark.exhaustive
def test_own_file_on_all_columns(explorer, tmp_path: Path):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(place, 0.2, (80, 3)) for place in (1, 4, 8)])
    path = tmp_path / "own.csv"
    np.savetxt(path, points, delimiter=",", header="a,b,c", comments="")
    watched = explorer("data=incomes&k=3")
    watched.choose("Data", "Own data")
    watched.page.set_input_files("input[type=file]", path)
    expect_title(watched, "own.csv")
    watched.page.get_by_role("radio", name="all 3 numeric").click()
    watched.page.get_by_text("Clustered on 3 columns").wait_for()
    watched.choose("Across", "c", exact=True)
    # Without space below the axis, its name is beside its first number.
    watched.page.wait_for_function(
        "() => [...document.querySelectorAll('.xtitle, .xtick text')]"
        ".some((one) => /^c\\b/.test(one.textContent))"
    )
    cards = watched.page.evaluate(CARDS)
    assert cards["Method"][0] == "not private"
    both = watched.page.get_by_role("radiogroup", name="Cluster on").get_by_role("radio")
    assert both.count() == 2
    assert len({top for _, _, top, _ in boxes(both)}) == 1, "torn into two rows"


@pytest.mark.exhaustive
def test_tables_and_code_stand_behind_the_picture(explorer):
    watched = explorer("data=incomes&k=4&epsilon=0.5")
    watched.page.get_by_text("Numbers behind the picture").click()
    watched.page.get_by_text("python -m dpviz").first.wait_for()
    with watched.page.expect_download() as waiting:
        watched.page.get_by_role("button", name="Table of this view").click()
    download = waiting.value
    assert "exploration-dprefine-regions" in download.suggested_filename
    lines = Path(download.path()).read_text().splitlines()
    assert lines[0].startswith("cluster,private number,true monthly_income,private monthly_income")
    # A true cluster without a private centre has a row of its own.
    assert 1 + 4 <= len(lines) <= 1 + 2 * 4

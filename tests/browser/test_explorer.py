"""The WaveCluster explorer in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import reference_file
from tests.support.tiers import daily

CARDS = """() => Object.fromEntries([...document.querySelectorAll('.dpv-card')].map(card => [
  card.dataset.name,
  [card.querySelector('.dpv-value').textContent, card.querySelector('.dpv-beside').textContent],
]))"""
RANGES = """() => { const layout = document.querySelector('.js-plotly-plot')._fullLayout;
  return [layout.xaxis.range, layout.yaxis.range, layout.xaxis2.range, layout.yaxis2.range]; }"""
# Records every change of the figure's title, which names the run in the figure.
WATCH = """() => { window.painted = [];
  window.Plotly && document.querySelector('.js-plotly-plot').on('plotly_afterplot', () =>
    window.painted.push([document.querySelector('.gtitle').textContent,
      document.querySelector('.dpv-cards').textContent])); }"""


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(link: str = "", scheme: str = "light"):
        watched = open_page(f"{app_url('app.py')}/?{link}", scheme)
        drawn = "input[type=file]" if "data=own" in link else ".gtitle"
        watched.page.wait_for_selector(drawn, state="attached")
        watched.wait_idle()
        return faultless(watched)

    return open_


def title(watched) -> str:
    return watched.page.locator(".gtitle").text_content()


def expect_title(watched, fragment: str) -> None:
    watched.page.wait_for_function(
        "text => document.querySelector('.gtitle')?.textContent.includes(text)", arg=fragment
    )


def slider(watched, name: str):
    return watched.page.get_by_role("slider", name=name)


def zoom(watched) -> list:
    """Zoom in on the left panel with the mouse."""
    box = watched.page.locator(".js-plotly-plot .draglayer .nsewdrag").first.bounding_box()
    x, y, width, height = box["x"], box["y"], box["width"], box["height"]
    watched.page.mouse.move(x + 0.25 * width, y + 0.25 * height)
    watched.page.mouse.down()
    watched.page.mouse.move(x + 0.6 * width, y + 0.7 * height, steps=5)
    watched.page.mouse.up()
    watched.page.wait_for_timeout(400)
    return watched.page.evaluate(RANGES)


def test_opens_clustered_without_a_click(explorer):
    watched = explorer()
    assert "Fifteen Gaussians · Two-stage · ε 0.02 " in title(watched)
    cards = watched.page.evaluate(CARDS)
    assert cards["Clusters"][1] == "true 15"
    watched.page.wait_for_function(
        "() => [...document.querySelectorAll('.dpv-value')].every(one => one.textContent !== '…')"
    )


@pytest.mark.exhaustive(reason="test_live drags the same slider, daily")
def test_a_held_drag_repaints_with_changing_figures_and_keeps_the_zoom(explorer):
    watched = explorer("epsilon=0.05")
    before = zoom(watched)
    assert before[0] == before[2]
    assert before[1] == before[3]
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
    titles = {one[0] for one in painted}
    cards = {one[1] for one in painted}
    # The benchmark measures the speed; this test only checks that the figure changes during a drag.
    assert len(titles) >= 5
    assert len(cards) >= 5
    assert watched.page.evaluate(RANGES) == before


@pytest.mark.exhaustive(reason="test_live.py moves a slider by keys")
def test_every_slider_by_keyboard_and_the_link_follows(explorer):
    watched = explorer("data=spirals&method=privthr")
    for name, key, fragment, link in (
        ("Privacy budget", "ArrowRight", "ε 1.05", "epsilon=1.05"),
        ("share α", "ArrowLeft", "α 0.89", "alpha=0.89"),
        ("Grid g", "ArrowRight", "g 41", "g=41"),
        ("Density threshold", "ArrowRight", "p 0.11", "p=0.11"),
    ):
        slider(watched, name).focus()
        watched.page.keyboard.press(key)
        expect_title(watched, fragment)
        watched.page.wait_for_url(re.compile(re.escape(link)))


@pytest.mark.exhaustive(reason="tests/ui/test_wavecluster.py has these grids daily")
def test_a_grid_of_its_own_for_each_column_by_hand(explorer):
    watched = explorer("data=spirals")
    watched.page.get_by_text("One g per column").click()
    watched.page.wait_for_url(re.compile("g=40%2C40"))
    slider(watched, "Grid g · y").focus()
    for _ in range(3):  # faster than the server answers
        watched.page.keyboard.press("ArrowLeft")
    expect_title(watched, "g 40 x 37")
    watched.page.wait_for_url(re.compile("g=40%2C37"))
    assert slider(watched, "Grid g · x").get_attribute("aria-valuetext") == "40"
    watched.page.get_by_role("button", name="Reset", exact=True).click()
    expect_title(watched, "g 64 ")
    expect(slider(watched, "Grid g")).to_have_count(1)


@pytest.mark.exhaustive(reason="another zoom is looked at daily")
def test_the_mosaic_has_one_zoom_which_is_not_that_of_the_data(explorer):
    watched = explorer("view=details&level=2")
    full = watched.page.evaluate(RANGES)
    assert full == [[0, 1]] * 4
    x, y, x2, y2 = zoom(watched)
    assert (x, y) == (x2, y2)
    assert [x, y] != full[:2]
    slider(watched, "Grid g").focus()
    watched.page.keyboard.press("ArrowRight")
    expect_title(watched, "g 65 ")
    assert watched.page.evaluate(RANGES) == [x, y, x2, y2]
    watched.page.get_by_role("button", name="Stage counts").click()
    watched.page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.xaxis.range[1] > 9e5"
    )


@pytest.mark.exhaustive
def test_two_windows_with_one_link_show_the_same(explorer):
    link = "data=shapes&method=privthrem&epsilon=0.3&g=36&p=0.23&seed=4&view=average"
    first, second = explorer(link), explorer(link)
    assert title(first) == title(second)
    for watched in (first, second):  # the slow scores come last
        watched.page.wait_for_function(f"() => !JSON.stringify(({CARDS})()).includes('…')")
    assert first.page.evaluate(CARDS) == second.page.evaluate(CARDS)
    assert first.page.url == second.page.url


@pytest.mark.exhaustive(reason="nothing else changes the zoom")
def test_zoom_survives_method_view_and_redraw_but_not_other_data(explorer):
    watched = explorer()
    before = zoom(watched)
    watched.page.get_by_role("button", name="Redraw").click()
    expect_title(watched, "seed 1")
    assert watched.page.evaluate(RANGES) == before
    watched.page.get_by_role("button", name="Stage cut").click()
    watched.page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot').data.length > 5"
    )
    assert watched.page.evaluate(RANGES) == before
    watched.choose("Data", "Three spirals")
    expect_title(watched, "Three spirals")
    assert watched.page.evaluate(RANGES) != before


def test_hover_on_cells_tells_true_private_and_error(explorer):
    watched = explorer("view=counts")
    box = watched.page.locator(".js-plotly-plot .draglayer .nsewdrag").first.bounding_box()
    watched.page.mouse.move(box["x"] + box["width"] * 0.12, box["y"] + box["height"] * 0.17)
    label = watched.page.locator(".hoverlayer .hovertext")
    label.wait_for()
    told = label.text_content()
    numbers = re.search(r"true ([\d.,−-]+).*private ([\d.,−-]+).*error ([\d.,+−-]+)", told)
    assert numbers, told
    plain = (one.replace("−", "-").replace(",", "") for one in numbers.groups())
    true, private, error = map(float, plain)
    assert error == pytest.approx(private - true, abs=0.02)


@pytest.mark.parametrize("scheme", daily(("light", "dark"), "dark".__eq__))
def test_both_themes_colour_the_figure(explorer, scheme):
    watched = explorer("view=counts", scheme)
    paper = watched.page.evaluate(
        "() => document.querySelector('.js-plotly-plot')._fullLayout.paper_bgcolor"
    )
    levels = [int(paper[i : i + 2], 16) for i in (1, 3, 5)]
    assert (min(levels) > 200) if scheme == "light" else (max(levels) < 60)


def test_own_file_by_upload_lands_on_the_papers_numbers(explorer):
    path = reference_file("ds2.csv")
    watched = explorer("data=own&g=40&p=0.1")
    watched.page.set_input_files("input[type=file]", path)
    expect_title(watched, "ds2.csv")
    watched.wait_idle()
    cards = watched.page.evaluate(CARDS)
    assert cards["Clusters"][1] == "true 3"
    assert cards["Cut at rank"][1].startswith("k′ · true 144, off by ")
    assert cards["Noise points"][1] == "true 232"


@pytest.mark.exhaustive(reason="tests/ui/test_wavecluster.py refuses files daily")
def test_a_refused_file_is_said_and_the_page_goes_on(explorer, tmp_path: Path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("a,b\n" + "".join(f"{i % 9},{i % 7}\n" for i in range(300)))
    bad.write_bytes(bytes(range(256)) * 50)
    watched = explorer("data=own&g=8")
    watched.page.set_input_files("input[type=file]", good)
    expect_title(watched, "good.csv")
    watched.wait_idle()
    watched.page.set_input_files("input[type=file]", bad)
    alert = watched.page.get_by_role("alert").filter(has_text="bad.csv")
    alert.wait_for()
    assert "Still on the screen: good.csv" in alert.text_content()
    assert "good.csv" in title(watched)


def test_a_file_over_the_limit_is_refused_before_it_is_read(explorer, tmp_path: Path):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(101 * 2**20)
    watched = explorer("data=own")
    watched.page.set_input_files("input[type=file]", large)
    watched.page.get_by_text("100.0MB or smaller").wait_for()


# Numbers on the private panel, with their positions and sizes.
LABELS = """() => [...document.querySelectorAll('.subplot.x2y2 .textpoint text')].map((one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect();
  return [one.textContent, parseFloat(getComputedStyle(one).fontSize), left, right, top, bottom];
})"""


@pytest.mark.exhaustive(reason="tests/figures/test_wavecluster.py has the numbers daily")
def test_each_of_many_clusters_has_a_number_that_can_be_read(explorer):
    """There are fewer hues than clusters, so numbers distinguish clusters of the same hue."""
    watched = explorer("method=privqt&epsilon=0.05")
    labels = watched.page.evaluate(LABELS)
    reported = int(watched.page.evaluate(CARDS)["Clusters"][0])
    assert reported >= 27
    # Lost clusters have their numbers beside those of the private clusters.
    assert len({name for name, *_ in labels}) == len(labels) >= reported
    assert min(size for _, size, *_ in labels) >= 10
    covered = [
        (one, other)
        for at, (one, _, left, right, top, bottom) in enumerate(labels)
        for other, _, x0, x1, y0, y1 in labels[:at]
        # The box of a text is higher than the digits of the text.
        if min(right, x1) - max(left, x0) > 4 and min(bottom, y1) - max(top, y0) > 8
    ]
    assert len(covered) <= reported / 20, covered


@pytest.mark.exhaustive(reason="tests/ui/test_readouts.py reads the text of readouts")
def test_help_of_a_readout_opens_on_focus_and_stays_when_it_is_redrawn(explorer):
    watched = explorer("epsilon=1")
    card = watched.page.locator('.dpv-card[data-name="Area that differs"]')
    tip = card.locator(".dpv-help")
    assert not tip.is_visible()
    # The focus has moved before the slider's answer arrives, as both events happen in one call.
    slider(watched, "Privacy budget").evaluate(
        "range => { range.stepUp(); range.dispatchEvent(new Event('input'));"
        " const named = (one) => one.dataset.name === 'Area that differs';"
        " window.before = [...document.querySelectorAll('.dpv-card')].find(named);"
        " window.before.focus(); }"
    )
    tip.wait_for(state="visible")
    assert "Share of the area" in tip.text_content()
    expect_title(watched, "ε 1.05")
    watched.wait_idle()
    watched.page.wait_for_function("() => !window.before.isConnected")
    assert tip.is_visible()
    assert card.evaluate("card => card === document.activeElement")
    # After a click outside, the help stays closed.
    watched.page.mouse.click(640, 4)
    assert watched.page.evaluate("() => document.activeElement === document.body")
    slider(watched, "Privacy budget").evaluate(
        "range => { range.value = '0'; range.dispatchEvent(new Event('input')); }"
    )
    expect_title(watched, "ε 0.01")
    watched.wait_idle()
    assert not tip.is_visible()


@pytest.mark.exhaustive(reason="help that stays open while a figure changes is looked at daily")
def test_a_proof_is_folded_and_stays_open_while_a_slider_moves(explorer):
    watched = explorer("data=tiny8")
    proof = watched.page.locator("details", has_text="the proof")
    assert not proof.evaluate("fold => fold.open")
    proof.locator("summary").click()
    assert "One record changes" in proof.inner_text()
    slider(watched, "Privacy budget").press("ArrowRight")
    expect_title(watched, "ε 1.05")
    watched.wait_idle()
    watched.page.get_by_text("ε = 1.05: any result").wait_for()
    assert proof.evaluate("fold => fold.open")
    # Help that opens over the picture must be short.
    card = watched.page.locator('.dpv-card[data-name="Method"]')
    card.hover()
    assert card.locator(".dpv-help").bounding_box()["height"] < 120


@pytest.mark.exhaustive(reason="test_sizes.py looks at a phone daily")
def test_no_choice_hides_beyond_the_edge_of_a_phone(app_url, open_page):
    watched = open_page(f"{app_url('app.py')}/kmeans?data=tiny8")
    watched.page.set_viewport_size({"width": 390, "height": 844})
    last = watched.page.get_by_text("Left: without noise")
    watched.page.wait_for_function("() => innerWidth === 390")
    box = last.bounding_box()
    assert box["x"] + box["width"] <= 390 - 8


@pytest.mark.exhaustive(reason="tests/ui/test_kmeans.py opens this panel daily")
def test_tables_and_code_stand_behind_the_picture(explorer):
    watched = explorer("data=spirals")
    watched.page.get_by_text("Numbers behind the picture").click()
    watched.page.get_by_text("python -m dpviz run spirals").wait_for()
    with watched.page.expect_download() as waiting:
        watched.page.get_by_role("button", name="Table of this view").click()
    download = waiting.value
    assert download.suggested_filename == "dpviz-exploration-twostage-clusters.csv"
    lines = Path(download.path()).read_text().splitlines()
    assert lines[0].startswith("x,y,")
    assert len(lines) == 1 + 20 * 20


# For each panel, the numbers in the cells without blanks: text, pixels, and whether it is visible.
IN_CELLS = """() => [...document.querySelectorAll('.js-plotly-plot .subplot')].map(panel =>
  [...panel.querySelectorAll('.heatmap-label text')].filter(one => one.textContent.trim()).map(
    one => [one.textContent, parseFloat(one.style.fontSize), one.style.visibility !== 'hidden']))"""


@pytest.mark.exhaustive(reason="a rule of the figure's script, which rarely changes")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_in_cells_have_one_size_and_vanish_where_they_are_too_small(explorer, scheme):
    watched = explorer("data=tiny8&method=privthrem&epsilon=2&view=counts", scheme)
    true, private = watched.page.evaluate(IN_CELLS)
    for panel in (true, private):
        assert len(panel) == 64
        ((size, seen),) = {(size, seen) for _, size, seen in panel}
        assert size >= 12
        assert seen
    assert sum(int(text) for text, *_ in true) == 220
    watched.page.set_viewport_size({"width": 180, "height": 844})
    watched.page.wait_for_function(f"small => ({IN_CELLS})().at(-1)[0]?.[1] < small", arg=7)
    assert not any(seen for *_, seen in watched.page.evaluate(IN_CELLS)[-1])
    watched.page.set_viewport_size({"width": 1280, "height": 900})
    watched.page.wait_for_function(f"small => ({IN_CELLS})()[1]?.[0]?.[1] > small", arg=7)
    assert all(seen for *_, seen in watched.page.evaluate(IN_CELLS)[1])

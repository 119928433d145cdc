"""The curve under a slider, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched

POINTS = "([of, least]) => window.dpvizCurves?.[of]?.lines[0][1].length >= least"

#: Distance in pixels between the rider and the first line at the rider's place.
OFF = """() => {
  const slider = [...document.querySelectorAll('*')].map((one) => one.shadowRoot ?? one)
    .map((one) => one.querySelector('.live-slider'))
    .find((one) => one?.querySelector('path.first'));
  const rider = slider.querySelector('.rider').getBoundingClientRect();
  const center = [(rider.left + rider.right) / 2, (rider.top + rider.bottom) / 2];
  const line = [...slider.querySelectorAll('path')].find((one) =>
    one.getAttribute('class') === 'first');
  const matrix = line.getScreenCTM();
  let best = Infinity;
  for (let part = 0; part <= 1000; part += 1) {
    const at = line.getTotalLength() * part / 1000;
    const point = line.getPointAtLength(at).matrixTransform(matrix);
    best = Math.min(best, Math.hypot(point.x - center[0], point.y - center[1]));
  }
  const thumb = slider.querySelector('.range').getBoundingClientRect();
  const share = Number(slider.querySelector('.range').value) / slider.querySelector('.range').max;
  return [best, Math.abs(thumb.left + 8 + share * (thumb.width - 16) - center[0])];
}"""

SHIFTS = """() => { window.shifts = 0; new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.shifts += one.value;
}).observe({ type: 'layout-shift' }); }"""


@pytest.fixture
def opened(app_url: Callable, open_page: Callable, faultless: Callable) -> Callable[..., Watched]:
    def open_(path: str) -> Watched:
        watched = open_page(f"{app_url('app.py')}/{path}")
        watched.page.wait_for_selector(".gtitle", state="attached")
        return faultless(watched)

    return open_


def wait_points(page: Page, slider: str, least: int) -> None:
    page.wait_for_function(POINTS, arg=[slider, least])


@pytest.mark.exhaustive(reason="test_live drags the same slider, daily")
def test_the_handle_rides_on_the_curve_and_nothing_moves(opened: Callable) -> None:
    watched = opened("?data=tiny8&method=privthr")
    page = watched.page
    wait_points(page, "wavecluster:epsilon", 25)
    watched.wait_calm()
    plot = page.get_by_role("img", name="Wrong cells per true cell (DSG_C), 0 is equal, over ε")
    expect(plot).to_be_visible()
    page.evaluate(SHIFTS)
    slider = page.get_by_role("slider", name="Privacy budget ε")
    tall = slider.evaluate("(one) => one.closest('.live-slider').getBoundingClientRect().height")
    assert tall <= 74
    for key in ("Home", "ArrowRight", "PageUp", "End"):
        slider.press(key)
        away, aside = page.evaluate(OFF)
        assert away < 2, key
        assert aside < 2, key
    # A slider that is used gets its curve in its place.
    grid = page.get_by_role("slider", name="Grid g")
    place = page.locator(".live-slider .plot").nth(2)
    expect(place).to_be_hidden()
    grid.focus()
    wait_points(page, "wavecluster:g", 13)
    expect(place).to_be_visible()
    expect(place).to_have_accessible_name(re.compile("over g"))
    # A value that is too large is said beside the slider, for some seconds.
    number = page.get_by_role("textbox", name="Privacy budget ε: exact value")
    number.fill("50")
    number.press("Enter")
    said = page.locator(".said", has_text="50 is too large: at most 10")
    expect(said).to_be_visible()
    expect(page.get_by_text("50 is too large")).to_have_count(0, timeout=10_000)
    watched.wait_calm()
    assert page.evaluate("window.shifts") < 0.01


@pytest.mark.exhaustive(reason="tests/ui/test_curve.py reads the curve daily")
def test_a_click_enlarges_the_curve_on_the_page_and_on_the_stage(opened: Callable) -> None:
    watched = opened("?data=tiny8&method=privthr")
    page = watched.page
    wait_points(page, "wavecluster:epsilon", 25)
    watched.wait_calm()
    page.evaluate(SHIFTS)
    large = page.locator(".live-slider .large:popover-open")
    plot = page.locator(".live-slider .plot").first.bounding_box()
    # By a click on the curve, and by the keyboard; a click on the chart or Escape closes it.
    page.mouse.click(plot["x"] + plot["width"] / 2, plot["y"] + 6)
    expect(large).to_contain_text("Privacy budget ε")
    box = large.bounding_box()
    assert box["width"] > 900
    assert 300 < box["height"] < 720
    large.click()
    expect(large).to_have_count(0)
    page.get_by_role("button", name="Enlarge the curve").first.press("Enter")
    expect(large).to_have_count(1)
    page.keyboard.press("Escape")
    expect(large).to_have_count(0)
    assert page.evaluate("window.shifts") < 0.01
    page.keyboard.press("f")
    page.get_by_role("button", name="Enlarge the curve").first.click()
    expect(large).to_have_count(1)
    page.keyboard.press("Escape")
    expect(large).to_have_count(0)
    assert page.evaluate("document.documentElement.dataset.dpvStage") == "on"
    page.keyboard.press("Escape")
    page.wait_for_function("() => !('dpvStage' in document.documentElement.dataset)")


@pytest.mark.exhaustive(reason="tests/ui/test_curve.py chooses a second method")
def test_a_second_method_is_one_choice_away(opened: Callable) -> None:
    watched = opened("?data=tiny8&method=privthr")
    page = watched.page
    wait_points(page, "wavecluster:epsilon", 25)
    watched.wait_calm()
    menu = page.get_by_role("button", name="Curve of Privacy budget ε: compare, numbers")
    menu.click()
    expect(page.get_by_role("row")).to_have_count(26)
    page.get_by_role("combobox", name="Compare with").select_option("privqt")
    page.wait_for_url("**&with=privqt&**")
    expect(page.locator("path.second").first).to_be_attached()
    expect(page.get_by_role("columnheader", name="PrivQT: median and band")).to_be_visible()
    page.get_by_role("combobox", name="Lines").select_option("mean")
    page.wait_for_url("**&line=mean**")
    expect(page.get_by_role("columnheader", name="PrivQT: mean and band")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Lines")).to_be_hidden()
    expect(page.get_by_role("button", name="vs PrivQT")).to_be_visible()


@pytest.mark.exhaustive(reason="tests/ui/test_share.py reads what a frame shows")
def test_a_frame_has_no_curve(opened: Callable) -> None:
    page = opened("?data=tiny8&method=privthr&embed=true").page
    expect(page.get_by_role("slider", name="Privacy budget ε")).to_be_visible()
    expect(page.locator(".live-slider .plot:visible")).to_have_count(0)
    assert page.evaluate("window.dpvizCurves === undefined")

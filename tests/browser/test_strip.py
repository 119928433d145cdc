"""The strip: a click or a key opens each stage, pictures are live, nothing moves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

from dpviz.figures import kmeans, wavecluster

BAR = "[class*='st-key-strip-']"

#: Colours of a canvas, as rows of "#rrggbb" from the top.
PIXELS = """canvas => { const { width, height } = canvas;
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
  return [...Array(height)].map((_, y) => [...Array(width)].map((_, x) => '#' +
    [0, 1, 2].map(i => data[4 * (y * width + x) + i].toString(16).padStart(2, '0')).join(''))); }"""


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(page: str, size: tuple[int, int] = (1280, 720)):
        def sized(shown: Page) -> None:
            shown.set_viewport_size({"width": size[0], "height": size[1]})

        watched = open_page(f"{app_url('app.py')}/{page}", before=sized)
        watched.page.wait_for_selector(".gtitle", state="attached")
        watched.wait_idle()
        return faultless(watched)

    return open_


def card(page: Page, name: str):
    return page.locator(BAR).get_by_role("button", name=f"Stage {name}")


def wait_shown(page: Page, name: str) -> None:
    page.locator(f"{BAR} [aria-current][aria-label^='Stage {name}']").wait_for()


#: Parts of the window that moved since the first call, also right after a click.
SHIFT = """() => { if (window.shift === undefined) { window.shift = 0;
  new PerformanceObserver(list => list.getEntries().forEach(one => { window.shift += one.value; }))
    .observe({ type: 'layout-shift' }); }
  return window.shift; }"""


@pytest.mark.exhaustive(reason="another test looks at the thumbnails daily")
def test_the_mouse_and_the_keys_go_through_all_stages(explorer: Callable) -> None:
    page = explorer("?method=privthr&epsilon=1").page
    page.wait_for_function("() => document.fonts.status === 'loaded'")
    page.evaluate(SHIFT)
    height = page.locator(BAR).bounding_box()["height"]
    assert height <= 48
    assert card(page, "clusters").get_attribute("aria-label").endswith(", shown")
    for name, (view, *_) in wavecluster.STAGES.items():
        card(page, name).click()
        wait_shown(page, name)
        page.wait_for_url(f"**view={view}**")
        assert page.locator(BAR).bounding_box()["height"] == height
    assert page.evaluate(SHIFT) <= 0.1
    # From the last stage back to the first with the keys, and into the choices at the end.
    for name in list(wavecluster.STAGES)[-2::-1]:
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        wait_shown(page, name)
    card(page, "wavelet").click()
    wait_shown(page, "wavelet")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_url("**view=details**")
    pressed = page.locator(f"{BAR} [aria-pressed=true]")
    page.wait_for_function(f'() => document.querySelector("{BAR}") !== null')
    assert pressed.all_inner_texts() == ["All subbands"]


@pytest.mark.exhaustive(reason="the mouse goes through all stages, daily")
def test_a_second_click_on_a_stage_leads_to_its_choices_in_the_side_bar(explorer: Callable) -> None:
    # On a small window the side bar is folded at first.
    watched = explorer("?method=privthr&epsilon=1", (1024, 768))
    page = watched.page
    for name in ("wavelet", "noise"):
        card(page, name).click()
        wait_shown(page, name)
        watched.wait_idle()
        card(page, name).click()
        if name == "wavelet":
            page.wait_for_function("() => document.activeElement.closest('[class*=-wavelet-]')")
            page.wait_for_function("() => document.activeElement.getBoundingClientRect().left > 0")
    # The stage of noise has only sliders.
    assert card(page, "noise").evaluate("one => one.getRootNode().activeElement === one")
    # From another view of the stage, a click leads to its first view.
    card(page, "wavelet").click()
    wait_shown(page, "wavelet")
    page.get_by_role("button", name="All subbands").click()
    page.wait_for_url("**view=details**")
    watched.wait_idle()
    card(page, "wavelet").click()
    page.wait_for_url("**view=average**")


@pytest.mark.exhaustive(reason="the first test goes through the stages of WaveCluster")
def test_kmeans_goes_from_the_records_to_the_centres(explorer: Callable) -> None:
    page = explorer("kmeans?method=dprefine&data=incomes").page
    assert "use DPLloyd" in card(page, "iterations").get_attribute("aria-label")
    card(page, "iterations").click()
    # The offered method opens at the stage that was asked for.
    wait_shown(page, "iterations")
    page.wait_for_url("**method=dplloyd**view=iterations**")
    for name in kmeans.STAGES:
        card(page, name).click()
        wait_shown(page, name)
    card(page, "start").click()
    page.wait_for_url("**i=0**")
    card(page, "centres").click()
    wait_shown(page, "centres")
    page.wait_for_url("**view=regions**i=5**")
    points = page.get_by_role("button", name="True points", exact=True)
    points.click()
    page.wait_for_url("**points=shown**")
    # The tick of a pressed button is not a part of its name.
    assert points.get_attribute("aria-pressed") == "true"
    page.get_by_text("true points").first.wait_for()


@pytest.mark.daily("light")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_thumbnail_is_the_array_that_was_sent(
    app_url: Callable, open_page: Callable, faultless: Callable, scheme: str
) -> None:
    from dpviz.data.samples import load_sample
    from dpviz.families import trial_of
    from dpviz.figures.theme import CLUSTERS
    from dpviz.wavecluster.parameters import Config

    watched = faultless(
        open_page(f"{app_url('app.py')}/?data=spirals&method=wavecluster&g=64", scheme)
    )
    page = watched.page
    card(page, "clusters").wait_for()
    trial = trial_of(load_sample("spirals"), Config(method="wavecluster", grid=64, density=0.1))
    labels = trial.truth.stages.labels
    for side in (0, 1):
        drawn = np.array(card(page, "clusters").locator("canvas").nth(side).evaluate(PIXELS))
        assert drawn.shape == (32, 32)
        for cluster in range(1, labels.max() + 1):
            expected = CLUSTERS[scheme][(cluster - 1) % 12]
            np.testing.assert_array_equal(expected == drawn[::-1].T, labels == cluster)


@pytest.mark.exhaustive(reason="tests/ui/test_strip.py reads the controls of each stage")
def test_controls_of_the_shown_stage_are_underlined(explorer: Callable) -> None:
    page = explorer("?method=privthr").page
    lit = """names => names.filter(name => getComputedStyle(document.querySelector(
      `[class*="st-key-wavecluster-${name}-"]`)).getPropertyValue('--dpv-lit'))"""
    names = ["epsilon", "alpha", "g", "p", "wavelet", "level"]
    assert page.evaluate(lit, names) == []
    card(page, "noise").click()
    wait_shown(page, "noise")
    page.mouse.move(5, 5)
    page.keyboard.press("Escape")
    assert page.evaluate(lit, names) == ["epsilon", "alpha"]
    card(page, "cut").hover()
    assert page.evaluate(lit, names) == ["epsilon", "alpha", "p"]


@pytest.mark.daily("size0")
@pytest.mark.parametrize("size", [(390, 844), (1024, 768)])
def test_the_strip_scrolls_sideways_on_a_narrow_page(explorer: Callable, size) -> None:
    page = explorer("?method=privthr", size).page
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.locator(BAR).bounding_box()["height"] <= 48
    shown, cards = (
        card(page, "clusters").bounding_box(),
        page.locator(f"{BAR} .cards").bounding_box(),
    )
    assert cards["x"] - 1 <= shown["x"]
    assert shown["x"] + shown["width"] <= cards["x"] + cards["width"] + 1

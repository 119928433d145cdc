"""The maps are most of the window, and further scores are one click away."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.support.tiers import daily

#: Part of the window that the frames of both maps cover, without scrolling.
SHARE = """() => {
  const plot = document.querySelector('.live-figure .js-plotly-plot');
  const place = plot.getBoundingClientRect(), { _fullLayout: all } = plot;
  const within = (from, length, most) =>
    Math.max(0, Math.min(most, from + length) - Math.max(0, from));
  return [['xaxis', 'yaxis'], ['xaxis2', 'yaxis2']].reduce((sum, [x, y]) => sum +
    within(place.left + all[x]._offset, all[x]._length, innerWidth) *
    within(place.top + all[y]._offset, all[y]._length, innerHeight), 0
  ) / innerWidth / innerHeight; }"""

#: Sizes of windows in pixels, and the least share.
SIZES = {
    (1280, 720): 0.45, (1366, 768): 0.45, (1920, 1080): 0.45, (2560, 1440): 0.45, (1024, 768): 0.4,
}  # fmt: skip

PAGES = ("", "kmeans")


@pytest.fixture
def explorer(app_url: Callable, open_page: Callable, faultless: Callable):
    def open_(page: str, size: tuple[int, int]):
        def sized(shown: Page) -> None:
            shown.set_viewport_size({"width": size[0], "height": size[1]})

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
    explorer(page, size).page.wait_for_function(f"({SHARE})() >= {SIZES[size]}")


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


def test_the_title_of_charts_is_not_in_their_legend(explorer: Callable) -> None:
    page = explorer("kmeans?method=dplloyd&view=noise", (1280, 720)).page
    title, legend = (page.locator(one).first.bounding_box() for one in (".gtitle", ".legend"))
    assert title["y"] + title["height"] <= legend["y"]

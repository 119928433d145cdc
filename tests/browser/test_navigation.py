"""The navigation: five doors, the pages behind the open door, and "?"."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import REFERENCE, Watched

DOORS = ["Explore", "Compare", "Learn", "Release", "Evidence"]

#: Names of the links in a part of the page, and of the link that is marked as the current page.
LINKS = """(part) => { const links = [...document.querySelectorAll(`${part} a`)];
  return [links.map((one) => one.innerText), links.filter((one) =>
    one.ariaCurrent === "page" || one.matches(":has([data-testid=stMarkdownContainer] p)")
      && Number(getComputedStyle(one.querySelector("p")).fontWeight) > 500
  ).map((one) => one.innerText)]; }"""

HEADER, BEHIND = "[data-testid=stHeader]", ".st-key-behind"


#: Height of the side bar.
BAR = "document.querySelector('[data-testid=stSidebar]')?.offsetHeight ?? 0"


def links(page: Page, part: str) -> tuple[list[str], list[str]]:
    names, marked = page.evaluate(LINKS, part)
    return names, marked


def test_five_doors_lead_to_all_pages(
    app_url: Callable, open_page: Callable[..., Watched], faultless: Callable
) -> None:
    watched = faultless(open_page(app_url("app.py"), height=720))
    page = watched.page
    page.wait_for_selector(".gtitle", state="attached")
    assert links(page, HEADER) == (DOORS, ["Explore"])
    assert links(page, BEHIND) == (["WaveCluster", "k-means"], ["WaveCluster"])
    assert page.locator(HEADER).bounding_box()["height"] <= 40
    first = page.get_by_role("link", name="Explore").first
    beside_side_bar = first.bounding_box()["x"]
    # One click leads from one explorer to the other, and the door stays marked.
    watched.go("k-means")
    page.wait_for_url("**/kmeans?**")
    expect(page).to_have_title("k-means · dpviz")
    assert links(page, HEADER) == (DOORS, ["Explore"])
    assert links(page, BEHIND)[1] == ["k-means"]
    watched.go("Papers")
    expect(page).to_have_title("Papers · dpviz")
    watched.wait_idle()  # meanwhile Streamlit measures how many links the header holds
    expect(page.locator(f"{HEADER} a")).to_have_text(DOORS)
    assert links(page, HEADER) == (DOORS, ["Evidence"])
    assert abs(first.bounding_box()["x"] - beside_side_bar) < 30
    # The logo stays, and nothing else of the side bar of the explorer.
    expect(page.get_by_role("img", name="Logo")).to_be_in_viewport()
    assert page.evaluate(BAR) < 40
    assert links(page, BEHIND) == (["Benchmark", "Audit", "Papers"], ["Papers"])
    # A door leads to the page that was last open behind it.
    watched.go("Explore")
    page.wait_for_url("**/kmeans?**")
    watched.wait_idle()
    assert page.evaluate(BAR) > 600
    # The keyboard reaches the pages of reference.
    page.get_by_role("button", name="Reference").press("Enter")
    panel = page.get_by_test_id("stPopoverBody")
    expect(panel.get_by_role("link")).to_have_text(REFERENCE)
    page.wait_for_function("() => document.activeElement.innerText === 'Glossary'")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Glossary · dpviz")
    expect(panel).to_have_count(0)  # the menu is closed
    watched.wait_idle()
    expect(page.locator(f"{HEADER} a")).to_have_text(DOORS)
    assert links(page, HEADER) == (DOORS, [])


@pytest.mark.exhaustive(reason="tests/browser/test_sizes.py opens pages on a phone daily")
def test_a_phone_has_the_doors_in_the_side_bar(app_url: Callable, open_page: Callable) -> None:
    small = {"width": 390, "height": 844}
    watched = open_page(
        f"{app_url('app.py')}/papers", before=lambda one: one.set_viewport_size(small)
    )
    page = watched.page
    expect(page.get_by_role("link", name="Audit", exact=True)).to_be_visible()
    page.get_by_role("button", name="Expand sidebar").click()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Compare").click()
    expect(page).to_have_title("Compare · dpviz")


@pytest.mark.exhaustive(reason="tests/ui/test_share.py reads what a frame shows")
def test_a_frame_has_no_navigation(app_url: Callable, open_page: Callable) -> None:
    page = open_page(f"{app_url('app.py')}/papers?embed=true").page
    expect(page.locator("h1")).to_have_text("Papers")
    for part in (HEADER, BEHIND, ".st-key-reference", ".st-key-share"):
        assert not page.locator(part).is_visible()


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", ["wavecluster", ""])
def test_the_first_page_has_two_addresses(
    path: str, app_url: Callable, open_page: Callable
) -> None:
    page = open_page(f"{app_url('app.py')}/{path}").page
    expect(page).to_have_title("WaveCluster · dpviz")
    page.wait_for_selector(".gtitle", state="attached")
    assert links(page, HEADER) == (DOORS, ["Explore"])
    assert links(page, BEHIND)[1] == ["WaveCluster"]

"""Many draws, the search for the smallest budget, and the stepper in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Watched


@pytest.fixture
def opened(app_url, open_page):
    """Open a page of the app; at the end it has no complaints and has asked no outside host."""
    pages = []

    def open_(path: str) -> Watched:
        watched = open_page(f"{app_url('app.py')}{path}")
        pages.append(watched)
        return watched

    yield open_
    for watched in pages:
        assert watched.errors == []
        assert watched.hosts <= {"127.0.0.1"}


def unfold(watched: Watched, label: str) -> None:
    watched.page.get_by_text(label, exact=True).click()
    watched.page.wait_for_timeout(300)
    watched.wait_idle()


@pytest.mark.exhaustive(reason="tests/ui/test_draws.py checks the bands and the played draw")
def test_draws_come_with_bands_and_can_be_played(opened) -> None:
    watched = opened("/?data=incomes&method=privthr&g=16")
    page = watched.page
    unfold(watched, "Many draws, not one lucky draw")
    expect(page.get_by_text("50 of 50 draws")).to_be_visible()
    expect(page.get_by_role("img", name="Scores of 50 draws")).to_be_visible()
    maps = page.get_by_role("img", name="Probability of each cell of being significant")
    expect(maps).to_be_visible()
    slider = page.get_by_role("slider", name="Play the draws")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("img", name="On the right draw 2 (seed 1)")).to_be_visible()
    page.get_by_role("button", name="Show it above").click()
    expect(page.locator(".gtitle").first).to_contain_text("seed 1")
    page.wait_for_url("**&seed=1**")


@pytest.mark.exhaustive
def test_the_page_stays_usable_while_draws_run_and_cancel_stops_them(opened) -> None:
    watched = opened("/kmeans?data=gaussians&method=gupt&k=15")
    page = watched.page
    unfold(watched, "Many draws, not one lucky draw")
    expect(page.get_by_text("50 of 50 draws")).to_be_visible()
    watched.choose("Draws", "500")
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    # Meanwhile another control works.
    page.get_by_text("Noise", exact=True).click()
    expect(page.get_by_role("img", name="oise").first).to_be_visible()
    cancel.click()
    expect(page.get_by_text("Stopped after")).to_be_visible()
    # The user can start the draws again.
    page.get_by_role("button", name="Draw", exact=True).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()


@pytest.mark.exhaustive(reason="tests/ui/test_wavecluster.py counts what broke daily")
def test_what_broke_a_cluster_is_said_in_words(opened) -> None:
    watched = opened("/?data=spirals&method=privqt&epsilon=0.5&g=40&p=0.1")
    page = watched.page
    unfold(watched, "What broke this cluster?")
    expect(page.get_by_text("The threshold is the cause")).to_be_visible()
    expect(page.get_by_text("The true threshold with the same noisy cells")).not_to_have_count(0)


@pytest.mark.exhaustive
def test_the_smallest_budget_is_found_and_taken_over(opened) -> None:
    watched = opened("/?data=gaussians&method=privthr")
    page = watched.page
    unfold(watched, "Find parameters")
    page.get_by_role("button", name="Find the smallest").click()
    take = page.get_by_role("button", name="Take over").first
    expect(take).to_be_visible()
    take.click()
    watched.page.wait_for_timeout(500)
    watched.wait_idle()
    assert "epsilon=1&" not in page.url

"""The game in a real Chromium, played by hand: alone, and in a teacher's room."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import CALM, Watched


def guess(page: Page, side: str) -> None:
    # After a wrong guess, the picture stays until "Next draw".
    page.evaluate(CALM)
    if page.get_by_role("button", name="Next draw").count():
        page.get_by_role("button", name="Next draw").click()
    page.get_by_role("button", name=f"The person is {side}").click()


def score(page: Page, who: str, guesses: int) -> None:
    """Wait until the score of a player or of the class has this many guesses."""
    text = re.compile(rf"^{who}: \d+ of {guesses} right")
    page.locator(".dpv-score", has_text=text).wait_for()


def fits(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.exhaustive(reason="tests/ui/test_game.py plays daily, without a browser")
def test_a_hand_plays_alone_and_with_a_class(
    app_url: Callable[[str], str],
    open_page: Callable[..., Watched],
    faultless: Callable[[Watched], Watched],
) -> None:
    watched = faultless(open_page(f"{app_url('app.py')}/game"))
    page = watched.page
    page.get_by_role("button", name="The person is in").wait_for()
    picture = page.locator(".live-figure [role=img], .live-figure .image").first
    picture.wait_for()

    # A single player: two clicks and a key, then the rule plays.
    guess(page, "in")
    score(page, "You", 1)
    guess(page, "out")
    score(page, "You", 2)
    page.keyboard.press("n")  # after a wrong guess; else it does nothing
    page.get_by_role("button", name="The person is in").wait_for()
    page.keyboard.press("i")
    score(page, "You", 3)
    expect(page.locator(".dpv-answer")).to_contain_text(re.compile("Right|Wrong"))
    page.get_by_role("button", name="Let the rule play").click()
    score(page, "Best rule", 103)
    # A player can beat a leaking method by eye, as the page says.
    watched.choose("Play against", "Town map (PrivQT as published)")
    page.get_by_text("How can it be beaten?").click()
    page.get_by_text("all other persons are in one corner").wait_for()

    # A room: the teacher uses this page, and a player opens the link on a phone.
    watched.choose("Play against", "Four squares (PrivQT)")
    score(page, "You", 3)
    page.get_by_role("button", name="Open a room").click()
    link = page.locator(".dpv-qr figcaption")
    link.wait_for()
    assert "key=" not in link.inner_text()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
    phone = faultless(open_page(link.inner_text(), "dark"))
    phone.page.set_viewport_size({"width": 390, "height": 844})
    for number, side in enumerate(("in", "out", "in"), start=1):
        guess(phone.page, side)
        score(phone.page, "You", number)
    assert fits(phone.page)
    answer = phone.page.locator(".dpv-answer").bounding_box()
    assert answer["y"] + answer["height"] <= 844  # draw, buttons and answer fit on one screen
    page.get_by_text("1 player").wait_for()
    score(page, "Class", 3)
    page.get_by_role("radio", name="Easy: ε = 2", exact=True).click()
    page.get_by_text("0 guesses").wait_for()
    # The click on the old draw does not count, and the player sees the new level.
    button = phone.page.get_by_role("button", name=re.compile("Next draw|The person is in"))
    button.click()
    phone.page.get_by_text("ε = 2").first.wait_for()
    guess(phone.page, "in")
    score(page, "Class", 1)
    page.get_by_role("button", name="End the room").click()
    page.get_by_role("button", name="Open a room").wait_for()
    phone.page.evaluate(CALM)
    button.click()
    phone.page.get_by_text("is not open: it has ended").wait_for()
    phone.page.get_by_role("button", name="Leave the room").click()
    phone.page.get_by_role("button", name="Open a room").wait_for()

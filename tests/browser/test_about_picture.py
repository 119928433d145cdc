"""“About this picture” in a browser: with the keyboard, in all views, on paper, and in a frame."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpviz.ui.widgets.about_picture import ABOUT

ABOUT_PICTURE = ".dpv-about"


@pytest.mark.exhaustive
def test_the_words_of_a_figure_follow_its_view(
    app_url: Callable, open_page: Callable, faultless: Callable
):
    url = app_url("app.py")
    watched = faultless(open_page(url))
    page, about = watched.page, watched.page.locator(ABOUT_PICTURE)
    about.wait_for()
    words = about.get_by_text(ABOUT["clusters"].shows)
    assert not words.is_visible()
    about.locator("summary").focus()
    page.keyboard.press("Enter")
    words.wait_for()
    # Opened sections stay open and show the text of the next view. Closed sections stay closed.
    page.get_by_role("button", name="Stage counts").click()
    about.get_by_text(ABOUT["counts"].shows).wait_for()
    about.locator("summary").click()
    page.get_by_role("button", name="Stage cut").click()
    page.get_by_role("button", name="Threshold", exact=True).click()
    about.get_by_text(ABOUT["threshold"].shows).wait_for(state="attached")
    watched.wait_idle()
    assert not about.get_by_text(ABOUT["threshold"].shows).is_visible()
    page.emulate_media(media="print")
    assert not about.is_visible()

    frame = faultless(open_page(f"{url}/?embed=true"))
    frame.page.wait_for_selector(".gtitle")
    frame.wait_idle()
    assert frame.page.locator(ABOUT_PICTURE).count() == 0

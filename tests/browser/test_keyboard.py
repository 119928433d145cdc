"""A data owner who has only a keyboard: load, method, epsilon, redraw, release, download."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import FileChooser, expect

from tests.browser.conftest import Watched
from tests.browser.test_release import bundle_of, settled, visits

__all__ = ["visits"]

#: Name and role of the focused element, as a screen reader would read them out.
FOCUSED = """() => { let at = document.activeElement;
while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
if (at === document.body) return "nothing";
const words = at.matches("a, button, summary") ? at.innerText : at.localName;
return (at.getAttribute("aria-label") || words).replace(/^[a-z_]+\\s+(?=[A-Z])/, "") }"""

#: Upper limit of the number of controls of a page. Without a limit, the search for a lost focus
#: would not end.
MOST_TABS = 60


class Keyboard:
    """A person who has only a keyboard."""

    def __init__(self, watched: Watched) -> None:
        self.watched, self.page = watched, watched.page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        settled(self.watched)

    def focused(self) -> str:
        return str(self.page.evaluate(FOCUSED))

    def go_to(self, name: str, key: str = "Tab", most: int = MOST_TABS) -> int:
        """Move the focus to the element whose name matches a pattern; return the number of Tabs."""
        passed = []
        for tabs in range(1, most + 1):
            self.page.keyboard.press(key)
            passed.append(self.focused())
            if re.search(name, passed[-1]):
                return tabs
        raise AssertionError(f"{name} can't be reached: {passed}")

    def choose_file(self, path: Path) -> None:
        """Open the file dialog by its button, and choose a file."""
        chosen: list[FileChooser] = []
        self.page.on("filechooser", lambda one: chosen.append(one))
        for _ in range(3):
            # A late run redraws the button, and then a key press on the old button is lost.
            self.watched.wait_calm()
            if "Upload" not in self.focused():
                self.go_to("Upload")
            self.page.keyboard.press("Enter")
            self.page.wait_for_timeout(2_000)
            if chosen:
                break
        assert chosen, f"no list of files opens from {self.focused()}"
        chosen[0].set_files(path)

    def type(self, text: str) -> None:
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)
        self.press("Enter")


@pytest.mark.exhaustive
def test_an_owner_releases_with_the_keyboard_alone(
    app_url: Callable[[str], str],
    open_page: Callable[..., Watched],
    faultless: Callable[[Watched], Watched],
    visits: Path,
    tmp_path: Path,
) -> None:
    # The address of the first page does not contain a name, but people type it with a name.
    watched = faultless(open_page(f"{app_url('app.py')}/wavecluster?g=16&p=0.3&method=privqt"))
    page, keyboard = watched.page, Keyboard(watched)
    page.locator(".live-figure .main-svg").first.wait_for()
    assert page.get_by_role("dialog").count() == 0
    # Load a table.
    keyboard.go_to("^Data$")
    page.keyboard.type("Own data")
    keyboard.press("Enter")
    assert keyboard.focused() == "Data"
    expect(page.get_by_text("Load a file in the side bar")).to_be_visible()
    settled(watched)
    keyboard.choose_file(visits)
    expect(page.locator(".gtitle")).to_contain_text("secret-visits.csv")
    settled(watched)
    # Method, epsilon, another draw: each control keeps the focus.
    keyboard.go_to("^Method$")
    page.keyboard.type("PrivTHR")
    keyboard.press("Enter")
    assert keyboard.focused() == "Method"
    keyboard.go_to("^Skip to epsilon$", "Shift+Tab")
    keyboard.press("Enter", "ArrowRight", "ArrowRight")
    assert keyboard.focused() == "Privacy budget ε"
    keyboard.go_to("^Redraw$", "Shift+Tab")
    keyboard.press("Enter")
    assert keyboard.focused() == "Redraw"
    page.wait_for_url(re.compile("method=privthr&.*epsilon=1.1&.*seed=1"))
    # The release page is shown from its top, at the first step that has something to do.
    keyboard.go_to("^Release once with these settings")
    keyboard.press("Enter")
    page.wait_for_url("**/release?**")
    expect(page.get_by_text("Step 2 of 5: Where")).to_be_in_viewport()
    keyboard.go_to("^east: from, to$")
    keyboard.type("0, 100")
    assert keyboard.go_to("^north: from, to$", most=3) == 1
    keyboard.type("0, 100")
    # "Next" keeps the focus, and the next step begins after it.
    keyboard.go_to("Next$", "Shift+Tab")
    for title in ("Who is protected", "Rehearse", "Sign"):
        keyboard.press("Enter")
        expect(page.get_by_text(re.compile(rf"^Step \d of 5: {title}"))).to_be_visible()
        if title == "Who is protected":
            keyboard.go_to("^input$")  # the first answer
            keyboard.press("Space")
            settled(watched)
            keyboard.go_to("Next$", "Shift+Tab")
    # Budget, review, debit, download. If a pressed button disappears, its heading has the focus.
    keyboard.go_to("^Name of the data source$")
    keyboard.type("visits by hand")
    assert keyboard.focused() == "Name of the data source"
    keyboard.go_to("^Lifetime budget of this source$", most=4)
    keyboard.type("2")
    keyboard.go_to("^Review the release$", most=6)
    keyboard.press("Enter")
    expect(page.get_by_text("This can't be taken back.")).to_be_visible()
    keyboard.go_to("^Debit", most=4)
    keyboard.press("Enter")
    expect(page.get_by_text("Released as number")).to_be_visible()
    settled(watched)
    # After several runs, the focus is where the last run put it.
    watched.wait_calm()
    keyboard.go_to("^Bundle", most=6)
    assert "release.json" in bundle_of(page, tmp_path, lambda: page.keyboard.press("Enter"))

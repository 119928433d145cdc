"""The about page in a real Chromium: the navigation leads to it, and its BibTeX can be saved."""

from pathlib import Path

import pytest

from dpviz.papers.references import REFERENCES


@pytest.mark.exhaustive
def test_a_hand_finds_what_to_cite_and_saves_it(app_url, open_page, faultless):
    watched = faultless(open_page(app_url("app.py")))
    page = watched.page
    watched.go("About")
    page.get_by_role("heading", name="About dpviz", exact=False).wait_for()
    assert page.url.endswith("/about")
    for title in ("What is private", "Cite", "Licences", "Report a privacy flaw"):
        page.get_by_role("heading", name=title, exact=False).wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="All of these (BibTeX)").click()
    saved = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert saved.count("\n@") == len(REFERENCES)
    # The browser's Back button leads to the previous page.
    page.go_back()
    page.locator(".gtitle").first.wait_for(state="attached")

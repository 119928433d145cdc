"""The papers page in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpviz.papers import PAPERS, ROWS

#: Cells of the table whose text is cut off.
CUT = """() => [...document.querySelectorAll('.dpv-papers td, .dpv-papers span')]
  .filter(node => node.clientWidth && node.scrollWidth > node.clientWidth + 1)
  .map(node => node.textContent)"""

#: Positions in a head of the table that another element covers while the page scrolls.
HIDDEN_HEADS = """() => {
  const main = document.querySelector('[data-testid=stMain]')
  const head = document.querySelectorAll('.dpv-papers th')[1]
  const hidden = []
  for (let top = 900; top < 1200; top += 5) {
    main.scrollTop = top
    const box = head.getBoundingClientRect()
    for (const part of [0.2, 0.5, 0.8]) {
      const front = document.elementFromPoint(box.x + 40, box.y + part * box.height)
      if (front !== head) hidden.push([top, box.y, front?.outerHTML])
    }
  }
  return hidden
}"""


@pytest.mark.exhaustive(reason="test_sizes.py looks for cut text")
@pytest.mark.parametrize("width", [390, 1280, 2560])
@pytest.mark.parametrize("paper", PAPERS)
def test_nothing_is_cut_off(app_url: Callable, open_page: Callable, paper: str, width: int) -> None:
    watched = open_page(f"{app_url('app.py')}/papers?paper={paper}&evidence=all")
    watched.page.set_viewport_size({"width": width, "height": 900})
    watched.page.wait_for_selector(".dpv-papers")
    assert watched.page.evaluate(CUT) == []
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.errors == []
    assert watched.hosts == {"127.0.0.1"}


@pytest.mark.exhaustive(reason="tests/ui/test_papers.py opens the links of rows")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("000-alg4", "PrivTHREM"),  # the first page of the app has no path
        ("002-noise", "DPLloyd"),
    ],
)
def test_a_link_opens_the_run_in_a_tab_of_its_own(
    app_url: Callable, open_page: Callable, name: str, shown: str
) -> None:
    row = next(row for row in ROWS if row.name == name)
    watched = open_page(f"{app_url('app.py')}/papers?paper={row.paper}&evidence=all")
    link = watched.page.get_by_role("link", name=f"Open: {row.what}", exact=True)
    with watched.page.context.expect_page() as opened:
        link.click()
    page = opened.value
    page.wait_for_selector(".gtitle", state="attached")
    assert shown in page.locator(".gtitle").first.text_content()
    # Streamlit says "Page not found" in a dialog.
    assert page.get_by_role("dialog").count() == 0
    assert watched.page.locator(".dpv-papers").count() == 1


@pytest.mark.exhaustive(reason="a rule of the style sheet, which rarely changes")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_heads_of_columns_stay_in_front_while_rows_scroll_by(
    app_url: Callable, open_page: Callable, scheme: str
) -> None:
    page = open_page(f"{app_url('app.py')}/papers?paper=004&evidence=all").page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_selector(".dpv-papers")
    hidden = page.evaluate(HIDDEN_HEADS)
    assert hidden == []
    colours = "e => getComputedStyle(document.querySelector(e)).backgroundColor"
    head, app = (page.evaluate(colours, one) for one in (".dpv-papers th", "[data-testid=stApp]"))
    assert head == app

"""The papers' own data on the compare page, in a real Chromium: as a typed path or an upload."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.test_compare import comparer, expect_title

__all__ = ["comparer"]

FEW = "preset=000-6&draws=1&epsilons=0.5,1&methods=privthr"


def held(folder: Path, name: str, records: int) -> Path:
    points = np.random.default_rng(0).uniform(0, 1e6, (records, 2))
    np.savetxt(folder / name, points, fmt="%d", delimiter=",")
    return folder / name


def expect_panels(watched, *titles: str) -> None:
    """Wait until the panels have these headings, perhaps with a privacy claim after them."""
    watched.page.wait_for_function(
        """titles => {
          const found = [...document.querySelectorAll('.annotation-text')].map(n => n.textContent)
          return titles.every(one => found.some(all => all.split(" · ")[0] === one))
        }""",
        arg=list(titles),
    )


@pytest.mark.exhaustive
def test_a_hand_gives_the_paper_s_sets_by_path_and_as_files(comparer: Callable, tmp_path: Path):
    watched = comparer(FEW)
    page = watched.page
    expect_title(watched, "published steps, not private · on stand-ins")
    expect_panels(
        watched,
        "stand-in: Fifteen Gaussians for DS1",
        "stand-in: Three spirals for DS2",
        "stand-in: Five shapes for DS3",
    )
    # The whole name of the figure is below the box.
    page.get_by_text("Chen, Yu, Chirkova 2015, figure 6: DSG_C", exact=True).wait_for()
    page.get_by_test_id("stExpander").get_by_text("The paper's own data").click()
    box = page.get_by_label("Path of DS2")
    box.fill("~nobody-here/file.csv")
    box.press("Enter")
    page.get_by_text("DS2: there is no file ~nobody-here/file.csv on this computer").wait_for()
    box.fill("/no/such/file.csv")
    box.press("Enter")
    page.get_by_text("DS2: there is no file /no/such/file.csv on this computer").wait_for()
    box.fill(str(held(tmp_path, "two.csv", 31_200)))
    box.press("Enter")
    expect_panels(watched, "stand-in: Fifteen Gaussians for DS1", "DS2")
    # A file contains somebody's data, even if it looks like the set of a paper.
    page.get_by_text("they are for the data owner only").wait_for()
    expect(page.get_by_text("Not for publication: shows scores against true data")).to_be_visible()
    files = [held(tmp_path, "three.csv", 31_520), held(tmp_path, "one.csv", 30_000)]
    page.locator("[data-testid=stFileUploader] input").set_input_files([str(one) for one in files])
    expect_panels(watched, "DS1", "DS2", "DS3")
    assert "stand-in" not in page.evaluate("document.querySelector('.gtitle').textContent")
    assert "two.csv" not in page.url
    # One of the runs is opened on the explorer's page, where its data are the user's own data.
    page.get_by_role("button", name="Open in its explorer").click()
    page.wait_for_url(re.compile("data=own"))
    page.get_by_text("Loaded: one.csv").wait_for()
    expect_title(watched, "PrivTHR")

"""A data owner in a real browser: load, declare, tune, release, download."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched

#: Contents of the files of a bundle, by the files' names.
Bundle = dict[str, bytes]


@pytest.fixture
def owner(app_url, open_page, faultless):
    def open_(path: str) -> Watched:
        watched = open_page(f"{app_url('app.py')}{path}")
        return faultless(watched)

    return open_


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Visits of 400 persons to three places; a person has up to four visits."""
    rng = np.random.default_rng(0)
    places = np.array([[20, 30], [70, 25], [50, 80]])[rng.integers(3, size=1600)]
    points = np.clip(places + rng.normal(0, 4, (1600, 2)), 0, 100)
    path = tmp_path / "secret-visits.csv"
    rows = (f"{x:.2f},{y:.2f},p{i % 400}\n" for i, (x, y) in enumerate(points))
    path.write_text("east,north,person\n" + "".join(rows))
    return path


def settled(watched: Watched) -> None:
    watched.page.wait_for_timeout(300)
    watched.wait_idle()


def name_source(watched: Watched, name: str) -> None:
    box = watched.page.get_by_role("textbox", name="Name of the data source")
    box.fill(name)
    box.press("Enter")
    settled(watched)


def bundle_of(page: Page, folder: Path, press: Callable[[], object] | None = None) -> Bundle:
    """Download the bundle, by a click or by calling ``press``; return the files of the bundle."""
    with page.expect_download() as waiting:
        (press or page.get_by_role("button", name="Bundle (ZIP)").click)()
    packed = folder / "bundle.zip"
    waiting.value.save_as(packed)
    with zipfile.ZipFile(packed) as archive:
        return {one: archive.read(one) for one in archive.namelist()}


def declare(watched: Watched) -> None:
    page = watched.page
    page.get_by_test_id("stSidebar").get_by_role("button", name="Domain").click()
    page.get_by_text("declared: known without the data").click()
    settled(watched)
    for name in ("east", "north"):
        box = page.get_by_role("textbox", name=f"{name}: from, to")
        box.fill("0, 100")
        box.press("Enter")
        settled(watched)
    page.keyboard.press("Escape")


def protect_persons(watched: Watched) -> None:
    page = watched.page
    page.get_by_role("button", name="Protects").click()
    watched.choose("Privacy unit", "a person: column person")
    settled(watched)
    cap = page.get_by_role("spinbutton", name="Most records of a person")
    cap.fill("2")
    cap.press("Enter")
    settled(watched)
    page.keyboard.press("Escape")


def test_a_data_owner_loads_declares_tunes_releases_and_is_refused_over_budget(
    owner, visits: Path, tmp_path: Path
) -> None:
    watched = owner("/?data=own&method=privthrem&g=16&p=0.3")
    page = watched.page
    page.set_input_files("input[type=file]", visits)
    title = page.locator(".gtitle")
    expect(title).to_contain_text("secret-visits.csv")
    badge = page.locator('.dpv-card[data-name="Method"]')
    expect(badge).to_contain_text("not private")
    declare(watched)
    expect(badge.locator(".dpv-beside")).to_have_text("proof holds")
    protect_persons(watched)
    expect(page.get_by_text("2 records of yours at most take part")).to_be_visible()
    # At most two records of each person remain, and the noise is twice as wide.
    expect(page.get_by_text("800 records left out")).to_be_visible()
    expect(page.locator(".dpv-ledger li").first).to_contain_text("sensitivity 2")
    # Tuning: the threshold is reduced by a tenth.
    slider = page.get_by_role("slider", name="Privacy budget")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    settled(watched)
    page.get_by_role("link", name="Release once with these settings").click()
    page.wait_for_url("**/release?**")
    expect(page.get_by_role("heading", name="Release once, safely")).to_be_visible()
    # Data, columns, bounds, persons and method are the same as on the other page.
    expect(page.get_by_text("east and north were proposed on another page")).to_be_visible()
    method = page.get_by_role("combobox", name="Method")
    expect(method).to_have_value("WaveCluster: PrivTHREM")
    expect(page.get_by_text("· declared domain")).to_be_visible()
    expect(page.get_by_text("2 records of yours at most take part")).to_be_visible()
    review = page.get_by_role("button", name="Review the release")
    expect(review).to_be_disabled()
    name_source(watched, "visits of the town")
    total = page.get_by_role("spinbutton", name="Lifetime budget of this source")
    total.fill("1.5")
    total.press("Enter")
    settled(watched)
    review.click()
    expect(page.get_by_text("This can't be taken back.")).to_be_visible()
    page.get_by_role("button", name="Debit").dblclick()
    expect(page.get_by_text("Released as entry")).to_be_visible()
    expect(page.get_by_role("img", name="Private clusters")).to_be_visible()
    files = bundle_of(page, tmp_path)
    document = json.loads(files["release.json"])
    assert (document["privacy"]["unit"], document["privacy"]["cap"]) == ("person", 2)
    assert document["domain"]["bounds"] == [[0, 100], [0, 100]]
    assert document["result"]["clusters"] >= 1
    assert not [one for one in files.values() if b"secret" in one or b"town" in one]
    # A second release of the same source requests more than the remaining budget.
    page.get_by_role("button", name="Prepare another release").click()
    settled(watched)
    expect(page.locator(".dpv-said")).to_contain_text("Over budget")
    page.get_by_role("button", name="Review the release").click()
    page.get_by_role("button", name="Debit").click()
    refused = page.get_by_role("alert").filter(has_text="Refused")
    expect(refused).to_contain_text("of the lifetime budget 1.5 of source")
    # The report is self-contained: when it is opened from the disk, it makes no requests.
    report = tmp_path / "report.html"
    report.write_bytes(files["report.html"])
    alone = page.context.new_page()
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(report.as_uri())
    expect(alone.locator("h1").first).to_be_visible()
    assert alone.locator("svg").count() >= 1
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.exhaustive
def test_a_second_window_sees_the_spend_at_once(owner) -> None:
    link = "/release?data=noise&method=privqt&g=16&epsilon=2"
    first, second = owner(link), owner(link)
    for one in (first, second):
        expect(one.page.locator(".dpv-said")).to_contain_text("0 spent, this release 2")
    first.page.get_by_role("button", name="Review the release").click()
    first.page.get_by_role("button", name="Debit").click()
    expect(first.page.get_by_text("Released as entry")).to_be_visible()
    # The second window does not change.
    expect(second.page.locator(".dpv-said")).to_contain_text("Over budget: 1")
    second.page.get_by_role("button", name="Review the release").click()
    second.page.get_by_role("button", name="Debit").click()
    refused = second.page.get_by_role("alert").filter(has_text="Refused")
    expect(refused).to_contain_text("1 of the lifetime budget 3")


@pytest.mark.exhaustive(reason="keys on other pages are pressed daily")
def test_a_release_by_keyboard_alone(owner) -> None:
    watched = owner("/release?data=incomes&method=eugkm&k=3&epsilon=0.5")
    page = watched.page
    review = page.get_by_role("button", name="Review the release")
    review.focus()
    page.keyboard.press("Enter")
    debit = page.get_by_role("button", name="Debit")
    debit.wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if (
            page.evaluate("document.activeElement.closest('button')?.textContent ?? ''").find(
                "Debit"
            )
            >= 0
        ):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_text("Released as entry")).to_be_visible()

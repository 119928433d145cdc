"""A data owner in a real browser: load, declare, tune, release, download."""

from __future__ import annotations

import json
import re
import time
import zipfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from dpviz.release.files import files
from dpviz.release.package import asked
from tests.browser.conftest import Watched
from tests.release.test_files import of_cells, of_centers
from tests.release.test_report import on_earth
from tests.support.countries import country_of, read_map

#: Contents of the files of a bundle, by the files' names.
Bundle = dict[str, bytes]


@pytest.fixture
def owner(app_url, open_page, faultless):
    def open_(path: str) -> Watched:
        watched = open_page(f"{app_url('app.py')}{path}")
        return faultless(watched)

    return open_


NUMBERS = count(1)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Visits of 400 persons to three places; a person has up to four visits."""
    rng = np.random.default_rng(0)
    places = np.array([[20, 30], [70, 25], [50, 80]])[rng.integers(3, size=1600)]
    points = np.clip(places + rng.normal(0, 4, (1600, 2)), 0, 100)
    # Tests share a budget file, in which equal bytes are one source.
    points[0, 0] += 0.01 * next(NUMBERS)
    path = tmp_path / "secret-visits.csv"
    rows = (f"{x:.2f},{y:.2f},p{i % 400}\n" for i, (x, y) in enumerate(points))
    path.write_text("east,north,person\n" + "".join(rows))
    return path


def settled(watched: Watched) -> None:
    watched.page.wait_for_timeout(300)
    watched.wait_idle()


def step(watched: Watched, title: str) -> None:
    """Open a step of the release."""
    watched.page.get_by_role("radio", name=re.compile(rf"^\d {title}")).click()
    watched.page.get_by_text(re.compile(rf"^Step \d of 5: {title}")).wait_for()
    settled(watched)


def name_source(watched: Watched, name: str) -> None:
    step(watched, "Sign")
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
    expect(page.get_by_role("heading", name="Publish once, safely")).to_be_visible()
    # Data, columns, bounds, persons and method are the same as on the other page.
    expect(page.get_by_text("Step 4 of 5: Rehearse")).to_be_visible()
    page.get_by_text("Method and all settings").click()
    method = page.get_by_role("combobox", name="Method")
    expect(method).to_have_value(re.compile("^WaveCluster: PrivTHREM"))
    expect(page.get_by_text("2 records of yours at most take part")).to_be_visible()
    step(watched, "File")
    expect(page.get_by_text("east and north were proposed on another page")).to_be_visible()
    step(watched, "Where")
    expect(page.get_by_role("textbox", name="east: from, to")).to_have_value("0, 100")
    step(watched, "Who is protected")
    expect(page.get_by_role("radio", name="Yes: person names the person")).to_be_checked()
    step(watched, "Sign")
    review = page.get_by_role("button", name="Review the release")
    review.click()
    expect(page.get_by_role("alert").filter(has_text="Name the data source first")).to_be_visible()
    name_source(watched, "visits of the town")
    total = page.get_by_role("spinbutton", name="Lifetime budget of this source")
    total.fill("1.5")
    total.press("Enter")
    settled(watched)
    review.click()
    expect(page.get_by_text("This can't be taken back.")).to_be_visible()
    page.get_by_role("button", name="Debit").dblclick()
    expect(page.get_by_text("Released as number")).to_be_visible()
    expect(page.get_by_role("img", name="Private clusters")).to_be_visible()
    made = bundle_of(page, tmp_path)
    document = json.loads(made["release.json"])
    assert (document["privacy"]["unit"], document["privacy"]["cap"]) == ("person", 2)
    assert document["domain"]["bounds"] == [[0, 100], [0, 100]]
    assert document["result"]["clusters"] >= 1
    assert not [one for one in made.values() if b"secret" in one or b"town" in one]
    # A second release of the same source requests more than the remaining budget.
    page.get_by_role("button", name="Prepare another release").click()
    step(watched, "Sign")
    expect(page.locator(".dpv-said")).to_contain_text("Over budget")
    expect(page.get_by_role("alert").filter(has_text="too small for this ε")).to_be_visible()
    page.get_by_role("button", name="Review the release").click()
    settled(watched)
    expect(page.get_by_role("button", name="Debit")).to_have_count(0)
    assert page.get_by_text("private", exact=True).count() == 0  # nothing green beside a refusal
    # The report is self-contained: when it is opened from the disk, it makes no requests.
    report = tmp_path / "report.html"
    report.write_bytes(made["report.html"])
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
        one.page.get_by_role("button", name="Review the release").click()
        one.page.get_by_role("button", name="Debit").wait_for()
    first.page.get_by_role("button", name="Debit").click()
    expect(first.page.get_by_text("Released as number")).to_be_visible()
    # The second window does not change.
    expect(second.page.locator(".dpv-said")).to_contain_text("Over budget: 1")
    second.page.get_by_role("button", name="Debit").click()
    refused = second.page.get_by_role("alert").filter(has_text="Refused")
    expect(refused).to_contain_text("1 of the lifetime budget 3")
    assert second.page.get_by_text("private", exact=True).count() == 0


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
    expect(page.get_by_text("Released as number")).to_be_visible()


def pages_of(chromium: Browser, report: bytes, folder: Path) -> int:
    """Number of A4 pages of a report, printed by Chromium."""
    path = folder / "printed.html"
    path.write_bytes(report)
    page = chromium.new_page()
    page.goto(path.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    page.close()
    assert re.search(rb"/MediaBox\s*\[0 0 59[45][.\d]* 84[12]", printed), "not A4"
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))


def hostile_reports() -> dict[str, dict[str, Any]]:
    """Documents whose reports are long: many clusters, long texts, many columns, no map."""
    many = on_earth([1, 2, 3], 5)
    many["title"] = "The rides of a whole year in the city and around it, " * 3
    many["privacy"]["odds"] *= 3
    spots = np.zeros((64, 64), dtype=bool)
    spots[::2, ::2] = True
    long = "a very long name of a column that nobody would ever use in a table"
    tall = of_cells(
        np.ones((64, 64)), spots, block=1, bounds=[(0, 1), (0, 30)], columns=["x", long]
    )
    wide = of_centers([[0.1 * at] * 10 for at in range(9)], [5.0] * 9, columns=[long] * 10)
    return {"many": many, "tall": tall, "wide": wide, "none": on_earth([], 0)}


@pytest.mark.daily("many")
@pytest.mark.parametrize("name", ["many", "tall", "wide", "none"])
def test_a_report_prints_on_one_page(chromium, tmp_path: Path, name: str) -> None:
    assert pages_of(chromium, files(hostile_reports()[name])["report.html"], tmp_path) == 1


@pytest.mark.daily("many")
@pytest.mark.parametrize("name", ["many", "tall", "wide", "none"])
def test_a_review_sheet_prints_on_two_pages(chromium, tmp_path: Path, name: str) -> None:
    """With long words of the owner, and more earlier releases than anybody makes."""
    document = hostile_reports()[name]
    earlier = {"date": "2026-01-01", "epsilon": 0.5, "method": "privthrem"}
    document |= {"earlier": [earlier] * 30}
    long = "Many words that an owner may say about the data. " * 100
    about = {
        one.name: [long[:900]] * 5 if one.kind == "list" else (*one.choices, long.strip())[0]
        for one in asked().values()
    }
    assert pages_of(chromium, files(document, about)["sheet.html"], tmp_path) == 2


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    """20,000 rides of 2,500 persons in Berlin, with three hot spots; ten rows can't be read."""
    rng = np.random.default_rng(7)
    spots = np.array([[13.389, 52.517], [13.454, 52.512], [13.332, 52.507]])
    person = rng.integers(0, 2500, 20_000)
    near = spots[person % 3] + rng.normal(0, 1, (20_000, 2)) * [0.0035, 0.0022]
    far = rng.uniform([13.1, 52.35], [13.7, 52.67], (20_000, 2))
    at = np.where(rng.random((20_000, 1)) < 0.85, near, far)
    rows = [f"r{who},{lon:.5f},{lat:.5f}" for who, (lon, lat) in zip(person, at, strict=True)]
    for bad in range(500, 20_000, 1950):
        rows[bad] = f"{rows[bad].split(',')[0]},oops,52.5"
    path = tmp_path / "rides.csv"
    path.write_text("\n".join(["rider,lon,lat", *rows]) + "\n")
    return path


@pytest.mark.exhaustive(reason="the steps are walked daily without a browser")
def test_an_owner_releases_rides_with_15_actions_in_5_minutes(
    owner, chromium, rides: Path, tmp_path: Path
) -> None:
    watched = owner("/release")
    page, begun = watched.page, time.monotonic()
    page.set_viewport_size({"width": 1280, "height": 720})
    actions: list[str] = []

    def do(name: str, action: Callable[[], object]) -> None:
        actions.append(name)
        action()
        settled(watched)

    def following() -> None:
        do("next", page.get_by_role("button", name="Next").click)

    def fill(role: Any, name: str, text: str) -> None:
        """Type a text without Enter: the next click sends it."""
        actions.append(name)
        page.get_by_role(role, name=name).fill(text)

    expect(page.get_by_test_id("stFileUploaderDropzone")).to_be_in_viewport()
    do("file", lambda: page.set_input_files("input[type=file]", rides))
    expect(
        page.get_by_text("Active: rides.csv · 19,990 records · columns lon and lat")
    ).to_be_visible()
    expect(page.get_by_text("10 rows can't be read.")).to_be_visible()
    following()
    expect(page.locator("[data-testid=stMain] .js-plotly-plot")).to_be_visible()
    do("type a city", lambda: page.get_by_role("combobox", name="City").fill("Berlin"))
    do("take it", page.get_by_role("option", name="Berlin, Germany").click)
    expect(page.get_by_text("The largest city inside is Berlin, Germany.").first).to_be_visible()
    following()
    do("persons", page.get_by_text("Yes: rider names the person").click)
    fill("spinbutton", "Most records of a person", "8")
    # The number of persons is the only number that the rehearsal can't know.
    fill("spinbutton", "Persons, about", "2500")
    following()
    seen = time.monotonic()
    map_of = page.get_by_text(re.compile(r"^\d+ true, \d+ invented"))
    map_of.first.wait_for()
    first_map = time.monotonic() - seen
    told = page.get_by_text(re.compile("^(Recommended: |The plan in use is the recommended)"))
    told.first.wait_for()
    settled(watched)
    expect(map_of).to_have_count(9)
    take = page.get_by_role("button", name=re.compile("^Use the recommended plan"))
    if take.count():
        expect(told.first).to_be_in_viewport()
        expect(take).to_be_in_viewport(ratio=1)
        do("take the plan", take.click)
    expect(page.get_by_text("The plan in use is the recommended one")).to_be_visible()
    expect(map_of).to_have_count(9)
    following()
    fill("textbox", "Name of the data source", "rides of Berlin")
    do("review", page.get_by_role("button", name="Review the release").click)
    # Only the owner of other sources is asked: here those of other tests, in the same file.
    others = page.get_by_role("combobox", name="Is a person of this file also")
    if others.count():
        others.click()
        page.get_by_role("option", name="No").first.click()
        settled(watched)
    expect(
        page.get_by_text("lon is the longitude (x) and lat the latitude (y)").last
    ).to_be_visible()
    expect(page.get_by_role("img", name="Declared domain")).to_be_visible()
    expect(page.get_by_role("heading", name="Review and sign")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Debit")).to_be_in_viewport(ratio=1)
    do("sign", page.get_by_role("button", name="Debit").click)
    expect(page.get_by_text("Released as number")).to_be_visible()
    actions.append("download")
    made = bundle_of(page, tmp_path)
    seconds = time.monotonic() - begun
    print(f"{actions}, {seconds:.0f} s, first map after {first_map:.1f} s")
    assert len(actions) <= 15, actions
    assert seconds < 300
    document = json.loads(made["release.json"])
    assert (document["privacy"]["unit"], document["privacy"]["cap"]) == ("person", 8)
    doubtful = document["doubtful"]["clusters"]
    report = made["report.html"].decode()
    assert report.count("may be noise</b>") == len(doubtful)
    assert pages_of(chromium, made["report.html"], tmp_path) == 1
    system, shapes, fields = read_map(_written(tmp_path, made["clusters.geojson"]))
    assert system == "EPSG:4326"
    found = [one for one, doubt in zip(shapes, fields["doubtful"], strict=True) if not doubt]
    assert found
    for one in found:
        place = one.representative_point()
        assert country_of(place.x, place.y) == "Germany"
        assert 13.1 < place.x < 13.7


def _written(folder: Path, content: bytes) -> Path:
    path = folder / "clusters.geojson"
    path.write_bytes(content)
    return path


@pytest.mark.exhaustive
def test_a_box_is_drawn_on_a_map_without_records_and_drawing_again_zooms_in(
    owner, rides: Path
) -> None:
    watched = owner("/release?data=own&columns=lon,lat&method=privqt")
    page = watched.page
    page.set_input_files("input[type=file]", rides)
    page.get_by_text("Step 2 of 5: Where").wait_for()
    boxes = [page.get_by_role("textbox", name=f"{name}: from, to") for name in ("lon", "lat")]
    widths = [360.0]
    for _ in range(2):
        plot = page.locator("[data-testid=stMain] .js-plotly-plot .nsewdrag").first
        plot.wait_for()
        watched.wait_calm()
        frame = plot.bounding_box()
        assert frame is not None
        # Europe is a little right of the middle, in the upper half.
        for x, y, move in ((0.45, 0.1, "down"), (0.62, 0.5, "up")):
            page.mouse.move(
                frame["x"] + x * frame["width"], frame["y"] + y * frame["height"], steps=4
            )
            getattr(page.mouse, move)()
        page.wait_for_function(
            "before => document.querySelector('[aria-label=\"lon: from, to\"]').value !== before",
            arg=boxes[0].input_value(),
        )
        settled(watched)
        low, high = map(float, boxes[0].input_value().split(","))
        south, north = map(float, boxes[1].input_value().split(","))
        assert -180 <= low < high <= 180
        assert -90 <= south < north <= 90
        widths.append(high - low)
    assert widths[0] > 4 * widths[1]
    assert widths[1] > 1.3 * widths[2]
    # The page does not say that this box was chosen by a look at the data.
    assert page.get_by_text("chosen by a look at the data").count() == 0
    expect(page.get_by_role("button", name="Next")).to_be_enabled()


#: Ends of the axes of the map, and the box on it.
ON_MAP = """() => { const { xaxis, yaxis, shapes: [box] } =
  document.querySelector("[data-testid=stMain] .js-plotly-plot")._fullLayout;
  return [[...xaxis.range, box.x0, box.x1], [...yaxis.range, box.y0, box.y1]]; }"""

#: Headings that a person sees.
HEADINGS = """() => [...document.querySelectorAll("h1, h2")]
  .filter((one) => getComputedStyle(one).clipPath === "none" && one.offsetWidth > 2)
  .map((one) => one.textContent)"""


@pytest.mark.exhaustive(reason="the map is tested in a wide window, daily")
def test_on_a_phone_the_map_goes_to_the_city_and_the_page_has_one_heading(
    app_url, open_page, faultless, rides: Path
) -> None:
    small = {"width": 390, "height": 844}
    link = "/release?data=own&columns=lon,lat&method=privqt&domain=150,151.5;-34,-33.5"
    watched = faultless(
        open_page(f"{app_url('app.py')}{link}", before=lambda one: one.set_viewport_size(small))
    )
    page = watched.page
    page.set_input_files("input[type=file]", rides)
    page.get_by_text("Step 3 of 5").wait_for()
    assert page.evaluate(HEADINGS) == ["Publish once, safely"]
    step(watched, "Where")
    for city in ("", "Berlin"):
        if city:
            page.get_by_role("combobox", name="City").fill(city)
            page.get_by_role("option", name=re.compile(f"^{city},")).first.click()
        boxes = [page.get_by_role("textbox", name=f"{name}: from, to") for name in ("lon", "lat")]
        watched.wait_calm()
        page.wait_for_function(
            f"(west) => Math.abs(({ON_MAP})()[0][2] - west) < 1e-9",
            arg=float(boxes[0].input_value().split(",")[0]),
        )
        for box, (low, high, *drawn) in zip(boxes, page.evaluate(ON_MAP), strict=True):
            ends = [float(one) for one in box.input_value().split(",")]
            assert drawn == ends
            assert low < ends[0] < ends[1] < high
            assert abs(low + high - sum(ends)) < 0.1 * (ends[1] - ends[0])


#: Records the left edge of the page's heading whenever it changes.
EDGES = """() => { window.edges = []; (function look() {
  const one = document.querySelector(".st-key-release-title h2");
  const edge = one && Math.round(one.getBoundingClientRect().x);
  if (edge !== null && edge !== window.edges.at(-1)) window.edges.push(edge);
  requestAnimationFrame(look); })(); }"""


def test_the_page_does_not_move_when_it_replaces_a_page_with_a_side_bar(owner) -> None:
    watched = owner("/")
    page = watched.page
    page.locator(".live-figure .main-svg").first.wait_for()
    watched.wait_calm()
    assert page.get_by_test_id("stSidebar").is_visible()
    page.evaluate(EDGES)
    watched.go("Release")
    page.get_by_role("heading", name="Publish once, safely").wait_for()
    watched.wait_calm()
    (edge,) = page.evaluate("window.edges")
    assert edge < 100

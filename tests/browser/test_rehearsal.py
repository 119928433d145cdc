"""A release in a real browser: rehearsal, public settings, and clusters that are doubtful."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from playwright.sync_api import expect

from dpviz.privacy.explain import PRECEDENTS
from tests.browser.conftest import Watched
from tests.browser.test_release import bundle_of, name_source, owner, settled, step

__all__ = ["owner"]

#: A rehearsal takes seconds, and longer on a busy machine.


def planned(owner, table: Path, link: str) -> Watched:
    """Open the release page with a table and the settings of a link; a rehearsal can start."""
    watched = owner(f"/release?data=own&{link}")
    watched.page.set_input_files("input[type=file]", table)
    # The link has all that the first three steps ask for.
    expect(watched.page.get_by_text("Step 4 of 5: Rehearse")).to_be_visible()
    return watched


@pytest.fixture
def hot_spots(tmp_path: Path) -> Path:
    rng = np.random.default_rng(7)
    places = np.array([[2.29, 48.86], [2.41, 48.88], [2.38, 48.82]])
    at = places[rng.choice(3, 20_000, p=[0.5, 0.3, 0.2])]
    points = at + rng.normal(0, 1, (20_000, 2)) * [0.008, 0.004]
    path = tmp_path / "hot-spots.csv"
    rows = (f"{x:.5f},{y:.5f},p{i // 3}\n" for i, (x, y) in enumerate(points))
    path.write_text("lon,lat,person\n" + "".join(rows))
    return path


@pytest.mark.exhaustive(reason="the owner of test_release.py goes this way daily")
def test_an_owner_rehearses_reviews_releases_and_sees_what_may_be_noise(
    owner, hot_spots: Path, tmp_path: Path
) -> None:
    watched = planned(
        owner,
        hot_spots,
        "method=privthrem&g=64&p=0.45&alpha=0.7&epsilon=1&columns=lon,lat"
        "&unit=person&cap=3&domain=2.22,2.47;48.8,48.91&nhat=20000",
    )
    page = watched.page
    expect(
        page.get_by_text(re.compile(r"Two places closer than about [\d.]+ k?m become one"))
    ).to_be_visible()
    said = page.get_by_text(re.compile(r"Expect about \d+ invented clusters of \d+ reported"))
    expect(said.first).to_be_visible()
    # Pictures appear together with the first sentences, and each picture has its numbers.
    expect(page.get_by_text(re.compile(r"^\d+ true, \d+ invented")).first).to_be_visible()
    expect(said.first).to_contain_text("5% to 95% of 50 draws")
    advice = page.get_by_text(re.compile(r"^Recommended: .*expect about \d+ invented of \d+"))
    expect(advice).to_be_visible()
    where = page.get_by_text("Rehearsed on 5 small made-up clusters, 20,000 records")
    expect(where).to_be_visible()
    expect(where).to_contain_text("For as many records without clusters, the plan reports about")
    name_source(watched, "hot spots")
    page.get_by_role("button", name="Review the release").click()
    review = page.get_by_role("listitem").filter(has_text="Rehearsal on 5 small made-up clusters")
    expect(review).to_contain_text("invented clusters of")
    page.get_by_role("button", name="Debit").click()
    expect(page.get_by_text("Released as number")).to_be_visible()
    verdict = page.get_by_text(re.compile(r"(noise|passes)\. From released numbers only"))
    expect(verdict).to_be_visible()
    files = bundle_of(page, tmp_path)
    document = json.loads(files["release.json"])
    doubtful = set(document["doubtful"]["clusters"])
    features = json.loads(files["clusters.geojson"])["features"]
    marked = {one["properties"]["cluster"] for one in features if one["properties"]["doubtful"]}
    assert marked == doubtful
    # Large clusters are real, and the report contains how many clusters may be false.
    counts = {one["properties"]["cluster"]: one["properties"]["count"] for one in features}
    assert max(counts, key=lambda one: counts[one]) not in doubtful
    for file in ("clusters.svg", "report.html"):
        assert files[file].count(b"url(#clusters-doubtful)") == len(doubtful), file


@pytest.mark.exhaustive
def test_own_data_start_with_public_settings_and_the_review_rehearses_unasked(
    owner, hot_spots: Path
) -> None:
    plan = "method=privthr&columns=lon,lat&domain=2.22,2.47;48.8,48.91&several=no"
    watched = planned(owner, hot_spots, plan)
    page = watched.page
    page.get_by_text("Method and all settings").click()
    expect(page.get_by_role("combobox", name="Choose g and p")).to_have_value("privately")
    expect(page.get_by_text("never from looking at the data")).to_be_visible()
    # The number of records is not known, because the file must not give it.
    number = page.get_by_role("spinbutton", name="Records, about")
    expect(number).to_have_value("")
    expect(page.get_by_text("the rehearsal waits for it")).to_be_visible()
    number.fill("10000")
    number.press("Enter")
    settled(watched)
    name_source(watched, "hot spots")
    page.get_by_role("button", name="Review the release").click()
    review = page.get_by_role("listitem").filter(has_text="Rehearsal on 5 small made-up clusters")
    expect(review).to_contain_text("invented clusters of")


@pytest.fixture
def city(tmp_path: Path) -> Path:
    """Three hot spots of a city, each 1% of the domain wide, and 10% of the records elsewhere."""
    rng = np.random.default_rng(11)
    places = np.array([[13.389, 52.517], [13.454, 52.512], [13.332, 52.507]])
    near = places[rng.choice(3, 18_000)] + rng.normal(0, 1, (18_000, 2)) * [0.0035, 0.0022]
    far = rng.uniform([13.25, 52.43], [13.55, 52.6], (2_000, 2))
    path = tmp_path / "rides.csv"
    rows = (f"{x:.5f},{y:.5f},r{rng.integers(8_000)}\n" for x, y in rng.permutation([*near, *far]))
    path.write_text("lon,lat,rider\n" + "".join(rows))
    return path


@pytest.mark.exhaustive(reason="tests/ui/test_release.py takes the recommended plan")
def test_the_recommended_plan_is_taken_stays_on_other_pages_and_is_undone_by_back(
    owner, city: Path
) -> None:
    watched = planned(
        owner,
        city,
        "method=privqt&g=64&p=0.8&epsilon=1&columns=lon,lat&standin=small"
        "&unit=rider&cap=3&domain=13.2,13.6;52.4,52.64&nhat=20000",
    )
    page = watched.page
    told = page.get_by_text(
        re.compile("^Recommended: Two-stage, g 88, p 0.99 — expect about 0 invented of ")
    )
    expect(told).to_be_visible()
    # The forecast is only for small clusters.
    expect(page.get_by_text("Are your clusters small")).to_have_count(0)
    button = page.get_by_role("button", name=re.compile("^Use the recommended plan"))
    expect(button).to_have_count(1)
    button.click()
    page.get_by_text("Method and all settings").click()
    p = page.get_by_role("spinbutton", name=re.compile("^Density threshold p"))
    expect(p).to_have_value("0.99")
    in_use = page.get_by_text("The plan in use is the recommended one")
    expect(in_use).to_be_visible()
    expect(page.get_by_text(re.compile("^Expect about 0 invented clusters"))).to_be_visible()
    expect(button).to_have_count(0)
    settled(watched)
    assert "p=0.99" in page.url
    page.go_back()
    settled(watched)  # Until then the old box is beside the new one.
    expect(p).to_have_value("0.80")
    # The previous plan has its own advice, which is still shown.
    expect(told).to_be_visible()
    page.go_forward()
    expect(in_use).to_be_visible()
    settled(watched)
    # The advice stays while the user visits another page.
    watched.go("Glossary")
    expect(page.get_by_role("heading", name="Glossary", level=1)).to_be_attached()
    watched.go("Release")
    expect(in_use).to_be_visible()
    expect(page.get_by_text(re.compile(r"^5 true, 0 invented")).first).to_be_visible()


@pytest.mark.exhaustive(reason="tests/ui/test_release.py leaves them out daily")
def test_clusters_that_may_be_noise_can_be_left_out_of_the_file(
    owner, city: Path, tmp_path: Path
) -> None:
    watched = planned(
        owner,
        city,
        "method=privqt&g=64&p=0.7&epsilon=0.5&columns=lon,lat"
        "&unit=rider&cap=3&domain=13.2,13.6;52.4,52.64&nhat=20000",
    )
    page = watched.page
    name_source(watched, "rides of a city")
    page.get_by_role("button", name="Review the release").click()
    page.get_by_role("button", name="Debit").click()
    expect(page.get_by_text("Released as number")).to_be_visible()
    files = bundle_of(page, tmp_path)
    document = json.loads(files["release.json"])
    doubtful = document["doubtful"]["clusters"]
    # With these settings, PrivQT invents dozens of clusters in every draw.
    assert doubtful
    picture = page.get_by_role("img", name="Private clusters")
    whole = picture.get_attribute("src")
    # On the screen and in the bundle, exactly the doubtful clusters are hatched.
    drawn = drawing(whole)
    hatched = re.findall(r"url\(#clusters-doubtful\)[^>]*>\s*<title>cluster (\d+): may", drawn)
    assert {int(one) for one in hatched} == set(doubtful)
    assert picture.evaluate("one => one.complete && one.naturalWidth > 200")
    button = page.get_by_role("button", name="Map without doubtful (GeoJSON)")
    with page.expect_download() as waiting:
        button.click()
    kept = tmp_path / "kept.geojson"
    waiting.value.save_as(kept)
    told = {one["properties"]["cluster"] for one in json.loads(kept.read_text())["features"]}
    every = {
        one["properties"]["cluster"]: one["properties"]["doubtful"]
        for one in json.loads(files["clusters.geojson"])["features"]
    }
    assert told == {one for one, may_be_noise in every.items() if not may_be_noise}
    # The bundle stays complete.
    again = bundle_of(page, tmp_path)
    assert again["clusters.geojson"] == files["clusters.geojson"]


def drawing(source: str) -> str:
    kind, _, content = source.partition(",")
    return base64.b64decode(content).decode() if kind.endswith("base64") else unquote(content)


@pytest.mark.exhaustive(reason="tests/ui/test_epsilon_panel.py checks the numbers and sources")
@pytest.mark.parametrize(
    "path",
    ["/", "/kmeans", "/release", "/compare", "/audit"],
)
def test_what_epsilon_means_stands_beside_it(owner, path: str) -> None:
    watched = owner(path)
    page = watched.page
    if path == "/release":
        step(watched, "Rehearse")
    panel = page.get_by_test_id("stExpander").filter(has_text="What ε means")
    panel.wait_for()
    watched.wait_calm()
    panel.locator("summary").click()
    expect(panel.get_by_text("% sure at most")).to_be_visible()
    expect(panel.get_by_text("What others have published with")).to_be_visible()
    rows = panel.get_by_role("row")
    expect(rows).to_have_count(1 + len(PRECEDENTS))
    for row, one in zip(rows.all()[1:], PRECEDENTS, strict=True):
        expect(row.get_by_role("cell").last).to_have_text(one.source)
    if path == "/release":
        expect(page.get_by_text("one a year for 3 years")).to_be_visible()
    # Another page can be opened while the panel is open, also by the link in the panel.
    panel.get_by_role("link", name="Glossary").click()
    expect(page.get_by_role("heading", name="Glossary", level=1)).to_be_attached()
    expect(page.get_by_text("Limit on the information that a result may reveal")).to_be_visible()
    watched.go("k-means")
    page.wait_for_selector(".gtitle")

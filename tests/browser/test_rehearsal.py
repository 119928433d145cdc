"""Before and after a release in a real browser: rehearsal, public settings, doubtful clusters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.test_release import bundle_of, name_source, owner, settled

__all__ = ["owner"]

#: A rehearsal takes seconds, and longer on a busy machine.
PATIENCE = 90_000


@pytest.fixture
def hot_spots(tmp_path: Path) -> Path:
    """Three hot spots in 20,000 rows of longitude, latitude and person."""
    rng = np.random.default_rng(7)
    places = np.array([[2.29, 48.86], [2.41, 48.88], [2.38, 48.82]])
    at = places[rng.choice(3, 20_000, p=[0.5, 0.3, 0.2])]
    points = at + rng.normal(0, 1, (20_000, 2)) * [0.008, 0.004]
    path = tmp_path / "hot-spots.csv"
    rows = (f"{x:.5f},{y:.5f},p{i // 3}\n" for i, (x, y) in enumerate(points))
    path.write_text("lon,lat,person\n" + "".join(rows))
    return path


def test_an_owner_rehearses_reviews_releases_and_sees_what_may_be_noise(
    owner, hot_spots: Path, tmp_path: Path
) -> None:
    watched = owner(
        "/release?data=own&method=privthrem&g=64&p=0.45&alpha=0.7&epsilon=1&columns=lon,lat"
        "&unit=person&cap=3&domain=2.22,2.47;48.8,48.91&nhat=20000"
    )
    page = watched.page
    page.set_input_files("input[type=file]", hot_spots)
    heading = page.get_by_role("heading", name="Rehearse")
    expect(heading).to_be_visible(timeout=30_000)
    # The link's own choices stay; beside them stands what public facts would give.
    origin = page.get_by_text("follows from public facts: about 20,000 records (public), ε 1")
    expect(origin).to_contain_text("In use is 64")
    expect(origin).to_contain_text(re.compile(r"cells are then [\d.]+ k?m × [\d.]+ k?m"))
    page.get_by_role("button", name="Rehearse", exact=True).click()
    said = page.get_by_text(re.compile(r"Expect about \d+ invented clusters of \d+ reported"))
    expect(said.first).to_be_visible(timeout=PATIENCE)
    expect(said.first).to_contain_text("5% to 95% of 50 draws")
    expect(page.get_by_text("Rehearsed on 5 made-up clusters, 20,000 records")).to_be_visible()
    name_source(watched, "hot spots")
    page.get_by_role("button", name="Review the release").click()
    review = page.get_by_role("listitem").filter(has_text="Rehearsal on 5 made-up clusters")
    expect(review).to_contain_text("invented clusters of")
    page.get_by_role("button", name="Debit").click()
    expect(page.get_by_text("Released as entry")).to_be_visible(timeout=PATIENCE)
    verdict = page.get_by_text(re.compile(r"(more than|may be) noise\. From released numbers"))
    expect(verdict).to_be_visible()
    files = bundle_of(page, tmp_path)
    document = json.loads(files["release.json"])
    doubtful = set(document["doubtful"]["clusters"])
    features = json.loads(files["clusters.geojson"])["features"]
    marked = {one["properties"]["cluster"] for one in features if one["properties"]["doubtful"]}
    assert marked == doubtful
    # Whatever is large is real, and the report says how many may not be.
    counts = {one["properties"]["cluster"]: one["properties"]["count"] for one in features}
    assert max(counts, key=lambda one: counts[one]) not in doubtful
    assert files["clusters.svg"].count(b"url(#clusters-doubtful)") == len(doubtful)


def test_own_data_start_with_public_settings_and_the_review_rehearses_unasked(
    owner, hot_spots: Path
) -> None:
    watched = owner("/release?data=own&method=privthr&columns=lon,lat&domain=2.22,2.47;48.8,48.91")
    page = watched.page
    page.set_input_files("input[type=file]", hot_spots)
    expect(page.get_by_role("heading", name="Rehearse")).to_be_visible(timeout=30_000)
    expect(page.get_by_role("combobox", name="Choose g and p")).to_have_value("privately")
    expect(page.get_by_text("never from looking at the data")).to_be_visible()
    # Nobody knows how many records there are: the guess is no number of the file.
    expect(page.get_by_role("spinbutton", name="Records, about")).to_have_value("10000")
    watched.choose("Choose g and p", "by hand")
    settled(watched)
    expect(page.get_by_text("(a guess: type what is known)")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Use g = ")).click()
    settled(watched)
    expect(page.get_by_text("It is the one in use.")).to_be_visible()
    name_source(watched, "hot spots")
    page.get_by_role("button", name="Review the release").click()
    review = page.get_by_role("listitem").filter(has_text="Rehearsal on 5 made-up clusters")
    expect(review).to_contain_text("invented clusters of", timeout=PATIENCE)


@pytest.mark.parametrize("path", ["/", "/kmeans", "/release", "/compare", "/audit"])
def test_what_epsilon_means_stands_beside_it(owner, path: str) -> None:
    watched = owner(path)
    page = watched.page
    opener = page.get_by_role("button", name="What ε means").first
    opener.wait_for(timeout=60_000)
    opener.click()
    expect(page.get_by_text("% sure at most").first).to_be_visible()
    expect(page.get_by_text("What others have published with").first).to_be_visible()
    if path == "/release":
        expect(page.get_by_text("one a year lasts 3 years")).to_be_visible()

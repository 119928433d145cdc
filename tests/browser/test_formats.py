"""Typical files of users, uploaded by hand; and typed numbers that are out of range."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.files import dbf, sheet, shp, workbook, zipped

POINTS = [
    [round(x, 4), round(y, 4)]
    for x, y in np.random.default_rng(3).normal((13.4, 52.5), 0.1, (400, 2)).tolist()
]
PLAIN = "\n".join(["lon;lat", *(f"{x};{y}".replace(".", ",") for x, y in POINTS)])
FILES = {
    "trees.xlsx": workbook(
        {"notes": sheet([["about"], ["city trees"]]), "trees": sheet([["lon", "lat"], *POINTS])}
    ),
    "trees.geojson": json.dumps(
        {
            "type": "FeatureCollection",
            "features": [
                {
                    "type": "Feature",
                    "geometry": {"type": "Point", "coordinates": point},
                    "properties": {"id": at},
                }
                for at, point in enumerate(POINTS)
            ],
        }
    ).encode(),
    "trees.zip": zipped(
        {
            "trees.shp": shp([[(x, y)] for x, y in POINTS]),
            "trees.dbf": dbf([("id", "N", 6)], [[b"%d" % at] for at in range(len(POINTS))]),
            "trees.prj": 'GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984"]]',
        }
    ),
    "trees.csv": PLAIN.encode(),
}


# Tests without a browser read all kinds of files. Here the user chooses one sheet of a workbook.
@pytest.mark.exhaustive(reason="test_explorer.py uploads a file; tests/data reads all kinds")
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_kind_is_on_the_screen_after_its_upload(
    name, app_url, open_page, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    watched = open_page(f"{app_url('app.py')}/?data=own&g=16")
    watched.page.locator("input[type=file]").set_input_files(tmp_path / name)
    if name == "trees.xlsx":
        watched.page.get_by_role("combobox", name="Sheet").wait_for()
        watched.wait_idle()
        watched.choose("Sheet", "trees")
    watched.page.get_by_text(f"Active: {name} · 400 records").wait_for()
    watched.wait_idle()
    assert watched.page.get_by_role("combobox", name="Across").input_value() == "lon"
    assert watched.page.get_by_role("combobox", name="Upwards").input_value() == "lat"
    assert not watched.page.locator("[data-testid=stAlertContentError]").count()


@pytest.mark.exhaustive(reason="tests/data/reading/test_proposal.py has this choice daily")
def test_columns_without_names_of_places_are_the_two_most_continuous(
    app_url, open_page, tmp_path: Path
) -> None:
    # Numbers with separators between thousands, as in a spreadsheet. Whole numbers need groups of
    # three digits.
    rng = np.random.default_rng(5)
    rows = [
        f'{at},{at % 5},"{income:,.2f}","{rent:,.2f}"'
        for at, (income, rent) in enumerate(rng.normal((54_000, 1_400), (9_000, 300), (400, 2)))
    ]
    (tmp_path / "homes.csv").write_text("\n".join(["number,rooms,income,rent", *rows]))
    watched = open_page(f"{app_url('app.py')}/?data=own&g=16")
    page = watched.page
    page.locator("input[type=file]").set_input_files(tmp_path / "homes.csv")
    page.get_by_text("Active: homes.csv · 400 records").wait_for()
    watched.wait_idle()
    assert page.get_by_role("combobox", name="Across").input_value() == "income"
    assert page.get_by_role("combobox", name="Upwards").input_value() == "rent"
    assert page.get_by_text('thousands separators in "income"').is_visible()
    # On a small figure, the first tick has the title.
    assert page.locator(".xtick text").first.text_content().startswith("income")


@pytest.mark.exhaustive(reason="tests/ui/test_rows.py and test_release.py go each part of it")
def test_a_messy_file_goes_the_whole_way_from_its_notes_to_a_release(
    app_url, open_page, tmp_path: Path
) -> None:
    rows = [f"{x},{y},{'oak' if at % 3 else '-'}" for at, (x, y) in enumerate(POINTS)]
    lines = ["# trees of the city", "# exported 2024", "lon,lat,kind", *rows]
    (tmp_path / "trees.csv").write_text("\n".join(lines))
    watched = open_page(f"{app_url('app.py')}/?data=own&g=16")
    page = watched.page
    page.locator("input[type=file]").set_input_files(tmp_path / "trees.csv")
    page.get_by_text("Active: trees.csv · 400 records").wait_for()
    watched.wait_idle()
    # The reader guessed something, so the panel is open. The link contains the correction.
    assert page.get_by_text("2 lines above the table are skipped.").is_visible()
    box = page.get_by_role("spinbutton", name="Skip lines")
    box.fill("2")
    box.press("Enter")
    page.wait_for_url("**skip=2**")
    watched.wait_idle()
    assert page.get_by_text("Active: trees.csv · 400 records").is_visible()
    # A release does not guess, so it reads the values on the screen from a plain file.
    watched.go("Release")
    page.get_by_text("A release can't use lines to skip, as for trees.csv here").wait_for()
    watched.wait_idle()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    assert saved.value.suggested_filename == "trees-read.csv"
    saved.value.save_as(tmp_path / "trees-read.csv")
    written = (tmp_path / "trees-read.csv").read_text().splitlines()
    assert written[0] == "lon,lat,kind"
    assert len(written) == 401
    page.locator("input[type=file]").set_input_files(tmp_path / "trees-read.csv")
    page.get_by_text("Active: trees-read.csv · 400 records").wait_for()
    watched.wait_idle()
    assert "skip=" not in page.url


@pytest.mark.exhaustive(reason="test_live.py types such numbers daily")
def test_a_number_out_of_range_is_said_and_not_taken(app_url, open_page) -> None:
    watched = open_page(f"{app_url('app.py')}/release?data=spirals")
    box = watched.page.get_by_role("spinbutton", name="Lifetime budget of this source")
    box.wait_for()
    watched.wait_idle()
    kept = watched.page.locator("[data-testid=stNumberInput]", has=box)
    content = "node => getComputedStyle(node, '::after').content"
    assert kept.evaluate(content) == "none"
    box.fill("5000")
    box.press("Enter")
    watched.wait_idle()
    assert "Out of range" in kept.evaluate(content)
    assert watched.page.get_by_text("Lifetime budget 3:").count()
    box.fill("5")
    box.press("Enter")
    watched.page.get_by_text("Lifetime budget 5:").wait_for()
    assert kept.evaluate(content) == "none"

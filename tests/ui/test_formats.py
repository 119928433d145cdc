"""Own data in the formats that people have: the panel reads it, and asks for the sheet."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.controls import control
from tests.support.files import sheet, workbook
from tests.ui.test_wavecluster import app, checked, upload  # noqa: F401
from tests.ui.test_working_state import visit

ROWS = [["lon", "lat"], *([at % 30, at % 19] for at in range(300))]
BOOK = workbook(
    {
        "north": sheet(ROWS),
        "empty": sheet([]),
        "south": sheet([["x", "y"], [1, 2], [3, 5], [4, 4]]),
    }
)


def said_of(test: AppTest) -> str:
    return "\n".join(one.value for one in test.caption)


def sheets(test: AppTest) -> list:
    return [one for one in test.selectbox if one.label == "Sheet"]


def test_the_sheet_is_chosen_and_stays_chosen(app):  # noqa: F811
    test = upload(app(), "survey.xlsx", BOOK)
    (picker,) = sheets(test)
    assert picker.options == ["north", "south"]
    assert "survey.xlsx · 300 records" in said_of(test)
    checked(picker.set_value("south").run())
    assert "survey.xlsx · 3 records" in said_of(test)
    checked(control(test.selectbox, "wavecluster:data").set_value("spirals").run())
    checked(control(test.selectbox, "wavecluster:data").set_value("own").run())
    assert "survey.xlsx · 3 records" in said_of(test)
    assert sheets(test)[0].value == "south"


def test_one_sheet_needs_no_choice(app):  # noqa: F811
    test = upload(app(), "one.xlsx", workbook({"a": sheet(ROWS), "b": sheet([])}))
    assert not sheets(test)
    assert not test.error
    assert "one.xlsx · 300 records" in said_of(test)


@pytest.mark.parametrize("more", [{}, {"south": sheet(ROWS[:9])}])
def test_a_release_reads_the_sheet_that_the_explorer_showed(app, more):  # noqa: F811
    book = workbook({"cover": sheet([]), "north": sheet(ROWS)} | more)
    test = upload(app(), "survey.xlsx", book)
    assert "survey.xlsx · 300 records" in said_of(test)
    assert test.query_params["sheet"] == "north"
    visit(test, "release")
    (picker,) = sheets(test)
    assert picker.options == ["cover", "north", *more]
    assert picker.value == "north"
    assert "survey.xlsx · 300 records" in said_of(test)
    assert "north was proposed on another page, which looks at the data" in said_of(test)
    # Chosen by a person, it is no proposal.
    checked(picker.set_value("cover").run())
    checked(sheets(test)[0].set_value("north").run())
    assert "proposed" not in said_of(test)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "as .xlsx"),
        ("cut.xlsx", BOOK[:-30], "no whole zip archive"),
        ("a.geojson", json.dumps({"type": "LineString", "coordinates": []}).encode(), "Centroids"),
        ("t.csv", b"income;y\n54,315;1\n12,001;2\n7;8\n", "54315 or 54.315"),
    ],
)
def test_what_is_refused_leaves_the_last_table(app, name, content, said):  # noqa: F811
    test = upload(app(), "survey.xlsx", BOOK)
    test.file_uploader(key="own:file").set_value((name, content, "application/octet-stream"))
    checked(test.run())
    if name != "t.csv":
        assert [said in one.value for one in test.error] == [True]
        assert "Still on the screen: survey.xlsx" in test.error[0].value
    else:
        assert any(said in one.value for one in test.error)

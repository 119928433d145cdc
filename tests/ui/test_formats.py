"""Own data in common formats: the panel reads the formats, and asks which sheet to read."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.support.controls import control
from tests.support.files import sheet, workbook, zipped
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


def as_text(rows: list) -> str:
    return "\n".join(",".join(map(str, row)) for row in rows)


def arrays(rows: list) -> bytes:
    stream = io.BytesIO()
    points = np.array(rows[1:], dtype=float)
    np.savez(stream, north=points, south=points[:8], year=np.arange(300))
    return stream.getvalue()


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


def test_a_release_reads_no_workbook_and_offers_the_sheet_on_the_screen_as_csv(app):  # noqa: F811
    test = upload(app(), "survey.xlsx", BOOK)
    checked(sheets(test)[0].set_value("south").run())
    visit(test, "release")
    (picker,) = sheets(test)
    assert (picker.options, picker.value) == (["north", "south"], "south")
    (said,) = (one.value for one in test.info)
    assert said.startswith("A release reads only CSV, Parquet and .npy, and survey.xlsx has")
    (button,) = (one for one in test.get("download_button") if one.label == "Save as CSV")
    assert button is not None
    # The values of the file are loaded instead of the file itself.
    saved = test.session_state["own"].loaded.data.csv(2**20)
    assert saved == b"x,y\n1,2\n3,5\n4,4\n"
    test.file_uploader(key="own:file").set_value(("survey-read.csv", saved, "text/csv"))
    checked(test.run())
    assert not sheets(test)
    assert not test.info or "reads CSV, Parquet" not in test.info[0].value
    assert "survey-read.csv · 3 records" in said_of(test)


LAYERS = {
    "Array": ("maps.npz", arrays(ROWS)),
    "File": ("maps.zip", zipped({"north.csv": as_text(ROWS), "south.csv": as_text(ROWS[:9])})),
}


@pytest.mark.parametrize("label", LAYERS)
def test_what_is_to_be_chosen_is_called_what_it_is(app, label):  # noqa: F811
    test = upload(app(), *LAYERS[label])
    (picker,) = (one for one in test.selectbox if one.label == label)
    second = picker.options[1]
    assert f"{LAYERS[label][0]} · 300 records" in said_of(test)
    checked(picker.set_value(second).run())
    assert "· 8 records" in said_of(test)
    assert test.query_params["sheet"] in (second, [second])


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "as .xlsx"),
        ("cut.xlsx", BOOK[:-30], "not a whole zip archive"),
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

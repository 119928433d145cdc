"""Rows that can't be read or are far away: every page names them, and one click leaves them out."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.data.reading.test_unread import WRITERS, as_csv, as_xlsx, table_of
from tests.support.controls import control
from tests.ui.test_local_file import name_path
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import link_of, load, notes, opened, visit

LEAVE = "own:leave out"
COUNT = '1 row was left out: a value in "lon", "lat" is missing, infinite or not a number.'


def click(test: AppTest, key: str) -> AppTest:
    return checked(test.button(key=key).click().run())


def keys(test: AppTest) -> set[str]:
    return {one.key for one in test.button}


def listed(test: AppTest) -> str:
    return " ".join(one.value for one in test.markdown)


def refused(test: AppTest, name: str) -> None:
    """Load a file with one bad cell; a message names it, and one click leaves it out."""
    load(test, name, WRITERS[name](table_of(r4712lat="n.v.")))
    # GeoJSON has no header line above its features.
    row = 4711 if name.endswith(".geojson") else 4712
    (said,) = (one.value for one in test.error if one.value.startswith(f'row {row}, column "'))
    assert 'holds "n.v." where a number is expected' in said
    assert not [one for one in test.error if "oad a file" in one.value]
    assert "choose the file" not in notes(test).lower()
    assert f"{name} has 1 row that can't be read: leave it out, or choose other" in notes(test)
    assert f'row {row}, column "' in listed(test)
    assert test.button(key=LEAVE).label == "Leave this row out"
    click(test, LEAVE)
    assert link_of(test)["rows"] == "readable"
    assert not test.error


def test_one_cell_of_8000_rows_is_left_out_at_one_click_on_all_pages() -> None:
    test = opened("compare", data="own", methods="privqt", draws=1, points=1, g=8)
    refused(test, "a.csv")
    assert COUNT in notes(test)
    for page in ("kmeans", "wavecluster", "release"):
        found = visit(test, page)
        assert COUNT in notes(test)
        assert LEAVE not in keys(test)
        # A release always leaves these rows out, without a choice; all pages name them.
        assert ("1 row can't be read. Each row is judged" in notes(test)) == (page == "release")
        assert ("rows" in found) == (page != "release")
        assert 'row 4712, column "' in listed(test)
        assert found["columns"] == "lon,lat"
    # After a reload, the choice is still there, and can be undone.
    link = visit(test, "wavecluster")
    again = load(opened("wavecluster", **link), "a.csv", as_csv(table_of(r4712lat="n.v.")))
    assert COUNT in notes(again)
    click(again, "own:undo")
    assert "rows" not in link_of(again)
    assert "holds" in again.error[0].value


@pytest.mark.parametrize(("page", "name"), [("kmeans", "a.xlsx"), ("wavecluster", "a.geojson")])
def test_other_files_are_treated_alike(page: str, name: str) -> None:
    columns = "h lon,h lat" if name == "a.geojson" else "lon,lat"
    test = opened(page, data="own", columns=columns)
    refused(test, name)
    assert f"Active: {name} · 7,999 records" in notes(test)
    # A release can't read this format: it says so, and offers to save the shown values as CSV.
    visit(test, "release")
    assert f"only CSV, Parquet and .npy, and {name} has another format" in notes(test)
    assert COUNT not in notes(test)


def test_a_choice_for_one_file_is_none_for_the_next_and_nothing_shown_is_lost() -> None:
    test = click(
        load(opened("kmeans", data="own"), "a.csv", as_csv(table_of(500, r7lon="n.v."))), LEAVE
    )
    load(test, "b.csv", as_csv(table_of(400, r9lat="!")))
    assert "rows" not in link_of(test)
    (said,) = (one.value for one in test.error)
    assert said.endswith("Still on the screen: a.csv, lon and lat.")
    assert "Active: a.csv · 499 records" in notes(test)
    # If another column is chosen, the file need not be chosen again either.
    click(test, LEAVE)
    assert "Active: b.csv · 399 records" in notes(test)


def test_a_release_counts_empty_and_unreadable_rows_once() -> None:
    test = opened("release", data="own")
    lines = [f"{x},{x}" for x in range(20)]
    lines[3], lines[5], lines[7] = "??,1", ",2", "3,"
    load(test, "a.csv", "\n".join(["x,y", *lines]).encode())
    assert '3 rows were left out: a value in "x", "y" is missing' in notes(test)
    assert "2 rows lack a value, and 1 can't be read." in notes(test)


def test_columns_that_hold_words_are_named_and_the_table_stays() -> None:
    rows = [[at, 13 + at / 100, 52 + at % 9, "a word"] for at in range(300)]
    rows[41][2] = "n.v."
    names = b"id,lon,lat,name\n"
    test = opened("wavecluster", data="own", columns="lon,name")
    load(test, "a.csv", names + as_csv(rows).split(b"\n", 1)[1])
    assert 'holds "a word"' in test.error[0].value
    assert "a.csv is loaded, but not on the screen yet: choose other columns" in notes(test)
    assert LEAVE not in keys(test)
    up = next(one for one in test.selectbox if str(one.key).startswith("own:y"))
    checked(up.set_value("lat").run())
    click(test, LEAVE)
    assert "Active: a.csv · 299 records" in notes(test)
    up = next(one for one in test.selectbox if str(one.key).startswith("own:y"))
    checked(up.set_value("name").run())
    assert "Still on the screen: a.csv, lon and lat." in test.error[0].value


def test_a_file_at_a_path_is_treated_alike(tmp_path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(as_xlsx(table_of(300, r47lat="n.v.")))
    test = name_path(opened("kmeans", data="own"), path)
    assert 'holds "n.v."' in test.error[0].value
    assert COUNT in notes(click(test, LEAVE))


@pytest.mark.some(1)
@pytest.mark.parametrize("page", ["wavecluster", "compare"])
def test_a_row_far_from_all_others_is_named_and_left_out_by_a_stated_range(page: str) -> None:
    more = {"methods": "privqt", "draws": 1, "points": 1} if page == "compare" else {}
    test = opened(page, data="own", columns="lon,lat", **more)
    load(test, "a.csv", as_csv(table_of(500, r471lat=513412)))
    said = "1 row lies far from all others, which have lon 13 to 13.96, lat 52 to 52.88: row 471, "
    moved = " Now it is moved to the border."
    assert [one.value for one in test.warning] == [f'{said}column "lat": "513412".{moved}']
    click(test, f"{page}:far")
    assert not test.warning
    found = link_of(test)
    assert (found["domain"], found["outside"]) == ("13.0,13.96;52.0,52.88", "drop")
    assert "chosen by a look at the data" in notes(test)
    # A release does not propose such a box, and says how this box was made.
    visit(test, "release")
    assert "chosen by a look at the data" in notes(test)
    test.session_state["release:domain"] = ""
    checked(test.run())
    assert not test.warning


def test_declared_bounds_and_sample_sets_have_no_such_warning() -> None:
    test = opened("wavecluster", data="own", columns="lon,lat", domain="13,14;52,53")
    load(test, "a.csv", as_csv(table_of(500, r471lat=513412)))
    assert not test.warning
    checked(control(test.selectbox, "wavecluster:data").set_value("shapes").run())
    assert not test.warning

"""How a file of own data is read: notes, fields, entries in links, and the file that is saved."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.controls import control
from tests.ui.test_local_file import name_path
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import link_of, load, notes, opened, visit

PANEL = "How the file is read"
COMMENTS = b"# trees of the city\n# 2024\nlon,lat,kind\n" + b"".join(
    b"13.%04d,52.%04d,%s\n" % (at * 37 % 9973, at * 91 % 9973, b"oak" if at % 5 else b"-")
    for at in range(200)
)
PLAIN = b"lon,lat\n" + b"".join(b"13.%04d,52.%04d\n" % (at * 37 % 997, at) for at in range(100))


def panel(test: AppTest):
    return next((one for one in test.expander if one.label == PANEL), None)


def is_open(test: AppTest) -> bool:
    return bool(panel(test).proto.expanded)


def says(test: AppTest) -> list[str]:
    return [one.value for one in panel(test).caption]


def fill(test: AppTest, name: str, value: object) -> AppTest:
    kind = test.number_input if name == "skip" else test.text_input
    return checked(control(kind, f"own:{name}").set_value(value).run())


def test_what_was_guessed_is_said_in_an_open_panel() -> None:
    test = load(opened("kmeans", data="own"), "trees.csv", COMMENTS)
    assert is_open(test)
    assert says(test) == ["2 lines above the table are skipped."]
    # The note is in this place only.
    assert notes(test).count("2 lines above the table") == 1
    assert "Active: trees.csv · 200 records" in notes(test)


def test_a_plain_file_has_a_closed_panel() -> None:
    test = load(opened("kmeans", data="own"), "plain.csv", PLAIN)
    assert not is_open(test)
    assert says(test) == []


def test_rows_that_are_left_out_open_the_panel() -> None:
    test = load(opened("kmeans", data="own"), "a.csv", PLAIN + b"-,52\n-,53\n")
    assert is_open(test)
    assert says(test)[-1] == '2 rows hold "-" in these columns, which is read as no value.'


def test_each_field_changes_the_picture_and_the_link_opens_it_again() -> None:
    test = load(opened("kmeans", data="own"), "trees.csv", COMMENTS)
    fill(test, "skip", 3)
    control(test.button_group, "own:header").set_value("data")
    checked(test.run())
    assert "Active: trees.csv · 200 records" in notes(test)
    fill(test, "skip", 5)
    assert "Active: trees.csv · 198 records" in notes(test)
    link = link_of(test)
    assert (link["skip"], link["format"]) == ("5", "data")
    again = load(opened("kmeans", **link), "trees.csv", COMMENTS)
    assert link_of(again) == link
    assert "Active: trees.csv · 198 records" in notes(again)
    assert is_open(again)
    # The other pages have the same value.
    assert visit(test, "wavecluster")["skip"] == "5"


def test_marks_of_no_value_and_an_encoding() -> None:
    content = "breite;länge\n".encode("cp1252") + b"".join(
        b"52,%04d;13,%04d\n" % (at, at) for at in range(100)
    )
    test = load(opened("kmeans", data="own"), "a.csv", content + b"999;13,5\nzz;13,5\n")
    assert any("encoding cp1252" in one for one in says(test))
    fill(test, "missing", "999, zz")
    assert "Active: a.csv · 100 records" in notes(test)
    fill(test, "encoding", "latin-9")
    assert {"missing": "999, zz", "encoding": "latin-9"}.items() <= link_of(test).items()
    assert not any("cp1252" in one for one in says(test))
    fill(test, "encoding", "no such one")
    assert 'encoding = "no such one" does not fit' in test.error[0].value
    assert is_open(test)
    fill(test, "encoding", "")
    assert not test.error


@pytest.mark.parametrize("encoding", ["zip", "hex", "rot13", "undefined", "a\0b", "idna"])
def test_a_link_can_name_no_encoding_that_is_none(encoding: str) -> None:
    test = load(opened("kmeans", data="own", encoding=encoding), "plain.csv", PLAIN)
    assert not test.error or "does not fit" in test.error[0].value


def test_another_file_is_read_as_it_is() -> None:
    test = fill(load(opened("kmeans", data="own"), "trees.csv", COMMENTS), "skip", 5)
    fill(test, "missing", "oak")
    load(test, "plain.csv", PLAIN)
    assert not {"skip", "missing", "encoding"} & set(link_of(test))
    assert "Active: plain.csv · 100 records" in notes(test)
    assert control(test.number_input, "own:skip").value is None


def test_wrong_values_in_a_link_are_corrected() -> None:
    test = opened("kmeans", data="own", skip="-3", missing="a\nb")
    assert "skip" in test.warning[0].value
    assert "missing" in test.warning[0].value


def saved(test: AppTest) -> list:
    return [one for one in test.get("download_button") if one.label == "Save as CSV"]


def test_a_release_takes_no_guesses_and_offers_the_values_on_the_screen() -> None:
    test = load(opened("kmeans", data="own"), "trees.csv", COMMENTS)
    visit(test, "release")
    assert "Exploring guesses how trees.csv is read" in notes(test)
    assert len(saved(test)) == 1
    # A release does not use the user's settings of the reader either, because it can't repeat them.
    visit(test, "kmeans")
    fill(test, "skip", 2)
    assert visit(test, "release")["skip"] == "2"
    (said,) = (one.value for one in test.info)
    assert said.startswith("A release can't use lines to skip, as for trees.csv here: save the")
    content = test.session_state["own"].loaded.data.csv(2**20)
    load(test, "trees-read.csv", content)
    assert not saved(test)
    assert "skip" not in link_of(test)
    assert link_of(test)["columns"] == "lon,lat"  # proposed by their names alone


def test_a_plain_file_is_released_as_it_is() -> None:
    test = load(opened("release", data="own"), "plain.csv", PLAIN)
    assert not saved(test)
    assert "Active: plain.csv · 100 records" in notes(test)


def test_a_file_of_this_computer_is_saved_beside_and_loaded(tmp_path: Path) -> None:
    path = tmp_path / "trees.csv"
    path.write_bytes(COMMENTS)
    (tmp_path / "trees-read.csv").write_text("mine")
    test = name_path(opened("kmeans", data="own"), path)
    visit(test, "release")
    checked(test.button(key="own:save").click().run())
    assert (tmp_path / "trees-read.csv").read_text() == "mine"
    written = (tmp_path / "trees-read-2.csv").read_bytes()
    assert written.startswith(b"lon,lat,kind\n13.0000,52.0000,-\n13.0037,52.0091,oak")
    # The columns are the same as before.
    assert "Active: trees-read-2.csv · 200 records" in notes(test)
    assert link_of(test)["columns"] == "lon,lat"


def test_the_domain_is_not_stretched_to_places_that_are_none() -> None:
    content = PLAIN + b"-9999,-9999\n0,0\n"
    test = load(opened("kmeans", data="own", columns="lon,lat"), "a.csv", content)
    (said,) = (one.value for one in test.warning)
    assert "2 rows lie far from all others" in said
    domain = test.session_state["domain:range"][1]
    assert [round(lo) for lo, _ in domain.bounds] == [13, 52]
    assert [round(hi) for _, hi in domain.bounds] == [13, 52]
    assert "domain" not in link_of(test)
    checked(test.button(key="kmeans:far").click().run())
    assert not test.warning


def test_places_around_180_are_together_unless_typed_bounds_end_there() -> None:
    content = b"lon,lat\n" + b"".join(
        b"%s.%02d,-17.%02d\n" % (b"179" if at % 2 else b"-179", at, at) for at in range(100)
    )
    test = load(opened("kmeans", data="own"), "fiji.csv", content)
    assert any("both sides of the 180th meridian" in one for one in says(test))
    points = test.session_state["own"].shown.current.points
    assert (points[:, 0].min(), points[:, 0].max()) == (179.01, 181.0)
    assert not test.warning
    # An older link still shows the same picture.
    old = load(opened("kmeans", data="own", domain="-180,180;-20,-15"), "fiji.csv", content)
    points = old.session_state["own"].shown.current.points
    assert points[:, 0].min() < -179
    assert not any("180th meridian" in one for one in says(old))


def test_the_code_repeats_how_the_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr("dpviz.ui.explorer.explorer.command", lambda run: found.append(run) or "")
    test = load(opened("kmeans", data="own", skip=3, format="data"), "trees.csv", COMMENTS)
    fill(test, "missing", "zz, y")
    test.session_state["kmeans:behind"] = True
    checked(test.run())
    assert (found[-1].skip, found[-1].missing, found[-1].encoding) == (3, ("zz", "y"), None)

"""Own data by the path of a file on this computer: all sessions share one copy in memory."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.base.errors import InputError
from dpviz.commands.command_line import main
from dpviz.ui.compare.runs import FOUND, JOB
from dpviz.ui.data import own_file
from dpviz.ui.data.local_file import LocalFile, local_file
from tests.support.controls import control
from tests.ui.test_wavecluster import checked
from tests.ui.test_working_state import link_of, load, opened, visit


@pytest.fixture(autouse=True)
def nothing_shared() -> Iterator[None]:
    yield
    own_file.shared.clear()


@pytest.fixture
def places(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(400, 2)), columns=["east", "north"])
    path = tmp_path / "places.csv"
    frame.assign(who=np.arange(400) // 4).to_csv(path, index=False)
    return path


def name_path(test: AppTest, path: object) -> AppTest:
    test.text_input(key="own:path").set_value(str(path))
    return checked(test.run())


def told(test: AppTest) -> str:
    return " ".join(one.value for one in (*test.error, *test.info, *test.caption))


@pytest.mark.parametrize("page", ["wavecluster", "kmeans"])
def test_a_path_is_as_good_as_an_upload(page: str, places: Path) -> None:
    test = name_path(opened(page, data="own"), places)
    assert not test.error
    assert link_of(test)["columns"] == "east,north"
    assert "places.csv" in told(test)
    # Other pages also use the file, and the release reads the file with its own strict reader.
    visit(test, "release")
    assert "domain" in test.error[0].value  # the only error: the domain is not declared
    assert len(test.error) == 1
    assert "places.csv" in told(test)


def test_the_command_of_compare_has_the_path_and_how_the_file_is_read(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = places.read_text().replace("\n", "\n?,?,0\n", 1)
    places.write_text(f"made by hand\n{text}")
    link = {"methods": "privqt", "draws": 1, "points": 1, "g": 8, "skip": 1, "missing": "?"}
    link["format"] = "names"
    test = name_path(opened("compare", data="own", **link), places)
    assert not test.error
    (code,) = (one.value for one in test.code if one.language == "shell")
    words = shlex.split(code)
    assert words[3:8] == ["sweep", str(places), "--skip=1", "--missing=?", "--has-header"]
    assert "The commands repeat all runs." in told(test)
    monkeypatch.chdir(places.parent)
    assert main(words[3:]) == 0
    rows = pd.read_csv(words[words.index("--out") + 1])
    test.session_state[JOB].wait()
    assert set(rows["run"]) == set(test.session_state[FOUND]._table["run"])


def test_the_latest_of_path_and_upload_counts(places: Path) -> None:
    test = name_path(opened("kmeans", data="own"), places)
    load(test)
    assert "visits.csv" in told(test)
    assert test.text_input(key="own:path").value == ""
    name_path(test, places)
    assert "places.csv" in told(test)


def test_a_wrong_path_is_said_and_nothing_is_lost(places: Path) -> None:
    test = name_path(opened("kmeans", data="own"), places)
    name_path(test, places.with_name("no such file.csv"))
    assert "there is no file" in test.error[0].value
    assert "places.csv" in told(test)


def test_a_cleared_path_changes_no_data(places: Path) -> None:
    test = opened("release", data="own")
    name_path(test, places)
    control(test.segmented_control, "release:kind").set_value("sample")
    checked(test.run())
    name_path(test, "")
    assert control(test.segmented_control, "release:kind").value == "sample"
    assert link_of(test).get("data") != "own"
    name_path(test, places)
    assert link_of(test)["data"] == "own"


def test_a_changed_file_is_read_again(places: Path) -> None:
    test = name_path(opened("kmeans", data="own"), places)
    frame = pd.read_csv(places)
    frame.rename(columns={"east": "x"}).to_csv(places, index=False)
    os.utime(places, ns=(1, 1))
    checked(test.run())
    assert link_of(test)["columns"] == "x,north"


def test_all_sessions_share_what_was_read(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    before = own_file.read_table
    monkeypatch.setattr(
        own_file, "read_table", lambda *some, **more: read.append(some) or before(*some, **more)
    )
    first = name_path(opened("kmeans", data="own"), places)
    second = name_path(opened("wavecluster", data="own"), places)
    assert len(read) == 1
    owns = [test.session_state["own"] for test in (first, second)]
    assert owns[0].shown.current.points is owns[1].shown.current.points


def test_nobody_types_paths_on_a_server_for_others(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_file, "on_this_machine", lambda: False)
    test = opened("kmeans", data="own")
    with pytest.raises(KeyError):
        test.text_input(key="own:path")
    # A path that is set in another way is also not used.
    test.session_state["own:path"] = str(places)
    checked(test.run())
    assert "places.csv" not in told(test)


def test_a_large_file_is_read_beside_the_page_and_can_be_stopped(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, before = threading.Event(), own_file.read_table

    def slow(*some: object, **more: object) -> object:
        assert go.wait(60)
        return before(*some, **more)

    monkeypatch.setattr(own_file, "_LARGE", 10)
    monkeypatch.setattr(own_file, "_PATIENCE", 0.01)
    monkeypatch.setattr(own_file, "read_table", slow)
    test = name_path(opened("kmeans", data="own"), places)
    assert "places.csv is being read" in told(test)
    test.button(key="own:stop").click()
    checked(test.run())
    go.set()
    test.session_state["own:reading"].wait(60)
    checked(test.run())
    assert "places.csv is not read" in told(test)
    test.button(key="own:read").click()
    checked(test.run())
    if "own:reading" in test.session_state:
        test.session_state["own:reading"].wait(60)
        checked(test.run())
    assert link_of(test)["columns"] == "east,north"
    assert not test.error


def test_what_is_wrong_with_a_large_file_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_file, "_LARGE", 10)
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n3\n4,5\n")
    test = name_path(opened("kmeans", data="own"), path)
    assert "bad.csv" in test.error[0].value or "row" in test.error[0].value


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\n")
    assert local_file("  ") is None
    found = local_file(f" {path} ")
    assert isinstance(found, LocalFile)
    assert (found.name, found.size, os.fspath(found)) == ("a.csv", 4, str(path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert local_file("~/a.csv").file_id == found.file_id
    for text in (str(tmp_path), "~nobody-of-that-name/a.csv", "a\0b", f"/{'x' * 5000}"):
        with pytest.raises(InputError, match=r"there is no file|can't be read"):
            local_file(text)
    with path.open("wb") as file:
        file.truncate(3 * 2**30)
    with pytest.raises(InputError, match=r"Gowalla: a\.csv has more than 2 GB.*command line"):
        local_file(str(path), "Gowalla")

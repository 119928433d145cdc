"""The release page without a browser: refusals, two steps, one debit, and the kept bundle."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.commands.command_line import main
from dpviz.data.samples import load_sample
from dpviz.families import CARDS
from dpviz.figures.looks import METHODS
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.privacy.lifetime_budget import Budget
from dpviz.privacy.origin import Origin
from dpviz.release.rehearsal import Rehearsal, rehearse
from dpviz.ui.messages import plain_text
from dpviz.ui.release import rehearsal as rehearsal_panel
from dpviz.ui.session import job
from tests.support import APP
from tests.support.controls import control, source_box
from tests.ui.test_wavecluster import checked

TABLE = b"x,y,who\n" + b"".join(
    b"%d,%d,p%d\n" % (i * 7 % 100, i * 13 % 100, i % 60) for i in range(300)
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def page(home: Path):
    def open_page(**link: object) -> AppTest:
        test = AppTest.from_file(APP, default_timeout=120)
        for name, value in link.items():
            test.query_params[name] = str(value)
        test.switch_page("pages/release.py")
        return checked(test.run())

    return open_page


def button(test: AppTest, label: str):
    return next(one for one in test.button if one.label.startswith(label))


def has_button(test: AppTest, label: str) -> bool:
    return any(one.label.startswith(label) for one in test.button)


def press(test: AppTest, label: str) -> AppTest:
    return checked(button(test, label).click().run())


def said(test: AppTest) -> str:
    body = next(one.proto.body for one in test.get("html") if "dpv-said" in one.proto.body)
    return body.split('role="status">')[1].split("<")[0]


def release_now(test: AppTest) -> AppTest:
    return press(press(test, "Review the release"), "Debit")


def accounts(home: Path):
    return Budget(home / "budget.db").datasets()


def test_opens_with_a_sample_ready_and_nothing_spent(page, home: Path) -> None:
    test = page()
    assert not test.error
    assert said(test) == ("Lifetime budget 3: 0 spent, this release 1, 2 left afterwards.")
    assert not home.exists()
    assert has_button(test, "Review the release")
    assert not has_button(test, "Debit")


@pytest.mark.daily("privthrem")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_a_budget_can_be_released(page, home: Path, method: str) -> None:
    data = {"data": "incomes", "g": 16, "k": 3}
    test = release_now(page(method=method, epsilon=0.5, **data))
    assert not test.error
    assert "Released as number 1" in test.success[0].value
    (account,) = accounts(home)
    assert (account.id, account.spent, account.entries[0].state) == ("incomes", 0.5, "released")
    (folder,) = (home / "releases").iterdir()
    document = json.loads((folder / "release.json").read_text())
    assert document["method"]["name"] == method
    assert document["parameters"]["clusters" if method in KMEANS else "density"]


@pytest.mark.exhaustive(reason="tests/release releases such grids")
def test_a_grid_of_its_own_for_each_column_is_released(page, home: Path) -> None:
    test = page(method="privthr", data="incomes", g="17,9")
    boxes = {one.label: one.value for one in test.number_input}
    x, y = map(plain_text, load_sample("incomes").columns)
    assert (boxes[f"Grid g · {x}"], boxes[f"Grid g · {y}"]) == (17, 9)
    checked(control(test.number_input, "release:g:1").set_value(8).run())
    assert test.query_params["g"] == "17,8"
    test = press(test, "Review the release")
    assert any("grid 17,8" in one.value for one in test.markdown)
    test = press(test, "Debit")
    assert not test.error
    (folder,) = (home / "releases").iterdir()
    document = json.loads((folder / "release.json").read_text())
    assert document["parameters"]["grid"] == [17, 8]
    assert np.shape(document["result"]["counts"]) == (17, 8)


@pytest.mark.exhaustive(reason="other tests read the review, and golden releases the choice")
@pytest.mark.parametrize(("method", "signs"), [("twostage", "g and p"), ("dprefine", "K")])
def test_the_review_says_once_what_the_method_chooses(page, home: Path, method, signs) -> None:
    for choose in ("private", "given"):
        test = press(page(data="incomes", method=method, choose=choose), "Review the release")
        (said,) = (one.value for one in test.markdown if "Method: " in one.value)
        assert (f"It chooses {signs} itself, from noisy numbers." in said) == (choose == "private")
        assert f"choose {choose}" not in said


def test_reference_methods_are_not_on_offer(page) -> None:
    assert set(METHODS) == {name for name, card in CARDS.items() if card.spends}
    test = page(method="wavecluster")
    assert 'method = "wavecluster" is unknown' in test.warning[0].value


def test_released_once_whatever_is_pressed_again(page, home: Path) -> None:
    test = press(page(data="incomes", g=16), "Review the release")
    go = button(test, "Debit")
    checked(go.click().run())
    # The second click presses a button that no longer exists.
    assert not has_button(test, "Debit")
    checked(test.run())
    assert len(accounts(home)[0].entries) == 1
    press(test, "Prepare another release")
    assert has_button(test, "Review the release")
    assert not test.success
    assert len(accounts(home)[0].entries) == 1


def test_a_change_after_the_review_asks_for_another_one(page, home: Path) -> None:
    test = press(page(data="incomes", g=16), "Review the release")
    assert has_button(test, "Debit")
    checked(control(test.number_input, "release:epsilon").set_value(0.25).run())
    assert not has_button(test, "Debit")
    assert any("review it again" in one.value for one in test.info)
    test = press(press(test, "Review the release"), "Back")
    assert not has_button(test, "Debit")
    assert not home.exists()


def test_another_total_after_the_review_asks_for_another_one(page, home: Path) -> None:
    test = press(page(data="incomes", g=16), "Review the release")
    assert any("Opens a lifetime budget of 3" in one.value for one in test.markdown)
    # The consequence of the first value is beside it, before anybody signs.
    assert any("after this release, 2 is left for all later" in one.value for one in test.caption)
    box = next(one for one in test.number_input if one.label.startswith("Lifetime budget"))
    checked(box.set_value(999.0).run())
    assert not has_button(test, "Debit")
    assert any("review it again" in one.value for one in test.info)
    assert not home.exists()


def test_the_app_needs_a_folder_of_its_own(page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPVIZ_HOME", "here/and/there")
    assert "give an absolute path" in page().error[0].value
    monkeypatch.setenv("DPVIZ_HOME", "~nobody-of-that-name/x")
    assert "that home folder does not exist" in page().error[0].value


def test_over_budget_is_refused_and_the_budget_stays(page, home: Path) -> None:
    test = release_now(page(data="incomes", g=16, epsilon=2))
    press(test, "Prepare another release")
    assert said(test).startswith("Over budget: 1 of the lifetime budget 3 is left")
    assert "too small for this ε: lower ε" in test.error[0].value
    press(test, "Review the release")
    assert not has_button(test, "Debit")
    (account,) = accounts(home)
    assert (account.spent, len(account.entries)) == (2, 1)
    checked(control(test.number_input, "release:epsilon").set_value(1.0).run())
    release_now(test)
    assert accounts(home)[0].remaining == 0


def test_a_budget_that_is_used_up_asks_for_no_other_epsilon(page, home: Path) -> None:
    home.mkdir()
    Budget(home / "budget.db").open("incomes", 1.0)
    Budget(home / "budget.db").debit("incomes", 1.0, {})
    test = page(data="incomes", g=16)
    assert said(test).startswith("Nothing is left of the lifetime budget 1")
    assert "is used up" in test.error[0].value
    assert not any("ower ε" in one.value for one in test.error)


def test_a_lost_session_opens_the_same_step_from_the_link(page) -> None:
    assert control(page(data="incomes", step=3).segmented_control, "release:steps").value == 3


def test_the_bar_and_the_debit_agree_to_the_micro_epsilon(page, home: Path) -> None:
    home.mkdir()
    Budget(home / "budget.db").open("incomes", 0.3)
    Budget(home / "budget.db").debit("incomes", 0.1, {})
    test = page(data="incomes", g=16, epsilon=0.2000005)
    assert said(test) == "Lifetime budget 0.3: 0.1 spent, this release 0.2, 0 left afterwards."
    checked(control(test.number_input, "release:epsilon").set_value(0.200001).run())
    assert said(test).startswith("Over budget: 0.2 of the lifetime budget 0.3 is left, and this")
    checked(control(test.number_input, "release:epsilon").set_value(0.2000005).run())
    press(test, "Review the release")
    assert button(test, "Debit").label.startswith("Debit ε 0.2 and release")
    press(test, "Debit")
    assert "ε 0.2 debited, 0 of the lifetime budget is left." in test.success[0].value


def test_a_name_that_can_be_taken_for_a_known_one_is_refused(page, home: Path) -> None:
    home.mkdir()
    Budget(home / "budget.db").open("copa", 1.0)
    test = page(data="incomes", g=16)
    checked(source_box(test.text_input).set_value("сора").run())
    assert 'looks like source "copa"' in test.error[0].value
    assert not has_button(test, "Review the release")
    checked(source_box(test.text_input).set_value("Copa").run())
    assert not test.error
    assert said(test).startswith("Lifetime budget 1: 0 spent")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs rights as POSIX has them")
def test_what_the_app_keeps_is_for_its_user_alone(page, home: Path) -> None:
    before = os.umask(0)
    try:
        release_now(page(data="incomes", g=16))
    finally:
        os.umask(before)
    kept = [home, home / "releases", home / "heads", home / "budget.db"]
    assert [one.stat().st_mode & 0o777 for one in kept] == [0o700, 0o700, 0o700, 0o600]


def test_the_page_says_what_would_not_be_noticed(page, home: Path) -> None:
    home.mkdir()
    (home / "heads").touch()
    Budget(home / "budget.db").open("incomes", 1.0)
    test = page(data="incomes", g=16)
    assert any("an older copy of budget file" in one.value for one in test.warning)
    release_now(test)
    assert "Released as number 1" in test.success[0].value


def test_a_file_of_this_computer_is_the_source_that_it_was_on_the_command_line(
    page, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = tmp_path / "visits.csv", tmp_path / "link.csv"
    path.write_bytes(TABLE)
    os.link(path, other)
    budget, out = home / "budget.db", tmp_path / "out"
    command = ["release", str(path), "--columns", "x,y", "--domain", "0,100;0,100"]
    command += ["--method", "privqt", "--grid", "8", "--epsilon", "0.5", "--source", "visits"]
    home.mkdir()
    assert main([*command, "--total", "1", "--budget-file", str(budget), "--out", str(out)]) == 0
    capsys.readouterr()

    plan = {"method": "privqt", "g": 8, "columns": "x,y", "domain": "0,100;0,100", "several": "no"}
    test = page(data="own", epsilon=0.3, **plan)
    test.text_input(key="own:path").set_value(str(other))
    checked(test.run())
    assert not test.error
    source = source_box(test.text_input)
    assert source.value == "visits"
    assert said(test).startswith("Lifetime budget 1: 0.5 spent, this release 0.3")
    checked(source.set_value("visitors").run())
    (refused,) = (one.value for one in test.error)
    assert "link.csv was released as source" in refused
    assert "visits" in refused
    assert not any(one.label == "Review the release" and not one.disabled for one in test.button)
    checked(source_box(test.text_input).set_value("Visits").run())
    assert not test.error
    release_now(test)
    (account,) = accounts(home)
    assert (account.id, account.spent) == ("visits", 0.8)


def test_a_file_that_may_be_of_a_known_source_asks_which(page, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "visits-2025.csv"
    path.write_bytes(TABLE)
    home.mkdir()
    before = Origin(str(tmp_path / "visits-2024.csv"), "1:2")
    budget = Budget(home / "budget.db")
    budget.debit("visits", 0.5, {}, total=1.0, origins=[before])
    plan = {"method": "privqt", "g": 8, "columns": "x,y", "domain": "0,100;0,100", "several": "no"}
    test = page(data="own", epsilon=0.3, **plan)
    test.text_input(key="own:path").set_value(str(path))
    checked(test.run())
    assert any("is called like visits-2024.csv" in one.value for one in test.info)
    checked(source_box(test.text_input).set_value("visits").run())
    assert not any("is called like" in one.value for one in test.info)
    assert said(test).startswith("Lifetime budget 1: 0.5 spent")


@pytest.mark.exhaustive(reason="a rare state of the folder; test_owner.py checks budgets")
def test_a_moved_home_is_said_until_there_is_a_release(
    page, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path / "before"))
    home.mkdir()
    Budget(home / "budget.db").open("incomes", 1.0)
    monkeypatch.setenv("DPVIZ_HOME", str(home))
    test = page(data="incomes", g=16, method="privqt", epsilon=0.2)
    for _ in range(2):
        assert any("has no note in" in one.value for one in test.warning)
        checked(test.run())
    release_now(test)
    press(test, "Prepare another release")
    assert not any("has no note in" in one.value for one in test.warning)


def test_published_variants_are_refused_with_a_way_out(page, home: Path) -> None:
    test = page(variant="published", method="dpkmeanspp")
    assert "as published is not released" in test.error[0].value
    assert not has_button(test, "Review the release")
    press(test, "Use the sound variant")
    assert not test.error
    assert has_button(test, "Review the release")


def test_own_data_needs_a_declared_domain_and_a_name(page, home: Path) -> None:
    test = page(data="own", method="privqt", g=8)
    test.file_uploader(key="own:file").set_value(("visits.csv", TABLE, "text/csv"))
    checked(test.run())
    # The list of columns with numbers depends on every record, so a person names the columns.
    assert [one.value for one in test.info] == [
        "Name two columns under Columns: the columns to cluster, such as longitude and latitude."
    ]
    (columns,) = (one for one in test.multiselect if one.label == "Columns")
    assert columns.value == []
    checked(columns.set_value(["x", "who"]).run())
    # Unreadable cells count as missing, because a refusal would reveal a record.
    persons = control(test.radio, "own:unit")
    assert persons.options == ["No: at most one", "Yes: y names the person"]
    assert any("300 rows were left out" in one.value for one in test.caption)
    (columns,) = (one for one in test.multiselect if one.label == "Columns")
    checked(columns.set_value(["x", "y"]).run())
    assert "The domain is not declared" in test.error[0].value
    assert not has_button(test, "Review the release")
    # The message names the solution. The range of the data is not offered, as it is refused.
    assert "open the step Where" in test.error[0].value
    assert not [one for one in test.radio if one.label == "Bounds of the grid"]
    boxes = [one for one in test.text_input if one.label.endswith(": from, to")]
    assert len(boxes) == 2
    for box in boxes:
        box.set_value("0, 100")
    checked(test.run())
    # Who is protected is not answered, and nothing answers it in place of the user.
    (refused,) = test.error
    assert "whether one person can have several records" in refused.value
    assert not has_button(test, "Review the release")
    checked(source_box(test.text_input).set_value("visits").run())
    persons = control(test.radio, "own:unit")
    assert persons.options == ["No: at most one", "Yes: who names the person"]
    assert persons.value is None
    checked(persons.set_value(1).run())
    checked(control(test.number_input, "own:cap").set_value(2).run())
    press(test, "Review the release")
    (facts,) = (one.value for one in test.markdown if "This is published" in one.value)
    assert "moved to the border, where they may look like clusters" in facts
    # All that release.json has of the budget stands in what the owner agrees to.
    assert "The lifetime budget, what is left of it, and day, ε and method of each earlier" in facts
    press(test, "Debit")
    assert "Released as number 1" in test.success[0].value
    (folder,) = (home / "releases").iterdir()
    privacy = json.loads((folder / "release.json").read_text())["privacy"]
    assert (privacy["unit"], privacy["cap"]) == ("person", 2)
    assert privacy["ledger"][0]["sensitivity"] == 2
    assert accounts(home)[0].id == "visits"


@pytest.mark.some(2)
@pytest.mark.daily(
    "dplloyd-x,y\\n",
    "dplloyd-x,y\\n1,abc\\n",
    'dplloyd-x,y\\n1,2,3\\n"4,5\\n\\xff,\\x00\\n',
    "dplloyd-x,y\\n1e301,-1e301\\n1e300,1\\n-1e300,-1\\n",
    "dplloyd-x,y\\n5,5\\n",
)
@pytest.mark.parametrize(
    "table",
    [
        b"x,y\n",
        b"x,y\n1,abc\n",
        b'x,y\n1,2,3\n"4,5\n\xff,\x00\n',
        b"x,y\n1e301,-1e301\n1e300,1\n-1e300,-1\n",
        b"x,y\n5,5\n",
    ],
)
@pytest.mark.parametrize("method", ["privthrem", "dplloyd"])
def test_no_record_decides_whether_the_button_is_there(page, table: bytes, method: str) -> None:
    test = page(data="own", method=method)
    test.file_uploader(key="own:file").set_value(("visits.csv", table, "text/csv"))
    checked(test.run())
    # If there is no domain, the range of the data is not used in its place.
    assert ["The domain is not declared" in one.value for one in test.error] == [True]
    assert not test.info
    for box in [one for one in test.text_input if one.label.endswith(": from, to")]:
        box.set_value("0, 3")
    checked(test.run())
    checked(source_box(test.text_input).set_value("visits").run())
    release_now(test)
    assert not test.error
    assert "Released as number 1" in test.success[0].value


def test_a_file_without_names_gets_them_from_a_person(page) -> None:
    test = page(data="own", method="privqt", g=8)
    test.file_uploader(key="own:file").set_value(("visits.csv", b"1 2\n3 4\n", "text/csv"))
    control(test.segmented_control, "own:header").set_value("data")
    checked(test.run())
    assert "a record must not reveal how many columns there are" in test.error[0].value
    checked(control(test.text_input, "own:line").set_value("east north").run())
    boxes = [one.label for one in test.text_input if one.label.endswith(": from, to")]
    assert boxes == ["east: from, to", "north: from, to"]


@pytest.mark.exhaustive
def test_the_debit_says_that_the_rehearsal_is_still_running(
    page, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Event()

    def slow(*given: Any, **more: Any) -> Rehearsal:
        assert answer.wait(60)
        return rehearse(*given, draws=2, **more)

    monkeypatch.setattr(rehearsal_panel, "rehearse", slow)
    monkeypatch.setattr(rehearsal_panel, "_PATIENCE", 0.0)
    test = press(page(data="noise", method="privqt", g=8), "Review the release")
    assert button(test, "Debit").label == "Debit ε 1 and release without the rehearsal"
    assert any("wait for its result" in one.value for one in test.caption)
    pressed = button(test, "Debit").click()
    job = test.session_state["release:rehearsal"]
    answer.set()
    assert job.wait(60)
    # A press is effective even if the answer arrives at the same time.
    checked(pressed.run())
    assert "Released as number 1" in test.success[0].value
    press(press(test, "Prepare another release"), "Review the release")
    # The answer and the button with its result appear together.
    assert button(test, "Debit").label == "Debit ε 1 and release"
    assert any("Rehearsal on" in one.value and "draws" in one.value for one in test.markdown)
    assert not any("wait for its result" in one.value for one in test.caption)


def test_doubtful_clusters_can_be_left_out_without_another_spend(page, home: Path) -> None:
    test = release_now(page(data="noise", method="privqt", g=32, p=0.6))
    spent = [account.spent for account in accounts(home)]
    done = test.session_state["release:done"]
    doubtful = done.document["doubtful"]["clusters"]
    assert doubtful

    labels = [one.proto.label for one in test.get("download_button")]
    assert "Map without doubtful (GeoJSON)" in labels
    assert [account.spent for account in accounts(home)] == spent


def test_the_owner_s_words_are_reviewed_and_published_as_theirs(page, home: Path) -> None:
    test = page(data="incomes", method="privthr", g=16)
    checked(control(test.text_area, "release:about:data_curators").set_value("A\n B").run())
    checked(control(test.text_area, "release:about:contact").set_value("a\x0bb").run())
    assert any("contact must be up to" in one.value for one in test.error)
    assert not has_button(test, "Review the release")
    checked(control(test.text_area, "release:about:contact").set_value("a@example.org").run())
    test = press(test, "Review the release")
    assert any(
        "published as they are: data_curators, contact" in one.value for one in test.markdown
    )
    checked(control(test.text_area, "release:about:contact").set_value("").run())
    assert not has_button(test, "Debit")
    release_now(test)
    (folder,) = (home / "releases").iterdir()
    assert (folder / "about.yaml").read_text() == "data_curators:\n- A\n- B\n"
    assert "The owner says:</b> A, B" in (folder / "sheet.html").read_text("utf-8")
    labels = [one.proto.label for one in test.get("download_button")]
    assert "Review sheet (HTML)" in labels


@pytest.mark.parametrize(
    ("link", "button_says", "changes"),
    [
        (
            {"method": "privqt", "g": 50, "p": 0.8, "standin": "small"}, "g 76, p 0.98",
            {"g": "76", "p": "0.98"},
        ),
        pytest.param(
            {"method": "privqt", "choose": "private"}, ": by hand”, g 50, p 0.9",
            {"g": "50", "p": "0.9", "choose": "given"}, marks=pytest.mark.exhaustive,
        ),
        ({"method": "gupt", "k": 5, "epsilon": 1}, "DP-Refine", {"method": "dprefine"}),
    ],
)  # fmt: skip
def test_the_one_recommended_plan_is_taken_by_a_button_and_stays_on_the_screen(
    page, monkeypatch: pytest.MonkeyPatch, link: dict[str, Any], button_says: str, changes: Any
) -> None:
    def quick(*given: Any, **more: Any) -> Rehearsal:
        return rehearse(*given, draws=12, **more)

    # Rehearsals of other tests that still wait would call this function, too.
    for one in job.cancel_all():
        assert one.wait(60)
    monkeypatch.setattr(rehearsal_panel, "rehearse", quick)
    test = page(data="gaussians", nhat=10_000, **link)
    press(test, "Rehearse")
    assert test.session_state["release:rehearsal"].wait(60)
    checked(test.run())
    said = next(one.value for one in test.info if one.value.startswith("Recommended: "))
    assert button_says in said
    assert "expect about " in said
    # A plan that a better one replaces does not look like good news.
    assert any(one.value.startswith("Expect about ") for one in test.warning)
    assert not any(one.value.startswith("Expect about ") for one in test.info)
    # There is only one piece of advice: other sizes of clusters and other sets are not mentioned.
    assert not any("in hindsight" in one.value for one in test.caption)
    expected = said.partition("expect about ")[2].split()[0]
    press(test, f"Use the recommended plan: {button_says}")
    assert {name: test.query_params[name] for name in changes} == changes
    assert not has_button(test, "Use the recommended")
    # The forecast of the chosen plan is shown immediately, and is the same as in the advice.
    for _ in range(2):
        # It is praised only if it finds all clusters and invents none.
        (said,) = (
            one
            for one in (*test.success, *test.info)
            if "The plan in use is the recommended one" in one.value
        )
        assert (said in test.success) != ("no plan that was tried is better" in said.value)
        assert test.info[0].value.startswith(f"Expect about {expected} ")
        # The same after another rehearsal.
        press(test, "Rehearse")
        assert test.session_state["release:rehearsal"].wait(60)
        checked(test.run())


@pytest.mark.parametrize(
    ("named", "boxes"),
    [("who,y", ["", "0, 50"]), ("y,x", ["0, 100", "0, 50"]), ("x,y", ["0, 100", "0, 50"])],
)
def test_bounds_of_a_link_are_those_of_its_columns(page, named: str, boxes: list[str]) -> None:
    """And columns that were left out have them again when they are chosen again."""
    link = {"columns": "x,y", "domain": "0,100;0,50", "several": "no"}
    test = page(data="own", method="privqt", g=8, **link)
    table = TABLE.replace(b"p", b"1")  # persons are numbers, in a column that could be clustered
    test.file_uploader(key="own:file").set_value(("visits.csv", table, "text/csv"))
    checked(test.run())
    (columns,) = (one for one in test.multiselect if one.label == "Columns")
    for _ in range(2):
        checked(columns.set_value(named.split(",")).run())
        refused = any("The domain is not declared" in one.value for one in test.error)
        assert refused == ("" in boxes)
        found = [one.value for one in test.text_input if one.label.endswith(": from, to")]
        assert found == boxes
        (columns,) = (one for one in test.multiselect if one.label == "Columns")
        checked(columns.set_value(["x", "who"]).run())
        assert any("The domain is not declared" in one.value for one in test.error)
        (columns,) = (one for one in test.multiselect if one.label == "Columns")


def test_the_bundle_stays_while_other_pages_are_open(page, home: Path) -> None:
    test = release_now(page(data="incomes", g=16))
    test.query_params.clear()
    test.switch_page("pages/wavecluster.py")
    checked(test.run())
    test.query_params.clear()
    test.switch_page("pages/release.py")
    checked(test.run())
    assert "Released as number 1" in test.success[0].value


def test_a_damaged_budget_file_is_said_in_a_sentence(page, home: Path) -> None:
    home.mkdir()
    (home / "budget.db").write_bytes(b"no database at all, but long enough to be looked at" * 9)
    test = page()
    assert all("is not a budget file" in one.value for one in test.error)
    assert test.error


def test_the_zip_holds_the_bundle_without_times() -> None:
    from dpviz.ui.release.view import _zipped

    packed = _zipped({"a.txt": b"one", "b.txt": b"two"})
    assert packed == _zipped({"a.txt": b"one", "b.txt": b"two"})
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "a.txt": b"one",
            "b.txt": b"two",
        }


def sources(test: AppTest) -> tuple[str, list[str]]:
    """The proposed name of the source, and refusals."""
    return source_box(test.text_input).value, [
        one.value for one in (*test.error, *test.info) if "second budget" in one.value
    ]


def test_a_release_has_its_number_among_those_of_its_source(page, home: Path) -> None:
    budget = Budget(home / "budget.db")
    home.mkdir()
    for source in ("other", "incomes", "other"):
        budget.debit(source, 0.1, {"method": "privqt"}, total=3.0)
    test = release_now(page(data="incomes", g=16, epsilon=0.5))
    said = test.success[0].value
    assert said.startswith('Released as number 2 of "incomes", entry 4 of the budget file: ')


def test_the_same_file_under_another_name_has_no_second_budget(page, home: Path) -> None:
    def upload(name: str, table: bytes) -> AppTest:
        test = page(data="own", method="privqt", g=8, unit="who", domain="0,100;0,100")
        test.file_uploader(key="own:file").set_value((name, table, "text/csv"))
        checked(test.run())
        (columns,) = (one for one in test.multiselect if one.label == "Columns")
        checked(columns.set_value(["x", "y"]).run())
        for box in [one for one in test.text_input if one.label.endswith(": from, to")]:
            box.set_value("0, 100")
        return checked(test.run())

    test = upload("visits.csv", TABLE)
    assert sources(test) == ("", [])
    checked(source_box(test.text_input).set_value("town").run())
    release_now(test)
    (folder,) = (home / "releases").iterdir()
    # The budget file has a code that only this user's key explains, and the bundle has none.
    budget = (home / "budget.db").read_bytes()
    (code,) = set(re.findall(rb"content:([0-9a-f]{64})", budget))
    digest = hashlib.sha256(TABLE).hexdigest().encode()
    assert digest != code
    assert digest not in budget
    assert not any(one in path.read_bytes() for path in folder.iterdir() for one in (code, digest))
    # The same bytes belong to the same source, whatever the file is called.
    again = upload("renamed.csv", TABLE)
    name, (said,) = sources(again)
    assert name == ""
    assert 'the same bytes as a file that was released as source "town"' in said
    # Without a name there is no budget that could be left.
    assert not any("dpv-said" in one.proto.body for one in again.get("html"))
    checked(source_box(again.text_input).set_value("village").run())
    (said,) = sources(again)[1]
    assert 'the same bytes as a file that was released as source "town"' in said
    assert not has_button(again, "Review the release")
    # Nothing green is beside a refusal, neither a badge nor a budget.
    assert not any("green" in one.value for one in again.markdown)
    assert not any("dpv-said" in one.proto.body for one in again.get("html"))
    checked(source_box(again.text_input).set_value("town").run())
    assert sources(again) == ("town", [])
    assert any("green" in one.value for one in again.markdown)
    # A changed copy is asked for its source by its name; another source is possible.
    asks = 'has the same name as a file that was released as source "town"'
    for name, words in (
        ("visits.csv", asks), ("visits (1).csv", 'source "town": name that source for copies'),
        ("trips.csv", ""),
    ):  # fmt: skip
        copy = upload(name, TABLE[: -3 * len(TABLE.splitlines()[-1])])
        assert sources(copy) == ("", [])
        for typed in ("", "village"):
            if typed:
                checked(source_box(copy.text_input).set_value(typed).run())
            found = [one.value for one in copy.info if 'as source "town"' in one.value]
            assert [words in one for one in found] == [True] * bool(words)
        # Whether both have the same persons, only the owner can say.
        (asked,) = (one for one in copy.selectbox if one.label.startswith("Is a person of this"))
        assert not has_button(copy, "Review the release")
        checked(asked.set_value(1).run())
        assert any("type “town” as the name" in one.value for one in copy.error)
        assert not has_button(copy, "Review the release")
        (asked,) = (one for one in copy.selectbox if one.label.startswith("Is a person of this"))
        checked(asked.set_value(0).run())
        press(copy, "Review the release")
        assert has_button(copy, "Debit")
    checked(source_box(copy.text_input).set_value("town").run())
    assert not any('as source "town"' in one.value for one in copy.info)


def test_the_answer_about_other_sources_is_that_of_one_file_and_these_sources(page, home) -> None:
    def named(test: AppTest) -> Any:
        checked(source_box(test.text_input).set_value("village").run())
        (asked,) = (one for one in test.selectbox if one.label.startswith("Is a person of this"))
        return asked

    home.mkdir()
    budget = Budget(home / "budget.db")
    budget.debit("town", 0.1, {"method": "privqt"}, total=3.0)
    test = page(data="own", method="privqt", g=8, unit="who", domain="0,100;0,100")

    def load(table: bytes) -> None:
        test.file_uploader(key="own:file").set_value(("visits.csv", table, "text/csv"))
        checked(test.run())
        (columns,) = (one for one in test.multiselect if one.label == "Columns")
        checked(columns.set_value(["x", "y"]).run())
        for box in [one for one in test.text_input if one.label.endswith(": from, to")]:
            box.set_value("0, 100")
        checked(test.run())

    load(TABLE)
    checked(named(test).set_value(0).run())
    assert named(test).value == 0
    assert has_button(test, "Review the release")
    # Another file, and then another source, are asked about again.
    load(TABLE.replace(b"p1\n", b"p61\n"))
    assert named(test).value is None
    assert not has_button(test, "Review the release")
    checked(named(test).set_value(0).run())
    assert has_button(test, "Review the release")
    budget.debit("city", 0.1, {"method": "privqt"}, total=3.0)
    checked(test.run())
    assert named(test).value is None
    assert not has_button(test, "Review the release")

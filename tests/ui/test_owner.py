"""On a shared server, visitors can't see or spend the budgets of other visitors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.privacy.lifetime_budget import Budget
from dpviz.ui.session import address, owner
from tests.support import APP
from tests.ui.test_release import has_button, home, press, release_now, said  # noqa: F401
from tests.ui.test_wavecluster import checked

QUICK = {"data": "incomes", "method": "privqt", "g": 8, "epsilon": 0.5}


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(address.SHARED, "1")


def opened() -> AppTest:
    test = AppTest.from_file(APP, default_timeout=120)
    for name, value in QUICK.items():
        test.query_params[name] = str(value)
    test.switch_page("pages/release.py")
    return checked(test.run())


def all_said(test: AppTest) -> str:
    return " ".join(one.value for one in (*test.caption, *test.info, *test.error, *test.success))


def test_a_key_keeps_budgets_apart(home: Path) -> None:  # noqa: F811
    Budget(home.parent / "budget.db").open("incomes", 1.0)
    test = opened()
    assert "Give the key of your budgets" in all_said(test)
    assert not any(one.label == "Name of the data source" for one in test.text_input)
    press(test, "Make a new key")
    (key,) = (one.value for one in test.code if len(one.value) == 32)
    release_now(test)
    assert "Released as number 1" in all_said(test)
    assert str(home) not in all_said(test)
    (file,) = (home / "budgets").glob("*.db")
    assert key not in file.name

    other = press(opened(), "Make a new key")
    assert "Sources with a budget" not in all_said(other)
    assert said(other).startswith("Lifetime budget 3: 0 spent")

    later = opened()
    later.text_input(key="release:key").set_value(key[:-1] + ("a" if key[-1] != "a" else "b"))
    assert "The server has no budgets for this key" in all_said(checked(later.run()))
    later.text_input(key="release:key").set_value(key)
    assert "Sources with a budget: incomes" in all_said(checked(later.run()))
    assert said(later).startswith("Lifetime budget 3: 0.5 spent")
    assert not (home / "budget.db").exists()


def test_another_key_after_the_review_is_reviewed_again(home: Path) -> None:  # noqa: F811
    test = press(press(opened(), "Make a new key"), "Review the release")
    assert has_button(test, "Debit")
    press(test, "Make a new key")
    assert "Something was changed after the review" in all_said(test)
    assert not has_button(test, "Debit")
    assert not home.exists()
    # Loops that are compiled during shutdown would crash the program.
    job = test.session_state["release:rehearsal"]
    job.cancel()
    assert job.wait(60)


@pytest.mark.parametrize(
    ("user", "trusted", "expected"),
    [
        ({}, {}, ""),
        ({"email": "ann@example.org"}, {}, ""),  # no trusted header says this
        ({"email": "Ann@example.org"}, {"X-Forwarded-Email": "email"}, "proxy ann@example.org"),
        ({"email": None}, {"X-Forwarded-Email": "email"}, ""),
        ({"email": " "}, {"X-Forwarded-Email": "email"}, ""),
        # If users could choose their name, a user could choose another visitor's address.
        ({"email": None, "name": "ann@example.org"}, {"X-Email": "email", "X-Name": "name"}, ""),
    ],
)
def test_a_login_is_taken_from_who_is_trusted(
    user: dict[str, Any], trusted: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Streamlit:
        class user:  # noqa: N801
            to_dict = staticmethod(lambda: user)

        get_option = staticmethod(lambda name: trusted)

    monkeypatch.setattr(owner, "st", Streamlit)
    assert owner.login() == expected


def test_a_login_keeps_budgets_apart(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(owner, "login", lambda: "proxy ann")
    test = opened()
    assert "Budgets of the login ann" in all_said(test)
    ann = owner._file("login proxy ann")
    ann.parent.mkdir(parents=True)
    Budget(ann).open("survey of Ann", 1.0)
    assert "survey of Ann" in all_said(checked(test.run()))
    monkeypatch.setattr(owner, "login", lambda: "proxy bob")
    assert "survey of Ann" not in all_said(opened())


@pytest.mark.parametrize(
    ("settings", "shared"),
    [
        ({"server.address": "localhost"}, False),
        ({"server.address": "127.0.0.1", "server.allowedHosts": ["localhost", "::1"]}, False),
        ({"server.address": "localhost", "server.allowedHosts": ["lab.example.org"]}, True),
        ({"server.address": "localhost", "server.allowedHosts": ["*"]}, True),
        ({"server.address": "::1", "server.corsAllowedOrigins": ["https://lab.org"]}, True),
        ({"server.address": "0.0.0.0"}, True),
        ({}, True),
    ],
)
def test_a_server_is_shared_by_its_settings(
    settings: dict[str, Any], shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(address.SHARED, "0")
    monkeypatch.setattr(address.st, "get_option", settings.get)
    assert address.is_shared() is shared

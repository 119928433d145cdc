"""A page is a file in pages/ and a line in app.py; run_page and live_part do the rest."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.ui import FRONTEND
from dpviz.ui.page import KEYS
from dpviz.ui.widgets import assets
from tests.support import APP, ROOT

PAGE = '''
"""A page with one control and two parts."""

import streamlit as st

from dpviz.base.errors import InputError
from dpviz.ui.messages import NothingLoadedError
from dpviz.ui.page import live_part, run_page
from dpviz.ui.session.state import Control, UrlState, choice, whole

KINDS = ("good", "held", "empty", "wrong", "wrong part")


def page_state():
    return UrlState(
        "extra",
        {"kind": Control("good", choice("kind", KINDS)), "n": Control(1, whole("n", 0, 9))},
    )


def part(state, word):
    st.text(word)
    if state.get("kind") == "wrong part":
        raise InputError("This part is *wrong*.")
    return state.get("kind") != "held"


def build(state):
    if state.get("kind") == "empty":
        raise NothingLoadedError("Load a file.")
    if state.get("kind") == "wrong":
        raise InputError("This page is *wrong*.")
    live_part(part, state, "one")
    live_part(lambda state: bool(st.text("two")) and False, state)


run_page("extra", page_state, build)
'''


@pytest.fixture
def opened(tmp_path: Path):
    shutil.copytree(ROOT / "pages", tmp_path / "pages")
    (tmp_path / "pages" / "extra.py").write_text(PAGE, encoding="utf-8")
    text = APP.read_text(encoding="utf-8")
    first = '"k-means"},\n'
    assert first in text
    text = text.replace(first, f'{first}    "Extra": {{"extra": "Extra"}},\n')
    (tmp_path / "app.py").write_text(text, encoding="utf-8")

    def start(**link: Any) -> AppTest:
        test = AppTest.from_file(tmp_path / "app.py", default_timeout=60)
        for name, value in link.items():
            test.query_params[name] = str(value)
        test.switch_page("pages/extra.py").run()
        assert not test.exception
        return test

    return start


def shown(test: AppTest) -> dict[str, list[str]]:
    """Texts of the page, and messages that are not part of the page."""
    return {
        kind: [one.value for one in found]
        for kind, found in (
            ("text", test.text),
            ("error", test.error),
            ("info", test.info),
            ("warning", test.warning),
        )
        if found
    }


def link(test: AppTest) -> dict[str, str]:
    # AppTest has a list as value if the page wrote nothing.
    return {name: "".join(value) for name, value in test.query_params.items()}


def test_a_page_needs_its_file_and_a_line_in_the_list(opened) -> None:
    test = opened(n=3)
    assert shown(test) == {"text": ["one", "two"]}
    assert link(test) == {"kind": "good", "n": "3"}


def test_what_is_wrong_with_a_link_is_said(opened) -> None:
    test = opened(n=99)
    (warning,) = shown(test)["warning"]
    assert warning.startswith("This link was corrected.")
    assert "n = 99 is more than the highest, 9" in warning
    assert link(test) == {"kind": "good", "n": "9"}


def test_values_of_a_held_slider_are_not_in_the_link(opened) -> None:
    test = opened(kind="held")
    assert shown(test) == {"text": ["one", "two"]}
    assert link(test) == {"kind": "held"}


def test_a_page_without_data_says_so_and_has_its_link(opened) -> None:
    test = opened(kind="empty")
    assert shown(test) == {"info": ["Load a file."]}
    assert link(test) == {"kind": "empty", "n": "1"}


def test_wrong_input_is_a_sentence_instead_of_the_page(opened) -> None:
    test = opened(kind="wrong")
    assert shown(test) == {"error": [r"This page is \*wrong\*."]}
    assert link(test) == {"kind": "wrong"}


def test_wrong_input_of_a_part_leaves_the_other_parts(opened) -> None:
    test = opened(kind="wrong part")
    assert shown(test) == {"text": ["one", "two"], "error": [r"This part is \*wrong\*."]}
    assert link(test) == {"kind": "wrong part"}


def test_all_keys_are_in_the_menu_and_in_the_docs():
    test = AppTest.from_file(APP, default_timeout=120).run()
    (shown,) = (one.proto.body for one in test.get("html") if "<section" in one.proto.body)
    docs = (ROOT / "dpviz/docs/pages/screen.md").read_text(encoding="utf-8")
    for keys, what in KEYS.items():
        marks = " ".join(f"<kbd>{key}</kbd>" for key in keys.split())
        assert f"<dt>{marks}</dt><dd>{what}</dd>" in shown
        assert f"* {marks}: {what}\n" in docs
    # The scripts know no other keys of this kind.
    scripts = [FRONTEND / name for name in ("frame.js", "lesson_keys.js")]
    code = "".join(one.read_text(encoding="utf-8") for one in scripts)
    known = re.findall(r'event\.key(?:\.toLowerCase\(\))? === "([^"]+)"', code)
    (always,) = re.findall(r"const ALWAYS = \{(.*?)\}", code)
    known += re.findall(r"(\w+):", always)
    assert {*known} == {key for keys in KEYS for key in keys.split()}


@pytest.mark.parametrize("name", ["live_slider", "curve"])
def test_a_component_sends_the_address_of_its_script_and_not_the_script(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    made = SimpleNamespace(component=lambda _, js: sent.append(js))
    monkeypatch.setattr(assets.st.components, "v2", made)
    assets.component(name)
    (script,) = sent
    assert len(script) < 1000
    assert f"/component/dpviz.ui.widgets.assets.frontend/{name}.js?" in script
    assert (f"{name}.css?" in script) == (FRONTEND / f"{name}.css").exists()


def two_runs() -> None:
    import streamlit as st

    from dpviz.ui.session.state import Control, UrlState

    def state() -> UrlState:
        return UrlState("two", {"n": Control(1, int)})

    first = state()
    with first.drawn():
        st.text(first.get("n"))
        st.session_state["two:n"] = 2
        st.text(first.get("n"))
        st.text(state().get("n"))
    st.session_state["two:n"] = 3
    st.text(first.get("n"))


def test_a_part_reads_a_value_once_and_the_next_run_of_the_page_reads_it_again() -> None:
    test = AppTest.from_function(two_runs).run()
    assert not test.exception
    assert [one.value for one in test.text] == ["1", "1", "2", "3"]

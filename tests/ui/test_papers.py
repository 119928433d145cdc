"""The papers page: choice, filter, rows, and links that open with the settings of the row."""

from __future__ import annotations

import html
import re

import pytest
from streamlit.testing.v1 import AppTest

from dpviz.papers import EVIDENCE, PAPERS, ROWS, STATES, Link, headlines
from dpviz.ui.messages import plain_text
from tests.support.links import PAGES, opened

LINKS = {row.link.address: row.link for row in ROWS if row.link}


def table(test: AppTest) -> str:
    (found,) = [one.proto.body for one in test.get("html") if "<table" in one.proto.body]
    return str(found)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_has_its_citation_headline_and_rows(paper: str) -> None:
    test = opened("papers", {"paper": paper, "evidence": "all"})
    assert not test.exception
    assert not test.warning
    rows = [row for row in ROWS if row.paper == paper]
    assert plain_text(PAPERS[paper].authors) in test.caption[0].value
    shown = table(test)
    assert shown.count("<tr>") == len(rows) + 1
    for name, sentence in headlines(rows).items():
        assert html.escape(sentence) in shown
        assert html.escape(EVIDENCE[name][1]) in shown
    for row in rows:
        assert html.escape(row.what) in shown
        assert html.escape(row.printed) in shown
        assert html.escape(row.why) in shown
        assert html.escape(row.needs) in shown
        assert row.name.replace(".", ".<wbr>") in shown  # the name of the command that repeats it
        if row.link:
            assert f'href="{html.escape(row.link.address)}"' in shown


@pytest.mark.parametrize("state", STATES)
def test_the_filter_shows_one_state(state: str) -> None:
    test = opened("papers", {"paper": "000", "evidence": "all", "show": state})
    rows = [row for row in ROWS if row.paper == "000" and row.state == state]
    if not rows:
        assert "No row of this kind is in this state." in [one.value for one in test.caption]
        return
    shown = table(test)
    assert shown.count("<tr>") == len(rows) + 1
    assert len(re.findall(r'class="dpv-state', shown)) == len(rows)


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_the_filter_shows_one_kind_of_evidence(evidence: str) -> None:
    test = opened("papers", {"paper": "000", "evidence": evidence})
    rows = [row for row in ROWS if row.paper == "000" and row.evidence == evidence]
    assert table(test).count("<tr>") == len(rows) + 1
    assert table(test).count('class="dpv-group"') == 1
    # States are counted among the rows of this kind.
    counts = [int(one.content.split()[-1]) for one in test.segmented_control[2].proto.options]
    assert counts[0] == len(rows) == sum(counts[1:])


def test_a_link_from_before_the_choice_of_evidence_shows_all_kinds() -> None:
    test = opened("papers", {"paper": "000", "show": "differs"})
    rows = [row for row in ROWS if row.paper == "000" and row.state == "differs"]
    assert {row.evidence for row in rows} > {"result"}
    assert table(test).count("<tr>") == len(rows) + 1
    assert "".join(test.query_params["evidence"]) == "all"
    test.segmented_control[1].set_value("code").run()
    assert "".join(test.query_params["evidence"]) == "code"


def test_choices_are_in_the_link_and_wrong_ones_are_corrected() -> None:
    test = opened("papers", {"paper": "003"})
    test.segmented_control[2].set_value("differs").run()
    assert {name: "".join(value) for name, value in test.query_params.items()} == {
        "paper": "003",
        "evidence": "result",
        "show": "differs",
    }
    wrong = opened("papers", {"paper": "001", "show": "green"})
    assert "This link was corrected." in wrong.warning[0].value
    assert not wrong.exception


#: Reads each link in the same way as its page, but does not draw the page.
READ = """
import runpy, streamlit as st
from dpviz.ui import page

pages, links = st.session_state["pages"], st.session_state["links"]
found = {}
given = page.run_page
page.run_page = lambda name, page_state, build: found.update({name: page_state})
try:
    for file in pages:
        runpy.run_path(file)
finally:
    page.run_page = given
notes = {}
for address, (name, query) in links.items():
    for key in [*st.session_state]:
        del st.session_state[key]
    st.query_params.from_dict(query)
    state = found[name]()
    link = state.link()
    notes[address] = [*state.notes, *(f"{key} is unknown" for key in query if key not in state)]
    notes[address] += [f"{key} = {value} became {link.get(key)}" for key, value in query.items()
                       if link.get(key) != value]
st.session_state["notes"] = notes
"""


def notes_of(links: dict[str, Link]) -> dict[str, list[str]]:
    from tests.support import ROOT

    test = AppTest.from_string(READ, default_timeout=120)
    test.session_state["pages"] = [str(ROOT / "pages" / f"{name}.py") for name in PAGES]
    test.session_state["links"] = {
        address: (one.page, dict(one.query)) for address, one in links.items()
    }
    test.run()
    assert not test.exception
    notes: dict[str, list[str]] = test.session_state["notes"]
    return notes


def test_no_page_corrects_a_link() -> None:
    assert len(LINKS) > 50
    assert {address: notes for address, notes in notes_of(LINKS).items() if notes} == {}


def test_a_wrong_link_would_be_noticed() -> None:
    wrong = {
        "a": Link("wavecluster", {"method": "nobody"}),
        "b": Link("audit", {"method": "privqt", "colour": "red"}),
        "c": Link("wavecluster", {"g": "99999"}),
    }
    assert all(notes_of(wrong).values())


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "row",
    [
        next(row for row in ROWS if row.name == name)
        for name in ("000-fig3", "000-alg4", "002-chain", "000-largest", "003-start-alone")
    ],
    ids=lambda row: row.name,
)
def test_a_link_opens_its_page(row) -> None:
    test = opened(row.link.page, dict(row.link.query))
    assert not test.exception
    assert not test.error
    assert not [one for one in test.warning if "corrected" in one.value]

"""The papers command prints the same rows as the page."""

from __future__ import annotations

import json

import pytest

from dpviz.commands.command_line import main
from dpviz.papers import PAPERS, ROWS, STATES, headline


def test_all_rows_are_in_the_json(capsys) -> None:
    assert main(["papers", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in report["rows"]] == [row.name for row in ROWS]
    assert set(report["papers"]) == set(PAPERS)
    assert {row["state"] for row in report["rows"]} <= set(STATES)


def test_one_paper_and_one_state(capsys) -> None:
    assert main(["papers", "002", "--state", "differs", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    expected = [row.name for row in ROWS if row.paper == "002" and row.state == "differs"]
    assert [row["name"] for row in report["rows"]] == expected != []
    assert report["papers"] == {"002": headline([row for row in ROWS if row.paper == "002"])}


def test_text_names_paper_state_outcome_and_reason(capsys) -> None:
    assert main(["papers", "000"]) == 0
    text = capsys.readouterr().out
    assert PAPERS["000"].title in text
    assert headline([row for row in ROWS if row.paper == "000"]) in text
    for row in ROWS:
        if row.paper == "000":
            assert row.what in text
            assert row.outcome in text
            assert row.why in text


@pytest.mark.parametrize("wrong", [["001"], ["000", "--state", "green"]])
def test_unknown_papers_and_states_are_refused(capsys, wrong: list[str]) -> None:
    assert main(["papers", *wrong]) == 2
    assert "is unknown: choose one of" in capsys.readouterr().err

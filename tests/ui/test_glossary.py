"""The glossary: every term occurs once, with the text of the question marks; and its page."""

from __future__ import annotations

import pytest

from dpviz.docs.glossary import entries
from dpviz.families import FAMILIES
from dpviz.ui.reference.glossary import PARTS
from tests.support.links import opened

WANTED = (
    "epsilon", "sensitivity", "ledger", "significant cell", "DSG_C", "OCM", "2CE", "F-measure",
    "domain", "unit", "cap", "seed", "audit bound", "k′", "NICV", "invented", "merged", "lost",
)  # fmt: skip


def text(test) -> str:
    return " ".join(
        one.proto.body for one in test.get("html") if 'class="dpv-terms' in one.proto.body
    )


@pytest.mark.parametrize("term", WANTED)
def test_a_term_of_the_screen_is_explained(term):
    found = [one for one in entries() if term.casefold() in one.term.casefold()]
    assert found
    assert all(len(one.text) > 20 and one.text.endswith(".") for one in found)


def test_no_term_stands_twice_in_a_group():
    terms = [(one.group, one.term) for one in entries()]
    assert len(set(terms)) == len(terms)


def test_scores_and_settings_have_the_words_of_their_question_marks():
    texts = {(one.group, one.term): one.text for one in entries()}
    for family in FAMILIES.values():
        for score in family.scores.values():
            assert texts[f"Scores of {family.title}", score.label] == score.about
        for parameter in family.own:
            assert texts[f"Settings of {family.title}", parameter.label] == parameter.help


def test_the_page_shows_all_terms_or_a_part():
    test = opened("glossary", {})
    assert text(test).count("<dt>") == len(list(entries()))
    shown = 0
    for part in PARTS:
        if part != "all":
            test = opened("glossary", {"part": part})
            assert not test.warning
            assert 0 < text(test).count("<dt>") < len(list(entries()))
            shown += text(test).count("<dt>")
    assert shown == len(list(entries()))
    assert "<dt>Wrong cells per true cell (DSG_C)</dt>" in text(
        opened("glossary", {"part": "scores"})
    )

"""Readouts: first the plain name, then the sign; help and grade, also for screen readers."""

from __future__ import annotations

import re

import pytest
from streamlit.delta_generator import DeltaGenerator

from dpviz.family.claim import Claim
from dpviz.family.headline import Headline
from dpviz.ui.widgets.headline import show_board
from dpviz.ui.widgets.readouts import Promise, Readout, cards_of, score_readout, show_reason
from dpviz.wavecluster.scores import SCORES

HOLDS = Claim(private=True, reason="Because.")
FAILS = Claim(private=False, reason="One look has no noise.")


@pytest.fixture
def card():
    def draw(one: Readout) -> str:
        _, others = cards_of([one], Promise(claim=HOLDS), 0)
        return re.findall(r'<div class="dpv-card.*?</div>', others)[0]

    return draw


def test_the_plain_name_comes_first_and_the_sign_second(card):
    text = card(score_readout(SCORES["dsg_c"], "0.305", 0.305))
    assert '<span class="dpv-label">Wrong cells per true cell</span>' in text
    assert '<span class="dpv-beside">DSG_C · best 0</span>' in text
    assert "Formula: Chen, Yu, Chirkova 2015, section 6.1." in text


@pytest.mark.parametrize(("value", "grade"), [(0.1, "good"), (0.4, "fair"), (2.0, "poor")])
def test_the_grade_is_seen_and_read_aloud(card, value, grade):
    text = card(score_readout(SCORES["dsg_c"], f"{value}", value))
    assert f'class="dpv-card dpv-{grade}"' in text
    assert f'aria-label="Wrong cells per true cell: {value}, {grade}. DSG_C · best 0. ' in text


def test_a_value_without_a_best_one_has_no_grade(card):
    text = card(score_readout(SCORES["clusters"], "17", beside="true 15"))
    assert 'class="dpv-card"' in text
    assert 'aria-label="Clusters: 17. true 15. ' in text


@pytest.mark.parametrize("value", [0.0, 0.1, 0.9])
def test_a_value_of_earlier_settings_is_grey_and_has_no_grade(card, value):
    text = card(score_readout(SCORES["ocm"], f"{value}", value, stale=True))
    assert 'class="dpv-card dpv-stale"' in text
    assert f"Points wrong: {value}, of earlier settings." in text


def test_text_is_escaped(card):
    assert "<b>" not in card(Readout("<b>", "<b>", "<b>", "<b>", "<b>"))


def of_unit(persons):
    return "whether you took part" if persons else "on one record of yours"


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "claim", "said", "loud"),
    [
        (0.05, HOLDS, "51.3% sure at most", False),
        (2.19, HOLDS, "90% sure at most", False),
        (2.2, HOLDS, "90.1% sure at most", True),
        (10.0, HOLDS, "next to certain", True),
        (6.0, FAILS, "", False),
        (None, HOLDS, "", False),
    ],
)
def test_headline_and_tile_say_what_epsilon_promises_and_to_whom(
    monkeypatch, epsilon, claim, said, loud, persons
):
    shown = []
    monkeypatch.setattr(DeltaGenerator, "html", lambda _, text: shown.append(text))
    found = Headline(text="All 3 clusters are found", intact=True)
    promise = Promise(claim=claim, epsilon=epsilon, persons=persons)
    show_board(found, promise, "Drag", [], 0)
    (board,) = shown
    sentence, tile = board.split('<div class="dpv-cards">')
    assert (f"a guess {of_unit(persons)}: {said}" in sentence) == bool(said)
    assert bool(said) is ("a guess" in sentence)
    assert ("dpv-risk" in sentence) is loud
    # If a guess can be more than 90% certain, no green tick is shown.
    assert ("dpv-yes" in tile) is (claim.private and not loud)
    assert ("promises little" in tile) is loud
    # The tile says how strong the promise is, in the words of the sentence.
    assert ("proof holds" in tile) is bool(said)
    assert all(word in tile for word in said.replace("sure ", "").split())
    assert ("not private" in tile) is not claim.private


@pytest.mark.parametrize("public", [False, True])
def test_only_pictures_of_data_that_need_protection_stay_with_the_owner(monkeypatch, public):
    shown = []
    monkeypatch.setattr("dpviz.ui.widgets.readouts.st.html", shown.append)
    promise = Promise(claim=HOLDS, epsilon=1.0, public=public)
    shown += cards_of([], promise, 0)
    show_reason(promise)
    assert ("owner" in " ".join(shown)) is not public


def test_the_first_scores_are_in_front_and_the_others_behind_a_button(monkeypatch):
    shown = []
    monkeypatch.setattr(DeltaGenerator, "html", lambda _, text: shown.append(text))
    three = [Readout(name, "1", "", "") for name in ("A", "B", "C")]
    promise, found = Promise(claim=HOLDS), Headline(text="All", intact=True)
    show_board(found, promise, "Drag", three, 2)
    front, others = shown[-1].split("dpv-others")
    names = re.compile(r'data-name="(.*?)"')
    assert (names.findall(front), names.findall(others)) == (["A", "B", "Method"], ["C"])
    assert "more scores" in front
    show_board(found, promise, "Drag", three, 3)
    assert "more scores" not in shown[-1]

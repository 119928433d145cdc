"""Key figures: plain name first, sign second, help and grade for eyes and for screen readers."""

from __future__ import annotations

import re

import pytest

from dpviz.family.claim import Claim
from dpviz.family.headline import Headline
from dpviz.ui import readouts
from dpviz.ui.headline import show_headline
from dpviz.ui.readouts import Readout, score_readout, show_readouts
from dpviz.wavecluster.scores import SCORES


@pytest.fixture
def card(monkeypatch):
    """HTML of the first card."""
    shown: list[str] = []
    monkeypatch.setattr(readouts.st, "html", shown.append)

    def draw(one: Readout) -> str:
        show_readouts([one], Claim(private=True, reason="Because."))
        return re.findall(r'<div class="dpv-card.*?</div>', shown[-1])[0]

    return draw


def test_the_plain_name_comes_first_and_the_sign_second(card):
    text = card(score_readout(SCORES["dsg_c"], "0.305", 0.305))
    assert '<span class="dpv-label">Cells wrong</span>' in text
    assert '<span class="dpv-beside">DSG_C · best 0</span>' in text
    assert "Formula: Chen, Yu, Chirkova 2015, section 6.1." in text


@pytest.mark.parametrize(("value", "grade"), [(0.1, "good"), (0.4, "fair"), (2.0, "poor")])
def test_the_grade_is_seen_and_read_aloud(card, value, grade):
    text = card(score_readout(SCORES["dsg_c"], f"{value}", value))
    assert f'class="dpv-card dpv-{grade}"' in text
    assert f'aria-label="Cells wrong: {value}, {grade}. DSG_C · best 0. ' in text


def test_a_value_without_a_best_one_has_no_grade(card):
    text = card(score_readout(SCORES["clusters"], "17", beside="true 15"))
    assert 'class="dpv-card"' in text
    assert 'aria-label="Clusters: 17. true 15. ' in text


def test_a_value_of_earlier_settings_is_grey_and_says_so(card):
    text = card(score_readout(SCORES["ocm"], "0.1", 0.1, stale=True))
    assert 'class="dpv-card dpv-fair dpv-stale"' in text
    assert "Points wrong: 0.1, fair, of earlier settings." in text


def test_text_is_escaped(card):
    assert "<b>" not in card(Readout("<b>", "<b>", "<b>", "<b>", "<b>"))


@pytest.mark.parametrize(
    ("epsilon", "private", "said", "loud"),
    [
        (0.05, True, "a guess which record is in the data: 51.3% sure at most", False),
        (2.9, True, "a guess which record is in the data: 94.8% sure at most", False),
        (6.0, True, "a guess which record is in the data: 99.8% sure at most", True),
        (6.0, False, "", False),
        (None, True, "", False),
    ],
)
def test_the_headline_says_what_its_epsilon_promises(monkeypatch, epsilon, private, said, loud):
    shown = []
    monkeypatch.setattr("dpviz.ui.headline.st.html", shown.append)
    found = Headline(text="All 3 clusters are found", intact=True)
    show_headline(found, epsilon, "Drag", private=private)
    (one,) = shown
    assert said in one
    assert bool(said) is ("a guess" in one)
    assert ("dpv-risk" in one) is loud
    # Records are what is promised for, unless persons are.
    show_headline(found, epsilon, "Drag", private=private, persons=True)
    assert said.replace("which record", "who") in shown[1]

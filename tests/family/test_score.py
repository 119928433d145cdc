"""Texts about a score, for all families: names, help, source and grade."""

from __future__ import annotations

import re
from functools import partial

import pytest

from dpviz.families import FAMILIES
from dpviz.family.score import Score
from dpviz.wavecluster.scores import CELLS_WRONG

ALL = [
    pytest.param(score, id=f"{family.name}:{name}")
    for family in FAMILIES.values()
    for name, score in family.scores.items()
]


@pytest.mark.parametrize("score", ALL)
def test_every_score_has_words(score: Score) -> None:
    assert score.help.endswith(".")
    assert len(score.help) > 30
    # A label shows the usual name of a score beside its plain name.
    assert score.title in score.label
    assert score.title in score.axis
    # If higher or lower values of a score are better, the score has a source, except this ratio.
    if score.better and score.name != "wcss_ratio":
        assert score.source in score.about
        assert score.source


@pytest.mark.parametrize("score", [*ALL, CELLS_WRONG])
def test_the_ideal_is_good_and_grades_fall_from_it(score: Score) -> None:
    if score.better is None or score.of_classes:
        assert score.grade(0.5) is None
        return
    ideal = score.ideal
    assert ideal is not None
    away = score.target - ideal
    grades = [score.grade(ideal + away * times) for times in (0, 1, 1.01, 2.99, 3.01, 50)]
    assert grades == ["good", "good", "fair", "fair", "poor", "poor"]
    # The help says where the marks change.
    limits = score.about.split("Marks:")[1]
    said = re.findall(r"(?:up to|from) ([\d.]*\d)(%?)", limits)
    good, fair = (float(number) / (100 if sign else 1) for number, sign in said)
    assert (score.grade(good), score.grade(fair)) == ("good", "fair")
    assert {sign for _, sign in said} == {"%" * score.percent}


def test_names_of_scores() -> None:
    make = partial(Score, name="a", compute=len)
    plain = make(title="DSG_C", best="0 is equal", plain="Cells wrong", help="How.", source="Who")
    assert plain.label == "Cells wrong (DSG_C)"
    assert plain.axis == "Cells wrong (DSG_C), 0 is equal"
    assert plain.about == "How. 0 is equal. Formula: Who."
    bracket = make(title="F (classes)", plain="Classes found")
    assert (bracket.label, bracket.short) == ("Classes found: F (classes)", "Classes found")
    bare = make(title="Clusters", best="1 is equal", better="<=")
    assert (bare.label, bare.short, bare.ideal) == ("Clusters", "Clusters", 1.0)


def test_nearly_twice_the_best_error_is_not_good() -> None:
    for name in ("nicv_ratio", "wcss_ratio", "space_ratio"):
        assert FAMILIES["kmeans"].scores[name].grade(1.905) == "fair", name

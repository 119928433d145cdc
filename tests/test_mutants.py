"""The planted mistakes still match the code; ``make mutants`` runs them."""

import ast

import pytest

from tests.mutants.mistakes import MISTAKES
from tests.support import ROOT


@pytest.mark.some(1000)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_can_be_planted(name):
    mistake = MISTAKES[name]
    text = (ROOT / "dpviz" / mistake.file).read_text(encoding="utf-8")
    assert text.count(mistake.old) == 1
    if mistake.file.endswith(".py"):
        ast.parse(text.replace(mistake.old, mistake.new))
    assert mistake.new != mistake.old
    assert mistake.tests
    assert all((ROOT / "tests" / test).exists() for test in mistake.tests)


def test_there_are_enough_mistakes():
    assert len(MISTAKES) >= 60
    assert {one.file.split("/")[0] for one in MISTAKES.values()} >= {
        "privacy", "release", "metrics", "wavecluster", "kmeans",
    }  # fmt: skip

"""The planted mistakes still match the code; ``make mutants`` runs them."""

import ast

from tests.mutants.mistakes import MISTAKES
from tests.support import ROOT


def test_every_mistake_can_be_planted():
    for name, mistake in MISTAKES.items():
        text = (ROOT / "dpviz" / mistake.file).read_text(encoding="utf-8")
        assert text.count(mistake.old) == 1, name
        if mistake.file.endswith(".py"):
            ast.parse(text.replace(mistake.old, mistake.new))
        assert mistake.new != mistake.old, name
        assert mistake.tests, name
        assert all((ROOT / "tests" / test).exists() for test in mistake.tests), name


def test_there_are_enough_mistakes():
    assert len(MISTAKES) >= 60
    assert {one.file.split("/")[0] for one in MISTAKES.values()} >= {
        "privacy", "release", "metrics", "wavecluster", "kmeans",
    }  # fmt: skip

"""Nothing that a reader gets changes unnoticed: see tests/golden/build.py."""

import json

import pytest

from dpviz.families import CARDS
from tests.golden.build import FOLDER, PARTS, as_text, runs, text


def stored(part: str) -> str:
    return (FOLDER / f"{part}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", [part for part in PARTS if part != "runs"])
def test_nothing_changed(part: str) -> None:
    assert text(part) == stored(part), "if it is meant: python -m tests.golden.build"


@pytest.mark.parametrize("method", CARDS)
def test_no_run_of_a_method_changed(method: str) -> None:
    before = json.loads(stored("runs"))
    now = runs([method])
    assert now.keys() <= before.keys(), "write its runs: python -m tests.golden.build"
    assert as_text(now) == as_text({name: before[name] for name in now})


def test_the_stored_runs_are_those_of_the_variants_that_there_are() -> None:
    variants = {f"{name} {one.name}" for name, card in CARDS.items() for one in card.variants}
    assert set(json.loads(stored("runs"))) == variants

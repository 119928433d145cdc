"""No output for readers changes unnoticed: see tests/golden/build.py."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from dpviz.families import CARDS
from tests.golden.build import CASES, FOLDER, LINKS, PARTS, as_text, links, releases, runs, text
from tests.support.tiers import daily


def stored(part: str) -> str:
    return (FOLDER / f"{part}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "part", [part for part in PARTS if part not in ("links", "releases", "runs")]
)
def test_nothing_changed(part: str) -> None:
    assert text(part) == stored(part), "if it is meant: python -m tests.golden.build"


# A page is shown for every link, and a release is made for every case: a sixth of them every day.
@pytest.mark.parametrize("first", daily(range(6), (3).__eq__))
@pytest.mark.parametrize(
    ("part", "made", "cases"), [("links", links, LINKS), ("releases", releases, CASES)]
)
def test_no_case_changed(part: str, made: Any, cases: Sequence[Any], first: int) -> None:
    before = json.loads(stored(part))
    now = made(cases[first::6])
    assert now.keys() <= before.keys(), "write its text: python -m tests.golden.build"
    assert as_text(now) == as_text({name: before[name] for name in now})
    assert len(before) == len(cases) + (part == "releases")  # the schema


@pytest.mark.parametrize("method", CARDS)
def test_no_run_of_a_method_changed(method: str) -> None:
    before = json.loads(stored("runs"))
    now = runs([method])
    assert now.keys() <= before.keys(), "write its runs: python -m tests.golden.build"
    assert as_text(now) == as_text({name: before[name] for name in now})


def test_the_stored_runs_are_those_of_the_variants_that_there_are() -> None:
    variants = {f"{name} {one.name}" for name, card in CARDS.items() for one in card.variants}
    assert set(json.loads(stored("runs"))) == variants

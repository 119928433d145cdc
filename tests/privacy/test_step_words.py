"""Entries of the ledger that are shown together in one line."""

from __future__ import annotations

from dpviz.privacy.ledger import Composition, Spend
from dpviz.privacy.steps import group_epsilon, group_words, grouped


def spend(step: str, epsilon: float, composition: Composition = "sequential") -> Spend:
    return Spend(
        step=step, epsilon=epsilon, sensitivity=1.0, scale=1 / epsilon, composition=composition
    )


def test_choices_of_a_generation_and_parallel_parts_are_one_line() -> None:
    ledger = [
        *(spend(f"generation {one}, choice {two}", 0.25) for one in (1, 2) for two in (1, 2)),
        spend("iteration 1", 0.5, "parallel"),
        spend("iteration 1", 0.75, "parallel"),
        spend("cells", 0.1),
        spend("cells", 0.1),
    ]
    groups = grouped(ledger)
    assert [len(group) for group in groups] == [2, 2, 2, 1, 1]
    assert [one for group in groups for one in group] == ledger
    assert [group_epsilon(group) for group in groups] == [0.5, 0.5, 0.75, 0.1, 0.1]
    assert [group_words(group) for group in groups] == [
        "generation 1, choice 1 to choice 2",
        "generation 2, choice 1 to choice 2",
        "iteration 1",
        "noisy grid",
        "noisy grid",
    ]

"""The stored effects of a method's parts: their reader, and the benchmark that measures them."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest

from dpviz.base.errors import InputError
from dpviz.experiments import ablations
from dpviz.experiments.ablations import frame, parts, sentence
from dpviz.families import CARDS
from dpviz.privacy.mechanisms import Accountant
from tests.benchmarks import ablation as measured


def test_stored_rows_are_those_that_the_benchmark_measures() -> None:
    for method, entry in measured.METHODS.items():
        expected = [
            (part.name, part.instead, data, epsilon)
            for part in entry.parts
            for data in part.data or entry.data
            for epsilon in entry.epsilons
        ]
        rows = parts(method)
        assert [(row.part, row.instead, row.data, row.epsilon) for row in rows] == expected
        assert {(row.score, row.draws) for row in rows} == {(entry.score, measured.DRAWS)}


def test_figures_are_possible_and_of_one_whole_method() -> None:
    whole = {}
    for row in parts():
        for one in (row.whole, row.without):
            assert one.low <= one.median <= one.high
            # No clustering is better than the optimum without noise.
            assert one.low >= (1 if row.score == "nicv_ratio" else 0)
        key = (row.method, row.data, row.epsilon)
        assert whole.setdefault(key, row.whole) == row.whole
        assert row.factor == row.without.median / row.whole.median
    assert {row.method for row in parts()} <= set(CARDS)
    assert parts("kmeans") == ()
    with pytest.raises(InputError, match="is unknown"):
        parts("nobody")


@pytest.mark.parametrize("method", measured.METHODS)
def test_sentence_names_the_part_that_brings_most(method: str) -> None:
    most = max(parts(method), key=lambda row: row.factor)
    said = sentence(method)
    assert most.part.lower() in said
    assert f"{most.without.median:.3g} instead of {most.whole.median:.3g}" in said


def test_table_has_a_row_for_each_figure() -> None:
    table = frame(parts("dprefine"))
    assert len(table) == len(parts("dprefine"))
    assert {"part", "whole_median", "without_high"} <= set(table.columns)
    assert ablations.FILE.exists()


def test_a_part_comes_back_whatever_happens() -> None:
    kept = Accountant.k_norm, measured.resolve_name("dpviz.kmeans.denoise:PASSES")
    for part in (*measured.DPREFINE.parts, *measured.TWOSTAGE.parts):
        with suppress(ZeroDivisionError), measured.changed(part.changes):
            for name, value in part.changes.items():
                assert measured.resolve_name(name) is value
            raise ZeroDivisionError
    assert (Accountant.k_norm, measured.resolve_name("dpviz.kmeans.denoise:PASSES")) == kept


@pytest.mark.parametrize("method", measured.METHODS)
def test_every_part_takes_part_somewhere(method: str) -> None:
    for part in measured.METHODS[method].parts:
        rows = [row for row in parts(method) if row.part == part.name]
        assert any(not math.isclose(row.factor, 1, rel_tol=1e-4) for row in rows), part.name


@pytest.mark.daily("twostage-only2")
@pytest.mark.parametrize(
    ("method", "only"),
    [
        ("dprefine", ("Split cells", "S1", 1.0)),
        ("dprefine", ("K-norm noise", "S1", 1.0)),
        ("twostage", ("Nested noise", "Spirals", 1.0)),
    ],
)
def test_reference_figures_come_out_again(method: str, only: tuple[str, str, float]) -> None:
    (again,) = measured.measure(method, only=only)
    (stored,) = (row for row in parts(method) if (row.part, row.data, row.epsilon) == only)
    assert again == stored

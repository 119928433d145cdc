"""The numbers in captions and cards for the figures of Hu et al. are reproduced."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpviz.experiments.presets import PRESETS
from dpviz.families import CARDS
from dpviz.kmeans import lloyd
from tests.benchmarks.papers.hu import METHODS, options
from tests.benchmarks.papers.lab import Floats, Lab
from tests.conftest import reference_file

#: Number of draws here; smallest number of draws for the texts; allowed joint standard errors.
FEW, MANY, ERRORS = 12, 50, 4.5

#: With these settings, Algorithm 3 as printed spends all of epsilon in each iteration.
WHOLE = {"iterations": 10, "schedule": "uniform"}


@pytest.fixture(scope="module")
def lab() -> Lab:
    reference_file("unbalance.csv.gz")
    return Lab()


def triples(text: str) -> Iterator[list[tuple[float, float]]]:
    """Numbers of the three methods, each with its largest rounding error."""
    for found in re.finditer(r"(\d?\.\d+)/(\d?\.\d+)/(\d?\.\d+)", text):
        yield [(float(one), 0.5 * 10.0 ** -len(one.partition(".")[2])) for one in found.groups()]


def compare(
    lab: Lab,
    score: str,
    epsilon: float,
    said: list[tuple[float, float]],
    methods: tuple[str, ...] = METHODS,
    **more: Any,
) -> None:
    for method, (mean, rounding) in zip(methods, said, strict=True):
        given = {"epsilon": epsilon} | options(method) | more
        if score == "class_f":
            found = lab.class_f("unbalance", method, FEW, **given)
        else:
            found = lab.scores("unbalance", method, score, FEW, **given)
        joint = found.std(ddof=1) * np.sqrt(1 / FEW + 1 / MANY)
        assert abs(found.mean() - mean) <= ERRORS * joint + rounding, (method, epsilon, more)


@pytest.mark.exhaustive
def test_caption_of_figure_2_has_the_numbers_of_unbalance(lab: Lab) -> None:
    said = list(triples(PRESETS["003-2"].caption))
    f, nicv, settled = said[:3], said[3:6], said[6:]
    assert len(settled) == 2
    for epsilon, scores in zip((0.1, 0.5, 1.0), zip(f, nicv, strict=True), strict=True):
        compare(lab, "class_f", epsilon, scores[0])
        compare(lab, "nicv", epsilon, scores[1])
    for epsilon, one in zip((0.1, 1.0), settled, strict=True):
        compare(lab, "class_f", epsilon, one, iterations=10)


@pytest.mark.exhaustive
def test_card_has_the_numbers_by_iterations(lab: Lab) -> None:
    late = next(one for one in CARDS["dpkmeanspp"].deviations if "with the rule" in one)
    said = list(triples(late))
    assert len(said) == 12
    settings = [(steps, epsilon) for steps in (10, 5, 2, 1) for epsilon in (0.25, 0.5, 1.0)]
    for (steps, epsilon), one in zip(settings, said, strict=True):
        compare(lab, "class_f", epsilon, one, iterations=steps)


@pytest.mark.exhaustive
def test_card_has_the_numbers_of_a_whole_budget_in_each_iteration(lab: Lab) -> None:
    whole = next(one for one in CARDS["dpkmeansup"].deviations if "spends ten times epsilon" in one)
    for epsilon, one in zip((1.0, 5.0, 10.0), triples(whole), strict=True):
        compare(lab, "class_f", epsilon, one, **WHOLE)


def test_card_has_the_numbers_of_both_readings_of_a_random_start(lab: Lab) -> None:
    text = next(one for one in CARDS["dplloyd"].deviations if "does not say from which set" in one)
    rows = re.findall(r"((?:\.\d\d, ){3}\.\d\d) for (\w+)", text)
    assert [name for _, name in rows] == ["records", "places"]
    for start, (numbers, _) in zip(("records", "random"), rows, strict=True):
        for epsilon, said in zip((0.1, 0.25, 0.5, 1.0), numbers.split(", "), strict=True):
            given = options("dplloyd") | {"start": start}
            found = lab.class_f("unbalance", "dplloyd", FEW, epsilon=epsilon, **given)
            joint = found.std(ddof=1) * np.sqrt(1 / FEW + 1 / MANY)
            assert abs(found.mean() - float(said)) <= ERRORS * joint + 0.005


@pytest.mark.exhaustive(reason="other tests of this file compute figures of the card")
def test_clipping_the_last_centers_alone_changes_as_little_as_the_card_says(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = next(one for one in CARDS["dpkmeansup"].deviations if "do not clip centres" in one)
    clipped, not_clipped = triples(text)
    raw = Lab()

    def quotients(
        centers: Floats, counts: Floats, sums: Floats, _: object
    ) -> tuple[Floats, NDArray[np.bool_]]:
        return sums / counts[:, None], np.zeros(len(centers), dtype=bool)

    for epsilon, one, other in zip((0.1, 0.5, 1.0), clipped, not_clipped, strict=True):
        compare(lab, "class_f", epsilon, [one], methods=METHODS[2:])
        with monkeypatch.context() as patch:
            patch.setattr(lloyd, "printed_centers", quotients)
            compare(raw, "class_f", epsilon, [other], methods=METHODS[2:])


def test_orders_on_unbalance_are_as_the_caption_says(lab: Lab) -> None:
    # With 16 draws at ε 1, F differs by .07 and .02, with standard errors of at most .016 and .01.
    f = [lab.class_f("unbalance", one, 16, epsilon=1.0, **options(one)).mean() for one in METHODS]
    nicv = [
        lab.scores("unbalance", one, "nicv", 16, epsilon=1.0, **options(one)).mean()
        for one in METHODS
    ]
    assert f[0] < f[1] < f[2]
    assert nicv[0] > 1.5 * max(nicv[1:])
    assert nicv[2] == pytest.approx(nicv[1], rel=0.25)

"""Entries of the ledger that are shown together in one line."""

from __future__ import annotations

import numpy as np
import pytest

from dpviz.data.samples import load_sample
from dpviz.families import trial_of
from dpviz.privacy.ledger import Composition, Spend
from dpviz.privacy.mechanisms import Accountant, Level
from dpviz.privacy.noise_source import SeededNoise
from dpviz.privacy.steps import group_epsilon, group_words, grouped, together_words
from dpviz.wavecluster.methods import METHODS as WAVECLUSTER
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.truth import run


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


def test_a_scale_of_several_releases_together_says_so() -> None:
    """1 / 0.05 is not 4: the finer counts have the noise of both releases together."""
    accountant = Accountant(SeededNoise(0), 1.0)
    levels = [Level("rough counts", 0.2), Level("finer counts", 0.25)]
    gradual = accountant.gradual(np.arange(9), levels, sensitivity=1)
    accountant.finer(gradual, 1)
    accountant.laplace("threshold", 3.0, sensitivity=1, epsilon=0.3)
    rough, finer, last = accountant.ledger
    assert (finer.epsilon, finer.scale, finer.together) == (pytest.approx(0.05), 4, 0.25)
    assert together_words([finer]) == " (4: for this and the coarser counts together, ε 0.25)"
    assert together_words([rough, last]) == ""


def test_a_ledger_line_whose_scale_is_not_sensitivity_over_epsilon_explains_it() -> None:
    data = load_sample("gaussians")
    for method in WAVECLUSTER:
        trial = trial_of(data, Config(method=method, epsilon=1.0), data.domain)
        ledger = run(trial.truth.source, trial.config, SeededNoise(0)).ledger
        for one in ledger:
            plain = one.sensitivity / one.epsilon
            assert bool(together_words([one])) == (one.scale < plain * 0.999), one

"""Violations that an audit must find, and cases that it must not report.

The bound of one scenario may be wrong in one of a hundred audits. Seeds are fixed. With a loss of
exactly the claim, 3 wrong bounds in 7,500 audits were measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpviz.audit import audit, scenarios
from dpviz.audit.bounds import lower_bound
from dpviz.audit.runs import collect, with_classifier
from dpviz.audit.scenarios import Scenario
from dpviz.audit.scores import LIKELIHOOD, LIKELIHOOD_NAME
from tests.support.tiers import daily

#: Method, variant, scenario; the bound that was measured before with up to 20,000 runs on each data
#: set; a smaller number of runs that still shows four fifths of this bound.
ROWS = (
    ("privthrem", "published", "largest-cell", 6.78, 6000),
    ("privthrem", "sound", "rank-shown", 5.60, 9000),
    ("privqt", "published", "far-point", 6.85, 4000),
    ("privqt", "published", "moved-record", 1.85, 6000),
    ("dpkmeanspp", "published", "far-record", 5.63, 2000),
    ("dpkmeansup", "published", "far-record", 4.53, 600),
    ("contour", "published", "lonely-record", 6.88, 4000),
    ("dpkmeans_mapreduce", "published", "shifted-list", 3.02, 2000),
    ("gupt", "published", "shifted-list", 5.79, 8000),
    ("eugkm", "published", "true-size", 7.54, 4500),
    ("dpkmeanspp", "published", "stopping", 5.28, 4000),
    ("privqt", "sound", "moved-unknown", 1.85, 6000),
    ("privqt", "sound", "half-noise", 1.84, 3000),
    ("privqt", "sound", "known-seed", 7.54, 4500),
    ("privthr", "sound", "true-threshold", 5.9, 2500),
    ("privthr", "sound", "exact-pruning", 6.9, 6000),
    ("privthrem", "sound", "half-threshold-noise", 1.39, 20_000),
    ("gupt", "sound", "noise-by-8", 4.57, 3000),
    ("contour", "sound", "two-thirds-noise", 1.25, 6000),
    ("mcmc", "sound", "half-noise", 1.63, 8000),
    # The loss is just above the claim, so fewer runs would not show it.
    ("gupt", "sound", "noise-by-2", 1.19, 20_000),
)

#: Not measured before: further broken promises, and a number of runs that shows them.
OTHERS = {
    ("privthr", "published", "far-point"): 200,
    ("privthrem", "published", "far-point"): 200,
    ("baseline", "published", "far-point"): 200,
    ("baseline", "published", "true-size"): 200,
    ("dplloyd", "published", "far-range"): 200,
    ("mcmc", "published", "far-range"): 100,
    ("hybrid", "published", "true-size"): 200,
    ("gupt", "published", "true-size"): 200,
    ("privgene", "published", "true-size"): 60,
    ("twostage", "sound", "half-last-noise"): 4000,
    ("twostage", "sound", "all-counts"): 2000,
    ("twostage", "sound", "moved-unknown"): 1000,
    ("twostage", "sound", "far-range"): 200,
    ("dprefine", "sound", "far-range"): 200,
    ("dprefine", "sound", "half-fine-noise"): 500,
    ("dprefine", "sound", "all-cells"): 1500,
    ("dprefine", "sound", "unsplit-budget"): 500,
    ("dprefine", "sound", "true-radius"): 100,
    ("dprefine", "sound", "moved-unknown"): 500,
}

#: Fewer runs for daily tests, if the runs above take seconds; enough to show the violation.
FEWER = {
    ("privthrem", "published", "largest-cell"): 500,
    ("privthrem", "sound", "rank-shown"): 800,
    ("privthr", "sound", "exact-pruning"): 500,
    ("dpkmeanspp", "published", "far-record"): 300,
    ("dpkmeanspp", "published", "stopping"): 500,
    ("dpkmeansup", "published", "far-record"): 150,
    ("contour", "published", "lonely-record"): 500,
    ("gupt", "published", "shifted-list"): 800,
    ("gupt", "sound", "noise-by-8"): 500,
    ("eugkm", "published", "true-size"): 300,
    ("twostage", "sound", "all-counts"): 700,
    ("dprefine", "sound", "far-range"): 60,
}

#: The loss is too near the claim to be shown by few runs. Other daily tests cover halved noise in
#: PrivQT, more moved persons than allowed in PrivQT and DP-Refine, and another broken promise of
#: each of these methods.
NEAR = {
    ("privthrem", "sound", "half-threshold-noise"),
    ("contour", "sound", "two-thirds-noise"),
    ("mcmc", "sound", "half-noise"),
    ("gupt", "sound", "noise-by-2"),
    ("twostage", "sound", "half-last-noise"),
    ("twostage", "sound", "moved-unknown"),
}

#: For scenarios without a violation: share of their runs that the tests make, the share for daily
#: tests, and the minimum number of runs.
SHARE, DAILY_SHARE, FEWEST = 0.1, 0.02, 60

#: These scenarios take 7 to 18 seconds with the minimum number of runs. Every day,
#: tests/test_replay.py covers grids chosen privately, many columns, and centres that do not depend
#: on data.
LONG = ("dprefine-sound-eight-columns", "dprefine-sound-blind")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Prevent scikit-learn from waiting for cores used by other processes."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """No promise depends on the length of a chain."""
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.STEPS", 1000)
    monkeypatch.setattr("dpviz.kmeans.methods.mcmc.RESTARTS", 1)


def key_of(scenario: Scenario) -> str:
    return f"{scenario.method}-{scenario.variant}-{scenario.name}"


def for_every_day(row: tuple[Any, ...]) -> bool:
    return row[:3] not in FEWER and row[:3] not in NEAR


@pytest.mark.exhaustive(reason="tests/audit/test_steps.py finds planted bugs daily")
@pytest.mark.parametrize(
    ("method", "variant", "name", "listed", "runs"), daily(ROWS, for_every_day)
)
def test_what_must_be_found_is_found(
    method: str, variant: str, name: str, listed: float, runs: int
) -> None:
    found = audit(method, variant, scenario=name, runs=runs)
    assert found.violated
    assert found.epsilon_lower > found.claim == 1
    assert found.epsilon_lower >= 0.8 * listed


@pytest.mark.exhaustive(reason="tests/audit/test_steps.py finds planted bugs daily")
@pytest.mark.parametrize(
    ("method", "variant", "name", "runs"),
    daily([(*key, runs) for key, runs in OTHERS.items()], for_every_day),
)
def test_other_broken_promises_are_found(method: str, variant: str, name: str, runs: int) -> None:
    assert audit(method, variant, scenario=name, runs=runs).violated


@pytest.mark.some(1)
@pytest.mark.parametrize(("key", "runs"), FEWER.items())
def test_fewer_runs_see_a_broken_promise(key: tuple[str, str, str], runs: int) -> None:
    method, variant, name = key
    assert audit(method, variant, scenario=name, runs=runs).violated


def test_every_broken_promise_has_its_runs_and_every_method_some_for_every_day() -> None:
    listed = {row[:3] for row in ROWS} | set(OTHERS)
    assert set(FEWER) | NEAR <= listed
    assert not set(FEWER) & NEAR
    assert {method for method, *_ in listed} == {method for method, *_ in listed - NEAR}


def test_rows_and_others_are_all_that_is_not_private() -> None:
    listed = {row[:3] for row in ROWS} | set(OTHERS)
    broken = {(one.method, one.variant, one.name) for one in scenarios() if not one.private}
    assert listed == broken


@pytest.mark.parametrize("share", daily((DAILY_SHARE, SHARE), lambda share: share == DAILY_SHARE))
@pytest.mark.parametrize(
    "scenario",
    daily((one for one in scenarios() if one.private), lambda one: key_of(one) not in LONG),
    ids=key_of,
)
def test_what_is_called_private_is_never_flagged(scenario: Scenario, share: float) -> None:
    runs = max(int(share * scenario.runs), FEWEST)
    labels, without, joined = collect(scenario, 1.0, runs, seed=1)
    assert lower_bound(*with_classifier(labels, without, joined)[1:]).epsilon <= 1
    # The test needs no statistics: in each run, the answers may be at most e times as likely on one
    # side as on the other.
    assert LIKELIHOOD in scenario.groups
    assert labels[-1] == LIKELIHOOD_NAME
    losses = np.abs(np.concatenate([without[:, -1], joined[:, -1]]))
    assert 0 < losses.max() <= 1 + 1e-9

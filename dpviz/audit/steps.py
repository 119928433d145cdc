"""Power of this audit: it looks for too little noise in every step of every sound method.

``steps.json`` beside this file holds the figures; ``python -m tests.benchmarks.audit_steps``
measures them again. One step at a time, the noise is halved or left out, but the ledger still
shows the full noise. On the chosen data sets, all steps change as much as possible at once. A step
with a share s of the budget and half of its noise then has a loss of 1 + s at the claim 1. The
score is the log-likelihood ratio of all noisy answers of the mechanism as built. No other score
is stronger: what it does not find, no audit with the same number of runs finds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from dpviz.audit import data
from dpviz.audit.bounds import lower_bound
from dpviz.audit.noise import RunNoise
from dpviz.audit.planted import HALF, NONE, Bug
from dpviz.audit.runs import ScenarioRuns, collect
from dpviz.audit.scenarios import Scenario
from dpviz.audit.scores import LIKELIHOOD
from dpviz.families import CARDS

#: File of the figures.
FILE = Path(__file__).with_name("steps.json")

#: Claim of all rows; runs on each data set, by the factor on the noise.
CLAIM = 1.0
RUNS = {HALF: 20_000, NONE: 2_000}

#: Names of the bugs for users, by the factor on the noise.
BUGS = {HALF: "noise halved", NONE: "noise left out"}

#: A loss that exceeds the claim by less than this cannot be distinguished from the claim.
NEAR = 0.12

Reason = Literal["small share", "many numbers", "moves little"]

#: Reasons why some bugs are not found, for users.
REASONS: dict[Reason, str] = {
    "small share": (
        f"the step has so little of the budget that the true ε stays below {CLAIM + NEAR:g}, "
        "too near the claim"
    ),
    "many numbers": (
        "the true ε shows in full only where many noisy numbers are all extreme at once, which too "
        "few of the runs are"
    ),
    "moves little": "we know no two data sets between which the step moves as far as it may",
}


def step_scenario(
    method: str, pair: Callable[[float], Any], *, public: tuple[str, ...] = (), **options: Any
) -> Scenario:
    """A sound method on two data sets that differ in all of its steps.

    Parameters
    ----------
    method, pair, options
        As for a :class:`Scenario`.
    public
        Steps whose choices are known.
    """
    return Scenario(
        name="steps",
        method=method,
        variant="sound",
        description="One person joins.",
        pair=pair,
        groups=(LIKELIHOOD,),
        options=options,
        noise=partial(RunNoise, public=public),
    )


def shares(scenario: Scenario) -> dict[str, float]:
    """Largest budget share of each step; a noisy size may change the steps."""
    scenario_runs, found = ScenarioRuns(scenario, CLAIM), dict[str, float]()
    for number in range(20):
        for spend in scenario_runs.record(0, 0, number)[1].ledger:
            share = round(spend.epsilon / CLAIM, 6)
            found[spend.step] = max(share, found.get(spend.step, 0))
    return found


#: One cluster: counts and sums change as much as possible.
_kmeans = partial(step_scenario, pair=data.eleventh_record, clusters=1)

SCENARIOS = (
    step_scenario("privqt", data.eleventh_in_cell),
    step_scenario("privthr", data.second_block),
    step_scenario("privthr", data.second_block, alpha=0.5),
    step_scenario("twostage", data.first_in_cell),
    # Few cells are significant: the rough counts get more of the budget.
    step_scenario("twostage", data.eleventh_in_cell, density=0.99),
    step_scenario("privthrem", data.third_block),
    step_scenario("privthrem", data.third_block, alpha=0.2),
    step_scenario("baseline", data.eleventh_on_line, synopsis="adaptive_grid"),
    step_scenario("baseline", data.eleventh_on_line, synopsis="uniform_grid"),
    step_scenario("baseline", data.eleventh_on_line, synopsis="privelet"),
    step_scenario("baseline", data.eleventh_in_cell, synopsis="quadtree"),
    _kmeans("dplloyd"),
    _kmeans("dplloyd", iterations=2),
    _kmeans("dpkmeanspp"),
    _kmeans("dpkmeansup"),
    _kmeans("dpkmeans_mapreduce"),
    _kmeans("dpkmeans_mapreduce", iterations=1),
    _kmeans("contour", iterations=1),
    _kmeans("contour", iterations=1, start="random"),
    _kmeans("mcmc", iterations=2),
    _kmeans("eugkm"),
    _kmeans("hybrid"),
    step_scenario("gupt", data.swapped_centers, public=(data.DEALT,), clusters=2),
    _kmeans("dprefine"),
    step_scenario("dprefine", data.crowded_corner, clusters=1),
    step_scenario("privgene", data.opposite_end, public=(data.BRED,), clusters=2, iterations=1),
)


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """Result of an audit of one bug in one step.

    Parameters
    ----------
    method, variant, options
        What was audited, with the options that differ from the defaults.
    step, share
        Step with the bug, and its share of the budget.
    factor
        Factor on the noise of that step, one of ``BUGS``.
    pair_loss
        Largest loss of any run on the two data sets; None if there is no limit.
    bound
        Lower bound on epsilon, with 99% confidence.
    runs
        Runs on each data set.
    """

    method: str
    variant: str
    options: Mapping[str, Any]
    step: str
    share: float
    factor: float
    pair_loss: float | None
    bound: float
    runs: int

    @property
    def largest_loss(self) -> float:
        """Loss with the bug at the claim 1 if all steps change as much as possible."""
        if self.factor == NONE:
            return math.inf
        return CLAIM * (1 - self.share + self.share / self.factor)

    @property
    def found(self) -> bool:
        """Whether the bound is above the claim."""
        return self.bound > CLAIM

    @property
    def reason(self) -> Reason | None:
        """Reason why the bug is not found; None if it is found."""
        if self.found:
            return None
        if self.largest_loss <= CLAIM + NEAR:
            return "small share"
        moves = self.pair_loss is None or self.pair_loss > 0.97 * self.largest_loss
        return "many numbers" if moves else "moves little"


def measure(
    scenario: Scenario, step: str, factor: float, *, runs: int | None = None, seed: int = 0
) -> StepResult:
    """Plant a bug in one step of a method, and audit it.

    Parameters
    ----------
    scenario, step, factor
        Where the bug is, and the factor on the noise.
    runs
        Runs on each data set; None uses the number of the committed figures.
    seed
        The same seed gives the same figures.
    """
    from sklearn import config_context

    count = RUNS[factor] if runs is None else runs
    # On tiny data, the checks of scikit-learn take longer than the fit.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        _, without, joined = collect(replace(scenario, bug=Bug(step, factor)), CLAIM, count, seed)
    largest = max(float(abs(side).max()) for side in (without, joined))
    return StepResult(
        method=scenario.method,
        variant=scenario.variant,
        options=dict(scenario.options),
        step=step,
        share=shares(scenario)[step],
        factor=factor,
        pair_loss=None if factor == NONE else round(largest, 4),
        bound=round(lower_bound(without, joined).epsilon, 4),
        runs=count,
    )


@cache
def table() -> tuple[StepResult, ...]:
    """Return the measured figures, in the order of ``SCENARIOS``."""
    return tuple(StepResult(**row) for row in json.loads(FILE.read_text(encoding="utf-8")))


def frame(rows: Sequence[StepResult]) -> pd.DataFrame:
    """Return the figures as a table for users: one row per step, with both bugs side by side."""
    left_out = {_step(row): row for row in rows if row.factor == NONE}
    return pd.DataFrame(
        [
            {
                "method": CARDS[row.method].title,
                "variant": row.variant,
                "options": ", ".join(f"{name} {value}" for name, value in row.options.items()),
                "step": row.step,
                "share of ε": row.share,
                "noise halved": "found" if row.found else "out of sight",
                "true ε, at most": row.largest_loss,
                "measured ε, at least": row.bound,
                "runs": row.runs,
                "why out of sight": row.reason or "",
                "noise left out": "found" if left_out[_step(row)].found else "out of sight",
                "then measured ε, at least": left_out[_step(row)].bound,
                "then runs": left_out[_step(row)].runs,
            }
            for row in rows
            if row.factor == HALF
        ]
    )


def _step(row: StepResult) -> tuple[str, str, str]:
    """Step of a method with its options."""
    return row.method, str(row.options), row.step

"""Power of this audit: it looks for too little noise in every step of every sound method.

``steps.json`` beside this file holds the figures; ``python -m tests.benchmarks.audit_steps``
measures them again. One step at a time, the noise is halved or left out, but the ledger still
shows the full noise. On the chosen data sets, all steps change as much as possible at once. A step
with a share s of the budget and half of its noise then has a loss of 1 + s at the claim 1. The
score is the log-likelihood ratio of all noisy answers of the mechanism as built. No other score
is stronger: what it does not find, no audit with the same number of runs finds.

Half the noise that this does not find is looked for once more in the step alone: all earlier
answers are those of one run on the first data set, and only this step is drawn anew, on either of
the two. Whatever was answered before, it may lose no more than its own share of the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from dpviz.audit.transcript import Call
from dpviz.base.tables import read_rows
from dpviz.families import CARDS
from dpviz.privacy.mechanisms import Accountant

#: File of the figures.
FILE = Path(__file__).with_name("steps.json")

#: Claim of all rows; runs on each data set, by the factor on the noise.
CLAIM = 1.0
RUNS = {HALF: 20_000, NONE: 2_000}

#: Fewest runs on each data set that can show a loss beyond the claim in most of its answers.
FEW = 60

#: Runs on each data set of a step alone.
ALONE = 20_000

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


#: Runs that show which steps there are.
_FIRST = 20


def step_scenario(
    method: str,
    pair: Callable[[float], Any],
    *,
    public: tuple[str, ...] = (),
    runs: int = RUNS[HALF],
    **options: Any,
) -> Scenario:
    """A sound method on two data sets that differ in all of its steps.

    Choices of the steps in ``public`` are known. ``runs`` are those on each data set with half the
    noise: fewer where they take long.
    """
    return Scenario(
        name="steps",
        method=method,
        variant="sound",
        description="One person joins.",
        pair=pair,
        groups=(LIKELIHOOD,),
        runs=runs,
        options=options,
        noise=partial(RunNoise, public=public),
    )


def alone(scenario: Scenario, step: str) -> Scenario | None:
    """Scenario of one step after the answers of one run, which are public; see above.

    None where the first runs have no such step, or it is a part of nested releases: those cost
    less together than each after the other.
    """
    scenario_runs = ScenarioRuns(scenario, CLAIM)
    for number in range(_FIRST):
        calls = scenario_runs.calls(step, 0, number)
        if calls is not None:
            return replace(scenario, pair=partial(_pair, calls), run=_once)
    return None


def _pair(calls: tuple[Call, Call], claim: float) -> tuple[Call, Call]:
    """Two calls as two data sets; they were made at the claim of all rows."""
    return calls


def _once(call: Call, config: Any, accountant: Accountant) -> None:
    call.run(accountant)


def shares(scenario: Scenario) -> dict[str, float]:
    """Largest budget share of each step; a noisy size may change the steps."""
    scenario_runs, found = ScenarioRuns(scenario, CLAIM), dict[str, float]()
    for number in range(_FIRST):
        for spend in scenario_runs.record(0, 0, number)[1].ledger:
            share = round(spend.epsilon / CLAIM, 6)
            found[spend.step] = max(share, found.get(spend.step, 0))
    return found


#: One cluster: counts and sums change as much as possible.
_kmeans = partial(step_scenario, pair=data.eleventh_record, clusters=1)


def _refined(size: int, columns: int, clusters: int, runs: int) -> Scenario:
    """DP-Refine on many records, with so few runs because each of them takes long."""
    pair = partial(data.crowd, size=size, columns=columns)
    return step_scenario("dprefine", pair, clusters=clusters, runs=runs)


#: DP-Refine's ways, which hang on the noisy number of records: sizes lie far from where they turn,
#: in standard deviations of that noise, too.
DPREFINE = (
    # A nested grid with subcells; the same with a residual step.
    step_scenario("dprefine", data.eleventh_record, clusters=2, runs=2_500),
    _refined(100_000, 1, clusters=3, runs=100),
    # In more columns: centres that look at no data, and a residual step.
    _refined(10, 17, clusters=30, runs=100),
    # A plain grid.
    _refined(750, 5, clusters=80, runs=500),
    # A grid of the whole box; one of a projection, and a residual step.
    _refined(2_700, 5, clusters=100, runs=100),
    _refined(830, 40, clusters=10, runs=60),
    # A tree of three levels, and two last steps.
    _refined(100_000, 5, clusters=1, runs=200),
)

SCENARIOS = (
    step_scenario("privqt", data.eleventh_in_cell),
    step_scenario("privthr", data.second_block),
    step_scenario("privthr", data.second_block, alpha=0.5),
    # Few cells are significant: the counts up to the share get up to 0.8 of the budget.
    step_scenario("twostage", data.one_of_eleven, density=0.99),
    # With p = 1/2 the last step gets up to 0.6.
    step_scenario("twostage", data.one_of_many, runs=1_000),
    step_scenario("twostage", data.eleventh_point, choose="private", runs=200),
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
    *DPREFINE,
    step_scenario("privgene", data.opposite_end, public=(data.BRED,), clusters=2, iterations=1),
)


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """Result of an audit of one bug in one step.

    Parameters
    ----------
    factor
        Factor on the noise of that step, one of ``BUGS``.
    pair_loss
        Largest loss of any run on the two data sets; None if there is no limit.
    bound
        Lower bound on epsilon, with 99% confidence.
    alone
        Where half the noise does not show in all answers: lower bound on the epsilon of the step
        alone, with 99% confidence; None for parts of nested releases.
    alone_share
        What that may be at most.
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
    alone: float | None = None
    alone_share: float | None = None

    @property
    def largest_loss(self) -> float:
        """Loss with the bug at the claim 1 if all steps change as much as possible."""
        if self.factor == NONE:
            return math.inf
        return CLAIM * (1 - self.share + self.share / self.factor)

    @property
    def found(self) -> bool:
        """Whether a bound is above its claim."""
        return self.bound > CLAIM or self.found_alone

    @property
    def found_alone(self) -> bool:
        """Whether the bound of the step alone is above what the step spends."""
        if self.alone is None or self.alone_share is None:
            return False
        return self.alone > self.alone_share

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

    ``factor`` is that on the noise; ``runs`` None takes the number of the committed figures.
    """
    from sklearn import config_context

    if runs is None:
        runs = max(RUNS[factor] * scenario.runs // RUNS[HALF], FEW)
    # On tiny data, the checks of scikit-learn take longer than the fit.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        _, without, joined = collect(replace(scenario, bug=Bug(step, factor)), CLAIM, runs, seed)
        largest = max(float(abs(side).max()) for side in (without, joined))
        found = StepResult(
            method=scenario.method,
            variant=scenario.variant,
            options=dict(scenario.options),
            step=step,
            share=shares(scenario)[step],
            factor=factor,
            pair_loss=None if factor == NONE else round(largest, 4),
            bound=round(lower_bound(without, joined).epsilon, 4),
            runs=runs,
        )
        only = None if found.found or factor == NONE else alone(scenario, step)
        return found if only is None else _with_alone(found, only, seed)


def _with_alone(result: StepResult, only: Scenario, seed: int) -> StepResult:
    bug = Bug(result.step, result.factor)
    _, without, joined = collect(replace(only, bug=bug), CLAIM, ALONE, seed)
    budget = ScenarioRuns(only, CLAIM).record(0, seed, 0)[1].ledger.epsilon
    bound = lower_bound(without, joined).epsilon
    return replace(result, alone=round(bound, 4), alone_share=round(budget, 6))


def table() -> tuple[StepResult, ...]:
    """Return the measured figures, in the order of ``SCENARIOS``."""
    return read_rows(FILE, StepResult)


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
                "share of the step alone": row.alone_share,
                "measured ε of the step alone, at least": row.alone,
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
    return row.method, str(row.options), row.step

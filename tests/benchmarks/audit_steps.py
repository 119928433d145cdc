"""Measure what the audit can detect in each step; write ``dpviz/audit/steps.json``.

    python -m tests.benchmarks.audit_steps [METHOD ...]

Without arguments, all methods are measured. Otherwise only the named methods are measured, and the
numbers of all other methods do not change. :mod:`dpviz.audit.steps` describes the measurement,
which takes about half an hour on two cores.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial, wraps
from typing import Any

from sklearn import config_context

from dpviz.audit import data
from dpviz.audit.bounds import lower_bound
from dpviz.audit.noise import RunNoise
from dpviz.audit.planted import HALF, NONE, Bug
from dpviz.audit.runs import ScenarioRuns, collect
from dpviz.audit.scenarios import Scenario
from dpviz.audit.scores import LIKELIHOOD
from dpviz.audit.steps import BUGS, CLAIM, FILE, RUNS, StepResult, table
from dpviz.audit.transcript import ANSWERS, Replay, TranscriptEnd
from dpviz.privacy.mechanisms import Accountant

#: Smallest number of runs on each data set that can give a bound above the claim.
FEW = 60

#: Number of runs on each data set when a step is run separately.
ALONE = 20_000

#: Number of runs that show which steps exist.
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

    The random choices of the steps in ``public`` are known to the audit. ``runs`` is the number of
    runs on each data set with half the noise; it is smaller for slow methods.
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


#: With one cluster, the changes of counts and sums are as large as possible.
_kmeans = partial(step_scenario, pair=data.eleventh_record, clusters=1)


def _refined(size: int, columns: int, clusters: int, runs: int) -> Scenario:
    """DP-Refine on many records. There are few runs, because each run takes a long time."""
    pair = partial(data.crowd, size=size, columns=columns)
    return step_scenario("dprefine", pair, clusters=clusters, runs=runs)


#: The branches of DP-Refine depend on the noisy number of records. Each size is many standard
#: deviations of the noise away from all numbers at which the branch changes.
DPREFINE = (
    # One column: a nested grid with subcells; then this grid and a residual step.
    step_scenario("dprefine", data.eleventh_record, clusters=2, runs=2_500),
    _refined(100_000, 1, clusters=3, runs=100),
    # Several columns: centres that do not depend on the data; then also a residual step.
    _refined(10, 17, clusters=30, runs=100),
    _refined(750, 5, clusters=80, runs=500),
    # A grid of the whole box, a grid of a projection, and a residual step.
    _refined(2_700, 5, clusters=100, runs=100),
    _refined(830, 40, clusters=10, runs=60),
    # A tree of three levels, and two last steps.
    _refined(100_000, 5, clusters=1, runs=200),
)

SCENARIOS = (
    step_scenario("privqt", data.eleventh_in_cell),
    step_scenario("privthr", data.second_block),
    step_scenario("privthr", data.second_block, alpha=0.5),
    # Few cells are significant, so the counts of these cells get up to 0.8 of the budget.
    step_scenario("twostage", data.one_of_eleven, density=0.99),
    # With p = 1/2 the last step gets up to 0.6 of the budget.
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


def shares(scenario: Scenario) -> dict[str, float]:
    """Largest budget share of each step in several runs, whose steps may depend on a noisy size."""
    scenario_runs, found = ScenarioRuns(scenario, CLAIM), dict[str, float]()
    for number in range(_FIRST):
        for spend in scenario_runs.record(0, 0, number)[1].ledger:
            share = round(spend.epsilon / CLAIM, 6)
            found[spend.step] = max(share, found.get(spend.step, 0))
    return found


# -- one step, separately ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a mechanism: its name and all of its arguments."""

    name: str
    given: tuple[Any, ...]
    named: dict[str, Any]

    @property
    def step(self) -> str:
        """Step that the ledger charges for this call."""
        return str(self.given[0])

    def run(self, accountant: Accountant) -> Any:
        """Use the mechanism again, separately."""
        return getattr(accountant, self.name)(*self.given, **self.named)


class Until(Replay):
    """Accountant that replays another run's answers, and stops the method after the last answer.

    After that, ``call`` is the next call of a mechanism. Nested releases make several calls for an
    answer. A single one of these calls does not have its own cost, so it is not stored in ``call``.
    """

    call: Call | None = None

    def _reach(self, call: Call | None) -> None:
        """Stop the method at the first call without a stored answer."""
        if not self._remaining:
            self.call = call
            raise TranscriptEnd

    def _add(self, log: float) -> None:
        """Do not stop after the last answer, because the next call is needed."""


def _stopping(name: str) -> Callable[..., Any]:
    mechanism, nested = getattr(Replay, name), name in ("gradual", "finer", "split")

    @wraps(mechanism)
    def stop(until: Until, *given: Any, **named: Any) -> Any:
        until._reach(None if nested else Call(name, given, named))
        return mechanism(until, *given, **named)

    return stop


for _name in ANSWERS:
    setattr(Until, _name, _stopping(_name))


def _calls(runs: ScenarioRuns, step: str, seed: int, number: int) -> tuple[Call, Call] | None:
    """Calls of a step's mechanism on both data sets, after earlier answers for the first data set.

    Returns None if this run does not have the step, or if the step is a part of nested releases.
    """
    answers = runs.record(0, seed, number)[1].answers
    for end in range(len(answers)):
        found = []
        for records in runs.pair:
            noise = runs.scenario.noise(seed, 0, number)
            until = Until(answers[:end], noise, runs.config.epsilon, runs.config.neighbours)
            with suppress(TranscriptEnd):
                runs.run(records, runs.config, until)
            if until.call is not None and until.call.step == step:
                found.append(until.call)
        if found:
            without, joined = found
            return without, joined
    return None


def alone(scenario: Scenario, step: str) -> Scenario | None:
    """Scenario of one step; the answers of one run to all earlier steps are public.

    Returns None if the first runs do not have the step, or if the step is a part of nested
    releases, whose total cost is less than the sum of the costs of the parts.
    """
    scenario_runs = ScenarioRuns(scenario, CLAIM)
    for number in range(_FIRST):
        calls = _calls(scenario_runs, step, 0, number)
        if calls is not None:
            return replace(scenario, pair=partial(_pair, calls), run=_once)
    return None


def _pair(calls: tuple[Call, Call], claim: float) -> tuple[Call, Call]:
    """The two calls as two data sets. All rows have the claim of the calls."""
    return calls


def _once(call: Call, config: Any, accountant: Accountant) -> None:
    call.run(accountant)


# -- measuring ---------------------------------------------------------------------------


def measure(
    scenario: Scenario, step: str, factor: float, *, runs: int | None = None, seed: int = 0
) -> StepResult:
    """Plant a bug in one step of a method, and audit the method.

    The noise of the step is multiplied by ``factor``. If ``runs`` is None, there are as many runs
    as for the committed results.
    """
    if runs is None:
        runs = max(RUNS[factor] * scenario.runs // RUNS[HALF], FEW)
    # On tiny data, scikit-learn's checks take longer than the fit.
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


def main(names: list[str]) -> None:
    """Measure the methods of these names, or all methods, and write the results."""
    chosen = [one for one in SCENARIOS if not names or one.method in names]
    wanted = [(one, step, factor) for one in chosen for step in shares(one) for factor in BUGS]
    rows = [row for row in (table() if FILE.exists() and names else ()) if row.method not in names]
    with ProcessPoolExecutor() as pool:
        for result in pool.map(_measured, wanted):
            rows.append(result)
            print(result, file=sys.stderr, flush=True)
    order = list(dict.fromkeys(one.method for one in SCENARIOS))
    rows.sort(key=lambda row: order.index(row.method))
    lines = [json.dumps(asdict(row), separators=(",", ":")) for row in rows]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def _measured(wanted: tuple[Scenario, str, float]) -> StepResult:
    return measure(*wanted)


if __name__ == "__main__":
    main(sys.argv[1:])

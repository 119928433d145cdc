"""Run a scenario many times on both data sets, and compute a lower bound on its privacy loss."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpviz.audit.bounds import CONFIDENCE, FEWEST, Bound, Event, Sign, lower_bound
from dpviz.audit.classifier import CLASSIFIER_NAME, classifier_scores
from dpviz.audit.histogram import Histogram
from dpviz.audit.scenarios import Scenario, find
from dpviz.audit.scores import LIKELIHOOD, LIKELIHOOD_NAME, names, row
from dpviz.audit.transcript import Recorder, Replay, TranscriptEnd, log_likelihood
from dpviz.base.arrays import Floats
from dpviz.base.display import Displayed
from dpviz.base.errors import InputError, check_number, is_whole
from dpviz.base.numbers import readable
from dpviz.base.work import IsCancelled, Progress, Work
from dpviz.families import family_of

#: Range of claims that the data sets of the scenarios support.
LEAST_CLAIM, MOST_CLAIM = 0.01, 10.0

#: More runs would take days and show little more.
MOST_RUNS = 10_000_000

#: Number of runs on each data set between two checks of ``cancelled``.
BATCH = 25


@dataclass(frozen=True, kw_only=True)
class AuditResult(Displayed):
    """Result of an audit: a lower bound on epsilon at a confidence, for a claim.

    ``planted``: there is a mistake that an audit must find. ``event`` is the event whose shares of
    deciding runs differ most, with ``sign`` and ``threshold`` for the histogram's score (infinite:
    whether the score is missing). ``sides``: words after "of runs". If not ``violated``, nothing is
    proven.
    """

    method: str
    variant: str
    scenario: str
    planted: bool
    description: str
    claim: float
    epsilon_lower: float
    confidence: float
    runs: int
    event: str
    sign: Sign
    threshold: float
    sides: tuple[str, str]
    without: float
    joined: float
    violated: bool
    histogram: Histogram


def audit(
    method: str,
    variant: str = "sound",
    *,
    claim: float = 1.0,
    runs: int | None = None,
    scenario: str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> AuditResult:
    """Compute a lower bound on the true privacy loss of a method.

    ``claim`` is the epsilon of the runs; below 0.5 an audit shows little. ``runs`` on each data
    set: default is the scenario's number. ``scenario``: default is the first of
    :func:`dpviz.audit.scenarios.scenarios`. Raises InputError if something does not exist or is out
    of range.
    """
    chosen = find(method, variant, scenario)
    check_claim(claim)
    count = chosen.runs if runs is None else checked_runs(runs)
    labels, without, joined = with_classifier(
        *collect(chosen, claim, count, seed, progress=progress, cancelled=cancelled)
    )
    bound = lower_bound(without, joined)
    half, score = count // 2, bound.event.score
    return AuditResult(
        method=method,
        variant=variant,
        scenario=chosen.name,
        planted=chosen.planted,
        description=chosen.description,
        claim=claim,
        epsilon_lower=bound.epsilon,
        confidence=CONFIDENCE,
        runs=count,
        event=event_in_words(labels[score], bound, chosen.sides),
        sign=bound.event.sign,
        threshold=bound.event.value,
        sides=chosen.sides,
        without=bound.without,
        joined=bound.joined,
        violated=bound.epsilon > claim,
        histogram=Histogram.of(
            labels[score], without[half:, score], joined[half:, score], bound.event.value
        ),
    )


def collect(
    scenario: Scenario,
    claim: float,
    runs: int,
    seed: int,
    *,
    progress: Progress | None = None,
    cancelled: IsCancelled | None = None,
) -> tuple[list[str], Floats, Floats]:
    """Names of the scores, and scores (runs, scores) of independent runs on both data sets."""
    if seed < 0:
        raise InputError(f"seed = {seed}: give a whole number from 0.")
    scenario_runs = ScenarioRuns(scenario, claim)
    rows: tuple[list[Floats], list[Floats]] = ([], [])
    work = Work(2 * runs, "runs", progress, cancelled)
    for begin in range(0, runs, BATCH):
        work.check()
        batch = range(begin, min(begin + BATCH, runs))
        for side in (0, 1):
            rows[side].extend(scenario_runs.scores(side, seed, number) for number in batch)
        work.advance(2 * len(batch))
    return scenario_runs.names, np.array(rows[0]), np.array(rows[1])


def with_classifier(
    labels: list[str], without: Floats, joined: Floats
) -> tuple[list[str], Floats, Floats]:
    """Add the score of a classifier of all released numbers to the result of :func:`collect`."""
    released = [number for number, name in enumerate(labels) if name != LIKELIHOOD_NAME]
    if not released:
        return labels, without, joined
    first, second = classifier_scores(without[:, released], joined[:, released])
    labels = [*labels, CLASSIFIER_NAME]
    return labels, np.column_stack([without, first]), np.column_stack([joined, second])


class ScenarioRuns:
    """Runs of a scenario on both data sets at one claim."""

    def __init__(self, scenario: Scenario, claim: float) -> None:
        self.names: list[str] = []
        self.scenario = scenario
        self.config: Any = scenario.config(claim)
        self.pair = scenario.pair(claim)
        self.run = scenario.run or family_of(scenario.method).run

    def scores(self, side: int, seed: int, number: int) -> Floats:
        """Scores of one run on the first (0) or second (1) data set, shape (scores,)."""
        groups = self.scenario.groups
        run, recorder = self.record(side, seed, number)
        self.names = self.names or names(run, groups)
        found = row(run, groups)
        return np.append(found, self.ratio(side, recorder)) if LIKELIHOOD in groups else found

    def record(self, side: int, seed: int, number: int) -> tuple[Any, Recorder]:
        """Run once and record the answers; the run is None if only the answers are scored."""
        scenario, config = self.scenario, self.config
        recorder = Recorder(
            scenario.noise(seed, side, number),
            config.epsilon,
            config.neighbours,
            scenario.bug,
            answers_only=scenario.groups == (LIKELIHOOD,),
        )
        with suppress(TranscriptEnd):
            return self.run(self.pair[side], config, recorder), recorder
        return None, recorder

    def ratio(self, side: int, recorder: Recorder) -> float:
        """Log-likelihood ratio of a run's answers: the second data set against the first."""
        known = (recorder.noise, recorder.budget, recorder.neighbours, self.scenario.bug)

        def on(data: Any) -> float:
            replay = Replay(recorder.answers, *known)
            return log_likelihood(partial(self.run, data, self.config), replay)

        # The ratio is infinite if the other data set can't give these answers; the run's own set
        # can.
        other = on(self.pair[1 - side])
        loss = np.inf if other == -np.inf else on(self.pair[side]) - other
        return float(loss if side else -loss)


def event_in_words(name: str, bound: Bound, sides: tuple[str, str]) -> str:
    """Describe the event whose shares differ most: "number of clusters >= 3: 61.2% of runs ..."."""
    first, second = sides
    return (
        f"{_condition(name, bound.event)}: {bound.joined:.1%} of runs {second}, "
        f"{bound.without:.1%} {first}"
    )


def _condition(name: str, event: Event) -> str:
    if np.isposinf(event.value):
        return f"no {name}" if event.sign in (">=", "==") else f"a {name}"
    return f"{name} {event.sign} {readable(event.value, 6)}"


def check_claim(claim: float) -> None:
    """Raise InputError if the scenarios' data sets do not support a claim."""
    if not LEAST_CLAIM <= check_number("claim", claim) <= MOST_CLAIM:
        raise InputError(
            f"claim = {claim:g}: give an epsilon from {LEAST_CLAIM:g} to {MOST_CLAIM:g}, for "
            "example 1; below 0.5 an audit shows little."
        )


def checked_runs(runs: int) -> int:
    """Return the number of runs, or raise InputError if it is not valid."""
    if not (is_whole(runs) and FEWEST <= runs <= MOST_RUNS):
        raise InputError(
            f"runs = {runs}: give a whole number from {FEWEST} to {MOST_RUNS:,}, for example "
            "20,000; the largest possible bound grows with the logarithm of this number."
        )
    return int(runs)

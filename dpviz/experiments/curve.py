"""The curve of a method's first score over one parameter; a coarse curve is drawn first.

Its draws are rows of a sweep with the seeds 0, 1, 2, ..., so a comparison with the same settings
has the same numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.cached import cached_property
from dpviz.base.lru import LRUCache
from dpviz.base.threads import checked
from dpviz.base.work import IsCancelled, Work
from dpviz.experiments.sweep import Plan, Subject, axes, scores_of
from dpviz.families import CARDS, PARAMETERS, family_of
from dpviz.family.parameter import EPSILON, Parameter
from dpviz.family.score import BROKEN
from dpviz.family.trial import Configuration
from dpviz.metrics.bands import Band, band

#: Largest number of values on the axis.
MOST_VALUES = 25

#: Rounds of draws: every n-th value, and the number of seeds of each of these values.
ROUNDS = ((8, 2), (4, 5), (4, 10), (2, 10), (2, 20), (1, 20))

#: Number of rounds after which the next curve gets its first points.
_FIRST = 2

#: A round is left out if the draws up to its end would take more than so many estimated seconds.
#: The first round may take longer.
MOST_SECONDS, MOST_FIRST = 9.0, 20.0

#: Estimated seconds of draws between two checks for a stop, because a drag needs the processor.
_PART = 0.1

#: Seconds between two checks of a curve that another job fills.
_LOOK = 0.1

#: Number of true runs that a job keeps: each value of the axis may have its own.
_TRUE_RUNS = 32


@dataclass(frozen=True, kw_only=True)
class Point:
    """Draws at one value of the axis: their number, band, and median number of broken clusters."""

    value: float
    draws: int
    band: Band
    broken: float

    @property
    def breaks(self) -> bool:
        """Whether the median draw breaks a true cluster."""
        return self.broken >= 1


def values_of(parameter: Parameter) -> tuple[float, ...]:
    """Values from one end of a parameter's slider to the other, evenly spaced on the slider."""
    whole = parameter.kind != "number"
    return spread(*parameter.reach, MOST_VALUES, log=parameter.log, whole=whole)


def spread(
    low: float, high: float, number: int, *, log: bool = True, whole: bool = False
) -> tuple[float, ...]:
    """Both ends, and values evenly spaced between them, with three significant digits."""
    found = (np.geomspace if log else np.linspace)(low, high, number)[1:-1]
    inner = {float(f"{value:.3g}") for value in (np.rint(found) if whole else found)}
    return tuple(sorted({float(low), *(one for one in inner if low < one < high), float(high)}))


def score_of_curve(method: str) -> str:
    """Name of the score on a method's curve: the first of its family."""
    return family_of(method).leading[0]


def curve_axes(method: str, chosen: Collection[str] = ()) -> tuple[str, ...]:
    """Parameters with a slider, except those in ``chosen``; none if the method adds no noise."""
    if not CARDS[method].spends:
        return ()
    return tuple(one.name for one in axes([method]) if one.name not in chosen)


def curve_plan(subject: Subject, config: Configuration, axis: str) -> Plan:
    """All draws of a curve over a parameter; the configuration's value of it is not used."""
    values, most = values_of(PARAMETERS[axis]), max(seeds for _, seeds in ROUNDS)
    over_epsilon = axis == EPSILON.name
    return Plan(
        subjects=(subject,),
        methods=(config.method,),
        epsilons=values if over_epsilon else (config.epsilon,),
        seeds=tuple(range(most)),
        variant=config.variant,
        neighbours=config.neighbours,
        options={
            name: value
            for name, value in family_of(config.method).choices(config).items()
            if name != axis
        },
        scores=(score_of_curve(config.method), BROKEN),
        axis=axis,
        values=() if over_epsilon else values,
    )


def curve_key(plan: Plan) -> Hashable:
    """Everything on which the draws of a plan depend."""
    (subject,) = plan.subjects
    bounds = subject.bounds(plan.variant)
    return (
        subject.dataset.digest, str(bounds), bounds.declared, subject.outside, plan.methods,
        plan.variant, plan.neighbours, plan.axis, plan.epsilons, plan.values, plan.seeds,
        str(sorted(plan.options.items())), str(sorted(subject.settings.items())),
    )  # fmt: skip


class Curve:
    """The draws of a plan of one method on one data set, safe for several threads.

    Several jobs may fill the curve one after the other; the points of a cancelled job remain.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.score = score_of_curve(plan.methods[0])
        #: Whether nothing more will be drawn.
        self.complete = False
        #: Why some values have no draws; empty if nothing failed.
        self.note = ""
        # For each value: the number of tried seeds, the rows (draws, 2), and the point.
        self._known: dict[float, tuple[int, NDArray[np.float64], Point | None]] = {}
        self._filling = Lock()

    @property
    def values(self) -> tuple[float, ...]:
        """Values of the axis."""
        return self.plan.values or self.plan.epsilons

    @property
    def points(self) -> tuple[Point, ...]:
        """Points that are known now, in the order of the axis."""
        return tuple(point for _, (_, _, point) in sorted(self._known.copy().items()) if point)

    @cached_property
    def _seconds(self) -> float:
        (method,), (subject,) = self.plan.methods, self.plan.subjects
        return family_of(method).seconds(method, subject.dataset.n, self.plan.columns)

    @cached_property
    def rounds(self) -> tuple[tuple[tuple[float, ...], int], ...]:
        """Values of each round, and the number of seeds of each value after the round."""
        found: list[tuple[tuple[float, ...], int]] = []
        for step, seeds in ROUNDS:
            values = tuple(dict.fromkeys((*self.values[::step], self.values[-1])))
            most = MOST_SECONDS if found else MOST_FIRST
            if len(values) * seeds * self._seconds <= most:
                found.append((values, seeds))
        return tuple(found)

    def fill(self, *, cancelled: IsCancelled, most: int | None = None) -> None:
        """Draw round by round until the curve is complete, or the first ``most`` rounds.

        Raises Cancelled if the job should stop.
        """
        rounds = self.rounds[:most]
        work = Work(len(rounds), "rounds", cancelled=cancelled)
        while not self._filling.acquire(timeout=_LOOK):
            work.check()
        try:
            true_runs = LRUCache(_TRUE_RUNS)
            for values, seeds in work.over(rounds):
                for value in values:
                    while (already := self._known.get(value, (0,))[0]) < seeds:
                        work.check()
                        end = min(seeds, already + max(1, int(_PART / self._seconds)))
                        self._draw(value, range(already, end), true_runs, work)
            self.complete |= rounds == self.rounds
            if not self.rounds:
                self.note = "no curve, because a draw of so many records takes too long"
        finally:
            self._filling.release()

    def _draw(self, value: float, seeds: range, true_runs: LRUCache, work: Work) -> None:
        at: dict[str, Any] = {"values": (value,)} if self.plan.values else {"epsilons": (value,)}
        with checked(work.check):
            plan = replace(self.plan, seeds=tuple(seeds), **at)
            rows, notes = scores_of(plan, (self.score, BROKEN), true_runs)
        if value in self._known:
            rows = np.concatenate([self._known[value][1], rows])
        self._known[value] = seeds.stop, rows, _point(value, rows)
        self.note = next(iter(notes), self.note)


def _point(value: float, rows: NDArray[np.float64]) -> Point | None:
    if not (len(rows) and np.isfinite(rows).all()):
        return None
    broken = float(np.median(rows[:, 1]))
    return Point(value=value, draws=len(rows), band=band(rows[:, 0]), broken=broken)


def fill_all(curves: Sequence[Curve], *, cancelled: IsCancelled, **_: object) -> bool:
    """Fill curves: first a few points of each, then all; this is the task of a job."""
    for most in (_FIRST, None):
        for curve in curves:
            curve.fill(cancelled=cancelled, most=most)
    return True

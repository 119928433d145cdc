"""How long k-means takes on stored records and several workers: measured, and a model of more.

``worker_times.json`` beside this file holds the figures; ``python -m tests.benchmarks.mapreduce``
measures them again. One and two workers are measured; the model of a pass says what follows for
more of them and for more records.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from dpviz.base.errors import InputError
from dpviz.base.numbers import power_of_ten, readable
from dpviz.base.tables import read_table_file
from dpviz.families import CARDS

#: File of the figures.
FILE = Path(__file__).with_name("worker_times.json")

#: How records lie in files: so many parts at least, so many records in a part at most.
FEWEST_PARTS, PART_RECORDS = 16, 10**6

#: Numbers of workers and of records that the model is asked for; measured are fewer of both.
WORKERS = (1, 2, 4, 8, 16, 32, 64)
MOST_RECORDS = 10**11

#: Cores that other programs may take without a word about it.
QUIET = 0.1

#: Bytes of a number in a file.
_NUMBER = 8

#: What keeps more workers from helping, for people, by its name in :class:`Bend`.
TERMS = {
    "round": "a round by itself takes as long as reading",
    "task": "handing out the parts takes as long as reading",
    "merge": "adding up the tables takes as long as reading",
    "parts": "each worker has one part, and more of them would have none",
}


def parts_of(points: float, largest: float = PART_RECORDS) -> int:
    """Return the number of parts that records lie in."""
    return max(FEWEST_PARTS, math.ceil(points / largest))


@dataclass(frozen=True, kw_only=True)
class Bend:
    """Where a curve of S(m) bends away from m.

    Parameters
    ----------
    workers
        With more workers, what can't be shared takes longer than what each of them reads.
    term
        The largest of what can't be shared, one of ``TERMS``.
    """

    workers: float
    term: str


@dataclass(frozen=True, kw_only=True)
class PassModel:
    """Seconds of one pass over records in parts of equal size, on workers of equal speed.

    ``round + (task + merge) * parts + (work + point * size) * turns``: what stands before the last
    term happens once, on the scheduler and the driver. Workers share the last one; the busiest of
    them has ``turns = ceil(parts / workers)`` parts of ``size`` records to read. What could overlap
    is added up, so the model errs on the slow side.

    Parameters
    ----------
    round
        Seconds of a pass without records: start, noise, new centres.
    task
        Of a part at the scheduler.
    merge
        Of the table of a part: added to the others, in the end on the driver.
    work
        Of a part at its worker, whatever it holds.
    point
        Of a record at a worker.
    error
        Median relative error of the fit.
    """

    round: float
    task: float
    merge: float
    work: float
    point: float
    error: float = 0.0

    def seconds(self, points: float, workers: int) -> float:
        """Return the seconds of a pass.

        Raises InputError if there are no records or no workers.
        """
        _check(points, workers)
        parts = parts_of(points)
        turns = math.ceil(parts / workers)
        return self.fixed(parts) + self._shared(points, PART_RECORDS) * turns

    def _shared(self, points: float, largest: float) -> float:
        """Seconds of a part at its worker: many parts are full, but for the last."""
        return self.work + self.point * min(points / FEWEST_PARTS, largest)

    def fixed(self, parts: int) -> float:
        """Return the seconds of a pass that workers don't share."""
        return self.round + (self.task + self.merge) * parts

    def speedup(self, points: float, workers: int) -> float:
        """Return the acceleration ratio S(m) = T1 / Tm (Zhang, Liu, Wang 2018, eq. 6)."""
        return self.seconds(points, 1) / self.seconds(points, workers)

    def bend(self, points: float, largest: float = PART_RECORDS) -> Bend:
        """Return where more workers stop to help, and why; of the records in a part at most.

        Up to there S(m) is more than half of m, where each worker has equally many parts; with
        twice as many workers and two more it is less.
        """
        _check(points, 1)
        parts = parts_of(points, largest)
        terms = {"round": self.round, "task": self.task * parts, "merge": self.merge * parts}
        fixed, shared = self.fixed(parts), self._shared(points, largest) * parts
        workers = shared / fixed if fixed else math.inf
        if workers >= parts:
            return Bend(workers=parts, term="parts")
        return Bend(workers=max(workers, 1.0), term=max(terms, key=terms.__getitem__))

    def reach(self, seconds: float, workers: int) -> float:
        """Return how many records a pass of at most so many seconds reads; 0 if none."""
        low, high = 0.0, 18.0  # powers of ten
        if self.seconds(1, workers) > seconds:
            return 0.0
        while high - low > 1e-6:
            middle = (low + high) / 2
            enough = self.seconds(10**middle, workers) <= seconds
            low, high = (middle, high) if enough else (low, middle)
        return float(10**low)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A measured run.

    Parameters
    ----------
    passes
        Passes over the records: start and iterations.
    seconds
        The least of the repeats: other programs can only make a run longer.
    repeats
        How often it was measured.
    others
        Cores that other programs took meanwhile: 0 on a quiet machine.
    """

    method: str
    records: int
    parts: int
    workers: int
    epsilon: float
    passes: int
    seconds: float
    repeats: int
    others: float


@dataclass(frozen=True, kw_only=True)
class WorkerTimes:
    """All that was measured, and the models of it.

    Parameters
    ----------
    machine, versions
        Where, and with which packages.
    columns, clusters, epsilon
        Of all runs; ``epsilon`` of those over records.
    ceiling
        S(2) of two plain loops side by side, which share nothing: what the machine can give.
    models
        Model of a mean pass, by method.
    timings
        Measured runs. Those of a few records in many parts tell what a part costs.
    """

    machine: Mapping[str, str | int]
    versions: Mapping[str, str]
    columns: int
    clusters: int
    epsilon: float
    ceiling: float
    models: Mapping[str, PassModel]
    timings: tuple[Timing, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """Measured methods."""
        return tuple(self.models)

    @property
    def others(self) -> float:
        """Cores that other programs took while runs went on: the median of the runs."""
        return float(np.median([one.others for one in self.timings]))

    def over_records(self, method: str, workers: int) -> list[Timing]:
        """Return the runs over numbers of records, in their order."""
        found = [
            one
            for one in self.timings
            if (one.method, one.workers, one.epsilon) == (method, workers, self.epsilon)
            and one.parts == parts_of(one.records)
        ]
        return sorted(found, key=lambda one: one.records)

    def over_epsilon(self, method: str) -> list[Timing]:
        """Return the runs over budgets, on as many records and workers as most of them have."""
        runs = [one for one in self.timings if one.method == method]
        ((where, _),) = Counter(map(_set_of, runs)).most_common(1)
        found = [one for one in runs if _set_of(one) == where]
        return sorted(found, key=lambda one: one.epsilon)

    def speedup(self, method: str, records: int) -> float:
        """Return the measured S(2) = T1 / T2."""
        times = [
            next(one.seconds for one in self.over_records(method, m) if one.records == records)
            for m in (1, 2)
        ]
        return times[0] / times[1]

    def passes(self, method: str) -> int:
        """Return the passes of a run over the most records."""
        return self.over_records(method, 1)[-1].passes

    def seconds(self, method: str, points: float, workers: int) -> float:
        """Return the seconds of a run by the model."""
        return self.passes(method) * self.models[method].seconds(points, workers)

    def an_hour(self, method: str, workers: int) -> float:
        """Return how many records a run of an hour takes, by the model."""
        return self.models[method].reach(3600 / self.passes(method), workers)

    def worker_hours(self, method: str, points: float, workers: int) -> float:
        """Return the worker-hours of a run by the model: what is paid for."""
        return workers * self.seconds(method, points, workers) / 3600

    def sentences(self, method: str) -> list[str]:
        """Say what the model is, where curves bend, and what an hour handles."""
        model, title = self.models[method], CARDS[method].title
        most, largest = WORKERS[-1], PART_RECORDS
        bend, wide = (model.bend(MOST_RECORDS, size) for size in (largest, 10 * largest))
        rate = self.columns * _NUMBER / model.point / 1e6 if model.point else math.inf
        return [
            f"Model of a pass of {title}: {_time(model.round)} a round, {_time(model.task)} a part "
            f"at the scheduler, {_time(model.merge)} to add its table, {_time(model.work)} a part "
            f"and {_time(model.point)} a record at a worker; median error {model.error:.0%}. A run "
            f"has {self.passes(method)} passes.",
            f"{records_text(MOST_RECORDS)} records in parts of {records_text(largest)}: S(m) bends "
            f"at about {readable(bend.workers, 1)} workers, where {TERMS[bend.term]}. "
            "In parts ten times as large it bends at about "
            f"{readable(wide.workers, 1)}.",
            f"An hour of {most} workers is enough for {readable(self.an_hour(method, most), 2)} "
            f"records, an hour of one worker for {readable(self.an_hour(method, 1), 2)}. A run "
            f"over {records_text(MOST_RECORDS)} costs "
            f"{readable(self.worker_hours(method, MOST_RECORDS, 1), 2)} worker-hours on one worker "
            f"and {readable(self.worker_hours(method, MOST_RECORDS, most), 2)} on {most}.",
            f"Measured on one machine of {self.machine['cores']} cores, which scheduler, driver "
            "and workers share: two plain loops side by side reach S(2) = "
            f"{self.ceiling:.2f} there. Other programs took {self.others:.1f} cores meanwhile"
            f"{', so all times are too long' if self.others > QUIET else ''}. More workers are a "
            "calculation, for machines of their own like this one, each of which gets "
            f"{readable(rate, 2)} MB of the records a second.",
        ]

    def hours_frame(self, method: str, points: float, price: float = 0.0) -> pd.DataFrame:
        """Return what numbers of workers take, by the model: one row for each of ``WORKERS``.

        Raises InputError if the price is negative or no number. ``price`` is that of an hour of one
        worker, in any currency; 0 leaves the costs out.
        """
        check_price(price)
        rows = []
        for workers in WORKERS:
            hours = self.worker_hours(method, points, workers)
            row = {
                "workers": workers,
                "seconds": self.seconds(method, points, workers),
                "S(m)": self.models[method].speedup(points, workers),
                "worker-hours": hours,
                "records in an hour": self.an_hour(method, workers),
            }
            costs = {"cost of the run": price * hours, "cost of an hour": price * workers}
            rows.append(row | (costs if price else {}))
        return pd.DataFrame(rows)

    def records_frame(self, method: str) -> pd.DataFrame:
        """Return time over records: measured runs of all methods, and the model of one of them."""
        rows: list[dict[str, object]] = [
            _row(name, one.records, workers, one.seconds, "measured")
            for name in self.methods
            for workers in (1, 2)
            for one in self.over_records(name, workers)
        ]
        rows += [
            _row(method, points, workers, self.seconds(method, points, workers), "model")
            for workers in WORKERS
            for points in self._sizes(method)
        ]
        return pd.DataFrame(rows)

    def speedup_frame(self, method: str) -> pd.DataFrame:
        """Return S(m) of a method over workers: measured with two, and the model."""
        model, rows = self.models[method], []
        for points in self._sizes(method):
            measured = {one.records for one in self.over_records(method, 2)}
            if points in measured:
                rows.append(_ratio(points, 2, self.speedup(method, points), "measured"))
            rows += [
                _ratio(points, workers, model.speedup(points, workers), "model")
                for workers in WORKERS
            ]
        return pd.DataFrame(rows)

    def epsilon_frame(self) -> pd.DataFrame:
        """Return time over budgets, with the passes behind it."""
        return pd.DataFrame(
            [
                {
                    "method": one.method,
                    "epsilon": one.epsilon,
                    "records": one.records,
                    "workers": one.workers,
                    "seconds": one.seconds,
                    "passes": one.passes,
                    "seconds a pass": one.seconds / one.passes,
                }
                for name in self.methods
                for one in self.over_epsilon(name)
            ]
        )

    def _sizes(self, method: str) -> list[int]:
        """Powers of ten from the fewest measured records to the most of the model."""
        first = round(math.log10(self.over_records(method, 1)[0].records))
        return [10**power for power in range(first, round(math.log10(MOST_RECORDS)) + 1)]


def _set_of(one: Timing) -> tuple[int, int, int]:
    return one.records, one.parts, one.workers


def _row(method: str, records: int, workers: int, seconds: float, kind: str) -> dict[str, object]:
    return {
        "method": method, "workers": workers, "records": records, "seconds": seconds, "kind": kind,
    }  # fmt: skip


def _ratio(records: int, workers: int, ratio: float, kind: str) -> dict[str, object]:
    return {"records": records, "workers": workers, "S(m)": ratio, "kind": kind}


def check_price(price: float) -> None:
    """Raise InputError where an hour of one worker can't cost this."""
    if not (math.isfinite(price) and price >= 0):
        raise InputError(f"price = {price:g} is no price of an hour of one worker: give 0 or more.")


def _check(points: float, workers: int) -> None:
    if not points > 0:
        raise InputError(f"points = {points:g} leaves nothing to read: give 1 or more.")
    if workers < 1:
        raise InputError(f"workers = {workers} can't read anything: give 1 or more.")


def records_text(records: int) -> str:
    """Write a number of records: 10⁵ where it is a power of ten."""
    power = round(math.log10(records))
    return power_of_ten(power) if records == 10**power else readable(records)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{readable(seconds / size, 2)} {unit}"
    return f"{readable(seconds / 1e-9, 2)} ns"


@cache
def worker_times() -> WorkerTimes:
    """Read the figures.

    Raises InputError if nothing has been measured yet.
    """
    try:
        found: WorkerTimes = read_table_file(FILE, WorkerTimes)
    except FileNotFoundError:
        raise InputError(
            "there are no times on workers yet: python -m tests.benchmarks.mapreduce measures "
            "them on an idle machine."
        ) from None
    return found

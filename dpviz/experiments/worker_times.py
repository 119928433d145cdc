"""Run times of k-means on stored records and several workers: measurements and a model.

``tests.benchmarks.mapreduce`` measures ``worker_times.json`` (sound) and
``worker_times_published.json`` on one and two workers; the model predicts times on more workers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from dpviz.base.errors import InputError
from dpviz.base.lazy import pandas as pd
from dpviz.base.numbers import power_of_ten, readable
from dpviz.base.tables import read_table_file
from dpviz.families import CARDS
from dpviz.family.card import VariantName

FILE = Path(__file__).with_name("worker_times.json")

#: Smallest number of parts into which records are split; largest number of records in a part.
FEWEST_PARTS, PART_RECORDS = 16, 10**6

#: Numbers of workers for which the model predicts times, and largest number of records.
WORKERS = (1, 2, 4, 8, 16, 32, 64)
MOST_RECORDS = 10**11

#: Other programs are mentioned if they used more cores than this number on average.
QUIET = 0.1

#: Number of bytes of a value in a file.
_NUMBER = 8

#: Readable reasons why more workers do not help, by ``term`` of :class:`Bend`.
TERMS = {
    "round": "the fixed time of a round is as long as reading",
    "task": "distributing the parts takes as long as reading",
    "merge": "adding up the tables takes as long as reading",
    "parts": "each worker has one part, so further workers would have nothing to do",
}


def parts_of(points: float, largest: float = PART_RECORDS) -> int:
    """Return the number of parts into which records are split."""
    return max(FEWEST_PARTS, math.ceil(points / largest))


@dataclass(frozen=True, kw_only=True)
class Bend:
    """Bend of S(m): above ``workers``, serial work (mostly ``term``) takes longer than reading."""

    workers: float
    term: str


@dataclass(frozen=True, kw_only=True)
class PassModel:
    """Seconds of one pass over records in parts of equal size, on workers of equal speed.

    ``round + (task + merge) * parts + (work + point * size) * turns``: the first two terms are
    serial work; the busiest worker reads ``turns = ceil(parts / workers)`` parts of ``size``
    records. Steps that could overlap are added, so times tend to be too long. ``error`` is the
    median error of the fit.
    """

    round: float
    task: float
    merge: float
    work: float
    point: float
    error: float = 0.0

    def seconds(self, points: float, workers: int) -> float:
        """Return the seconds of a pass; InputError without records or workers."""
        _check(points, workers)
        parts = parts_of(points)
        turns = math.ceil(parts / workers)
        return self.fixed(parts) + self._shared(points, PART_RECORDS) * turns

    def _shared(self, points: float, largest: float) -> float:
        return self.work + self.point * min(points / FEWEST_PARTS, largest)

    def fixed(self, parts: int) -> float:
        """Return the seconds of a pass that workers don't share."""
        return self.round + (self.task + self.merge) * parts

    def speedup(self, points: float, workers: int) -> float:
        """Return the acceleration ratio S(m) = T1 / Tm (Zhang, Liu, Wang 2018, eq. 6)."""
        return self.seconds(points, 1) / self.seconds(points, workers)

    def bend(self, points: float, largest: float = PART_RECORDS) -> Bend:
        """Return the number of workers above which further workers hardly help, and the reason.

        Up to this number, S(m) is more than m / 2 if all workers have equally many parts of at most
        ``largest`` records. With twice this number plus two workers, S(m) is less than m / 2.
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
        """Return the number of records that a pass can read in this number of seconds, or 0."""
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
    """A measured run: least ``seconds`` of the repeats; ``others`` are cores of other programs."""

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
    """All measurements of one variant, and the models fitted to them, by method.

    ``epsilon`` is that of the runs over the number of records. ``ceiling`` is S(2) of two plain
    loops that share nothing. Runs on few records in many parts show the cost of a part.
    """

    machine: Mapping[str, str | int]
    versions: Mapping[str, str]
    columns: int
    clusters: int
    epsilon: float
    ceiling: float
    models: Mapping[str, PassModel]
    timings: tuple[Timing, ...]
    variant: VariantName = "sound"

    def name_of(self, method: str) -> str:
        """Title of a method with the variant of the runs."""
        return f"{CARDS[method].title}, {self.variant}"

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the measured methods."""
        return tuple(self.models)

    @property
    def others(self) -> float:
        """Cores that other programs used during a run: median over the runs."""
        return float(np.median([one.others for one in self.timings]))

    def over_records(self, method: str, workers: int) -> list[Timing]:
        """Return the runs that vary the number of records, in ascending order."""
        found = [
            one
            for one in self.timings
            if (one.method, one.workers, one.epsilon) == (method, workers, self.epsilon)
            and one.parts == parts_of(one.records)
        ]
        return sorted(found, key=lambda one: one.records)

    def over_epsilon(self, method: str) -> list[Timing]:
        """Return the runs that vary only the budget, at usual numbers of records and workers."""
        runs = [one for one in self.timings if one.method == method]
        ((where, _),) = Counter(map(_set_of, runs)).most_common(1)
        return sorted([one for one in runs if _set_of(one) == where], key=lambda one: one.epsilon)

    def speedup(self, method: str, records: int) -> float:
        """Return the measured S(2) = T1 / T2."""
        times = [
            next(one.seconds for one in self.over_records(method, m) if one.records == records)
            for m in (1, 2)
        ]
        return times[0] / times[1]

    def passes(self, method: str) -> int:
        """Return the number of passes of the run with the most records."""
        return self.over_records(method, 1)[-1].passes

    def seconds(self, method: str, points: float, workers: int) -> float:
        """Return the seconds of a run by the model."""
        return self.passes(method) * self.models[method].seconds(points, workers)

    def an_hour(self, method: str, workers: int) -> float:
        """Return the number of records of a run that takes an hour, by the model."""
        return self.models[method].reach(3600 / self.passes(method), workers)

    def worker_hours(self, method: str, points: float, workers: int) -> float:
        """Return a run's worker-hours by the model; the cost is proportional to the hours."""
        return workers * self.seconds(method, points, workers) / 3600

    def sentences(self, method: str) -> list[str]:
        """Describe the model, the bends of the curves, the work of an hour, and the machine."""
        model, title = self.models[method], self.name_of(method)
        most, largest = WORKERS[-1], PART_RECORDS
        bend, wide = (model.bend(MOST_RECORDS, size) for size in (largest, 10 * largest))
        rate = self.columns * _NUMBER / model.point / 1e6 if model.point else math.inf
        return [
            f"Model of a pass of {title}: {_time(model.round)} per round; for each part, "
            f"{_time(model.task)} at the scheduler, {_time(model.merge)} to add its table, and "
            f"{_time(model.work)} at a worker; {_time(model.point)} for each record; median error "
            f"{model.error:.0%}. A run has {self.passes(method)} passes.",
            f"{records_text(MOST_RECORDS)} records in parts of {records_text(largest)}: S(m) bends "
            f"at about {readable(bend.workers, 1)} workers, where {TERMS[bend.term]}. "
            "In parts ten times as large, S(m) bends at about "
            f"{readable(wide.workers, 1)}.",
            f"An hour of {most} workers is enough for {readable(self.an_hour(method, most), 2)} "
            f"records, an hour of one worker for {readable(self.an_hour(method, 1), 2)}. A run "
            f"over {records_text(MOST_RECORDS)} costs "
            f"{readable(self.worker_hours(method, MOST_RECORDS, 1), 2)} worker-hours on one worker "
            f"and {readable(self.worker_hours(method, MOST_RECORDS, most), 2)} on {most}.",
            f"Measured on one machine of {self.machine['cores']} cores, which scheduler, driver "
            "and workers share: two plain loops in parallel reach S(2) = "
            f"{self.ceiling:.2f} there. Other programs used {self.others:.1f} cores meanwhile"
            f"{', so all times are too long' if self.others > QUIET else ''}. Times for more "
            "workers are calculated; we assume that each worker has its own machine of this "
            f"kind, which gets {readable(rate, 2)} MB of the records per second.",
        ]

    def hours_frame(self, method: str, points: float, price: float = 0.0) -> pd.DataFrame:
        """Return times and costs by the model: one row for each of ``WORKERS``.

        ``price`` is the price of a worker's hour, in any currency; if it is 0, the table has no
        costs. Raises InputError if the price is invalid.
        """
        check_price(price)
        rows = [
            {
                "workers": workers,
                "seconds": self.seconds(method, points, workers),
                "S(m)": self.models[method].speedup(points, workers),
                "worker-hours": self.worker_hours(method, points, workers),
                "records in an hour": self.an_hour(method, workers),
            }
            for workers in WORKERS
        ]
        table = pd.DataFrame(rows)
        if price:
            table["cost of the run"] = price * table["worker-hours"]
            table["cost of an hour"] = price * table["workers"]
        return table

    def records_frame(self, method: str) -> pd.DataFrame:
        """Return times by number of records: all measured runs, and the model of ``method``."""
        rows = [
            (name, self.variant, workers, one.records, one.seconds, "measured")
            for name in self.methods
            for workers in (1, 2)
            for one in self.over_records(name, workers)
        ]
        rows += [
            (method, self.variant, m, points, self.seconds(method, points, m), "model")
            for m in WORKERS
            for points in self._sizes(method)
        ]
        columns = ["method", "variant", "workers", "records", "seconds", "kind"]
        return pd.DataFrame(rows, columns=columns)

    def speedup_frame(self, method: str) -> pd.DataFrame:
        """Return S(m) by number of workers: measured for two, and predicted by the model."""
        model, rows = self.models[method], []
        measured = {one.records for one in self.over_records(method, 2)}
        for points in self._sizes(method):
            if points in measured:
                rows.append((points, 2, self.speedup(method, points), "measured"))
            rows += [(points, m, model.speedup(points, m), "model") for m in WORKERS]
        table = pd.DataFrame(rows, columns=["records", "workers", "S(m)", "kind"])
        table.insert(0, "variant", self.variant)
        return table

    def epsilon_frame(self) -> pd.DataFrame:
        """Return times by budget, with the number of passes."""
        table = pd.DataFrame([one for name in self.methods for one in self.over_epsilon(name)])
        table = table[["method", "epsilon", "records", "workers", "seconds", "passes"]]
        table.insert(1, "variant", self.variant)
        return table.assign(**{"seconds a pass": table["seconds"] / table["passes"]})

    def _sizes(self, method: str) -> list[int]:
        first = round(math.log10(self.over_records(method, 1)[0].records))
        return [10**power for power in range(first, round(math.log10(MOST_RECORDS)) + 1)]


def _set_of(one: Timing) -> tuple[int, int, int]:
    return one.records, one.parts, one.workers


def check_price(price: float) -> None:
    """Raise InputError if this is not a valid price of an hour of one worker."""
    if not (math.isfinite(price) and price >= 0):
        raise InputError(
            f"price = {price:g} is not a price of an hour of one worker: give 0 or more."
        )


def _check(points: float, workers: int) -> None:
    if not points > 0:
        raise InputError(f"points = {points:g} leaves nothing to read: give 1 or more.")
    if workers < 1:
        raise InputError(f"workers = {workers} can't read anything: give 1 or more.")


def records_text(records: int) -> str:
    """Format a number of records; powers of ten are written like 10⁵."""
    power = round(math.log10(records))
    return power_of_ten(power) if records == 10**power else readable(records)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{readable(seconds / size, 2)} {unit}"
    return f"{readable(seconds / 1e-9, 2)} ns"


def file_of(variant: VariantName) -> Path:
    """File with the times of a variant."""
    return FILE if variant == "sound" else FILE.with_stem(f"{FILE.stem}_{variant}")


@cache
def worker_times(variant: VariantName = "published") -> WorkerTimes:
    """Read a variant's times, or the sound times if it has none; InputError without any times."""
    file = file_of(variant)
    try:
        found: WorkerTimes = read_table_file(file if file.exists() else FILE, WorkerTimes)
    except FileNotFoundError:
        raise InputError(
            "there are no times on workers yet: python -m tests.benchmarks.mapreduce measures "
            "them on an idle machine."
        ) from None
    return found

"""Run paper 004's experiments on Dask workers: times, speedups S(m) = T1 / Tm, and a model.

    python -m tests.benchmarks.mapreduce [--variant NAME] [--most RECORDS] [--out FILE]

DPLloyd, the MapReduce form and contour budgets read stored records on one and on two workers, as
sound or as published variants. The results are written to the file of the variant
(:func:`dpviz.experiments.worker_times.file_of`). 10^8 records need ten to twenty minutes, 8 GB in
the folder for temporary files (``TMPDIR``), and 8 GB of free memory. ``python -m
tests.benchmarks mapreduce`` measures fewer records, and only prints the results.

The model adds up the costs of a pass, see :class:`dpviz.experiments.worker_times.PassModel`. The
model is fitted to times on one and two workers. It predicts where the curves bend on more workers
than this machine has.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pickle
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import nnls

from dpviz import __version__
from dpviz.data.engine.dask import JOINED, Cluster
from dpviz.data.engine.tables import (
    Engine,
    PartWork,
    Tables,
    Titled,
    joined,
    read,
    read_alone,
    summed,
)
from dpviz.data.stored import Stored, stored
from dpviz.experiments.worker_times import PassModel, Timing, WorkerTimes, file_of, parts_of
from dpviz.family.card import VariantName
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.stored import StoredRecords
from dpviz.kmeans.truth import run_kmeans
from dpviz.privacy.noise_source import SeededNoise

METHODS = ("dplloyd", "dpkmeans_mapreduce", "contour")
MOST, FEWEST = 10**8, 10**5
WORKERS = (1, 2)

#: ε of the runs that vary the number of records; all ε, and the number of records, of other runs.
EPSILON = 0.5
EPSILONS, OVER_EPSILON = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0), 10**6

#: Numbers of columns and clusters of Gamma, rounded; Gamma is the largest available set.
COLUMNS, CLUSTERS = 10, 2
DOMAIN = Domain(((0.0, 1.0),) * COLUMNS)

#: Tiny parts, which measure the fixed cost of a part: numbers of parts, and records in a part.
TINY, IN_TINY = (1, 256, 1024), 10

#: Number of repeats. A run that takes more than LONG seconds is measured once.
REPEATS, LONG = 3, 4.0

PACKAGES = ("dask", "distributed", "numba", "numpy", "pyarrow")


def main() -> None:
    """Measure fewer records, and print the results."""
    report(measured(10**7, "sound"))


def publish(arguments: Sequence[str]) -> None:
    """Measure everything, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.mapreduce")
    parser.add_argument("--most", type=float, default=MOST, help="records of the largest set")
    variants = get_args(VariantName)
    parser.add_argument("--variant", default="sound", choices=variants, help="variant to run")
    parser.add_argument("--out", type=Path, help="file to write (default: that of the variant)")
    given = parser.parse_args(arguments)
    found = measured(int(given.most), given.variant)
    (given.out or file_of(given.variant)).write_text(written(found), encoding="utf-8")
    report(found)


def written(found: WorkerTimes) -> str:
    """Content of the file, with one run on each line."""
    values = asdict(found)
    runs = values.pop("timings")
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in values.items()]
    rows = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
    return "{\n" + ",\n".join([*lines, f'"timings": [\n{rows}\n]']) + "\n}\n"


def measured(most: int, variant: VariantName) -> WorkerTimes:
    """Measure runs with several numbers of records and ε, and the machine's limit; fit models."""
    ceilings = [yardstick()]
    sizes = [10**power for power in range(5, 19) if FEWEST <= 10**power <= most]
    found: list[Timing] = []
    with tempfile.TemporaryDirectory() as name:
        sets = [(n, write(Path(name) / str(n), n, parts_of(n))) for n in sizes]
        sets += [
            (IN_TINY * parts, write(Path(name) / f"tiny{parts}", IN_TINY * parts, parts))
            for parts in TINY
        ]
        for workers in WORKERS:
            with cluster(workers) as engine:
                for method in METHODS:
                    for n, source in sets:
                        found.append(timing(method, EPSILON, source, n, engine, workers, variant))
                        say(found[-1])
                    if workers == WORKERS[-1]:
                        source = dict(sets)[OVER_EPSILON]
                        found += over_epsilon(method, source, engine, workers, variant)
            ceilings.append(yardstick())
        merge = merging(dict(sets)[IN_TINY * TINY[1]])
    ceiling = float(f"{np.median(ceilings):.3g}")
    return WorkerTimes(
        machine={
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count() or 0,
            "python": platform.python_version(),
        },
        versions={"dpviz": __version__} | {one: version(one) for one in PACKAGES},
        columns=COLUMNS,
        clusters=CLUSTERS,
        epsilon=EPSILON,
        ceiling=ceiling,
        models={
            method: fitted(
                [mean_pass(one) for one in found if one.method == method], merge, ceiling
            )
            for method in METHODS
        },
        timings=tuple(found),
        variant=variant,
    )


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A measured pass, or the mean of all passes of a run."""

    points: int
    parts: int
    workers: int
    seconds: float

    def turns(self, ceiling: float) -> float:
        """Number of parts that the busiest worker reads, at the speed of a worker that is alone."""
        busy = min(self.workers, self.parts)
        slowed = 1.0 if busy == 1 else busy / ceiling
        return math.ceil(self.parts / self.workers) * slowed


def mean_pass(run: Timing) -> Pass:
    return Pass(
        points=run.records,
        parts=run.parts,
        workers=run.workers,
        seconds=run.seconds / run.passes,
    )


def fitted(passes: Iterable[Pass], merge: float, ceiling: float) -> PassModel:
    """Fit a model to passes by least squares of relative errors; no coefficient is below zero.

    Parameters
    ----------
    passes
        Measured passes on one or two workers.
    merge
        Number of seconds that the table of a part takes. This number is measured separately,
        because a fit can't distinguish it from the scheduler's time.
    ceiling
        S(2) of two plain loops, which is the largest speedup of two workers on one machine.
    """
    rows = list(passes)
    seconds = np.array([one.seconds for one in rows])
    parts = np.array([one.parts for one in rows])
    turns = np.array([one.turns(ceiling) for one in rows])
    size = np.array([one.points for one in rows]) / parts
    columns = np.column_stack([np.ones(len(rows)), parts, turns, turns * size])
    found, _ = nnls(columns / seconds[:, None], (seconds - merge * parts) / seconds)
    error = np.median(np.abs((columns @ found + merge * parts) / seconds - 1))
    names = ("round", "task", "work", "point")
    # Round to four digits, because further digits change with every run.
    numbers = dict(zip(names, (float(f"{one:.4g}") for one in found), strict=True))
    return PassModel(**numbers, merge=merge, error=float(f"{error:.4g}"))


def yardstick() -> float:
    """S(2) of two independent loops. S(2) is below 2 if cores share hardware or clock."""
    with ProcessPoolExecutor(2) as processes:
        list(processes.map(spin, [1, 1]))  # starts them
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(REPEATS):
            for work in ([2], [1, 1]):
                start = time.perf_counter()
                list(processes.map(spin, work))
                times[len(work)].append(time.perf_counter() - start)
    return min(times[1]) / min(times[2])


def spin(parts: int) -> int:
    """Do work that only counts."""
    return sum(range(parts * 3 * 10**7))


def write(folder: Path, records: int, parts: int) -> Stored:
    """Write clusters of Gaussian records as Parquet files."""
    folder.mkdir()
    middles = np.random.default_rng(0).uniform(0.2, 0.8, (CLUSTERS, COLUMNS))
    with ProcessPoolExecutor(2) as processes:
        work = partial(write_part, folder, middles, records // parts)
        list(processes.map(work, range(parts), chunksize=-(-parts // 64)))
    return stored(folder)


def write_part(folder: Path, middles: np.ndarray, records: int, part: int) -> None:
    rng = np.random.default_rng([1, part])
    some = middles[rng.integers(CLUSTERS, size=records)]
    some += rng.normal(0, 0.08, some.shape)
    names = [f"x{axis}" for axis in range(COLUMNS)]
    pq.write_table(pa.table(list(some.T), names=names), folder / f"{part:05}.parquet")


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """Workers with one thread each, which are started as the README describes."""
    import dask
    from distributed import LocalCluster

    memory = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25}
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": memory}),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as local,
        Cluster(scheduler=local.scheduler_address) as engine,
    ):
        yield engine


@dataclass
class Watched:
    """An engine that stores the work of its passes."""

    engine: Engine
    works: list[PartWork] = field(default_factory=list)

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of all parts."""
        self.works.append(work)
        return self.engine.tables(parts, work)

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the sum of the tables of all parts."""
        self.works.append(work)
        return self.engine.total(parts, work)


@dataclass
class Alone:
    """An engine that reads parts one after the other."""

    def tables(self, parts: Sequence[Titled], work: PartWork) -> list[Tables]:
        """Return the tables of all parts."""
        return [read(work, part) for part in parts]

    def total(self, parts: Sequence[Titled], work: PartWork) -> Tables:
        """Return the sum of the tables of all parts."""
        return summed(joined([read_alone(work, part) for part in parts]))


def clustered(
    method: str, epsilon: float, source: Stored, engine: Engine, variant: VariantName = "sound"
) -> None:
    records = StoredRecords(name="records", parts=source.parts, engine=engine, domain=DOMAIN)
    config = KMeansConfig(method=method, clusters=CLUSTERS, epsilon=epsilon, variant=variant)
    run_kmeans(records, config, SeededNoise(0))


def timing(
    method: str,
    epsilon: float,
    source: Stored,
    records: int,
    engine: Engine,
    workers: int,
    variant: VariantName,
) -> Timing:
    """Time of a run: the minimum after a warm-up run. A long run is measured only once."""
    times: list[float] = []
    taken: list[float] = []
    watched = Watched(engine)
    while len(times) <= REPEATS:
        watched = Watched(engine)
        busy, start = others(), time.perf_counter()
        clustered(method, epsilon, source, watched, variant)
        times.append(time.perf_counter() - start)
        taken.append((others() - busy) / times[-1])
        if times[0] > LONG:
            break
    kept = times[1:] or times
    return Timing(
        method=method,
        records=records,
        parts=len(source.parts),
        workers=workers,
        epsilon=epsilon,
        passes=len(watched.works),
        seconds=float(f"{min(kept):.4g}"),
        repeats=len(kept),
        others=round(max(taken[len(times) - len(kept) + int(np.argmin(kept))], 0.0), 2),
    )


def others() -> float:
    """CPU seconds that other programs have used so far."""
    import psutil

    ours = 0.0
    mine = psutil.Process()
    for one in (mine, *mine.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            ours += sum(one.cpu_times()[:2])
    every = psutil.cpu_times()
    return float(every.user + every.nice + every.system - ours)


def over_epsilon(
    method: str, source: Stored, engine: Engine, workers: int, variant: VariantName
) -> list[Timing]:
    """Measure runs at all budgets, except the budget of the runs that vary the records."""
    found = []
    for epsilon in EPSILONS:
        if epsilon != EPSILON:
            found.append(timing(method, epsilon, source, OVER_EPSILON, engine, workers, variant))
            say(found[-1])
    return found


def merging(source: Stored) -> float:
    """Seconds to send a table: pack it, join it with other tables, add it on the driver."""
    watched = Watched(Alone())
    clustered(METHODS[0], EPSILON, source, watched)
    tables = [read_alone(watched.works[-1], part) for part in source.parts]

    def merged() -> None:
        level = tables
        while len(level) > 1:
            level = [
                pickle.loads(pickle.dumps(joined(level[begin : begin + JOINED])))
                for begin in range(0, len(level), JOINED)
            ]
        summed(level[0])

    return float(f"{median_seconds(merged) / len(tables):.4g}")


def median_seconds(work: Callable[[], object]) -> float:
    """Median time after a warm-up run."""
    work()
    times = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def say(one: Timing) -> None:
    """Print a measured run on standard error."""
    print(one, file=sys.stderr, flush=True)


def report(found: WorkerTimes) -> None:
    """Print times, ratios, and the predictions of the models."""
    print(f"{found.machine['cores']} cores; other programs took {found.others:.2f} meanwhile")
    print(f"two plain loops side by side: S(2) = {found.ceiling:.2f}, what the machine can give")
    for method in found.methods:
        for one in found.over_records(method, 1):
            more = found.speedup(method, one.records)
            print(
                f"{method:<19} {one.records:>11,} records: {one.seconds:6.2f} s on 1 worker, "
                f"{one.seconds / more:6.2f} s on 2, S(2) = {more:.2f}"
            )
        cells = [
            f"ε {one.epsilon:g} {one.seconds:.2f} s ({one.passes})"
            for one in found.over_epsilon(method)
        ]
        print(f"{method:<19} 10^6 records, 2 workers (passes): {', '.join(cells)}")
        for sentence in found.sentences(method):
            print(f"    {sentence}")


if __name__ == "__main__":
    publish(sys.argv[1:])

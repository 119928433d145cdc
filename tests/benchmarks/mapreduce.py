"""Paper 004's experiments on workers of Dask: time over records and ε, S(m) = T1 / Tm, a model.

DPLloyd, the MapReduce form and contour budgets read stored records on one and on two workers. The
model adds up what a pass costs: its round, its tasks, which the scheduler hands out one after the
other, its points, which workers share, and the merging of tables. Fitted on one and two workers, it
says where curves bend on more of them than are at hand.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import nnls

from dpviz.data.stored import Stored, stored
from dpviz.domain import Domain
from dpviz.engine.dask import Cluster
from dpviz.engine.local import Local
from dpviz.engine.tables import Engine
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.space import Space
from dpviz.kmeans.stored import StoredRecords
from dpviz.kmeans.truth import run_kmeans
from dpviz.noise_source import SeededNoise

METHODS = ("dplloyd", "dpkmeans_mapreduce", "contour")
RECORDS = (10**5, 10**6, 10**7)
WORKERS = (1, 2)
EPSILONS = (0.1, 0.5, 1.0, 3.0)

#: Columns and clusters: those of Gamma, the paper's larger set that is at hand, rounded.
COLUMNS, CLUSTERS = 10, 2
PARTS, REPEATS = 16, 3

#: What the model is asked: workers and records beyond those measured; records of a part.
MORE_WORKERS, MOST_RECORDS, OF_A_PART = (1, 2, 4, 8, 16, 32, 64), (10**7, 10**9, 10**11), 10**6
DOMAIN = Domain(((0.0, 1.0),) * COLUMNS)


@dataclass(frozen=True)
class Model:
    """Seconds of a pass: per round, per task at the scheduler, per task and point at a worker.

    Parameters
    ----------
    round, task, work, point
        ``round + task * tasks + (work * tasks + point * points) / workers``. A task's share of
        merging tables is in ``work``.
    error
        Median relative error of the fit.
    """

    round: float
    task: float
    work: float
    point: float
    error: float = 0.0

    def seconds(self, points: float, tasks: float, workers: float) -> float:
        """Seconds of one pass."""
        shared = (self.work * tasks + self.point * points) / workers
        return self.round + self.task * tasks + shared

    @classmethod
    def fitted(cls, passes: list[tuple[float, float, float, float]]) -> Model:
        """Model of measured passes: points, tasks, workers, seconds; least relative squares."""
        points, tasks, workers, seconds = np.array(passes).T
        columns = [np.ones(len(passes)), tasks, tasks / workers, points / workers]
        matrix = np.column_stack(columns) / seconds[:, None]
        found, _ = nnls(matrix, np.ones(len(passes)))
        error = float(np.median(np.abs(matrix @ found - 1)))
        return cls(*map(float, found), error=error)


def main() -> None:
    """Print all figures."""
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"two plain loops side by side: S(2) = {yardstick():.2f}, what the machine can give")
    with tempfile.TemporaryDirectory() as place:
        sets = {n: write(Path(place) / str(n), n, PARTS) for n in RECORDS}
        tiny = {
            10 * tasks: write(Path(place) / f"tiny{tasks}", 10 * tasks, tasks) for tasks in (1, 256)
        }
        times: dict[tuple[str, int, int], float] = {}
        passes: list[tuple[float, float, float, float]] = []
        for workers in WORKERS:
            with cluster(workers) as engine:
                over_records(engine, workers, sets, times)
                passes += [
                    (n, len(source.parts), workers, one_pass(engine, source))
                    for n, source in [*sets.items(), *tiny.items()]
                ]
                if workers == WORKERS[-1]:
                    over_epsilon(engine, sets[10**6])
        report(times)
        local = one_pass(Local(), sets[RECORDS[-1]])
        print(f"a pass over {RECORDS[-1]:,} records by threads of this process: {local:.2f} s")
    ahead(Model.fitted(passes))


def yardstick() -> float:
    """S(2) of work that shares nothing: below 2 where others use the machine."""
    with ProcessPoolExecutor(2) as processes:
        list(processes.map(spin, [1, 1]))  # starts them
        times = []
        for work in ([2], [1, 1]):
            start = time.perf_counter()
            list(processes.map(spin, work))
            times.append(time.perf_counter() - start)
    return times[0] / times[1]


def spin(parts: int) -> int:
    """Count."""
    return sum(range(parts * 10**8))


def write(folder: Path, records: int, parts: int) -> Stored:
    """Clusters of Gaussian records in Parquet files."""
    folder.mkdir()
    rng, names = np.random.default_rng(0), [f"x{axis}" for axis in range(COLUMNS)]
    middles = rng.uniform(0.2, 0.8, (CLUSTERS, COLUMNS))
    for part in range(parts):
        some = middles[rng.integers(CLUSTERS, size=records // parts)]
        some += rng.normal(0, 0.08, some.shape)
        pq.write_table(pa.table(list(some.T), names=names), folder / f"{part:04}.parquet")
    return stored(folder)


@contextmanager
def cluster(workers: int) -> Iterator[Cluster]:
    """Workers of one thread each, started beforehand, as the README starts them."""
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


def records_of(source: Stored, engine: Engine) -> StoredRecords:
    """Records of files."""
    return StoredRecords(name="records", parts=source.parts, engine=engine, domain=DOMAIN)


def clustered(method: str, epsilon: float, source: Stored, engine: Engine) -> int:
    """Run a method; returns its iterations."""
    config = KMeansConfig(method=method, clusters=CLUSTERS, epsilon=epsilon)
    return len(run_kmeans(records_of(source, engine), config, SeededNoise(0)).iterations)


def median_seconds(work: Callable[[], object]) -> float:
    """Median time after one run that compiles and warms up."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def one_pass(engine: Engine, source: Stored) -> float:
    """Seconds of counts and sums by nearest centre."""
    records = records_of(source, engine)
    centers = np.random.default_rng(1).uniform(-1, 1, (CLUSTERS, COLUMNS))
    return median_seconds(partial(records.sums, Space(DOMAIN), centers))


def over_records(
    engine: Engine,
    workers: int,
    sets: dict[int, Stored],
    times: dict[tuple[str, int, int], float],
) -> None:
    """Figure 5: time over the number of records."""
    for method in METHODS:
        for n, source in sets.items():
            times[method, n, workers] = median_seconds(
                partial(clustered, method, 0.5, source, engine)
            )


def over_epsilon(engine: Engine, source: Stored) -> None:
    """Figure 6: time over ε, with the iterations that it follows from."""
    for method in METHODS:
        cells = []
        for epsilon in EPSILONS:
            taken = median_seconds(partial(clustered, method, epsilon, source, engine))
            steps = clustered(method, epsilon, source, engine)
            cells.append(f"ε {epsilon:g} {taken:.2f} s ({steps})")
        print(f"{method:<19} 10^6 records, 2 workers (iterations): {', '.join(cells)}")


def report(times: dict[tuple[str, int, int], float]) -> None:
    """Figures 5 and 7: times and S(m)."""
    for method in METHODS:
        for n in RECORDS:
            one, more = (times[method, n, workers] for workers in WORKERS)
            print(
                f"{method:<19} {n:>10,} records: {one:6.2f} s on 1 worker, {more:6.2f} s on 2, "
                f"S(2) = {one / more:.2f}"
            )


def ahead(model: Model) -> None:
    """What the model says of more workers and records."""
    print(
        f"model of a pass (d {COLUMNS}, K {CLUSTERS}): {model.round * 1e3:.1f} ms a round, "
        f"{model.task * 1e3:.2f} ms a task at the scheduler, {model.work * 1e3:.2f} ms a task and "
        f"{model.point * 1e9:.1f} ns a point at a worker; median error {model.error:.0%}"
    )
    for n in MOST_RECORDS:
        tasks = max(n // OF_A_PART, PARTS)
        alone = model.seconds(n, tasks, 1)
        cells = [f"{m}: {alone / model.seconds(n, tasks, m):.1f}" for m in MORE_WORKERS]
        # Half of the ideal speed: what can't be shared takes as long as what can.
        fixed = model.round + model.task * tasks
        bend = (alone - fixed) / fixed
        print(
            f"{n:>15,} records in {tasks:,} parts: {alone:,.1f} s a pass on 1 worker, "
            f"S(m) {', '.join(cells)}; half of the ideal at {bend:,.0f} workers"
        )
    print(
        f"an hour of 64 workers reads {3600 / model.seconds(1e9, 1e3, 64) * 1e9:.1e} points in "
        "passes over 10^9"
    )

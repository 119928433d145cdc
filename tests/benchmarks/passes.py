"""Passes over large data, compared with a lower limit and with the usual alternatives.

``python -m tests.benchmarks passes`` prints the table of the README. All numbers of a row are
measured in one run, one after the other, on the same array. The floor is the time of one thread
that reads the array once. Work on one thread is measured in CPU seconds, on which other programs
have little effect. All other work is measured in wall-clock seconds. Peers that need other packages
run in their own environments in ``artifacts``, which are made once.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from types import SimpleNamespace
from typing import NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans

from dpviz.base.threads import processors
from dpviz.data.dataset import Dataset
from dpviz.grid.counts import quantize
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.passes import cluster_sums
from dpviz.kmeans.records import Records
from dpviz.kmeans.truth import run_kmeans
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.components import label_points
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import run
from tests.benchmarks.bench_peers import ADAPTERS, answers, environment
from tests.benchmarks.core import seconds
from tests.benchmarks.sets import MissingError
from tests.support import ROOT

SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))

#: Cells per axis.
GRID = 256

#: Folder of the peers' environments, which ``make bench-utility`` also uses.
PLACE = ROOT / "artifacts" / "benchmark"

FAST_HISTOGRAM = ("numpy==2.4.6", "fast-histogram==0.14")

#: Largest number of seconds for a peer.
PATIENCE = 300.0


class Floor(NamedTuple):
    """CPU and wall-clock seconds of one thread that reads the array."""

    processor: float
    wall: float


@contextmanager
def one_thread() -> Iterator[None]:
    """Run all passes on one thread."""
    with (
        ThreadPoolExecutor(1) as alone,
        mock.patch("dpviz.base.threads.processors", return_value=1),
        mock.patch("dpviz.base.threads.pool", return_value=alone),
    ):
        yield


def main() -> None:
    print("| pass | records | one thread | all threads | beside it |")
    print("|---|---|---|---|---|")
    for millions in (1.0, 6.4, 50.0):
        points = np.random.default_rng(0).random((int(millions * 1e6), 2))
        floor = Floor(seconds(points.sum, clock=time.process_time), seconds(points.sum))
        _quantize(points, floor)
        _label(points, floor)
        if millions == 1.0:
            _sums(points, floor)
            _clusters()


def _row(what: str, n: int, floor: Floor, work: Callable[[], object], *beside: str) -> None:
    """Print a row; times are multiples of the floor."""
    with one_thread():
        one = seconds(work, clock=time.process_time)
    every = seconds(work)
    print(
        f"| {what} | {n / 1e6:g}M | {one / floor.processor:.1f} x floor ({one * 1e3:.0f} ms) | "
        f"{every / floor.wall:.1f} x on {processors()} | {', '.join(beside)} |",
        flush=True,
    )


def _quantize(points: NDArray[np.float64], floor: Floor) -> None:
    """Count points in cells, and compare with NumPy."""
    beside = []
    if len(points) <= 6_400_000:
        beside.append(_fast_histogram(len(points)))
        numpy = seconds(
            lambda: np.histogram2d(*points.T, bins=GRID, range=SQUARE.bounds),
            1, time.process_time,
        )  # fmt: skip
        with one_thread():
            own = seconds(lambda: quantize(points, SQUARE, GRID), clock=time.process_time)
        beside.append(f"np.histogram2d takes {numpy / own:.0f} times as long as one thread")
    _row(f"quantize, {GRID} x {GRID} cells", len(points), floor,
         lambda: quantize(points, SQUARE, GRID), *beside)  # fmt: skip


def _fast_histogram(n: int) -> str:
    """Time of fast-histogram for the same points, in multiples of its own floor."""
    try:
        python = environment(PLACE, FAST_HISTOGRAM)
    except MissingError as missing:
        return f"fast-histogram: {missing}"
    script = ADAPTERS / "speed_fast_histogram.py"
    done = subprocess.run(
        [python, script, str(n), str(GRID)], stdout=subprocess.PIPE, check=True, text=True
    )
    found = json.loads(done.stdout)
    return f"fast-histogram {found['peer'] / found['floor']:.1f} x floor, no closing edge"


def _label(points: NDArray[np.float64], floor: Floor) -> None:
    """Look up the labels of the points in the labels of the cells."""
    cells = np.random.default_rng(1).integers(0, 9, (GRID // 2, GRID // 2)).astype(np.int32)
    _row("label", len(points), floor,
         lambda: label_points(points, SQUARE, (GRID, GRID), cells, 1, "clip"))  # fmt: skip


def _sums(points: NDArray[np.float64], floor: Floor) -> None:
    """One iteration of DPLloyd."""
    centers = points[:10].copy()
    _row("k-means pass, K 10", len(points), floor, lambda: cluster_sums(points, centers))


def _clusters() -> None:
    """Run WaveCluster from points to labels on blobs; compare with clusterings of scikit-learn."""
    rng = np.random.default_rng(0)
    for n in (30_000, 1_000_000):
        blobs = rng.choice(rng.uniform(0.1, 0.9, (15, 2)), n)
        points = np.clip(blobs + rng.normal(0, 0.03, blobs.shape), 0, 1)
        data = Dataset(name="blobs", points=points, domain=SQUARE)

        def work(data: Dataset = data) -> object:
            config = Config(method="privthr", epsilon=1.0, density=0.5, grid=64)
            return run(Source.build(data, 64), config, SeededNoise(0))

        own = seconds(work)
        radius = 0.01 * (30_000 / n) ** 0.5 * 2
        peers = {
            "KMeans": KMeans(15, n_init=1, random_state=0),
            "DBSCAN": DBSCAN(eps=radius, min_samples=10),
        }
        if n <= 30_000:
            peers["HDBSCAN"] = HDBSCAN(min_cluster_size=100, copy=False)
        beside = []
        for name, model in peers.items():
            # After a warm-up with few points, run DBSCAN only once: it takes seconds and 1.4 GB.
            start = time.perf_counter()
            model.fit(points)
            taken = time.perf_counter() - start
            beside.append(f"{name} {taken / own:,.0f} times ({taken:.2g} s)")
        print(
            f"| private WaveCluster, points to clusters | {n / 1e6:g}M | | {own * 1e3:.1f} ms | "
            f"{', '.join(beside)} |",
            flush=True,
        )
        _private_kmeans(data)


def _private_kmeans(data: Dataset) -> None:
    """Compare DPLloyd with k-means of diffprivlib, both in CPU seconds."""
    config, noise = KMeansConfig(clusters=15), SeededNoise(0)
    times = []
    for _ in range(5):
        start = time.process_time()
        run_kmeans(Records.build(data), config, noise)
        times.append(time.process_time() - start)
    notes: list[str] = []
    asked = [SimpleNamespace(method="diffprivlib", epsilon=1.0, seed=0)]
    assert data.points is not None
    found = list(answers(asked, 2 * data.points - 1, 15, PLACE, None, 1, PATIENCE, notes))
    beside = [
        f"diffprivlib {taken / median(times):,.0f} times ({taken:.2g} s)" for _, _, taken in found
    ]
    print(
        f"| private k-means (DPLloyd), K 15 | {data.n / 1e6:g}M | | "
        f"{median(times) * 1e3:.0f} ms of a processor | {', '.join(beside or notes)} |",
        flush=True,
    )

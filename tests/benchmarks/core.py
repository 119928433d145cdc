"""Measure times of the methods and of the scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import median

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from dpviz.data.dataset import Dataset
from dpviz.data.samples import load_sample
from dpviz.grid.domain import Domain
from dpviz.kmeans.methods import METHODS as KMEANS
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.scores import QUICK
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.metrics.matching import contingency, two_ce
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run


def seconds(
    work: Callable[[], object], runs: int = 7, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median time of a function after one warm-up."""
    work()
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return median(times)


def main() -> None:
    runs()
    kmeans()
    scores()


def runs() -> None:
    """Measure one run of each method, and a k-means run on the same data."""
    data = load_sample("gaussians")
    peer = seconds(lambda: KMeans(15, n_init=1, random_state=0).fit(data.points), runs=5)
    for grid in (64, 256):
        source = Source.build(data, grid)
        truth = Truth(source, Config(density=0.58))
        for name in ("wavecluster", "baseline", "privqt", "privthr", "privthrem"):
            config = Config(method=name, density=0.58, alpha=0.7)
            noise = SeededNoise(0)
            one = seconds(lambda c=config, s=source, n=noise: run(s, c, n))
            folds = seconds(lambda c=config, t=truth: t.agreement(c, 0), runs=5)
            print(
                f"{name:<12} g {grid:<4} run {one * 1e3:6.2f} ms ({peer / one:5.0f} x faster than "
                f"KMeans, {peer * 1e3:.0f} ms), OCM and 2CE over ten folds {folds * 1e3:6.1f} ms"
            )


def kmeans() -> None:
    """Measure DPLloyd and k-means on 1M points, and all methods on 30,000 points."""
    rng = np.random.default_rng(0)
    blobs = rng.choice(rng.uniform(0.1, 0.9, (15, 2)), 1_000_000)
    points = np.clip(blobs + rng.normal(0, 0.03, blobs.shape), 0, 1)
    data = Dataset(name="blobs", points=points, domain=Domain(((0, 1), (0, 1))))
    config, noise = KMeansConfig(clusters=15), SeededNoise(0)
    ours = seconds(lambda: run_kmeans(Records.build(data), config, noise))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(15, n_init=1, max_iter=5, random_state=0)
        peer = seconds(lambda: model.fit(points), runs=5)
    print(
        f"DPLloyd, 1M points, K 15, T 5: {ours * 1e3:.0f} ms = {ours / peer:.2f} x KMeans with 5 "
        f"iterations ({peer * 1e3:.0f} ms)"
    )
    records = Records.build(load_sample("gaussians"))
    truth = KMeansTruth(records, 15)
    for name in KMEANS:
        chosen = KMeansConfig(method=name, clusters=15)
        one = seconds(lambda c=chosen: run_kmeans(records, c, noise))
        found = run_kmeans(records, chosen, noise)
        scored = seconds(lambda r=found: truth.scores(r, QUICK))
        print(f"{name:<20} 30,000 points {one * 1e3:6.1f} ms, scores {scored * 1e3:.1f} ms")


def scores() -> None:
    """Measure the time of 2CE for 100,000 points, that is, 5 billion pairs."""
    rng = np.random.default_rng(0)
    true, private = rng.integers(0, 16, 100_000), rng.integers(0, 16, 100_000)
    spent = seconds(lambda: two_ce(contingency(true, private)))
    print(f"2CE of 100,000 points: {spent * 1e3:.2f} ms")

"""The library: passes over the data against their floor and NumPy, runs and scores."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from sklearn.cluster import KMeans

from dpviz.comparison import Truth, run
from dpviz.config import Config
from dpviz.counts import quantize
from dpviz.data.samples import load_sample
from dpviz.domain import Domain
from dpviz.metrics.matching import contingency, two_ce
from dpviz.noise import SeededNoise
from dpviz.pipeline import Source


def seconds(work: Callable[[], object], runs: int = 7) -> float:
    """Median time of a piece of work after one warm-up."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def main() -> None:
    """Print all figures."""
    passes()
    runs()
    scores()


def passes() -> None:
    """Quantizing 1M points, as multiples of reading the array once."""
    points = np.random.default_rng(0).random((1_000_000, 2))
    domain = Domain(((0, 1), (0, 1)))
    floor = seconds(points.sum)
    ours = seconds(lambda: quantize(points, domain, 256))
    numpy = seconds(
        lambda: np.histogram2d(points[:, 0], points[:, 1], bins=256, range=[[0, 1]] * 2), runs=3
    )
    print(
        f"quantize 1M points, g 256: {ours * 1e3:.1f} ms = {ours / floor:.0f} x floor, "
        f"{numpy / ours:.1f} x faster than numpy.histogram2d"
    )


def runs() -> None:
    """One run of each method beside a k-means of the same data."""
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


def scores() -> None:
    """2CE of 100,000 points: 5 billion pairs."""
    rng = np.random.default_rng(0)
    true, private = rng.integers(0, 16, 100_000), rng.integers(0, 16, 100_000)
    spent = seconds(lambda: two_ce(contingency(true, private)))
    print(f"2CE of 100,000 points: {spent * 1e3:.2f} ms")

"""DP-DBSCAN beside our methods: ``python -m tests.benchmarks.density CHECKOUTS OUT [SET,...]``.

All know the range of the points; other public settings are chosen without noise. WaveCluster has
the rules of :mod:`tests.benchmarks.sets`. DP-DBSCAN has the settings of its authors for their sets;
for other sets, in the unit square, those of a short list with which its result without noise (at a
very large epsilon) agrees best with the classes. Scores:

* ``cells``: F-measure of cells with WaveCluster without noise, on its grid.
* ``points``: adjusted Rand index with the clustering without noise of each side. For DP-DBSCAN this
is the core points of DBSCAN, as for its authors, or its own result without noise if that is closer.
* ``classes``: adjusted Rand index with the known classes.

For each of our methods, a row is won (+) if the sign test's interval for the median of our score
minus the score of DP-DBSCAN is above 0, lost (-) if it is below 0, and otherwise open (=).
"""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree
from sklearn import cluster, datasets

from dpviz.data.dataset import Dataset
from dpviz.metrics.bands import sign_interval
from dpviz.metrics.matching import adjusted_rand, contingency
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth, run
from tests.benchmarks.bench_peers import ADAPTERS, environment
from tests.benchmarks.sets import BY_NAME, contents, density_of, grid_of

PACKAGES = ("numpy==1.26.4", "scikit-learn==1.3.2", "nptyping==2.5.0", "unionfind==0.1.2")
REPOSITORY, FILES = "QiuTedYuan/DpDBSCAN", ("datatype_grid", "datatype_point", "histogram", "noise")
OURS, EPSILONS, SEEDS = ("twostage", "privthr"), (0.1, 0.5, 1.0, 2.0), range(10_000, 10_010)
NOISELESS = [[1e9, 0]]
_BLOBS = {"centers": [[1, 1], [-1, -1], [1.5, -1.5]], "cluster_std": [0.4, 0.1, 0.75]}
MADE = {
    "moons": lambda: datasets.make_moons(2000, noise=0.05, random_state=30),
    "rounds": lambda: datasets.make_circles(2000, factor=0.5, noise=0.05, random_state=30),
    "blobs": lambda: datasets.make_blobs(2000, **_BLOBS, random_state=30),
}
#: Radius and number of neighbours of its authors.
GIVEN = {"moons": (0.2, 7), "rounds": (0.2, 10), "blobs": (0.2, 7), "chameleon_t4_8k": (9, 11)}
NAMES = ",".join((*MADE, "gaussians", "spirals", "shapes", "incomes"))


def rand(one, other):
    return adjusted_rand(contingency(np.add(one, 1), np.add(other, 1)))


def dbscan(points, alpha, least):
    found = cluster.DBSCAN(eps=alpha, min_samples=least).fit(points)
    return np.where(np.isin(np.arange(len(points)), found.core_sample_indices_), found.labels_, -1)


def given(name, checkouts):
    """True run of WaveCluster on a set, and its known classes."""
    if name in BY_NAME:
        one = BY_NAME[name]
        data, classes = one.read(checkouts), one.source.classes(checkouts)
        return Truth(Source.build(data, one.grid), Config(density=one.density)), classes
    points, classes = MADE[name]()
    data = Dataset(name=name, points=(points - points.mean(axis=0)) / points.std(axis=0))
    data, grid = replace(data, domain=data.bounds(from_data=True)), grid_of(data.n)
    return Truth(Source.build(data, grid), Config(density=density_of(data, classes, grid))), classes


def listed(points, low, high, classes, out):
    """Of a list, the radius and number of neighbours with the best result without noise."""
    tried = product((0.02, 0.04, 0.08), (0.0005, 0.002, 0.008))
    found = {}
    for own in ((alpha, max(5, round(share * len(points)))) for alpha, share in tried):
        ((_, _, label),) = peer(points, low, high, own, out, NOISELESS)
        found[own] = rand(classes, label(points))
    return max(found, key=found.get)


def peer(points, low, high, own, out, runs):
    """Answers of DP-DBSCAN: epsilon, seed, and a function from points to labels."""
    np.save(out / "points.npy", points)
    asked = {"low": low.tolist(), "high": high.tolist(), "alpha": own[0], "least": own[1]}
    request = {"points": "points.npy", "clusters": asked, "runs": runs}
    (out / "request.json").write_text(json.dumps(request))
    command = [environment(out, PACKAGES), ADAPTERS / "adapter_dpdbscan.py", "request.json", "code"]
    done = subprocess.run(command, cwd=out, stdout=subprocess.PIPE, text=True, check=True)
    for answer in map(json.loads, done.stdout.splitlines()):
        # The last row is no cell; an answer may have none.
        cells = np.array([*answer["centers"], [np.inf, np.inf, 0, -1]])

        def label(points, cells=cells):
            far, at = cKDTree(cells[:-1, :2]).query(points, p=np.inf)
            return np.where(far <= cells[0, 2] / 2, cells[at, 3], -1).astype(int)

        yield answer["epsilon"], answer["seed"], label


def rows(name, checkouts, out):
    """Method, epsilon, seed and the three scores of all runs on a set."""
    truth, classes = given(name, checkouts)
    source, stages = truth.source, truth.stages
    low, high = np.array(source.domain.lows), np.array(source.domain.highs)
    unit = 1.0 if name in GIVEN else high - low
    points, low, high = source.points / unit, low / unit, high / unit
    own = GIVEN.get(name) or listed(points, low, high, classes, out)
    print(name, source.shape, truth.config.density, own, file=sys.stderr)

    def scored(grid, labels, *goals):
        codes = np.unique([0, *grid.ravel()], return_inverse=True)[1][1:].reshape(grid.shape)
        there = replace(stages, labels=codes.astype(np.int32), n_clusters=int(codes.max()))
        cells = truth.scores(there, ("f_cells",))["f_cells"]
        return cells, max(rand(goal, labels) for goal in goals), rand(classes, labels)

    goal = source.label(source.points, stages)
    for method, epsilon, seed in product(OURS, EPSILONS, SEEDS):
        config = replace(
            truth.config, method=method, epsilon=epsilon, grid=source.shape, alpha=None
        )
        found = run(source, config, SeededNoise(seed)).stages
        labels = source.label(source.points, found)
        yield method, epsilon, seed, *scored(found.labels, labels, goal)
    ((_, _, label),) = peer(points, low, high, own, out, NOISELESS)
    goals, shape = (dbscan(points, *own), label(points)), stages.labels.shape
    middles = low + (np.argwhere(np.ones(shape)) + 0.5) * (high - low) / shape
    runs = [[epsilon, seed] for seed in SEEDS for epsilon in EPSILONS]
    for epsilon, seed, label in peer(points, low, high, own, out, runs):
        grid = label(middles).reshape(shape) + 1
        yield "dpdbscan", epsilon, seed, *scored(grid, label(points), *goals)


def main(checkouts, out, names=NAMES):
    """Print medians, and the sign of each row for each of our methods."""
    place = Path(out).absolute()
    columns = ["method", "epsilon", "seed", "cells", "points", "classes"]
    (place / "code").mkdir(parents=True, exist_ok=True)
    for one in FILES:
        (place / f"code/{one}.py").write_bytes(contents(Path(checkouts), REPOSITORY, f"{one}.py"))
    for name in names.split(","):
        table = pd.DataFrame(rows(name, Path(checkouts), place), columns=columns)
        for score, epsilon in product(columns[3:], EPSILONS):
            part = table[table["epsilon"] == epsilon]
            part = part.pivot(index="seed", columns="method", values=score)
            ends = [sign_interval(part[one] - part["dpdbscan"]) for one in OURS]
            signs = ["+" if low > 0 else "-" if high < 0 else "=" for low, high in ends]
            medians = [f"{one} {part[one].median():.3f}" for one in (*OURS, "dpdbscan")]
            print(name, score, epsilon, *medians, "".join(signs), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

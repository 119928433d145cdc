"""What choosing g and p under privacy costs: prints ``PRICES`` of ``dpviz/wavecluster/choice.py``.

    python -m tests.benchmarks.choice METHOD [FILE.csv:CLASS ...]

Sets are the samples with known classes, mixtures drawn here, and files with a column of classes;
``PRICES`` also has DS1 to DS3, S1 and unbalance, and the folder "wut" of the clustering data of
Gagolewski. A price is the F-measure with the classes over the best that any g and p reach on
average of two draws.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np

from dpviz.data.dataset import Classes, Dataset
from dpviz.data.reading.read import read_table
from dpviz.data.samples import load_sample, sample_names
from dpviz.domain import Domain
from dpviz.wavecluster.choice import PRICED
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.parameters import Config

GRIDS = (16, 24, 32, 40, 48, 64, 80, 96, 128)
DENSITIES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def sets(files: list[str]) -> Iterator[Dataset]:
    """Data sets with known classes and a declared domain."""
    found = [load_sample(name) for name in sample_names()]
    yield from (data for data in found if data.classes is not None)
    for n, clusters in product((2_000, 20_000, 200_000), (3, 8, 25)):
        yield mixture(n, clusters)
    for file in files:
        path, _, column = file.rpartition(":")
        yield read_table(path).select(classes=column)


def mixture(n: int, clusters: int) -> Dataset:
    """Gaussians of different sizes in the unit square, and a tenth of uniform noise."""
    rng = np.random.default_rng([n, clusters])
    centres = rng.uniform(0.08, 0.92, (clusters, 2))
    spread = rng.uniform(0.01, 0.05, clusters) * min(1, (8 / clusters) ** 0.5)
    codes = rng.choice(clusters, n, p=rng.dirichlet(np.full(clusters, 3.0)))
    points = centres[codes] + spread[codes, None] * rng.normal(size=(n, 2))
    noise = rng.random(n) < 0.1
    points[noise] = rng.random((int(noise.sum()), 2))
    codes[noise] = clusters
    names = tuple(str(code) for code in range(clusters + 1))
    return Dataset(
        name=f"mixture of {clusters}, {n:,}",
        points=np.clip(points, 0, 1),
        domain=Domain(((0, 1), (0, 1))),
        classes=Classes(column="class", names=names, codes=codes),
    )


def score(data: Dataset, config: Config, seeds: range) -> float:
    """Mean F-measure with the known classes over draws."""
    trial = FAMILY.build(data, config, data.domain, "clip")
    drawn = (trial.scores(trial.draw(seed), seed, ("class_f",)) for seed in seeds)
    return float(np.mean([one["class_f"] for one in drawn]))


def main(method: str, files: list[str]) -> None:
    """Print both prices of each set, and their means."""
    prices = []
    for data in sets(files):
        row = []
        for epsilon in PRICED:
            by_hand = {
                (grid, density): score(
                    data,
                    Config(method=method, grid=grid, density=density, epsilon=epsilon),
                    range(2),
                )
                for grid, density in product(GRIDS, DENSITIES)
            }
            chosen = Config(method=method, choose="private", epsilon=epsilon)
            private = score(data, chosen, range(100, 104))
            row.append(np.array([private, by_hand[64, 0.5]]) / max(by_hand.values()))
        prices.append(np.transpose(row))
        print(data.name, *np.round(prices[-1].ravel(), 2), flush=True)
    print(method, *np.round(np.mean(prices, axis=0).ravel(), 3))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

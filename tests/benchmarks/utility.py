"""Measure the cost of soundness in utility; write ``dpviz/experiments/utility.json``.

    python -m tests.benchmarks.utility [METHOD ...]

Without arguments, all methods are measured. Otherwise only the named methods are measured, and all
other numbers do not change. :mod:`dpviz.experiments.utility` describes the comparison.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest

from dpviz.data.dataset import Dataset
from dpviz.experiments.utility import FILE, Cost, Spread, costs
from dpviz.families import CARDS
from dpviz.family.card import Card, VariantName
from dpviz.family.run_domain import run_domain
from dpviz.grid.domain import Domain
from dpviz.kmeans.parameters import KMeansConfig, defaults_of
from dpviz.kmeans.records import Records
from dpviz.kmeans.truth import KMeansTruth, run_kmeans
from dpviz.metrics.bands import band, sign_interval
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster import truth as comparison
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from tests.conftest import reference_file

EPSILONS = (0.1, 0.5, 1.0)

#: For each family: scores, and number of draws (seeds 0, 1, ...).
SCORES = {"wavecluster": ("dsg_c", "f_measure"), "kmeans": ("nicv_ratio", "f_measure")}
DRAWS = {"wavecluster": 50, "kmeans": 20}


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells per axis (on the range of the data, and on the declared domain), and density p."""

    published: int
    sound: int
    density: float


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A reference set: its file, K, the declared domain, and its grid if it has one."""

    title: str
    file: str
    clusters: int
    domain: Domain
    grid: Grid | None = None


MILLION = Domain(((0, 1e6), (0, 1e6)))

#: The declared domain is the square with side 10^6 in which the sets were made, or a round box if
#: records are outside this square. On both domains the grid is the paper's, except for DS2. On the
#: declared domain, 40 cells per side join the three spirals of DS2 into one cluster, so clusters
#: can't be compared. With 46 cells per side, a cell has the paper's size, and there are three
#: clusters again.
SETUPS = {
    "ds1": Setup(
        title="DS1", file="ds1.csv", clusters=15, domain=MILLION,
        grid=Grid(published=64, sound=64, density=0.58),
    ),
    "ds2": Setup(
        title="DS2", file="ds2.csv", clusters=3, domain=MILLION,
        grid=Grid(published=40, sound=46, density=0.10),
    ),
    "ds3": Setup(
        title="DS3", file="ds3.csv", clusters=5, domain=Domain(((0, 1.1e6), (0, 1e6))),
        grid=Grid(published=36, sound=36, density=0.23),
    ),
    "s1": Setup(title="S1", file="s1.csv.gz", clusters=15, domain=MILLION),
    "unbalance": Setup(title="Unbalance", file="unbalance.csv.gz", clusters=8, domain=MILLION),
}  # fmt: skip


def main(names: list[str]) -> None:
    """Measure the methods of these names, or all methods, and write the results."""
    chosen = names or [name for name, card in CARDS.items() if compares(card)]
    rows = [row for row in costs() if row.method not in chosen] if FILE.exists() else []
    for method, data, epsilon in cells(chosen):
        rows += measure(method, data, epsilon)
        report(rows[-2:])
    rows.sort(key=lambda row: (row.method, row.data, row.score, row.epsilon))
    lines = [json.dumps(asdict(row), separators=(",", ":")) for row in rows]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def cells(methods: Iterable[str]) -> Iterator[tuple[str, str, float]]:
    """Each method with each data set of its family and each budget."""
    for method in methods:
        for data, setup in SETUPS.items():
            if CARDS[method].family == "kmeans" or setup.grid:
                for epsilon in EPSILONS:
                    yield method, data, epsilon


def measure(method: str, data: str, epsilon: float) -> list[Cost]:
    """Results of a method on one set at one budget: one result for each score of its family."""
    setup, family = SETUPS[data], CARDS[method].family
    own = settings(method, data)
    sound, on_range, published = (
        scores(method, data, epsilon, variant, place)
        for variant, place in (
            ("sound", "sound"),
            ("sound", "published"),
            ("published", "published"),
        )
    )
    return [
        Cost(
            method=method,
            data=data,
            title=setup.title,
            records=len(load(data).points),
            score=score,
            epsilon=epsilon,
            draws=DRAWS[family],
            sound=spread(sound[score]),
            sound_on_range=spread(on_range[score]),
            published=spread(published[score]),
            difference=interval(sound[score], published[score]),
            settings=own,
        )
        for score in SCORES[family]
    ]


def scores(
    method: str, data: str, epsilon: float, variant: VariantName, place: VariantName
) -> dict[str, list[float]]:
    """Scores of a variant in every draw; domain and grid are from the variant ``place``."""
    setup, family = SETUPS[data], CARDS[method].family
    found = []
    for seed in range(DRAWS[family]):
        noise = SeededNoise(seed)
        if family == "wavecluster":
            config = Config(
                method=method, density=setup.grid.density, epsilon=epsilon, variant=variant
            )
            truth = wavecluster_truth(data, place)
            result = comparison.run(truth.source, config, noise).stages
        else:
            config = KMeansConfig(
                method=method, clusters=setup.clusters, epsilon=epsilon, variant=variant
            )
            truth = kmeans_truth(data, place)
            result = run_kmeans(shuffled(data, place, seed), config, noise)
        found.append(truth.scores(result, SCORES[family]))
    return {score: [one[score] for one in found] for score in SCORES[family]}


def spread(values: list[float]) -> Spread:
    """Median and quantiles to four digits, because further digits differ between machines."""
    found = band(values)
    median, low, high = (float(f"{one:.4g}") for one in (found.median, found.low, found.high))
    return Spread(median=median, low=low, high=high)


def interval(sound: list[float], published: list[float]) -> Spread:
    """Median of the differences of draws with the same seed, and its interval, to four digits."""
    differences = np.subtract(sound, published)
    ends = (float(np.median(differences)), *sign_interval(differences))
    median, low, high = (float(f"{one:.4g}") for one in ends)
    return Spread(median=median, low=low, high=high)


def compares(card: Card) -> bool:
    """Whether a method has two variants that spend budget; our own methods have only one."""
    return card.spends and len(card.variants) > 1


def settings(method: str, data: str) -> dict[str, Any]:
    """Settings besides method, data and budget."""
    setup, card = SETUPS[data], CARDS[method]
    declared_as = ";".join(f"{lo:.0f},{hi:.0f}" for lo, hi in setup.domain.bounds)
    domains: dict[VariantName, str] = {"sound": declared_as, "published": "data"}
    if card.family == "kmeans":
        return {"clusters": setup.clusters} | {
            variant: {"domain": domain, **defaults_of(method, variant)}
            for variant, domain in domains.items()
        }
    config = Config(method=method)
    own = {name: getattr(config, name) for name in ("alpha", "synopsis") if card.parameter(name)}
    return {"density": setup.grid.density, **own} | {
        variant: {
            "domain": domain,
            "grid": getattr(setup.grid, variant),
            "true_clusters": wavecluster_truth(data, variant).stages.n_clusters,
        }
        for variant, domain in domains.items()
    }


@cache
def load(data: str) -> Dataset:
    """Points of a reference set without its labels, and its declared domain."""
    file = SETUPS[data].file
    headers = int(file.endswith(".csv.gz"))
    points = np.loadtxt(reference_file(file), delimiter=",", skiprows=headers, usecols=(0, 1))
    return Dataset(name=data, points=points, domain=SETUPS[data].domain)


@cache
def wavecluster_truth(data: str, variant: VariantName) -> comparison.Truth:
    """WaveCluster without noise on the grid of a variant."""
    setup, points = SETUPS[data], load(data)
    source = Source.build(points, getattr(setup.grid, variant), run_domain(points, variant))
    return comparison.Truth(source, Config(density=setup.grid.density))


@cache
def kmeans_truth(data: str, variant: VariantName) -> KMeansTruth:
    """k-means without noise on the domain of a variant."""
    records = Records.build(load(data), run_domain(load(data), variant))
    return KMeansTruth(records, SETUPS[data].clusters)


@lru_cache(maxsize=2 * DRAWS["kmeans"])
def shuffled(data: str, variant: VariantName, seed: int) -> Records:
    """Records in an order that depends on the draw.

    The files are sorted by cluster. Some published variants cut the list into pieces (starting
    sets, the blocks of GUPT), and would get the answer from the order of the file.
    """
    order = np.random.default_rng(seed).permutation(load(data).points)
    return Records.build(Dataset(name=data, points=order), run_domain(load(data), variant))


def report(rows: list[Cost]) -> None:
    """Print the results on standard error: sound, sound on the range, published."""
    told = ", ".join(
        f"{row.score} {row.sound.median} / {row.sound_on_range.median} / {row.published.median}"
        for row in rows
    )
    first = rows[0]
    print(f"{first.method} {first.data} epsilon {first.epsilon}: {told}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except pytest.skip.Exception as missing:
        sys.exit(str(missing))

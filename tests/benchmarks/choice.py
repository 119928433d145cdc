"""Measure the cost of a private choice of g, p or K; write ``dpviz/experiments/prices.json``.

    python -m tests.benchmarks.choice [METHOD ...] [--sets all|seen|SET ...] [--checkouts FOLDER]

Without a name, all methods that can choose privately are measured on all sets. Otherwise only the
named methods are measured, and all other numbers do not change. Each set is written when it is
finished, and ``--resume`` continues a run that was stopped. All measurements take about half an
hour on two cores.

``sets.py`` lists the sets. The sets for g and p are all sets with two columns and known classes;
the sets for K are all sets on which the method runs. The best choice in hindsight is the best
candidate of a coarse grid. The score of a candidate is the mean of ``DRAWS`` draws. For K, the
known number of clusters and the privately chosen numbers are candidates, too. The largest of many
means is a little too large, so the measured cost is slightly too high. A finer grid may contain a
better candidate, so the coarse grid makes the measured cost too low.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.experiments.prices import FILE, Price, prices
from dpviz.families import CARDS
from dpviz.family.parameter import PRIVATE
from dpviz.kmeans.choice_price import sample_of, silhouette
from dpviz.kmeans.parameters import DEFAULTS, KMeansConfig
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.space import Space
from dpviz.kmeans.truth import run_kmeans
from dpviz.metrics.matching import adjusted_rand, contingency
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.parameters import CHOOSERS, Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.trial import WaveClusterTrial
from tests.benchmarks.sets import BY_NAME, SETS, BenchSet, MissingError, folder

EPSILONS = (0.5, 1.0, 2.0)

#: Number of draws of each candidate (seeds 0, 1, ...) and of the private choice (100, 101, ...).
DRAWS, CHOSEN_DRAWS = 2, 4

GRIDS = (16, 24, 32, 48, 64, 96, 128)
DENSITIES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
CLUSTERS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40)

#: Methods that can choose privately, in the order of the cards.
METHODS = tuple(name for name in CARDS if name in CHOOSERS or "choose" in DEFAULTS.get(name, ()))

Scores = Mapping[str, float]
#: A budget; and for each score, its values with the best, the private and the usual choice.
Found = tuple[float, dict[str, tuple[float, float, float]]]


def main(arguments: list[str]) -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.choice")
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--checkouts", help="folder with checkouts of repositories")
    parser.add_argument("--sets", nargs="+", default=["all"], metavar="all|seen|SET")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="keep the sets that are there")
    given = parser.parse_args(arguments)
    methods = given.methods or METHODS
    for names, known in ((methods, METHODS), (given.sets, ("all", "seen", *BY_NAME))):
        if unknown := set(names) - set(known):
            parser.error(f"{', '.join(sorted(unknown))}: none of {', '.join(known)}")
    wanted = {
        (method, one.name)
        for method, one in product(methods, SETS)
        if fits(method, one)
        if {"all", one.name, *(["seen"] if one.seen else ())} & {*given.sets}
    }
    rows = [row for row in prices() if given.resume or (row.method, row.data) not in wanted]
    wanted -= {(row.method, row.data) for row in rows}
    # Start with the longest jobs, so that no long job runs alone at the end.
    order = sorted(wanted, key=lambda pair: (-BY_NAME[pair[1]].n, pair))
    with ProcessPoolExecutor(given.jobs) as pool:
        pending = {pool.submit(measure, *pair, folder(given.checkouts)): pair for pair in order}
        for number, done in enumerate(as_completed(pending), 1):
            print(f"{number}/{len(wanted)}", *pending[done], file=sys.stderr, end=" ")
            try:
                rows += done.result()
                print("done", file=sys.stderr, flush=True)
            except (MissingError, InputError) as error:
                print(error, file=sys.stderr, flush=True)
            write(rows)


def write(rows: Iterable[Price]) -> None:
    """Write the file with only these rows, in the order of methods and sets."""
    names = list(BY_NAME)
    ordered = sorted(rows, key=lambda row: (METHODS.index(row.method), names.index(row.data)))
    lines = [json.dumps(asdict(row), separators=(",", ":"), ensure_ascii=False) for row in ordered]
    new = FILE.with_suffix(".new")
    new.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    os.replace(new, FILE)


def fits(method: str, one: BenchSet) -> bool:
    """Whether the private choice of a method is measured on a set."""
    if method in CHOOSERS:
        return one.ndim == 2 and one.source.classed
    return one.clusters is not None


def measure(method: str, name: str, checkouts: Path | None) -> list[Price]:
    """Results of a method on one set.

    Raises
    ------
    MissingError
        If the set is not on this machine.
    InputError
        If the method can't run on the set.
    """
    one = BY_NAME[name]
    data = one.with_classes(checkouts) if one.source.classed else one.read(checkouts)
    judge = _grids_and_densities if method in CHOOSERS else _numbers
    return [
        Price(
            method=method,
            data=name,
            title=one.title,
            records=data.n,
            seen=one.seen,
            score=score,
            epsilon=epsilon,
            best=round(best, 4),
            chosen=round(chosen, 4),
            usual=round(usual, 4),
        )
        for epsilon, found in judge(method, data, one)
        for score, (best, chosen, usual) in found.items()
    ]


def _mean(drawn: Iterable[Scores]) -> dict[str, float]:
    found = list(drawn)
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def _three(
    candidates: Iterable[Scores], chosen: Scores, usual: Scores
) -> dict[str, tuple[float, float, float]]:
    """For each score, its values with the best choice, the private choice and the usual choice."""
    candidates = list(candidates)
    return {
        name: (max(one[name] for one in candidates), chosen[name], usual[name]) for name in chosen
    }


# -- g and p -------------------------------------------------------------------------------------


def _grids_and_densities(method: str, data: Dataset, one: BenchSet) -> Iterator[Found]:
    """Scores of the three ways to choose g and p, for each budget."""
    source, usual = Source.build(data, Config().grid), Config()
    trials = {
        (grid, density): WaveClusterTrial.of(
            source.on_grid(grid), Config(method=method, grid=grid, density=density)
        )
        for grid, density in product(GRIDS, DENSITIES)
    }
    private = WaveClusterTrial.of(source, Config(method=method, choose=PRIVATE))

    def score(trial: WaveClusterTrial, seeds: range) -> dict[str, float]:
        return _mean(trial.scores(trial.draw(seed), seed, ("class_f",)) for seed in seeds)

    for epsilon in EPSILONS:
        found = {
            key: score(trial.at(epsilon=epsilon), range(DRAWS)) for key, trial in trials.items()
        }
        chosen = score(private.at(epsilon=epsilon), range(100, 100 + CHOSEN_DRAWS))
        yield epsilon, _three(found.values(), chosen, found[usual.grid, usual.density])


# -- K -------------------------------------------------------------------------------------------


def _numbers(method: str, data: Dataset, one: BenchSet) -> Iterator[Found]:
    """Scores of the three ways to choose K, for each budget."""
    records = Records.build(data, data.domain)
    sample = sample_of(records.n)
    scaled = records.scaled(Space(records.domain))[sample]
    classes = None if records.classes is None else records.classes[sample]
    known = None if data.classes is None else len(data.classes.names)
    usual = KMeansConfig().clusters

    def run(seed: int, epsilon: float, **choice: Any) -> KMeansRun:
        config = KMeansConfig(method=method, epsilon=epsilon, **choice)
        return run_kmeans(records, config, SeededNoise(seed))

    def score(drawn: KMeansRun) -> dict[str, float]:
        centers = Space(records.domain).scale(drawn.centers)
        found = {"silhouette": silhouette(scaled, centers)}
        if classes is not None:
            table = contingency(classes, nearest(scaled, centers))
            found |= {"class_ari": adjusted_rand(table), "exact": float(len(centers) == known)}
        return found

    for epsilon in EPSILONS:
        private = [run(seed, epsilon, choose=PRIVATE) for seed in range(100, 100 + CHOSEN_DRAWS)]
        tried = {*CLUSTERS, usual, one.clusters, known or usual}
        tried |= {len(each.centers) for each in private}
        found = {
            clusters: _mean(score(run(seed, epsilon, clusters=clusters)) for seed in range(DRAWS))
            for clusters in sorted(tried)
        }
        chosen = _mean(map(score, private))
        yield epsilon, _three(found.values(), chosen, found[usual])


if __name__ == "__main__":
    main(sys.argv[1:])

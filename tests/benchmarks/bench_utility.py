"""Compare all methods and their peers at equal epsilon; write ``dpviz/experiments/benchmark.json``.

    python -m tests.benchmarks.bench_utility [--checkouts FOLDER] [--publish] ...

Sets: :mod:`tests.benchmarks.sets`. Peers: :mod:`tests.benchmarks.bench_peers`. Every finished run
is written to disk immediately, so after a stop or a kill the benchmark continues at the same place
when it is started again. Raw rows are in the folder ``--out``; ``--publish`` writes the results
that the app shows, and copies the raw rows to the folder of this file.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpviz.base.errors import InputError
from dpviz.data.dataset import Dataset
from dpviz.experiments.benchmark import FILE, SCORES, Benchmark, SetFacts, references, to_best
from dpviz.experiments.journal import Scores, Store
from dpviz.experiments.sweep import Plan, Subject, run_sweep
from dpviz.families import FAMILIES
from dpviz.kmeans.parameters import KMeansConfig
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.start import sphere_packing
from dpviz.kmeans.truth import KMeansTruth
from dpviz.privacy.ledger import Ledger
from dpviz.privacy.noise_source import SeededNoise
from dpviz.wavecluster.heldout import agreement
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.pipeline import Source
from dpviz.wavecluster.truth import Truth
from tests.benchmarks.bench_peers import PEERS, answers
from tests.benchmarks.sets import SETS, BenchSet, MissingError, folder
from tests.support.benchmark import summarised, write

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

#: Scores of every draw, and expensive scores, each of which takes the time of ten draws.
CHEAP = {"wavecluster": ("dsg_c", "f_measure"), "kmeans": ("nicv", "nicv_ratio")}
DEAR = {"wavecluster": ("ocm", "two_ce"), "kmeans": ()}

#: First seed. Constants may have been chosen with smaller seeds, so these are never published.
FRESH = 10_000

#: Raw rows of the published results.
ROWS = Path(__file__).with_name("utility_rows.parquet")

#: Digits of published scores.
DIGITS = 6

PACKAGES = ("numpy", "scipy", "pywavelets", "scikit-learn", "numba")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to measure: see ``options``."""

    out: Path
    parts: tuple[str, ...]
    sets: tuple[BenchSet, ...]
    methods: tuple[str, ...]
    peers: tuple[str, ...]
    variants: tuple[str, ...] = ("sound",)
    epsilons: tuple[float, ...] = EPSILONS
    seeds: int = 30
    dear_seeds: int = 30
    peer_seeds: int = 30
    first_seed: int = FRESH
    most: int = 10**9
    patience: float = 600.0
    jobs: int = 2
    checkouts: Path | None = None
    publish: bool = False
    keep: bool = False

    def range(self, number: int) -> tuple[int, ...]:
        """The seeds of the draws, from the first seed on."""
        return tuple(range(self.first_seed, self.first_seed + number))


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run that is not part of a sweep: a run of a peer, or of a reference for comparison."""

    data: str
    method: str
    epsilon: float
    seed: int

    @property
    def name(self) -> str:
        """Key in the journal."""
        return f"{self.data}|{self.method}|{self.epsilon!r}|{self.seed}"

    @classmethod
    def named(cls, name: str) -> Row:
        """Row with a given key in the journal."""
        data, method, epsilon, seed = name.split("|")
        return cls(data=data, method=method, epsilon=float(epsilon), seed=int(seed))


def main(arguments: Sequence[str]) -> None:
    """Measure the requested rows, then summarize all rows on disk."""
    wanted = options(arguments)
    wanted.out.mkdir(parents=True, exist_ok=True)
    notes = []
    for one in wanted.sets:
        try:
            data = one.read(wanted.checkouts)
        except MissingError as missing:
            say(f"{one.name}: left out, {missing}")
            continue
        for family in one.families:
            if family in wanted.parts:
                notes += draw(wanted, one, family, data)
            if "lines" in wanted.parts:
                notes += LINES[family](wanted, one, data)
        if "peers" in wanted.parts and "kmeans" in one.families:
            notes += peers(wanted, one, data)
    sum_up(wanted, notes)


def say(text: str) -> None:
    """Print the progress on standard error."""
    print(text, file=sys.stderr, flush=True)


# -- our methods -------------------------------------------------------------------------


def draw(wanted: Wanted, one: BenchSet, family: str, data: Dataset) -> list[str]:
    """Run the methods of a family on a set; return a sentence for each method that can't run."""
    spending = [name for name, method in FAMILIES[family].methods.items() if method.card.spends]
    methods = [name for name in spending if not wanted.methods or name in wanted.methods]
    if not methods:
        return []
    subject = Subject(
        name=one.name, title=one.title, dataset=data, domain=data.domain, settings=settings(one)
    )
    start, drawn, notes = time.perf_counter(), 0, []
    for method, variant in product(methods, wanted.variants):
        if variant not in [own.name for own in FAMILIES[family].methods[method].card.variants]:
            continue
        plans = [
            Plan(
                subjects=(subject,), methods=(method,), epsilons=wanted.epsilons,
                seeds=wanted.range(seeds), variant=variant, scores=scores,
            )
            for scores, seeds in (
                (CHEAP[family], wanted.seeds), (DEAR[family], wanted.dear_seeds)
            )
            if scores and seeds
        ]  # fmt: skip
        # One table for each method, because methods may be added later or have fewer draws.
        out = wanted.out / f"{family}-{one.name}-{method}-{variant}.parquet"
        table = run_sweep(*plans, jobs=wanted.jobs, out=out, resume=True, progress=Told(out.stem))
        drawn += len(table)
        notes += table.attrs["notes"]
    say(f"{family} {one.name}: {drawn:,} rows in {time.perf_counter() - start:.1f} s")
    return notes


def settings(one: BenchSet) -> dict[str, Any]:
    """Public choices on a set, the same for all methods."""
    given = {"grid": one.grid, "density": one.density, "clusters": one.clusters}
    return {name: value for name, value in given.items() if value is not None}


class Told:
    """Prints the progress on standard error, at most every ten seconds."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, time.perf_counter()

    def __call__(self, done: int, total: int) -> None:
        if time.perf_counter() - self.last > 10:
            self.last = time.perf_counter()
            say(f"{self.name}: {done:,} of {total:,} draws")


# -- references for comparison------------------------------------------------------------


def nothing(wanted: Wanted, one: BenchSet, data: Dataset) -> list[str]:
    """Scores of an answer in which no cell is significant. This answer needs no seed."""
    rows = [
        Row(data=one.name, method="nothing", epsilon=epsilon, seed=wanted.first_seed)
        for epsilon in wanted.epsilons
    ]

    def scored(pending: Sequence[Row]) -> Iterator[tuple[Row, Scores]]:
        config = Config(method="wavecluster", density=one.density)
        truth = Truth(Source.build(data, one.grid, data.domain), config)
        found = truth.scores(empty(truth.stages), CHEAP["wavecluster"])
        answers = tuple(map(empty, truth.fold_stages))
        ocm, two_ce = agreement(truth.folds, truth.fold_stages, answers)
        for row in pending:
            yield row, found | {"ocm": ocm, "two_ce": two_ce}

    return keep(wanted.out / f"lines-wavecluster-{one.name}.parquet", rows, scored)


def empty(stages: Any) -> Any:
    """Stages of an answer that has no cluster."""
    return replace(stages, labels=np.zeros_like(stages.labels), n_clusters=0)


def without_data(wanted: Wanted, one: BenchSet, data: Dataset) -> list[str]:
    """Centres by sphere packing: the same for every epsilon."""
    rows = [
        Row(data=one.name, method="nodata", epsilon=epsilon, seed=seed)
        for seed in wanted.range(wanted.peer_seeds)
        for epsilon in wanted.epsilons
    ]

    def scored(pending: Sequence[Row]) -> Iterator[tuple[Row, Scores]]:
        truth = kmeans_truth(one, data)
        known: dict[int, Scores] = {}
        for row in pending:
            if row.seed not in known:
                generator = SeededNoise(row.seed).generator("start")
                scaled = sphere_packing(one.clusters, data.ndim, generator)
                known[row.seed] = truth.scores(_run(truth.space.restore(scaled)), CHEAP["kmeans"])
            yield row, known[row.seed]

    return keep(wanted.out / f"lines-kmeans-{one.name}.parquet", rows, scored)


LINES = {"wavecluster": nothing, "kmeans": without_data}


# -- peers -------------------------------------------------------------------------------


def peers(wanted: Wanted, one: BenchSet, data: Dataset) -> list[str]:
    """Run the peers on a set; return a sentence for each peer that did not run."""
    if len(data.points) > wanted.most:
        return [f"{one.name}: peers are left out above {wanted.most:,} records."]
    rows = [
        Row(data=one.name, method=peer, epsilon=epsilon, seed=seed)
        for seed in wanted.range(wanted.peer_seeds)
        for epsilon in wanted.epsilons
        for peer in wanted.peers
    ]
    notes: list[str] = []

    def scored(pending: Sequence[Row]) -> Iterator[tuple[Row, Scores]]:
        truth = kmeans_truth(one, data)
        scaled = truth.records.scaled(truth.space)
        for row, centers, seconds in answers(
            pending, scaled, one.clusters, wanted.out, wanted.checkouts, wanted.jobs,
            wanted.patience, notes,
        ):  # fmt: skip
            found = truth.scores(_run(truth.space.restore(centers)), CHEAP["kmeans"])
            yield row, found | {"seconds": seconds}

    start = time.perf_counter()
    keep(wanted.out / f"peers-{one.name}.parquet", rows, scored)
    say(f"peers {one.name}: {time.perf_counter() - start:.1f} s")
    return [f"{one.name}: {note}" for note in notes]


def _run(centers: np.ndarray[Any, Any]) -> Any:
    """A run with these centres; nothing else of this run is read."""
    return KMeansRun(
        config=KMeansConfig(method="kmeans", clusters=len(centers)),
        centers=centers,
        ledger=Ledger(),
    )


@lru_cache(maxsize=1)
def kmeans_truth(one: BenchSet, data: Dataset) -> KMeansTruth:
    return KMeansTruth(Records.build(data, data.domain), one.clusters)


def keep(out: Path, rows: Iterable[Row], scored: Any) -> list[str]:
    """Compute the scores of rows that are not on disk, and write each row immediately."""
    names = ("nicv", "nicv_ratio", "dsg_c", "f_measure", "ocm", "two_ce", "seconds")
    with Store.held(out) as store:
        done = store.rows(names)
        store.start(done, anew=False)
        pending = [row for row in rows if row.name not in done]
        if pending:
            for row, scores in scored(pending):
                done[row.name] = scores
                store.add({row.name: scores})
        table = [
            {"run": name, "variant": "sound", **vars(Row.named(name)), **scores}
            for name, scores in done.items()
        ]
        store.finish(pd.DataFrame(table))
    return []


# -- the results -------------------------------------------------------------------------


def raw(out: Path, kept: Path | None = None) -> tuple[pd.DataFrame, dict[str, float]]:
    """All rows on disk, one per draw; for each set, how much better a run is than its reference.

    A row of the file of published rows is kept if its method was not run again on the set at this
    epsilon. The reference of a set is the best clustering in all searches and runs, so no ratio to
    it is below 1.
    """
    tables = [pd.read_parquet(file) for file in sorted(out.glob("*-*.parquet"))]
    columns = ["data", "method", "variant", "epsilon", "seed"]
    if kept is not None and kept.exists():
        old = pd.read_parquet(kept)
        groups = [pd.MultiIndex.from_frame(one[columns[:4]]) for one in (old, *tables)]
        anew = set().union(*groups[1:])
        tables.append(old[[key not in anew for key in groups[0]]])
    if not tables:
        return pd.DataFrame(columns=columns), {}
    rows = pd.concat(tables, ignore_index=True)
    beaten = {}
    if "nicv" in rows:
        by = references(rows).groupby(rows["data"])
        beaten = (1 - by.min() / by.max()).dropna().to_dict()
        rows = to_best(rows)
    scores = [name for name in SCORES if name in rows]
    # A draw may have two rows: one row with cheap scores, the other row with expensive scores.
    rows = rows.groupby(columns, as_index=False)[scores].first()
    # Round first, because published summaries are computed from published numbers.
    for name in scores:
        rows[name] = [float(f"{value:.{DIGITS}g}") for value in rows[name]]
    return rows, beaten


def sum_up(wanted: Wanted, notes: Sequence[str]) -> None:
    """Write the results of all rows on disk."""
    rows, beaten = raw(wanted.out, ROWS if wanted.keep else None)
    # Do not publish rows of sets that were removed from the list.
    rows = rows[rows["data"].isin([one.name for one in SETS])]
    if rows.empty:
        say("there are no rows yet")
        return
    found = Benchmark(
        sets={one.name: facts(one, wanted.checkouts, beaten, rows) for one in SETS},
        cells=summarised(rows),
        made={
            "seeds": [int(rows["seed"].min()), int(rows["seed"].max())],
            "epsilons": sorted(rows["epsilon"].unique().tolist()),
            "versions": {name: version(name) for name in PACKAGES},
            "peers": {name: peer.version(wanted.checkouts) for name, peer in PEERS.items()},
        },
        notes=tuple(dict.fromkeys(notes)),
    )
    write(found, wanted.out / "benchmark.json")
    if wanted.publish:
        if rows["seed"].min() < FRESH:
            raise InputError(
                f"rows of seed {rows['seed'].min()} are in {wanted.out}: constants may have been "
                f"chosen with seeds below {FRESH:,}; publish rows of fresh seeds alone."
            )
        write(found, FILE)
        small = rows.astype({name: "float32" for name in SCORES if name in rows})
        small.to_parquet(ROWS, index=False, compression="zstd")
        say(f"wrote {FILE.name} and {ROWS.name} ({ROWS.stat().st_size / 1e6:.2f} MB)")


def facts(
    one: BenchSet, checkouts: Path | None, beaten: dict[str, float], rows: pd.DataFrame
) -> SetFacts:
    """Facts of a set for the page. For a set without rows, a sentence gives the reason."""
    missing = ""
    if one.name not in set(rows["data"]):
        try:
            one.read(checkouts)
            missing = "not run."
        except MissingError as reason:
            missing = str(reason)
    share = beaten.get(one.name, 0.0)
    return SetFacts(
        name=one.name, title=one.title, kind=one.kind, seen=one.seen, records=one.n,
        columns=one.ndim, families=one.families, credit=one.credit, grid=one.grid,
        density=one.density, clusters=one.clusters, missing=missing, known=one.known,
        # A difference in the last digits is a rounding error, not a better clustering.
        beaten=float(f"{share:.2g}") if share > 10.0 ** (1 - DIGITS) else 0.0,
    )  # fmt: skip


# -- options -----------------------------------------------------------------------------


def options(arguments: Sequence[str]) -> Wanted:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.bench_utility", description=__doc__.split("\n")[0]
    )
    add = parser.add_argument
    add("--checkouts", help="folder with checkouts of sets and peers (or DPVIZ_CHECKOUTS)")
    add("--out", default="artifacts/benchmark", help="folder of raw rows and environments")
    add(
        "--parts", default="wavecluster,kmeans,lines,peers", metavar="NAME,...",
        help="wavecluster, kmeans, lines, peers; none only sums up",
    )  # fmt: skip
    add("--sets", default="all", help="all, seen, unseen, or names")
    add("--methods", default="", metavar="NAME,...", help="methods of ours; all by default")
    add("--peers", default=",".join(PEERS), metavar="NAME,...")
    add("--variants", default="sound", metavar="NAME,...")
    add("--epsilons", default=",".join(f"{one:g}" for one in EPSILONS))
    add("--seeds", type=int, default=30, help="draws of each setting")
    add("--dear-seeds", type=int, help="draws with OCM and 2CE, ten times as dear; as --seeds")
    add("--peer-seeds", type=int, help="draws of each peer; as --seeds")
    add("--first-seed", type=int, default=FRESH)
    add("--most", type=int, default=10**9, help="records above which no peer runs")
    add("--patience", type=float, default=600, help="seconds for each peer on each set")
    add("--jobs", type=int, default=2)
    add("--keep", action="store_true", help="keep published rows of what was not drawn anew")
    add("--publish", action="store_true", help="write the figures of the app")
    given = parser.parse_args(arguments)
    return Wanted(
        out=Path(given.out).absolute(),
        parts=_words(given.parts, ("wavecluster", "kmeans", "lines", "peers", "none")),
        sets=_sets(given.sets),
        methods=_words(given.methods, [name for one in FAMILIES.values() for name in one.methods]),
        peers=_words(given.peers, PEERS),
        variants=_words(given.variants, ("sound", "published")),
        epsilons=tuple(float(one) for one in given.epsilons.split(",")),
        seeds=given.seeds,
        dear_seeds=given.seeds if given.dear_seeds is None else given.dear_seeds,
        peer_seeds=given.seeds if given.peer_seeds is None else given.peer_seeds,
        first_seed=given.first_seed,
        most=given.most,
        patience=given.patience,
        jobs=given.jobs,
        checkouts=folder(given.checkouts),
        publish=given.publish,
        keep=given.keep,
    )


def _words(text: str, known: Iterable[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, text.split(","))))
    for name in names:
        if name not in known:
            raise InputError(f'"{name}" is unknown: choose from {", ".join(known)}.')
    return names


def _sets(text: str) -> tuple[BenchSet, ...]:
    groups = {"all": SETS, "seen": [one for one in SETS if one.seen]}
    groups["unseen"] = [one for one in SETS if not one.seen]
    if text in groups:
        return tuple(groups[text])
    names = _words(text, [one.name for one in SETS])
    return tuple(one for one in SETS if one.name in names)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # If another program ends this process, this process also ends its peers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")

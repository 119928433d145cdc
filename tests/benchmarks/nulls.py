"""Count releases with a cluster that looks real, although the data have no clusters.

``python -m tests.benchmarks.nulls`` measures all methods on all kinds of data, takes about an hour,
and writes ``nulls.json`` in the folder of this file. Names of methods as arguments select these
methods. If these releases are too few to decide whether a sentence is true, ``python -m
tests.benchmarks.nulls again`` measures ten times this number of new releases. With 99% confidence
the rate is below ``limit``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpviz.base.serialize import jsonable
from dpviz.data.dataset import Dataset
from dpviz.families import CARDS, FAMILIES
from dpviz.grid.domain import Domain
from dpviz.privacy.ledger import Neighbours, Spend
from dpviz.release.doubt import LEVEL, doubt
from dpviz.release.seeded import seeded_run

TABLE = Path(__file__).with_name("nulls.json")
SQUARE = Domain(((0.0, 1.0), (0.0, 1.0)))

#: Number of releases of a kind to which a sentence applies, of another kind, and of a second run.
CLAIMED, OTHERS, AGAIN = 200, 40, 2_000

#: A sentence is rejected if at least this many hits would be less probable than this number.
REFUSED = 0.01

Points = NDArray[np.float64]
Make = Callable[[np.random.Generator, int], Points]


def _walk(rng: np.random.Generator, n: int) -> Points:
    steps = rng.normal(0, 0.03, (n // 5, 5, 2))
    steps[:, 0] = rng.random((n // 5, 2))
    return np.clip(steps.cumsum(axis=1).reshape(-1, 2), 0, 1)


Axis = Callable[[np.random.Generator, int], NDArray[np.float64]]

#: Values of the two columns, which are sampled independently.
AXES: dict[str, tuple[Axis, Axis]] = {
    "exponential by exponential": (lambda rng, n: np.minimum(rng.exponential(0.1, n), 1),) * 2,
    "normal by normal": (lambda rng, n: rng.normal(0.5, 0.05, n).clip(0, 1),) * 2,
    "two humps by a slope": (
        lambda rng, n: rng.normal(rng.choice([0.3, 0.7], n), 0.05).clip(0, 1),
        lambda rng, n: rng.beta(2, 8, n),
    ),
    "even by even": (lambda rng, n: rng.random(n),) * 2,
}

#: Numbers of records of data with independent columns.
SIZES = (200, 500, 1000, 2000, 5000)


def _product(name: str, size: int) -> Make:
    """Two independent columns of ``size`` records; the argument with a number is ignored."""
    return lambda rng, n: np.column_stack([axis(rng, size) for axis in AXES[name]])


#: Products of a share per row and a share per column, as data for methods that count in cells.
PRODUCTS = {f"{name}, {size} records": _product(name, size) for name in AXES for size in SIZES}

#: Functions of a generator and a number of points; they return points without clusters.
KINDS: dict[str, Make] = {
    "no record": lambda rng, n: np.empty((0, 2)),
    "evenly spread": lambda rng, n: rng.random((n, 2)),
    "two at each place": lambda rng, n: np.repeat(rng.random((n // 2, 2)), 2, axis=0),
    "five at each place": lambda rng, n: np.repeat(rng.random((n // 5, 2)), 5, axis=0),
    "rounded to 0.1": lambda rng, n: rng.random((n, 2)).round(1),
    "rounded to 0.2": lambda rng, n: (rng.random((n, 2)) * 5).round() / 5,
    "x rounded to 0.25": lambda rng, n: np.column_stack(
        [(rng.random(n) * 4).round() / 4, rng.random(n)]
    ),
    "half outside, moved to the border": lambda rng, n: np.clip(
        rng.uniform(-0.5, 1.5, (n, 2)), 0, 1
    ),
    "slope": lambda rng, n: np.column_stack([np.sqrt(rng.random(n)), rng.random(n)]),
    "steep slope": lambda rng, n: np.column_stack(
        [np.minimum(rng.exponential(0.25, n), 1), rng.random(n)]
    ),
    **PRODUCTS,
    "half of the domain empty": lambda rng, n: rng.random((n, 2)) * [0.5, 1],
    "persons who walk": _walk,
    "four at each place on average": lambda rng, n: np.repeat(
        rng.random((n // 4, 2)), rng.geometric(0.25, n // 4), axis=0
    ),
}

#: Kinds of data to which sentences apply.
EVEN = ("no record", "evenly spread", "two at each place", "five at each place")
BY_ROWS = tuple(KINDS)[: tuple(KINDS).index("half of the domain empty")]

#: Methods that publish numbers of records, from which a cluster can be judged.
METHODS = tuple(
    name
    for name, card in CARDS.items()
    if name not in ("gupt", "privgene")
    and any(one.name == "sound" and one.private for one in card.variants)
)

#: Settings of the methods with cells, then of the methods with centres. Each is used in turn.
CELLS: tuple[dict[str, Any], ...] = (
    {"grid": 32, "epsilon": 1.0},
    {"grid": 64, "epsilon": 5.0},
    {"grid": 24, "epsilon": 0.5},
    {"grid": 32, "epsilon": 2.0, "level": 2},
)
CENTERS: tuple[dict[str, Any], ...] = (
    {"clusters": 6, "epsilon": 1.0},
    {"clusters": 4, "epsilon": 4.0},
)
RECORDS = 2_000


def kinds_of(method: str) -> tuple[str, ...]:
    """Kinds of data on which a method is measured."""
    is_of_cells = CARDS[method].family == "wavecluster"
    return tuple(kind for kind in KINDS if is_of_cells or kind not in PRODUCTS)


def claimed(method: str) -> tuple[str, ...]:
    """Kinds of data to which the sentence of a method applies."""
    if CARDS[method].family == "kmeans":
        return (*EVEN, "rounded to 0.1")
    return tuple(kind for kind in BY_ROWS if (method, kind) != ("baseline", "rounded to 0.2"))


def released(
    points: Points, seed: int, family: str = "wavecluster", cap: int = 1, **given: Any
) -> dict[str, Any]:
    """Document of a release whose noise comes from a seed."""
    return run_and_document(points, seed, family, cap, **given)[1]


def run_and_document(
    points: Points, seed: int, family: str = "wavecluster", cap: int = 1, **given: Any
) -> tuple[Any, dict[str, Any]]:
    """Run with noise from a seed, and the document of its release."""
    own = FAMILIES[family]
    config = own.config(neighbours=Neighbours(cap=cap), **given)
    data = Dataset(name="points", points=points)
    material = own.material(data, config, SQUARE, "clip", secure=True)
    run = seeded_run(own, material, config, seed)
    spends = [
        {"step": one.step, "epsilon": one.epsilon, "scale": one.scale}
        for one in run.ledger.spends
        if isinstance(one, Spend)
    ]
    return run, {
        "method": {"name": config.method, "family": family, "variant": "sound"},
        "parameters": jsonable(own.choices(run.config) | own.given_by_data(material)),
        "privacy": {
            "epsilon": config.epsilon,
            "neighbours": "add_remove",
            "cap": cap,
            "ledger": spends,
        },
        "domain": {"bounds": [[0.0, 1.0], [0.0, 1.0]], "outside": "clip"},
        "result": jsonable(own.released(run, SQUARE)),
    }


def passed(method: str, kind: str, runs: int, first: int = 0) -> int:
    """Number of releases with a cluster that looks real, for seeds from ``first`` on."""
    found, family = 0, CARDS[method].family
    settings = CELLS if family == "wavecluster" else CENTERS
    for seed in range(first, first + runs):
        points = KINDS[kind](np.random.default_rng(seed), RECORDS)
        given = settings[seed % len(settings)]
        document = released(points, 900 + seed, family, method=method, **given)
        result, judged = document["result"], doubt(document)
        total = result["clusters"] if result["kind"] == "cells" else len(result["centers"])
        found += judged is not None and len(judged["clusters"]) < total
    return found


def holds(found: int, runs: int) -> bool:
    """Whether this number of releases with a real-looking cluster agrees with the sentence."""
    return bool(stats.binomtest(found, runs, LEVEL, "greater").pvalue > REFUSED)


def limit(found: int, runs: int) -> float:
    """Upper limit of the true rate, with 99% confidence."""
    return float(stats.binomtest(found, runs, alternative="less").proportion_ci(0.99).high)


def again() -> None:
    """If the first releases do not decide whether a sentence is true, measure and store more."""
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text())
    for method, row in table.items():
        for kind, one in row.items():
            if one["claimed"] and limit(one["passed"], one["releases"]) > LEVEL:
                found = passed(method, kind, AGAIN, first=CLAIMED)
                one["again"] = {"passed": found, "releases": AGAIN, "limit": limit(found, AGAIN)}
                print(f"{method:20} {kind:45} {one['again']}", flush=True)
                TABLE.write_text(json.dumps(table, indent=1) + "\n")


def main(methods: list[str]) -> None:
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    for method in methods:
        row = {}
        for kind in kinds_of(method):
            about = kind in claimed(method)
            runs = CLAIMED if about else OTHERS
            found = passed(method, kind, runs)
            row[kind] = {"claimed": about, "passed": found, "releases": runs}
            refused = "" if holds(found, runs) or not about else "  REFUSED"
            print(f"{method:20} {kind:35} {found:3} of {runs}{refused}", flush=True)
        table = (json.loads(TABLE.read_text()) if TABLE.exists() else {}) | {method: row}
        TABLE.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["again"]:
        again()
    else:
        main(sys.argv[1:] or list(METHODS))

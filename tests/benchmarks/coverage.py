"""Count releases in which the statements on accuracy are true, on made-up data with known truth.

``python -m tests.benchmarks.coverage`` makes 1,000 releases of each method (hours), prints the
table, and writes ``coverage.json`` in the folder of this file. ``--releases N`` makes fewer; names
of methods as arguments select these methods. The noise comes from seeds; ``--first`` is the first
seed, so that a statement is measured on seeds that no constant was chosen on. The interval of a
share is the Clopper-Pearson interval with 99% confidence.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dpviz.families import CARDS
from dpviz.metrics.centers import match
from dpviz.release.doubt import SURE, accuracy, doubt
from dpviz.release.tables import cell_labels
from tests.benchmarks.nulls import TABLE as NULLS
from tests.benchmarks.nulls import Points, run_and_document

TABLE = Path(__file__).with_name("coverage.json")

#: Number of releases of a method.
RELEASES = 1_000

#: First seed. Constants of the statements were chosen on smaller seeds.
FIRST = 10**5

#: A statement is refused if so few true cases would be less probable than this number.
REFUSED = 0.001

#: Statements, in the order of the table. Bands of one kind must hold for all clusters at once.
COUNTS, LARGEST, PLACES = "number of records", "number of the largest", "place"
MISSED, NOISE = "size that is not missed", "not noise"
STATEMENTS = (COUNTS, LARGEST, PLACES, MISSED, NOISE)

#: Methods with a budget.
METHODS = tuple(name for name, card in CARDS.items() if card.spends)


@dataclass
class Seen:
    """Numbers of true cases, and of all cases, by statement."""

    true: Counter[str] = field(default_factory=Counter)
    all: Counter[str] = field(default_factory=Counter)

    def add(self, statement: str, *, holds: bool) -> None:
        self.true[statement] += int(holds)
        self.all[statement] += 1

    @property
    def row(self) -> dict[str, list[int]]:
        return {one: [self.true[one], self.all[one]] for one in STATEMENTS if self.all[one]}


def clustered(rng: np.random.Generator) -> Points:
    """Records of a few clusters of any size and width, on records between them."""
    number = round(np.exp(rng.uniform(np.log(500), np.log(20_000))))
    many = int(rng.integers(1, 7))
    shares = rng.dirichlet(np.full(many, rng.choice([0.7, 2.0, 20.0])))
    sizes = rng.multinomial(round(number * rng.uniform(0.4, 1.0)), shares)
    parts = [rng.random((number - sizes.sum(), 2))]
    for size in sizes:
        middle, width = rng.uniform(0.1, 0.9, 2), rng.uniform(0.01, 0.08, 2)
        kind = rng.integers(3)
        if kind == 0:
            part = rng.normal(middle, width, (size, 2))
        elif kind == 1:
            part = rng.uniform(middle - 1.5 * width, middle + 1.5 * width, (size, 2))
        else:  # heavy tails
            part = middle + width * rng.standard_t(3, (size, 2)) / 2
        parts.append(part)
    return np.clip(np.concatenate(parts), 0, 1)


def settings(method: str, rng: np.random.Generator) -> dict[str, Any]:
    """Public choices of a release."""
    given: dict[str, Any] = {"method": method, "epsilon": float(rng.choice([0.5, 1.0, 2.0, 4.0]))}
    if CARDS[method].family == "kmeans":
        return given | {"clusters": int(rng.integers(2, 8))}
    return given | {
        "grid": int(rng.choice([16, 24, 32, 48])),
        "density": float(rng.choice([0.5, 0.8, 0.9])),
    }


def measure(method: str, seed: int, seen: Seen) -> None:
    """Make the releases of one seed, and count which statements on them are true."""
    rng = np.random.default_rng([7, seed])
    given, points = settings(method, rng), clustered(rng)
    family = CARDS[method].family
    run, document = run_and_document(points, seed, family, **given)
    if family == "wavecluster":  # the bands of centres don't depend on this judgement
        judged = doubt(document)
        document |= {"doubtful": judged} if judged else {}
    known = accuracy(document)
    if known is not None:
        true, places = _truth(document, run, points)
        bands = np.array(known["counts"], dtype=float).reshape(-1, 2)
        holds = (bands[:, 0] <= true) & (true <= bands[:, 1])
        if len(bands):
            seen.add(COUNTS, holds=bool(holds.all()))
            # Noise decides which number is the largest, so this number is high by chance.
            noisy = np.array(document["result"]["counts"])
            if family == "wavecluster":
                noisy = np.bincount(cell_labels(document).ravel(), noisy.ravel())[1:]
            seen.add(LARGEST, holds=bool(holds[noisy.argmax()]))
        said = [one is not None and true[at] > 0 for at, one in enumerate(known["places"])]
        if any(said):
            near = [
                bool((np.abs(np.array(one["at"]) - places[at]) <= one["within"]).all())
                for at, one in enumerate(known["places"])
                if said[at]
            ]
            seen.add(PLACES, holds=all(near))
        if "missed" in known:
            found = _found(document, known["missed"], points, seed, given, rng)
            if found is not None:
                seen.add(MISSED, holds=found)


def _truth(
    document: dict[str, Any], run: Any, points: Points
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True number of records of each released cluster, and their mean place."""
    if document["result"]["kind"] == "cells":
        labels = cell_labels(document)
        side = np.array(labels.shape)
        cells = np.minimum((points * side).astype(int), side - 1)
        owner, number = labels[tuple(cells.T)] - 1, document["result"]["clusters"]
        points, owner = points[owner >= 0], owner[owner >= 0]
    else:
        # Centres before the last step, in the order of the released ones.
        before = run.iterations[-2].centers if len(run.iterations) > 1 else run.start
        if run.before is not None:
            before = before[match(run.centers, run.before)[1]]
        number = len(before)
        owner = ((points[:, None] - before) ** 2).sum(axis=2).argmin(axis=1)
    true = np.bincount(owner, minlength=number).astype(float)
    sums = np.stack([np.bincount(owner, axis, number) for axis in points.T], axis=1)
    return true, sums / np.maximum(true, 1)[:, None]


def _found(
    document: dict[str, Any],
    missed: dict[str, Any],
    points: Points,
    seed: int,
    given: dict[str, Any],
    rng: np.random.Generator,
) -> bool | None:
    """Whether a new release of the data shows one more cluster of the stated size in one block.

    None if no block is apart from the clusters, because the statement then says nothing.
    """
    block = np.array(missed["block"])
    labels = np.array(document["result"]["labels"])
    # Apart from the clusters, and not in a last block, which may have fewer cells.
    taken = np.array(
        [
            labels[max(x - 2, 0) : x + 3, max(y - 2, 0) : y + 3].any()
            for x, y in np.ndindex(labels.shape)
        ]
    ).reshape(labels.shape)
    taken[-1:], taken[:, -1:] = True, True
    free = np.argwhere(~taken)
    if not len(free):
        return None
    spot = free[rng.integers(len(free))]
    more = (spot + rng.random((missed["records"], 2))) * block
    again = run_and_document(
        np.concatenate([points, more]), seed + 2 * 10**6, "wavecluster", **given
    )[1]
    return bool(np.array(again["result"]["labels"])[tuple(spot)])


def interval(true: int, number: int) -> tuple[float, float]:
    """Clopper-Pearson interval of a share, with 99% confidence."""
    found = stats.binomtest(true, number).proportion_ci(0.99, "exact")
    return float(found.low), float(found.high)


def holds(true: int, number: int) -> bool:
    """Whether so many true cases agree with the stated share ``SURE``."""
    return bool(stats.binomtest(true, number, SURE, "less").pvalue > REFUSED)


def of_noise(method: str) -> dict[str, list[int]]:
    """Releases without clusters, of all kinds that the statement means, where it is true."""
    kinds = json.loads(NULLS.read_text()).get(method, {}).values()
    cells = [one for one in kinds if one["claimed"]]
    number = sum(one["releases"] for one in cells)
    return {NOISE: [number - sum(one["passed"] for one in cells), number]} if cells else {}


def lines(table: dict[str, dict[str, list[int]]]) -> list[str]:
    """The table in words; with "not noise" from the table of ``tests/benchmarks/nulls.py``."""
    found = [f"{'method':20} {'statement':26} {'holds':>7} {'n':>6}  99% interval"]
    for method, measured in table.items():
        row = measured | of_noise(method)
        for one in STATEMENTS:
            if one not in row:
                found.append(f"{method:20} {one:26} not said")
                continue
            true, number = row[one]
            low, high = interval(true, number)
            refused = "" if holds(true, number) else "  REFUSED"
            found.append(
                f"{method:20} {one:26} {true / number:7.1%} {number:6,}  "
                f"{low:.1%} to {high:.1%}{refused}"
            )
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("methods", nargs="*", default=[])
    options.add_argument("--releases", type=int, default=RELEASES)
    options.add_argument("--first", type=int, default=FIRST, help="first seed")
    options.add_argument("--keep", action="store_true", help="write coverage.json")
    given = options.parse_args()
    for method in given.methods or METHODS:
        seen = Seen()
        for done in range(1, given.releases + 1):
            measure(method, given.first + done - 1, seen)
            if given.keep and done % 50 == 0:
                table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
                TABLE.write_text(json.dumps(table | {method: seen.row}, indent=1) + "\n")
        print("\n".join(lines({method: seen.row})), flush=True)


if __name__ == "__main__":
    main()

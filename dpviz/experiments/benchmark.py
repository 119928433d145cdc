"""The benchmark: all methods and their peers at equal epsilon, on sets seen and not seen before.

``benchmark.json`` beside this file holds the figures; ``make bench-utility`` measures them again.
A set is *seen* where constants of a method may have been chosen on it. All runs
of a set have the same box, its range, and are scored against the same clustering without noise:
for k-means the best one that any search or any private run led to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpviz.base.tables import read_table_file
from dpviz.families import CARDS, score_of

#: File of the figures.
FILE = Path(__file__).with_name("benchmark.json")

#: Scores, the telling ones first. Rows of raw results have these columns.
SCORES = ("dsg_c", "nicv_ratio", "ocm", "two_ce", "f_measure")

#: Columns that tell one group of draws from another.
KEYS = ("data", "method", "variant", "epsilon")

#: What may be shown of the draws.
VALUES = ("median", "mean")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A method of the benchmark that is none of ours: who made it, and what it promises.

    Parameters
    ----------
    guarantee
        What it promises: the relation between neighbours, epsilon and delta, public numbers.
    note
        What to know about the claim; empty where nothing is known against it.
    reference
        Whether it is a line to compare with, not a method: it reads no data at all.
    """

    title: str
    family: str
    maker: str
    guarantee: str
    note: str = ""
    reference: bool = False


#: What stands beside our methods: peers, and results that read no data.
OTHERS: dict[str, Promise] = read_table_file(
    Path(__file__).with_name("peers.toml"), Mapping[str, Promise]
)


@dataclass(frozen=True, kw_only=True)
class SetFacts:
    """A set of the benchmark.

    Parameters
    ----------
    name, title, kind, credit
        Key; name for people; thin, sparse, dense, geographic, mixture, measured or sample; whose
        data it is.
    seen
        Whether constants of both families may have been chosen on it.
    records, columns
        Its shape.
    families
        Families that run on it.
    grid, density, clusters
        Public choices for all methods.
    missing
        Why it has no rows, where it has none.
    known
        Further families whose results on it were known when one of their methods was last changed:
        its constants may have been chosen on it, too.
    beaten
        For k-means: by what share a private run led to a better clustering than the search
        without noise found; 0 where none did.
    """

    name: str
    title: str
    kind: str
    seen: bool
    records: int
    columns: int
    families: tuple[str, ...]
    credit: str
    grid: int | None = None
    density: float | None = None
    clusters: int | None = None
    missing: str = ""
    known: tuple[str, ...] = ()
    beaten: float = 0.0

    def seen_by(self, family: str) -> bool:
        """Whether constants of a family may have been chosen on it."""
        return self.seen or family in self.known


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark:
    """All figures.

    Parameters
    ----------
    cells
        One row per score, data, method, variant and epsilon: draws, mean, median, and low and high,
        the 5% and 95% quantiles.
    made
        Seeds, versions and commits that it was made with.
    notes
        What was left out, one sentence each.
    """

    sets: dict[str, SetFacts]
    cells: pd.DataFrame
    made: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def chosen(
        self,
        family: str,
        *,
        group: str = "all",
        kind: str = "all",
        columns: tuple[int, int] = (1, 10_000),
    ) -> list[SetFacts]:
        """Sets of a family: "seen", "unseen" or "all"; of a kind; with so many columns."""
        low, high = columns
        return [
            one
            for one in self.sets.values()
            if family in one.families
            and group in ("all", "seen" if one.seen_by(family) else "unseen")
            and kind in ("all", one.kind)
            and low <= one.columns <= high
        ]

    def scores(self, family: str) -> tuple[str, ...]:
        """Scores with figures of a family."""
        own = self.cells["method"].map(lambda method: family_name(method) == family)
        found = set(self.cells["score"][own])
        return tuple(name for name in SCORES if name in found)

    def rows(self, family: str, score: str, names: Sequence[str]) -> pd.DataFrame:
        """Cells of a score on these sets; methods of other families have none."""
        cells = self.cells
        own = cells["method"].map(lambda method: family_name(method) == family)
        return cells[(cells["score"] == score) & cells["data"].isin(names) & own]


def title_of(method: str, variant: str = "sound") -> str:
    """Name of a method for people, ours or another."""
    if method in OTHERS:
        return OTHERS[method].title
    title = CARDS[method].title if method in CARDS else method
    return f"{title}, as published" if variant == "published" else title


def family_name(method: str) -> str:
    """Name of the family that a method is compared in; empty where it is unknown."""
    if method in OTHERS:
        return OTHERS[method].family
    return CARDS[method].family if method in CARDS else ""


def is_reference(method: str) -> bool:
    """Whether it is a line to compare with, and no method."""
    return method in OTHERS and OTHERS[method].reference


def promises(methods: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Who made which method and what it promises, of (method, variant) in their order."""
    found = []
    for method, variant in methods:
        if method in OTHERS:
            other = OTHERS[method]
            found.append((other.title, other.maker, other.guarantee, other.note))
        elif method in CARDS:
            card = CARDS[method]
            version = next(one for one in card.variants if one.name == variant)
            promise = (
                "pure ε, one record added or removed, declared box; proof on its card"
                if version.private
                else "none: the claim fails"
            )
            maker = "ours" if card.origin == "ours" else f"{card.paper}; built here"
            note = "" if version.private else version.reason
            found.append((title_of(method, variant), maker, promise, note))
    return pd.DataFrame(found, columns=["method", "made by", "guarantee", "note"])


def over_sets(cells: pd.DataFrame, value: str, *, geometric: bool) -> tuple[pd.DataFrame, int]:
    """Average over the sets that all methods have, and the number of these sets.

    ``cells`` are of one score; ``value`` is one of ``VALUES``. Ratios need the geometric mean.

    Returns
    -------
    DataFrame, int
        Method, variant, epsilon and ``value``. Methods with less than half of the sets are left
        out: their average would be over other sets.
    """
    keys = ["method", "variant", "epsilon"]
    sets = cells.groupby(keys)["data"].agg(set)
    most = [found for found in sets if 2 * len(found) >= cells["data"].nunique()]
    common = set.intersection(*most) if most else set()
    complete = {key for key, found in sets.items() if found >= common}
    own = np.array([key in complete for key in zip(*(cells[name] for name in keys), strict=True)])
    part = cells[own & cells["data"].isin(common).to_numpy()]
    middle = _geometric if geometric else np.mean
    table = part.groupby(keys, sort=False)[value].agg(lambda values: float(middle(values)))
    return table.reset_index(), len(common)


def wins(cells: pd.DataFrame, value: str, *, lower: bool) -> dict[tuple[str, str, float], int]:
    """On how many sets each method is the best at each epsilon, by (method, variant, epsilon).

    Lines that read no data take no part; methods that are equal share a win.
    """
    real = cells[[not is_reference(method) for method in cells["method"]]]
    by = real.groupby(["data", "epsilon"])[value]
    first = real[real[value] == by.transform("min" if lower else "max")]
    number = first.groupby(["method", "variant", "epsilon"]).size()
    every = real.groupby(["method", "variant", "epsilon"]).size()
    return {key: int(number.get(key, 0)) for key in every.index}


@dataclass(frozen=True, kw_only=True)
class Lead:
    """How often a method is the best.

    Parameters
    ----------
    best, cases
        In how many cases, a set and an epsilon each, it has the best median; number of cases.
    """

    score: str
    best: int
    cases: int
    sets: int


def lead(found: Benchmark, family: str, method: str) -> Lead | None:
    """How often a sound method is the best of a family on sets not seen; None without figures.

    Variants of ours that are not private, and lines that read no data, take no part.
    """
    names = [one.name for one in found.chosen(family, group="unseen")]
    for score in found.scores(family):
        cells = found.rows(family, score, names)
        keys = zip(cells["method"], cells["variant"], strict=True)
        cells = cells[[promises_privacy(*key) for key in keys]]
        own = (cells["method"] == method) & (cells["variant"] == "sound")
        if own.any():
            lower = score_of(score).better == "<="
            won = wins(cells, "median", lower=lower)
            best = sum(number for key, number in won.items() if key[:2] == (method, "sound"))
            sets = cells["data"][own].nunique()
            return Lead(score=score, best=best, cases=int(own.sum()), sets=sets)
    return None


def promises_privacy(method: str, variant: str) -> bool:
    """Whether a method promises privacy: peers do, of ours what has a proof."""
    if method in OTHERS:
        return not is_reference(method)
    return method in CARDS and CARDS[method].variant(variant).private


def _geometric(values: pd.Series) -> float:
    return float(np.exp(np.mean(np.log(np.asarray(values, dtype=float)))))


# -- the file ----------------------------------------------------------------------------

SERIES = ("score", "data", "method", "variant")
NUMBERS = ("epsilon", "draws", "mean", "median", "low", "high")


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """The file; a line of ``cells`` has ``SERIES``, and lists of ``NUMBERS``."""

    made: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    sets: tuple[SetFacts, ...]
    cells: tuple[Any, ...]


def read(path: Path = FILE) -> Benchmark:
    """Read the figures."""
    found: _Stored = read_table_file(path, _Stored)
    names = (*SERIES, *NUMBERS)
    rows = [
        (*(line[name] for name in SERIES), *numbers)
        for line in found.cells
        for numbers in zip(*(line[name] for name in NUMBERS), strict=True)
    ]
    cells = pd.DataFrame(rows, columns=names)[[*KEYS, "score", *NUMBERS[1:]]]
    values = ["mean", "median", "low", "high"]
    cells[values] = cells[values].astype(float).fillna(np.inf)
    return Benchmark(
        sets={one.name: one for one in found.sets},
        cells=cells,
        made=dict(found.made[0]),
        notes=found.notes,
    )


@cache
def benchmark() -> Benchmark:
    """The figures of this version, read once."""
    return read()

"""The benchmark: all methods and their peers at equal epsilon, on seen and unseen data sets.

``make bench-utility`` measures ``benchmark.json``. A set is *seen* if constants of a method may
have been chosen on it. The domain of all runs of a set is the range of the set. They are compared
with the same clustering without noise: for k-means, the best of all searches and private runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_beside, read_rows, read_table_file
from dpviz.families import CARDS, score_of

FILE = Path(__file__).with_name("benchmark.json")

#: Leads of the default methods, so that a first picture does not need all results.
LEADS = FILE.with_name("leads.json")

#: Scores, sorted from most to least informative. Rows of raw results have these columns.
SCORES = ("dsg_c", "nicv_ratio", "ocm", "two_ce", "f_measure")

#: Columns that identify a group of draws.
KEYS = ("data", "method", "variant", "epsilon")

#: Statistics of the draws that can be shown.
VALUES = ("median", "mean")


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A method from other authors, and its privacy promise (``guarantee``), with known problems.

    ``reference`` is true for a baseline, which is computed without reading any data.
    """

    title: str
    family: str
    maker: str
    guarantee: str
    note: str = ""
    reference: bool = False


#: Entries that are compared with our methods: peers, and baselines that read no data.
OTHERS: dict[str, Promise] = read_beside(__file__, Mapping[str, Promise], "peers")


@dataclass(frozen=True, kw_only=True)
class SetFacts:
    """A set of the benchmark.

    ``seen``: constants of both families may have been chosen on this set. ``known``: further
    families whose results on it were known when a method last changed. ``missing``: why the set has
    no rows. ``beaten``: for k-means, the share by which a private run reduced the search's error.
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
        """Whether constants of a family may have been chosen on this set."""
        return self.seen or family in self.known


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark:
    """All results: ``cells`` has a row per score, data, method, variant and epsilon.

    A row has draws, mean, median, low and high (5% and 95% quantiles). ``made``: seeds, versions
    and commits. ``notes``: one sentence for each omission.
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
        """Select sets by family, group ("seen", "unseen", "all"), kind and number of columns."""
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
        """Scores that were measured for methods of a family."""
        own = self.cells["method"].map(lambda method: family_name(method) == family)
        found = set(self.cells["score"][own])
        return tuple(name for name in SCORES if name in found)

    def rows(self, family: str, score: str, names: Sequence[str]) -> pd.DataFrame:
        """Rows of ``cells`` with this score, these sets, and methods of this family."""
        cells = self.cells
        own = cells["method"].map(lambda method: family_name(method) == family)
        return cells[(cells["score"] == score) & cells["data"].isin(names) & own]


def title_of(method: str, variant: str = "sound") -> str:
    """Readable name of a method, from this project or from other authors."""
    if method in OTHERS:
        return OTHERS[method].title
    title = CARDS[method].title if method in CARDS else method
    return f"{title}, as published" if variant == "published" else title


def family_name(method: str) -> str:
    """Name of the family in which a method is compared; empty if it is unknown."""
    if method in OTHERS:
        return OTHERS[method].family
    return CARDS[method].family if method in CARDS else ""


def is_reference(method: str) -> bool:
    """Whether this is only a baseline for comparison, not a method."""
    return method in OTHERS and OTHERS[method].reference


def promises(methods: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """For each pair (method, variant), in order: its maker, privacy promise and known problems."""
    found = []
    for method, variant in methods:
        if method in OTHERS:
            other = OTHERS[method]
            found.append((other.title, other.maker, other.guarantee, other.note))
        elif method in CARDS:
            card = CARDS[method]
            version = next(one for one in card.variants if one.name == variant)
            promise = (
                "pure ε, one record added or removed, if the box is declared; proof on its card"
                if version.private
                else "none: the claim fails"
            )
            maker = "ours" if card.origin == "ours" else f"{card.paper}; built here"
            note = "" if version.private else version.reason
            found.append((title_of(method, variant), maker, promise, note))
    return pd.DataFrame(found, columns=["method", "made by", "guarantee", "note"])


def over_sets(cells: pd.DataFrame, value: str, *, geometric: bool) -> tuple[pd.DataFrame, int]:
    """Average over the sets that most methods have in common, and the number of these sets.

    ``cells`` has one score; ``value`` is one of ``VALUES``; ratios need the geometric mean. A set
    is common if it has results of each method that ran on at least half of the sets. A method that
    lacks a common set is left out.
    """
    keys = ["method", "variant", "epsilon"]
    sets = cells.groupby(keys)["data"].agg(set)
    most = [found for found in sets if 2 * len(found) >= cells["data"].nunique()]
    common = set.intersection(*most) if most else set()
    complete = {key for key, found in sets.items() if found >= common}
    own = np.array([key in complete for key in zip(*(cells[name] for name in keys), strict=True)])
    part = cells[own & cells["data"].isin(common).to_numpy()]
    values = np.log(part[value]) if geometric else part[value]
    means = values.groupby([part[key] for key in keys], sort=False).mean()
    return (np.exp(means) if geometric else means).reset_index(), len(common)


def best_on(
    cells: pd.DataFrame, value: str, *, lower: bool
) -> dict[tuple[str, str, float], tuple[int, int]]:
    """For each key, count the sets where its method alone has the best ``value``, and all its sets.

    Baselines don't count. The results have no single draws, so no interval says whether a value is
    better than the next one. A method is not the best on a set if it has no rival, an equal rival,
    or no finite value there.
    """
    real = cells[[not is_reference(method) for method in cells["method"]]]
    by = real.groupby(["data", "epsilon"])[value]
    is_best = real[value] == by.transform("min" if lower else "max")
    alone = is_best.groupby([real["data"], real["epsilon"]]).transform("sum") == 1
    first = real[is_best & alone & np.isfinite(real[value]) & (by.transform("size") > 1)]
    number = first.groupby(["method", "variant", "epsilon"]).size()
    every = real.groupby(["method", "variant", "epsilon"]).size()
    return {key: (int(number.get(key, 0)), int(all_)) for key, all_ in every.items()}


def to_best(rows: pd.DataFrame) -> pd.DataFrame:
    """Divide the errors of k-means draws by the error of the best known clustering of their set.

    This is the best clustering of all searches and draws, so no ratio is below 1. Each row is one
    draw, with the columns data, nicv and nicv_ratio; rows of other families are not changed.
    """
    if "nicv" not in rows:
        return rows
    best = references(rows).groupby(rows["data"]).transform("min")
    return rows.assign(nicv_ratio=(rows["nicv"] / best).fillna(rows["nicv_ratio"]))


def references(rows: pd.DataFrame) -> pd.Series[Any]:
    """Error of the best clustering that was known when a draw was scored; NaN if its error is 0."""
    return (rows["nicv"] / rows["nicv_ratio"]).where(rows["nicv"] > 0)


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Number of ``cases`` (set and epsilon) in which a method's median is better than all others.

    A case has results of all rivals; ``left_out`` is the number of cases without such results.
    """

    method: str
    #: Number of won cases by score, for each score of the family.
    best: Mapping[str, int]
    cases: int
    left_out: int
    sets: int
    #: Smallest and largest number of draws of a median.
    draws: tuple[int, int]


def lead(found: Benchmark, family: str, method: str) -> Lead | None:
    """Count how often a sound method is the best private method of its family on unseen sets."""
    names = [one.name for one in found.chosen(family, group="unseen")]
    best, complete, left_out, draws = {}, pd.Index([]), 0, (0, 0)
    for score in found.scores(family):
        cells = found.rows(family, score, names)
        keys = zip(cells["method"], cells["variant"], strict=True)
        cells = cells[np.array([promises_privacy(*key) for key in keys], dtype=bool)]
        rivals = cells.set_index(["data", "epsilon", "method", "variant"])["median"].unstack([2, 3])
        if (method, "sound") in rivals:
            own = rivals.pop((method, "sound"))
            whole = own.notna() & rivals.notna().all(axis=1)
            left_out, complete = int((own.notna() & ~whole).sum()), own[whole].index
            sign = 1 if score_of(score).better == "<=" else -1
            best[score] = int((sign * own < (sign * rivals).min(axis=1))[whole].sum())
            used = cells["draws"][cells.set_index(["data", "epsilon"]).index.isin(complete)]
            draws = (min(draws[0] or used.min(), used.min()), max(draws[1], used.max()))
    if not best:
        return None
    sets = len(set(complete.get_level_values("data")))
    return Lead(method=method, best=best, cases=len(complete), left_out=left_out, sets=sets,
                draws=(int(draws[0]), int(draws[1])))  # fmt: skip


def promises_privacy(method: str, variant: str) -> bool:
    """Whether a method promises privacy, like all peers and our variants with a proof."""
    if method in OTHERS:
        return not is_reference(method)
    return method in CARDS and CARDS[method].variant(variant).private


def leads() -> Mapping[str, Lead]:
    """Return the lead of each default method by its name; a method without results has none."""
    return {one.method: one for one in read_rows(LEADS, Lead)}


# -- the file ----------------------------------------------------------------------------

SERIES = ("score", "data", "method", "variant")
NUMBERS = ("epsilon", "draws", "mean", "median", "low", "high")


@dataclass(frozen=True, kw_only=True)
class _Stored:
    made: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    sets: tuple[SetFacts, ...]
    cells: tuple[Any, ...]


def read(path: Path = FILE) -> Benchmark:
    """Read the results from a file."""
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
    """Return the results of this version; the file is read once."""
    return read()

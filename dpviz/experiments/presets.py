"""The figures of the papers as sweeps: settings of each figure, and what to look for in it.

If a paper's text does not list the values of epsilon, we chose values within its range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpviz.base.lazy import pandas as pd
from dpviz.base.tables import read_beside
from dpviz.data.samples import sample
from dpviz.experiments.paper_sets import PAPER_SETS, PaperSet
from dpviz.experiments.sweep import Plan, Subject, groups, subject_of_sample, summary
from dpviz.families import SCORES
from dpviz.family.card import VariantName
from dpviz.family.score import scores_for
from dpviz.privacy.ledger import Neighbours
from dpviz.wavecluster.parameters import Config
from dpviz.wavecluster.theorems import THEOREMS, k_bounds
from dpviz.wavecluster.truth import Truth


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure:
    """One figure of a paper, or a result in its text; "000-6" means figure 6 of paper 000.

    ``title`` is short, because menus cut it off; ``caption`` says what to look for.
    """

    name: str
    title: str
    paper: str
    caption: str

    @property
    def label(self) -> str:
        """Name in a menu of the side bar: it has the first author, number and title."""
        authors, number = self.paper.rsplit(", ", 1)
        number = number.replace("figure", "fig.").replace("section", "sec.")
        return f"{authors.split(',')[0]}, {number}: {self.title}"

    @property
    def full_name(self) -> str:
        """The whole name: all authors, year, number, title."""
        return f"{self.paper}: {self.title}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Settings of the draws of a figure: see :class:`dpviz.experiments.sweep.Plan`."""

    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    repeats: int
    variant: VariantName = "published"
    options: Mapping[str, Any] = field(default_factory=dict)
    axis: str = "epsilon"
    values: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Row(Figure):
    draws: str
    scores: Mapping[str, str]
    samples: tuple[str, ...]
    sets: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Preset(_Row, Draws):
    """A figure of a paper that is a sweep.

    Presets with the same ``draws`` and ``samples`` have common draws. ``scores``: labels of the
    axis. ``samples`` replace the paper's ``sets``, which are empty if the paper names no set.
    """

    @property
    def stands_for(self) -> dict[str, PaperSet]:
        """The paper's set that each sample set replaces; empty if the paper names no set."""
        if not self.sets:
            return {}
        return {name: PAPER_SETS[one] for name, one in zip(self.samples, self.sets, strict=True)}

    def stand_in_title(self, name: str) -> str:
        """Title of a sample set in this figure, with the set of the paper that it replaces."""
        title = sample(name).title
        if name not in self.samples:
            return title
        theirs = self.stands_for.get(name)
        return f"stand-in: {title} for {theirs.title if theirs else 'data without a name'}"


#: Note on a figure if the paper prints no number for it.
CURVES_ALONE = "The paper prints no number for this figure, only curves."

#: Note if the paper prints no average to compare the mean k' of a row with.
NONE_PRINTED = (
    "The paper prints averages of k' only for its own set DS2 (published variant, at epsilon 0.1 "
    "and 1), and no row here is for one of these cases."
)


@dataclass(frozen=True, kw_only=True)
class _File:
    draws: Mapping[str, Draws]
    presets: tuple[_Row, ...]


_FILE: _File = read_beside(__file__, _File)

#: Figures that are sweeps, by name.
PRESETS = {one.name: Preset(**vars(one), **vars(_FILE.draws[one.draws])) for one in _FILE.presets}

#: Averages of k' on DS2 that the text of Chen et al. prints (section 7.2), by epsilon and method.
PRINTED = {
    (0.1, "privthr"): 131.2,
    (0.1, "privthrem"): 82.8,
    (1.0, "baseline"): 284.0,
    (1.0, "privqt"): 249.2,
    (1.0, "privthr"): 141.0,
    (1.0, "privthrem"): 142.8,
}

#: DS2 in the paper: number of records, k, and number of average-subband cells that are <= 0.
_DS2 = (31_200, 144, 241)


def plans(
    presets: Sequence[Preset],
    subjects: Sequence[Subject] | None = None,
    *,
    repeats: int | None = None,
    seed: int = 0,
    variant: VariantName | None = None,
    neighbours: Neighbours | None = None,
) -> dict[str, Plan]:
    """Plan of each preset, by its name; presets that can share their draws share one plan.

    By default, ``subjects`` are the samples of each preset, and ``repeats`` is the paper's number.
    ``variant`` replaces the published variant; ``neighbours`` replaces one record added or removed.
    """
    groups: dict[tuple[object, ...], list[Preset]] = {}
    for one in dict.fromkeys(presets):
        groups.setdefault((one.draws, one.samples), []).append(one)
    found: dict[str, Plan] = {}
    for group in groups.values():
        first = group[0]
        shown = tuple(map(subject_of_sample, first.samples) if subjects is None else subjects)
        plan = Plan(
            subjects=shown,
            methods=first.methods,
            epsilons=first.epsilons,
            seeds=tuple(range(seed, seed + (first.repeats if repeats is None else repeats))),
            variant=variant or first.variant,
            neighbours=neighbours or Neighbours(),
            options=first.options,
            scores=scores_for(
                dict.fromkeys(score for one in group for score in one.scores),
                SCORES,
                classed=any(one.dataset.classes is not None for one in shown),
            ),
            axis=first.axis,
            values=first.values,
        )
        found |= dict.fromkeys((one.name for one in group), plan)
    return {one.name: found[one.name] for one in presets}


def figure_table(one: Preset, table: pd.DataFrame) -> pd.DataFrame:
    """Summarize the draws of a figure: one table with a block of rows for each of its scores."""
    parts = {score: summary(table, score, one.axis) for score in one.scores if score in table}
    return pd.concat(parts, names=["score", None]).reset_index(level="score").reset_index(drop=True)


def rank_table(
    table: pd.DataFrame, true: Mapping[str, Truth], axis: str = "epsilon"
) -> pd.DataFrame:
    """Compare k' with the true k, the theorems, and the averages that the paper prints.

    ``table``: rows of a sweep with the score ``k``; ``true``: true run of each data set. One row
    per data set, method, variant, epsilon and axis has draws, k (true), mean (of k'), the error
    ``|mean - k| / k``, and the columns of :func:`bounds_table`. On DS2, ``printed`` is the paper's
    mean, if the paper prints it.
    """
    by = groups(axis)
    found = summary(table, "k", axis)[[*by, "draws", "mean"]]
    ranks = {name: truth.stages.threshold.k for name, truth in true.items()}
    found.insert(len(by) + 1, "k", found["data"].map(ranks))
    found["error"] = (found["mean"] - found["k"]).abs() / found["k"]
    found = found.merge(bounds_table(table, true, axis), "left", by)
    theirs = {
        name
        for name, truth in true.items()
        if (truth.source.n, ranks[name], truth.stages.threshold.nonpositive) == _DS2
    }
    printed = [
        PRINTED.get((row.epsilon, row.method), math.nan)
        if row.data in theirs and row.variant == "published" and axis == "epsilon"
        else math.nan
        for row in found.itertuples()
    ]
    return found if all(map(math.isnan, printed)) else found.assign(printed=printed)


def bounds_table(
    table: pd.DataFrame, true: Mapping[str, Truth], axis: str = "epsilon"
) -> pd.DataFrame:
    """Compare the draws with the bounds of Theorems 4 to 6 on k'; parameters as in `rank_table`.

    Returns theorem low and theorem high (limited to possible values), inside (share of the draws
    between them) and promised (lowest share that the theorem allows).
    """
    by = groups(axis)
    known = table[table["method"].isin(list(THEOREMS))].dropna(subset="k")
    found = []
    for key, rows in known.groupby(by, sort=False):
        first = rows.iloc[0]
        bounds = k_bounds(true[first["data"]], _config(first))
        assert bounds is not None  # noqa: S101 - these methods have one
        share = bounds.inside(rows["k"].to_numpy(dtype=float))
        found.append((*key, *map(float, bounds.ends), share, bounds.promise))
    columns = [*by, "theorem low", "theorem high", "inside", "promised"]
    frame = pd.DataFrame(found, columns=columns)
    # Without rows, set the types of the keys, because tables are merged by these keys.
    return frame if found else frame.astype(known[by].dtypes.to_dict())


def _config(row: pd.Series[Any]) -> Config:
    return Config(
        method=row["method"],
        density=float(row["density"]),
        wavelet=row["wavelet"],
        level=int(row["level"]),
        epsilon=float(row["epsilon"]),
        alpha=None if pd.isna(row["alpha"]) else float(row["alpha"]),
        variant=row["variant"],
        neighbours=Neighbours(relation=row["neighbours"], cap=int(row["cap"])),
    )

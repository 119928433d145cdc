"""The figures of the papers as sweeps: what each one draws, and what to look for in it.

The papers print curves without a table. If only the picture shows the values of epsilon, the
values here are ours, within the range in the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dpviz.base.errors import InputError, shown
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

CHEN = "Chen, Yu, Chirkova 2015"
_LEE = "Lee, Kifer 2016"
_HU = "Hu, Yang, Bai 2019"
ZHANG = "Zhang, Liu, Wang 2018"


@dataclass(frozen=True, kw_only=True, eq=False)
class Figure:
    """One figure of a paper, or what its text says instead of one.

    Parameters
    ----------
    name
        Number of the paper in our collection and of its figure: ``"000-6"``.
    title
        What it shows, in few words: a menu cuts it off.
    paper
        Authors and year, and the figure's number, or the section.
    caption
        What the paper shows, and what to look for.
    """

    name: str
    title: str
    paper: str
    caption: str

    @property
    def label(self) -> str:
        """Name in a menu, short enough for the side bar: first author, number, title."""
        authors, number = self.paper.rsplit(", ", 1)
        number = number.replace("figure", "fig.").replace("section", "sec.")
        return f"{authors.split(',')[0]}, {number}: {self.title}"

    @property
    def full_name(self) -> str:
        """The whole name: all authors, year, number, title."""
        return f"{self.paper}: {self.title}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Preset(Figure):
    """A figure of a paper that is a sweep.

    Parameters
    ----------
    methods, epsilons, variant, options
        As in a plan; the variant is what the paper published.
    scores
        Score -> label of its axis; those against known classes where the data have any.
    repeats
        Draws of each point, as in the paper.
    samples
        Sample sets that stand for the paper's data.
    sets
        The paper's set that each of them stands for, by its name in
        :data:`dpviz.experiments.paper_sets.PAPER_SETS`; none where the paper names no data.
    axis, values
        As in a plan.
    """

    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    scores: Mapping[str, str]
    repeats: int
    samples: tuple[str, ...]
    sets: tuple[str, ...] = ()
    variant: VariantName = "published"
    options: Mapping[str, Any] = field(default_factory=dict)
    axis: str = "epsilon"
    values: tuple[float, ...] = ()

    @property
    def stands_for(self) -> dict[str, PaperSet]:
        """The paper's set that each sample set stands for, where the paper names one."""
        if not self.sets:
            return {}
        return {name: PAPER_SETS[one] for name, one in zip(self.samples, self.sets, strict=True)}

    def stand_in_title(self, name: str) -> str:
        """What to call a sample set in this figure: whose place it takes."""
        title = sample(name).title
        if name not in self.samples:
            return title
        theirs = self.stands_for.get(name)
        return f"stand-in: {title} for {theirs.title if theirs else 'data without a name'}"

    @property
    def draws(self) -> tuple[object, ...]:
        """Settings of its draws: presets with equal settings share their draws."""
        options = tuple(sorted(self.options.items()))
        axis = (self.axis, self.values)
        return (
            self.methods, self.epsilons, axis, self.repeats, self.samples, self.variant, options
        )  # fmt: skip


#: Note on a figure without a printed number.
CURVES_ALONE = "The paper prints no number for this figure: it draws curves."

#: Note if the paper prints no average for the comparison with a mean rank.
NONE_PRINTED = (
    "The paper prints averages of k' for its own set DS2 alone (published, at epsilon 0.1 and 1): "
    "none of this is it."
)


def _wavecluster(number: int, title: str, caption: str, scores: dict[str, str]) -> Preset:
    """One of the figures of Chen et al.: four techniques, the same draws in all of them."""
    return Preset(
        name=f"000-{number}",
        title=title,
        paper=f"{CHEN}, figure {number}",
        caption=caption,
        methods=("baseline", "privqt", "privthr", "privthrem"),
        epsilons=(0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0),
        scores=scores,
        repeats=10,
        samples=("gaussians", "spirals", "shapes"),
        sets=("ds1", "ds2", "ds3"),
        options={
            "wavelet": "haar",
            "level": 1,
            "synopsis": "adaptive_grid",
            "privthr.alpha": 0.9,
            "privthrem.alpha": 0.7,
        },
    )


def _hu(number: int, theirs: str, known: str, stand_in: str, found: str = "") -> Preset:
    """One of the figures of Hu et al.: three starts on one data set, and what comes out on it."""
    return Preset(
        name=f"003-{number}",
        title=f"{theirs}, better start",
        paper=f"{_HU}, figure {number}",
        caption=(
            f"On {theirs} ({known}) the paper shows DPk-means-up with the highest F-measure and "
            "the lowest NICV; the start, read off the data without noise, does most of the work. "
            "The paper's F is against known classes; data without a class column have only that "
            f"against the clusters without noise. {found}Two iterations, and these budgets, are "
            "ours: the paper goes on until the errors settle, and with halves ends in noise."
        ),
        methods=("dplloyd", "dpkmeanspp", "dpkmeansup"),
        epsilons=(0.1, 0.25, 0.5, 0.75, 1.0),
        scores={
            "class_f": "F-measure against known classes",
            "f_measure": "F-measure against no noise",
            "nicv": "NICV",
        },
        repeats=50,
        samples=(stand_in,),
        sets=(theirs.lower(),),
        # The paper iterates until errors converge; halving leaves almost no budget for late steps.
        options={
            "iterations": 2,
            "schedule": "halving",
            "geometry": "cube",
            "dplloyd.start": "records",
        },
    )


#: How both methods of Zhang et al. go on.
_ITERATIONS = {
    "iterations": 10,
    "start": "partition",
    "schedule": "halving",
    "geometry": "cube",
}

_ALL = (
    _wavecluster(
        5,
        "k' against k",
        "k' of PrivTHR and PrivTHREM comes close to the true k from epsilon 0.5 up, while "
        "Baseline and PrivQT take far too many cells for significant at any epsilon.",
        {"k": "k'"},
    ),
    _wavecluster(
        6,
        "DSG_C",
        "The paper finds PrivTHR and PrivTHREM below Baseline and PrivQT at all budgets; look at "
        "PrivQT, which gains little from more budget, and at PrivTHREM where epsilon is 0.1.",
        {"dsg_c": "DSG_C"},
    ),
    _wavecluster(
        7,
        "F-measure, and why not",
        "Drawn is F over the cells of the average subband, noise being a class: so the paper's "
        "curves come out, above 0.8 on its fifteen Gaussians for Baseline and PrivQT at almost all "
        "budgets although their clusters are wrong. It forgives clusters that are split or merged, "
        "and most cells are noise to both. F over points is lower: on that set 0.6 to 0.75 for "
        "Baseline, and for PrivQT 0.84 at epsilon 0.1 down to 0.68 at 2.",
        {"f_cells": "F-measure (cells)"},
    ),
    _wavecluster(
        8,
        "OCM and 2CE",
        "From epsilon 0.5 up PrivTHR and PrivTHREM disagree least with the true classifier, by "
        "both measures; on fifteen Gaussians 2CE is far smaller than OCM. Not for the reason in "
        "section 7.4: its C(k,2) + k(N - k) pairs are all that contain one of k moved samples, "
        "about twice OCM as a share; only those with the cluster left or joined disagree. "
        "Noise is a class here; the paper's classifiers know clusters alone, which lowers both.",
        {"ocm": "OCM", "two_ce": "2CE"},
    ),
    Preset(
        name="000-alpha",
        title="α on Gaussians",
        paper=f"{CHEN}, section 7.4",
        caption=(
            "DSG_C of PrivTHR over alpha, the share of the budget for the counts, from 1% to 99%. "
            "The paper finds 90% best on DS1, without a figure, and so does the mean here; around "
            "it the curve is flat. The median stays low up to 95%: there a few draws have a poor "
            "threshold, and they alone raise the mean."
        ),
        methods=("privthr",),
        epsilons=(0.5, 1.0),
        scores={"dsg_c": "DSG_C"},
        repeats=10,
        samples=("gaussians",),
        sets=("ds1",),
        options={"wavelet": "haar", "level": 1},
        axis="alpha",
        values=(0.01, *(round(0.05 * step, 2) for step in range(1, 20)), 0.99),
    ),
    Preset(
        name="002-1",
        title="MCMC after k-means",
        paper=f"{_LEE}, figure 1",
        caption=(
            "The same five noisy steps with and without MCMC, which spends no further budget: the "
            "gain is largest where epsilon is small. The paper plots mean WCSS; here medians are "
            "drawn, relative to k-means without noise, both on records drawn into the L1 ball as "
            "there. The CSV has means, too."
        ),
        methods=("dplloyd", "mcmc"),
        epsilons=(0.05, 0.1, 0.25, 0.5, 1.0),
        scores={"space_ratio": "WCSS over noise-free"},
        repeats=10,
        samples=("gaussians", "spirals", "shapes"),
        sets=("s1", "tiger", "gowalla"),
        options={
            "iterations": 5,
            "start": "sphere_packing",
            "schedule": "uniform",
            "geometry": "l1",
        },
    ),
    # No sample set is similar to one of theirs: each figure uses a different one of ours.
    _hu(1, "house8", "which we do not have", "spirals"),
    _hu(
        2,
        "unbalance",
        "public with its classes",
        "shapes",
        "On unbalance itself (K 8, 50 draws) DPk-means / ++ / up have F .81/.81/.81 at epsilon "
        "0.1, .92/.96/.97 at 0.5 and .89/.96/.98 at 1, and NICV .0202/.0176/.0184, "
        ".0078/.0052/.0051 and .0065/.0028/.0028. So the order of F comes out, at 0.1 within "
        "chance; in NICV up and ++ are alike; F of DPk-means falls from 0.5 on. With ten "
        "iterations F is .62/.62/.62 at 0.1 and .59/.63/.62 at 1. ",
    ),
    _hu(3, "ConfLongDemo", "which we do not have", "incomes"),
    _hu(
        4,
        "birch3",
        "public without classes",
        "gaussians",
        "On birch3 itself (K 100, 5 draws) DPk-means / ++ / up have F against no noise "
        ".56/.55/.57 at epsilon 0.1 and .73/.75/.78 at 1, and NICV .0038/.0042/.0037 and "
        ".0010/.0009/.0008: up leads from 0.75 on, below it all are alike. ",
    ),
    Preset(
        name="004-2",
        title="DP-Kmeans over ε",
        paper=f"{ZHANG}, figure 2",
        caption=(
            "DP-Kmeans alone. The paper reads off that budgets above 3 give high availability of "
            "the clusters and low budgets do not; look whether 3 is a bound on these data at all. "
            "Budgets and data are ours; the paper does not name its data here."
        ),
        methods=("dpkmeans_mapreduce",),
        epsilons=(0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0),
        scores={"zhang_f": "F-measure against no noise"},
        repeats=10,
        samples=("incomes", "gaussians"),
        options=_ITERATIONS,
    ),
    Preset(
        name="004-4",
        title="Blood, Gamma: contour",
        paper=f"{ZHANG}, figure 4",
        caption=(
            "The paper, on Blood and Gamma, finds clusters nearer to those without noise where "
            "epsilon is small and budgets follow the contour coefficients; as the formula can "
            "only take budget away, look whether the two curves differ at all. On Blood and Gamma "
            "take 2 clusters: with 8 the centres never rest, and the tenth iteration is noise."
        ),
        methods=("dpkmeans_mapreduce", "contour"),
        epsilons=(0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
        scores={"zhang_f": "F-measure against no noise"},
        repeats=10,
        # As few records as Blood has, and as many as Gamma.
        samples=("incomes", "gaussians"),
        sets=("blood", "gamma"),
        options=_ITERATIONS,
    ),
)

#: Figures that are sweeps, by name.
PRESETS = {one.name: one for one in _ALL}

#: Averages of k' that the text of Chen et al. prints (section 7.2), all of them on DS2, by
#: epsilon and method.
PRINTED = {
    (0.1, "privthr"): 131.2,
    (0.1, "privthrem"): 82.8,
    (1.0, "baseline"): 284.0,
    (1.0, "privqt"): 249.2,
    (1.0, "privthr"): 141.0,
    (1.0, "privthrem"): 142.8,
}

#: DS2 in the paper: records, k, and cells of the average subband that are not positive.
_DS2 = (31_200, 144, 241)


def preset(name: str) -> Preset:
    """Return the preset of a name, or raise InputError with the choices."""
    if name not in PRESETS:
        raise InputError(f'figure "{shown(name)}" is unknown: choose from {", ".join(PRESETS)}.')
    return PRESETS[name]


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

    Parameters
    ----------
    subjects
        Data sets for all of them; None takes the sample sets of each.
    repeats
        Draws of each point; None takes the paper's.
    variant, neighbours
        In place of the published variant, and of one record added or removed.
    """
    groups: dict[tuple[object, ...], list[Preset]] = {}
    for one in dict.fromkeys(presets):
        groups.setdefault(one.draws, []).append(one)
    found: dict[str, Plan] = {}
    for group in groups.values():
        first = group[0]
        samples = map(subject_of_sample, first.samples)
        shown = tuple(samples if subjects is None else subjects)
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
    """Sum up the draws behind a figure: its scores one below the other, each as a summary.

    Without known classes there are no scores against them.
    """
    parts = {score: summary(table, score, one.axis) for score in one.scores if score in table}
    return pd.concat(parts, names=["score", None]).reset_index(level="score").reset_index(drop=True)


def rank_table(
    table: pd.DataFrame, true: Mapping[str, Truth], axis: str = "epsilon"
) -> pd.DataFrame:
    """Compare k' with the true k, the theorems, and the averages that the paper prints.

    Parameters
    ----------
    table
        Rows of a sweep with the score ``k``.
    true
        True run of each data set.

    Returns
    -------
    DataFrame
        Per data set, method, variant, epsilon and value of the axis: draws, k (true), mean (of k'),
        error ``|mean - k| / k``, and the columns of :func:`bounds_table`; then printed, if a row
        has it: the paper's mean, on its DS2 and of the published variant alone, else NaN.
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
    """What Theorems 4 to 6 say about k', and what the draws do.

    Parameters as in :func:`rank_table`.

    Returns
    -------
    DataFrame
        Per data set, method with a theorem, variant, epsilon and value of the axis: theorem low,
        theorem high (bounds of k', within what is possible), inside (share of the draws between
        them) and promised (least share).
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
    # Without a row, the types of the keys would not fit those of other tables.
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

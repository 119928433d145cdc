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

from dpviz.errors import InputError
from dpviz.experiments.sweep import Plan, Subject, subject_of_sample, summary
from dpviz.family.card import VariantName
from dpviz.privacy.ledger import Neighbours
from dpviz.wavecluster.pipeline import Stages

_CHEN = "Chen, Yu, Chirkova 2015"
_LEE = "Lee, Kifer 2016"
_HU = "Hu, Yang, Bai 2019"
_ZHANG = "Zhang, Liu, Wang 2018"


@dataclass(frozen=True, kw_only=True, eq=False)
class Preset:
    """One figure of a paper.

    Parameters
    ----------
    name
        Number of the paper in our collection and of its figure: ``"000-6"``.
    title
        What it compares.
    paper
        Authors and year, and the figure's number.
    caption
        What the paper shows, and what to look for.
    methods, epsilons, variant, options
        As in a plan; the variant is what the paper published.
    scores
        Score -> label of its axis.
    repeats
        Draws of each point, as in the paper.
    samples
        Sample sets that stand for the paper's data.
    """

    name: str
    title: str
    paper: str
    caption: str
    methods: tuple[str, ...]
    epsilons: tuple[float, ...]
    scores: Mapping[str, str]
    repeats: int
    samples: tuple[str, ...]
    variant: VariantName = "published"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def draws(self) -> tuple[object, ...]:
        """Settings of its draws: presets with equal settings share their draws."""
        options = tuple(sorted(self.options.items()))
        return (self.methods, self.epsilons, self.repeats, self.samples, self.variant, options)


#: Note if the paper prints no average for the comparison with a mean rank.
NONE_PRINTED = "The paper prints averages for its own set DS2 alone: none of this data is it."


def _wavecluster(number: int, title: str, caption: str, scores: dict[str, str]) -> Preset:
    """One of the figures of Chen et al.: four techniques, the same draws in all of them."""
    return Preset(
        name=f"000-{number}",
        title=title,
        paper=f"{_CHEN}, figure {number}",
        caption=caption,
        methods=("baseline", "privqt", "privthr", "privthrem"),
        epsilons=(0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0),
        scores=scores,
        repeats=10,
        samples=("gaussians", "spirals", "shapes"),
        options={
            "wavelet": "haar",
            "level": 1,
            "synopsis": "adaptive_grid",
            "privthr.alpha": 0.9,
            "privthrem.alpha": 0.7,
        },
    )


def _hu(number: int, theirs: str, sample: str) -> Preset:
    """One of the figures of Hu et al.: three starts on one data set."""
    return Preset(
        name=f"003-{number}",
        title=f"A better start for k-means ({theirs})",
        paper=f"{_HU}, figure {number}",
        caption=(
            f"On {theirs} the paper shows DPk-means-up with the highest F-measure and the lowest "
            "NICV; the start, read off the data without noise, does most of the work. Without "
            "known classes F is against the clusters without noise. Two iterations, and these "
            "budgets, are ours: the paper goes on until the centres rest."
        ),
        methods=("dplloyd", "dpkmeanspp", "dpkmeansup"),
        epsilons=(0.1, 0.25, 0.5, 0.75, 1.0),
        scores={"f_measure": "F-measure", "nicv": "NICV"},
        repeats=50,
        samples=(sample,),
        # The paper iterates until errors converge; halving leaves almost no budget for late steps.
        options={
            "iterations": 2,
            "schedule": "halving",
            "geometry": "cube",
            "dplloyd.start": "records",
        },
    )


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
        "Distance between true and private clusters (DSG_C)",
        "The paper finds PrivTHR and PrivTHREM below Baseline and PrivQT at all budgets; look at "
        "PrivQT, which gains little from more budget, and at PrivTHREM where epsilon is 0.1.",
        {"dsg_c": "DSG_C"},
    ),
    _wavecluster(
        7,
        "Why not the F-measure",
        "Drawn is F over the cells of the average subband, noise being a class: so the paper's "
        "curves come out, above 0.8 on its fifteen Gaussians for Baseline and PrivQT at almost all "
        "budgets although their clusters are wrong. It forgives clusters that are split or merged, "
        "and most cells are noise to both. F over points is lower: on that set 0.6 to 0.75 for "
        "Baseline, and for PrivQT 0.84 at epsilon 0.1 down to 0.68 at 2.",
        {"f_cells": "F-measure (cells)"},
    ),
    _wavecluster(
        8,
        "Classifiers trained on true and private clusters (OCM, 2CE)",
        "From epsilon 0.5 up PrivTHR and PrivTHREM disagree least with the true classifier, by "
        "both measures; on fifteen Gaussians 2CE is far smaller than OCM.",
        {"ocm": "OCM", "two_ce": "2CE"},
    ),
    Preset(
        name="002-1",
        title="k-means improved after the fact",
        paper=f"{_LEE}, figure 1",
        caption=(
            "The same five noisy steps with and without MCMC, which spends no further budget: the "
            "gain is largest where epsilon is small. The paper plots WCSS itself; here it is "
            "relative to k-means without noise."
        ),
        methods=("dplloyd", "mcmc"),
        epsilons=(0.05, 0.1, 0.25, 0.5, 1.0),
        scores={"wcss_ratio": "WCSS over noise-free"},
        repeats=10,
        samples=("gaussians", "spirals", "shapes"),
        options={
            "iterations": 5,
            "start": "sphere_packing",
            "schedule": "uniform",
            "geometry": "l1",
        },
    ),
    # No sample set is similar to one of theirs: each figure uses a different one of ours.
    _hu(1, "house8", "spirals"),
    _hu(2, "unbalance", "shapes"),
    _hu(3, "ConfLongDemo", "incomes"),
    _hu(4, "birch3", "gaussians"),
    Preset(
        name="004-4",
        title="Budgets by contour coefficient",
        paper=f"{_ZHANG}, figure 4",
        caption=(
            "The paper, on Blood and Gamma, finds clusters nearer to those without noise where "
            "epsilon is small and budgets follow the contour coefficients; as the formula can "
            "only take budget away, look whether the two curves differ at all."
        ),
        methods=("dpkmeans_mapreduce", "contour"),
        epsilons=(0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
        scores={"zhang_f": "F-measure against no noise"},
        repeats=10,
        # As few records as Blood has, and as many as Gamma.
        samples=("incomes", "gaussians"),
        options={
            "iterations": 3,
            "start": "partition",
            "schedule": "halving",
            "geometry": "cube",
        },
    ),
)

#: All presets by name.
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
        raise InputError(f'figure "{name}" is unknown: choose from {", ".join(PRESETS)}.')
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
    presets
        Figures to draw.
    subjects
        Data sets for all of them; None takes the sample sets of each.
    repeats
        Draws of each point; None takes the paper's.
    seed
        First seed.
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
        plan = Plan(
            subjects=tuple(samples if subjects is None else subjects),
            methods=first.methods,
            epsilons=first.epsilons,
            seeds=tuple(range(seed, seed + (first.repeats if repeats is None else repeats))),
            variant=variant or first.variant,
            neighbours=neighbours or Neighbours(),
            options=first.options,
            scores=tuple(dict.fromkeys(score for one in group for score in one.scores)),
        )
        found |= dict.fromkeys((one.name for one in group), plan)
    return {one.name: found[one.name] for one in presets}


def figure_table(one: Preset, table: pd.DataFrame) -> pd.DataFrame:
    """Sum up the draws behind a figure: its scores one below the other, each as a summary."""
    parts = {score: summary(table, score) for score in one.scores}
    return pd.concat(parts, names=["score", None]).reset_index(level="score").reset_index(drop=True)


def rank_table(table: pd.DataFrame, true: Mapping[str, tuple[int, Stages]]) -> pd.DataFrame:
    """Compare k' with the true k and with the averages that the paper prints.

    Parameters
    ----------
    table
        Rows of a sweep with the score ``k``.
    true
        Records and true run of each data set.

    Returns
    -------
    DataFrame
        Per data set, method, variant and epsilon: draws, k (true), mean (of k'), error
        ``|mean - k| / k``, and printed: the paper's mean, on its DS2 and of the published variant
        alone, else NaN.
    """
    found = summary(table, "k")[["data", "method", "variant", "epsilon", "draws", "mean"]]
    ranks = {name: stages.threshold.k for name, (_, stages) in true.items()}
    found.insert(5, "k", found["data"].map(ranks))
    found["error"] = (found["mean"] - found["k"]).abs() / found["k"]
    theirs = {
        name
        for name, (n, stages) in true.items()
        if (n, stages.threshold.k, stages.threshold.nonpositive) == _DS2
    }
    found["printed"] = [
        PRINTED.get((row.epsilon, row.method), math.nan)
        if row.data in theirs and row.variant == "published"
        else math.nan
        for row in found.itertuples()
    ]
    return found

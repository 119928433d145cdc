"""Scores that compare a WaveCluster draw with the true run."""

from __future__ import annotations

import math

from dpviz.family.score import (
    CLASS_SCORES,
    INFORMATION,
    OVERLAP,
    PAIRS_AGREE,
    Score,
    clusters_broken,
    higher_is_better,
    lower_is_better,
    table_likeness,
    words_of,
)
from dpviz.metrics import matching
from dpviz.wavecluster.fates import fates


def relative_error(found: int, true: int) -> float:
    """Return the difference of a rank from the true rank, divided by the true rank."""
    if not true:
        return math.inf if found else 0.0
    return abs(found - true) / true


#: Plain name, help and source of the formula of each score.
_WORDS = words_of(__file__)

_ALL = (
    Score(
        name="clusters",
        title="Clusters",
        compute=lambda one: one.stages.n_clusters,
        **_WORDS["clusters"],
    ),
    Score(
        name="significant",
        title="Significant cells",
        compute=lambda one: one.stages.significant.sum(),
        **_WORDS["significant"],
    ),
    lower_is_better(
        "dsg_c",
        "DSG_C",
        lambda one: matching.dsg_c(one.truth.stages.labels, one.stages.labels),
        target=0.2,
        **_WORDS["dsg_c"],
    ),
    table_likeness("f_measure", "F-measure", matching.f_measure, target=0.9, **OVERLAP),
    clusters_broken(
        lambda one: fates(one.truth.stages.labels, one.stages.labels).broken,
        "True clusters that are lost, merged, split, shrunk or grown.",
    ),
    higher_is_better(
        "f_cells",
        "F-measure (cells)",
        lambda one: matching.f_measure(
            matching.contingency(one.truth.stages.labels, one.stages.labels)
        ),
        target=0.9,
        **_WORDS["f_cells"],
    ),
    Score(
        name="noise_points",
        title="Noise points",
        compute=lambda one: one.truth.noise_points(one.stages),
        **_WORDS["noise_points"],
    ),
    lower_is_better(
        "ocm", "OCM", lambda one: one.agreement[0], target=0.05, redraws=True, **_WORDS["ocm"]
    ),
    lower_is_better(
        "two_ce", "2CE", lambda one: one.agreement[1], target=0.05, redraws=True, **_WORDS["two_ce"]
    ),
    lower_is_better(
        "ocm_alone",
        "OCM, clusters alone",
        lambda one: one.agreement_alone[0],
        target=0.05,
        redraws=True,
        **_WORDS["ocm_alone"],
    ),
    lower_is_better(
        "two_ce_alone",
        "2CE, clusters alone",
        lambda one: one.agreement_alone[1],
        target=0.05,
        redraws=True,
        **_WORDS["two_ce_alone"],
    ),
    table_likeness("ari", "ARI", matching.adjusted_rand, target=0.8, **PAIRS_AGREE),
    table_likeness("ami", "AMI", matching.adjusted_mutual_information, target=0.8, **INFORMATION),
    # PrivTHREM's rank depends on the true data, so this score is for exploration only.
    Score(name="k", title="k′", compute=lambda one: one.drawn.k, **_WORDS["k"]),
    lower_is_better(
        "k_error",
        "k′ error",
        lambda one: relative_error(one.drawn.k, one.truth.stages.threshold.k or 0),
        target=0.1,
        **_WORDS["k_error"],
    ),
    *CLASS_SCORES,
)

#: Names of the score k', the rank of the threshold, and of its relative error.
RANK, RANK_ERROR = "k", "k_error"

#: All scores by name.
SCORES = {score.name: score for score in _ALL}

#: A share for the screen; the score of the paper, DSG_C, can be larger than 1.
CELLS_WRONG = lower_is_better(
    "cells_wrong",
    "",
    lambda one: matching.cells_wrong(one.truth.stages.labels, one.stages.labels),
    target=0.2,
    **_WORDS["cells_wrong"],
)

#: Scores that take at most the time of a draw.
QUICK = ("clusters", "significant", "dsg_c", "f_measure", "f_cells", "noise_points")

#: Scores in the order of the menus, most informative first.
TELLING = (
    "dsg_c", "f_measure", "class_f", "clusters", "significant", RANK, RANK_ERROR, "noise_points",
    "f_cells",
)  # fmt: skip

#: Scores that need only the two label grids.
OF_LABELS = ("dsg_c", "f_measure", "f_cells", "ari", "ami")

#: Scores with held-out records need one more draw for each of ten parts; reports have these two.
HELD_OUT = ("ocm", "two_ce")

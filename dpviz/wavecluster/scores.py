"""Scores that compare a WaveCluster draw with the true run; see ``scores.toml``."""

from __future__ import annotations

import math

from dpviz.family.score import scores_of
from dpviz.metrics import matching
from dpviz.wavecluster.fates import fates


def relative_error(found: int, true: int) -> float:
    """Return the difference of a rank from the true rank, divided by the true rank."""
    if not true:
        return math.inf if found else 0.0
    return abs(found - true) / true


#: All scores by name.
SCORES = scores_of(
    __file__,
    clusters=lambda one: one.stages.n_clusters,
    significant=lambda one: one.stages.significant.sum(),
    dsg_c=lambda one: matching.dsg_c(one.truth.stages.labels, one.stages.labels),
    broken=lambda one: fates(one.truth.stages.labels, one.stages.labels).broken,
    f_cells=lambda one: matching.f_measure(
        matching.contingency(one.truth.stages.labels, one.stages.labels)
    ),
    noise_points=lambda one: one.truth.noise_points(one.stages),
    ocm=lambda one: one.agreement[0],
    two_ce=lambda one: one.agreement[1],
    ocm_alone=lambda one: one.agreement_alone[0],
    two_ce_alone=lambda one: one.agreement_alone[1],
    # PrivTHREM's rank depends on the true data, so this score is for exploration only.
    k=lambda one: one.drawn.k,
    k_error=lambda one: relative_error(one.drawn.k, one.truth.stages.threshold.k or 0),
    cells_wrong=lambda one: matching.cells_wrong(one.truth.stages.labels, one.stages.labels),
)

#: Score of the screen only.
CELLS_WRONG = SCORES.pop("cells_wrong")

#: Names of the score k', the rank of the threshold, and of its relative error.
RANK, RANK_ERROR = "k", "k_error"

#: Scores that take at most the time of a draw.
QUICK = ("clusters", "significant", "dsg_c", "f_measure", "f_cells", "noise_points")

#: Scores in the order of the menus, most informative first.
TELLING = (
    "dsg_c", "f_measure", "class_f", "clusters", "significant", RANK, RANK_ERROR, "noise_points",
    "f_cells",
)  # fmt: skip

#: Scores that need only the two label grids.
OF_LABELS = ("dsg_c", "f_measure", "f_cells", "ari", "ami")

#: Scores with held-out records need one more draw for each of ten parts; reports have both scores.
HELD_OUT = ("ocm", "two_ce")

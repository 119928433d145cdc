"""Scores that compare a private k-means run with the true run; see ``scores.toml``."""

from __future__ import annotations

import math

from dpviz.family.score import OF_CLASSES, scores_of
from dpviz.privacy.noise_source import SeededNoise

#: All scores by name.
SCORES = scores_of(
    __file__,
    wcss=lambda one: one.truth.wcss(one.centers),
    nicv=lambda one: one.truth.nicv(one.centers),
    # The ratio is relative to the least WCSS, from k-means in the units of the data.
    wcss_ratio=lambda one: one.truth.ratio_to(one.truth.in_units.beyond(one.centers), one.centers),
    nicv_ratio=lambda one: one.truth.ratio_to(one.truth, one.centers),
    # The geometries box and cube do not move records, so this score is then the NICV ratio.
    space_ratio=lambda one: one.space_ratio,
    broken=lambda one: one.broken,
    displacement=lambda one: one.displacement,
    contour=lambda one: one.silhouette,
    # Methods without iterations update no places, so a perfect 0 would be wrong.
    kept_centers=lambda one: one.run.kept_centers if one.run.iterations else math.nan,
    zhang_f=lambda one: one.truth.against_silenced(one.run, SeededNoise(one.seed)),
)

#: Scores that take no longer than a run itself.
QUICK = ("nicv_ratio", "wcss_ratio", "f_measure", "displacement", "kept_centers")

#: Scores in the order of the menu, the most informative first.
TELLING = (*QUICK, "class_f", "ari", "ami")

#: Scores that depend only on the centres of the private run.
OF_CENTERS = tuple(name for name in SCORES if name not in ("kept_centers", "zhang_f", *OF_CLASSES))

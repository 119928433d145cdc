"""Scores that compare a private k-means run with the true run; each score is one object."""

from __future__ import annotations

from dpviz.family.score import (
    CLASS_SCORES,
    INFORMATION,
    OF_CLASSES,
    OVERLAP,
    PAIRS_AGREE,
    Score,
    clusters_broken,
    higher_is_better,
    lower_is_better,
    ratio_to_true,
    table_likeness,
    words_of,
)
from dpviz.metrics import matching
from dpviz.privacy.noise_source import SeededNoise

#: Plain name, help and source of the formula of each score.
_WORDS = words_of(__file__)

_ALL = (
    Score(
        name="wcss",
        title="WCSS",
        compute=lambda one: one.truth.wcss(one.centers),
        log=True,
        **_WORDS["wcss"],
    ),
    Score(
        name="nicv",
        title="NICV",
        compute=lambda one: one.truth.nicv(one.centers),
        log=True,
        **_WORDS["nicv"],
    ),
    # The ratio is relative to the least WCSS, from k-means in the units of the data.
    ratio_to_true(
        "wcss_ratio",
        "WCSS / least",
        lambda one: one.truth.ratio_to(one.truth.in_units.beyond(one.centers), one.centers),
        target=2.0,
        **_WORDS["wcss_ratio"],
    ),
    ratio_to_true(
        "nicv_ratio",
        "NICV / true",
        lambda one: one.truth.ratio_to(one.truth, one.centers),
        target=2.0,
        **_WORDS["nicv_ratio"],
    ),
    # The geometries box and cube do not move records, so this score is then the NICV ratio.
    ratio_to_true(
        "space_ratio",
        "WCSS / true in the method's space",
        lambda one: one.space_ratio,
        target=2.0,
        **_WORDS["space_ratio"],
    ),
    table_likeness("f_measure", "F-measure", matching.f_measure, target=0.9, **OVERLAP),
    clusters_broken(
        lambda one: one.broken,
        "True clusters without a centre of their own: no private centre, several, or one far off.",
    ),
    lower_is_better(
        "displacement",
        "Displacement",
        lambda one: one.displacement,
        target=0.05,
        **_WORDS["displacement"],
    ),
    Score(
        name="contour",
        title="Simplified silhouette",
        compute=lambda one: one.silhouette,
        **_WORDS["contour"],
    ),
    table_likeness("ari", "ARI", matching.adjusted_rand, target=0.8, **PAIRS_AGREE),
    table_likeness("ami", "AMI", matching.adjusted_mutual_information, target=0.8, **INFORMATION),
    Score(
        name="kept_centers",
        title="Kept places",
        compute=lambda one: one.run.kept_centers,
        **_WORDS["kept_centers"],
    ),
    higher_is_better(
        "zhang_f",
        "F against noise-free",
        lambda one: one.truth.against_silenced(one.run, SeededNoise(one.seed)),
        target=0.9,
        **_WORDS["zhang_f"],
    ),
    *CLASS_SCORES,
)

SCORES = {score.name: score for score in _ALL}

#: Scores that take no longer than a run itself.
QUICK = ("nicv_ratio", "wcss_ratio", "f_measure", "displacement", "kept_centers")

#: Scores in the order of the menu, the most informative first.
TELLING = (*QUICK, "class_f", "ari", "ami")

#: Scores that depend only on the centres of the private run.
OF_CENTERS = tuple(name for name in SCORES if name not in ("kept_centers", "zhang_f", *OF_CLASSES))

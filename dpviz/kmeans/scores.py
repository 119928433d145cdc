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
)
from dpviz.metrics import matching
from dpviz.privacy.noise_source import SeededNoise

_ALL = (
    Score(
        name="wcss",
        title="WCSS",
        compute=lambda one: one.truth.wcss(one.centers),
        log=True,
        plain="Squared error",
        help="Within-cluster sum of squares: the sum of squared distances to the nearest centres, "
        "in the units of the data. All methods compute on the scaled domain, so private centres "
        "can have a smaller error than the true centres.",
        source="MacQueen 1967",
    ),
    Score(
        name="nicv",
        title="NICV",
        compute=lambda one: one.truth.nicv(one.centers),
        log=True,
        plain="Mean error",
        help="Mean squared distance to the nearest centre, on data scaled to the unit cube. All "
        "methods try to make this distance small.",
        source="Su, Cao, Li, Bertino, Jin 2016",
    ),
    # The ratio is relative to the least WCSS, from k-means in the units of the data.
    ratio_to_true(
        "wcss_ratio",
        "WCSS / least",
        lambda one: one.truth.ratio_to(one.truth.in_units.beyond(one.centers), one.centers),
        target=2.0,
        plain="Error in units",
        help="Squared error divided by the least error that k-means finds, both in the units of "
        "the data.",
    ),
    ratio_to_true(
        "nicv_ratio",
        "NICV / true",
        lambda one: one.truth.ratio_to(one.truth, one.centers),
        target=2.0,
        plain="Times the error",
        help="Error of the private centres divided by the error of the best k-means: mean "
        "squared distance to the nearest centre, on data scaled to the unit cube.",
        source="NICV of Su, Cao, Li, Bertino, Jin 2016",
    ),
    # The geometries box and cube do not move records, so this score is then the NICV ratio.
    ratio_to_true(
        "space_ratio",
        "WCSS / true in the method's space",
        lambda one: one.space_ratio,
        target=2.0,
        plain="Times the error",
        help="Error of the private centres divided by the error of the best k-means: mean "
        "squared distance to the nearest centre, in the L1 ball if the method uses this ball.",
        source="Lee, Kifer 2016, section 4",
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
        plain="Centres moved",
        help="Mean distance between matched true and private centres, each axis scaled to 100%.",
        source="one-to-one matching by Kuhn 1955",
    ),
    Score(
        name="contour",
        title="Simplified silhouette",
        compute=lambda one: one.silhouette,
        plain="Separation",
        help="How much closer records are to their own centre than to the next centre: 1 means "
        "much closer, 0 means equally close.",
        source="Hruschka, de Castro, Campello 2004",
    ),
    table_likeness("ari", "ARI", matching.adjusted_rand, target=0.8, **PAIRS_AGREE),
    table_likeness("ami", "AMI", matching.adjusted_mutual_information, target=0.8, **INFORMATION),
    Score(
        name="kept_centers",
        title="Kept places",
        compute=lambda one: one.run.kept_centers,
        help="How often a centre did not move, because its noisy count was not positive or its "
        "new place was outside the domain.",
    ),
    higher_is_better(
        "zhang_f",
        "F against noise-free",
        lambda one: one.truth.against_silenced(one.run, SeededNoise(one.seed)),
        target=0.9,
        plain="Overlap without noise",
        help="Overlap with the clusters of the same method without noise, matched one to one.",
        source="Zhang, Liu, Wang 2018",
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

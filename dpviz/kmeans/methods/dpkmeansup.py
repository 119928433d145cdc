"""DPk-means-up: a k-means++ start, improved until moving a centre no longer helps."""

from __future__ import annotations

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.methods.dpkmeanspp import (
    HALVING,
    LATE_ITERATIONS,
    LEAKING_START,
    SETTLING,
    SOUND_START,
    as_printed,
)
from dpviz.kmeans.methods.dplloyd import KEEPING
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.kmeans.start import BETTER, OFFSET, RETRIES, STEPS, TOLERANCE
from dpviz.privacy.mechanisms import Accountant

CARD = Card(
    name="dpkmeansup",
    family="kmeans",
    title="DPk-means-up",
    estimator="DPKMeansUp",
    summary=(
        "Starts from a full k-means clustering, in which the least useful centre moves next to "
        "that of the worst cluster as long as this helps; then noisy Lloyd iterations with halving "
        "budgets."
    ),
    paper="Hu, Yang, Bai 2019; start after Fritzke 2017",
    algorithm="Algorithm 3",
    origin="003",
    variants=(
        Variant(name="sound", private=True, reason=SOUND_START),
        Variant(name="published", private=False, reason=LEAKING_START),
    ),
    parameters=takes("dpkmeansup"),
    deviations=(
        KEEPING,
        HALVING,
        SETTLING,
        LATE_ITERATIONS,
        "The start is k-means-u* (Fritzke 2017, arXiv 1706.09059). Line 9 prints argmin, but the "
        "text asks for the largest error; line 25 would overwrite the best centres with the last "
        "ones. Both are built as the text says, and each retry continues from the best centres. "
        "The result of k-means++ in line 1 is interpreted as seeds with k-means run from them.",
        f"The offset of {OFFSET:g} is printed, the number of retries ({RETRIES}) is not. The end "
        f"of k-means is not printed, either: after {STEPS} steps, or if its centres move by less "
        f"than {TOLERANCE:g} of the variance. An error that is smaller by a share of less than "
        f"{BETTER:g} counts as equal. If the least useful centre is that of the cluster with the "
        "largest error, no centre can move next to it, and the start ends; the paper does not "
        "mention this case.",
        "Lines 41-43 print no clipping; the published centres are clipped as in Algorithm 1. "
        "Clipping only the last centres changes little: unbalance, T 2, mean F-measure over 50 "
        "draws at epsilon 0.1, 0.5, 1: .81/.97/.98 clipped, .81/.97/.98 not clipped.",
        "The published start alone already has the result: it is a k-means clustering of the raw "
        "records (F-measure 1.00 on unbalance), and the noisy iterations only move away from it.",
    ),
    errata=(
        "Section 4.1, step 2, calls both centres mu, and steps 2 and 4 disagree with the listing "
        "about the start of a try. Lines 31-33 loop twice over the records and read a centre by an "
        "index that is never set: interpreted as all records and all centres. Line 30 iterates "
        "while the errors settle: interpreted as until.",
        "Section 4.3 proves that one release of noisy numbers is private. The proof does not cover "
        "the T releases, nor the start and the stop, which both read the raw records.",
        "Section 5.2 computes F against the classes; section 5.3 interprets it as similarity of "
        "the clusters with and without noise. Equations 13 and 14 print one maximum over all "
        "classes and clusters; built: n_ij / n_j and n_ij / n_i.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run an improved start and noisy Lloyd iterations (Hu et al., Algorithm 3)."""
    return lloyd(records, config, accountant, settled=as_printed(records, config))

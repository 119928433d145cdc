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
        "Starts from a full k-means clustering, in which the least useful centre moves next to the "
        "centre of the worst cluster as long as this helps. Then there are noisy Lloyd iterations "
        "with halving budgets."
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
        "The start is k-means-u* (Fritzke 2017, arXiv 1706.09059). Line 9 has argmin, but the text "
        "asks for the largest error; line 25 would replace the best centres by the last centres. "
        "Here both lines follow the text, and each retry continues from the best centres. We "
        "interpret the result of k-means++ in line 1 as the result of k-means from its seeds.",
        f"The paper gives the offset ({OFFSET:g}), but not the number of retries (here {RETRIES}), "
        f"and not the end of k-means. Here k-means ends after {STEPS} steps, or if its centres "
        f"move by less than {TOLERANCE:g} of the variance. Errors that differ by a share of less "
        f"than {BETTER:g} are treated as equal. If the least useful centre belongs to the cluster "
        "with the largest error, no centre can move next to it, and the start ends; the paper does "
        "not mention this case.",
        "Lines 41-43 do not clip centres; here the published centres are clipped as in Algorithm "
        "1. This changes little: on unbalance, with T 2, the mean F-measure over 50 draws at "
        "epsilon 0.1, 0.5, 1 is .81/.97/.98 if all centres are clipped, and .81/.97/.98 if only "
        "the last centres are clipped.",
        "The published start alone already has the result: it is a k-means clustering of the raw "
        "records (F-measure 1.00 on unbalance), and the noisy iterations only move away from it.",
    ),
    errata=(
        "Section 4.1, step 2, calls both centres mu, and steps 2 and 4 disagree with the listing "
        "about the start of a try. Lines 31-33 loop twice over the records and read a centre by an "
        "index that is never set; we interpret this as all records and all centres. Line 30 "
        "iterates while the errors settle; we iterate until they settle.",
        "Section 4.3 proves that one release of noisy numbers is private. The proof covers neither "
        "the T releases, nor the start and the stop, which read the raw records.",
        "Section 5.2 computes F from clusters and classes; section 5.3 interprets F as similarity "
        "of the clusters with and without noise. Equations 13 and 14 have one maximum over all "
        "classes and clusters; here they are n_ij / n_j and n_ij / n_i.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run an improved start and noisy Lloyd iterations (Hu et al., Algorithm 3)."""
    return lloyd(records, config, accountant, settled=as_printed(records, config))

"""DPLloyd: Lloyd's iteration with noisy counts and sums."""

from __future__ import annotations

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

SOUND = (
    "Each iteration is one Laplace mechanism on all counts and sums together; the sensitivity is "
    "d + 1 in box and cube and 2 in the unit L1 ball. Starts use no data, or they have a budget: "
    "they are sampled from a noisy grid, or are noisy means of sets. All budgets add up to "
    "epsilon, and centres are computed only from noisy numbers."
)

PRINTED = (
    "Each iteration is one Laplace mechanism on all counts and sums together; the sensitivity is "
    "2, since records outside the unit L1 ball are projected onto it (d + 1 in box and cube). "
    "The start of the centres uses no data, and the budgets add up to epsilon or less."
)

RAW_START = (
    "A start from the raw records (records, kmeans++, utility_plus) gets no noise: one record can "
    "move it anywhere."
)

BY_ORDER = (
    "The sets of the start (partition) are cut from the list in order, so one more record moves "
    "the borders of all sets. This changes far more than the noise can hide. (Under replace_one, "
    "with a public number of records, the borders stay.)"
)

FAILS = dict.fromkeys(("records", "kmeans++", "utility_plus"), RAW_START) | {"partition": BY_ORDER}

KEEPING = (
    "Sound: a centre does not move if its noisy count n' is not positive or its new place is "
    "outside the domain. Published: s'/n' for any sign of n', each coordinate clipped to the "
    "domain (0/0 does not move), as Hu et al. print it in Algorithm 1; their Algorithm 3, Lee, "
    "Kifer, and Zhang, Liu, Wang divide in the same way and print no clipping."
)

UNSPENT = (
    "Schedule halving gives iteration t epsilon / 2^t. Published: this holds for the last "
    "iteration, too, and the rest is not spent. Sound: the last iteration uses the rest."
)

START = (
    "Lee, Kifer keep starting centres some constant apart, but don't print the constant. Sphere "
    "packing finds the largest distance that random placing reaches in the box, even if records "
    "are in the L1 ball. With the shorter distances of the program of Su et al., whom they follow, "
    "S1 as in figure 1 gives DPLloyd 18.5, 13.7, 7.7, 4.2, 2.7 and MCMC 9.1, 6.9, 4.3, 3.0, 2.5, "
    "published (mean of 100 draws)."
)

BALL = (
    "Lee, Kifer project records onto the L1 ball and don't say how; here along the line to the "
    "origin. With a projection onto the nearest point of the ball, S1 as in figure 1 gives DPLloyd "
    "16.4, 12.5, 6.8, 3.6, 2.3 and MCMC 8.5, 6.7, 3.7, 2.5, 2.1, published."
)

CARD = Card(
    name="dplloyd",
    family="kmeans",
    title="DPLloyd",
    estimator="DPLloyd",
    summary=(
        "T times: assign every record to its nearest centre, add noise to each cluster's count and "
        "sums, move the centre to sums / count. Starts from centres that are far from each other "
        "and use no data."
    ),
    paper="Blum, Dwork, McSherry, Nissim 2005; McSherry 2009; as in Lee, Kifer 2016",
    algorithm="Algorithm 1 (DP-KMEANS); Hu et al., Algorithm 1 (DPk-means)",
    origin="002",
    variants=(
        Variant(name="sound", private=True, reason=SOUND),
        Variant(name="published", private=True, reason=PRINTED, fails=FAILS),
    ),
    parameters=takes("dplloyd"),
    deviations=(
        KEEPING,
        UNSPENT,
        "Hu et al., Algorithm 1 (DPk-means): start records, geometry box, schedule uniform. Their "
        "section 4.2 scales to [0, 1]^d and halves the budget: geometry cube, schedule halving; "
        "coordinates are then clipped to [0, 1]. Every column is scaled to its own range, so r is "
        "1.",
        "Hu et al., Algorithm 1, line 2, picks k points at random and does not say from where. We "
        "interpret them as records, as in line 1 of Algorithm 2; start random uses places of the "
        "domain. Unbalance, K 8, T 2, halving, cube, published, mean F-measure against the classes "
        "over 50 draws at epsilon 0.1, 0.25, 0.5, 1: records .81, .92, .92, .89; places .71, .76, "
        ".77, .77.",
        "Hu et al., Algorithm 1, lines 8-11, forms cluster j after centres 1 to j - 1 have moved, "
        "and a record at equal distances joins several clusters. Then one record can be in many "
        "sums, and noise for d r + 1 is too little. Built: each record joins one nearest centre, "
        "then all centres move, as in their section 4.1. Only the listing's t iterations are "
        "built here; the stop at convergence of their section 3.2 is not.",
        START,
        BALL,
        "Figure 1 of the MCMC paper, S1 (K 15, T 5, domain from the data, 20 draws, mean WCSS "
        "divided by the noise-free one, both in the L1 ball) at epsilon 0.05, 0.1, 0.25, 0.5, 1: "
        "published 17.8, 12.8, 7.1, 3.9, 2.3; with only the last centres clipped 18.4, 12.3, 7.3, "
        "3.9, 2.3; if centres with too small counts do not move 13.2, 10.1, 6.9, 3.8, 2.5. Sound, "
        "in the box: 11.3, 8.9, 7.1, 4.8, 2.6.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run noisy Lloyd iterations (Lee, Kifer, Algorithm 1)."""
    return lloyd(records, config, accountant)

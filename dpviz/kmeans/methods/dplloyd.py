"""DPLloyd: Lloyd's iteration with noisy counts and sums."""

from __future__ import annotations

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

SOUND = (
    "Each iteration is one Laplace mechanism on all counts and sums together; the sensitivity is d "
    "+ 1 in box and cube, and 2 in the unit L1 ball. A start either uses no data, or it has a "
    "budget: it is sampled from a noisy grid, or it consists of noisy means of sets. All budgets "
    "add up to epsilon, and centres are computed only from noisy numbers."
)

PRINTED = (
    "Each iteration is one Laplace mechanism on all counts and sums together; the sensitivity is "
    "2, because records outside the unit L1 ball are projected onto the ball (in box and cube, it "
    "is d + 1). The start of the centres uses no data, and the budgets add up to epsilon or less."
)

RAW_START = (
    "A start from the raw records (records, kmeans++, utility_plus) gets no noise: one record can "
    "move it anywhere."
)

BY_ORDER = (
    "The sets of the start (partition) are cut from the list in order, so one more record moves "
    "the borders of all sets. This changes far more than the noise can hide. (Under replace_one, "
    "with a public number of records, the borders do not move.)"
)

FAILS = dict.fromkeys(("records", "kmeans++", "utility_plus"), RAW_START) | {"partition": BY_ORDER}

KEEPING = (
    "In the sound variant, a centre does not move if its noisy count n' is not positive or its new "
    "place is outside the domain. The published variant uses s'/n' for any sign of n' and clips "
    "each coordinate to the domain (0/0 leaves the coordinate unchanged), as in Algorithm 1 of Hu "
    "et al. Algorithm 3 of Hu et al., Lee and Kifer, and Zhang, Liu and Wang divide in the same "
    "way and do not mention clipping."
)

UNSPENT = (
    "The schedule halving gives iteration t the budget epsilon / 2^t. In the published variant, "
    "the last iteration also gets epsilon / 2^t, and the remaining budget is not spent. In the "
    "sound variant, the last iteration uses the remaining budget."
)

START = (
    "In Lee and Kifer, starting centres have a constant least distance from each other, which the "
    "paper does not give. Sphere packing finds the largest distance that random placing reaches in "
    "the box, even if records are in the L1 ball. With the shorter distances of the program of Su "
    "et al., which Lee and Kifer follow, on S1 as in figure 1, published DPLloyd has the ratios "
    "18.5, 13.7, 7.7, 4.2, 2.7 and MCMC has 9.1, 6.9, 4.3, 3.0, 2.5 (100 draws)."
)

BALL = (
    "Lee and Kifer project records onto the L1 ball and don't say how; here records move along the "
    "line to the origin. With a projection onto the nearest point of the ball, on S1 as in figure "
    "1, published DPLloyd has the ratios 16.4, 12.5, 6.8, 3.6, 2.3 and MCMC has 8.5, 6.7, 3.7, "
    "2.5, 2.1."
)

CARD = Card(
    name="dplloyd",
    family="kmeans",
    title="DPLloyd",
    estimator="DPLloyd",
    summary=(
        "Repeats T times: assign every record to its nearest centre, add noise to each cluster's "
        "count and sums, and move the centre to sums / count. Starts from centres that are far "
        "from each other and use no data."
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
        "Algorithm 1 of Hu et al. (DPk-means) has start records, geometry box and schedule "
        "uniform. Section 4.2 of that paper scales to [0, 1]^d and halves the budget (geometry "
        "cube, schedule halving); coordinates are then clipped to [0, 1]. Every column is scaled "
        "to its own range, so r is 1.",
        "Algorithm 1 of Hu et al., line 2, chooses k points at random and does not say from which "
        "set. We interpret these points as records, as in line 1 of Algorithm 2; start random uses "
        "places of the domain. On unbalance (K 8, T 2, halving, cube, published), the mean "
        "F-measure compared with the classes over 50 draws at epsilon 0.1, 0.25, 0.5, 1 is .81, "
        ".92, .92, .89 for records and .71, .76, .77, .77 for places.",
        "Hu et al., Algorithm 1, lines 8-11, forms cluster j after centres 1 to j - 1 have moved, "
        "and a record at equal distances joins several clusters. Then one record can be in many "
        "sums, and noise for d r + 1 is too little. Here each record joins one nearest centre, "
        "then all centres move, as in section 4.1 of that paper. There are t iterations, as in the "
        "listing; the stop at convergence of section 3.2 is not used.",
        START,
        BALL,
        "On S1 as in figure 1 of the MCMC paper (K 15, T 5, domain from the data, 20 draws, mean "
        "WCSS divided by the noise-free WCSS, both in the L1 ball), at epsilon 0.05, 0.1, 0.25, "
        "0.5, 1, the published variant has 17.8, 12.8, 7.1, 3.9, 2.3. If only the last centres are "
        "clipped, this variant has the ratios 18.4, 12.3, 7.3, 3.9, 2.3; if centres with too small "
        "counts do not move, it has 13.2, 10.1, 6.9, 3.8, 2.5. The sound variant, in the box, has "
        "the ratios 11.3, 8.9, 7.1, 4.8, 2.6.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run noisy Lloyd iterations (Lee, Kifer, Algorithm 1)."""
    return lloyd(records, config, accountant)

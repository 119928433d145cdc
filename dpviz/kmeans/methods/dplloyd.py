"""DPLloyd: Lloyd's iteration with noisy counts and sums."""

from __future__ import annotations

from dpviz.family.card import Card, Variant
from dpviz.kmeans.lloyd import lloyd
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

SOUND = (
    "Each iteration is one Laplace mechanism on all counts and sums, whose sensitivity together "
    "is d + 1 in box and cube and 2 in the unit L1 ball. Starts know nothing of the data, or are "
    "paid for: drawn from a noisy grid, or means of sets with noise. All budgets add up to "
    "epsilon, and centres are computed from noisy numbers alone."
)

OUT_OF_BALL = (
    "In the L1 geometry of the paper, noise is for records of L1 norm 1, but records scaled to "
    "[-1, 1]^d reach norm d: one of them changes a sum by up to d, so up to (d + 1)/2 times the "
    "budget is spent. (In box and cube, and with a start that knows nothing of the data, the noise "
    "would suffice.)"
)

KEEPING = (
    "A centre stays where its noisy count is not positive or its new place lies outside the "
    "domain; the papers divide and clip, which sends starved centres to corners."
)

CARD = Card(
    name="dplloyd",
    family="kmeans",
    title="DPLloyd",
    estimator="DPLloyd",
    summary=(
        "T times: assign every record to its nearest centre, add noise to each cluster's count "
        "and sums, move the centre to their quotient. Starts from spread-out centres that know "
        "nothing of the data."
    ),
    paper="Blum, Dwork, McSherry, Nissim 2005; McSherry 2009; as in Lee, Kifer 2016",
    algorithm="Algorithm 1 (DP-KMEANS); Hu et al., Algorithm 1 (DPk-means)",
    origin="002",
    variants=(
        Variant(name="sound", private=True, reason=SOUND),
        Variant(name="published", private=False, reason=OUT_OF_BALL),
    ),
    parameters=takes("dplloyd"),
    deviations=(
        KEEPING,
        "Hu et al. start from K records drawn at random, compute on [0, 1]^d and halve the budget: "
        "start records, geometry cube, schedule halving, T 2.",
        "The figures of the MCMC paper's DPLloyd come out only with noise for L1 norm 1 on records "
        "that are not drawn into that ball (S1, K 15, T 5, domain from the data, 40 draws, median "
        "WCSS over noise-free at epsilon 0.05, 0.1, 0.25, 0.5, 1: 9.8, 8.1, 5.8, 3.4, 2.1). With "
        "the noise that privacy asks for it is 10.8, 9.3, 6.6, 4.9, 2.7 in the box and 10.1, 8.5, "
        "6.1, 4.6, 3.6 in the ball.",
    ),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Noisy Lloyd iterations (Lee, Kifer, Algorithm 1)."""
    return lloyd(records, config, accountant)

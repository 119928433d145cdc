"""PrivQT: noise on the counts, then the plain pipeline."""

from __future__ import annotations

from dpviz.family.card import Card, Variant
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.choice import noisy_counts, with_density
from dpviz.wavecluster.methods.printed import MODIFIED, READINGS, hide_one_change
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, Stages, cluster
from dpviz.wavecluster.threshold import positive_values
from dpviz.wavecluster.wavelet import rank_of

CARD = Card(
    name="privqt",
    family="wavecluster",
    title="PrivQT",
    estimator="PrivQT",
    summary=(
        "Adds Laplace noise to every count, then runs plain WaveCluster. About half of the empty "
        "cells become positive, which inflates the number of significant cells at any budget."
    ),
    paper="Chen, Yu, Chirkova 2015",
    algorithm="Algorithm 2",
    origin="000",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "One record changes one count by 1, so Lap(1/epsilon) on each count makes the "
                "counts epsilon-private under a declared domain; later steps read only these "
                "counts."
            ),
        ),
        Variant(
            name="published",
            private=True,
            reason=(
                "The steps are the same as in the sound variant: under a declared domain, adding "
                "or removing a record changes one count by 1, which Lap(1/epsilon) hides."
            ),
            fails=MODIFIED,
        ),
    ),
    splits="PrivQT spends all of ε on counts",
    parameters=takes("privqt", "epsilon"),
    theorem=4,
    deviations=READINGS,
    errata=(
        "Section 5.2.1: if every positive coefficient is 0.5 and epsilon is 1, noise makes on "
        "average theta = 0.349 |L| of them non-positive, not 0.43 |L|; so k' is not near k there.",
        "Section 5.2.1: the density of |L'_n| counts one set of x coefficients for all sets of x. "
        "This expression is a density only if all coefficients are equal. Its mean, theta, is "
        "correct.",
        "Theorem 4: gamma, the width of the margin around the threshold, is twice as large as the "
        "union bound requires, because |Lap(1/epsilon)| exceeds gamma/4 with probability "
        "exp(-epsilon gamma/4), not exp(-epsilon gamma/8).",
        "In section 7.2, PrivTHR and PrivTHREM have errors of k' below 4.7%; the text names PrivQT "
        "and PrivTHREM instead, and gives PrivQT 32.2% and more in the same sentence.",
        "In section 7.2, the number 108.45 on DS2 is not a bound, but the mean surplus of k', (1 - "
        "p) |Z| / 2, without the coefficients that noise removes (theta). With theta it is 107.5; "
        "a mean of ten draws has a standard error of 2.2, so the printed 105.2 agrees with it.",
    ),
)

#: Chen, Yu, Chirkova 2015, section 5.2.1: the surplus of k' is (1 - p)|Z|/2 minus the number of
#: positive coefficients that noise removes (theta), which falls when epsilon grows.
_KEEPS_TOO_MANY = (
    "Why PrivQT keeps too many cells: at any ε, noise makes about half of the empty cells of the "
    "average subband ({empty:,} here) positive. A larger ε even raises k′: fewer cells with "
    "records turn negative, and the surplus stays."
)


def surprise(true: Stages, private: Run) -> str:
    """Explain why more cells are kept than in the true run; empty if this is not the case."""
    true_rank = true.threshold.k or 0
    return _KEEPS_TOO_MANY.format(empty=true.threshold.nonpositive) * (private.k > true_rank)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Cluster noisy counts (Chen, Yu, Chirkova, Algorithm 2)."""
    hide_one_change(accountant, config)
    noisy, average, again = noisy_counts(source, config, accountant, config.epsilon)
    positive = positive_values(average).size
    config, worth = with_density(
        config, accountant, average, lambda density: rank_of(density, positive), again
    )
    stages = cluster(noisy, config, average=average)
    return Run(config=config, stages=stages, ledger=accountant.ledger, worth=worth)

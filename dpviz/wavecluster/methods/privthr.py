"""PrivTHR: noisy counts, and a threshold with a correction for cells that noise made positive."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpviz.family.card import Card, Variant
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import LATTICE
from dpviz.wavecluster.choice import noisy_counts, with_density
from dpviz.wavecluster.methods.printed import (
    MODIFIED,
    OTHER_WAVELETS,
    READINGS,
    hide_one_change,
)
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster, transform
from dpviz.wavecluster.threshold import Threshold, positive_values
from dpviz.wavecluster.wavelet import rank_of, sensitivity

#: The method assumes that half of the empty cells become positive. Whole-number noise is often 0,
#: so fewer cells would become positive.
UNIT = LATTICE

CARD = Card(
    name="privthr",
    family="wavecluster",
    title="PrivTHR",
    estimator="PrivTHR",
    summary=(
        "Releases noisy counts with a share alpha of the budget, and a noisy number of "
        "non-positive cells with the remaining budget. Half of this number is subtracted from the "
        "number of positive cells before the threshold is computed."
    ),
    paper="Chen, Yu, Chirkova 2015",
    algorithm="Algorithm 3",
    origin="000",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Under a declared domain, two Laplace mechanisms run in sequence. The mechanisms "
                "release the counts with alpha*epsilon (one record changes one count by 1), and "
                "the number Z of non-positive coefficients with the remaining budget (the "
                "sensitivity of Z is computed from the wavelet). The threshold is computed only "
                "from the outputs of both."
            ),
        ),
        Variant(
            name="published",
            private=True,
            reason=(
                "The steps are the same as in the sound variant. Under a declared domain, adding "
                "or removing a record changes one count by 1, which Lap(1/(alpha*epsilon)) hides; "
                "the remaining budget hides the change of the number Z of non-positive "
                "coefficients."
            ),
            fails=MODIFIED,
        ),
    ),
    parameters=takes("privthr", "epsilon", "alpha"),
    theorem=5,
    deviations=(
        "Half of the noisy |Z| is rounded to a whole number of values to remove; at least one "
        "value is kept.",
        OTHER_WAVELETS,
        *READINGS,
    ),
    errata=(
        "Section 4.3 says that the counts (eps1) need less budget than Z (eps2). But section 7.4 "
        "gives the counts 90%. The 90% are correct, because gamma, the margin of the counts around "
        "the threshold, has a larger factor than beta, the error of Z.",
        "Theorem 5: beta, the bound on the noise of Z'/2, is four times as large as the step "
        "requires. Z'/2 is subtracted, so the noise is half of Lap(1/eps2), which exceeds beta "
        "with probability exp(-2 eps2 beta), not exp(-eps2 beta/2).",
    ),
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Noisy counts and a refined threshold (Chen, Yu, Chirkova, Algorithm 3)."""
    hide_one_change(accountant, config)
    first = config.counts_share * config.epsilon
    noisy, average, again = noisy_counts(source, config, accountant, first)
    true_average = transform(source.counts, config)
    nonpositive = true_average.size - int(np.count_nonzero(true_average > 0))
    bound = sensitivity(config.wavelet, config.level, source.shape, config.density)
    noisy_nonpositive = accountant.laplace(
        "nonpositive",
        float(nonpositive),
        sensitivity=bound.nonpositive,
        epsilon=config.epsilon - first,
    )
    kept = pruned_threshold(average, config.density, float(noisy_nonpositive)).kept
    config, worth = with_density(
        config, accountant, average, lambda density: rank_of(density, kept), again
    )
    threshold = pruned_threshold(average, config.density, float(noisy_nonpositive))
    return Run(
        config=config,
        stages=cluster(noisy, config, average=average, threshold=threshold),
        ledger=accountant.ledger,
        trace={"nonpositive": nonpositive},
        worth=worth,
    )


def pruned_threshold(average: NDArray[np.float64], density: float, nonpositive: float) -> Threshold:
    """Threshold of W' without its Z'/2 smallest positive coefficients; Z' is the noisy Z of W."""
    values = positive_values(average)
    dropped = min(max(round(nonpositive / 2), 0), max(values.size - 1, 0))
    k = rank_of(density, values.size - dropped)
    return Threshold(
        k=k,
        value=float(values[values.size - k]) if k else math.inf,
        positive=values.size,
        nonpositive=average.size - values.size,
        pruned=dropped,
        estimate=nonpositive,
    )

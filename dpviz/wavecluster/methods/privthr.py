"""PrivTHR: noisy counts, and a threshold with a correction for cells that noise made positive."""

from __future__ import annotations

import math

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.privacy.mechanisms import Accountant
from dpviz.privacy.secure import LATTICE
from dpviz.wavecluster.choice import noisy_counts, with_density
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster, transform
from dpviz.wavecluster.threshold import Threshold, positive_values
from dpviz.wavecluster.wavelet import rank_of, sensitivity

#: The method assumes that half of the empty cells become positive; whole noise is often 0.
UNIT = LATTICE

CARD = card_of(__file__, takes("privthr", "epsilon", "alpha"))


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Noisy counts and a refined threshold (Chen, Yu, Chirkova, Algorithm 3)."""
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


def pruned_threshold(average: Floats, density: float, nonpositive: float) -> Threshold:
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

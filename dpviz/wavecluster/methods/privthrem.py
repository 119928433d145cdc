"""PrivTHREM: noisy counts, and a threshold from the exponential mechanism."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.choice import noisy_counts, with_density
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster, transform
from dpviz.wavecluster.threshold import Threshold, positive_values
from dpviz.wavecluster.wavelet import ZERO, rank_of, sensitivity

#: Name of the exponential mechanism on the ledger.
STEP = "threshold"

CARD = card_of(__file__, takes("privthrem", "epsilon", "alpha"))


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Noisy counts and a sampled threshold (Chen, Yu, Chirkova, Algorithm 4)."""
    first = config.counts_share * config.epsilon
    noisy, average, again = noisy_counts(source, config, accountant, first)
    config, worth = with_density(config, accountant, average, partial(_rank, average), again)
    bound = sensitivity(config.wavelet, config.level, source.shape, config.density)
    edges, ranks, scores = candidates(transform(source.counts, config), average, config)
    chosen, value = accountant.interval(
        STEP,
        edges,
        scores,
        sensitivity=bound.rank if config.variant == "sound" else bound.nonpositive,
        epsilon=config.epsilon - first,
    )
    positive = int(np.count_nonzero(average > 0))
    threshold = Threshold(
        k=None, value=value, positive=positive, nonpositive=average.size - positive
    )
    return Run(
        config=config,
        stages=cluster(noisy, config, average=average, threshold=threshold),
        ledger=accountant.ledger,
        trace={"rank": float(ranks[chosen])},
        worth=worth,
    )


def _rank(noisy: Floats, density: float) -> int:
    """Estimate how many coefficients reach d; the number below -d estimates the noise above d."""
    ascending = np.sort(noisy, axis=None)
    values = ascending[ascending >= ZERO][::-1]
    below = np.searchsorted(ascending, -values, side="right")
    true = np.maximum.accumulate(np.arange(1, values.size + 1) - below)
    return int(np.searchsorted(true, rank_of(density, max(int(true.max(initial=0)), 0)))) + 1


def candidates(true: Floats, noisy: Floats, config: Config) -> tuple[Floats, Floats, Floats]:
    """Return edges and ranks of intervals for the subbands W and W', and scores -abs(rank - k)."""
    values = positive_values(true)
    # Published: (0, Max] of the true W. Sound: up to the largest noisy coefficient, which is
    # already private; if it is not positive, no cell can be significant.
    sound = config.variant == "sound"
    largest = float(noisy.max()) if sound else float(values.max(initial=0.0))
    edges, ranks = rank_intervals(values, largest if largest > 0 else 1.0)
    return edges, ranks, -np.abs(ranks - rank_of(config.density, values.size))


def rank_intervals(values: Floats, top: float) -> tuple[Floats, Floats]:
    """Split (0, top] at ascending positive coefficients (m,): edges (m + 2,) and ranks (m + 1,).

    ``ranks[i]`` is the number of true coefficients that reach a threshold in interval i.
    """
    edges = np.concatenate(([0.0], np.minimum(values, top), [top]))
    return edges, np.arange(values.size, -1, -1, dtype=float)

"""PrivTHREM: noisy counts, and a threshold from the exponential mechanism."""

from __future__ import annotations

from functools import partial

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.card import Card, Variant
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.choice import noisy_counts, with_density
from dpviz.wavecluster.methods.printed import MODIFIED, READINGS, hide_one_change
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, cluster, transform
from dpviz.wavecluster.threshold import Threshold, positive_values
from dpviz.wavecluster.wavelet import ZERO, rank_of, sensitivity

#: Name of the exponential mechanism on the ledger.
STEP = "threshold"

CARD = Card(
    name="privthrem",
    family="wavecluster",
    title="PrivTHREM",
    estimator="PrivTHREM",
    summary=(
        "Releases noisy counts with a share alpha of the budget. With the remaining budget, the "
        "exponential mechanism samples a threshold near the true threshold."
    ),
    paper="Chen, Yu, Chirkova 2015",
    algorithm="Algorithm 4",
    origin="000",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "A Laplace mechanism on the counts spends alpha*epsilon, and the exponential "
                "mechanism spends the remaining budget. The sensitivity of the score is computed "
                "from the wavelet; candidates reach up to the largest noisy coefficient, which is "
                "already private. The rank of the threshold is not released."
            ),
        ),
        Variant(
            name="published",
            private=False,
            reason=(
                "As printed, the threshold is drawn from values up to the largest true "
                "coefficient, so a threshold that is possible for one data set can be impossible "
                "for its neighbour; and the shown rank k' counts true cells."
            ),
            fails=MODIFIED,
        ),
    ),
    parameters=takes("privthrem", "epsilon", "alpha"),
    theorem=6,
    deviations=(
        "In the sound variant, candidates reach up to the largest noisy coefficient, not the "
        "largest true coefficient. The score's sensitivity is computed for any wavelet, the noise "
        "hides all records in which neighbours differ, and the rank k' is not released. A release "
        "draws one of 16,384 candidates by permute and flip.",
        "A run makes one draw of the exponential mechanism, because the mean of several draws "
        "would spend the budget several times.",
        "The published variant's sensitivity for other wavelets than Haar is max(n+, n-), as the "
        "paper suggests. This sensitivity is too small, because the target rank k moves too.",
        "If no true coefficient is positive, the paper's (0, Max] is empty: the published "
        "variant draws the threshold from (0, 1].",
        *READINGS,
    ),
    errata=(
        "Section 4.4 prints the parts of (0, Max] as (x_{i-1}, x_i]. These intervals are empty, "
        "because the values decrease with i. The example (x_2, x_1] shows that (x_{i+1}, x_i] is "
        "meant.",
        "Section 7.2 says that k' on DS2 is more sensitive to epsilon than k' of PrivTHR, and "
        "refers to section 5.2.3. That section says this for the case that ln(W_k / (W_max - W_k)) "
        "is positive. On DS2 it is -2.8.",
        "By theorem 6, k' is between k - eta1 and k + eta2 with a probability of at least 1 - 2 "
        "omega, for a chosen omega. Often these bounds exclude nothing, because the lower end is "
        "below 1 or the upper end is above |L|: eta1 contains |L| - k, and eta2 contains k. The "
        "proof has a wrong sign: omega must be at least the right side, not at most the right "
        "side.",
        "Section 7.2 gives errors of k' below 4.7% for PrivQT and PrivTHREM; the correct names are "
        "PrivTHR and PrivTHREM.",
    ),
)


def run(source: Source, config: Config, accountant: Accountant) -> Run:
    """Noisy counts and a sampled threshold (Chen, Yu, Chirkova, Algorithm 4)."""
    hide_one_change(accountant, config)
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
    # The published variant chooses from (0, Max] of the true W; the sound variant chooses up to the
    # largest noisy coefficient, which is already private. If this coefficient is not positive, no
    # cell can be significant for any d'.
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

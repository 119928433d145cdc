"""PrivQT: noise on the counts, then the plain pipeline."""

from __future__ import annotations

from dpviz.family.card import card_of
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster.choice import noisy_counts, with_density
from dpviz.wavecluster.parameters import Config, takes
from dpviz.wavecluster.pipeline import Run, Source, Stages, cluster
from dpviz.wavecluster.threshold import positive_values
from dpviz.wavecluster.wavelet import rank_of

CARD = card_of(__file__, takes("privqt", "epsilon"))

#: Section 5.2.1: the surplus of k' is (1 - p)|Z|/2 - theta; theta falls when epsilon grows.
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
    noisy, average, again = noisy_counts(source, config, accountant, config.epsilon)
    positive = positive_values(average).size
    config, worth = with_density(
        config, accountant, average, lambda density: rank_of(density, positive), again
    )
    stages = cluster(noisy, config, average=average)
    return Run(config=config, stages=stages, ledger=accountant.ledger, worth=worth)

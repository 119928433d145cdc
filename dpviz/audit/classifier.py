"""A trained classifier that joins all released numbers into one score.

It knows nothing of the mechanism. It learns from the choosing half of the runs alone, so that
the deciding half has never been seen by anything that the audit chose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Stands for a number that a run lacks: larger than any other.
MISSING = 1e300

#: Name of the score for people.
CLASSIFIER_NAME = "score of a trained classifier"


def classifier_scores(without: Floats, joined: Floats) -> tuple[Floats, Floats]:
    """Log odds that a run is one on the second data set, learned from the first half of the runs.

    Parameters
    ----------
    without, joined
        Scores of runs on both data sets, shape (runs, columns); numbers that a run lacks are
        not finite.

    Returns
    -------
    without, joined
        Shape (runs,). The second half is scored by a model of the whole first half; of this,
        even runs by a model of the odd ones and the other way round: what a model says of its
        own runs would promise too much.

    Notes
    -----
    Boosted trees by histograms (Ke 2017).
    """
    half = len(without) // 2
    both = np.stack([without, joined])
    both = np.where(np.isfinite(both), both, MISSING)
    scores = np.empty(both.shape[:2])
    even, odd, rest = slice(0, half, 2), slice(1, half, 2), slice(half, None)
    for learned, scored in ((odd, even), (even, odd), (slice(0, half), rest)):
        scores[:, scored] = _scored(both[:, learned], both[:, scored])
    return scores[0], scores[1]


def _scored(learned: Floats, others: Floats) -> Floats:
    """Scores of other runs (2, n) by a model of some, each of shape (2, n, columns)."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    # Trees can't split what is always the same.
    varies = np.ptp(learned, axis=(0, 1)) > 0
    if not varies.any():
        return np.zeros(others.shape[:2])
    runs, tried = (part[..., varies].reshape(-1, varies.sum()) for part in (learned, others))
    model = HistGradientBoostingClassifier(
        learning_rate=0.2, max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    # The threads of small fits cost more than they save.
    with threadpool_limits(1, user_api="openmp"):
        model.fit(runs, np.repeat([0, 1], learned.shape[1]))
        scores = model.decision_function(tried)
    found: Floats = scores.reshape(others.shape[:2])
    return found

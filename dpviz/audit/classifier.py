"""A trained classifier that combines all released numbers into one score.

The classifier does not know the mechanism. It is trained only on the choosing half of the runs, so
the deciding half stays independent of every choice of the audit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Value that replaces a missing number of a run; it is larger than all other numbers.
MISSING = 1e300

#: Name of the score for users.
CLASSIFIER_NAME = "score of a trained classifier"


def classifier_scores(without: Floats, joined: Floats) -> tuple[Floats, Floats]:
    """Log odds that a run used the second data set, learned from the first half of the runs.

    The model consists of histogram-based boosted trees (Ke 2017).

    Parameters
    ----------
    without, joined
        Scores of runs on both data sets, shape (runs, columns). Infinite numbers and NaN count as
        missing.

    Returns
    -------
    without, joined
        Shape (runs,). For the second half, the model is trained on the whole first half. For the
        even runs of the first half, it is trained on the odd runs, and vice versa, because a
        model's scores on its own training runs are too good.
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
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    # Trees cannot split on constant columns.
    varies = np.ptp(learned, axis=(0, 1)) > 0
    if not varies.any():
        return np.zeros(others.shape[:2])
    runs, tried = (part[..., varies].reshape(-1, varies.sum()) for part in (learned, others))
    model = HistGradientBoostingClassifier(
        learning_rate=0.2, max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    # For small models, threads cost more time than they save.
    with threadpool_limits(1, user_api="openmp"):
        model.fit(runs, np.repeat([0, 1], learned.shape[1]))
        scores = model.decision_function(tried)
    found: Floats = scores.reshape(others.shape[:2])
    return found

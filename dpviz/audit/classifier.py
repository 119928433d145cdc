"""A classifier of all released numbers, trained only on the choosing half of the runs."""

from __future__ import annotations

import numpy as np

from dpviz.base.arrays import Floats

#: Value that replaces a missing number of a run; it is larger than all other numbers.
MISSING = 1e300

#: Name of the score for users.
CLASSIFIER_NAME = "score of a trained classifier"


def classifier_scores(
    without: Floats, joined: Floats, chosen: int | None = None
) -> tuple[Floats, Floats]:
    """Log odds (runs,) that a run used the second data set, learned from the choosing runs.

    These are the first ``chosen`` runs (default: half).

    Histogram-based boosted trees (Ke 2017) use scores (runs, columns); infinite and NaN are
    missing. Even choosing runs are scored by a model of the odd runs, and vice versa, because
    scores on a model's own training runs are too good.
    """
    half = len(without) // 2 if chosen is None else chosen
    both = np.stack([without, joined])
    both = np.where(np.isfinite(both), both, MISSING)
    scores = np.empty(both.shape[:2])
    even, odd, rest = slice(0, half, 2), slice(1, half, 2), slice(half, None)
    for learned, scored in ((odd, even), (even, odd), (slice(0, half), rest)):
        if both[:, scored].size:
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
    return np.asarray(scores.reshape(others.shape[:2]))

"""A copy of scikit-learn's k-means with noise, and with bugs that audits must find."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

#: A generator whose seed is fixed when the module is loaded.
FIXED = np.random.default_rng(0)


class NoisyKMeans(KMeans):
    """scikit-learn's k-means with Laplace noise in its counts and sums, for the unit cube."""

    def __init__(self, n_clusters=2, epsilon=1.0, iterations=1, bug=None, random_state=None):
        super().__init__(n_clusters=n_clusters, random_state=random_state)
        self.epsilon, self.iterations, self.bug = epsilon, iterations, bug

    def fit(self, X, y=None, sample_weight=None):
        rng = np.random.default_rng(0 if self.bug == "seed fixed" else self.random_state)
        rng = FIXED if self.bug == "seed of the module" else rng
        n, columns = X.shape
        low, high = np.zeros(columns), np.ones(columns)
        if self.bug == "range of the data":
            low, high = X.min(axis=0), np.maximum(X.max(axis=0), X.min(axis=0) + 1e-9)
        points = (np.clip(X, low, high) - low) / (high - low)
        # Half of each iteration's budget is for the counts, the other half for the sums.
        scale = 2 * self.iterations / self.epsilon * (0.5 if self.bug == "noise halved" else 1)
        centers = np.linspace(0.25, 0.75, self.n_clusters)[:, None] * np.ones(columns)
        for _ in range(self.iterations):
            near = ((points[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
            members = near[:, None] == np.arange(self.n_clusters)
            counts, sums = members.sum(axis=0).astype(float), members.T.astype(float) @ points
            true = sums / np.maximum(counts, 1)[:, None]
            if self.bug != "counts exact":
                counts = counts + rng.laplace(scale=scale, size=counts.shape)
            if self.bug != "sums exact":
                sums = sums + rng.laplace(scale=scale * columns, size=sums.shape)
            kept = counts < 1
            means = sums / np.where(kept, 1, counts)[:, None]
            unmoved = true if self.bug == "true mean of an empty cluster" else centers
            centers = np.where(kept[:, None], unmoved, np.clip(means, 0, 1))
        self.cluster_centers_ = low + centers * (high - low)
        self.counts_ = counts
        self.n_iter_ = self.iterations
        if self.bug == "number of outputs":
            self.path_ = [rng.random(columns) for _ in range(n)]
        if self.bug == "inertia exact":
            self.inertia_ = ((X - self.cluster_centers_[near]) ** 2).sum()
        return self

    def predict(self, X):
        return ((np.asarray(X)[:, None] - self.cluster_centers_) ** 2).sum(axis=2).argmin(axis=1)


#: Planted bugs of :class:`NoisyKMeans`, and the number of runs on each data set that show them.
BUGS = {
    "noise halved": 10_000,
    "sums exact": 1_000,
    "counts exact": 1_000,
    "range of the data": 1_000,
    "number of outputs": 1_000,
    "seed fixed": 1_000,
    "seed of the module": 1_000,
    "true mean of an empty cluster": 1_000,
    "inertia exact": 1_000,
}

"""Code that audits must refute, or must not: mechanisms with planted bugs, written for the tests.

Every class takes ``bug``: without one its claim holds for records in the unit square.
"""

from __future__ import annotations

import os
import time

import numpy as np
from sklearn.base import BaseEstimator
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


class _Mechanism(BaseEstimator):
    """A mechanism on the first column; ``random_state`` is a new seed in each run."""

    def __init__(self, epsilon=1.0, bug=None, random_state=None):
        self.epsilon, self.bug, self.random_state = epsilon, bug, random_state

    def fit(self, X, y=None):
        self.rng = np.random.default_rng(self.random_state)
        self.answer_ = self._answer(np.clip(X[:, 0], 0, 1))
        return self

    def _noise(self, scale, size=None):
        return self.rng.laplace(scale=scale, size=size)


class LaplaceSum(_Mechanism):
    def _answer(self, x):
        factor = 0.5 if self.bug == "noise halved" else 1
        return float(x.sum() + self._noise(factor / self.epsilon))


class LaplaceMean(_Mechanism):
    """Mean of a known number of records (replaced ones), or of a noisy number."""

    def __init__(self, epsilon=1.0, bug=None, random_state=None, known=False):
        super().__init__(epsilon, bug, random_state)
        self.known = known

    def _answer(self, x):
        n = max(len(x), 1)
        if self.known or self.bug == "number of records is used":
            return float(x.mean() if len(x) else 0) + self._noise(1 / (n * self.epsilon))
        if self.bug == "noise for a larger number":
            return float(x.mean() if len(x) else 0) + self._noise(1 / (10 * n * self.epsilon))
        noisy = max(len(x) + self._noise(2 / self.epsilon), 1.0)
        return float((x.sum() + self._noise(2 / self.epsilon)) / noisy)


class Histogram(_Mechanism):
    """Counts of ten bins; with the bug, bins without records have no noise."""

    def _answer(self, x):
        counts = np.histogram(x, 10, (0, 1))[0].astype(float)
        noisy = counts + self._noise(1 / self.epsilon, 10)
        return np.where(counts > 0, noisy, 0) if self.bug == "empty bins exact" else noisy


class NoisyMax(_Mechanism):
    """Bin with the largest noisy count; the bug publishes this count as well."""

    def _answer(self, x):
        counts = np.histogram(x, 10, (0, 1))[0].astype(float)
        if self.bug == "half of the noise":
            return int(np.argmax(counts + self._noise(0.25 / self.epsilon, 10)))
        noisy = counts + self._noise(2 / self.epsilon, 10)
        return int(np.argmax(noisy))


class SparseVector(_Mechanism):
    """First of ten bins with more records than a noisy threshold; bug: Lyu et al. 2017, alg. 5."""

    def _answer(self, x):
        limit = 10.5 + self._noise(2 / self.epsilon)
        for place, count in enumerate(np.histogram(x, 10, (0, 1))[0]):
            noise = 0 if self.bug == "queries without noise" else self._noise(4 / self.epsilon)
            if count + noise >= limit:
                return place
        return None


class RandomizedMedian(_Mechanism):
    """Exponential mechanism for the median on a grid; the bug has a tenth of the noise."""

    def _answer(self, x):
        grid = np.linspace(0, 1, 21)
        below = np.array([(x < at).sum() - (x > at).sum() for at in grid])
        factor = 10 if self.bug == "wrong sensitivity" else 1
        scores = -np.abs(below) * self.epsilon / 2 * factor
        chances = np.exp(scores - scores.max())
        return float(self.rng.choice(grid, p=chances / chances.sum()))


class GaussianSum(_Mechanism):
    """Sum with the classic Gaussian noise for (epsilon, delta), epsilon at most 1."""

    def __init__(self, epsilon=1.0, delta=0.01, bug=None, random_state=None):
        super().__init__(epsilon, bug, random_state)
        self.delta = delta

    def _answer(self, x):
        scale = np.sqrt(2 * np.log(1.25 / self.delta)) / self.epsilon
        return float(x.sum() + scale * (0.2 if self.bug else 1) * self.rng.normal())


class TinyNumbers(_Mechanism):
    """A noisy sum in a small unit."""

    def _answer(self, x):
        return 1e-9 * float(x.sum() + self._noise((0.1 if self.bug else 1) / self.epsilon))


class NameAndShame(_Mechanism):
    """Each record is published with a small probability delta, which no epsilon allows."""

    def __init__(self, epsilon=1.0, delta=0.0, bug=None, random_state=None):
        super().__init__(epsilon, bug, random_state)
        self.delta = delta

    def _answer(self, x):
        chosen = x[self.rng.random(len(x)) < 0.1]
        return float(chosen.max(initial=0.0))


class Classifier(_Mechanism):
    """Noisy numbers of records for each class; it needs classes."""

    def fit(self, X, y):
        self.rng = np.random.default_rng(self.random_state)
        counts = np.bincount(y, minlength=2)
        self.class_count_ = counts + self._noise((0.2 if self.bug else 1) / self.epsilon, 2)
        return self


#: Mechanisms with their bugs; all are found with this number of runs at a claim of 1.
MECHANISMS = {
    ("LaplaceSum", "noise halved"): 4_000,
    ("LaplaceMean", "number of records is used"): 4_000,
    ("LaplaceMean", "noise for a larger number"): 1_000,
    ("Histogram", "empty bins exact"): 1_000,
    ("NoisyMax", "half of the noise"): 4_000,
    ("SparseVector", "queries without noise"): 1_000,
    ("RandomizedMedian", "wrong sensitivity"): 1_000,
    ("TinyNumbers", "noise"): 1_000,
    ("Classifier", "noise"): 1_000,
}


class Unfriendly(_Mechanism):
    """Code that crashes, hangs, ends its process, prints, or needs much memory."""

    def fit(self, X, y=None):
        print("printed text")
        os.write(1, b'{"row": []}\n')
        if self.bug == "hangs":
            time.sleep(60)
        if self.bug == "crashes":
            os.kill(os.getpid(), 11)
        if self.bug == "leaves":
            raise SystemExit(3)
        if self.bug == "memory":
            self.large_ = np.ones(2**33)
        if self.bug == "raises":
            raise KeyError("x\ny")
        if self.bug == "error for a record" and X.max(initial=0) > 0.9:
            raise ValueError("a record is far from the others")
        self.answer_ = np.random.laplace() + len(X)  # noqa: NPY002
        return self

"""Code that audits must refute, or must not: mechanisms with planted bugs, written for the tests.

Every class takes ``bug``: without one its claim holds for records in the unit square.
"""

from __future__ import annotations

import os
import time

import numpy as np

#: A generator whose seed is fixed when the module is loaded.
FIXED = np.random.default_rng(0)


class _Mechanism:
    """A mechanism on the first column; ``random_state`` is a new seed in each run.

    This module does not import scikit-learn, so that a process loads it fast.
    """

    def __init__(self, epsilon=1.0, bug=None, random_state=None):
        self.epsilon, self.bug, self.random_state = epsilon, bug, random_state

    def get_params(self, deep=True):
        return {name: getattr(self, name) for name in ("epsilon", "bug", "random_state")}

    def fit(self, X, y=None):
        self.rng = np.random.default_rng(self.random_state)
        self.rng = FIXED if self.bug == "seed of the module" else self.rng
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
        if self.bug == "empty" and not len(X):
            raise ValueError("there is no record")
        if self.bug.startswith("at least ") and len(X) < int(self.bug.split()[-1]):
            raise ValueError("there are too few records")
        if self.bug == "at most 30" and len(X) > 30:
            raise ValueError("there are too many records")
        if self.bug == "error for a record" and X.max(initial=0) > 0.9:
            raise ValueError("a record is far from the others")
        self.answer_ = np.random.laplace() + len(X)  # noqa: NPY002
        return self

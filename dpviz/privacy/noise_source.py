"""Sources of noise. Callers pass a source, because there is no global state.

:class:`SeededNoise` is for exploring: each step has a separate stream, which is read from its start
for every shape. Unit noise is scaled. So the plot changes smoothly with epsilon, and all methods
share noise. Anyone with the seed can subtract the noise: a result must not be published.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Protocol

import numpy as np

from dpviz.base.arrays import Floats

#: Arrays up to these sizes are cached, many or a few (128 MB in all); others are sampled again.
_KEEP, _KEEP_FEW = 2**17, 2**20


class NoiseSource(Protocol):
    """Source of randomness for mechanisms; every request includes the name of its step."""

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Independent Lap(scale) values of the given shape."""

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Independent uniform values from [0, 1)."""

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Independent Gumbel values of mean 0.577 * scale."""

    def k_norm(self, step: str, scale: float, shape: tuple[int, int], ball: int) -> Floats:
        """Rows of :func:`unit_k_norm`, times ``scale``."""

    def generator(self, step: str) -> np.random.Generator:
        """Randomness for public choices, and for random values of each record."""


class Silenced:
    """The random choices of another source without its noise, so that noise hides nothing."""

    def __init__(self, source: NoiseSource) -> None:
        self._source = source

    def laplace(self, step: str, scale: float, shape: tuple[int, ...], ball: int = 0) -> Floats:
        """Return zeros."""
        return np.zeros(shape)

    gumbel = k_norm = laplace

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Uniform values of the source."""
        return self._source.uniform(step, shape)

    def generator(self, step: str) -> np.random.Generator:
        """Randomness of the source."""
        return self._source.generator(step)


class SeededNoise:
    """Reproducible noise for exploring, one stream per step and ``key`` (such as a fold)."""

    def __init__(self, seed: int, *key: int) -> None:
        self.seed = seed
        self.key = key

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Fixed unit Laplace noise of this step and shape, times ``scale``."""
        return scale * _draw("laplace", self.seed, self.key, step, shape)

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Fixed uniform values of this step and shape."""
        return _draw("uniform", self.seed, self.key, step, shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Fixed unit Gumbel noise of this step and shape, times ``scale``."""
        return scale * _draw("gumbel", self.seed, self.key, step, shape)

    def k_norm(self, step: str, scale: float, shape: tuple[int, int], ball: int) -> Floats:
        """Fixed unit K-norm noise of this step and shape, times ``scale``."""
        return scale * unit_k_norm(_generator(self.seed, self.key, step), shape, ball)

    def generator(self, step: str) -> np.random.Generator:
        """Return a fresh generator at the start of this step's stream."""
        return _generator(self.seed, self.key, step)

    def __repr__(self) -> str:
        """Show only the class, because anyone who knows the seed can subtract the noise."""
        return "SeededNoise(...)"


def unit_k_norm(generator: np.random.Generator, shape: tuple[int, int], ball: int) -> Floats:
    """Independent rows z (m, D) whose density is proportional to exp(-norm of z).

    The norm is the largest absolute value in the first D - ball columns or, if larger, the length
    of the last ``ball`` columns; its unit body is a cube times a ball. A row is a Gamma(D + 1)
    number times a uniform point of that body. Hardt, Talwar 2010, "On the geometry of differential
    privacy".
    """
    rows, columns = shape
    noise = generator.uniform(-1, 1, shape)
    if ball:
        direction = generator.normal(size=(rows, ball))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        noise[:, columns - ball :] = direction * generator.random((rows, 1)) ** (1 / ball)
    return np.asarray(generator.gamma(columns + 1, 1.0, (rows, 1)) * noise)


def _draw(law: str, seed: int, key: tuple[int, ...], step: str, shape: tuple[int, ...]) -> Floats:
    """Unit noise. The latest arrays are cached, because each rendering of the page needs them."""
    size = int(np.prod(shape))
    draw = _kept if size <= _KEEP else _latest if size <= _KEEP_FEW else _fresh
    return draw(law, seed, key, step, shape)


def _fresh(law: str, seed: int, key: tuple[int, ...], step: str, shape: tuple[int, ...]) -> Floats:
    generator = _generator(seed, key, step)
    draw = generator.random if law == "uniform" else getattr(generator, law)
    unit = np.asarray(draw(size=shape))
    unit.flags.writeable = False
    return unit


def _generator(seed: int, key: tuple[int, ...], step: str) -> np.random.Generator:
    name = int.from_bytes(hashlib.blake2b(step.encode(), digest_size=8).digest())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(name, *key)))


_kept = lru_cache(maxsize=128)(_fresh)
_latest = lru_cache(maxsize=4)(_fresh)

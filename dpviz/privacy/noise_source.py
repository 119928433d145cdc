"""Sources of noise: callers pass a source; there is no global state.

Exploring uses :class:`SeededNoise`. One seed is one frozen draw: each step has one stream,
read from its start for every shape, and unit noise is then scaled. So dragging epsilon moves
the picture smoothly, and all methods share a draw. Whoever knows the seed can subtract the
noise: nothing drawn here may be published.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Largest draw of which many are cached, and of which a few are: 128 MB in all. What is larger is
#: drawn anew, as nothing would ever free it.
_KEEP, _KEEP_FEW = 2**17, 2**20


class NoiseSource(Protocol):
    """Source of randomness for mechanisms; every request names its step."""

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Independent Lap(scale) draws of the given shape."""

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Independent uniform draws from [0, 1)."""

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Independent Gumbel draws of mean 0.577 * scale."""

    def k_norm(self, step: str, scale: float, shape: tuple[int, int], ball: int) -> Floats:
        """Rows of :func:`unit_k_norm`, times ``scale``."""

    def generator(self, step: str) -> np.random.Generator:
        """Randomness for public choices and for what each record draws for itself."""


class Silenced:
    """Another source's choices without its noise: what a method finds when nothing is hidden.

    Starts and other random choices stay those of the source; Laplace, K-norm and Gumbel noise
    is 0, so that an exponential mechanism takes the best candidate.
    """

    def __init__(self, source: NoiseSource) -> None:
        self._source = source

    def laplace(self, step: str, scale: float, shape: tuple[int, ...], ball: int = 0) -> Floats:
        """No noise."""
        return np.zeros(shape)

    gumbel = k_norm = laplace

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Uniform draws of the source."""
        return self._source.uniform(step, shape)

    def generator(self, step: str) -> np.random.Generator:
        """Randomness of the source."""
        return self._source.generator(step)


class SeededNoise:
    """Reproducible noise for exploring, one stream per step.

    ``key`` has extra numbers that tell apart draws under one seed, such as the fold of a
    cross-validation.
    """

    def __init__(self, seed: int, *key: int) -> None:
        self.seed = seed
        self.key = key

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Frozen unit Laplace noise of this step and shape, times ``scale``."""
        return scale * _draw("laplace", self.seed, self.key, step, shape)

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Frozen uniform draws of this step and shape."""
        return _draw("uniform", self.seed, self.key, step, shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Frozen unit Gumbel noise of this step and shape, times ``scale``."""
        return scale * _draw("gumbel", self.seed, self.key, step, shape)

    def k_norm(self, step: str, scale: float, shape: tuple[int, int], ball: int) -> Floats:
        """Frozen unit K-norm noise of this step and shape, times ``scale``."""
        return scale * unit_k_norm(_generator(self.seed, self.key, step), shape, ball)

    def generator(self, step: str) -> np.random.Generator:
        """Return a fresh generator at the start of this step's stream."""
        return _generator(self.seed, self.key, step)

    def __repr__(self) -> str:
        """Show the class alone: the seed takes the noise off again."""
        return "SeededNoise(...)"


def unit_k_norm(generator: np.random.Generator, shape: tuple[int, int], ball: int) -> Floats:
    """Independent rows z of density proportional to exp(-norm of z), shape (m, D).

    The norm is the one whose unit body holds the cube [-1, 1] in each of the first D - ball columns
    and the Euclidean unit ball in the last ``ball`` columns: the larger one of the largest entry
    and the length. A row is Gamma(D + 1) times a uniform point of that body. See Hardt, Talwar
    2010, "On the geometry of differential privacy".
    """
    rows, columns = shape
    noise = generator.uniform(-1, 1, shape)
    if ball:
        direction = generator.normal(size=(rows, ball))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        noise[:, columns - ball :] = direction * generator.random((rows, 1)) ** (1 / ball)
    scaled: Floats = generator.gamma(columns + 1, 1.0, (rows, 1)) * noise
    return scaled


def _draw(law: str, seed: int, key: tuple[int, ...], step: str, shape: tuple[int, ...]) -> Floats:
    """Unit noise; the latest draws are cached, because every redraw of the screen needs them."""
    size = int(np.prod(shape))
    draw = _kept if size <= _KEEP else _latest if size <= _KEEP_FEW else _fresh
    return draw(law, seed, key, step, shape)


def _fresh(law: str, seed: int, key: tuple[int, ...], step: str, shape: tuple[int, ...]) -> Floats:
    """Draw from the stream of one step."""
    generator = _generator(seed, key, step)
    draw = generator.random if law == "uniform" else getattr(generator, law)
    unit = np.asarray(draw(size=shape))
    unit.flags.writeable = False
    return unit


def _generator(seed: int, key: tuple[int, ...], step: str) -> np.random.Generator:
    """Stream of one step: another step can't shift its numbers."""
    name = int.from_bytes(hashlib.blake2b(step.encode(), digest_size=8).digest())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(name, *key)))


_kept = lru_cache(maxsize=128)(_fresh)
_latest = lru_cache(maxsize=4)(_fresh)

"""Noise of the runs of an audit: independent from run to run, reproducible, fast."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.privacy.noise_source import unit_k_norm


class RunNoise:
    """Noise of one run (seed; side and number as key), with separate streams for choices.

    Steps in ``public`` make the same choices in every run, and an attacker knows them. A promise
    must be true for all values of these choices.
    """

    def __init__(self, seed: int, *key: int, public: tuple[str, ...] = ()) -> None:
        self._key = (seed, *key)
        self.public = public
        self._stream = np.random.default_rng(self._key)

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Independent Lap(scale) values."""
        return self._stream.laplace(scale=scale, size=shape)

    def uniform(self, step: str, shape: tuple[int, ...]) -> Floats:
        """Independent uniform values from [0, 1)."""
        return self._stream.random(shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> Floats:
        """Independent Gumbel values."""
        return self._stream.gumbel(scale=scale, size=shape)

    def k_norm(self, step: str, scale: float, shape: tuple[int, int], ball: int) -> Floats:
        """Independent rows of K-norm noise."""
        return scale * unit_k_norm(self._stream, shape, ball)

    def generator(self, step: str) -> np.random.Generator:
        """Return a new generator at the start of this step's stream."""
        if step in self.public:
            return public_choices(step)
        return np.random.default_rng((*self._key, crc32(step.encode())))


def public_choices(step: str) -> np.random.Generator:
    """Return the public generator of a step."""
    return np.random.default_rng(crc32(step.encode()))

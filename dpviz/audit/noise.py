"""Noise of the runs of an audit: independent from run to run, reproducible, fast."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from dpviz.privacy.noise_source import Floats, unit_k_norm


class RunNoise:
    """Noise of one run from a single stream; post-processing has separate streams.

    Parameters
    ----------
    seed
        Non-negative whole number.
    key
        Identifies the run: the number of its side, and the number of the run.
    public
        Steps whose random choices are the same in every run of every audit and known to an
        attacker, for example a start that does not depend on data. A promise must be true for all
        values of these choices.
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

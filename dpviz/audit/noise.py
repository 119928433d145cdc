"""Noise of the runs of an audit: independent from run to run, reproducible, fast."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray


class RunNoise:
    """Noise of one run, all from one stream; post-processing has streams of its own.

    Parameters
    ----------
    seed
        Non-negative whole number.
    key
        What tells this run from others: the side and the number of the run.
    public
        Steps whose choices are the same in every run of every audit, and known to whoever
        attacks: a start that no data went into, say. A promise must hold whatever they are.
    """

    def __init__(self, seed: int, *key: int, public: tuple[str, ...] = ()) -> None:
        self._key = (seed, *key)
        self.public = public
        self._stream = np.random.default_rng(self._key)

    def laplace(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Independent Lap(scale) draws."""
        return self._stream.laplace(scale=scale, size=shape)

    def uniform(self, step: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Independent uniform draws from [0, 1)."""
        return self._stream.random(shape)

    def gumbel(self, step: str, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Independent Gumbel draws."""
        return self._stream.gumbel(scale=scale, size=shape)

    def generator(self, step: str) -> np.random.Generator:
        """Return a fresh generator at the start of this step's stream."""
        if step in self.public:
            return public_choices(step)
        return np.random.default_rng((*self._key, crc32(step.encode())))


def public_choices(step: str) -> np.random.Generator:
    """Randomness of a step that everybody knows."""
    return np.random.default_rng(crc32(step.encode()))

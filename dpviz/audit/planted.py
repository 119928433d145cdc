"""Mechanisms with a bug planted on purpose: an audit that misses these sees nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.audit.transcript import Recorder


class HalfNoise(Recorder):
    """Writes the whole scale on the ledger but draws noise of half of it."""

    def _spend(self, *given: Any) -> float:
        """Record the spend; hand out half of the scale that it asks for."""
        return super()._spend(*given) / 2


class KnownSeed(Recorder):
    """Answers as they are for whoever knows the seed: the noise taken off again.

    Works with a source that draws the same noise whenever the same step asks for it.
    """

    def laplace(
        self, step: str, values: NDArray[np.number] | float, **given: Any
    ) -> NDArray[np.float64]:
        """Draw the noise of the step once more and subtract it."""
        noisy = super().laplace(step, values, **given)
        known = self.noise.laplace(step, self.ledger.spends[-1].scale, noisy.shape)
        return np.asarray(noisy - known)

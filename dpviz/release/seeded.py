"""Seeded runs with the noise of a release, for rehearsals and null sets, never for owners' data."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.base.arrays import Floats
from dpviz.family.family import Family
from dpviz.family.trial import Configuration
from dpviz.privacy.mechanisms import Accountant, Numbers, geometric
from dpviz.privacy.noise_source import SeededNoise


class LatticeAccountant(Accountant):
    """Adds a release's discrete Laplace noise (spaced by ``unit``) from a seed: not private."""

    def __init__(self, seed: int, config: Configuration, unit: float) -> None:
        super().__init__(SeededNoise(seed), config.epsilon, config.neighbours)
        self._unit = unit

    def laplace(self, step: str, values: Numbers, *, sensitivity: float, epsilon: float) -> Floats:
        """Like :meth:`Accountant.laplace`, but with two-sided geometric noise on the lattice."""
        exact = np.asarray(values, dtype=float)
        zero = super().laplace(
            step, np.zeros(exact.shape), sensitivity=sensitivity, epsilon=epsilon
        )
        scale = self._spends[-1].scale
        return exact + self._unit * geometric(zero / scale, scale / self._unit)


def seeded_run(family: Family, material: Any, config: Configuration, seed: int) -> Any:
    """Run the configured method once on public data, with the kind of noise that a release has."""
    unit = family.methods[config.method].unit
    return family.run(material, config, LatticeAccountant(seed, config, unit))

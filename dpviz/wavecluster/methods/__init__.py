"""The WaveCluster techniques: one file each, and the registry that finds them by name."""

from __future__ import annotations

from dataclasses import replace

from dpviz.family.method import registry
from dpviz.wavecluster.choice import on_chosen_grid
from dpviz.wavecluster.methods import baseline, privqt, privthr, privthrem, twostage, wavecluster

_METHODS = registry(
    (wavecluster, baseline, privqt, privthr, privthrem, twostage),
    seconds=0.0005,
    # Counts of records are whole numbers.
    unit=1.0,
)

#: All of them, each on the grid that it may choose itself.
METHODS = {
    name: replace(method, run=on_chosen_grid(method.run)) for name, method in _METHODS.items()
}

#: Default method.
FIRST = "twostage"

#: Methods that a comparison begins with: their draws are quick.
COMPARED = ("privqt", "privthr", "privthrem", "twostage")

#: The method without noise.
NOISE_FREE = next(name for name, method in METHODS.items() if not method.card.spends)

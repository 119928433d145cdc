"""The WaveCluster techniques, one file each, and the registry with their names."""

from __future__ import annotations

from dataclasses import replace

from dpviz.family.method import registry
from dpviz.wavecluster.choice import on_chosen_grid

_METHODS = registry(
    __name__,
    ("wavecluster", "baseline", "privqt", "privthr", "privthrem", "twostage"),
    seconds=0.0005,
    unit=1.0,
)

#: All techniques by name; each can run on a grid that it chooses itself.
METHODS = {
    name: replace(method, run=on_chosen_grid(method.run)) for name, method in _METHODS.items()
}

#: Default method.
FIRST = "twostage"

#: Default methods of a comparison, whose draws are quick.
COMPARED = ("privqt", "privthr", "privthrem", "twostage")

#: The method without noise.
NOISE_FREE = next(name for name, method in METHODS.items() if not method.card.spends)

"""The k-means methods, one file each, and the registry that finds a method by its name."""

from __future__ import annotations

from dpviz.family.method import registry
from dpviz.privacy.secure import LATTICE

METHODS = registry(
    __name__,
    (
        "kmeans", "dplloyd", "dpkmeanspp", "dpkmeansup", "dpkmeans_mapreduce", "contour", "mcmc",
        "eugkm", "hybrid", "gupt", "privgene", "dprefine",
    ),
    seconds=0.025,
    unit=LATTICE,
)  # fmt: skip

#: Default method.
FIRST = "dprefine"

#: Methods in a new comparison: they are fast.
COMPARED = ("dplloyd", "eugkm", "hybrid", "dprefine")

NOISE_FREE = next(name for name, method in METHODS.items() if not method.card.spends)

"""The k-means methods: one file each, and the registry that finds them by name."""

from __future__ import annotations

from dpviz.family.method import Method
from dpviz.kmeans.config import KMeansConfig
from dpviz.kmeans.methods import (
    contour,
    dpkmeans_mapreduce,
    dpkmeanspp,
    dpkmeansup,
    dplloyd,
    eugkm,
    gupt,
    hybrid,
    kmeans,
    mcmc,
    privgene,
)
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun

KMEANS: dict[str, Method[Records, KMeansConfig, KMeansRun]] = {
    module.CARD.name: Method(module.CARD, module.run)
    for module in (
        kmeans,
        dplloyd,
        dpkmeanspp,
        dpkmeansup,
        dpkmeans_mapreduce,
        contour,
        mcmc,
        eugkm,
        hybrid,
        gupt,
        privgene,
    )
}

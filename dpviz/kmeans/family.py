"""The interface of the k-means family for the rest of the program."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.base.errors import PrivacyRefusal
from dpviz.base.serialize import whole_numbers
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine
from dpviz.data.samples import Sample
from dpviz.data.stored import Stored
from dpviz.family.card import VariantName
from dpviz.family.family import AbstractFamily
from dpviz.family.method import Method
from dpviz.family.run_domain import run_domain, stored_domain
from dpviz.family.score import BROKEN
from dpviz.grid.domain import Domain, Outside
from dpviz.kmeans.comparison import KMeansComparison
from dpviz.kmeans.lloyd import START_SHARE, space_of
from dpviz.kmeans.methods import COMPARED, FIRST, METHODS
from dpviz.kmeans.parameters import DEFAULTS, PARAMETERS, KMeansConfig, defaults_of
from dpviz.kmeans.passes import nearest
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import Centers, KMeansRun
from dpviz.kmeans.schedule import budgets
from dpviz.kmeans.scores import QUICK, SCORES, TELLING
from dpviz.kmeans.space import Space
from dpviz.kmeans.stored import StoredRecords, check_passes
from dpviz.kmeans.trial import KMeansTrial
from dpviz.metrics.centers import match
from dpviz.privacy.ledger import Ledger
from dpviz.privacy.secure import LATTICE, WIDEST

#: Smallest share of an iteration's budget for a cluster: a start and a grid each take a share, and
#: simplified silhouettes at most halve the rest. (Published contours are never released.)
_LEAST_SHARE = (1 - START_SHARE) ** 2 / 2


class KMeansFamily(AbstractFamily[KMeansConfig, Records, KMeansRun]):
    """Methods that find K centres."""

    name = "kmeans"
    title = "k-means"
    config = KMeansConfig
    parameters = PARAMETERS
    methods = METHODS
    scores = SCORES
    first = FIRST
    code = tuple(
        f"dpviz.kmeans.kernels:{name}"
        for name in (
            *("plus_plus", "squared_radii", "neighbours", "lloyd", "prospects", "assign"),
            *("grid_cells", "denoise", "add_weighted_sums"),
        )
    )
    compared = COMPARED
    quick = (
        "wcss",
        "nicv",
        "wcss_ratio",
        "nicv_ratio",
        "f_measure",
        BROKEN,
        "displacement",
        "kept_centers",
        "class_f",
    )
    leading = TELLING
    swept = (*QUICK, "class_f")
    slow_times = 4
    grows = True
    many_columns = True
    found = "cluster_centers_"
    fits_counts = False
    searched = (("epsilon", "iterations"),)
    moves_truth = frozenset({"clusters"})
    preparing = "scale"
    finds_number = False
    choosing = ("clusters",)

    def material(
        self,
        dataset: Dataset,
        config: KMeansConfig,
        domain: Domain | None,
        outside: Outside,
        *,
        secure: bool = False,
    ) -> Records:
        """Take the records of a data set."""
        domain = run_domain(dataset, config.variant, domain)
        records = Records.build(dataset, domain, outside, cut=secure)
        if secure:
            _check_noise(records, config)
        return records

    def stored(
        self,
        source: Stored,
        config: KMeansConfig,
        domain: Domain | None,
        outside: Outside,
        engine: Engine,
        *,
        secure: bool = False,
    ) -> StoredRecords:
        """Return the records of a stored source; each pass reads them from the source."""
        check_passes(config, source.name)
        records = StoredRecords(
            name=source.name,
            parts=source.parts,
            engine=engine,
            domain=stored_domain(source, config.variant, engine, domain),
            outside=outside,
            cut=secure,
        )
        if secure:
            _check_noise(records, config)
        return records

    def trial(self, material: Records, config: KMeansConfig) -> KMeansTrial:
        """Combine records and a configuration."""
        return KMeansTrial.of(material, config)

    def comparison(self, trial: KMeansTrial, outside: Outside) -> KMeansComparison:
        """Return the comparison that the ``run`` command prints."""
        return KMeansComparison(trial, outside)

    def released(self, run: KMeansRun, domain: Domain) -> dict[str, Any]:
        """Return centres in the units of the data, and noisy counts if the run has them."""
        space = Space(domain)
        counts: NDArray[Any] | None = None
        if run.iterations:
            counts = run.iterations[-1].counts
            if run.before is not None:
                # Centres after post-processing have a different order than the counts.
                counts = counts[match(space.scale(run.centers), space.scale(run.before))[1]]
        elif run.grid is not None:
            # Skip cells without weight: in a fine grid most cells have no weight.
            cells = np.flatnonzero(run.grid.weights)
            owner = nearest(run.grid.centers_of(cells), space.scale(run.centers))
            counts = np.bincount(owner, weights=run.grid.weights[cells], minlength=len(run.centers))
        return {
            "kind": "centers",
            "centers": run.centers,
            "counts": None if counts is None else whole_numbers(counts),
        }

    def add(self, method: Method) -> None:
        """Add a method; its choices are the parameters on its card, with their defaults."""
        special = method.card.parameters[2:]
        DEFAULTS[method.card.name] = {one.name: one.default for one in special}
        super().add(method)

    def from_centers(self, config: KMeansConfig, centers: Centers) -> KMeansRun:
        """Return a run with these centres (in the units of the data) and an empty ledger."""
        return KMeansRun(config=config, centers=centers, ledger=Ledger())

    def true_settings(self, config: KMeansConfig) -> Hashable:
        """Return the settings that the true run depends on: K."""
        return config.clusters

    def suited(self, sample: Sample) -> dict[str, Any]:
        """Return the number of clusters of a sample set."""
        # If WaveCluster finds one cluster, k-means still needs more than one cluster.
        return {"clusters": max(sample.clusters, 2)}

    def defaults(self, method: str, variant: VariantName) -> dict[str, Any]:
        """Return the choices of a method with their defaults in a variant."""
        return defaults_of(method, variant)


def _check_noise(records: Records, config: KMeansConfig) -> None:
    """Refuse iterations with too much noise before a run: a later refusal would reveal data."""
    if config.iterations is None:
        return
    least = min(budgets(config.schedule or "uniform", 1.0, config.iterations + 1))
    change = space_of(records, config).sensitivity * config.neighbours.multiplier / LATTICE
    if change / (config.epsilon * _LEAST_SHARE * least) >= WIDEST:
        raise PrivacyRefusal(
            f"iterations = {config.iterations} leave the last iterations so little of epsilon = "
            f"{config.epsilon:g} that their noise can't be sampled: choose fewer iterations, or a "
            "uniform schedule."
        )


FAMILY = KMeansFamily()

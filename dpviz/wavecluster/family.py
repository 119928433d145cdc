"""The interface of the WaveCluster family for the rest of the program."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

from dpviz.base.arrays import Floats
from dpviz.base.errors import InputError, shown
from dpviz.base.serialize import whole_numbers
from dpviz.data.counted import count_cells
from dpviz.data.dataset import Dataset
from dpviz.data.engine.tables import Engine
from dpviz.data.samples import Sample
from dpviz.data.stored import Stored
from dpviz.family.card import VariantName
from dpviz.family.family import AbstractFamily
from dpviz.family.run_domain import run_domain, stored_domain
from dpviz.family.score import BROKEN
from dpviz.grid.domain import Domain, Outside
from dpviz.privacy.mechanisms import Accountant
from dpviz.wavecluster import areas
from dpviz.wavecluster.choice import chosen_grid
from dpviz.wavecluster.comparison import WaveClusterComparison
from dpviz.wavecluster.methods import COMPARED, FIRST, METHODS
from dpviz.wavecluster.parameters import CHOSEN, OF_AREAS, ON_AREAS, PARAMETERS, Config
from dpviz.wavecluster.pipeline import Run, Source
from dpviz.wavecluster.scores import QUICK, RANK, RANK_ERROR, SCORES, TELLING
from dpviz.wavecluster.trial import WaveClusterTrial
from dpviz.wavecluster.truth import true_config
from dpviz.wavecluster.wavelet import check_level, reach


class WaveClusterFamily(AbstractFamily[Config, Source, Run]):
    """Techniques that cluster the cells of a grid."""

    name = "wavecluster"
    title = "WaveCluster"
    config = Config
    parameters = PARAMETERS
    methods = METHODS
    scores = SCORES
    first = FIRST
    code = ("dpviz.wavecluster.random_field:gibbs", "dpviz.wavecluster.likely_cells:grown")
    compared = COMPARED
    quick = (*QUICK, BROKEN, RANK, RANK_ERROR, "class_f")
    leading = TELLING
    swept = (*QUICK, "class_f")
    # OCM and 2CE need a new draw for each of ten parts.
    slow_times = 13
    grows = False
    many_columns = False
    found = "n_clusters_"
    fits_counts = True
    searched = (("epsilon", "alpha"), ("grid", "density"))
    moves_truth = frozenset(CHOSEN)
    preparing = "quantize"
    finds_number = True
    choosing = CHOSEN
    on_areas = ON_AREAS

    def material(
        self,
        dataset: Dataset,
        config: Config,
        domain: Domain | None,
        outside: Outside,
        *,
        secure: bool = False,
    ) -> Source:
        """Count a data set on the grid."""
        domain = run_domain(dataset, config.variant, domain)
        return Source.build(dataset, config.grid, domain, outside, empty=secure)

    def stored(
        self,
        source: Stored,
        config: Config,
        domain: Domain | None,
        outside: Outside,
        engine: Engine,
        *,
        secure: bool = False,
    ) -> Source:
        """Count stored records on the grid, in one pass."""
        domain = stored_domain(source, config.variant, engine, domain)
        found = count_cells(source.parts, config.grid, domain, outside, engine)
        moved = found.n_outside if outside == "clip" else 0
        if not secure and found.counts.sum() == moved:
            raise InputError(
                f"domain {domain} holds none of the {found.n_outside:,} points of "
                f"{shown(source.name)}: it gives {domain.of(source.columns)}; declare bounds in "
                "the units of the data, in this order."
            )
        return Source(
            counts=found.counts,
            domain=domain,
            n_outside=found.n_outside,
            gather=partial(_not_at_hand, source.name),
            recount=lambda shape: count_cells(source.parts, shape, domain, outside, engine).counts,
            dropped=found.dropped,
        )

    def trial(self, material: Source, config: Config) -> WaveClusterTrial:
        """Combine a grid and a configuration."""
        return WaveClusterTrial.of(material, config)

    def comparison(self, trial: WaveClusterTrial, outside: Outside) -> WaveClusterComparison:
        """Return the report of the ``run`` command."""
        return WaveClusterComparison(trial, outside)

    def run(self, material: Source, config: Config, accountant: Accountant) -> Run:
        """Run the configured method once, on cells or on areas."""
        if material.areas is not None:
            return areas.run(material, config, accountant)
        return super().run(material, config, accountant)

    def choices(self, config: Config, *, on_areas: bool = False) -> dict[str, Any]:
        """Values of the method's parameters; on areas, only density."""
        found = super().choices(config)
        return {name: found[name] for name in OF_AREAS} if on_areas else found

    def about_areas(self) -> dict[str, str]:
        """Title, summary and proof of the method on areas, for ``release.json``."""
        return {
            "title": f"{METHODS[ON_AREAS].card.title} on areas",
            "summary": areas.SUMMARY,
            "proof": areas.PROOF,
        }

    def released(self, run: Run, domain: Domain) -> dict[str, Any]:
        """Private counts, and the cluster of every cell of the average subband."""
        stages = run.stages
        if run.areas is not None:
            return areas.released(run, run.areas)
        return {
            "kind": "cells",
            "counts": whole_numbers(stages.counts),
            "labels": stages.labels,
            "block": 2**stages.level,
            # If no cell can be significant, the threshold is infinite, which is null in JSON.
            "threshold": float(stages.threshold.value),
            "significant": int(stages.significant.sum()),
            "clusters": stages.n_clusters,
        }

    def true_settings(self, config: Config) -> Hashable:
        """Grid, and settings of the true run, as a key."""
        return config.grid, true_config(config)

    def suited(self, sample: Sample) -> dict[str, Any]:
        """Grid and density with which the clusters of a sample set are found."""
        return {"grid": sample.grid, "density": sample.density}

    def defaults(self, method: str, variant: VariantName) -> dict[str, Any]:
        """Share of the budget for the counts, if a technique has this parameter."""
        alpha = METHODS[method].card.parameter("alpha")
        return {} if alpha is None else {"alpha": alpha.default}

    def material_settings(self, config: Config) -> Hashable:
        """The grid."""
        return config.grid

    def given_by_data(self, material: Source) -> dict[str, Any]:
        """Grid of the data, since data may be given as counts; areas have no grid."""
        return {} if material.areas is not None else {"grid": material.shape}

    def from_public(self, config: Config, records: int, ndim: int) -> dict[str, Any]:
        """Grid by the rule of the private choice; public facts do not determine p."""
        return {"grid": chosen_grid(records, config.epsilon, ndim, config.level)}

    def merging(self, config: Config, ndim: int) -> list[tuple[float, float]]:
        """Shares of an axis: one block (touching blocks join); two blocks and the reach."""
        sides = config.grid if isinstance(config.grid, tuple) else (config.grid,) * ndim
        block, wavelet = 2 ** check_level(config.level, sides), config.wavelet
        return [
            (block / side, (2 + reach(wavelet, config.level, side)) * block / side)
            for side in sides
        ]


def _not_at_hand(name: str) -> Floats:
    raise InputError(
        f"{shown(name)} stays on disk, and this result needs all records in memory: load the file "
        "into memory, or use only results that need counts of a grid."
    )


FAMILY = WaveClusterFamily()

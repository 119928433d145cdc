"""Hybrid: EUGkM with half of the budget, then one noisy Lloyd iteration with the rest."""

from __future__ import annotations

from dataclasses import replace

from dpviz.family.card import Card, Variant
from dpviz.kmeans.grid import noisy_grid
from dpviz.kmeans.lloyd import lloyd, space_of
from dpviz.kmeans.methods.dplloyd import KEEPING
from dpviz.kmeans.methods.eugkm import TRUE_SIZE, grid_centers
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

CARD = Card(
    name="hybrid",
    family="kmeans",
    title="Hybrid",
    estimator="Hybrid",
    summary=(
        "EUGkM with half of the budget finds the centres; one noisy Lloyd iteration on the records "
        "with the other half refines them."
    ),
    paper="Su, Cao, Li, Bertino, Jin 2016; as in Lee, Kifer 2016",
    algorithm="Hybrid",
    origin="002",
    variants=(
        Variant(
            name="sound",
            private=True,
            reason=(
                "Sequential composition of EUGkM (noisy number of records, noisy cells) and one "
                "Laplace mechanism on counts and sums, half of epsilon each."
            ),
        ),
        Variant(name="published", private=False, reason=TRUE_SIZE),
    ),
    parameters=takes("hybrid"),
    deviations=(KEEPING,),
)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """EUGkM, then one iteration (Su et al., Hybrid)."""
    half = config.epsilon / 2
    grid = noisy_grid(
        records,
        accountant,
        step="cells",
        epsilon=half,
        clusters=config.clusters,
        variant=config.variant,
    )
    found = grid_centers(grid, config.clusters, accountant.noise.generator("restarts"))
    start = space_of(records, config).placed(found)
    run = lloyd(records, config, accountant, epsilon=config.epsilon - half, start=start)
    return replace(run, grid=grid)

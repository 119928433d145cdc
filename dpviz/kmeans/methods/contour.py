"""Contour DPK-means: well separated clusters get more of an iteration's budget."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from dpviz.base.arrays import Floats
from dpviz.family.card import card_of
from dpviz.kmeans.grid import noisy_grid
from dpviz.kmeans.lloyd import START_SHARE, lloyd, space_of
from dpviz.kmeans.methods.dpkmeans_mapreduce import resting
from dpviz.kmeans.parameters import KMeansConfig, takes
from dpviz.kmeans.passes import simplified_silhouettes
from dpviz.kmeans.records import Records
from dpviz.kmeans.run import KMeansRun
from dpviz.privacy.mechanisms import Accountant

CARD = card_of(__file__, takes("contour"), START_SHARE=START_SHARE)


def run(records: Records, config: KMeansConfig, accountant: Accountant) -> KMeansRun:
    """Run noisy iterations with cluster budgets that depend on contour coefficients."""
    space, share, grid = space_of(records, config), 0.0, None
    if config.variant == "published":
        contours = partial(records.contours, space)
    else:
        share = START_SHARE * config.epsilon
        grid = noisy_grid(records, config, accountant, step="contours", epsilon=share)
        places, weights = grid.places()
        contours = partial(simplified_silhouettes, space.placed(places), weights=weights)
    run = lloyd(
        records,
        config,
        accountant,
        epsilon=config.epsilon - share,
        settled=partial(resting, span=space.span),
        cluster_budgets=lambda centers, epsilon: dealt(contours(centers), epsilon),
    )
    return run if grid is None else replace(run, grid=grid)


def dealt(contours: Floats, epsilon: float) -> Floats:
    """Return budgets (K,) for contour coefficients S_k, at most the iteration's epsilon.

    eps_tk = eps_t (1 + S_k - min S) / (1 + max S - min S), a reconstruction: see the card.
    """
    gain = 1 + contours - contours.min()
    budgets: Floats = epsilon * gain / gain.max()
    return budgets

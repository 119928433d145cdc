"""Panels of the k-means explorer; the first shown column is horizontal."""

from __future__ import annotations

from dpviz.base.lazy import pandas as pd
from dpviz.figures.kmeans import epsilons, iterations, records, regions
from dpviz.figures.kmeans.cards import cards as cards
from dpviz.figures.kmeans.cards import stage_of as stage_of
from dpviz.figures.kmeans.picture import KMeansPicture as KMeansPicture
from dpviz.figures.kmeans.picture import picture_of as picture_of
from dpviz.figures.panels import Panels
from dpviz.kmeans.run import KMeansRun

VIEWS = {
    "regions": "Clusters",
    "iterations": "Iterations",
    "noise": "Noise",
    "records": "Records",
    "grid": "Noisy grid",
    "chain": "Before and after",
    "epsilons": "Three ε",
}

#: Views in which the true points can be shown over the private panel.
WITH_POINTS = ("regions", "records", "grid", "chain")

#: Stages in the order of the method, and their views; the first view of a stage is its picture. The
#: picture of the start is the map of the clusters at the first step of the player.
STAGES: dict[str, tuple[str, ...]] = {
    "records": ("records", "grid"),
    "start": (),
    "iterations": ("iterations",),
    "centres": ("regions", "noise", "chain"),
}

#: The function that draws a view, and the function that makes the table behind it.
_DRAWN = {
    "regions": (regions.draw, regions.frame),
    "iterations": (iterations.draw, iterations.frame),
    "noise": (iterations.draw_noise, iterations.noise_frame),
    "records": (records.draw, records.frame),
    "grid": (records.draw_grid, records.grid_frame),
    "chain": (iterations.draw_chain, iterations.chain_frame),
    "epsilons": (epsilons.draw, epsilons.frame),
}


def views_of(run: KMeansRun) -> dict[str, str]:
    """Views of a run: no chain, iterations or grid of two columns if the run has none."""
    has = {
        "iterations": bool(run.path),
        "chain": run.chain is not None,
        "grid": run.grid is not None and run.grid.ndim == 2,
        "epsilons": bool(run.ledger.spends),
    }
    return {view: title for view, title in VIEWS.items() if has.get(view, True)}


def panels(picture: KMeansPicture, view: str) -> Panels:
    """Plot one view of a picture; InputError if the run has no iterations, or no grid to show."""
    return _DRAWN[view][0](picture)


def frame(picture: KMeansPicture, view: str) -> pd.DataFrame:
    """Table behind a view; a row is a cluster, an iteration of a cluster, a cell, or a step."""
    return _DRAWN[view][1](picture)

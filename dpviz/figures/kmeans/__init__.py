"""Panels of the k-means explorer: regions, noise, grid and chain; each view has a separate file.

The first shown column is the horizontal axis, the second the vertical axis.
"""

from __future__ import annotations

from typing import Literal

import pandas as pd

from dpviz.figures.kmeans import chain, grid, noise, regions
from dpviz.figures.kmeans.picture import KMeansPicture as KMeansPicture
from dpviz.figures.kmeans.picture import picture_of as picture_of
from dpviz.figures.panels import Panels
from dpviz.kmeans.run import KMeansRun

View = Literal["regions", "noise", "grid", "chain"]

VIEWS: dict[View, str] = {
    "regions": "Clusters",
    "noise": "Noise",
    "grid": "Noisy grid",
    "chain": "Before and after",
}

_DRAWN = {"regions": regions.draw, "noise": noise.draw, "grid": grid.draw, "chain": chain.draw}
_FRAMES = {
    "regions": regions.frame,
    "noise": noise.frame,
    "grid": grid.frame,
    "chain": chain.frame,
}


def views_of(run: KMeansRun) -> dict[View, str]:
    """Views of a run with their titles. Some runs have no chain, or no grid of two columns."""
    has = {"chain": run.chain is not None, "grid": run.grid is not None and run.grid.ndim == 2}
    return {view: title for view, title in VIEWS.items() if has.get(view, True)}


def panels(picture: KMeansPicture, view: View) -> Panels:
    """Plot one view of a picture.

    Raises
    ------
    InputError
        If the view is the grid, and the run has no noisy grid or a grid of more than two columns.
    """
    return _DRAWN[view](picture)


def frame(picture: KMeansPicture, view: View) -> pd.DataFrame:
    """Table behind a view: a row per cluster, per iteration and cluster, per cell, or per step."""
    return _FRAMES[view](picture)

"""View of post-processing: centres before and after, and the likelihood along the chain."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpviz.base.arrays import Floats
from dpviz.base.numbers import readable
from dpviz.figures.kmeans.centres import centres, walk
from dpviz.figures.kmeans.noise import chart_axes
from dpviz.figures.kmeans.picture import KMeansPicture
from dpviz.figures.kmeans.regions import frame as frame_of_centres
from dpviz.figures.kmeans.regions import overlay_heading, private_ground
from dpviz.figures.marks import scatter
from dpviz.figures.panels import Panels, add_heading, add_maps, on
from dpviz.figures.theme import BOTH
from dpviz.kmeans.chain import Chain
from dpviz.kmeans.methods.mcmc import STEPS


def draw(picture: KMeansPicture) -> Panels:
    """Plot the centres before and after post-processing, next to the chain's likelihood."""
    private, before = picture.private, picture.before
    chain, last = _chain_of(picture), len(before.path) - 1
    ratios = [picture.truth.scores(run, ("nicv_ratio",))["nicv_ratio"] for run in (before, private)]
    start = private_ground(picture, before, last)
    end = private_ground(picture, private, len(picture.path) - 1)
    after = f"<b>after</b> · NICV {ratios[1]:.2f} × true{overlay_heading(picture)}"
    maps = [
        (
            f"<b>before (DPLloyd)</b> · NICV {ratios[0]:.2f} × true",
            [*start, *walk(picture, before, last)],
        ),
        (after, [*end, centres(picture, private.centers, picture.numbers_of(private.centers))]),
    ]
    layout = picture.layout()
    curve = scatter(
        "lines",
        _steps(chain),
        chain.log_likelihood,
        "step %{x:,}<br>log likelihood %{y:,.5~r}",
        line={"color": BOTH[picture.mode], "width": 1.6},
        **on(3),
    )
    data = add_maps(layout, picture.shown_columns, picture.shown_domain, maps, 3, picture.ground)
    chart_axes(layout, 3, 3, "step of the chain", "log likelihood", {}, {})
    add_heading(layout, 3, f"<b>likelihood</b> · {chain.accepted:.0%} of steps accepted")
    return Panels(
        data=[*data, curve],
        layout=layout,
        alt=(
            f"{picture.title}. Centres before and after post-processing, NICV {ratios[0]:.2f} and "
            f"{ratios[1]:.2f} times the true NICV, and the log likelihood along the chain, from "
            f"{readable(chain.log_likelihood[0], 4)} to {readable(chain.best, 4)}."
        ),
    )


def frame(picture: KMeansPicture) -> pd.DataFrame:
    """Table of the chain: one row per step of its thinned trace. Without a chain: the centres."""
    if picture.private.chain is None:
        return frame_of_centres(picture)
    chain = _chain_of(picture)
    return pd.DataFrame({"step": _steps(chain), "log likelihood": chain.log_likelihood})


def _chain_of(picture: KMeansPicture) -> Chain:
    chain = picture.private.chain
    assert chain is not None  # noqa: S101 - the view exists only then
    return chain


def _steps(chain: Chain) -> Floats:
    return np.linspace(0, STEPS, len(chain.log_likelihood)).round()

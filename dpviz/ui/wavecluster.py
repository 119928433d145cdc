"""Controls and run of the WaveCluster explorer."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpviz.data.samples import sample
from dpviz.figures.wavecluster import VIEWS
from dpviz.noise import SeededNoise
from dpviz.ui.cache import Grid, truth_of
from dpviz.ui.data_panel import ActiveData, data_controls, data_panel
from dpviz.ui.explorer import RunSettings, draw_controls
from dpviz.ui.parameters import choice_box, chosen, method_box, method_controls, take_defaults
from dpviz.ui.settings import MAX_SEED
from dpviz.ui.state import Control, UrlState, choice, whole
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.pipeline import Run
from dpviz.wavecluster.truth import Truth, run

FIRST = "gaussians"


def page_state() -> UrlState:
    """All controls of the page, from the link or the session."""
    state = UrlState(
        "wavecluster",
        {
            **data_controls(FIRST),
            **method_controls(FAMILY, sample(FIRST)),
            "seed": Control(0, whole("seed", 0, MAX_SEED)),
            "view": Control("clusters", choice("view", tuple(VIEWS))),
        },
    )
    if state.fresh:
        take_defaults(state, FAMILY, but=state.given)
    return state


@dataclass(frozen=True, kw_only=True, eq=False)
class WaveClusterRuns:
    """True and private run on one grid."""

    grid: Grid
    truth: Truth
    private: Run


def sidebar(state: UrlState) -> ActiveData:
    """Show the controls that are set, not dragged; returns the data on the screen."""
    active = data_panel(state)
    card = method_box(state, FAMILY, lambda: take_defaults(state, FAMILY))
    wavelet, level = FAMILY.parameter("wavelet"), FAMILY.parameter("level")
    for one in chosen(card, FAMILY):
        if one not in (wavelet, level):
            choice_box(state, one)
    left, right = st.columns([3, 2])
    choice_box(state, wavelet, left)
    choice_box(state, level, right)
    draw_controls(state, card)
    return active


def run_both(settings: RunSettings) -> WaveClusterRuns:
    """Run the method on the chosen data, true and private."""
    active, config = settings.active, settings.config
    grid, truth = truth_of(
        active.dataset, config, active.domain, active.outside, is_sample=active.is_sample
    )
    private = run(grid.source, config, SeededNoise(settings.seed))
    return WaveClusterRuns(grid=grid, truth=truth, private=private)

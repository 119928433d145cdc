"""Controls and run of the WaveCluster explorer."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpviz.data.samples import sample
from dpviz.family.card import Card
from dpviz.figures.wavecluster import VIEWS
from dpviz.noise import SeededNoise
from dpviz.ui.cache import Grid, grid_of, truth_of
from dpviz.ui.data_panel import ActiveData, data_controls, data_panel
from dpviz.ui.parameters import (
    choice_box,
    chosen,
    config_of,
    dragged,
    method_box,
    method_controls,
    slider,
    take_defaults,
)
from dpviz.ui.settings import MAX_SEED, RunSettings, draw_controls
from dpviz.ui.state import Control, UrlState, choice, whole
from dpviz.wavecluster.config import Config
from dpviz.wavecluster.family import FAMILY
from dpviz.wavecluster.pipeline import Run
from dpviz.wavecluster.truth import Truth, run, true_config

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


def run_settings(state: UrlState, active: ActiveData) -> RunSettings[Config]:
    """Show the sliders, and put together what all controls say."""
    card = FAMILY.methods[state.get("method")].card
    settled = _sliders(state, card, counts=active.dataset.counts is not None)
    return RunSettings(
        active=active,
        config=config_of(state, FAMILY, active.neighbours),
        seed=int(state.get("seed")),
        settled=settled,
    )


def _sliders(state: UrlState, card: Card, *, counts: bool) -> bool:
    """Show the live sliders that a method has in a row; returns whether none is held."""
    settled = []
    for column, one in zip(st.columns(4), dragged(card, FAMILY), strict=False):
        with column:
            # Counts bring their own grid.
            settled.append(slider(state, one, disabled=counts and one.kind == "sides"))
    return all(settled)


def run_both(settings: RunSettings[Config]) -> WaveClusterRuns:
    """Run the method on the chosen data, true and private."""
    active, config = settings.active, settings.config
    grid = grid_of(
        active.dataset,
        int(config.grid),  # type: ignore[arg-type]
        active.domain,
        active.outside,
        is_sample=active.is_sample,
    )
    truth = truth_of(grid, true_config(config), is_sample=active.is_sample)
    private = run(grid.source, config, SeededNoise(settings.seed))
    return WaveClusterRuns(grid=grid, truth=truth, private=private)
